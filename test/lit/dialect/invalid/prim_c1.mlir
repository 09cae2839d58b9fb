// prim_c1: results go to distinct variables.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[prim_c1] two results go to the same variable}}
  "autobatch.prim"() {callee = @two, ins = [@n], outs = [@r, @r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @two(%a: tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>) {
  return %a, %a : tensor<?xi32>, tensor<?xi32>
}

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[prim_c1] two results go to the same variable}}
  "autobatch.move"() {ins = [@n, @n], outs = [@r, @r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
