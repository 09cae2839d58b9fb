// push_jump_c1: a call comes back to a block of its function, not to the exit.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "a"} : () -> ()
  // expected-error@+1 {{[push_jump_c1] 'halt' is no block of main}}
  "autobatch.push_jump"()[^b, ^out] {counter = @c} : () -> ()
^b:
  "autobatch.label"() {name = "b"} : () -> ()
  "autobatch.indirect_jump"() {counter = @c} : () -> ()
^out:
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
