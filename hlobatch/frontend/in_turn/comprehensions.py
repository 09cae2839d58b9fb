"""Comprehensions -> loops, if the program itself carries out a call in them.

::

                                          $1 = []
    total = sum(f(x) for x in xs)   ==>   for $x in xs:
                                              $1 = [*$1, f($x)]
                                          total = sum($1)

All other comprehensions are straight-line code, which Python runs while it is traced. A list that gains an item has
another type in each turn, so the turns of such a loop are written out (``transforms/remedies.py``).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from hlobatch.frontend.nodes import Comprehension, located, with_fields, with_iterables
from hlobatch.frontend.scopes import all_parameters, target_names, with_parts
from hlobatch.frontend.written import Part, written
from hlobatch.ir.names import AT_PLACE

_Loop = tuple[ast.expr, ast.expr, list[ast.expr]]
"""The target of a loop, its iterable, and the conditions under which its body runs."""


class Gathering(ast.For):
    """A loop that collects the items of a comprehension: its list has another type in each turn."""


def as_loop(node: Comprehension, result: str, fresh: Callable[[str], str], *, grows: bool = False) -> list[ast.stmt]:
    """Statements that assign the items of a comprehension to a name, as a list or as the comprehension's own container.

    Args:
        node: The comprehension.
        result: The name.
        fresh: Makes unused names, for the comprehension's own variables.
        grows: Whether items are appended to a growing list.
    """
    loops, names = loops_of(node, fresh)
    parts: dict[str, Part] = {"RESULT": result}
    if isinstance(node, ast.DictComp):
        parts |= {"KEY": renamed(node.key, names), "VALUE": renamed(node.value, names)}
        empty, more = "RESULT = {}", "RESULT[KEY] = VALUE" if grows else "RESULT = {**RESULT, KEY: VALUE}"
    else:
        parts |= {"ITEM": renamed(node.elt, names)}
        empty, more = "RESULT = []", "RESULT.append(ITEM)" if grows else "RESULT = [*RESULT, ITEM]"
    body = nested(loops, written(more, node, **parts), loop=ast.For if grows else Gathering)
    return [*written(empty, node, **parts), *(placed(statement, node) for statement in body)]


_Kind = TypeVar("_Kind", ast.ListComp, ast.GeneratorExp)


def with_items(node: ast.Call, items: ast.expr, kind: type[ast.ListComp | ast.GeneratorExp]) -> ast.Call:
    """A call whose first argument is replaced by a comprehension of its items."""
    given = listed(items, ast.ListComp) if kind is ast.ListComp else listed(items, ast.GeneratorExp)
    return ast.fix_missing_locations(located(ast.Call(node.func, [given, *node.args[1:]], node.keywords), node))


def listed(items: ast.expr, kind: type[_Kind]) -> _Kind:
    """A comprehension of the items of an iterable.

    Its place is the first character of the iterable, so that facts about a call of that are not about its own calls.
    """
    item = "_hb_item"
    generator = ast.comprehension(ast.Name(item, ast.Store()), items, [], 0)
    made = ast.fix_missing_locations(located(kind(ast.Name(item, ast.Load()), [generator]), items))
    made.end_lineno, made.end_col_offset = items.lineno, items.col_offset + 1
    return made


def loops_of(node: Comprehension, fresh: Callable[[str], str]) -> tuple[list[_Loop], dict[str, str]]:
    """The loops of a comprehension, the outermost first, and the new names of its variables in them."""
    names: dict[str, str] = {}
    loops: list[_Loop] = []
    for generator in node.generators:
        iterable = renamed(generator.iter, names)
        names = {**names, **{name: _stable(name, generator.target, fresh) for name in target_names(generator.target)}}
        conditions = [renamed(condition, names) for condition in generator.ifs]
        loops.append((renamed(generator.target, names), iterable, conditions))
    return loops, names


def _stable(name: str, target: ast.expr, fresh: Callable[[str], str]) -> str:
    """A name for a comprehension's own variable, about which facts may be: it is the same in each build."""
    if not hasattr(target, "lineno"):
        return fresh(name)
    return f"{fresh('').rstrip('0123456789')}{AT_PLACE}{target.lineno}_{target.col_offset}_{name.lstrip('_')}"


def in_turn(loop: ast.For, items: ast.GeneratorExp, fresh: Callable[[str], str]) -> list[ast.stmt]:
    """A loop over the items of a generator expression, as the expression's own loops with the body inside of them.

    ::

        for y in (f(x) for x in xs if c(x)):          for $x in xs:
            …                                  ==>        if c($x): y = f($x); …

    So an item is computed when the loop asks for it.
    """
    loops, names = loops_of(items, fresh)
    item = located(ast.Assign([loop.target], renamed(items.elt, names)), loop.target)
    [around] = nested(loops, [item, *loop.body])
    assert isinstance(around, ast.For)
    around.orelse = loop.orelse
    return [placed(located(around, loop), items)]


def nested(
    loops: Sequence[_Loop],
    body: list[ast.stmt],
    behind: Sequence[ast.stmt] = (),
    loop: type[ast.For] = ast.For,
) -> list[ast.stmt]:
    """Loops around statements; ``behind`` stands behind each loop that is inside of others."""
    for depth, (goes_to, iterable, conditions) in enumerate(reversed(loops)):
        if depth:
            body = [*body, *copy.deepcopy(behind)]
        for condition in reversed(conditions):
            body = [ast.If(condition, body, [])]
        body = [loop(goes_to, iterable, body, [])]
    return body


def renamed(node: ast.expr, names: Mapping[str, str]) -> ast.expr:
    """An expression with some of its names replaced."""

    class Renaming(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.Name:
            return located(ast.Name(names.get(name.id, name.id), name.ctx), name)

    if not names:
        return node
    changed: ast.expr = Renaming().visit(copy.deepcopy(node))
    return changed


def with_names_apart(node: Any, names: frozenset[str], fresh: Callable[[], str]) -> Any:
    """An expression whose lambdas and comprehensions have no variables of these names.

    Args:
        node: The expression.
        names: The names.
        fresh: Makes unused names.
    """
    node = with_parts(node, lambda part: with_names_apart(part, names, fresh))
    if isinstance(node, ast.Lambda):
        own = names.intersection(all_parameters(node))
        others = {name: fresh() for name in sorted(own)}
        arguments = copy.deepcopy(node.args)
        for argument in (part for part in ast.walk(arguments) if isinstance(part, ast.arg)):
            argument.arg = others.get(argument.arg, argument.arg)
        return with_fields(node, args=arguments, body=renamed(node.body, others)) if own else node
    if not isinstance(node, Comprehension):
        return node
    own = names.intersection(name for generator in node.generators for name in target_names(generator.target))
    others = {name: fresh() for name in sorted(own)}
    if not own:
        return node
    first = node.generators[0].iter  # is evaluated around the comprehension, where a name is another variable
    node = renamed(node, others)
    return with_iterables(node, lambda items: first if items is node.generators[0].iter else items)


def placed(statement: ast.stmt, node: ast.expr) -> ast.stmt:
    """A statement whose new nodes have the source location of a comprehension."""
    pending: Sequence[ast.AST] = [statement]
    while pending:
        for part in pending:
            if isinstance(part, (ast.expr, ast.stmt)) and not hasattr(part, "lineno"):
                located(part, node)
        pending = [child for part in pending for child in ast.iter_child_nodes(part)]
    return statement
