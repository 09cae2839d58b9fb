// block-order: where the loop is left goes behind the loop.

// RUN: hlobatch-opt %s --block-order | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "k", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "start"} : () -> ()
  "autobatch.jump"()[^d] : () -> ()
^d:
  "autobatch.label"() {name = "dear"} : () -> ()
  "autobatch.prim"() {callee = @dear, ins = [@n, @k], outs = [@n]} : () -> ()
  "autobatch.jump"()[^h] : () -> ()
^e:
  "autobatch.label"() {name = "end"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
^h:
  "autobatch.label"() {name = "test"} : () -> ()
  "autobatch.prim"() {callee = @less, ins = [@n, @k], outs = [@c]} : () -> ()
  "autobatch.branch"()[^d, ^e] {condition = @c} : () -> ()
}) {sym_name = "main", ins = [@n, @k], outs = [@r]} : () -> ()
func.func private @less(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi1> {
  %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}
func.func private @dear(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> attributes {autobatch.cost = 1000.0 : f64} {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
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
// CHECK-NEXT:     "autobatch.label"() {name = "start"} : () -> ()
// CHECK-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// CHECK-NEXT:   ^bb1:  // 2 preds: ^bb0, ^bb2
// CHECK-NEXT:     "autobatch.label"() {name = "dear"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@n, @k], outs = [@n]} : () -> ()
// CHECK-NEXT:     "autobatch.jump"()[^bb2] : () -> ()
// CHECK-NEXT:   ^bb2:  // pred: ^bb1
// CHECK-NEXT:     "autobatch.label"() {name = "test"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@n, @k], outs = [@c]} : () -> ()
// CHECK-NEXT:     "autobatch.branch"()[^bb1, ^bb3] {condition = @c} : () -> ()
// CHECK-NEXT:   ^bb3:  // pred: ^bb2
// CHECK-NEXT:     "autobatch.label"() {name = "end"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n, @k], outs = [@r], sym_name = "main"} : () -> ()
