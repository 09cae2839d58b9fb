// liveness: a call gives its results values and reads its arguments; in lowered programs, sets go across calls.

// RUN: hlobatch-opt %s --liveness | filecheck %s --check-prefix=CALLS
// RUN: hlobatch-opt %s --lower-calls --liveness | filecheck %s --check-prefix=LOWERED

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
// CALLS: module {
// CALLS-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CALLS-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CALLS-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CALLS-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "fib.n"} : () -> ()
// CALLS-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "fib.r"} : () -> ()
// CALLS-NEXT:   "autobatch.var"() {pattern = tensor<i1>, sym_name = "c"} : () -> ()
// CALLS-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "k"} : () -> ()
// CALLS-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "a"} : () -> ()
// CALLS-NEXT:   "autobatch.var"() {pattern = tensor<i32>, sym_name = "b"} : () -> ()
// CALLS-NEXT:   "autobatch.func"() ({
// CALLS-NEXT:     "autobatch.label"() {autobatch.live_in = [@n], autobatch.live_out = [@r], name = "entry"} : () -> ()
// CALLS-NEXT:     "autobatch.call"() {callee = @fib, ins = [@n], outs = [@r]} : () -> ()
// CALLS-NEXT:     "autobatch.return"() : () -> ()
// CALLS-NEXT:   }) {ins = [@n], outs = [@r], sym_name = "main"} : () -> ()
// CALLS-NEXT:   "autobatch.func"() ({
// CALLS-NEXT:     "autobatch.label"() {autobatch.live_in = [@fib.n], autobatch.live_out = [@fib.n], name = "entry"} : () -> ()
// CALLS-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@fib.n], outs = [@c], text = "n < 2"} : () -> ()
// CALLS-NEXT:     "autobatch.branch"()[^bb1, ^bb2] {condition = @c} : () -> ()
// CALLS-NEXT:   ^bb1:  // pred: ^bb0
// CALLS-NEXT:     "autobatch.label"() {autobatch.live_in = [@fib.n], autobatch.live_out = [@fib.r], name = "then"} : () -> ()
// CALLS-NEXT:     "autobatch.move"() {ins = [@fib.n], outs = [@fib.r]} : () -> ()
// CALLS-NEXT:     "autobatch.return"() : () -> ()
// CALLS-NEXT:   ^bb2:  // pred: ^bb0
// CALLS-NEXT:     "autobatch.label"() {autobatch.live_in = [@fib.n], autobatch.live_out = [@a, @fib.n], name = "else"} : () -> ()
// CALLS-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@fib.n], outs = [@k], text = "n - 2"} : () -> ()
// CALLS-NEXT:     "autobatch.call"() {callee = @fib, ins = [@k], outs = [@a]} : () -> ()
// CALLS-NEXT:     "autobatch.jump"()[^bb3] : () -> ()
// CALLS-NEXT:   ^bb3:  // pred: ^bb2
// CALLS-NEXT:     "autobatch.label"() {autobatch.live_in = [@a, @fib.n], autobatch.live_out = [@a, @b], name = "middle"} : () -> ()
// CALLS-NEXT:     "autobatch.prim"() {callee = @code_2, ins = [@fib.n], outs = [@k], text = "n - 1"} : () -> ()
// CALLS-NEXT:     "autobatch.call"() {callee = @fib, ins = [@k], outs = [@b]} : () -> ()
// CALLS-NEXT:     "autobatch.jump"()[^bb4] : () -> ()
// CALLS-NEXT:   ^bb4:  // pred: ^bb3
// CALLS-NEXT:     "autobatch.label"() {autobatch.live_in = [@a, @b], autobatch.live_out = [@fib.r], name = "end"} : () -> ()
// CALLS-NEXT:     "autobatch.prim"() {callee = @code_3, ins = [@a, @b], outs = [@fib.r], text = "a + b"} : () -> ()
// CALLS-NEXT:     "autobatch.return"() : () -> ()
// CALLS-NEXT:   }) {ins = [@fib.n], outs = [@fib.r], sym_name = "fib"} : () -> ()
// Checks, made by update_checks.py
// LOWERED: module {
// LOWERED-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// LOWERED-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "n"} : () -> ()
// LOWERED-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "fib.n"} : () -> ()
// LOWERED-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "fib.r"} : () -> ()
// LOWERED-NEXT:   "autobatch.var"() {allocation = "temporary", pattern = tensor<i1>, sym_name = "c"} : () -> ()
// LOWERED-NEXT:   "autobatch.var"() {allocation = "temporary", pattern = tensor<i32>, sym_name = "k"} : () -> ()
// LOWERED-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "a"} : () -> ()
// LOWERED-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "b"} : () -> ()
// LOWERED-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "fib.$return"} : () -> ()
// LOWERED-NEXT:   "autobatch.func"() ({
// LOWERED-NEXT:     "autobatch.label"() {autobatch.live_in = [@fib.$return, @n], autobatch.live_out = [@fib.$return, @fib.n], name = "main.entry"} : () -> ()
// LOWERED-NEXT:     "autobatch.move"() {ins = [@n], outs = [@fib.n]} : () -> ()
// LOWERED-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// LOWERED-NEXT:   ^bb1:  // 3 preds: ^bb0, ^bb3, ^bb5
// LOWERED-NEXT:     "autobatch.label"() {autobatch.live_in = [@fib.$return, @fib.n], autobatch.live_out = [@fib.$return, @fib.n], name = "fib.entry"} : () -> ()
// LOWERED-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@fib.n], outs = [@c], text = "n < 2"} : () -> ()
// LOWERED-NEXT:     "autobatch.branch"()[^bb2, ^bb3] {condition = @c} : () -> ()
// LOWERED-NEXT:   ^bb2:  // pred: ^bb1
// LOWERED-NEXT:     "autobatch.label"() {autobatch.live_in = [@fib.$return, @fib.n], autobatch.live_out = [@fib.$return, @fib.r], name = "fib.then"} : () -> ()
// LOWERED-NEXT:     "autobatch.move"() {ins = [@fib.n], outs = [@fib.r]} : () -> ()
// LOWERED-NEXT:     "autobatch.indirect_jump"() {counter = @fib.$return} : () -> ()
// LOWERED-NEXT:   ^bb3:  // pred: ^bb1
// LOWERED-NEXT:     "autobatch.label"() {autobatch.live_in = [@fib.$return, @fib.n], autobatch.live_out = [@fib.$return, @fib.n], name = "fib.else"} : () -> ()
// LOWERED-NEXT:     "autobatch.push"() {variables = [@fib.n]} : () -> ()
// LOWERED-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@fib.n], outs = [@k], text = "n - 2"} : () -> ()
// LOWERED-NEXT:     "autobatch.move"() {ins = [@k], outs = [@fib.n]} : () -> ()
// LOWERED-NEXT:     "autobatch.push_jump"()[^bb1, ^bb4] {counter = @fib.$return} : () -> ()
// LOWERED-NEXT:   ^bb4:  // pred: ^bb3
// LOWERED-NEXT:     "autobatch.label"() {autobatch.live_in = [@fib.$return, @fib.r], autobatch.live_out = [@a, @fib.$return, @fib.n], name = "fib.else.return"} : () -> ()
// LOWERED-NEXT:     "autobatch.pop"() {variables = [@fib.n]} : () -> ()
// LOWERED-NEXT:     "autobatch.move"() {ins = [@fib.r], outs = [@a]} : () -> ()
// LOWERED-NEXT:     "autobatch.jump"()[^bb5] : () -> ()
// LOWERED-NEXT:   ^bb5:  // pred: ^bb4
// LOWERED-NEXT:     "autobatch.label"() {autobatch.live_in = [@a, @fib.$return, @fib.n], autobatch.live_out = [@fib.$return, @fib.n], name = "fib.middle"} : () -> ()
// LOWERED-NEXT:     "autobatch.push"() {variables = [@a]} : () -> ()
// LOWERED-NEXT:     "autobatch.prim"() {callee = @code_2, ins = [@fib.n], outs = [@k], text = "n - 1"} : () -> ()
// LOWERED-NEXT:     "autobatch.move"() {ins = [@k], outs = [@fib.n]} : () -> ()
// LOWERED-NEXT:     "autobatch.push_jump"()[^bb1, ^bb6] {counter = @fib.$return} : () -> ()
// LOWERED-NEXT:   ^bb6:  // pred: ^bb5
// LOWERED-NEXT:     "autobatch.label"() {autobatch.live_in = [@fib.$return, @fib.r], autobatch.live_out = [@a, @b, @fib.$return], name = "fib.middle.return"} : () -> ()
// LOWERED-NEXT:     "autobatch.pop"() {variables = [@a]} : () -> ()
// LOWERED-NEXT:     "autobatch.move"() {ins = [@fib.r], outs = [@b]} : () -> ()
// LOWERED-NEXT:     "autobatch.jump"()[^bb7] : () -> ()
// LOWERED-NEXT:   ^bb7:  // pred: ^bb6
// LOWERED-NEXT:     "autobatch.label"() {autobatch.live_in = [@a, @b, @fib.$return], autobatch.live_out = [@fib.$return, @fib.r], name = "fib.end"} : () -> ()
// LOWERED-NEXT:     "autobatch.prim"() {callee = @code_3, ins = [@a, @b], outs = [@fib.r], text = "a + b"} : () -> ()
// LOWERED-NEXT:     "autobatch.indirect_jump"() {counter = @fib.$return} : () -> ()
// LOWERED-NEXT:   }) {ins = [@n], outs = [@fib.r], sym_name = "main"} : () -> ()
