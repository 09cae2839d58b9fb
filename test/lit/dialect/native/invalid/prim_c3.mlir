// prim_c3: the parameters of code are the arrays of the inputs.

// REQUIRES: native
// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics
// RUN: hlobatch-opt-native %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[prim_c3] @add takes (tensor<?xi32>, tensor<?xi32>), not (tensor<?xi32>)}}
  "autobatch.prim"() {callee = @add, ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<2xf32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[prim_c3] @add takes (tensor<?xi32>, tensor<?xi32>), not (tensor<?x2xf32>, tensor<?x2xf32>)}}
  "autobatch.prim"() {callee = @add, ins = [@n, @n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

// What all lanes share has no dimension of lanes.
"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "k", pattern = tensor<i32>, allocation = "shared"} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[prim_c3] @add takes (tensor<?xi32>, tensor<?xi32>), not (tensor<?xi32>, tensor<i32>)}}
  "autobatch.prim"() {callee = @add, ins = [@n, @k], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n, @k], outs = [@r]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}
