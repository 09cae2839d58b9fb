// MLIR's own passes follow branches and jumps: blocks that nothing reaches go, what a call comes back to stays.

// REQUIRES: native
// RUN: hlobatch-opt-native %s --canonicalize | filecheck %s

autobatch.program @main
autobatch.var @pc : tensor<i32>
autobatch.func @main [] -> [] {
  autobatch.label "entry"
  autobatch.push_jump ^callee, return to ^back by @pc
^back:
  autobatch.label "back"
  autobatch.return
^callee:
  autobatch.label "callee"
  autobatch.indirect_jump @pc
^unreached:
  autobatch.label "unreached"
  autobatch.jump ^back
}

// CHECK: autobatch.push_jump ^callee, return to ^back by @pc
// CHECK: ^back:
// CHECK: ^callee:
// CHECK-NOT: unreached
