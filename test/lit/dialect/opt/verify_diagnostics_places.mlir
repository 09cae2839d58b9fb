// --verify-diagnostics: an error is announced on its line, above or below it, at a distance, or at a line; also as an expression.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.prog"() : () -> () // expected-error {{[ods_c1] 'autobatch.prog'}}

// -----

// expected-error@below {{[ods_c1]}}
"autobatch.prog"() : () -> ()

// -----

"autobatch.prog"() : () -> ()
// expected-error@above {{[ods_c1]}}

// -----

// expected-error@+3 {{[ods_c1]}}


"autobatch.prog"() : () -> ()

// -----

"autobatch.prog"() : () -> ()

// expected-error-re@-2 {{'autobatch.{{p.*g}}' is no operation}}
