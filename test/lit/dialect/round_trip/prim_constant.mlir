// Code without parameters is the same in every lane.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.prim"() {callee = @one, ins = [], outs = [@r], text = "1"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @one() -> tensor<i32> {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  return %0 : tensor<i32>
}

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [], outs = [@r], text = "1"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n], outs = [@r], sym_name = "main"} : () -> ()
