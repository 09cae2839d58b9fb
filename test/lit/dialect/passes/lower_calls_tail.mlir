// lower-calls: a call in tail position is a jump, and needs no stack.

// RUN: hlobatch-opt %s --lower-calls | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "x", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "y", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  "autobatch.call"() {callee = @f, ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "entry"} : () -> ()
  "autobatch.prim"() {callee = @less, ins = [@x, @x], outs = [@c]} : () -> ()
  "autobatch.branch"()[^t, ^e] {condition = @c} : () -> ()
^t:
  "autobatch.label"() {name = "done"} : () -> ()
  "autobatch.move"() {ins = [@x], outs = [@y]} : () -> ()
  "autobatch.return"() : () -> ()
^e:
  "autobatch.label"() {name = "again"} : () -> ()
  "autobatch.prim"() {callee = @add, ins = [@x, @x], outs = [@x]} : () -> ()
  "autobatch.call"() {callee = @f, ins = [@x], outs = [@y]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "f", ins = [@x], outs = [@y]} : () -> ()
func.func private @less(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi1> {
  %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "x"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "y"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "temporary", pattern = tensor<i1>, sym_name = "c"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "main.bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@n], outs = [@x]} : () -> ()
// CHECK-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// CHECK-NEXT:   ^bb1:  // 2 preds: ^bb0, ^bb3
// CHECK-NEXT:     "autobatch.label"() {name = "f.entry"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@x, @x], outs = [@c]} : () -> ()
// CHECK-NEXT:     "autobatch.branch"()[^bb2, ^bb3] {condition = @c} : () -> ()
// CHECK-NEXT:   ^bb2:  // pred: ^bb1
// CHECK-NEXT:     "autobatch.label"() {name = "f.done"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@x], outs = [@y]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   ^bb3:  // pred: ^bb1
// CHECK-NEXT:     "autobatch.label"() {name = "f.again"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@x, @x], outs = [@x]} : () -> ()
// CHECK-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// CHECK-NEXT:   }) {ins = [@n], outs = [@y], sym_name = "main"} : () -> ()
