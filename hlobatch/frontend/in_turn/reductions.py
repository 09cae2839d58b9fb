"""``sum(…)``, ``any(…)`` and the like of a comprehension -> a loop, if tracing cannot go through the items.

::

                                                   $1 = False
    if any(clashes(r, i) for r in range(n)): ==>   for $r in range(n):
        …                                              if clashes($r, i):
                                                           $1 = True
                                                           break
                                                   if $1: …

That is so if the program itself carries out a call in it, if it assigns variables by ``:=``, or if it iterates over a
range whose length differs between lanes. The loop is not written out. As in Python, it ends for a lane as soon as the
result is known if the argument is a generator expression; the items of a list are all computed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from hlobatch._jax import is_tracer
from hlobatch.frontend.in_turn.comprehensions import loops_of, nested, placed, renamed
from hlobatch.frontend.iteration import is_long, length
from hlobatch.frontend.lane_numbers import differs
from hlobatch.frontend.nodes import Comprehension
from hlobatch.frontend.written import Part, written
from hlobatch.ir.choice import Choice
from hlobatch.ir.value import Collection
from hlobatch.values.facts import Learned, Site
from hlobatch.values.number_tables import table_of
from hlobatch.values.own_containers import content

REDUCERS: Final = (sum, any, all, min, max, len, next)
"""Functions that iterate once over their items, in order, and keep only their result."""
_ONLY_OF: Final[Mapping[Any, type]] = {len: ast.ListComp, next: ast.GeneratorExp}
"""The kind of comprehension that Python's ``len`` and ``next`` take."""
_LOOPS: Final[Mapping[str, tuple[str, ...]]] = {
    "sum": ("RESULT = START", "RESULT = RESULT + ITEM", ""),
    "len": ("RESULT = 0", "VALUE = ITEM\nRESULT = RESULT + 1", ""),
    "any": ("RESULT = False", "if ITEM: RESULT = True; break", "if RESULT: break"),
    "all": ("RESULT = True", "if not ITEM: RESULT = False; break", "if not RESULT: break"),
    "next": ("RESULT = DEFAULT; FOUND = False", "RESULT = ITEM; FOUND = True; break", "if FOUND: break"),
    "min": ("RESULT = None", "VALUE = ITEM\nif RESULT is None or VALUE < RESULT: RESULT = VALUE", ""),
    "max": ("RESULT = None", "VALUE = ITEM\nif RESULT is None or VALUE > RESULT: RESULT = VALUE", ""),
}
"""For each reducer, the statements before the loops, in the innermost loop, and behind a loop inside of others. ``min``
and ``max`` find the first item that no later one surpasses."""
_LOOPS_OF_LISTS: Final = {
    "any": ("RESULT = False", "VALUE = ITEM\nif VALUE: RESULT = True", ""),
    "all": ("RESULT = True", "VALUE = ITEM\nif not VALUE: RESULT = False", ""),
}
"""The loops that compute all items, since computing one may have an effect or raise."""
_BY_KEY: Final = (
    "RESULT = None; BEST = None",
    "VALUE = ITEM\nRANK = KEY(VALUE)\nif BEST is None or RANK < BEST: RESULT = VALUE; BEST = RANK",
    "",
)
"""The loop of ``min`` with a key; that of ``max`` has ``>``."""
_FAILURES: Final = {
    "min": "if RESULT is None: raise ValueError('min() iterable argument is empty')",
    "max": "if RESULT is None: raise ValueError('max() iterable argument is empty')",
    "next": "if RESULT is None: raise StopIteration('there is no item')",
}
"""Python's exception where there is no item."""
_OWN: Final = ("FOUND", "VALUE", "BEST", "RANK")
"""Variables of the loop's own."""


@dataclass(frozen=True, slots=True)
class Looped:
    """The fact that the iterable of a comprehension has a length that differs between lanes, or very many items."""

    is_told_early: ClassVar[bool] = True


def range_of(site: Site, *bounds: Any) -> range:
    """``range(…)`` in the argument of a reducer.

    Raises:
        Learned: Its length differs between lanes.
    """
    if differs(bounds):
        raise Learned(site, Looped())
    return range(*bounds)


def gone_over(site: Site, items: Any) -> Any:
    """The iterable of a comprehension that is the argument of a reducer.

    Raises:
        Learned: Its length differs between lanes, or it has very many numbers.
    """
    items = content(items, "__iter__")
    has_lanes_length = isinstance(items, Collection) or (isinstance(items, Choice) and is_tracer(length(items)))
    if has_lanes_length or has_many(items):
        raise Learned(site, Looped())
    return items


def has_many(items: Any) -> bool:
    """Whether an iterable has so many items, all of them known numbers, that iteration over it becomes a loop."""
    return is_long(items) and table_of(items) is not None


def reducer(function: Any, items: Comprehension) -> str | None:
    """The name of a function that reduces such a comprehension to one value; None for another function."""
    known = next((known for known in REDUCERS if known is function), None)
    return known.__name__ if known and _ONLY_OF.get(known, type(items)) is type(items) else None


def arguments_of(call: ast.Call, name: str) -> dict[str, ast.expr] | None:
    """The arguments of a reducer's call but the first, by name; None if it has other arguments."""
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    more = {"sum": "start", "next": "default"}.get(name)
    if len(call.args) == 2 and more is not None:
        given[more] = call.args[1]
    allowed = {"sum": {"start"}, "next": {"default"}, "min": {"key", "default"}, "max": {"key", "default"}}
    is_whole = len(given) == len(call.args) - 1 + len(call.keywords) and not any(
        isinstance(argument, ast.Starred) for argument in call.args
    )
    return given if is_whole and given.keys() <= allowed.get(name, set()) else None


def as_reduction(
    name: str,
    node: Comprehension,
    given: Mapping[str, ast.expr],
    result: str,
    fresh: Callable[[str], str],
    *,
    may_be_empty: bool,
) -> list[ast.stmt]:
    """Statements that assign the result of a reducer on a comprehension to a variable.

    Args:
        name: The reducer.
        node: The comprehension.
        given: Its other arguments.
        result: The variable.
        fresh: Makes unused names, for variables of the loop's own.
        may_be_empty: Whether there may be no item in some lanes.
    """
    loops, names = loops_of(node, fresh)
    assert not isinstance(node, ast.DictComp)
    texts = _LOOPS_OF_LISTS.get(name, _LOOPS[name]) if isinstance(node, ast.ListComp) else _LOOPS[name]
    if "key" in given:
        texts = tuple(text.replace("<", "<" if name == "min" else ">") for text in _BY_KEY)
    parts: dict[str, Part] = {"RESULT": result, "ITEM": renamed(node.elt, names)}
    parts |= {"START": ast.Constant(0), "DEFAULT": ast.Constant(None), **{key.upper(): given[key] for key in given}}
    parts |= {own: fresh(own.lower()) for own in _OWN if any(own in text for text in texts)}
    begin, body, behind = (written(text, node, **parts) for text in texts)
    statements = [*begin, *(placed(loop, node) for loop in nested(loops, body, behind))]
    if name in ("min", "max") and "default" in given:
        # Python evaluates it also where there are items: after those of a list, and before those of a generator.
        default = written("OTHER = DEFAULT", node, OTHER=(other := fresh("other")), **parts)
        statements = [*statements, *default] if isinstance(node, ast.ListComp) else [*default, *statements]
        statements += written("RESULT = OTHER if RESULT is None else RESULT", node, OTHER=other, **parts)
    elif name in _FAILURES and may_be_empty and "default" not in given:
        statements += written(_FAILURES[name], node, **parts)
    return statements
