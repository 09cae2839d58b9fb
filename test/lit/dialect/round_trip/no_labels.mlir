// Blocks without labels are called after their positions.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  "autobatch.branch"()[^a, ^b] {condition = @c} : () -> ()
^a:
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
^b:
  "autobatch.jump"()[^a] : () -> ()
}) {sym_name = "main", ins = [@n, @c], outs = [@r]} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i1>, sym_name = "c"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.branch"()[^bb1, ^bb2] {condition = @c} : () -> ()
// CHECK-NEXT:   ^bb1:  // 2 preds: ^bb0, ^bb2
// CHECK-NEXT:     "autobatch.label"() {name = "bb1"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   ^bb2:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.label"() {name = "bb2"} : () -> ()
// CHECK-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// CHECK-NEXT:   }) {ins = [@n, @c], outs = [@r], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
