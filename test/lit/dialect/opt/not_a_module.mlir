// An empty text is a module without a program.

// RUN: not hlobatch-opt %s 2>&1 | filecheck %s

// CHECK: error: [program_c7] a module has one 'autobatch.program', this one has 0
