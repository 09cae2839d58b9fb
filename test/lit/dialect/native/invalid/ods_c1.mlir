// ods_c1: what an operation is made of is what the dialect declares. The native tool says it in MLIR's words.

// REQUIRES: native
// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics
// RUN: hlobatch-opt-native %s --split-input-file --verify-diagnostics

// expected-error-re@+1 {{{{\[ods_c1\] 'autobatch.prog' is no|unregistered operation 'autobatch.prog' found in}}}}
"autobatch.prog"() {entry = @main} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error-re@+1 {{[ods_c1] 'autobatch.var' {{(op )?}}requires attribute 'pattern'}}
"autobatch.var"() {sym_name = "x"} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{[ods_c1] 'autobatch.var' has no attribute 'size'}}
"autobatch.var"() {sym_name = "x", pattern = tensor<i32>, size = 3 : i64} : () -> ()

// -----

// expected-error-re@+1 {{[ods_c1] 'autobatch.program' {{(op )?}}attribute 'entry'}}
"autobatch.program"() {entry = "main"} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error-re@+1 {{[ods_c1] 'autobatch.jump' {{has 0 successors, not 1|op requires 1 successor}}}}
  "autobatch.jump"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error-re@+1 {{[ods_c1] 'autobatch.return' {{has 1 results, not 0|op requires zero results}}}}
  %0 = "autobatch.return"() : () -> i32
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error-re@+1 {{[ods_c1] 'autobatch.push' {{stands in 'builtin.module', not in |op expects parent op }}'autobatch.func'}}
"autobatch.push"() {variables = [@n]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[ods_c1] 'stablehlo.constant' is no operation of a program}}
  %0 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@n]} : () -> ()
func.func private @code(%n: tensor<?xi32>) -> tensor<?xi32> {
  // expected-error-re@+1 {{[ods_c1] 'autobatch.push' {{stands in @code, the code of a primitive|op expects parent op 'autobatch.func'}}}}
  "autobatch.push"() {variables = [@n]} : () -> ()
  return %n : tensor<?xi32>
}

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@n]} : () -> ()
func.func private @code(%n: tensor<?xi32>) -> tensor<?xi32> {
  "other.op"() ({
    // expected-error-re@+1 {{[ods_c1] 'autobatch.label' {{stands in @code, the code of a primitive|op expects parent op 'autobatch.func'}}}}
    "autobatch.label"() {name = "top"} : () -> ()
    "other.yield"() : () -> ()
  }) : () -> ()
  return %n : tensor<?xi32>
}

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@n]} : () -> ()
func.func private @code(%n: tensor<?xi32>) -> tensor<?xi32> {
  builtin.module {
    // expected-error@+1 {{[ods_c1] 'autobatch.program' stands in @code, the code of a primitive}}
    "autobatch.program"() {entry = @main} : () -> ()
    "autobatch.func"() ({
      "autobatch.return"() : () -> ()
    }) {sym_name = "main", ins = [], outs = []} : () -> ()
  }
  return %n : tensor<?xi32>
}

// -----

"autobatch.program"() {entry = @main} : () -> ()
// expected-error@+1 {{[ods_c1] 'autobatch.var' has an attribute that is a location}}
"autobatch.var"() {sym_name = "n", pattern = {static = loc("f":1:1)}} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@n]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@n]} : () -> ()
func.func private @code(%n: tensor<?xi32>) -> tensor<?xi32> {
  // expected-error@+1 {{[ods_c1] 'other.op' has an attribute that is a location}}
  "other.op"() {text = "loc(", callee = [loc("f":1:1)]} : () -> ()
  return %n : tensor<?xi32>
}

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@n]} : () -> ()
// expected-error@+1 {{[ods_c1] attribute 'autobatch.cost' is not a number}}
func.func private @code(%n: tensor<?xi32>) -> tensor<?xi32> attributes {autobatch.cost = "much"} {
  return %n : tensor<?xi32>
}
