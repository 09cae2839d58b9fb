// The custom assembly is read by the native tool; here an unregistered operation in it is refused at its place.

// RUN: not hlobatch-opt %s 2>&1 | filecheck %s

autobatch.program @main

// CHECK: custom_assembly.mlir:5:1: error:
