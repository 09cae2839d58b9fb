// A function of any name may be the entry; a program calls it main.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @start} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "start", ins = [@n], outs = [@r]} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n], outs = [@r], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
