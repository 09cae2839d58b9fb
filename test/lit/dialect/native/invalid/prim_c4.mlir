// prim_c4: the results of code are the arrays of the outputs.

// REQUIRES: native
// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics
// RUN: hlobatch-opt-native %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[prim_c4] @add gives (tensor<?xi32>), not (tensor<?xi1>)}}
  "autobatch.prim"() {callee = @add, ins = [@n, @n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[prim_c4] @add gives (tensor<?xi32>), not ()}}
  "autobatch.prim"() {callee = @add, ins = [@n, @n], outs = []} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// -----

// A constant is the same in every lane.
"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[prim_c4] @one gives (tensor<1xi32>), not (tensor<i32>)}}
  "autobatch.prim"() {callee = @one, ins = [], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @one() -> tensor<1xi32> {
  %0 = "stablehlo.constant"() <{value = dense<1> : tensor<1xi32>}> : () -> tensor<1xi32>
  return %0 : tensor<1xi32>
}
