// Containers of classes that are not loaded are kept as they are written.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "v0", pattern = {node = "module:Point", fields = ["x", "y"], items = [tensor<f32>, tensor<f32>]}} : () -> ()
"autobatch.var"() {sym_name = "v1", pattern = {node = "module:Account", data = ["savings"], items = [tensor<i32>]}} : () -> ()
"autobatch.var"() {sym_name = "v2", pattern = {node = "collections:OrderedDict", data = ["b", "a"], items = [tensor<i32>, tensor<f32>]}} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@v0, @v1, @v2], outs = []} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {fields = ["x", "y"], items = [tensor<f32>, tensor<f32>], node = "module:Point"}, sym_name = "v0"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {data = ["savings"], items = [tensor<i32>], node = "module:Account"}, sym_name = "v1"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {data = ["b", "a"], items = [tensor<i32>, tensor<f32>], node = "collections:OrderedDict"}, sym_name = "v2"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@v0, @v1, @v2], outs = [], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
