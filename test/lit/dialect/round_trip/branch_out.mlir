// A branch out of the function goes to an unlabelled block that only returns.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.branch"()[^a, ^out] {condition = @c} : () -> ()
^a:
  "autobatch.label"() {name = "yes"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
^out:
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n, @c, @r], outs = [@r]} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i1>, sym_name = "c"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "top"} : () -> ()
// CHECK-NEXT:     "autobatch.branch"()[^bb1, ^bb2] {condition = @c} : () -> ()
// CHECK-NEXT:   ^bb1:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.label"() {name = "yes"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   ^bb2:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n, @c, @r], outs = [@r], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
