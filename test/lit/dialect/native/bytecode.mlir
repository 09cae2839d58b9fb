// Bytecode in both directions. How operations of StableHLO with attributes are written is theirs to know, so the native
// tool inlines those for Python, and Python writes those for the native tool in generic form (bytecode_attributes.mlir).

// REQUIRES: native
// RUN: hlobatch-opt-native %s --inline-properties --emit-bytecode -o %t.native.mlirbc
// RUN: hlobatch-opt %t.native.mlirbc | filecheck %s --check-prefix=PYTHON
// RUN: hlobatch-opt %t.native.mlirbc --simplify-cfg | filecheck %s --check-prefix=PYTHON

// RUN: hlobatch-opt %s --emit-bytecode -o %t.python.mlirbc
// RUN: hlobatch-opt-native %t.python.mlirbc | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = !autobatch.weak<tensor<i32>>, allocation = "register"} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top", sync} : () -> ()
  "autobatch.prim"() {callee = @double, ins = [@n], outs = [@n], text = "n + n"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@n]} : () -> ()
func.func private @double(%a: tensor<?xi32>) -> tensor<?xi32> {
  %0 = "stablehlo.add"(%a, %a) : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK: autobatch.var @n stored "register" : !autobatch.weak<tensor<i32>>
// CHECK: autobatch.label "top" sync
// CHECK-NEXT: autobatch.prim @double [@n] -> [@n] "n + n"
// CHECK: "stablehlo.add"(%arg0, %arg0)

// PYTHON: "autobatch.var"() {allocation = "register", pattern = !autobatch.weak<tensor<i32>>, sym_name = "n"}
// PYTHON: "autobatch.label"() {name = "top", sync} : () -> ()
// PYTHON-NEXT: "autobatch.prim"() {callee = @{{double|code_0}}, ins = [@n], outs = [@n], text = "n + n"} : () -> ()
// PYTHON: stablehlo.add %arg0, %arg0
