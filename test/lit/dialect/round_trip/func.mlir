// Functions without parameters or results, with several of both.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "a", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "b", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "p", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "q", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.call"() {callee = @f, ins = [], outs = []} : () -> ()
  "autobatch.jump"()[^b] : () -> ()
^b:
  "autobatch.call"() {callee = @g, ins = [@n, @n], outs = [@r, @n]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "f", ins = [], outs = []} : () -> ()
"autobatch.func"() ({
  "autobatch.move"() {ins = [@a, @b], outs = [@p, @q]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "g", ins = [@a, @b], outs = [@p, @q]} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "a"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "b"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "p"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "q"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.call"() {callee = @f, ins = [], outs = []} : () -> ()
// CHECK-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// CHECK-NEXT:   ^bb1:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.label"() {name = "bb1"} : () -> ()
// CHECK-NEXT:     "autobatch.call"() {callee = @g, ins = [@n, @n], outs = [@r, @n]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n], outs = [@r], sym_name = "main"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [], outs = [], sym_name = "f"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@a, @b], outs = [@p, @q]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@a, @b], outs = [@p, @q], sym_name = "g"} : () -> ()
// CHECK-NEXT: }
