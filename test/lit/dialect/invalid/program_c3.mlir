// program_c3: every successor is a block of the same function: MLIR's parser says so.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{reference to an undefined block}}
  "autobatch.jump"()[^elsewhere] : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

// Blocks of another function are not seen.
"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "a"} : () -> ()
  "autobatch.jump"()[^b] : () -> ()
^b:
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{reference to an undefined block}}
  "autobatch.jump"()[^b] : () -> ()
}) {sym_name = "f", ins = [], outs = []} : () -> ()

// -----

// MLIR lets nothing jump to the first block.
"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
// expected-error@+1 {{entry block of region may not have predecessors}}
"autobatch.func"() ({
^a:
    "autobatch.jump"()[^a] : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
