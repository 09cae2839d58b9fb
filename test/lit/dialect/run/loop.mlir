// A loop and no stack: doubling until a bound, another in each lane.

// RUN: %python -c "import numpy as np; np.savez('%t.npz', n=np.array([1, 3, 5]), k=np.array([100, 100, 5]))"
// RUN: hlobatch run %s --inputs %t.npz | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "k", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  "autobatch.jump"()[^h] : () -> ()
^h:
  "autobatch.label"() {name = "while"} : () -> ()
  "autobatch.prim"() {callee = @less, ins = [@n, @k], outs = [@c], text = "n < k"} : () -> ()
  "autobatch.branch"()[^b, ^out] {condition = @c} : () -> ()
^b:
  "autobatch.label"() {name = "body"} : () -> ()
  "autobatch.prim"() {callee = @add, ins = [@n, @n], outs = [@n], text = "n + n"} : () -> ()
  "autobatch.jump"()[^h] : () -> ()
^out:
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n, @k], outs = [@n]} : () -> ()
func.func private @less(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi1> {
  %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK: [128, 192, 5]
