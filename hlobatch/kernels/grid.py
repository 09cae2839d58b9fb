"""A lane's function -> the code of a grid: threads that are all started at once, each of which runs some of the inputs.

A thread (or the threads that run one lane together, ``warp.py``) runs the input with the number of its lane, and then
every input that is a multiple of the number of lanes further on. It stores the fate of each. On a GPU a kernel starts
the threads; on a CPU, for tests, a loop runs one thread after the other, and the threads of one lane in turns from
barrier to barrier.

Numbers that are known when the grid is started, such as that of the inputs, are appended to the module's text as
constants, so that LLVM folds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hlobatch.ir.fate import FATES, Fate
from hlobatch.kernels.interface import Call
from hlobatch.kernels.machine import Machine
from hlobatch.kernels.processors import Entry

RUN: Final = "run"
KERNEL: Final = "kernel"
FOR_EVER: Final = (1 << 63) - 1
"""A number of turns that is never used up."""


@dataclass(frozen=True)
class Grid:
    """The numbers with which a grid is started.

    Attributes:
        inputs: Inputs in the batch.
        lanes: Lanes that run at once.
        frames: For each area of frames, its offset in a lane's part of the stacks, and its capacity in frames.
        stack_bytes: Bytes of stacks of each lane.
        local_bytes: Bytes of arrays of each lane.
        turns: Turns that a thread may make for all its inputs together, if its processor counts them.
        threads_per_lane: Threads that run a lane together.
    """

    inputs: int
    lanes: int
    frames: tuple[tuple[int, int], ...]
    stack_bytes: int
    local_bytes: int
    turns: int = FOR_EVER
    threads_per_lane: int = 1

    @property
    def constants(self) -> str:
        """Definitions of the constants that a module's text refers to."""
        frames = ", ".join(f"i64 {n}" for pair in self.frames for n in pair)
        return f"""
@inputs = internal constant i64 {self.inputs}
@lanes = internal constant i64 {self.lanes}
@turns = internal constant i64 {self.turns}
@stack_bytes = internal constant i64 {self.stack_bytes}
@frames = internal constant [{2 * len(self.frames)} x i64] [{frames}]
"""

    @property
    def threads(self) -> int:
        """The number of threads of the grid."""
        return self.lanes * self.threads_per_lane

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the stacks and arrays of all lanes together."""
        return max(1, self.lanes * (self.stack_bytes + self.local_bytes))


def entry(machine: Machine, blocks: int) -> str:
    """The function that starts the threads of a grid, and the function of each thread.

    Its operands are the arrays of the lane's function; then ``i32[inputs]``, for the fates; then the memory of the
    lanes; and if blocks are counted, ``i64[lanes, blocks]``.

    Args:
        machine: The code of a lane.
        blocks: The number of blocks whose runs are counted; 0 for none.
    """
    count = len(machine.arrays) + (3 if blocks else 2)
    return _thread(machine, blocks) + _STARTS[machine.options.processor.entry](count, machine)


def _thread(machine: Machine, blocks: int) -> str:
    """The function of a thread, given its lane's number, its own number within the lane, and their memory."""
    names = [f"%p{k}" for k in range(len(machine.arrays))]
    parameters = ", ".join(
        f"ptr {name}" for name in [*names, "%status", "%scratch", *(["%all_counts"] if blocks else [])]
    )
    counts = _counts(blocks, clears=not machine.errands) if blocks else "  %counts = inttoptr i64 0 to ptr\n"
    record, pointer = _record() if machine.options.processor.looks else ("", "null")
    stacks = "%scratch" if machine.options.processor.side_by_side else "%stacks"
    call = machine.call(names, "%index", [pointer, "%local", stacks, "@frames", "%counts"], "%lane", "%lanes")
    together = machine.options.processor.lanes_that_meet
    run = _RUN_ALL if together > 1 else _RUN_ON if machine.errands else _RUN_ONE
    several = machine.options.processor.threads_per_lane > 1
    meet = "  call void @meet(i64 -2) convergent\n" if several else ""
    run = run.format(call=call, meet=meet, unstarted=int(Fate.UNSTARTED), fates=FATES, waits=_WAITS)
    return f"""
define internal void @thread({parameters}, i64 %lane, i64 %t, ptr %near) alwaysinline convergent nounwind {{
begin:
  %is_first = icmp eq i64 %t, 0
  %inputs = load i64, ptr @inputs
  %lanes = load i64, ptr @lanes
  %stack_bytes = load i64, ptr @stack_bytes
  %stacks.at = mul i64 %lane, %stack_bytes
  %stacks = getelementptr i8, ptr %scratch, i64 %stacks.at
  %arrays.at = mul i64 %lanes, %stack_bytes
  %own.at = mul i64 %lane, {machine.emitter.local_bytes}
  %local.at = add i64 %arrays.at, %own.at
  %local = getelementptr i8, ptr %scratch, i64 %local.at
{record}{counts}  br label %top
top:
  %before = urem i64 %lane, {together}
  br label %next
next:
  %i = phi i64 [ %lane, %top ], [ %i.next, %after ]
  %left_off = phi i1 [ false, %top ], [ %stops, %after ]
  %i.first = sub i64 %i, %before
  %some = icmp slt i64 %i.first, %inputs
  br i1 %some, label %each, label %done
each:
  %is_input = icmp slt i64 %i, %inputs
  %goes_on = xor i1 %left_off, true
  %is_run = and i1 %is_input, %goes_on
{run}  %runs = icmp eq i32 %fate, {int(Fate.RUNNING)}
  %stops = or i1 %left_off, %runs
  %tells = and i1 %is_first, %is_input
  br i1 %tells, label %tell, label %after
tell:
  %said = getelementptr i32, ptr %status, i64 %i
  store i32 %fate, ptr %said
  br label %after
after:
  %i.next = add i64 %i, %lanes
  br label %next
done:
  ret void
}}
"""


_RUN_ONE: Final = """\
  br i1 %is_run, label %run, label %told
run:
  %index = add i64 %i, 0
  %fate.run = {call}
  br label %told
told:
  %fate = phi i32 [ {unstarted}, %each ], [ %fate.run, %run ]
"""
_RUN_ON: Final = """\
  br i1 %is_run, label %look_up, label %told
look_up:
  %at = getelementptr i32, ptr %status, i64 %i
  %so_far = load i32, ptr %at
{meet}  %fate.before = and i32 %so_far, {fates}
  %fate.waits = and i32 %fate.before, {waits}
  %waits = icmp ne i32 %fate.waits, 0
  br i1 %waits, label %run, label %told
run:
  %index = add i64 %i, 0
  %fate.run = {call}
  br label %told
told:
  %fate = phi i32 [ {unstarted}, %each ], [ %so_far, %look_up ], [ %fate.run, %run ]
"""
"""The code that runs an input that has not ended, where lanes leave the kernel for errands. All threads of a lane read
its status before one of them writes it anew."""
_WAITS: Final = int(Fate.UNSTARTED | Fate.RUNNING)
_RUN_ALL: Final = """\
  %index = select i1 %is_run, i64 %i, i64 -1
  %fate.run = {call}
  br label %told
told:
  %fate = select i1 %is_run, i32 %fate.run, i32 {unstarted}
"""
"""The code that runs an input, if the thread has one; where lanes meet, the function is called even without an
input."""


def _record() -> tuple[str, str]:
    """The ``Call`` record of a lane, with which it stops once its turns are used up."""
    text = f"""\
  %call = alloca [{Call.FIELDS} x i64]
  %turns = load i64, ptr @turns
  %fuel = getelementptr i64, ptr %call, i64 {Call.FUEL}
  store i64 %turns, ptr %fuel
  %refill = getelementptr i64, ptr %call, i64 {Call.REFILL}
  store i64 0, ptr %refill
"""
    return text, "%call"


def _counts(blocks: int, *, clears: bool) -> str:
    """The pointer to a lane's row of counts, which is set to zero unless the kernel is started several times."""
    row = f"""\
  %counts.at = mul i64 %lane, {8 * blocks}
  %counts = getelementptr i8, ptr %all_counts, i64 %counts.at
"""
    if not clears:
        return row
    return f"""\
{row}\
  br i1 %is_first, label %clear, label %cleared
clear:
  call void @llvm.memset.p0.i64(ptr %counts, i8 0, i64 {8 * blocks}, i1 false)
  br label %cleared
cleared:
"""


def _kernel(count: int, machine: Machine) -> str:
    """The kernel that an NVIDIA GPU starts."""
    parameters = ", ".join(f"ptr addrspace(1) noalias %g{k}" for k in range(count))
    casts = "".join(f"  %p{k} = addrspacecast ptr addrspace(1) %g{k} to ptr\n" for k in range(count))
    processor = machine.options.processor
    begin, near = (_OF_A_WARP if processor.threads_that_meet > 1 else ""), "null"
    if processor.threads_per_lane > 1:
        begin += f"@near = internal addrspace(3) global [{max(machine.emitter.near_bytes, 1)} x i8] undef, align 16\n"
        near = "addrspacecast (ptr addrspace(3) @near to ptr)"
    return f"""
{_LOOK}{begin}{_started(count, machine, near)}\
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @{KERNEL}({parameters}) {{
{casts}  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %o = mul i32 %b, %d
  %n = add i32 %o, %t
  call void @started({_given(count)}, i32 %n)
  ret void
}}
"""


def _loop(count: int, machine: Machine) -> str:
    """The function that a host calls with a table of the arrays.

    For several threads per lane, the caller provides ``@warp``.
    """
    loads = "".join(
        f"  %a{k} = getelementptr ptr, ptr %arrays, i64 {k}\n  %p{k} = load ptr, ptr %a{k}\n" for k in range(count)
    )
    together = machine.options.processor.threads_that_meet
    near = f"@near = global [{max(machine.emitter.near_bytes, 1)} x i8] zeroinitializer, align 16"
    start = "@warp(ptr %arrays, i64 %first, ptr %call)" if together > 1 else "@one(ptr %arrays, i64 %first)"
    return f"""
{_LOOK}{near}
{_started(count, machine, "@near")}
define internal i32 @one(ptr %arrays, i64 %thread) convergent {{
{loads}  %n = trunc i64 %thread to i32
  call void @started({_given(count)}, i32 %n)
  ret i32 0
}}
define i32 @{RUN}(ptr %arrays, ptr %call) {{
top:
  %lanes = load i64, ptr @lanes
  %threads = mul i64 %lanes, {machine.options.processor.threads_per_lane}
  br label %next
next:
  %first = phi i64 [ 0, %top ], [ %after, %each ]
  %some = icmp slt i64 %first, %threads
  br i1 %some, label %each, label %done
each:
  %failed = call i32 {start}
  %after = add i64 %first, {together}
  %is_well = icmp eq i32 %failed, 0
  br i1 %is_well, label %next, label %done
done:
  %answer = phi i32 [ 0, %next ], [ %failed, %each ]
  ret i32 %answer
}}
"""


def _started(count: int, machine: Machine, near: str) -> str:
    """The function of a thread, given its number in the grid."""
    each = machine.options.processor.threads_per_lane
    parameters = ", ".join(f"ptr %p{k}" for k in range(count))
    return f"""
define internal void @started({parameters}, i32 %n) alwaysinline convergent nounwind {{
  %n.lane = udiv i32 %n, {each}
  %n.own = urem i32 %n, {each}
  %lane = zext i32 %n.lane to i64
  %t = zext i32 %n.own to i64
  %lanes = load i64, ptr @lanes
  %is_one = icmp ult i64 %lane, %lanes
  br i1 %is_one, label %go, label %end
go:
  call void @thread({_given(count)}, i64 %lane, i64 %t, ptr {near})
  br label %end
end:
  ret void
}}
"""


def _given(count: int) -> str:
    return ", ".join(f"ptr %p{k}" for k in range(count))


_LOOK: Final = """\
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal i32 @look(ptr %call) alwaysinline nounwind {
  ret i32 1
}
"""
_OF_A_WARP: Final = """\
declare void @llvm.nvvm.bar.warp.sync(i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.redux.sync.umin(i32, i32)
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32)
declare i32 @llvm.ctpop.i32(i32)
define internal void @meet(i64 %place) alwaysinline convergent nounwind {
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  ret void
}
define internal i32 @of_thread(i32 %x, i64 %from, i64 %place) alwaysinline convergent nounwind {
  %thread = trunc i64 %from to i32
  %y = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %x, i32 %thread, i32 31)
  ret i32 %y
}
define internal i32 @least(i32 %x, i64 %place) alwaysinline convergent nounwind {
  %y = call i32 @llvm.nvvm.redux.sync.umin(i32 %x, i32 -1)
  ret i32 %y
}
define internal i32 @fellows(i32 %x, i64 %place) alwaysinline convergent nounwind {
  %all = call i32 @llvm.nvvm.match.any.sync.i32(i32 -1, i32 %x)
  %y = call i32 @llvm.ctpop.i32(i32 %all)
  ret i32 %y
}
"""
"""Barrier, exchange of numbers, minimum and number of equals over the threads of a warp, on an NVIDIA GPU."""
_STARTS: Final = {Entry.KERNEL: _kernel, Entry.LOOP: _loop}
