"""A traced program -> an error at a change in place that Python would show under another name, and hlobatch would not.

::

    b = a
    a[0] = 1        in Python b has changed, too; here it has not
    return b

Variables hold values here, and not references: a change in place gives one variable a new value. A change is refused if
another variable that may hold the same object, or a part of it (``may_alias.py``), is still read afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from hlobatch.analysis import liveness
from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.may_alias import (
    OUTSIDE,
    Aliases,
    Change,
    Part,
    State,
    Summary,
    Traced,
    pair,
    partners,
    summaries_of,
)
from hlobatch.analysis.traced_function import TracedFunction
from hlobatch.analysis.updates import Origins
from hlobatch.analysis.views import are_of_texts, overwritten_views
from hlobatch.diagnostics import HloBatchError, Note, UnsupportedSyntaxError
from hlobatch.ir.names import as_written
from hlobatch.ir.ops import HALT, FunctionCallOp, Op, PrimOp
from hlobatch.ir.program import MAIN, Block, Function, Program
from hlobatch.ir.types import Type
from hlobatch.values.facts import Site, of_code, tell
from hlobatch.values.identity import Path

_UNUSED: Final = "$dropped"
_A_COPY: Final = "give it a copy of one, as in `a.copy()`."
HELD_BACK: Final = "held"
"""Prefix of temporaries that hold a variable's new value until it is known that the statement did not fail."""
TAKEN: Final = "taken"
"""Prefix of temporaries that hold the item or attribute that an augmented assignment changes and then puts back."""


@dataclass(frozen=True, slots=True)
class AnotherName:
    """The fact that a statement binds a variable to a part of another one, and that a change by one shows in the other.

    Attributes:
        variables: Both variables.
        error: The error of the program as long as both are variables.
    """

    variables: frozenset[str]
    error: HloBatchError = field(compare=False)

    def joined(self, known: AnotherName) -> AnotherName:
        """The fact about the variables of two facts."""
        return AnotherName(self.variables | known.variables, known.error)


def check_aliases(program: Program, types: Mapping[str, Type], traced: Traced) -> None:
    """Refuse changes in place that would be seen through another name.

    Args:
        program: A program with calls, in which branches that were decided when it was built are jumps.
        types: The types of the program's variables.
        traced: Gives the traced function of an operation, by function, block and position.

    Raises:
        UnsupportedSyntaxError: A value is changed in place, and another variable that may hold it is read later.
        Learned: It is so by names whose places may be known.
    """
    if not any(one.identity.changed for one in list(_all_traced(program, traced))):
        return
    summaries, errors = summaries_of(program, types, traced), list[UnsupportedSyntaxError]()
    learned = list[tuple[Site, AnotherName]]()
    for function in program.functions:
        try:
            _Check(function, Aliases(function, types, traced, summaries), traced, summaries, learned).run()
        except UnsupportedSyntaxError as error:  # the reason for it may be gone once the program is built again
            errors.append(error)
    tell(learned)
    if errors:
        raise errors[0]


def _all_traced(program: Program, traced: Traced) -> Iterator[TracedFunction]:
    for function in program.all_functions:
        for block in function.graph:
            for index in range(len(block.instructions)):
                if (one := traced(function.name, block.name, index)) is not None:
                    yield one


@dataclass(frozen=True)
class _Context:
    """A change in place, and what is known at the operation that makes it.

    Attributes:
        op: The operation.
        change: The change.
        state: Pairs of parts that may be the same object, before the operation.
        live: Variables read after the operation, except those into which the changed part is put back at once.
        survivors: Parts of the operands that the results hold unchanged.
        changed: Parts of the operands of a primitive that it changes.
    """

    op: Op
    change: Change
    state: State
    live: frozenset[str]
    survivors: set[Part]
    changed: set[Part]

    @property
    def root(self) -> str:
        """The variable of which a part is changed."""
        return self.change.part[0]

    def is_still_read(self, variable: str) -> bool:
        """Whether the value that a variable has before the operation is read after it."""
        return variable in self.live and variable not in self.op.defs


@dataclass(frozen=True)
class _Check:
    """The check of one function.

    Attributes:
        function: The function.
        aliases: Its may-alias analysis.
        traced: Gives the traced function of an operation, by function, block and position.
        summaries: The summaries of the functions that it may call.
        learned: Facts about names whose places may be known; the check adds to it.
    """

    function: Function
    aliases: Aliases
    traced: Traced
    summaries: Mapping[str, Summary]
    learned: list[tuple[Site, AnotherName]]

    def run(self) -> None:
        """Refuse changes in place that another name would show in Python."""
        solution, live = self.aliases.solution(), liveness.liveness(self.function)
        for block in self.function.graph:
            after = liveness.after_each(block, live.after[block.name])
            for index, op, change, state in self.aliases.changes(block, solution.before[block.name]):
                live_after = after[index] - self._put_back(block, index, op)
                self._check_items_of_copy(block, index, op, change)
                survivors, changed = self._survivors(block, index, op), self._changed(block, index, op)
                self._check(_Context(op, change, state, live_after, survivors, changed))
                if isinstance(op, PrimOp):
                    self._check_views(block, index, op)

    def _check(self, at: _Context) -> None:
        if self.function.name == MAIN:
            return
        self._check_variable(at)
        if (at.change.part, at.change.part) in at.state:
            place = self.aliases.place(at.change.part, at.change.part)
            raise UnsupportedSyntaxError(
                f"this changes an item of {_name(at.root)} in place, which may be another item, too",
                at.change.place,
                notes=[Note("one object became two items here", place)] if place else [],
                help="put a copy into it, as in `items.append(row.copy())`, or assign to the item as a whole.",
            )
        for other in sorted(partners(at.state, at.change.part)):
            self._check_other(at, other)

    def _check_variable(self, at: _Context) -> None:
        """Refuse a change in place of a variable whose earlier value is still read."""
        if isinstance(at.op, FunctionCallOp) and at.op.vars_in.count(at.root) > 1:
            raise UnsupportedSyntaxError(
                f"a function is given {_name(at.root)} twice, and changes it", at.change.place, help=_A_COPY
            )
        if not at.is_still_read(at.root):
            return
        if isinstance(at.op, FunctionCallOp):
            raise UnsupportedSyntaxError(
                f"{at.op.function!r} changes {_name(at.root)} in place, and the caller still reads it as it was",
                at.change.place,
                notes=[Note("here", next(iter(self.summaries[at.op.function].changed.values())))],
                help="let the function work on a copy and return that, or give the parameter no other value in it.",
            )
        if not any(user_name(name).startswith(f"${HELD_BACK}") for name in at.op.defs):
            raise UnsupportedSyntaxError(
                f"this code changes {_name(at.root)} in place, which is still read as it was",
                at.change.place,
                help="let the function that does work on a copy, or return it, and assign that: `v = changed(v)`.",
            )

    def _check_other(self, at: _Context, other: Part) -> None:
        """Refuse a change in place if another part may be the same object and is still read."""
        variable, op = other[0], at.op
        notes = [Note("it became one here", place)] if (place := self.aliases.place(at.change.part, other)) else []
        if variable.startswith(OUTSIDE):
            outside = variable.removeprefix(OUTSIDE)
            copied = f"copy.deepcopy({outside})" if other[1] else f"{outside}.copy()"
            raise UnsupportedSyntaxError(
                f"this changes {outside!r} in place, which stands outside of the function, once for all lanes and "
                "turns",
                at.change.place,
                notes=notes,
                help=f"work on a copy, as in `own = {copied}`, and return what it is to be.",
            )
        is_argument = isinstance(op, FunctionCallOp) and variable in op.vars_in and variable not in op.defs
        is_in_root = variable == at.root
        # The result would hold two objects where Python has one.
        is_one = is_in_root and pair(at.change.part, other) in self.aliases.surely
        is_shown = at.is_still_read(variable) or other in at.survivors or is_argument or is_one
        if not (is_shown or self._may_read_both(at, other)):
            return
        what = "another part is the same object" if is_in_root else f"{_name(variable)} is another name, or a part"
        error = UnsupportedSyntaxError(
            f"this changes {_name(at.root)} in place, of which {what}",
            at.change.place,
            notes=notes,
            help=_OWN_PARTS if is_in_root else _ONE_NAME,
        )
        error.is_of_references = True
        if is_in_root or place is None:
            raise error
        names = frozenset({user_name(at.root), user_name(variable)})
        self.learned.append((of_code(place), AnotherName(names, error)))

    def _may_read_both(self, at: _Context, other: Part) -> bool:
        """Whether one primitive changes an object by one variable, and then may read or change it by another one."""
        variable, op = other[0], at.op
        if not isinstance(op, PrimOp) or variable == at.root or variable not in op.uses:
            return False
        if any(user_name(name).startswith(f"${TAKEN}") for name in (variable, at.root)):
            return False
        before = set(map(user_name, op.uses))
        computed = [name for name in map(user_name, op.defs) if name not in before and not name.startswith(_UNUSED)]
        return other in at.changed or bool(computed)  # what only stores a value has computed it before

    def _check_items_of_copy(self, block: Block, index: int, op: Op, change: Change) -> None:
        """Refuse a call that changes a copy of a list, if items of the copy are put back into the list."""
        if not isinstance(op, FunctionCallOp) or change.part[1] != ():
            return
        whole = (op.vars_in.index(change.part[0]), ())
        results = {op.vars_out[result] for (result, _), node in self.summaries[op.function].results if node == whole}
        taken = {variable for variable in results if user_name(variable).startswith("$")}
        for _, parts in self._uses_behind(block, index, taken):
            if parts and () not in parts:
                raise UnsupportedSyntaxError(
                    f"{op.function!r} changes a slice of a list, and its items may change in place, too",
                    change.place,
                    notes=[Note("here", self.summaries[op.function].changed[whole])],
                    help="give the slice a name, and make its items anew: `part = [row.copy() for row in rows[1:]]`.",
                )

    def _put_back(self, block: Block, index: int, op: Op) -> set[str]:
        """The variables that get back, right after a call, the changed part of them that was its argument."""
        if not isinstance(op, FunctionCallOp):
            return set()
        taken = {variable for variable in op.defs if user_name(variable).startswith("$")}
        found = set[str]()
        for other, parts in self._uses_behind(block, index, taken):
            if parts:
                names = set(map(user_name, other.defs))
                found |= {v for v in other.uses if user_name(v) in names}
        return found

    def _uses_behind(self, block: Block, index: int, variables: set[str]) -> Iterator[tuple[Op, set[Path]]]:
        """The operations after a call, up to the next branch, with the paths of ``variables`` that their results hold.

        An operation that computes with one of the variables is taken to hold it as a whole, path ``()``.
        """
        index += 1
        while len(block.successors) == 1 and block.successors[0] != HALT and index >= len(block.instructions):
            block, index = self.function.graph.block(block.successors[0]), 0
        for place, other in enumerate(block.instructions[index:], index):
            one = self.traced(self.function.name, block.name, place)
            held = [] if one is None else [node for nodes in one.identity.sources.values() for node in nodes]
            parts = {path for i, path in held if other.uses[i] in variables}
            if not parts and any(
                other.uses[i] in variables for i in (range(len(other.uses)) if one is None else one.looked_at)
            ):
                parts = {()}
            yield other, parts

    def _survivors(self, block: Block, index: int, op: Op) -> set[Part]:
        """Parts of an operation's operands that its results hold unchanged."""
        identity = self.aliases.identity(block, index)
        if identity is None:
            return set()
        kept = {node for nodes in identity.sources.values() for node in nodes if node not in identity.changed}
        return {(op.uses[i], path) for i, path in kept}

    def _changed(self, block: Block, index: int, op: Op) -> set[Part]:
        """The parts of a primitive's operands that it changes in place."""
        identity = self.aliases.identity(block, index)
        return set() if identity is None else {(op.uses[i], path) for i, path in identity.changed}

    def _check_views(self, block: Block, index: int, op: PrimOp) -> None:
        """Refuse a statement that changes an array and then assigns it a view of itself taken before the change."""
        one = self.traced(self.function.name, block.name, index)
        assert one is not None
        code = Origins(one.inlined)
        for result, is_of_text in zip(code.jaxpr.outvars, are_of_texts(one.out_types), strict=True):
            origin, updates = code.origin(result)
            if not is_of_text and len(updates) > 1 and overwritten_views(one.inlined, updates, origin):
                raise UnsupportedSyntaxError(
                    "this assigns rows of an array that it has changed before they are read: they are views in NumPy",
                    op.location,
                    help="make copies of them, as in `a[i], a[j] = a[j].copy(), a[i].copy()`.",
                )


_OWN_PARTS: Final = "let each part be one of its own, as in `[[0] * 2 for _ in range(3)]`, or a copy."
_ONE_NAME: Final = (
    "change it by the name or the item that is read later, or make one of them of a copy, as with `.copy()`."
)


def _name(variable: str) -> str:
    short = as_written(user_name(variable))
    return "a value" if short.startswith("$") else repr(short)
