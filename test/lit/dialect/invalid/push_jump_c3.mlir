// push_jump_c3: return addresses are 32-bit integers, kept in registers or stacks.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i64>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "a"} : () -> ()
  // expected-error@+1 {{[push_jump_c3] the return address %c is i64[], not i32[]}}
  "autobatch.push_jump"()[^b, ^b] {counter = @c} : () -> ()
^b:
  "autobatch.label"() {name = "b"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<f32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[push_jump_c3] the return address %c is f32[], not i32[]}}
  "autobatch.indirect_jump"() {counter = @c} : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i32>, allocation = "temporary"} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[push_jump_c3] the return address %c is TEMPORARY}}
  "autobatch.indirect_jump"() {counter = @c} : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
