// Custom assembly that does not parse is refused at its place.

// REQUIRES: native
// RUN: hlobatch-opt-native %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expected ':'}}
autobatch.var @n tensor<i32>

// -----

autobatch.program @main
autobatch.func @main [] -> [] {
  // expected-error@+1 {{expected 'to'}}
  autobatch.push_jump ^a, return ^a by @pc
^a:
  autobatch.return
}

// -----

autobatch.program @main
// expected-error@+1 {{[var_c1] !autobatch.word<tensor<i32>> is no array of static shape}}
autobatch.var @n : !autobatch.word<tensor<i32>>

// -----

autobatch.program @main
autobatch.var @n : tensor<f32>
autobatch.func @main [@n] -> [@n] {
  // expected-error@+1 {{[push_jump_c3] the return address %n is f32[], not i32[]}}
  autobatch.indirect_jump @n
}
