// push_jump_c2: no function but the entry is left in a program with lowered calls.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "x", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "y", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "a"} : () -> ()
  // expected-error@+1 {{[push_jump_c2] calls are lowered here but functions are left}}
  "autobatch.push_jump"()[^b, ^b] {counter = @c} : () -> ()
^b:
  "autobatch.label"() {name = "b"} : () -> ()
  "autobatch.indirect_jump"() {counter = @c} : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
"autobatch.func"() ({
  "autobatch.move"() {ins = [@x], outs = [@y]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "f", ins = [@x], outs = [@y]} : () -> ()
