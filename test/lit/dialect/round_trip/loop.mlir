// A block that jumps to itself, as the first: an unlabelled block that only jumps stands before it.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  "autobatch.jump"()[^a] : () -> ()
^a:
  "autobatch.label"() {name = "loop"} : () -> ()
  "autobatch.prim"() {callee = @add, ins = [@n, @n], outs = [@n]} : () -> ()
  "autobatch.prim"() {callee = @less, ins = [@n, @r], outs = [@c]} : () -> ()
  "autobatch.branch"()[^a, ^b] {condition = @c} : () -> ()
^b:
  "autobatch.label"() {name = "end"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n, @r], outs = [@r]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func private @less(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi1> {
  %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i1>, sym_name = "c"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// CHECK-NEXT:   ^bb1:  // 2 preds: ^bb0, ^bb1
// CHECK-NEXT:     "autobatch.label"() {name = "loop"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@n, @n], outs = [@n]} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@n, @r], outs = [@c]} : () -> ()
// CHECK-NEXT:     "autobatch.branch"()[^bb1, ^bb2] {condition = @c} : () -> ()
// CHECK-NEXT:   ^bb2:  // pred: ^bb1
// CHECK-NEXT:     "autobatch.label"() {name = "end"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n, @r], outs = [@r], sym_name = "main"} : () -> ()
