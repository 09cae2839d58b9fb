// --verify-diagnostics: what is announced and does not come is an error, and so is what comes unannounced.

// RUN: not hlobatch-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// expected-error@+1 {{nothing of the kind}}
"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.move"() {ins = [@n, @n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// CHECK: verify_diagnostics.mlir:6:1: error: expected error "nothing of the kind" was not produced
// CHECK: verify_diagnostics.mlir:22:1: error: unexpected error: [move_c1] 2 variables are copied to 1
