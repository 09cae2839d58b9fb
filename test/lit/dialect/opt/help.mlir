// --help lists every pass with one line that says what it does.

// RUN: hlobatch-opt --help | filecheck %s

// CHECK: usage: hlobatch-opt
// CHECK: --split-input-file
// CHECK: --verify-diagnostics
// CHECK: --mlir-print-ir-after-all
// CHECK: --verify-each
// CHECK: passes, run in the order given:
// CHECK-NEXT: --allocate {{.*}}give each variable the least storage
// CHECK-NEXT: --block-order {{.*}}put blocks in an order in which lanes seldom go back
// CHECK-NEXT: --check-definedness {{.*}}refuse
// CHECK-NEXT: --coalesce-copies {{.*}}share storage
// CHECK-NEXT: --dead-code {{.*}}nothing reads
// CHECK-NEXT: --hoist-shared {{.*}}the same in every lane
// CHECK-NEXT: --if-conversion {{.*}}selects
// CHECK-NEXT: --infer-types {{.*}}type
// CHECK-NEXT: --liveness {{.*}}live
// CHECK-NEXT: --lower-calls {{.*}}pushes, pops and jumps
// CHECK-NEXT: --pop-push-elimination {{.*}}cancel
// CHECK-NEXT: --rotate-loops {{.*}}condition
// CHECK-NEXT: --round-trip {{.*}}has been a program
// CHECK-NEXT: --simplify-cfg {{.*}}merge straight lines
// CHECK-NEXT: --to-stablehlo {{.*}}StableHLO{{.*}}dispatch=auto|
// CHECK: split-live-ranges and specialize,{{.*}}programs
// CHECK-NEXT: that are still Python, are no passes here

// RUN: not hlobatch-opt %s --specialize 2>&1 | filecheck %s --check-prefix=TYPED
// RUN: not hlobatch-opt %s --pass-pipeline=split-live-ranges 2>&1 | filecheck %s --check-prefix=TYPED
// TYPED: hlobatch-opt: error: {{.*(--specialize|split-live-ranges)}}
