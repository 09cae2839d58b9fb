// hoist-shared: what is the same in every lane is computed at the entry.

// RUN: hlobatch-opt %s --hoist-shared | filecheck %s --check-prefix=HOISTED
// RUN: hlobatch-opt %s --hoist-shared --allocate | filecheck %s --check-prefix=ALLOCATED

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "k", pattern = tensor<i32>, allocation = "shared"} : () -> ()
"autobatch.var"() {sym_name = "x", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "start"} : () -> ()
  "autobatch.jump"()[^h] : () -> ()
^h:
  "autobatch.label"() {name = "while"} : () -> ()
  "autobatch.prim"() {callee = @double, ins = [@k], outs = [@x], text = "k + k"} : () -> ()
  "autobatch.prim"() {callee = @add, ins = [@n, @x], outs = [@n], text = "n + x"} : () -> ()
  "autobatch.prim"() {callee = @less, ins = [@n, @n], outs = [@c]} : () -> ()
  "autobatch.branch"()[^h, ^e] {condition = @c} : () -> ()
^e:
  "autobatch.label"() {name = "end"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n, @k], outs = [@r]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func private @less(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi1> {
  %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}
func.func private @double(%k: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.add %k, %k : tensor<i32>
  return %0 : tensor<i32>
}

// Checks, made by update_checks.py
// HOISTED: module {
// HOISTED-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// HOISTED-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// HOISTED-NEXT:   "autobatch.var"() {allocation = "shared", pattern = tensor<i32>, sym_name = "k"} : () -> ()
// HOISTED-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "x"} : () -> ()
// HOISTED-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// HOISTED-NEXT:   "autobatch.var"() {pattern = tensor<i1>, sym_name = "c"} : () -> ()
// HOISTED-NEXT:   "autobatch.func"() ({
// HOISTED-NEXT:     "autobatch.label"() {name = "start"} : () -> ()
// HOISTED-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@k], outs = [@x], text = "k + k"} : () -> ()
// HOISTED-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// HOISTED-NEXT:   ^bb1:  // 2 preds: ^bb0, ^bb1
// HOISTED-NEXT:     "autobatch.label"() {name = "while"} : () -> ()
// HOISTED-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@n, @x], outs = [@n], text = "n + x"} : () -> ()
// HOISTED-NEXT:     "autobatch.prim"() {callee = @code_2, ins = [@n, @n], outs = [@c]} : () -> ()
// HOISTED-NEXT:     "autobatch.branch"()[^bb1, ^bb2] {condition = @c} : () -> ()
// HOISTED-NEXT:   ^bb2:  // pred: ^bb1
// HOISTED-NEXT:     "autobatch.label"() {name = "end"} : () -> ()
// HOISTED-NEXT:     "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
// HOISTED-NEXT:     "autobatch.return"() : () -> ()
// HOISTED-NEXT:   }) {ins = [@n, @k], outs = [@r], sym_name = "main"} : () -> ()
// Checks, made by update_checks.py
// ALLOCATED: module {
// ALLOCATED-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// ALLOCATED-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "n"} : () -> ()
// ALLOCATED-NEXT:   "autobatch.var"() {allocation = "shared", pattern = tensor<i32>, sym_name = "k"} : () -> ()
// ALLOCATED-NEXT:   "autobatch.var"() {allocation = "shared", pattern = tensor<i32>, sym_name = "x"} : () -> ()
// ALLOCATED-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "r"} : () -> ()
// ALLOCATED-NEXT:   "autobatch.var"() {allocation = "temporary", pattern = tensor<i1>, sym_name = "c"} : () -> ()
// ALLOCATED-NEXT:   "autobatch.func"() ({
// ALLOCATED-NEXT:     "autobatch.label"() {name = "start"} : () -> ()
// ALLOCATED-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@k], outs = [@x], text = "k + k"} : () -> ()
// ALLOCATED-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// ALLOCATED-NEXT:   ^bb1:  // 2 preds: ^bb0, ^bb1
// ALLOCATED-NEXT:     "autobatch.label"() {name = "while"} : () -> ()
// ALLOCATED-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@n, @x], outs = [@n], text = "n + x"} : () -> ()
// ALLOCATED-NEXT:     "autobatch.prim"() {callee = @code_2, ins = [@n, @n], outs = [@c]} : () -> ()
// ALLOCATED-NEXT:     "autobatch.branch"()[^bb1, ^bb2] {condition = @c} : () -> ()
// ALLOCATED-NEXT:   ^bb2:  // pred: ^bb1
// ALLOCATED-NEXT:     "autobatch.label"() {name = "end"} : () -> ()
// ALLOCATED-NEXT:     "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
// ALLOCATED-NEXT:     "autobatch.return"() : () -> ()
// ALLOCATED-NEXT:   }) {ins = [@n, @k], outs = [@r], sym_name = "main"} : () -> ()
