// Pushes and pops of several variables.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.push"() {variables = [@n, @r]} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.pop"() {variables = [@n, @r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n, @r], outs = [@r]} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.push"() {variables = [@n, @r]} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.pop"() {variables = [@n, @r]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n, @r], outs = [@r], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
