// Blocks are printed by their labels where text can call them so, and no two alike.

// REQUIRES: native
// RUN: hlobatch-opt-native %s | filecheck %s
// RUN: hlobatch-opt-native %s > %t.once
// RUN: hlobatch-opt-native %t.once | diff %t.once -

autobatch.program @main
autobatch.func @main [] -> [] {
  autobatch.label "entry"
  autobatch.jump ^a
^a:
  autobatch.label "fibonacci.$if1"
  autobatch.jump ^b
^b:
  autobatch.label "a b"
  autobatch.jump ^c
^c:
  autobatch.label "a_b"
  autobatch.jump ^d
^d:
  autobatch.label "bb6"
  autobatch.jump ^e
^e:
  autobatch.label ""
  autobatch.jump ^f
^f:
  autobatch.return
}

// CHECK: autobatch.jump ^fibonacci.$if1
// CHECK-NEXT: ^fibonacci.$if1:
// CHECK: ^bb2:
// CHECK-NEXT: autobatch.label "a b"
// CHECK-NEXT: autobatch.jump ^a_b
// CHECK-NEXT: ^a_b:
// CHECK: ^bb4:
// CHECK-NEXT: autobatch.label "bb6"
// CHECK: ^bb6:
// CHECK-NEXT: autobatch.return
