// Tuples, lists, dicts and None, nested.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "v0", pattern = []} : () -> ()
"autobatch.var"() {sym_name = "v1", pattern = [tensor<i32>]} : () -> ()
"autobatch.var"() {sym_name = "v2", pattern = [[tensor<i32>, tensor<f32>], []]} : () -> ()
"autobatch.var"() {sym_name = "v3", pattern = {node = "list", items = [tensor<i32>, {node = "none"}]}} : () -> ()
"autobatch.var"() {sym_name = "v4", pattern = {node = "dict", keys = ["a", "b"], items = [tensor<i32>, [tensor<f32>]]}} : () -> ()
"autobatch.var"() {sym_name = "v5", pattern = {node = "dict", keys = [1, 2], items = [tensor<i32>, tensor<f32>]}} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@v0, @v1, @v2, @v3, @v4, @v5], outs = []} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = [], sym_name = "v0"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = [tensor<i32>], sym_name = "v1"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {{\[\[}}tensor<i32>, tensor<f32>], []], sym_name = "v2"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {items = [tensor<i32>, {node = "none"}], node = "list"}, sym_name = "v3"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {items = [tensor<i32>, [tensor<f32>]], keys = ["a", "b"], node = "dict"}, sym_name = "v4"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {items = [tensor<i32>, tensor<f32>], keys = [1, 2], node = "dict"}, sym_name = "v5"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@v0, @v1, @v2, @v3, @v4, @v5], outs = [], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
