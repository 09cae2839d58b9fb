// The code of a primitive, and the functions that it calls; what nothing calls is not kept.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.prim"() {callee = @twice, ins = [@n], outs = [@r], text = "twice(n)"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @unused(%a: tensor<?xi32>) -> tensor<?xi32> {
  return %a : tensor<?xi32>
}
func.func @double(%a: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.add %a, %a : tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func @twice(%a: tensor<?xi32>) -> tensor<?xi32> {
  %0 = call @double(%a) : (tensor<?xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK: "autobatch.prim"() {callee = @code_0, ins = [@n], outs = [@r], text = "twice(n)"} : () -> ()
// CHECK: func.func private @code_0(%arg0: tensor<?xi32>) -> tensor<?xi32> {
// CHECK-NEXT: %0 = call @code_0.double(%arg0) : (tensor<?xi32>) -> tensor<?xi32>
// CHECK: func.func private @code_0.double(%arg0: tensor<?xi32>) -> tensor<?xi32> {
// CHECK-NEXT: %0 = stablehlo.add %arg0, %arg0 : tensor<?xi32>
// CHECK-NOT: func.func
