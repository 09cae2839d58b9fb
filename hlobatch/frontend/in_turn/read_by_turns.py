"""A ``for`` over an iterator that makes its items one by one -> a variable that its body changes in between, if any.

::

    for x in map(lambda x: x + t, items):      Python reads ``t`` before each turn
        t = t * 2 + x

Here, the items of such an iterator are made before the first turn, unless a generator takes turns with the loop. This
makes no difference if the body changes nothing that they are made of.
"""

from __future__ import annotations

import ast
import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hlobatch.diagnostics import UNKNOWN, Location, UnsupportedSyntaxError
from hlobatch.frontend.changes import changed_by_methods, changes_of
from hlobatch.frontend.harm import READERS
from hlobatch.frontend.nested import Template
from hlobatch.frontend.nodes import walk, walk_all
from hlobatch.frontend.scopes import MISSING, read_names, root_of, stored_names, target_names

_AT_ONCE: Final = (
    *(itertools.combinations, itertools.combinations_with_replacement, itertools.permutations, itertools.product),
    *(itertools.count, itertools.repeat, itertools.tee),
)
"""Those of ``itertools`` that keep a copy of what they are given, or go over nothing."""
_ONE_BY_ONE: Final = (
    *(enumerate, filter, iter, map, reversed, zip),
    *(one for one in vars(itertools).values() if isinstance(one, type) and one not in _AT_ONCE),
)
"""Python's functions that take an item of an iterable when they are asked for one."""
_VIEWS: Final = frozenset({"items", "keys", "values"})

Meaning = Callable[[ast.expr], Any]
"""The object that an expression stands for, or ``MISSING``."""


@dataclass(frozen=True, slots=True)
class Read:
    """What an iterable reads for each item.

    Attributes:
        late: The variables that its functions and expressions read when an item is made.
        containers: The variables whose containers it goes over, or gets from a call.
        may_take_turns: Whether it calls what may be a generator, whose statements may become those of the loop.
    """

    late: frozenset[str]
    containers: frozenset[str]
    may_take_turns: bool

    def changed(self, loop: ast.For, scope: Mapping[str, Template]) -> str | None:
        """One of the variables that the body of a loop changes, as far as its own statements show; None if none does.

        Args:
            loop: The loop.
            scope: The functions defined around it.
        """
        changed = _changed(loop, self.late | self.containers)
        found = (self.late & (_bound(loop, scope) | changed)) | (self.containers & changed)
        return next(iter(sorted(found)), None)

    def is_named(self, loop: ast.For, scope: Mapping[str, Template]) -> bool:
        """Whether the body of a loop names such a variable, itself or in a function that is defined around the loop."""
        named = set[str]().union(*map(read_names, loop.body))
        named.update(*(scope[name].captured for name in named & scope.keys()))
        return not named.isdisjoint(self.late | self.containers)


def read_in_turn(iterable: ast.expr, meaning: Meaning, scope: Mapping[str, Template]) -> Read | None:
    """What an iterable reads for each item; None if it does not make its items one by one.

    Args:
        iterable: What a loop goes over, or a part of that.
        meaning: The object that the function of a call is.
        scope: The functions defined around the loop.
    """
    if not isinstance(iterable, ast.GeneratorExp) and not _goes_one_by_one(iterable, meaning):
        return None
    late, containers = set[str](), set[str]()
    for name, is_container in _reads(iterable, meaning, scope):
        (containers if is_container else late).add(name)
    may_take_turns = any(_may_take_turns(part, meaning) for part in walk(iterable))
    return Read(frozenset(late), frozenset(containers), may_take_turns)


def made_before(value: Any, changed: str) -> Any:
    """The items of an iterable, which takes no turns with its loop, though the loop changes what it reads.

    Raises:
        UnsupportedSyntaxError: Always.
    """
    del value
    raise refused(changed)


def refused(changed: str, place: Location = UNKNOWN) -> UnsupportedSyntaxError:
    """The error of a loop whose body changes a variable that its iterable reads for each item."""
    return UnsupportedSyntaxError(
        f"the items of this are made one by one, of {changed!r}, which the body of the loop changes",
        place,
        help="go over `list(…)` of it if the items as they are before the loop are meant; else go over the "
        "container itself, and compute the item in the body.",
    )


def _goes_one_by_one(node: ast.expr, meaning: Meaning) -> bool:
    function = meaning(node.func) if isinstance(node, ast.Call) else None
    return any(function is one for one in _ONE_BY_ONE) or (
        isinstance(function, types.BuiltinMethodType) and function == itertools.chain.from_iterable
    )


def _may_take_turns(node: ast.AST, meaning: Meaning) -> bool:
    """Whether a part of an iterable calls what may be a generator."""
    if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS):
        return False
    function = meaning(node.func)
    return function is MISSING or isinstance(function, (types.FunctionType, types.MethodType))


def _reads(node: ast.expr, meaning: Meaning, scope: Mapping[str, Template]) -> Iterator[tuple[str, bool]]:
    """The variables that an iterable reads for each item, and of each whether it is a container that it goes over."""
    match node:
        case ast.GeneratorExp(element, [first, *others]):
            late = [element, *first.ifs, *(part for one in others for part in (one.iter, *one.ifs))]
            own = set(target_names(first.target)).union(*(target_names(one.target) for one in others))
            names = (name for part in late for name in read_names(part) if name not in own)
            yield from ((one, False) for name in names for one in (name, *_captured(name, scope)))
            yield from _reads(first.iter, meaning, scope)
        case ast.Lambda():
            yield from ((one, False) for name in read_names(node) for one in (name, *_captured(name, scope)))
        case ast.Name(name) if name in scope:
            yield from ((one, False) for one in _captured(name, scope))
        case ast.Call(ast.Attribute(value, method), []) if method in _VIEWS:
            yield from _reads(value, meaning, scope)
        case ast.Call(_, arguments, keywords) if _goes_one_by_one(node, meaning):
            for part in (*arguments, *(keyword.value for keyword in keywords)):
                yield from _reads(part, meaning, scope)
        case ast.List(parts) | ast.Tuple(parts):
            for part in parts:
                yield from _reads(part, meaning, scope)
        case ast.Call() if _may_take_turns(
            node, meaning
        ):  # it may return a container that it is given, or a part of it
            yield from ((name, True) for name in read_names(node))
        case ast.Subscript(_, ast.Slice()):
            pass  # a copy
        case ast.Name() | ast.Attribute() | ast.Subscript():
            root = root_of(node)
            yield from [(root.id, True)] if isinstance(root, ast.Name) else []


def _captured(name: str, scope: Mapping[str, Template]) -> tuple[str, ...]:
    """The variables that a function defined around the loop reads, given its name."""
    return scope[name].captured if name in scope else ()


def _changed(loop: ast.For, names: Iterable[str]) -> set[str]:
    """Those of the names whose values the body changes in place."""
    changed = {*changes_of(loop.body), *changed_by_methods(loop.body)}
    for part in walk_all(loop.body):
        match part:
            case ast.Call(ast.Attribute(value, method)) if method not in READERS:
                root = root_of(value)
                changed.update([root.id] if isinstance(root, ast.Name) else [])
    return changed.intersection(names)


def _bound(loop: ast.For, scope: Mapping[str, Template]) -> set[str]:
    """The variables that a turn assigns, itself or by functions that are defined around the loop."""
    bound = set(target_names(loop.target)).union(*map(stored_names, loop.body))
    for part in walk_all(loop.body):
        if isinstance(part, ast.Name) and part.id in scope:
            bound |= scope[part.id].bound
    return bound
