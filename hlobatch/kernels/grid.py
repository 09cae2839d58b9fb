"""A lane's function -> what the threads of a grid do, which are all started at once: each takes some of the inputs.

A thread runs the input of its own number, then those as many further as there are threads. It writes what becomes of
each of its inputs. On a GPU a kernel starts the threads; on a CPU, for tests, a loop runs one after the other.

What is known when the grid is started, such as how many inputs there are, is written behind the module's text as
constants, of which LLVM makes numbers in the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hlobatch.ir.fate import Fate
from hlobatch.kernels.interface import Call
from hlobatch.kernels.machine import Machine
from hlobatch.kernels.processors import Entry

RUN: Final = "run"
KERNEL: Final = "kernel"
FOR_EVER: Final = (1 << 63) - 1
"""Turns that nobody uses up."""


@dataclass(frozen=True)
class Grid:
    """What a grid is started with.

    Attributes:
        inputs: In the batch.
        threads: That run at once.
        frames: For each piece of memory that frames are in, where it begins in a thread's part of the stacks, and how
            many frames there are.
        stack_bytes: Of each thread.
        local_bytes: Of each thread, for arrays.
        turns: That a thread may make in all its lanes, if its processor counts them.
    """

    inputs: int
    threads: int
    frames: tuple[tuple[int, int], ...]
    stack_bytes: int
    local_bytes: int
    turns: int = FOR_EVER

    @property
    def constants(self) -> str:
        """What the text of a module leaves open."""
        frames = ", ".join(f"i64 {n}" for pair in self.frames for n in pair)
        return f"""
@inputs = internal constant i64 {self.inputs}
@threads = internal constant i64 {self.threads}
@turns = internal constant i64 {self.turns}
@stack_bytes = internal constant i64 {self.stack_bytes}
@frames = internal constant [{2 * len(self.frames)} x i64] [{frames}]
"""

    @property
    def scratch_bytes(self) -> int:
        """What all threads take of memory of their own."""
        return max(1, self.threads * (self.stack_bytes + self.local_bytes))


def entry(machine: Machine, blocks: int) -> str:
    """What starts the threads of a grid, and what each of them does.

    Its arrays are those of the lane's function; then ``i32[inputs]``, what becomes of each; then the memory of the
    threads; and if blocks are counted, ``i64[threads, blocks]``.

    Args:
        machine: The code of a lane.
        blocks: How many are counted.
    """
    count = len(machine.arrays) + (3 if blocks else 2)
    return _thread(machine, blocks) + _STARTS[machine.options.processor.entry](count)


def _thread(machine: Machine, blocks: int) -> str:
    """What a thread does, given its number."""
    names = [f"%p{k}" for k in range(len(machine.arrays))]
    parameters = ", ".join(
        f"ptr {name}" for name in [*names, "%status", "%scratch", *(["%all_counts"] if blocks else [])]
    )
    counts = _counts(blocks) if blocks else "  %counts = inttoptr i64 0 to ptr\n"
    record, pointer = _record() if machine.options.processor.looks else ("", "null")
    call = machine.call(names, "%i", [pointer, "%local", "%scratch", "@frames", "%counts"], "%thread", "%threads")
    return f"""
define internal void @thread({parameters}, i64 %thread) alwaysinline nounwind {{
top:
  %inputs = load i64, ptr @inputs
  %threads = load i64, ptr @threads
  %stack_bytes = load i64, ptr @stack_bytes
  %arrays.at = mul i64 %threads, %stack_bytes
  %own.at = mul i64 %thread, {machine.emitter.local_bytes}
  %local.at = add i64 %arrays.at, %own.at
  %local = getelementptr i8, ptr %scratch, i64 %local.at
{record}{counts}  br label %next
next:
  %i = phi i64 [ %thread, %top ], [ %i.next, %told ]
  %left_off = phi i1 [ false, %top ], [ %stops, %told ]
  %some = icmp slt i64 %i, %inputs
  br i1 %some, label %each, label %done
each:
  br i1 %left_off, label %told, label %run
run:
  %fate.run = {call}
  br label %told
told:
  %fate = phi i32 [ {int(Fate.UNSTARTED)}, %each ], [ %fate.run, %run ]
  %runs = icmp eq i32 %fate, {int(Fate.RUNNING)}
  %stops = or i1 %left_off, %runs
  %said = getelementptr i32, ptr %status, i64 %i
  store i32 %fate, ptr %said
  %i.next = add i64 %i, %threads
  br label %next
done:
  ret void
}}
"""


def _record() -> tuple[str, str]:
    """The record of ``Call`` that a lane reads: it is to stop once the turns are used up, whoever asks."""
    text = f"""\
  %call = alloca [{Call.FIELDS} x i64]
  %turns = load i64, ptr @turns
  %fuel = getelementptr i64, ptr %call, i64 {Call.FUEL}
  store i64 %turns, ptr %fuel
  %refill = getelementptr i64, ptr %call, i64 {Call.REFILL}
  store i64 0, ptr %refill
"""
    return text, "%call"


def _counts(blocks: int) -> str:
    """A thread's row of counts, which are zero when it begins."""
    return f"""\
  %counts.at = mul i64 %thread, {8 * blocks}
  %counts = getelementptr i8, ptr %all_counts, i64 %counts.at
  call void @llvm.memset.p0.i64(ptr %counts, i8 0, i64 {8 * blocks}, i1 false)
"""


def _kernel(count: int) -> str:
    """What an NVIDIA GPU starts."""
    parameters = ", ".join(f"ptr addrspace(1) noalias %g{k}" for k in range(count))
    casts = "".join(f"  %p{k} = addrspacecast ptr addrspace(1) %g{k} to ptr\n" for k in range(count))
    return f"""
{_LOOK}declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @{KERNEL}({parameters}) {{
{casts}  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %o = mul i32 %b, %d
  %n = add i32 %o, %t
  %thread = zext i32 %n to i64
  %threads = load i64, ptr @threads
  %is_one = icmp ult i64 %thread, %threads
  br i1 %is_one, label %go, label %end
go:
  call void @thread({_given(count)}, i64 %thread)
  br label %end
end:
  ret void
}}
"""


def _loop(count: int) -> str:
    """What a host calls with a table of the arrays."""
    loads = "".join(
        f"  %a{k} = getelementptr ptr, ptr %arrays, i64 {k}\n  %p{k} = load ptr, ptr %a{k}\n" for k in range(count)
    )
    return f"""
{_LOOK}define i32 @{RUN}(ptr %arrays, ptr %call) {{
top:
{loads}  %threads = load i64, ptr @threads
  br label %next
next:
  %thread = phi i64 [ 0, %top ], [ %after, %each ]
  %some = icmp slt i64 %thread, %threads
  br i1 %some, label %each, label %done
each:
  call void @thread({_given(count)}, i64 %thread)
  %after = add i64 %thread, 1
  br label %next
done:
  ret i32 0
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
_STARTS: Final = {Entry.KERNEL: _kernel, Entry.LOOP: _loop}
