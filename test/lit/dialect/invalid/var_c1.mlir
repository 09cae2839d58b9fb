// var_c1: a pattern is written as the dialect says, with static shapes.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{[var_c1] tensor<?xi32> is no array of static shape}}
"autobatch.var"() {sym_name = "x", pattern = tensor<?xi32>} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{[var_c1] JAX has no arrays of i17}}
"autobatch.var"() {sym_name = "x", pattern = tensor<3xi17>} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{[var_c1] memref<3xi32> is no array of static shape}}
"autobatch.var"() {sym_name = "x", pattern = memref<3xi32>} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{[var_c1] {kind = "list"} describes no type}}
"autobatch.var"() {sym_name = "x", pattern = {kind = "list"}} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{[var_c1] ['b', 'a'] are no keys in order}}
"autobatch.var"() {sym_name = "x", pattern = {node = "dict", keys = ["b", "a"], items = [tensor<i32>, tensor<i32>]}} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{[var_c1] no generator 'fry' has keys of the words u32[3]}}
"autobatch.var"() {sym_name = "x", pattern = !autobatch.key<"fry", tensor<3xui32>>} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{[var_c1] !autobatch.word<tensor<i32>> is no array of static shape}}
"autobatch.var"() {sym_name = "x", pattern = !autobatch.word<tensor<i32>>} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
// expected-error@+1 {{[var_c1] {age = 3 : i64} describes no Python object}}
"autobatch.var"() {sym_name = "x", pattern = {static = {age = 3 : i64}}} : () -> ()
