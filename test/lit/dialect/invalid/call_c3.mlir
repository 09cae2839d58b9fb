// call_c3: as many results as the callee has.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "x", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "y", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[call_c3] f has 1 results, 0 are taken}}
  "autobatch.call"() {callee = @f, ins = [@n], outs = []} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
"autobatch.func"() ({
  "autobatch.move"() {ins = [@x], outs = [@y]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "f", ins = [@x], outs = [@y]} : () -> ()
