// Python numbers that adopt the types of what they meet.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "v0", pattern = !autobatch.weak<tensor<i32>>} : () -> ()
"autobatch.var"() {sym_name = "v1", pattern = !autobatch.weak<tensor<f32>>} : () -> ()
"autobatch.var"() {sym_name = "v2", pattern = !autobatch.weak<tensor<3xf32>>} : () -> ()
"autobatch.var"() {sym_name = "v3", pattern = !autobatch.weak<tensor<complex<f32>>>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@v0, @v1, @v2, @v3], outs = []} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = !autobatch.weak<tensor<i32>>, sym_name = "v0"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = !autobatch.weak<tensor<f32>>, sym_name = "v1"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = !autobatch.weak<tensor<3xf32>>, sym_name = "v2"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = !autobatch.weak<tensor<complex<f32>>>, sym_name = "v3"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@v0, @v1, @v2, @v3], outs = [], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
