// Without a pass, what is read is verified and printed.

// RUN: hlobatch-opt %s | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
func.func @other(%a: tensor<?xi32>) -> tensor<?xi32> {
  return %a : tensor<?xi32>
}

// CHECK: "autobatch.program"() {entry = @main} : () -> ()
// CHECK: "autobatch.label"() {name = "top"} : () -> ()
// CHECK: func.func @other(
