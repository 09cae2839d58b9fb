"""A ``for`` over an iterator whose items show when they are made -> a loop that makes each item as it asks for it.

::

    for y in (f(x) for x in xs if c(x)):           for $x in xs:
        …                                   ==>        if c($x): y = f($x); …

    for i, y in enumerate(map(f, xs), 1):          $n = 1
        …                                   ==>    for $x in xs: i, y = $n, f($x); $n = $n + 1; …
"""

from __future__ import annotations

import ast

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.in_turn.comprehensions import in_turn
from hlobatch.frontend.in_turn.lazy import calls_in_lambda, one_by_one
from hlobatch.frontend.in_turn.moments import Effects, Moment, effects_of, moment
from hlobatch.frontend.in_turn.read_by_turns import read_in_turn
from hlobatch.frontend.nodes import located, walk_all, with_fields
from hlobatch.frontend.whole_function import WholeLowering
from hlobatch.frontend.written import written


def loop_in_turn(node: ast.For, function: WholeLowering) -> list[ast.stmt] | None:
    """The statements in place of a loop; None if its items may be made at once.

    Raises:
        UnsupportedSyntaxError: There are no such statements.
    """
    items = node.iter
    match _made_by(items, function), items:
        case "iter", ast.Call(_, [inner]) if _made_by(inner, function) or isinstance(inner, ast.GeneratorExp):
            return loop_in_turn(with_fields(node, iter=inner), function)
        case "enumerate", ast.Call(_, [inner, *start], []) if len(start) <= 1 and _shows(inner, node, function):
            return _numbered(node, inner, start, function)
        case "zip", ast.Call(_, parts) if any(_shows(part, node, function) for part in parts):
            raise UnsupportedSyntaxError(
                "the items of this are made in turn with those of others, and it shows when each is made",
                function.location(items),
                help="go over one of them in the `for`, and take the items of the others in its body.",
            )
    made = _one_by_one(items, function)
    if made is None:
        return None
    if not _leaves_out(made) and _moment(items, made, node, function) is not Moment.IN_TURN:
        return None
    breaks = any(isinstance(part, ast.Break) for part in walk_all(node.body))
    if len(made.generators) > 1 and (node.orelse or breaks):
        if not _shows(items, node, function):
            return None
        raise UnsupportedSyntaxError(
            "a loop that is left early goes over a generator expression of several `for`",
            function.location(items),
            help="write its `for` loops as statements.",
        )
    return in_turn(node, made, function.temporary)


def _made_by(items: ast.expr, function: WholeLowering) -> str:
    """The name of Python's function that makes an iterator; empty for any other expression."""
    if not isinstance(items, ast.Call) or any(isinstance(part, ast.Starred) for part in items.args):
        return ""
    value = function.static_value(items.func)
    return next((known.__name__ for known in (enumerate, filter, iter, map, zip) if value is known), "")


def _one_by_one(items: ast.expr, function: WholeLowering) -> ast.GeneratorExp | None:
    """A generator expression, or ``map`` and ``filter`` as one; None for any other iterable."""
    if isinstance(items, ast.GeneratorExp):
        return items
    if not isinstance(items, ast.Call) or _made_by(items, function) not in ("filter", "map"):
        return None
    return one_by_one(items, function.static_value)


def _leaves_out(made: ast.GeneratorExp) -> bool:
    """Whether a generator expression of one ``for`` leaves out items, whose number differs between lanes at once."""
    return len(made.generators) == 1 and bool(made.generators[0].ifs)


def _moment(items: ast.expr, made: ast.GeneratorExp, node: ast.For, function: WholeLowering) -> Moment:
    """When the items of a loop are made."""
    effects = _effects(items, made, function)
    read = read_in_turn(items, function.static_value, function.scope)
    is_changed = read is not None and read.changed(node, function.scope) is not None
    return moment(effects, in_turn=True, is_changed=is_changed)


def _effects(items: ast.expr, made: ast.GeneratorExp, function: WholeLowering) -> Effects:
    """The effects of making an item. A function that ``map`` is given is a call only if the program makes it."""
    is_code = items is made or (isinstance(items, ast.Call) and calls_in_lambda(items))
    return effects_of(made if is_code else items, function)


def _shows(items: ast.expr, node: ast.For, function: WholeLowering) -> bool:
    """Whether it shows that items are made in turn with the body of a loop."""
    match _made_by(items, function), items:
        case (("enumerate" | "iter" | "zip"), ast.Call(_, parts)):
            return any(_shows(part, node, function) for part in parts)
    made = _one_by_one(items, function)
    if made is None:
        return False
    read = read_in_turn(items, function.static_value, function.scope)
    return effects_of(made, function).show or (read is not None and read.changed(node, function.scope) is not None)


def _numbered(node: ast.For, inner: ast.expr, start: list[ast.expr], function: WholeLowering) -> list[ast.stmt]:
    """A loop over ``enumerate``, as one over the items that counts them."""
    number, item = function.temporary("number"), function.temporary("item")
    begin: ast.expr = start[0] if start else located(ast.Constant(0), node.iter)
    before = written("NUMBER = BEGIN", node.iter, NUMBER=number, BEGIN=begin)
    pair = written("(NUMBER, ITEM)", node.target, NUMBER=number, ITEM=item)[0]
    assert isinstance(pair, ast.Expr)
    bind = located(ast.Assign([node.target], pair.value), node.target)
    count = written("NUMBER = NUMBER + 1", node.iter, NUMBER=number)
    target = located(ast.Name(item, ast.Store()), node.target)
    return [*before, with_fields(node, target=target, iter=inner, body=[bind, *count, *node.body])]
