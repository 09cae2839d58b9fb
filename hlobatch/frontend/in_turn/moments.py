"""The effects of code that makes items, and of code that uses them -> the moment at which the items are made.

::

    sum(x * 2 for x in xs)                    nothing shows when an item is made: all at once, by straight-line code
    [f(x) for x in xs]                        the program calls ``f``: by a loop, before the first item is used
    for y in (f(x) for x in xs): ys.pop()     each item in turn with the code that uses it

Python makes the items of a list at once and those of an iterator in turn. A program makes them in turn only where that
shows, since straight-line code takes less.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import dataclass

from hlobatch.frontend.harm_of_code import changed_around, harm_of, of_template
from hlobatch.frontend.in_turn.kept_iterators import takes_in_turn
from hlobatch.frontend.nested import Template
from hlobatch.frontend.nodes import Comprehension, walk
from hlobatch.frontend.own_methods import NEXT
from hlobatch.frontend.whole_function import WholeLowering


class Moment(enum.Enum):
    """When the items of an iterable are made.

    Attributes:
        AT_ONCE: Before the first is used, by straight-line code, which Python runs while the program is built.
        BY_A_LOOP: Before the first is used, by a loop of the program.
        IN_TURN: Each when the code that uses the items asks for it.
    """

    AT_ONCE = enum.auto()
    BY_A_LOOP = enum.auto()
    IN_TURN = enum.auto()


@dataclass(frozen=True, slots=True)
class Effects:
    """What code does beside giving a value.

    Attributes:
        calls: Whether the program itself carries out a call in it, as of a function that changes what is around it.
        prints: Whether it prints.
        draws: Whether it goes over a generator, or an object with ``__next__``, whose items a lane counts.
        changes: Whether it changes an object or a variable.
        raises: Whether a function that it calls may raise.
        leaves_out: Whether parts of it may not run.
    """

    calls: bool
    prints: bool
    draws: bool
    changes: bool
    raises: bool
    leaves_out: bool

    @property
    def show(self) -> bool:
        """Whether other code can see when this code runs."""
        return self.prints or self.changes or self.raises


def moment(effects: Effects, *, in_turn: bool, ends_early: bool = False, is_changed: bool = False) -> Moment:
    """When items are made.

    Args:
        effects: What making an item does beside that.
        in_turn: Whether Python makes them in turn with the code that uses them, which is that of a loop.
        ends_early: Whether that code may leave items out.
        is_changed: Whether it changes what the items are made of.
    """
    if in_turn and (effects.calls or effects.draws or effects.changes or is_changed):
        return Moment.IN_TURN
    if effects.calls or effects.prints or effects.draws or (effects.changes and (effects.leaves_out or ends_early)):
        return Moment.BY_A_LOOP
    return Moment.AT_ONCE


def effects_of(node: ast.expr, function: WholeLowering) -> Effects:
    """The effects of code.

    Args:
        node: The code: what makes an item, or a part of it.
        function: The lowering of the function around it.
    """
    parts = walk(node)
    callees = [one.callee for part in parts if (one := function.called(part)) is not None]
    counted = any(_goes_in_turn(part, function) for part in parts)
    implicit = any(isinstance(part, ast.expr) and function.implicit_call(part) is not None for part in parts)
    conditions = any(isinstance(part, (ast.IfExp, ast.BoolOp)) for part in parts)
    return Effects(
        calls=bool(callees) or counted or implicit or any(map(_changes_around, _named_in(node, function))),
        prints=any(map(function.prints, parts)),
        draws=counted or any(isinstance(part, ast.Call) and function.draws(part) is not None for part in parts),
        changes=changes(node, function) or any(one.bound or one.changed or one.changes for one in callees),
        raises=any(one.raises for one in callees),
        leaves_out=conditions or any(isinstance(part, ast.comprehension) and part.ifs for part in parts),
    )


def changes(node: ast.expr, function: WholeLowering) -> bool:
    """Whether code, or a function defined inside that it names, may change an object or a variable."""
    inner = list(_named_in(node, function))
    return (
        function.changes(node)
        or any(template.changed or of_template(template).changes for template in inner)
        or any(_may_change(part, function) for part in walk(node))
    )


def _may_change(node: ast.AST, function: WholeLowering) -> bool:
    """Whether a call that the program does not carry out itself may change an object or a variable."""
    if not isinstance(node, ast.Call) or function.called(node) is not None:
        return False  # what the functions of the program change is known
    return harm_of(node, function).changes


def _named_in(node: ast.expr, function: WholeLowering) -> Iterator[Template]:
    """The functions defined inside that an expression names."""
    for part in walk(node):
        if isinstance(part, ast.Name) and part.id in function.scope:
            yield function.scope[part.id]


def _changes_around(template: Template) -> bool:
    """Whether a function defined inside may change a variable, or an object in one, of the function around it."""
    return bool(template.changed) or not changed_around(template).isdisjoint(template.captured)


def _goes_in_turn(node: ast.AST, function: WholeLowering) -> bool:
    """Whether a comprehension goes over a variable that may hold an object with a method ``__next__``."""
    return isinstance(node, Comprehension) and takes_in_turn(node) and function.is_overloaded((NEXT,), node)
