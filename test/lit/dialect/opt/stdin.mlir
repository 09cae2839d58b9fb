// A dash, or no name, stands for the standard input.

// RUN: hlobatch-opt < %s | filecheck %s
// RUN: hlobatch-opt - --simplify-cfg < %s | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// CHECK: "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
