// Places in the source, with their ends and functions, and where inputs are read.

// RUN: hlobatch-opt %s --round-trip --mlir-print-debuginfo | filecheck %s

"autobatch.program"() {entry = @main} : () -> () loc("user.py":1:1 to 9:20)
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> () loc("user.py":2:1)
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> () loc("f"("user.py":3:5 to :9))
  "autobatch.prim"() {callee = @add, ins = [@n, @r], outs = [@r], text = "n + r"} : () -> () loc(fused["at"("f"("user.py":4:5 to 5:9)), "read 0"("f"("user.py":4:5 to :6)), "read 1"])
  "autobatch.return"() : () -> () loc(unknown)
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK: #[[UNKNOWN:loc]] = loc(unknown)
// CHECK: "autobatch.program"() {entry = @main} : () -> () loc(#[[PROGRAM:loc[0-9]*]])
// CHECK: "autobatch.label"() {name = "top"} : () -> () loc(#[[LABEL:loc[0-9]*]])
// CHECK: "autobatch.move"() {ins = [@n], outs = [@r]} : () -> () loc(#[[MOVE:loc[0-9]*]])
// CHECK: "autobatch.prim"() {callee = @code_0, ins = [@n, @r], outs = [@r], text = "n + r"} : () -> () loc(#[[PRIM:loc[0-9]*]])
// CHECK: "autobatch.return"() : () -> () loc(#[[UNKNOWN]])
// CHECK-DAG: #[[PROGRAM]] = loc("user.py":1:1 to 9:20)
// CHECK-DAG: #[[LABEL]] = loc("user.py":2:1)
// CHECK-DAG: #[[MOVE]] = loc("f"(#[[SPAN:loc[0-9]*]]))
// CHECK-DAG: #[[SPAN]] = loc("user.py":3:5 to :9)
// CHECK-DAG: #[[PRIM]] = loc(fused[#{{loc[0-9]*}}, #{{loc[0-9]*}}, #{{loc[0-9]*}}])
// CHECK-DAG: loc("read 0"(#{{loc[0-9]*}}))
