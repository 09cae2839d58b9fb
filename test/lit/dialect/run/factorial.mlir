// A program with explicit stacks, pushed and popped by hand, runs as it is written.

// RUN: %python -c "import numpy as np; np.savez('%t.npz', n=np.arange(8))"
// RUN: hlobatch run %s --inputs %t.npz | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>, allocation = "full"} : () -> ()
"autobatch.var"() {sym_name = "one", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.var"() {sym_name = "c", pattern = tensor<i1>, allocation = "temporary"} : () -> ()
"autobatch.var"() {sym_name = "pc", pattern = tensor<i32>, allocation = "full"} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "start"} : () -> ()
  "autobatch.prim"() {callee = @first, ins = [], outs = [@one]} : () -> ()
  "autobatch.jump"()[^f] : () -> ()
^f:
  "autobatch.label"() {name = "f"} : () -> ()
  "autobatch.prim"() {callee = @less, ins = [@n, @one], outs = [@c], text = "n < 1"} : () -> ()
  "autobatch.branch"()[^t, ^e] {condition = @c} : () -> ()
^t:
  "autobatch.label"() {name = "then"} : () -> ()
  "autobatch.prim"() {callee = @first, ins = [], outs = [@r]} : () -> ()
  "autobatch.indirect_jump"() {counter = @pc} : () -> ()
^e:
  "autobatch.label"() {name = "else"} : () -> ()
  "autobatch.push"() {variables = [@n]} : () -> ()
  "autobatch.prim"() {callee = @sub, ins = [@n, @one], outs = [@n], text = "n - 1"} : () -> ()
  "autobatch.push_jump"()[^f, ^b] {counter = @pc} : () -> ()
^b:
  "autobatch.label"() {name = "back"} : () -> ()
  "autobatch.pop"() {variables = [@n]} : () -> ()
  "autobatch.prim"() {callee = @mul, ins = [@n, @r], outs = [@r], text = "n * r"} : () -> ()
  "autobatch.indirect_jump"() {counter = @pc} : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func private @first() -> tensor<i32> {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  return %0 : tensor<i32>
}
func.func private @less(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi1> {
  %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
  return %0 : tensor<?xi1>
}
func.func private @sub(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.subtract %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}
func.func private @mul(%a: tensor<?xi32>, %b: tensor<?xi32>) -> tensor<?xi32> {
  %0 = stablehlo.multiply %a, %b : tensor<?xi32>
  return %0 : tensor<?xi32>
}

// CHECK: [1, 1, 2, 6, 24, 120, 720, 5040]
