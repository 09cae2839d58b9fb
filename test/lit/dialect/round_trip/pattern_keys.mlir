// Typed keys of each generator.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "v0", pattern = !autobatch.key<"fry", tensor<2xui32>>} : () -> ()
"autobatch.var"() {sym_name = "v1", pattern = !autobatch.key<"fry", tensor<3x5x2xui32>>} : () -> ()
"autobatch.var"() {sym_name = "v2", pattern = !autobatch.key<"rbg", tensor<4xui32>>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@v0, @v1, @v2], outs = []} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = !autobatch.key<"fry", tensor<2xui32>>, sym_name = "v0"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = !autobatch.key<"fry", tensor<3x5x2xui32>>, sym_name = "v1"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = !autobatch.key<"rbg", tensor<4xui32>>, sym_name = "v2"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@v0, @v1, @v2], outs = [], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
