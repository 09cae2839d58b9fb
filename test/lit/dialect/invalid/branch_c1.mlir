// branch_c1: the condition is a scalar boolean.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "a"} : () -> ()
  // expected-error@+1 {{[branch_c1] the condition %n is i32[], not a scalar boolean}}
  "autobatch.branch"()[^b, ^b] {condition = @n} : () -> ()
^b:
  "autobatch.label"() {name = "b"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<2xi1>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "a"} : () -> ()
  // expected-error@+1 {{[branch_c1] the condition %n is bool[2], not a scalar boolean}}
  "autobatch.branch"()[^b, ^b] {condition = @n} : () -> ()
^b:
  "autobatch.label"() {name = "b"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

// What is known when the program is built has been decided.
"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = {static = true}} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "a"} : () -> ()
  // expected-error@+1 {{[branch_c1] the condition %n is static True, not a scalar boolean}}
  "autobatch.branch"()[^b, ^b] {condition = @n} : () -> ()
^b:
  "autobatch.label"() {name = "b"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
