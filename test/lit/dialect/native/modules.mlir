// A nested module has a program of its own; a module without one is none of the dialect's affair.

// REQUIRES: native
// RUN: hlobatch-opt-native %s --split-input-file --verify-diagnostics

func.func @nothing() { return }

// -----

module {
  autobatch.program @main
  autobatch.func @main [] -> [] {
    autobatch.return
  }
}
module {
  // expected-error@+1 {{[program_c7] there is no function @main to start at}}
  autobatch.program @main
}
