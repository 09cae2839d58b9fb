// push_c1: only variables with a stack are pushed or popped.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[push_c1] %n is REGISTER and has no stack}}
  "autobatch.push"() {variables = [@n]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[push_c1] %n is REGISTER and has no stack}}
  "autobatch.pop"() {variables = [@n]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
