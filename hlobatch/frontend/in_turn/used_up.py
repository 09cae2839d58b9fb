"""An iterator that a name is given to -> whether the code behind may go over it twice.

::

    pairs = zip(left, right)                 in Python, the second loop goes over nothing
    for a, b in pairs: …
    for a, b in pairs: …

Lanes hold a list in place of an iterator whose length differs between them. Gone over once, it is the same.
"""

from __future__ import annotations

import ast
import itertools
from typing import Any

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.callees import static_value
from hlobatch.frontend.in_turn.reads import MAKERS
from hlobatch.frontend.nodes import walk
from hlobatch.frontend.source import Source
from hlobatch.ir.value import Collection


def is_iterator(value: Any, source: Source, local: frozenset[str]) -> bool:
    """Whether an expression makes an iterator in Python."""
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.GeneratorExp)
    made = static_value(value.func, source, local)
    return any(made is maker for maker in MAKERS) or getattr(made, "__module__", None) == itertools.__name__


def once(items: Any, name: str) -> Any:
    """The value of a name that is used more than once, which has to allow that.

    Raises:
        UnsupportedSyntaxError: It is an iterator in Python, whose length differs between lanes.
    """
    if isinstance(items, Collection):
        raise UnsupportedSyntaxError(
            f"{name!r} is an iterator, which may be used up when it is read again",
            help="make it a list, as in `list(…)`, or write it where it is used.",
        )
    return items


def iterators_kept(value: ast.expr, source: Source, local: frozenset[str]) -> list[ast.expr]:
    """The iterators that a function returns, or puts into what it returns: how often they are used is not known."""
    if is_iterator(value, source, local):
        return [value]
    match value:
        case ast.Name(name) if any(_gives(part, name, source, local) for part in walk(source.node)):
            return [value]
        case ast.Tuple(parts) | ast.List(parts) | ast.Set(parts) | ast.Dict(_, parts):
            return [inner for part in parts for inner in iterators_kept(part, source, local)]
    return []


def is_always_one(name: str, source: Source, local: frozenset[str]) -> bool:
    """Whether a variable is given iterators of Python's, and nothing else."""
    parts = walk(source.node)
    stores = sum(isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store) for part in parts)
    return 0 < stores == sum(_gives(part, name, source, local) for part in parts)


def _gives(node: ast.AST, name: str, source: Source, local: frozenset[str]) -> bool:
    """Whether a statement assigns an iterator to a variable."""
    match node:
        case ast.Assign([ast.Name(target)], value) | ast.AnnAssign(ast.Name(target), _, value):
            return target == name and is_iterator(value, source, local)
    return False
