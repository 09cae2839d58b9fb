// alloc_c3: a `shared` variable is an input, or written once, in the entry block, from `shared` variables.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>, allocation = "shared"} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[alloc_c3] %r is SHARED but is written here}}
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>, allocation = "shared"} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>, allocation = "shared"} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "a"} : () -> ()
  "autobatch.jump"()[^b] : () -> ()
^b:
  "autobatch.label"() {name = "b"} : () -> ()
  // expected-error@+1 {{[alloc_c3] %r is SHARED but is written here}}
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
