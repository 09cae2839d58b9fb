// check-definedness: refuses a read of a variable that may have no value.

// RUN: hlobatch-opt %s --check-definedness --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "x", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.branch"()[^a, ^b] {condition = @c} : () -> ()
^a:
  "autobatch.label"() {name = "then"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@x]} : () -> ()
  "autobatch.jump"()[^b] : () -> ()
^b:
  "autobatch.label"() {name = "after"} : () -> ()
  // expected-error@+1 {{'x' may be read before it has a value}}
  "autobatch.move"() {ins = [@x], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n, @c], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
