// coalesce-copies: both sides of a copy share storage where neither is in the other's way.

// RUN: hlobatch-opt %s --lower-calls --coalesce-copies --simplify-cfg --allocate | filecheck %s

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
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "fib.n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "temporary", pattern = tensor<i1>, sym_name = "c"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "a"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "b"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "fib.$return"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.jump"()[^bb1] : () -> ()
// CHECK-NEXT:   ^bb1:  // 3 preds: ^bb0, ^bb3, ^bb4
// CHECK-NEXT:     "autobatch.label"() {name = "fib.entry"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@fib.n], outs = [@c], text = "n < 2"} : () -> ()
// CHECK-NEXT:     "autobatch.branch"()[^bb2, ^bb3] {condition = @c} : () -> ()
// CHECK-NEXT:   ^bb2:  // pred: ^bb1
// CHECK-NEXT:     "autobatch.label"() {name = "fib.then"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@fib.n], outs = [@b]} : () -> ()
// CHECK-NEXT:     "autobatch.indirect_jump"() {counter = @fib.$return} : () -> ()
// CHECK-NEXT:   ^bb3:  // pred: ^bb1
// CHECK-NEXT:     "autobatch.label"() {name = "fib.else"} : () -> ()
// CHECK-NEXT:     "autobatch.push"() {variables = [@fib.n]} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@fib.n], outs = [@fib.n], text = "n - 2"} : () -> ()
// CHECK-NEXT:     "autobatch.push_jump"()[^bb1, ^bb4] {counter = @fib.$return} : () -> ()
// CHECK-NEXT:   ^bb4:  // pred: ^bb3
// CHECK-NEXT:     "autobatch.label"() {name = "fib.else.return"} : () -> ()
// CHECK-NEXT:     "autobatch.pop"() {variables = [@fib.n]} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@b], outs = [@a]} : () -> ()
// CHECK-NEXT:     "autobatch.push"() {variables = [@a]} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_2, ins = [@fib.n], outs = [@fib.n], text = "n - 1"} : () -> ()
// CHECK-NEXT:     "autobatch.push_jump"()[^bb1, ^bb5] {counter = @fib.$return} : () -> ()
// CHECK-NEXT:   ^bb5:  // pred: ^bb4
// CHECK-NEXT:     "autobatch.label"() {name = "fib.middle.return"} : () -> ()
// CHECK-NEXT:     "autobatch.pop"() {variables = [@a]} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_3, ins = [@a, @b], outs = [@b], text = "a + b"} : () -> ()
// CHECK-NEXT:     "autobatch.indirect_jump"() {counter = @fib.$return} : () -> ()
// CHECK-NEXT:   }) {ins = [@fib.n], outs = [@b], sym_name = "main"} : () -> ()
