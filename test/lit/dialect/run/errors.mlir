// Arrays that do not fit are refused by name.

// RUN: %python -c "import numpy as np; np.savez('%t.1.npz', m=np.arange(3))"
// RUN: not hlobatch run %s --inputs %t.1.npz 2>&1 | filecheck %s --check-prefix=NAME
// RUN: %python -c "import numpy as np; np.savez('%t.2.npz', n=np.zeros((3, 2), int))"
// RUN: not hlobatch run %s --inputs %t.2.npz 2>&1 | filecheck %s --check-prefix=SHAPE
// RUN: %python -c "import numpy as np; np.savez('%t.3.npz', n=np.zeros(3, complex))"
// RUN: not hlobatch run %s --inputs %t.3.npz 2>&1 | filecheck %s --check-prefix=TYPE
// RUN: not hlobatch run %s.none.mlir --inputs %t.1.npz 2>&1 | filecheck %s --check-prefix=FILE

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// NAME: error: the program takes n; given are m
// SHAPE: error: 'n' is an array (3, 2); one lane takes i32[]
// TYPE: error: 'n' is an array of complex128; the program takes i32[]
// FILE: error: there is no file
