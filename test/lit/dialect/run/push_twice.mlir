// A variable pushed twice by one operation is two frames deep, whatever its neighbors do.

// RUN: %python -c "import numpy as np; np.savez('%t.npz', a=np.arange(4), b=np.arange(4) + 10)"
// RUN: hlobatch run %s --inputs %t.npz | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "a", pattern = tensor<i32>, allocation = "full"} : () -> ()
"autobatch.var"() {sym_name = "b", pattern = tensor<i32>, allocation = "full"} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "entry"} : () -> ()
  "autobatch.push"() {variables = [@a, @b, @a]} : () -> ()
  "autobatch.move"() {ins = [@b], outs = [@a]} : () -> ()
  "autobatch.pop"() {variables = [@a]} : () -> ()
  "autobatch.move"() {ins = [@a], outs = [@b]} : () -> ()
  "autobatch.push"() {variables = [@b, @b]} : () -> ()
  "autobatch.pop"() {variables = [@b, @a, @b, @b]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@a, @b], outs = [@a, @b]} : () -> ()

// Both are as they came in.
// CHECK: [0, 1, 2, 3]
// CHECK: [10, 11, 12, 13]
