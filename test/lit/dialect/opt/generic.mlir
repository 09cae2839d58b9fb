// --mlir-print-op-generic: code in generic form too, for tools that do not know StableHLO.

// RUN: hlobatch-opt %s --mlir-print-op-generic | filecheck %s
// RUN: hlobatch-opt %s --mlir-print-op-generic | hlobatch-opt | filecheck %s --check-prefix=PRETTY

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.prim"() {callee = @add, ins = [@n, @n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK: "builtin.module"() ({
// CHECK: "func.func"() <{
// CHECK: "stablehlo.add"(
// PRETTY: stablehlo.add %arg0, %arg1 : tensor<?xi32>
