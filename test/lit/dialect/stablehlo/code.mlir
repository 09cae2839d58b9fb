// to-stablehlo: code becomes code of static shapes where the number of lanes is known.

// RUN: hlobatch-opt %s "--to-stablehlo{dispatch=chain batch=8}" | filecheck %s

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

// CHECK: func.func private @block_0.bb0(
// CHECK: call @{{.*}}code{{.*}}(%{{.*}}, %{{.*}}) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
// CHECK: stablehlo.add %arg0, %arg1 : tensor<8xi32>
