// --mlir-print-ir-after-all: the module after each pass, on stderr.

// RUN: hlobatch-opt %s --dead-code --simplify-cfg --mlir-print-ir-after-all 2>&1 | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// CHECK: // -----// IR Dump After dead-code //----- //
// CHECK: "autobatch.program"
// CHECK: // -----// IR Dump After simplify-cfg //----- //
// CHECK: "autobatch.program"
