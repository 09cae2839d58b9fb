// Strings have to be UTF-8, escapes included.

// RUN: not hlobatch-opt %s --split-input-file 2>&1 | filecheck %s

"autobatch.program"() {entry = @"\FF"} : () -> ()

// CHECK: string_not_utf8.mlir:[[# @LINE - 2]]:33: error: a string is not UTF-8

// -----

"other.op"() {name = "\C3\A9 \\FF \" \00"} : () -> ()

// CHECK: string_not_utf8.mlir:[[# @LINE - 2]]:1: error: [ods_c1] 'other.op' is no operation
