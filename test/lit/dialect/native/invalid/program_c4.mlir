// program_c4: names of functions and variables are unique: MLIR's verifier says so.

// REQUIRES: native
// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics
// RUN: hlobatch-opt-native %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
// expected-note@+1 {{see existing symbol definition here}}
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{redefinition of symbol named 'main'}}
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
// expected-note@+1 {{see existing symbol definition here}}
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{redefinition of symbol named 'n'}}
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()

// -----

// Programs call their entry main, whatever its symbol is.
"autobatch.program"() {entry = @start} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "start", ins = [], outs = []} : () -> ()
// expected-error@+1 {{[program_c4] there are two functions called 'main'}}
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [], outs = []} : () -> ()
