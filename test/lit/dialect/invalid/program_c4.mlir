// program_c4: names of functions and variables are unique.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{redefinition of symbol named 'main'}}
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{redefinition of symbol named 'n'}}
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
// expected-error@+1 {{redefinition of symbol named 'n'}}
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "n", ins = [@n], outs = [@n]} : () -> ()
