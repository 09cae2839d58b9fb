"""The threads of a warp on a CPU: LLVM IR that gives each a stack of its own, and runs one of them at a time.

A thread runs until it meets the others (a barrier); then another one runs, chosen at random among those that have not
met yet. So accesses of different threads between two meetings happen in random order: where a meeting is missing, a
thread reads a value too early or too late. All threads have to meet at the same place in the code, else the test fails.

It is for x86-64, whose registers it saves by a few instructions of its own.
"""

from __future__ import annotations

import platform
from functools import cache

import llvmlite.binding as llvm
import numpy as np

from hlobatch.kernels import jit

THREADS = 32
STACK_BYTES = 1 << 18
IS_HERE = platform.machine() == "x86_64"

_SAVED = ("rbp", "rbx", "r12", "r13", "r14", "r15")
_SWITCH = "; ".join(
    [
        *(f"pushq %{r}" for r in _SAVED),
        "movq %rsp, (%rdi)",
        "movq (%rsi), %rsp",
        *(f"popq %{r}" for r in reversed(_SAVED)),
        "ret",
    ]
)

_SHOWN = """  %t = load volatile i64, ptr @warp.now
  %own = getelementptr i32, ptr @warp.words, i64 %t
  store volatile i32 %x, ptr %own
  call void @pause(i32 1, i64 %place) convergent"""
"""Shows the other threads of a warp a word, and waits until each of them has shown its own."""
TEXT = f"""
@warp.stacks = internal global [{THREADS} x ptr] zeroinitializer
@warp.states = internal global [{THREADS} x i32] zeroinitializer
@warp.places = internal global [{THREADS} x i64] zeroinitializer
@warp.words = internal global [{THREADS} x i32] zeroinitializer
@warp.home = internal global ptr null
@warp.now = internal global i64 0
@warp.chance = internal global i64 88172645463325252
@warp.arrays = internal global ptr null
@warp.first = internal global i64 0
define internal void @switch(ptr %from, ptr %to) naked noinline convergent {{
  call void asm sideeffect "{_SWITCH}", "~{{memory}}"() convergent
  unreachable
}}
define internal void @begin() noinline {{
  %t = load i64, ptr @warp.now
  %arrays = load ptr, ptr @warp.arrays
  %first = load i64, ptr @warp.first
  %n = add i64 %first, %t
  %ignored = call i32 @one(ptr %arrays, i64 %n)
  call void @pause(i32 2, i64 0)
  unreachable
}}
define internal void @pause(i32 %state, i64 %place) noinline convergent {{
  %t = load volatile i64, ptr @warp.now
  %states = getelementptr i32, ptr @warp.states, i64 %t
  store volatile i32 %state, ptr %states
  %places = getelementptr i64, ptr @warp.places, i64 %t
  store volatile i64 %place, ptr %places
  %stack = getelementptr ptr, ptr @warp.stacks, i64 %t
  call void @switch(ptr %stack, ptr @warp.home) convergent
  ret void
}}
define internal void @meet(i64 %place) noinline convergent {{
  call void @pause(i32 1, i64 %place) convergent
  ret void
}}
define internal i32 @of_thread(i32 %x, i64 %from, i64 %place) noinline convergent {{
{_SHOWN}
  %other = getelementptr i32, ptr @warp.words, i64 %from
  %y = load volatile i32, ptr %other
  call void @pause(i32 1, i64 %place) convergent
  ret i32 %y
}}
define internal i32 @least(i32 %x, i64 %place) noinline convergent {{
top:
{_SHOWN}
  br label %next
next:
  %k = phi i64 [ 0, %top ], [ %k.next, %next ]
  %least = phi i32 [ -1, %top ], [ %least.next, %next ]
  %other = getelementptr i32, ptr @warp.words, i64 %k
  %y = load volatile i32, ptr %other
  %is_less = icmp ult i32 %y, %least
  %least.next = select i1 %is_less, i32 %y, i32 %least
  %k.next = add i64 %k, 1
  %over = icmp eq i64 %k.next, {THREADS}
  br i1 %over, label %all, label %next
all:
  call void @pause(i32 1, i64 %place) convergent
  ret i32 %least.next
}}
define internal i32 @fellows(i32 %x, i64 %place) noinline convergent {{
top:
{_SHOWN}
  br label %next
next:
  %k = phi i64 [ 0, %top ], [ %k.next, %next ]
  %count = phi i32 [ 0, %top ], [ %count.next, %next ]
  %other = getelementptr i32, ptr @warp.words, i64 %k
  %y = load volatile i32, ptr %other
  %is_equal = icmp eq i32 %y, %x
  %one = zext i1 %is_equal to i32
  %count.next = add i32 %count, %one
  %k.next = add i64 %k, 1
  %over = icmp eq i64 %k.next, {THREADS}
  br i1 %over, label %all, label %next
all:
  call void @pause(i32 1, i64 %place) convergent
  ret i32 %count.next
}}
define internal i32 @warp(ptr %arrays, i64 %first, ptr %memory) noinline {{
top:
  store ptr %arrays, ptr @warp.arrays
  store i64 %first, ptr @warp.first
  br label %make
make:
  %k = phi i64 [ 0, %top ], [ %k.next, %make ]
  %k.next = add i64 %k, 1
  %end = mul i64 %k.next, {STACK_BYTES}
  %above = getelementptr i8, ptr %memory, i64 %end
  %return = getelementptr i8, ptr %above, i64 -16
  store ptr @begin, ptr %return
  %sp = getelementptr i8, ptr %above, i64 -{16 + 8 * len(_SAVED)}
  %stack = getelementptr ptr, ptr @warp.stacks, i64 %k
  store ptr %sp, ptr %stack
  %state = getelementptr i32, ptr @warp.states, i64 %k
  store i32 0, ptr %state
  %made = icmp eq i64 %k.next, {THREADS}
  br i1 %made, label %turn, label %make
turn:
  %c0 = load i64, ptr @warp.chance
  %c1 = shl i64 %c0, 13
  %c2 = xor i64 %c0, %c1
  %c3 = lshr i64 %c2, 7
  %c4 = xor i64 %c2, %c3
  %c5 = shl i64 %c4, 17
  %c6 = xor i64 %c4, %c5
  store i64 %c6, ptr @warp.chance
  br label %look
look:
  %n = phi i64 [ 0, %turn ], [ %n.next, %other ]
  %none = icmp eq i64 %n, {THREADS}
  br i1 %none, label %met, label %try
try:
  %r = add i64 %c6, %n
  %t = and i64 %r, {THREADS - 1}
  %t.state = getelementptr i32, ptr @warp.states, i64 %t
  %is = load volatile i32, ptr %t.state
  %ready = icmp eq i32 %is, 0
  br i1 %ready, label %run, label %other
other:
  %n.next = add i64 %n, 1
  br label %look
run:
  store volatile i64 %t, ptr @warp.now
  %t.stack = getelementptr ptr, ptr @warp.stacks, i64 %t
  call void @switch(ptr @warp.home, ptr %t.stack)
  br label %turn
met:
  %s0 = load volatile i32, ptr @warp.states
  %p0 = load volatile i64, ptr @warp.places
  br label %compare
compare:
  %j = phi i64 [ 0, %met ], [ %j.next, %same ]
  %over = icmp eq i64 %j, {THREADS}
  br i1 %over, label %all, label %each
each:
  %j.state = getelementptr i32, ptr @warp.states, i64 %j
  %j.place = getelementptr i64, ptr @warp.places, i64 %j
  %sj = load volatile i32, ptr %j.state
  %pj = load volatile i64, ptr %j.place
  store volatile i32 0, ptr %j.state
  %s.same = icmp eq i32 %s0, %sj
  %p.same = icmp eq i64 %p0, %pj
  %is.same = and i1 %s.same, %p.same
  br i1 %is.same, label %same, label %parted
same:
  %j.next = add i64 %j, 1
  br label %compare
all:
  %ended = icmp eq i32 %s0, 2
  br i1 %ended, label %done, label %turn
done:
  ret i32 0
parted:
  ret i32 1
}}
"""
"""The functions that a module calls if several threads run its lanes."""


@cache
def compiled(text: str) -> jit.Code:
    """The machine code of a module, linked with ``TEXT``."""
    llvm.initialize_native_asmparser()
    return jit.compiled(text + TEXT)


@cache
def _memory() -> np.ndarray:
    return np.zeros(THREADS * STACK_BYTES + 64, np.uint8)


def stacks() -> int:
    """The address of memory for the stacks of all threads."""
    return -(-_memory().ctypes.data // 64) * 64
