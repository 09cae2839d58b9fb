"""The operations of the IR, those of the paper's figures 2 and 4 under the names of TFP's ``auto_batching``.

Every op answers the same questions: ``uses`` and ``defs`` (names of variables read and written), and terminators
``successors`` (names of blocks). No pass asks for a class except where that op is its subject.

| Paper                | Here                                        |
|----------------------|---------------------------------------------|
| Primitive y = f(x)   | ``PrimOp``                                  |
| Call y = F(x)        | ``FunctionCallOp``                          |
| Push y = f(x)        | ``PushOp((y,))`` followed by ``PrimOp``     |
| Pop x                | ``PopOp``                                   |
| Update y = f(x)      | ``PrimOp`` on a variable with a stack       |
| Jump i               | ``GotoOp``                                  |
| Branch x i j         | ``BranchOp``                                |
| PushJump i j         | ``PushGotoOp``                              |
| Return               | ``GotoOp(HALT)``; lowered, ``IndirectGotoOp`` |

The paper's Push both makes room and writes. Here they are two ops, so that a save that turns out to be needless can be
taken out without touching the write (see ``transforms.pop_push_elimination``).

Reference: Radul et al. (2020), figures 2 and 4, section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, final

from hlobatch.diagnostics import UNKNOWN, Location
from hlobatch.ir.code import UNKNOWN_CODE, Code

HALT: Final = "halt"
"""The name of the exit: off the end of the graph, at index ``graph.exit_index()``."""


def renaming(names: Mapping[str, str]) -> Callable[[str], str]:
    """A renaming for ``Op.rename`` by a table; names that are not in it stay."""
    return lambda name: names.get(name, name)


def _is_same(old: object, new: object) -> bool:
    """Whether two values of an attribute are the same object, or the same names."""
    return old is new or (isinstance(new, (str, tuple)) and old == new)


@dataclass(frozen=True, slots=True)
class Op:
    """The base class of all operations.

    Attributes:
        location: The span of the user's code that it was made from.
        read_at: For each of ``uses``, where the user's code first reads it, if known.
    """

    location: Location = field(default=UNKNOWN, compare=False, repr=False, kw_only=True)
    read_at: tuple[Location, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the variables whose current value is read."""
        return ()

    @property
    def defs(self) -> tuple[str, ...]:
        """Names of the variables whose current value is overwritten."""
        return ()

    @property
    def moved(self) -> tuple[str, ...]:
        """Variables that the operation pushes or pops, one entry each time; they need not be allocated a stack."""
        return ()

    @property
    def code(self) -> Code:
        """The code that a primitive runs; ``UNKNOWN_CODE`` for other operations and before types are known."""
        return UNKNOWN_CODE

    def rename(self, uses: Callable[[str], str], defs: Callable[[str], str]) -> Self:
        """The op with its variables renamed, those it reads by ``uses`` and those it writes by ``defs``."""
        del uses, defs
        return self

    def replace(self, **changes: Any) -> Self:
        """The op with some attributes replaced; the same one if they are as they were."""
        if all(_is_same(getattr(self, name), value) for name, value in changes.items()):
            return self
        return replace(self, **changes)


def with_own_results(
    ops: Iterable[Op], fresh: Callable[[str], str], only: Collection[str] | None = None
) -> tuple[list[Op], dict[str, str]]:
    """Operations in a row, renamed so that they write to new variables.

    Args:
        ops: Each may read what those before it write.
        fresh: Maps a variable's name to a new one.
        only: The variables to replace; None for all that are written.

    Returns:
        The renamed operations, and the new name of each replaced variable.
    """
    names: dict[str, str] = {}
    renamed: list[Op] = []
    for op in ops:
        before = dict(names)
        names |= {v: fresh(v) for v in op.defs if v not in names and (only is None or v in only)}
        renamed.append(op.rename(renaming(before), renaming(names)))
    return renamed, names


NO_RESULT: Final = "no result"
"""The text of the operation that gives a value to the result of a function that has failed, where nothing reads it."""


@final
@dataclass(frozen=True, slots=True)
class PrimOp(Op):
    """``y = f(x)``: straight-line code on one lane, traced by JAX and batched with ``jax.vmap``.

    Attributes:
        vars_in: Variables passed to ``function``, in order.
        vars_out: Variables that receive the results; ``function`` returns a tuple of as many values.
        function: Single-example code; after type inference ``Code``, which no longer runs the user's Python.
        text: The source code that it was made from, for the printer.
    """

    vars_in: tuple[str, ...]
    vars_out: tuple[str, ...]
    function: Callable[..., tuple[Any, ...]]
    text: str = ""

    @property
    def uses(self) -> tuple[str, ...]:
        return self.vars_in

    @property
    def defs(self) -> tuple[str, ...]:
        return self.vars_out

    @property
    def code(self) -> Code:
        return self.function if isinstance(self.function, Code) else UNKNOWN_CODE

    def rename(self, uses: Callable[[str], str], defs: Callable[[str], str]) -> PrimOp:
        return self.replace(vars_in=tuple(map(uses, self.vars_in)), vars_out=tuple(map(defs, self.vars_out)))


@final
@dataclass(frozen=True, slots=True)
class FunctionCallOp(Op):
    """``y = F(x)``: a call of a function of the program; gone after call lowering.

    Attributes:
        function: Name of the callee.
        vars_in: Argument variables, as many as the callee has parameters.
        vars_out: Variables that receive the callee's ``vars_out``, one for one.
        site: The frontend's key of the call site, if the callee may be copied for it; None otherwise.
        again: Whether reverse mode runs the callee again to get its values, instead of reading them from a tape.
    """

    function: str
    vars_in: tuple[str, ...]
    vars_out: tuple[str, ...]
    site: Any = field(default=None, compare=False)
    again: bool = False

    @property
    def uses(self) -> tuple[str, ...]:
        return self.vars_in

    @property
    def defs(self) -> tuple[str, ...]:
        return self.vars_out

    def rename(self, uses: Callable[[str], str], defs: Callable[[str], str]) -> FunctionCallOp:
        return self.replace(vars_in=tuple(map(uses, self.vars_in)), vars_out=tuple(map(defs, self.vars_out)))


@final
@dataclass(frozen=True, slots=True)
class LogOp(Op):
    """Notes an effect, such as a ``print``, that the host is to carry out for the lane.

    The number of the effect and the words of its operands are appended to the lane's log. The program never reads the
    log, so a pass may not drop, repeat or speculate a ``LogOp`` just because no operation uses its result.

    Attributes:
        number: Index into the program's ``effects``.
        vars_in: The variable that holds the encoded operands, ``i32[words]``; empty if there are no operands.
        text: The source code that it was made from, for the printer.
    """

    number: int
    vars_in: tuple[str, ...] = ()
    text: str = ""

    @property
    def uses(self) -> tuple[str, ...]:
        return self.vars_in

    def rename(self, uses: Callable[[str], str], defs: Callable[[str], str]) -> LogOp:
        return self.replace(vars_in=tuple(map(uses, self.vars_in)))


@final
@dataclass(frozen=True, slots=True)
class PushOp(Op):
    """Saves the current value of each variable: its stack grows by a frame that holds a copy of the top."""

    vars: tuple[str, ...]

    @property
    def uses(self) -> tuple[str, ...]:
        return self.vars

    @property
    def moved(self) -> tuple[str, ...]:
        return self.vars

    def rename(self, uses: Callable[[str], str], defs: Callable[[str], str]) -> PushOp:
        return self.replace(vars=tuple(map(uses, self.vars)))


@final
@dataclass(frozen=True, slots=True)
class PopOp(Op):
    """Drops the current value of each variable and restores the one saved last."""

    vars: tuple[str, ...]

    @property
    def defs(self) -> tuple[str, ...]:
        return self.vars

    @property
    def moved(self) -> tuple[str, ...]:
        return self.vars

    def rename(self, uses: Callable[[str], str], defs: Callable[[str], str]) -> PopOp:
        return self.replace(vars=tuple(map(defs, self.vars)))


@dataclass(frozen=True, slots=True)
class Terminator(Op):
    """The last op of a block: where the lane goes next."""

    @property
    def successors(self) -> tuple[str, ...]:
        """Names of the blocks that control may pass to within this graph (``HALT`` for its exit)."""
        return ()

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of all blocks in it: the successors, and the block to which a call returns."""
        return self.successors

    def retarget(self, target: Callable[[str], str]) -> Self:
        """The terminator with every block name mapped."""
        del target
        return self


@final
@dataclass(frozen=True, slots=True)
class BranchOp(Terminator):
    """Goes to ``true_block`` where the boolean ``cond_var`` holds, else to ``false_block``."""

    cond_var: str
    true_block: str
    false_block: str

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.cond_var,)

    @property
    def successors(self) -> tuple[str, ...]:
        return (self.true_block, self.false_block)

    def rename(self, uses: Callable[[str], str], defs: Callable[[str], str]) -> BranchOp:
        return self.replace(cond_var=uses(self.cond_var))

    def retarget(self, target: Callable[[str], str]) -> BranchOp:
        return self.replace(true_block=target(self.true_block), false_block=target(self.false_block))


@final
@dataclass(frozen=True, slots=True)
class GotoOp(Terminator):
    """Goes to ``block``, or, for ``HALT``, out of the graph."""

    block: str

    @property
    def successors(self) -> tuple[str, ...]:
        return (self.block,)

    def retarget(self, target: Callable[[str], str]) -> GotoOp:
        return self.replace(block=target(self.block))


@final
@dataclass(frozen=True, slots=True)
class PushGotoOp(Terminator):
    """A lowered call: saves the return address ``push_block`` in ``counter`` and goes to ``goto_block``.

    ``counter`` is the reserved variable that holds return addresses. Its allocation says whether it needs a stack:
    functions that never call back into themselves keep their return address in a register.
    """

    push_block: str
    goto_block: str
    counter: str

    @property
    def successors(self) -> tuple[str, ...]:
        return (self.goto_block,)

    @property
    def targets(self) -> tuple[str, ...]:
        return (self.goto_block, self.push_block)

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.counter,)

    @property
    def defs(self) -> tuple[str, ...]:
        return (self.counter,)

    @property
    def moved(self) -> tuple[str, ...]:
        return (self.counter,)

    def rename(self, uses: Callable[[str], str], defs: Callable[[str], str]) -> PushGotoOp:
        return self.replace(counter=defs(self.counter))

    def retarget(self, target: Callable[[str], str]) -> PushGotoOp:
        return self.replace(push_block=target(self.push_block), goto_block=target(self.goto_block))


@final
@dataclass(frozen=True, slots=True)
class IndirectGotoOp(Terminator):
    """A lowered return: goes to the block saved last in ``counter`` and forgets it."""

    counter: str

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.counter,)

    @property
    def defs(self) -> tuple[str, ...]:
        return (self.counter,)

    @property
    def moved(self) -> tuple[str, ...]:
        return (self.counter,)

    def rename(self, uses: Callable[[str], str], defs: Callable[[str], str]) -> IndirectGotoOp:
        return self.replace(counter=defs(self.counter))
