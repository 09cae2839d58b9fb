// A call, arguments and results in order.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "x", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "y", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.call"() {callee = @f, ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
"autobatch.func"() ({
  "autobatch.move"() {ins = [@x], outs = [@y]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "f", ins = [@x], outs = [@y]} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "x"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "y"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.call"() {callee = @f, ins = [@n], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n], outs = [@r], sym_name = "main"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@x], outs = [@y]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@x], outs = [@y], sym_name = "f"} : () -> ()
// CHECK-NEXT: }
