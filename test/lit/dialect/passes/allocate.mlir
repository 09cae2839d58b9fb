// allocation: what is read after a recursive call has a stack, what lives in one block is temporary.

// RUN: hlobatch-opt %s --allocate | filecheck %s

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
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "fib.n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "fib.r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "temporary", pattern = tensor<i1>, sym_name = "c"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "temporary", pattern = tensor<i32>, sym_name = "k"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "a"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "b"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "entry"} : () -> ()
// CHECK-NEXT:     "autobatch.call"() {callee = @fib, ins = [@n], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@n], outs = [@r], sym_name = "main"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "entry"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_0, ins = [@fib.n], outs = [@c], text = "n < 2"} : () -> ()
// CHECK-NEXT:     "autobatch.branch"()[^bb1, ^bb2] {condition = @c} : () -> ()
// CHECK-NEXT:   ^bb1:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.label"() {name = "then"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@fib.n], outs = [@fib.r]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   ^bb2:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.label"() {name = "else"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_1, ins = [@fib.n], outs = [@k], text = "n - 2"} : () -> ()
// CHECK-NEXT:     "autobatch.call"() {callee = @fib, ins = [@k], outs = [@a]} : () -> ()
// CHECK-NEXT:     "autobatch.jump"()[^bb3] : () -> ()
// CHECK-NEXT:   ^bb3:  // pred: ^bb2
// CHECK-NEXT:     "autobatch.label"() {name = "middle"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_2, ins = [@fib.n], outs = [@k], text = "n - 1"} : () -> ()
// CHECK-NEXT:     "autobatch.call"() {callee = @fib, ins = [@k], outs = [@b]} : () -> ()
// CHECK-NEXT:     "autobatch.jump"()[^bb4] : () -> ()
// CHECK-NEXT:   ^bb4:  // pred: ^bb3
// CHECK-NEXT:     "autobatch.label"() {name = "end"} : () -> ()
// CHECK-NEXT:     "autobatch.prim"() {callee = @code_3, ins = [@a, @b], outs = [@fib.r], text = "a + b"} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   }) {ins = [@fib.n], outs = [@fib.r], sym_name = "fib"} : () -> ()
