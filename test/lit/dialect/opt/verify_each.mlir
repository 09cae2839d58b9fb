// --verify-each is on unless it is switched off.

// RUN: hlobatch-opt %s --simplify-cfg | filecheck %s
// RUN: hlobatch-opt %s --simplify-cfg --verify-each=0 | filecheck %s
// RUN: hlobatch-opt %s --simplify-cfg --verify-each | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top"} : () -> ()
  "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// CHECK: "autobatch.move"() {ins = [@n], outs = [@r]} : () -> ()
