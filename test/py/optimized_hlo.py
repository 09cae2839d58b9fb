"""Optimized HLO of loops: parses the text that ``hb.Compiled.as_text`` gives.

``whole_writes`` counts the instructions inside loops that write a whole buffer. A loop that updates its buffers in
place has
none: a copy that XLA could not avoid is one, and so is a select, a pad or a broadcast of the same size.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

PASSED_ON = ("parameter", "get-tuple-element", "tuple", "bitcast", "conditional", "call", "while", "fusion")
IN_PLACE = frozenset([*PASSED_ON, "scatter", "dynamic-update-slice"])
"""Opcodes that pass a buffer on, or write a part of it; what a fusion does is seen in the computation that it calls."""

_COMPUTATION = re.compile(r"^(?:ENTRY )?%(\S+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%\S+ = (?P<shape>\(.*?\)|\S+) (?P<opcode>[\w-]+)\(")
_CALLED = re.compile(r"\b(?:calls|to_apply|body|condition|true_computation|false_computation)=%([\w.-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")


@dataclass(frozen=True)
class Instruction:
    """An instruction of a computation.

    Attributes:
        opcode: Its opcode.
        shape: The shape of its result, such as ``s32[33,1000]{1,0}``; of a tuple the shapes of all parts.
        called: Names of the computations it runs.
        line: Its text.
    """

    opcode: str
    shape: str
    called: tuple[str, ...]
    line: str


def computations(text: str) -> dict[str, list[Instruction]]:
    """The computations of a module by name."""
    found: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in text.splitlines():
        if heading := _COMPUTATION.match(line):
            current = found.setdefault(heading[1], [])
        elif instruction := _INSTRUCTION.match(line):
            current.append(Instruction(instruction["opcode"], instruction["shape"], tuple(_called(line)), line.strip()))
    return found


def _called(line: str) -> Iterator[str]:
    yield from _CALLED.findall(line)
    for branches in _BRANCHES.findall(line):
        yield from re.findall(r"%([\w.-]+)", branches)


def inside_loops(text: str) -> Iterator[Instruction]:
    """Every instruction that some ``while`` runs in its turns, at any depth, each once."""
    module = computations(text)
    loops = [i for instructions in module.values() for i in instructions if i.opcode == "while"]
    pending = [name for loop in loops for name in loop.called]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        for instruction in module[name]:
            yield instruction
            pending += instruction.called


def whole_writes(text: str, shapes: Collection[tuple[int, ...]]) -> Counter[str]:
    """The number of instructions inside loops that write a whole buffer of one of some shapes, by opcode."""
    wanted = {f"[{','.join(map(str, shape))}]" for shape in shapes}

    def writes(instruction: Instruction) -> bool:
        return instruction.opcode not in IN_PLACE and any(shape in instruction.shape for shape in wanted)

    return Counter(instruction.opcode for instruction in inside_loops(text) if writes(instruction))
