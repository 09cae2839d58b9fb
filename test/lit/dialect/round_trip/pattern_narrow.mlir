// Element types that hardware has no arithmetic for.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "v0", pattern = tensor<2xi4>} : () -> ()
"autobatch.var"() {sym_name = "v1", pattern = tensor<2xui4>} : () -> ()
"autobatch.var"() {sym_name = "v2", pattern = tensor<2xf8E4M3FN>} : () -> ()
"autobatch.var"() {sym_name = "v3", pattern = tensor<2xf8E5M2>} : () -> ()
"autobatch.var"() {sym_name = "v4", pattern = tensor<2xf8E4M3B11FNUZ>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@v0, @v1, @v2, @v3, @v4], outs = []} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<2xi4>, sym_name = "v0"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<2xui4>, sym_name = "v1"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<2xf8E4M3FN>, sym_name = "v2"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<2xf8E5M2>, sym_name = "v3"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<2xf8E4M3B11FNUZ>, sym_name = "v4"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@v0, @v1, @v2, @v3, @v4], outs = [], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
