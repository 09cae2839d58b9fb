// Text: the native tool reads what Python prints, and Python reads what the native tool prints.

// REQUIRES: native
// RUN: hlobatch-opt %s --mlir-print-op-generic | hlobatch-opt-native | filecheck %s --check-prefix=NATIVE
// RUN: hlobatch-opt %s > %t.python
// RUN: hlobatch-opt %s --mlir-print-op-generic | hlobatch-opt-native | hlobatch-opt-native --mlir-print-op-generic | hlobatch-opt | diff %t.python -

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.prim"() {callee = @even, ins = [@n], outs = [@c], text = "n % 2 == 0"} : () -> ()
  "autobatch.branch"()[^next, ^out] {condition = @c} : () -> ()
^next:
  "autobatch.label"() {name = "next"} : () -> ()
  "autobatch.return"() : () -> ()
^out:
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@n]} : () -> ()
func.func private @even(%a: tensor<?xi32>) -> tensor<?xi1> {
  %0 = stablehlo.compare EQ, %a, %a : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}

// NATIVE: autobatch.func @main [@n] -> [@n] {
// NATIVE-NEXT: autobatch.label "top"
// NATIVE-NEXT: autobatch.prim @even [@n] -> [@c] "n % 2 == 0"
// NATIVE-NEXT: autobatch.branch @c, ^next, ^bb2
// NATIVE: "stablehlo.compare"(%arg0, %arg0) <{comparison_direction = #stablehlo<comparison_direction EQ>}>
