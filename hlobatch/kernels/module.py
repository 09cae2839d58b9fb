"""The LLVM function of one lane -> a module of LLVM IR with the function that a host calls to run many lanes.

On a CPU that function is ``i32 @run(ptr arrays, ptr call)``, which each thread calls with a ``Call`` of its own. It
takes inputs from a counter that all threads share, and returns 0 when none is left, or 1 if it was told to stop before.
On a GPU it is a kernel, whose threads are all started at once (``grid.py``).
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from hlobatch.ir.fate import Fate
from hlobatch.ir.program import Program
from hlobatch.kernels import grid
from hlobatch.kernels.gang import Gang
from hlobatch.kernels.grid import RUN
from hlobatch.kernels.interface import BYTES_ON_ANY_STACK, Call, Operands, Options
from hlobatch.kernels.machine import Machine


@dataclass(frozen=True)
class KernelModule:
    """A module, and what the host has to know to call it.

    Attributes:
        text: LLVM IR.
        frame_bytes: For each area of frames, the bytes of one frame in it.
        stack_of: For each area of frames, the number of the stack that it belongs to.
        tapes: The numbers of the stacks that are tapes.
        near: For each stack, how many of its first frames lie near the thread and not in an area of the host.
        local_bytes: Bytes of memory that the host passes for a lane's arrays, besides its stacks.
        stack_bytes: Bytes of a lane's arrays on the thread's stack; what LLVM spills there is not counted.
        blocks: How many counters the code increments: one for each block, and in a gang another for the lanes that
            ran it; 0 if it does not count.
        sums: Whether some of the results are sums over the inputs of a thread.
    """

    text: str
    frame_bytes: tuple[int, ...]
    stack_of: tuple[int, ...]
    tapes: frozenset[int]
    near: tuple[int, ...]
    local_bytes: int
    stack_bytes: int
    blocks: int
    sums: bool = False

    @property
    def fits_any_stack(self) -> bool:
        """Whether it may run on a thread that this library did not start, whose stack may be small."""
        return self.stack_bytes <= BYTES_ON_ANY_STACK


def to_llvm(program: Program, name: str, operands: Operands, options: Options) -> KernelModule:
    """The module of a program with explicit stacks.

    Args:
        program: Typed and allocated.
        name: The name of the user's function.
        operands: The arrays that it takes.
        options: What the code is made for.

    Raises:
        NoKernelError: Something in it has no code.
    """
    entry, machine = _made(program, operands, options)
    triple = f'target triple = "{options.processor.triple}"\n' if options.processor.triple else ""
    return KernelModule(
        f"{triple}{machine.text(name)}{entry}",
        tuple(machine.stacks.frame_bytes),
        tuple(machine.stacks.stack_of),
        machine.stacks.tapes,
        tuple(machine.stacks.near),
        machine.emitter.local_bytes,
        machine.emitter.own_bytes,
        len(program.graph.blocks) * (2 if options.processor.width > 1 else 1) if options.counts else 0,
        bool(operands.summed),
    )


_FLUSHING: Final[Mapping[str, tuple[str, str, str]]] = MappingProxyType(
    {
        "x86_64": (
            "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n",
            """  %mode.0 = alloca i32
  %mode.1 = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %mode.0)
  %mode.2 = load i32, ptr %mode.0
  %mode.3 = or i32 %mode.2, 32832
  store i32 %mode.3, ptr %mode.1
  call void @llvm.x86.sse.ldmxcsr(ptr %mode.1)
""",
            "  call void @llvm.x86.sse.ldmxcsr(ptr %mode.0)\n",
        ),
        "aarch64": (
            "",
            """  %mode.0 = call i64 asm sideeffect "mrs $0, fpcr", "=r"()
  %mode.1 = or i64 %mode.0, 16777216
  call void asm sideeffect "msr fpcr, $0", "r"(i64 %mode.1)
""",
            '  call void asm sideeffect "msr fpcr, $0", "r"(i64 %mode.0)\n',
        ),
    }
)
"""For each kind of processor: declarations, code that sets the mode in which denormal numbers are flushed to zero, as
XLA does, and code that restores the mode."""


def _made(program: Program, operands: Operands, options: Options) -> tuple[str, Machine | Gang]:
    """The text of the function that the host calls, and the function that runs a lane or a gang."""
    if options.processor.width > 1:
        gang = Gang(program, operands, options)
        return _with_look(_run_gang, gang), gang
    machine = Machine(program, operands, options)
    blocks = len(program.graph.blocks) if options.counts else 0
    return (grid.entry(machine, blocks) if options.processor.is_grid else _with_look(_run, machine)), machine


def _with_look(run: Callable[..., str], machine: Machine | Gang) -> str:
    declarations, begin, end = _FLUSHING.get(platform.machine(), ("", "", ""))
    return f"\n{declarations}\n{_look()}{run(machine, begin, end)}"


def _field(name: str, position: int, kind: str = "ptr") -> str:
    """Code that loads a field of the ``Call`` record."""
    return f"  %{name}.at = getelementptr i64, ptr %call, i64 {position}\n  %{name} = load {kind}, ptr %{name}.at\n"


def _look() -> str:
    """The function that a lane calls when its fuel is used up; it returns 1 if the lane is to stop."""
    return f"""\
define internal i32 @look(ptr %call) noinline cold nounwind {{
top:
{_field("stop", Call.STOP)}  %word = load atomic volatile i32, ptr %stop monotonic, align 4
  %stops = icmp ne i32 %word, 0
  br i1 %stops, label %yes, label %on
on:
{_field("look", Call.LOOK)}  %is_none = icmp eq ptr %look, null
  br i1 %is_none, label %itself, label %ask
ask:
  %said = call i32 %look(ptr %call)
  ret i32 %said
itself:
{_field("last", Call.IS_LAST, "i64")}  %answer = trunc i64 %last to i32
  ret i32 %answer
yes:
  ret i32 1
}}
"""


def _run(machine: Machine, begin: str, end: str) -> str:
    """The function that a thread calls: it takes inputs from the counter, a chunk at a time, and runs a lane for each.

    Args:
        machine: The code of a lane.
        begin: Code before all lanes.
        end: Code after them.
    """
    pointers, head = _called(machine, begin)
    rest = ["%call", "%local", "%stacks", "%frames", "%counts"]
    call = machine.call(pointers, "%i", rest, "0", "1")
    return f"""\
{head}{_field("chunk", Call.CHUNK, "i64")}\
  br label %take
take:
  %first = atomicrmw add ptr %next, i64 %chunk monotonic
  %last.any = add i64 %first, %chunk
  %is_over = icmp slt i64 %count, %last.any
  %last = select i1 %is_over, i64 %count, i64 %last.any
  %halts = load atomic volatile i32, ptr %halt monotonic, align 4
  %halts.not = icmp eq i32 %halts, 0
  %some = icmp slt i64 %first, %last
  %more = and i1 %some, %halts.not
  br i1 %more, label %each, label %done
each:
  %k = phi i64 [ %first, %take ], [ %k.next, %after ]
  br i1 %in_order, label %go, label %find
find:
  %place = getelementptr i64, ptr %todo, i64 %k
  %found = load i64, ptr %place
  br label %go
go:
  %i = phi i64 [ %k, %each ], [ %found, %find ]
  %fate = {call}
  %said = getelementptr i32, ptr %status, i64 %i
  store i32 %fate, ptr %said
  %left_off = icmp eq i32 %fate, {int(Fate.RUNNING)}
  br i1 %left_off, label %done, label %after
after:
  %k.next = add i64 %k, 1
  %on = icmp slt i64 %k.next, %last
  br i1 %on, label %each, label %take
done:
  %ended = phi i32 [ 0, %take ], [ 1, %go ]
{end}  ret i32 %ended
}}
"""


def _run_gang(gang: Gang, begin: str, end: str) -> str:
    """The function that a thread calls to run a gang."""
    pointers, head = _called(gang, begin)
    return f"{head}  %ended = {gang.call(pointers)}\n{end}  ret i32 %ended\n}}\n"


def _called(machine: Machine | Gang, begin: str) -> tuple[list[str], str]:
    """The registers of the pointers to arrays, and the beginning of ``@run``, which loads the fields of its record."""
    loads = "".join(
        f"  %a{k} = getelementptr ptr, ptr %arrays, i64 {k}\n  %p{k} = load ptr, ptr %a{k}\n"
        for k in range(len(machine.arrays))
    )
    head = f"""\
define i32 @{RUN}(ptr noalias readonly %arrays, ptr %call) {{
top:
{begin}{loads}{_field("status", Call.STATUS)}{_field("next", Call.NEXT)}{_field("todo", Call.TODO)}\
{_field("count", Call.COUNT, "i64")}{_field("local", Call.LOCAL)}\
{_field("stacks", Call.STACKS)}{_field("frames", Call.FRAMES)}{_field("counts", Call.COUNTS)}\
{_field("halt", Call.STOP)}  %in_order = icmp eq ptr %todo, null
"""
    return [f"%p{k}" for k in range(len(machine.arrays))], head
