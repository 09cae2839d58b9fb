// A program that may read a variable before it has a value does not run.

// RUN: %python -c "import numpy as np; np.savez('%t.npz', n=np.arange(3))"
// RUN: not hlobatch run %s --inputs %t.npz 2>&1 | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "x", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.move"() {ins = [@x], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// CHECK: undefined.mlir:11:3: error: 'x' may be read before it has a value
