"""Objects with ``__next__`` -> calls of that method, one for each item that a lane asks for.

::

    first = next(tokens)                   first = tokens.__next__()
    word = next(tokens, None)              try: word = tokens.__next__()
                                           except StopIteration: word = None
    for token in tokens: …                 while …: token = tokens.__next__(); …        until it raises StopIteration
    total = sum(tokens)                    total = sum(token for token in tokens)
    tokens = iter(words)                   tokens = Items(words)                        of ``prelude/in_turn.py``

Code is first traced unchanged, which suffices for an object whose ``__next__`` does not branch on a lane's value.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hlobatch.analysis.mutation import has_changed
from hlobatch.analysis.overloads import Overloaded
from hlobatch.analysis.reach import parts
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.following import is_generator
from hlobatch.frontend.nested import OfItems
from hlobatch.frontend.nodes import located, walk, with_fields
from hlobatch.frontend.own_methods import NEXT, own_method
from hlobatch.frontend.scopes import TEMPORARY, assigned_in_expressions, root_of, stored_names, with_parts
from hlobatch.frontend.written import written
from hlobatch.prelude.in_turn import MAKERS, filter_of, generator_of, pairs_of
from hlobatch.values.facts import Learned, Site
from hlobatch.values.lane_failures import in_trial

_PLACES: Final = (ast.Name, ast.Attribute, ast.Subscript)


@dataclass(frozen=True, slots=True)
class GivesInTurn:
    """The fact that a loop goes over an object whose ``__iter__`` gives an object of the user's with ``__next__``.

    Attributes:
        is_itself: Whether it gives the object itself.
    """

    is_itself: bool


def check_iterated(site: Site, value: Any) -> None:
    """Learn of a loop over an object with a method ``__next__`` of the user's, or one that gives such an object.

    Args:
        site: The place of the iterable.
        value: Its value.

    Raises:
        Learned: It is one.
    """
    own = own_method(value, "__iter__")
    if own is None or is_generator(own):
        return
    known = parts(value)
    with in_trial():
        given = own(value)
    has_changed(known)  # undoes the changes, which the loop's own call makes
    if own_method(given, NEXT) is not None:
        raise Learned(site, GivesInTurn(given is value))


def check_part(site: Site, value: Any, is_known: bool) -> Any:
    """A part of what a loop goes over, as that of a ``zip``, where the body may change what it is made of.

    Args:
        site: The place of calls of ``__next__`` in the function.
        value: The part.
        is_known: Whether the loop is known to go over an object with a method ``__next__`` of the user's.

    Raises:
        Learned: It is such an object, or gives one.
        UnsupportedSyntaxError: That is known, and it cannot be one.
    """
    own = own_method(value, "__iter__")
    if own is None or is_generator(own) or own_method(value, NEXT) is None:
        return value
    error = UnsupportedSyntaxError(
        f"a loop goes over a {type(value).__name__!r} beside others, and its body may change what its `__next__` reads",
        help="go over the others, and call `next` for it in the body.",
    )
    raise error if is_known else Learned(site, Overloaded(error))


def is_next(node: ast.AST, static_value: Callable[[ast.expr], Any]) -> bool:
    """Whether an expression is a call of ``next`` for a variable, or a part of one."""
    return (
        isinstance(node, ast.Call)
        and not node.keywords
        and len(node.args) in (1, 2)
        and isinstance(node.args[0], _PLACES)
        and static_value(node.func) is next
    )


def call_of_next(iterator: ast.expr, node: ast.AST) -> ast.expr:
    """``iterator.__next__()``, at the place of a node at which no other call is."""
    return located(ast.Call(located(ast.Attribute(iterator, NEXT, ast.Load()), node), [], []), node)


def next_or_default(node: ast.Call, fresh: Callable[[str], str]) -> tuple[list[ast.stmt], str]:
    """The statements in place of a call of ``next`` with a default, and the variable that they give the result to."""
    iterator, default = node.args
    result, kept = fresh("item"), fresh("default")
    text = "KEPT = DEFAULT\ntry:\n    RESULT = CALL\nexcept StopIteration:\n    RESULT = KEPT"
    given = {"DEFAULT": default, "CALL": call_of_next(iterator, iterator)}
    return written(text, node, RESULT=result, KEPT=kept, **given), result


def as_while(node: ast.For, fact: GivesInTurn, fresh: Callable[[str], str]) -> list[ast.stmt]:
    """The statements in place of a loop over such an object.

    Args:
        node: The loop.
        fact: What ``__iter__`` of the object gives.
        fresh: Makes unused names.
    """
    over, root = node.iter, root_of(node.iter)
    first, last = _edge(over, at_end=False), _edge(over, at_end=True)
    begin = located(ast.Call(located(ast.Attribute(over, "__iter__", ast.Load()), over), [], []), first)
    name = fresh("iterator")
    before = written("NAME = BEGIN", over, NAME=name, BEGIN=begin)
    is_place = isinstance(over, _PLACES) and isinstance(root, ast.Name) and root.id not in stored_names(node)
    iterator = over if fact.is_itself and is_place else located(ast.Name(name, ast.Load()), over)
    more, item = fresh("more"), fresh("item")
    bind = located(ast.Assign([node.target], located(ast.Name(item, ast.Load()), node.target)), node.target)
    text = """
MORE = True
while MORE:
    try:
        ITEM = CALL
    except StopIteration:
        MORE = False
        continue
    BODY
else:
    OTHERWISE
"""
    body: list[ast.stmt] = [bind, *node.body]
    parts_of_loop: dict[str, Any] = {"MORE": more, "ITEM": item, "BODY": body, "OTHERWISE": node.orelse}
    loop = written(text, over, CALL=call_of_next(iterator, last), **parts_of_loop)
    return [*before, *loop]


def _edge(node: ast.expr, *, at_end: bool) -> ast.expr:
    """A node where another one begins or ends: a place of its own, for facts about a call that is not written."""
    line, column = node.lineno, node.col_offset
    if at_end:
        line, column = node.end_lineno or line, node.end_col_offset or column
    return ast.Constant(None, lineno=line, col_offset=column, end_lineno=line, end_col_offset=column)


def made(value: ast.expr, static_value: Callable[[ast.expr], Any], constant: Callable[[Any], ast.expr]) -> ast.expr:
    """An expression that makes one of Python's iterators as one that makes an object of ``prelude/in_turn.py``.

    Args:
        value: The expression; any other one is returned unchanged, and so is one that no object stands for.
        static_value: Gives the values of names from outside of the function.
        constant: Gives an expression for a Python object.
    """
    match value:
        case ast.GeneratorExp(item, [ast.comprehension(ast.Name(name), items, conditions)]) if not _assigns(value):
            inner = made(items, static_value, constant)
            for test in conditions:
                inner = located(ast.Call(located(constant(filter_of), test), [_of_item(name, test), inner], []), test)
            return located(ast.Call(located(constant(generator_of), item), [_of_item(name, item), inner], []), value)
        case ast.Call(called, arguments) if not any(isinstance(part, ast.Starred) for part in arguments):
            function: Any = static_value(called)
        case _:
            return value
    own = MAKERS.get(function) if isinstance(function, (type, types.BuiltinFunctionType)) else None
    if own is None or (function in _OF_TWO and (len(value.args) != 2 or value.keywords)):
        return value
    match value.args:
        case [ast.Name(left), ast.Name(right) as items] if function is zip and left == right:
            return located(ast.Call(located(constant(pairs_of), value.func), [items], []), value)
    given = [made(part, static_value, constant) for part in value.args]
    return located(ast.Call(located(constant(own), value.func), given, value.keywords), value)


def _assigns(node: ast.expr) -> bool:
    """Whether an expression assigns variables of the function by ``:=``."""
    return any(True for _ in assigned_in_expressions(node))


def _of_item(name: str, body: ast.expr) -> OfItems:
    """A function from an item of this name to the value of an expression."""
    parameters = ast.arguments([], [located(ast.arg(name), body)], None, [], [], None, [])
    return located(OfItems(parameters, body), body)


def handed_on(
    value: ast.expr, static_value: Callable[[ast.expr], Any], constant: Callable[[Any], ast.expr]
) -> ast.expr:
    """A value that is kept in an object or given to a function, in which iterators are objects that lanes can have."""
    match value:
        case ast.Call(function) if _is_one_of(static_value(function), _ENDLESS_OR_PLAIN):
            return made(value, static_value, constant)
        case ast.Tuple() | ast.List() | ast.Dict():
            return with_parts(value, lambda part: handed_on(part, static_value, constant))
    return value


def with_arguments(node: Any, static_value: Callable[[ast.expr], Any], constant: Callable[[Any], ast.expr]) -> Any:
    """An expression in which iterators that functions of the user's are given are objects that lanes can have."""
    new = with_parts(node, lambda part: with_arguments(part, static_value, constant))
    if not isinstance(node, ast.Call) or isinstance(static_value(node.func), types.BuiltinFunctionType):
        return new
    if _is_one_of(static_value(node.func), _OF_PYTHON):
        return new
    return with_fields(new, args=[handed_on(part, static_value, constant) for part in new.args])


def makes_some(function: ast.AST, static_value: Callable[[ast.expr], Any]) -> bool:
    """Whether a function calls one of Python's that make iterators to be kept."""
    calls = (part for part in walk(function) if isinstance(part, ast.Call))
    return any(_is_one_of(static_value(part.func), _ENDLESS_OR_PLAIN) for part in calls)


def _is_one_of(value: Any, functions: Sequence[Any]) -> bool:
    """Whether a value, which may have an ``__eq__`` of its own, is one of some functions."""
    return any(value is function for function in functions)


_ENDLESS_OR_PLAIN: Final = (iter, itertools.count, itertools.cycle)
"""Functions whose iterators are kept for a call of ``next`` somewhere; those of others mostly for one loop."""
_OF_TWO: Final = (filter, map, zip)
"""Functions whose objects are made of two arguments."""
_OF_PYTHON: Final = (dict, enumerate, filter, frozenset, list, map, reversed, set, tuple, zip)


def is_kept(name: str, function: ast.AST, static_value: Callable[[ast.expr], Any]) -> bool:
    """Whether a variable's iterator is used by other code than one builtin function or one comprehension."""
    taken = set[int]()
    for part in walk(function):
        match part:
            case ast.Call(called, arguments) if isinstance(static_value(called), (type, types.BuiltinFunctionType)):
                taken |= set() if static_value(called) is next else set(map(id, arguments))
            case ast.comprehension(_, items):
                taken.add(id(items))
    return any(_reads(part, name) and id(part) not in taken for part in walk(function))


def _reads(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)


def takes_in_turn(node: ast.AST) -> bool:
    """Whether an expression may go over all items of such an object."""
    match node:
        case ast.Call(_, [*items]):
            return any(map(_may_be_one, items))
        case ast.Starred(items) | ast.Compare(_, [ast.In() | ast.NotIn()], [ast.Name() as items]):
            return _may_be_one(items)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return any(_may_be_one(one.iter) for one in node.generators)
    return False


def _may_be_one(items: ast.expr) -> bool:
    """Whether an expression is a variable or a part of one, or calls a function of the user's; also inside ``zip``."""
    if isinstance(items, ast.Name) and items.id.startswith(TEMPORARY):
        return False  # the list in which a comprehension collects its items
    if isinstance(items, ast.Call) and isinstance(items.func, ast.Name):
        if items.func.id in ("enumerate", "zip"):
            return any(map(_may_be_one, items.args))
        return not hasattr(builtins, items.func.id)
    return isinstance(items, (*_PLACES, ast.Call))
