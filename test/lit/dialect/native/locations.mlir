// Places in the user's source go to the native tool and back.

// REQUIRES: native
// RUN: hlobatch-opt %s --mlir-print-debuginfo --mlir-print-op-generic | hlobatch-opt-native --mlir-print-debuginfo | filecheck %s
// RUN: hlobatch-opt %s --mlir-print-debuginfo > %t.python
// RUN: hlobatch-opt %s --mlir-print-debuginfo --mlir-print-op-generic | hlobatch-opt-native --mlir-print-debuginfo --mlir-print-op-generic | hlobatch-opt --mlir-print-debuginfo | diff %t.python -

"autobatch.program"() {entry = @main} : () -> () loc("user.py":1:1 to 9:20)
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> () loc(unknown)
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> () loc("user.py":2:1)
  "autobatch.move"() {ins = [@n], outs = [@n]} : () -> () loc("f"("user.py":3:5 to :9))
  "autobatch.return"() : () -> () loc(unknown)
}) {sym_name = "main", ins = [@n], outs = [@n]} : () -> () loc("user.py":1:1)

// CHECK: autobatch.move [@n] -> [@n] loc(#[[MOVE:loc[0-9]*]])
// CHECK-DAG: #[[SPAN:loc[0-9]*]] = loc("user.py":3:5 to :9)
// CHECK-DAG: #[[MOVE]] = loc("f"(#[[SPAN]]))
