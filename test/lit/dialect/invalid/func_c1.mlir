// func_c1: an unlabelled entry block that only jumps leads to the next one.

// RUN: hlobatch-opt %s --split-input-file --verify-diagnostics

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[func_c1] the way into @main does not lead to its next block}}
  "autobatch.jump"()[^b] : () -> ()
^a:
  "autobatch.label"() {name = "a"} : () -> ()
  "autobatch.return"() : () -> ()
^b:
  "autobatch.label"() {name = "b"} : () -> ()
  "autobatch.jump"()[^a] : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()

// -----

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32>} : () -> ()
"autobatch.var"() {sym_name = "r", pattern = tensor<i32>} : () -> ()
"autobatch.func"() ({
  // expected-error@+1 {{[func_c1] the way into @main does not lead to its next block}}
  "autobatch.jump"()[^out] : () -> ()
^out:
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@r]} : () -> ()
