// Several results are a tuple.

// RUN: %python -c "import numpy as np; np.savez('%t.npz', n=np.array([1, 2, 3]))"
// RUN: hlobatch run %s --inputs %t.npz | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.prim"() {callee = @add, ins = [@n, @n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r, @n]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK: {{\[\[}}2, 4, 6], [1, 2, 3]]
