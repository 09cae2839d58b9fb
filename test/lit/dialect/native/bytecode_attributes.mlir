// Code with attributes: the native tool's bytecode of it is read by Python, and Python's by the native tool in generic form;
// in StableHLO's own it is refused.

// REQUIRES: native
// RUN: hlobatch-opt-native %s --inline-properties | filecheck %s --check-prefix=INLINE
// RUN: hlobatch-opt-native %s --inline-properties --emit-bytecode -o %t.native.mlirbc
// RUN: hlobatch-opt %t.native.mlirbc | filecheck %s
// RUN: hlobatch-opt %t.native.mlirbc --emit-bytecode -o %t.python.mlirbc
// RUN: not hlobatch-opt-native %t.python.mlirbc 2>&1 | filecheck %s --check-prefix=REFUSED
// RUN: hlobatch-opt %t.native.mlirbc --mlir-print-op-generic --emit-bytecode -o %t.generic.mlirbc
// RUN: hlobatch-opt-native %t.generic.mlirbc --inline-properties | filecheck %s --check-prefix=INLINE

autobatch.program @main
autobatch.var @r : tensor<f32>
autobatch.func @main [] -> [@r] {
  autobatch.prim @half [] -> [@r] "0.5"
  autobatch.return
}
func.func private @half() -> tensor<f32> {
  %0 = "stablehlo.constant"() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  return %0 : tensor<f32>
}

// INLINE: "stablehlo.constant"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>
// CHECK: stablehlo.constant dense<5.000000e-01> : tensor<f32>
// REFUSED: error: the attributes of 'stablehlo.constant' were written by a tool that knows it
