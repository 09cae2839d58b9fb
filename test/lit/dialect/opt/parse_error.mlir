// Text that does not parse: MLIR's message at its place in the file, with the line and a caret.

// RUN: not hlobatch-opt %s 2>&1 | filecheck %s

"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = tensor<i32> : () -> ()

// CHECK: parse_error.mlir:6:57: error: expected '}'
// CHECK-NEXT: 6 | "autobatch.var"() {sym_name = "n", pattern = tensor<i32> : () -> ()
// CHECK-NEXT: ^
// CHECK-NOT: Traceback
