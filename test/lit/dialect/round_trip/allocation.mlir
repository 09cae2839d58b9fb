// Each kind of allocation, and none.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>, allocation = "full"} : () -> ()
"autobatch.var"() {sym_name = "t", pattern = tensor<i32>, allocation = "temporary"} : () -> ()
"autobatch.var"() {sym_name = "s", pattern = tensor<i32>, allocation = "shared"} : () -> ()
"autobatch.var"() {sym_name = "z", pattern = tensor<i32>, allocation = "null"} : () -> ()
"autobatch.var"() {sym_name = "u", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.move"() {ins = [@n], outs = [@t]} : () -> ()
  "autobatch.move"() {ins = [@t], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n, @s], outs = [@r]} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "temporary", pattern = tensor<i32>, sym_name = "t"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "shared", pattern = tensor<i32>, sym_name = "s"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "null", pattern = tensor<i32>, sym_name = "z"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "u"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@n], outs = [@t]} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@t], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n, @s], outs = [@r], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
