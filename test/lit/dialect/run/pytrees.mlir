// A parameter of several arrays is given as several.

// RUN: %python -c "import numpy as np; np.savez('%t.npz', **{'p.0': np.array([4, 5]), 'p.1': np.zeros((2, 2))})"
// RUN: hlobatch run %s --inputs %t.npz | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "p", pattern = [tensor<i32>, tensor<2xf32>]} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.prim"() {callee = @first, ins = [@p], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@p], outs = [@r]} : () -> ()
func.func private @first(%a: tensor<?xi32>, %b: tensor<?x2xf32>) -> tensor<?xi32> {
  return %a : tensor<?xi32>
}

// CHECK: [4, 5]
