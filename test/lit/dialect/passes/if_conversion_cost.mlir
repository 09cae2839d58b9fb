// if-conversion: nor is code that says it is dear.

// RUN: hlobatch-opt %s --if-conversion | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "k", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.prim"() {callee = @less, ins = [@n, @k], outs = [@c], text = "n < k"} : () -> ()
  "autobatch.branch"()[^a, ^b] {condition = @c} : () -> ()
^a:
  "autobatch.label"() {name = "then"} : () -> ()
  "autobatch.prim"() {callee = @dear, ins = [@n, @k], outs = [@r]} : () -> ()
  "autobatch.jump"()[^d] : () -> ()
^b:
  "autobatch.label"() {name = "else"} : () -> ()
  "autobatch.prim"() {callee = @sub, ins = [@n, @k], outs = [@r]} : () -> ()
  "autobatch.jump"()[^d] : () -> ()
^d:
  "autobatch.label"() {name = "after"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n, @k], outs = [@r]} : () -> ()
func.func private @less(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi1> {
  %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}
func.func private @dear(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> attributes {autobatch.cost = 1000.0 : f64} {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func private @sub(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.subtract %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "k"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i1>, sym_name = "c"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "top"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@n, @k], outs = [@c], text = "n < k"} : () -> ()
// CHECK-NEXT:     "autobatch.branch"()[^bb1, ^bb2] {condition = @c} : () -> ()
// CHECK-NEXT:   ^bb1:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.label"() {name = "then"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@n, @k], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.jump"()[^bb3] : () -> ()
// CHECK-NEXT:   ^bb2:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.label"() {name = "else"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_2, ins = [@n, @k], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.jump"()[^bb3] : () -> ()
// CHECK-NEXT:   ^bb3:  // 2 preds: ^bb1, ^bb2
// CHECK-NEXT:     "autobatch.label"() {name = "after"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n, @k], outs = [@r], sym_name = "main"} : () -> ()
