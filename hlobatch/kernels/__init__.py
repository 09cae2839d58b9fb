"""Lowered programs as kernels: LLVM IR in which each lane runs by itself, compiled and called without XLA's loop."""
