"""A lowered program -> which saved variables are parts of the same stack frame, so that one stack pointer serves them.

::

    a:    push %n                                            saves %n and %$return in one row, moves the pointer up
          push_jump f, return to a.return by %$return
    f:    …
          return by %$return                          ==>    reads the top of %$return, and touches no stack
    a.return:
          pop %n                                             moves the pointer down, restores both from that row
          push %l                                     ==>    … or, where the next call follows, leaves the pointer and
          push_jump f, return to b.return by %$return        %$return's row alone: %n is read there, and %l written

A call saves its return address and the variables that are needed after it. All of these are restored in the block that
the call returns to, and only there. So the row of a frame is the same for everything in it, and one pointer counts
frames. For that, a return only reads the return address; the block that it goes to pops it, with the other variables. A
variable that is not part of a frame keeps a pointer of its own (``stack_groups.py``), since code that was written by
hand may push and pop in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hlobatch.analysis.stack_groups import stack_groups
from hlobatch.ir.ops import IndirectGotoOp, Op, PopOp, PushGotoOp, PushOp
from hlobatch.ir.program import Block, Program
from hlobatch.ir.program import VariableAllocation as Alloc


@dataclass(frozen=True)
class CallFrames:
    """The frames of a lowered program.

    Attributes:
        program: The program.
    """

    program: Program

    @cached_property
    def pointers(self) -> Mapping[str, str]:
        """For each variable with a stack, the variable whose pointer it uses: in a frame, the return address."""
        return {**stack_groups(self.program), **self._owners, **{counter: counter for counter in self._returns}}

    def released(self, block: Block) -> str | None:
        """The return address of the frame that a block restores, since calls return to it; None if no call does."""
        return self._released.get(block.name)

    def acquired(self, block: Block) -> str | None:
        """The return address of the frame that a block saves, since it ends in a call; None if it does not."""
        terminator = block.terminator
        if isinstance(terminator, PushGotoOp) and terminator.counter in self._returns:
            return terminator.counter
        return None

    def moved_up(self, block: Block) -> str | None:
        """The return address whose stack is one frame deeper after a block than before it; None if there is none."""
        acquired = self.acquired(block)
        return None if acquired == self.released(block) else acquired

    def moved_down(self, block: Block) -> str | None:
        """The return address whose stack is one frame less deep after a block than before it; None if there is none."""
        released = self.released(block)
        return None if released == self.acquired(block) else released

    def is_framed(self, variable: str) -> bool:
        """Whether a variable is saved in frames."""
        return variable in self._owners or variable in self._returns

    def moving(self, block: Block, ops: Iterable[Op]) -> list[Op]:
        """Operations of a block, with pushes and pops of return addresses joined to those of the rest of a frame.

        The terminator then pushes and pops nothing.
        """
        found = list(ops)
        up, down = self.moved_up(block), self.moved_down(block)
        if down is not None:
            _join(found, PopOp((down,)), self._owners, down, 0)
        if up is not None:
            _join(found, PushOp((up,)), self._owners, up, len(found) - 1)
        return found

    def moves(self, op: Op) -> tuple[str, ...]:
        """The variables that an operation in the result of ``moving`` pushes or pops."""
        is_done = isinstance(op, (PushGotoOp, IndirectGotoOp)) and op.counter in self._returns
        return () if is_done else op.moved

    def moved(self, block: Block) -> list[str]:
        """The variables that a block pushes or pops, repeated if it moves one several times."""
        return [v for op in self.moving(block, block.ops) for v in self.moves(op)]

    # Which variables are in a frame

    @cached_property
    def _calls(self) -> Mapping[str, Sequence[tuple[Block, str]]]:
        """For each return address with a stack, pairs of a block that ends in a call and the block it returns to."""
        found: dict[str, list[tuple[Block, str]]] = {}
        for block in self.program.graph:
            terminator = block.terminator
            if isinstance(terminator, PushGotoOp) and self.program.alloc(terminator.counter) is Alloc.FULL:
                found.setdefault(terminator.counter, []).append((block, terminator.push_block))
        return found

    @cached_property
    def _returns(self) -> frozenset[str]:
        """The return addresses in frames: blocks that their calls return to have no other predecessor."""
        blocks = self.program.graph.blocks
        reached = Counter({blocks[0].name: 1})
        reached.update(successor for block in blocks for successor in set(block.successors))
        for calls in self._calls.values():
            reached.update({back for _, back in calls})
        others = [op for op in self.program.ops if not isinstance(op, (PushGotoOp, IndirectGotoOp))]
        touched = {v for op in others for v in (*op.uses, *op.defs)}
        names = {block.name for block in blocks}
        return frozenset(
            counter
            for counter, calls in self._calls.items()
            if counter not in touched and all(back in names and reached[back] == 1 for _, back in calls)
        )

    @cached_property
    def _released(self) -> Mapping[str, str]:
        return {back: counter for counter in self._returns for _, back in self._calls[counter]}

    @cached_property
    def _owners(self) -> Mapping[str, str]:
        """For each variable that is part of frames, the return address that is saved beside it."""
        stacked = [v for v in self.program.var_defs if self.program.alloc(v) is Alloc.FULL and v not in self._calls]
        found = {v: counter for counter in self._returns for v in stacked if self._is_part(v, counter)}
        return {v: found[v] for v in stacked if v in found}

    def _is_part(self, variable: str, counter: str) -> bool:
        """Whether only calls of one recursion save a variable, and only the blocks that they return to restore it."""
        pushed, popped = self._pushed.get(variable, {}), self._popped.get(variable, {})
        sites = {block.name for block, _ in self._calls[counter]}
        backs = {back for _, back in self._calls[counter]}
        if not (pushed.keys() <= sites and popped.keys() <= backs):
            return False
        once = all(len(places) == 1 for places in (*pushed.values(), *popped.values()))
        if not once or any(popped[name] > pushed[name] for name in pushed.keys() & popped.keys()):
            return False
        return self._is_matched(counter, frozenset(pushed), frozenset(popped))

    def _is_matched(self, counter: str, pushed: frozenset[str], popped: frozenset[str]) -> bool:
        """Whether every path to a block agrees on whether the frame there holds a variable, and none leaves it behind.

        Where a call follows another, a variable that is neither restored nor saved again stays in the frame.
        """
        calls, graph = self._calls[counter], self.program.graph
        held = set[str]()  # blocks that calls return to with the variable in the frame

        def is_left(block: Block) -> bool:
            return block.name in held and block.name not in popped

        def is_saved(block: Block) -> bool:
            return block.name in pushed or is_left(block)

        while more := {back for block, back in calls if is_saved(block)} - held:
            held |= more
        backs = [graph.block(back) for _, back in calls]
        return (
            all((back in held) == is_saved(block) for block, back in calls)
            and not any(is_left(block) and block.name in pushed for block, _ in calls)
            and all(block.name in held or block.name not in popped for block in backs)
            and not any(is_left(block) and self.acquired(block) != counter for block in backs)
        )

    @cached_property
    def _pushed(self) -> Mapping[str, Mapping[str, list[int]]]:
        return self._places(PushOp)

    @cached_property
    def _popped(self) -> Mapping[str, Mapping[str, list[int]]]:
        return self._places(PopOp)

    def _places(self, kind: type[PushOp | PopOp]) -> Mapping[str, Mapping[str, list[int]]]:
        """For each variable, the positions of the operations that push it, or pop it, by block."""
        found: dict[str, dict[str, list[int]]] = {}
        for block in self.program.graph:
            for position, op in enumerate(block.instructions):
                for variable in op.vars if isinstance(op, kind) else ():
                    found.setdefault(variable, {}).setdefault(block.name, []).append(position)
        return found


def _join(ops: list[Op], alone: PushOp | PopOp, owners: Mapping[str, str], counter: str, position: int) -> None:
    """Add a return address to the first operation that moves a part of its frame; if none does, insert ``alone``."""
    for index, op in enumerate(ops):
        if isinstance(op, type(alone)) and any(owners.get(v) == counter for v in op.vars):
            ops[index] = op.replace(vars=(*op.vars, counter))
            return
    ops.insert(position, alone)
