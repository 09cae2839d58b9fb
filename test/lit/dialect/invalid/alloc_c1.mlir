// alloc_c1: a `temporary` is not used in a block before that block gives it a value.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "t", pattern = tensor<i32>, allocation = "temporary"} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[alloc_c1] %t is TEMPORARY but has no value here}}
  "autobatch.move"() {ins = [@t], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
