// alloc_c4: where one result of an operation is `shared`, the others are `shared` or `null`.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>, allocation = "shared"} : () -> ()
"autobatch.var"() {sym_name = "s", pattern = tensor<i32>, allocation = "shared"} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>, allocation = "register"} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[alloc_c4] %s is SHARED but %r is REGISTER}}
  "autobatch.move"() {ins = [@n, @n], outs = [@s, @r]} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
