// var_c2: an allocation is one of five.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{[var_c2] there is no allocation 'heap'}}
"autobatch.var"() {sym_name = "x", pattern = tensor<i32>, allocation = "heap"} : () -> ()
