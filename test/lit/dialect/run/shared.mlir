// What all lanes share has no batch axis.

// RUN: %python -c "import numpy as np; np.savez('%t.npz', n=np.array([1, 2, 3]), k=np.array(10))"
// RUN: hlobatch run %s --inputs %t.npz | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.var"() {sym_name = "k", pattern = tensor<i32>, allocation = "shared"} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.func"() ({
  "autobatch.prim"() {callee = @plus, ins = [@n, @k], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n, @k], outs = [@r]} : () -> ()
func.func private @plus(%n: tensor<?xi32>, %k: tensor<i32>) -> tensor<?xi32> {
  %lanes = stablehlo.get_dimension_size %n, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  %shape = stablehlo.reshape %lanes : (tensor<i32>) -> tensor<1xi32>
  %ks = stablehlo.dynamic_broadcast_in_dim %k, %shape, dims = [] : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
  %0 = stablehlo.add %n, %ks : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK: [11, 12, 13]
