// A module in custom assembly goes through Python's passes and comes back.

// REQUIRES: native
// RUN: hlobatch-opt-native %s --mlir-print-op-generic | hlobatch-opt --lower-calls --mlir-print-op-generic | hlobatch-opt-native | filecheck %s

autobatch.program @main
autobatch.var @n : tensor<i32>
autobatch.var @r : tensor<i32>
autobatch.var @f.x : tensor<i32>
autobatch.var @f.y : tensor<i32>
autobatch.func @main [@n] -> [@r] {
  autobatch.label "entry"
  autobatch.call @f [@n] -> [@r]
  autobatch.return
}
autobatch.func @f [@f.x] -> [@f.y] {
  autobatch.label "entry"
  autobatch.move [@f.x] -> [@f.y]
  autobatch.return
}

// CHECK-NOT: autobatch.call
// CHECK: autobatch.move [@n] -> [@f.x]
// CHECK-NOT: autobatch.func @f
