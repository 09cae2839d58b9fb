"""Lowered programs as machine code of their own: LLVM IR in which each lane runs by itself, and what runs it."""
