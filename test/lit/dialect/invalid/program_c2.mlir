// program_c2: every function has at least one block.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
// expected-error@+1 {{[program_c2] @main has no block}}
"autobatch.func"() ({
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
