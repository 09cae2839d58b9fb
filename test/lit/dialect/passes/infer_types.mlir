// infer-types: the type that follows from those of the inputs may be narrower than the one declared.

// RUN: hlobatch-opt %s --infer-types | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "w", pattern = !autobatch.weak<tensor<i32>>} : () -> ()
"autobatch.func"() ({
  "autobatch.prim"() {callee = @add, ins = [@n, @n], outs = [@w]} : () -> ()
  "autobatch.move"() {ins = [@w], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {autobatch.inferred = tensor<i32>, pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {autobatch.inferred = tensor<i32>, pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {autobatch.inferred = tensor<i32>, pattern = !autobatch.weak<tensor<i32>>, sym_name = "w"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@n, @n], outs = [@w]} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@w], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n], outs = [@r], sym_name = "main"} : () -> ()
