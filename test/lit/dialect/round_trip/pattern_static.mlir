// Python objects, by value or by name.

// RUN: hlobatch-opt %s --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "v0", pattern = {static = 7}} : () -> ()
"autobatch.var"() {sym_name = "v1", pattern = {static = true}} : () -> ()
"autobatch.var"() {sym_name = "v2", pattern = {static = 2.5}} : () -> ()
"autobatch.var"() {sym_name = "v3", pattern = {static = -0.0}} : () -> ()
"autobatch.var"() {sym_name = "v4", pattern = {static = 0x7FF0000000000000 : f64}} : () -> ()
"autobatch.var"() {sym_name = "v5", pattern = {static = "mode"}} : () -> ()
"autobatch.var"() {sym_name = "v6", pattern = {static = [1, [2.0]]}} : () -> ()
"autobatch.var"() {sym_name = "v7", pattern = {static = {complex = [1.0, -0.0]}}} : () -> ()
"autobatch.var"() {sym_name = "v8", pattern = {static = {int = "123456789012345678901234567890"}}} : () -> ()
"autobatch.var"() {sym_name = "v9", pattern = {static = {bytes = "00ff"}}} : () -> ()
"autobatch.var"() {sym_name = "v10", pattern = {static = {list = [1, "a"]}}} : () -> ()
"autobatch.var"() {sym_name = "v11", pattern = {static = {dict = [["a", 1]]}}} : () -> ()
"autobatch.var"() {sym_name = "v12", pattern = {static = {dtype = "float32"}}} : () -> ()
"autobatch.var"() {sym_name = "v13", pattern = {static = {object = "somewhere:f"}}} : () -> ()
"autobatch.var"() {sym_name = "v14", pattern = {static = {object = "math:sin"}}} : () -> ()
"autobatch.var"() {sym_name = "v15", pattern = {static = {none}}} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@v0, @v1, @v2, @v3, @v4, @v5, @v6, @v7, @v8, @v9, @v10, @v11, @v12, @v13, @v14, @v15], outs = []} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = 7 : i64}, sym_name = "v0"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = true}, sym_name = "v1"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = 2.500000e+00 : f64}, sym_name = "v2"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = -0.000000e+00 : f64}, sym_name = "v3"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = 0x7FF0000000000000 : f64}, sym_name = "v4"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = "mode"}, sym_name = "v5"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = [1, [2.000000e+00]]}, sym_name = "v6"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = {complex = [1.000000e+00, -0.000000e+00]}}, sym_name = "v7"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = {int = "123456789012345678901234567890"}}, sym_name = "v8"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = {bytes = "00ff"}}, sym_name = "v9"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = {list = [1, "a"]}}, sym_name = "v10"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = {dict = {{\[\[}}"a", 1]]}}, sym_name = "v11"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = {dtype = "float32"}}, sym_name = "v12"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = {object = "somewhere:f"}}, sym_name = "v13"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = {object = "math:sin"}}, sym_name = "v14"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {pattern = {static = {none}}, sym_name = "v15"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "bb0"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@v0, @v1, @v2, @v3, @v4, @v5, @v6, @v7, @v8, @v9, @v10, @v11, @v12, @v13, @v14, @v15], outs = [], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
