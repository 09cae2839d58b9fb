// The command line is that of MLIR's tools; operations of unknown dialects are allowed, unless a flag says otherwise.

// REQUIRES: native
// RUN: hlobatch-opt-native %s | filecheck %s
// RUN: not hlobatch-opt-native %s --allow-unregistered-dialect=false 2>&1 | filecheck %s --check-prefix=STRICT
// RUN: hlobatch-opt-native --help | filecheck %s --check-prefix=HELP
// RUN: hlobatch-opt-native --show-dialects | filecheck %s --check-prefix=DIALECTS

"other.op"() : () -> ()

// CHECK: "other.op"() : () -> ()
// STRICT: command_line.mlir:9:11: error:
// HELP: --inline-properties
// DIALECTS: autobatch
