// Every operation and type in custom assembly; printed, it is what was read.

// REQUIRES: native
// RUN: hlobatch-opt-native %s | filecheck %s
// RUN: hlobatch-opt-native %s | hlobatch-opt-native | filecheck %s

// CHECK: autobatch.program @main
autobatch.program @main
// CHECK-NEXT: autobatch.var @n : tensor<i32>
autobatch.var @n : tensor<i32>
// CHECK-NEXT: autobatch.var @c stored "register" : tensor<i1>
autobatch.var @c stored "register" : tensor<i1>
// CHECK-NEXT: autobatch.var @pc stored "full" : tensor<i32>
autobatch.var @pc stored "full" : tensor<i32>
// CHECK-NEXT: autobatch.var @keys : !autobatch.key<"fry", tensor<3x2xui32>>
autobatch.var @keys : !autobatch.key<"fry", tensor<3x2xui32>>
// CHECK-NEXT: autobatch.var @number : !autobatch.weak<tensor<f32>>
autobatch.var @number : !autobatch.weak<tensor<f32>>
// CHECK-NEXT: autobatch.var @tree : {items = [tensor<2xf32>, [tensor<i1>]], keys = ["a", "b"], node = "dict"}
autobatch.var @tree : {items = [tensor<2xf32>, [tensor<i1>]], keys = ["a", "b"], node = "dict"}
// CHECK-NEXT: autobatch.func @main [@n, @keys] -> [@n] attributes {autobatch.note = "x"} {
autobatch.func @main [@n, @keys] -> [@n] attributes {autobatch.note = "x"} {
  // CHECK-NEXT: autobatch.jump ^while
  autobatch.jump ^while
// CHECK-NEXT: ^while:
^while:
  // CHECK-NEXT: autobatch.label "while" sync
  autobatch.label "while" sync
  // CHECK-NEXT: autobatch.prim @less [@n, @n] -> [@c] "n < n"
  autobatch.prim @less [@n, @n] -> [@c] "n < n"
  // CHECK-NEXT: autobatch.branch @c, ^body, ^callee
  autobatch.branch @c, ^body, ^callee
// CHECK-NEXT: ^body:
^body:
  // CHECK-NEXT: autobatch.label "body"
  autobatch.label "body"
  // CHECK-NEXT: autobatch.push [@n, @pc]
  autobatch.push [@n, @pc]
  // CHECK-NEXT: autobatch.move [@n] -> [@n] "n"
  autobatch.move [@n] -> [@n] "n"
  // CHECK-NEXT: autobatch.push_jump ^callee, return to ^while by @pc
  autobatch.push_jump ^callee, return to ^while by @pc
// CHECK-NEXT: ^callee:
^callee:
  // CHECK-NEXT: autobatch.label "callee"
  autobatch.label "callee"
  // CHECK-NEXT: autobatch.pop [@n, @pc]
  autobatch.pop [@n, @pc]
  // CHECK-NEXT: autobatch.indirect_jump @pc
  autobatch.indirect_jump @pc
// CHECK-NEXT: ^bb4:
^out:
  // CHECK-NEXT: autobatch.return
  autobatch.return
}
// CHECK: func.func private @less(%{{.*}}: tensor<?xi32>, %{{.*}}: tensor<?xi32>) -> tensor<?xi1> {
func.func private @less(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi1> {
  // CHECK-NEXT: "stablehlo.compare"
  %0 = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}
