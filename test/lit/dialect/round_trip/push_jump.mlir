// A lowered call and its return.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "pc", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "main"} : () -> ()
  "autobatch.push"() {variables = [@n]} : () -> ()
  "autobatch.push_jump"()[^b, ^a] {counter = @pc} : () -> ()
^a:
  "autobatch.label"() {name = "after"} : () -> ()
  "autobatch.pop"() {variables = [@n]} : () -> ()
  "autobatch.return"() : () -> ()
^b:
  "autobatch.label"() {name = "callee"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.indirect_jump"() {counter = @pc} : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "pc"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "main"} : () -> ()
// CHECK-NEXT:     "autobatch.push"() {variables = [@n]} : () -> ()
// CHECK-NEXT:     "autobatch.push_jump"()[^bb2, ^bb1] {counter = @pc} : () -> ()
// CHECK-NEXT:   ^bb1:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.label"() {name = "after"} : () -> ()
// CHECK-NEXT:     "autobatch.pop"() {variables = [@n]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   ^bb2:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.label"() {name = "callee"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.indirect_jump"() {counter = @pc} : () -> ()
// CHECK-NEXT:   }) {ins = [@n], outs = [@r], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
