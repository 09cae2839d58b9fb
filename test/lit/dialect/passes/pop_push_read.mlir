// pop-push-elimination: not where the value is read in between, even if the callee writes @n before it reads it.

// RUN: hlobatch-opt %s --pop-push-elimination | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>, allocation = "full"} : () -> ()
"autobatch.var"() {sym_name = "m", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.var"() {sym_name = "pc", pattern = tensor<i32>, allocation = "full"} : () -> ()
"autobatch.func"() ({
  "autobatch.jump"()[^x] : () -> ()
^x:
  "autobatch.label"() {name = "entry"} : () -> ()
  "autobatch.push"() {variables = [@n]} : () -> ()
  "autobatch.push_jump"()[^f, ^a] {counter = @pc} : () -> ()
^a:
  "autobatch.label"() {name = "first"} : () -> ()
  "autobatch.pop"() {variables = [@n]} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.push"() {variables = [@n]} : () -> ()
  "autobatch.push_jump"()[^f, ^b] {counter = @pc} : () -> ()
^b:
  "autobatch.label"() {name = "second"} : () -> ()
  "autobatch.pop"() {variables = [@n]} : () -> ()
  "autobatch.return"() : () -> ()
^f:
  "autobatch.label"() {name = "f"} : () -> ()
  "autobatch.move"() {ins = [@m], outs = [@n]} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.indirect_jump"() {counter = @pc} : () -> ()
}) {sym_name = "main", ins = [@n, @m], outs = [@r]} : () -> ()

// Checks, made by update_checks.py
// CHECK: module {
// CHECK-NEXT:   "autobatch.program"() {entry = @main} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "n"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "m"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "register", pattern = tensor<i32>, sym_name = "r"} : () -> ()
// CHECK-NEXT:   "autobatch.var"() {allocation = "full", pattern = tensor<i32>, sym_name = "pc"} : () -> ()
// CHECK-NEXT:   "autobatch.func"() ({
// CHECK-NEXT:     "autobatch.label"() {name = "entry"} : () -> ()
// CHECK-NEXT:     "autobatch.push"() {variables = [@n]} : () -> ()
// CHECK-NEXT:     "autobatch.push_jump"()[^bb3, ^bb1] {counter = @pc} : () -> ()
// CHECK-NEXT:   ^bb1:  // pred: ^bb0
// CHECK-NEXT:     "autobatch.label"() {name = "first"} : () -> ()
// CHECK-NEXT:     "autobatch.pop"() {variables = [@n]} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.push"() {variables = [@n]} : () -> ()
// CHECK-NEXT:     "autobatch.push_jump"()[^bb3, ^bb2] {counter = @pc} : () -> ()
// CHECK-NEXT:   ^bb2:  // pred: ^bb1
// CHECK-NEXT:     "autobatch.label"() {name = "second"} : () -> ()
// CHECK-NEXT:     "autobatch.pop"() {variables = [@n]} : () -> ()
// CHECK-NEXT:     "autobatch.return"() : () -> ()
// CHECK-NEXT:   ^bb3:  // 2 preds: ^bb0, ^bb1
// CHECK-NEXT:     "autobatch.label"() {name = "f"} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@m], outs = [@n]} : () -> ()
// CHECK-NEXT:     "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
// CHECK-NEXT:     "autobatch.indirect_jump"() {counter = @pc} : () -> ()
// CHECK-NEXT:   }) {ins = [@n, @m], outs = [@r], sym_name = "main"} : () -> ()
// CHECK-NEXT: }
