// Element types.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "v0", pattern = tensor<i1>} : () -> ()
"autobatch.var"() {sym_name = "v1", pattern = tensor<i8>} : () -> ()
"autobatch.var"() {sym_name = "v2", pattern = tensor<i16>} : () -> ()
"autobatch.var"() {sym_name = "v3", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "v4", pattern = tensor<i64>} : () -> ()
"autobatch.var"() {sym_name = "v5", pattern = tensor<ui8>} : () -> ()
"autobatch.var"() {sym_name = "v6", pattern = tensor<ui16>} : () -> ()
"autobatch.var"() {sym_name = "v7", pattern = tensor<ui32>} : () -> ()
"autobatch.var"() {sym_name = "v8", pattern = tensor<ui64>} : () -> ()
"autobatch.var"() {sym_name = "v9", pattern = tensor<f16>} : () -> ()
"autobatch.var"() {sym_name = "v10", pattern = tensor<bf16>} : () -> ()
"autobatch.var"() {sym_name = "v11", pattern = tensor<f32>} : () -> ()
"autobatch.var"() {sym_name = "v12", pattern = tensor<f64>} : () -> ()
"autobatch.var"() {sym_name = "v13", pattern = tensor<complex<f32>>} : () -> ()
"autobatch.var"() {sym_name = "v14", pattern = tensor<complex<f64>>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@v0, @v1, @v2, @v3, @v4, @v5, @v6, @v7, @v8, @v9, @v10, @v11, @v12, @v13, @v14], outs = []} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i1>, sym_name = "v0"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i8>, sym_name = "v1"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i16>, sym_name = "v2"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "v3"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<i64>, sym_name = "v4"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<ui8>, sym_name = "v5"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<ui16>, sym_name = "v6"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<ui32>, sym_name = "v7"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<ui64>, sym_name = "v8"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<f16>, sym_name = "v9"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<bf16>, sym_name = "v10"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<f32>, sym_name = "v11"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<f64>, sym_name = "v12"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<complex<f32>>, sym_name = "v13"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = tensor<complex<f64>>, sym_name = "v14"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@v0, @v1, @v2, @v3, @v4, @v5, @v6, @v7, @v8, @v9, @v10, @v11, @v12, @v13, @v14], outs = [], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
