// Shapes, also empty ones.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "v0", pattern = tensor<3xf32>} : () -> ()
"autobatch.var"() {sym_name = "v1", pattern = tensor<2x3x5xi32>} : () -> ()
"autobatch.var"() {sym_name = "v2", pattern = tensor<0xf32>} : () -> ()
"autobatch.var"() {sym_name = "v3", pattern = tensor<4x0x2xi1>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@v0, @v1, @v2, @v3], outs = []} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<3xf32>, sym_name = "v0"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<2x3x5xi32>, sym_name = "v1"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<0xf32>, sym_name = "v2"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<4x0x2xi1>, sym_name = "v3"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@v0, @v1, @v2, @v3], outs = [], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
