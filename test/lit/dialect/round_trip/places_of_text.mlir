// An operation without a place in a source has the place of its text.

// RUN: hlobatch-opt %s --round-trip --mlir-print-debuginfo | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// CHECK: "autobatch.move"() {ins = [@n], outs = [@r]} : () -> () loc(#[[MOVE:loc[0-9]*]])
// CHECK: #[[MOVE]] = loc("{{.*}}places_of_text.mlir":9:3)
