// --pass-pipeline runs passes in order, builtin.module(…) around them or not.

// RUN: hlobatch-opt %s --pass-pipeline="lower-calls,pop-push-elimination,coalesce-copies,simplify-cfg,allocate" | filecheck %s --check-prefix=PLAIN
// RUN: hlobatch-opt %s --pass-pipeline="builtin.module(lower-calls,pop-push-elimination,coalesce-copies,simplify-cfg,allocate)" | filecheck %s --check-prefix=NESTED

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "fib.n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "fib.r", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>} : () -> ()
"autobatch.var"() {sym_name = "k", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "a", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "b", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "entry"} : () -> ()
  "autobatch.call"() {callee = @fib, ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "entry"} : () -> ()
  "autobatch.prim"() {callee = @small, ins = [@fib.n], outs = [@c], text = "n < 2"} : () -> ()
  "autobatch.branch"()[^t, ^e] {condition = @c} : () -> ()
^t:
  "autobatch.label"() {name = "then"} : () -> ()
  "autobatch.move"() {ins = [@fib.n], outs = [@fib.r]} : () -> ()
  "autobatch.return"() : () -> ()
^e:
  "autobatch.label"() {name = "else"} : () -> ()
  "autobatch.prim"() {callee = @minus2, ins = [@fib.n], outs = [@k], text = "n - 2"} : () -> ()
  "autobatch.call"() {callee = @fib, ins = [@k], outs = [@a]} : () -> ()
  "autobatch.jump"()[^m] : () -> ()
^m:
  "autobatch.label"() {name = "middle"} : () -> ()
  "autobatch.prim"() {callee = @minus1, ins = [@fib.n], outs = [@k], text = "n - 1"} : () -> ()
  "autobatch.call"() {callee = @fib, ins = [@k], outs = [@b]} : () -> ()
  "autobatch.jump"()[^z] : () -> ()
^z:
  "autobatch.label"() {name = "end"} : () -> ()
  "autobatch.prim"() {callee = @add, ins = [@a, @b], outs = [@fib.r], text = "a + b"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "fib", ins = [@fib.n], outs = [@fib.r]} : () -> ()
func.func private @small(%n: tensor<?xi32>) -> tensor<?xi1> {
  %two = func.call @twos(%n) : (tensor<?xi32>) -> tensor<?xi32>
  %0 = stablehlo.compare LT, %n, %two, SIGNED : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}
func.func private @twos(%n: tensor<?xi32>) -> tensor<?xi32> {
  %zero = stablehlo.subtract %n, %n : tensor<?xi32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %lanes = stablehlo.get_dimension_size %n, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  %shape = stablehlo.reshape %lanes : (tensor<i32>) -> tensor<1xi32>
  %twos = stablehlo.dynamic_broadcast_in_dim %two, %shape, dims = [] : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
  %0 = stablehlo.add %zero, %twos : tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func private @minus1(%n: tensor<?xi32>) -> tensor<?xi32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %lanes = stablehlo.get_dimension_size %n, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  %shape = stablehlo.reshape %lanes : (tensor<i32>) -> tensor<1xi32>
  %ones = stablehlo.dynamic_broadcast_in_dim %one, %shape, dims = [] : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
  %0 = stablehlo.subtract %n, %ones : tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func private @minus2(%n: tensor<?xi32>) -> tensor<?xi32> {
  %two = func.call @twos(%n) : (tensor<?xi32>) -> tensor<?xi32>
  %0 = stablehlo.subtract %n, %two : tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func private @add(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.add %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// Checks, made by update_checks.py
// PLAIN: module {
// PLAIN-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// PLAIN-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "fib.n"} : () -> ()
// PLAIN-NEXT:   "autobatch.var"() {allocation = "temporary", pattern = tensor<i1>, sym_name = "c"} : () -> ()
// PLAIN-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "a"} : () -> ()
// PLAIN-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "b"} : () -> ()
// PLAIN-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "fib.$return"} : () -> ()
// PLAIN-NEXT:   "autobatch.func"() ({
// PLAIN-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// PLAIN-NEXT:   ^bb1:  // 3 preds: ^bb0, ^bb3, ^bb4
// PLAIN-NEXT:     "autobatch.label"() {name = "fib.entry"} : () -> ()
// PLAIN-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@fib.n], outs = [@c], text = "n < 2"} : () -> ()
// PLAIN-NEXT:     "autobatch.branch"()[^bb2, ^bb3] {condition = @c} : () -> ()
// PLAIN-NEXT:   ^bb2:  // pred: ^bb1
// PLAIN-NEXT:     "autobatch.label"() {name = "fib.then"} : () -> ()
// PLAIN-NEXT:     "autobatch.move"() {ins = [@fib.n], outs = [@b]} : () -> ()
// PLAIN-NEXT:     "autobatch.indirect_jump"() {counter = @fib.$return} : () -> ()
// PLAIN-NEXT:   ^bb3:  // pred: ^bb1
// PLAIN-NEXT:     "autobatch.label"() {name = "fib.else"} : () -> ()
// PLAIN-NEXT:     "autobatch.push"() {variables = [@fib.n]} : () -> ()
// PLAIN-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@fib.n], outs = [@fib.n], text = "n - 2"} : () -> ()
// PLAIN-NEXT:     "autobatch.push_jump"()[^bb1, ^bb4] {counter = @fib.$return} : () -> ()
// PLAIN-NEXT:   ^bb4:  // pred: ^bb3
// PLAIN-NEXT:     "autobatch.label"() {name = "fib.else.return"} : () -> ()
// PLAIN-NEXT:     "autobatch.pop"() {variables = [@fib.n]} : () -> ()
// PLAIN-NEXT:     "autobatch.move"() {ins = [@b], outs = [@a]} : () -> ()
// PLAIN-NEXT:     "autobatch.push"() {variables = [@a]} : () -> ()
// PLAIN-NEXT:     "autobatch.prim"() {callee = @code_2, ins = [@fib.n], outs = [@fib.n], text = "n - 1"} : () -> ()
// PLAIN-NEXT:     "autobatch.push_jump"()[^bb1, ^bb5] {counter = @fib.$return} : () -> ()
// PLAIN-NEXT:   ^bb5:  // pred: ^bb4
// PLAIN-NEXT:     "autobatch.label"() {name = "fib.middle.return"} : () -> ()
// PLAIN-NEXT:     "autobatch.pop"() {variables = [@a]} : () -> ()
// PLAIN-NEXT:     "autobatch.prim"() {callee = @code_3, ins = [@a, @b], outs = [@b], text = "a + b"} : () -> ()
// PLAIN-NEXT:     "autobatch.indirect_jump"() {counter = @fib.$return} : () -> ()
// PLAIN-NEXT:   }) {ins = [@fib.n], outs = [@b], sym_name = "main"} : () -> ()
// Checks, made by update_checks.py
// NESTED: module {
// NESTED-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// NESTED-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "fib.n"} : () -> ()
// NESTED-NEXT:   "autobatch.var"() {allocation = "temporary", pattern = tensor<i1>, sym_name = "c"} : () -> ()
// NESTED-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "a"} : () -> ()
// NESTED-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "b"} : () -> ()
// NESTED-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "fib.$return"} : () -> ()
// NESTED-NEXT:   "autobatch.func"() ({
// NESTED-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// NESTED-NEXT:   ^bb1:  // 3 preds: ^bb0, ^bb3, ^bb4
// NESTED-NEXT:     "autobatch.label"() {name = "fib.entry"} : () -> ()
// NESTED-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@fib.n], outs = [@c], text = "n < 2"} : () -> ()
// NESTED-NEXT:     "autobatch.branch"()[^bb2, ^bb3] {condition = @c} : () -> ()
// NESTED-NEXT:   ^bb2:  // pred: ^bb1
// NESTED-NEXT:     "autobatch.label"() {name = "fib.then"} : () -> ()
// NESTED-NEXT:     "autobatch.move"() {ins = [@fib.n], outs = [@b]} : () -> ()
// NESTED-NEXT:     "autobatch.indirect_jump"() {counter = @fib.$return} : () -> ()
// NESTED-NEXT:   ^bb3:  // pred: ^bb1
// NESTED-NEXT:     "autobatch.label"() {name = "fib.else"} : () -> ()
// NESTED-NEXT:     "autobatch.push"() {variables = [@fib.n]} : () -> ()
// NESTED-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@fib.n], outs = [@fib.n], text = "n - 2"} : () -> ()
// NESTED-NEXT:     "autobatch.push_jump"()[^bb1, ^bb4] {counter = @fib.$return} : () -> ()
// NESTED-NEXT:   ^bb4:  // pred: ^bb3
// NESTED-NEXT:     "autobatch.label"() {name = "fib.else.return"} : () -> ()
// NESTED-NEXT:     "autobatch.pop"() {variables = [@fib.n]} : () -> ()
// NESTED-NEXT:     "autobatch.move"() {ins = [@b], outs = [@a]} : () -> ()
// NESTED-NEXT:     "autobatch.push"() {variables = [@a]} : () -> ()
// NESTED-NEXT:     "autobatch.prim"() {callee = @code_2, ins = [@fib.n], outs = [@fib.n], text = "n - 1"} : () -> ()
// NESTED-NEXT:     "autobatch.push_jump"()[^bb1, ^bb5] {counter = @fib.$return} : () -> ()
// NESTED-NEXT:   ^bb5:  // pred: ^bb4
// NESTED-NEXT:     "autobatch.label"() {name = "fib.middle.return"} : () -> ()
// NESTED-NEXT:     "autobatch.pop"() {variables = [@a]} : () -> ()
// NESTED-NEXT:     "autobatch.prim"() {callee = @code_3, ins = [@a, @b], outs = [@b], text = "a + b"} : () -> ()
// NESTED-NEXT:     "autobatch.indirect_jump"() {counter = @fib.$return} : () -> ()
// NESTED-NEXT:   }) {ins = [@fib.n], outs = [@b], sym_name = "main"} : () -> ()
