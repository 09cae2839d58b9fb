// Bytecode holds what text does.

// RUN: hlobatch-opt %s --emit-bytecode -o %t.mlirbc
// RUN: hlobatch-opt %t.mlirbc --round-trip | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// CHECK: "autobatch.program"() {entry = @main} : () -> ()
// CHECK: "autobatch.label"() {name = "top"} : () -> ()
// CHECK-NEXT: "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
