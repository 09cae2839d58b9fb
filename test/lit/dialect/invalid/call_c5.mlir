// call_c5: only the terminator of its block follows a call.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "x", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "y", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[call_c5] the call of @f does not stand right before the terminator}}
  "autobatch.call"() {callee = @f, ins = [@n], outs = [@r]} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
"autobatch.func"() ({
  "autobatch.move"() {ins = [@x], outs = [@y]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "f", ins = [@x], outs = [@y]} : () -> ()
