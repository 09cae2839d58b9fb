"""``with`` on what a function by ``contextlib.contextmanager`` gives -> the function's statements around those inside.

::

    @contextmanager
    def opened(log, k):                 log.append(k)
        log.append(k)                   try:
        try:                                x = k_at_7_9 + 1
            yield k + 1         ==>         total += x
        finally:                        finally:
            log.append(-k)                  log.append(-k_at_7_9)
    …
    with opened(log, n * 2) as x:
        total += x

Python throws an exception of the statements inside into the function at its ``yield``, and goes on behind the ``yield``
where they end or are left. So the statements in its place mean the same, unless they are left by ``return``, ``break``
or ``continue`` and more than a ``finally`` follows the ``yield``.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hlobatch.frontend.nodes import located, walk, walk_all, with_fields
from hlobatch.frontend.rewriting.other_names import with_names
from hlobatch.frontend.scopes import leave_the_loop, local_names, own_parts, positional, read_names, stored_names
from hlobatch.frontend.syntax import assigned
from hlobatch.ir.names import at_a_loop

_BY_CONTEXTMANAGER: Final = contextlib.contextmanager(lambda: iter(())).__code__
_NOT_INSIDE: Final = (ast.FunctionDef, ast.ClassDef, ast.Lambda, ast.Return, ast.Global, ast.YieldFrom)
_FUNCTIONS: Final = (ast.FunctionDef, ast.Lambda)


def generator_of(function: Any) -> types.FunctionType | None:
    """The generator that ``contextlib.contextmanager`` has made a function of; None for any other object."""
    if not isinstance(function, types.FunctionType) or function.__code__ is not _BY_CONTEXTMANAGER:
        return None
    generator = function.__wrapped__  # type: ignore[attr-defined]
    return generator if isinstance(generator, types.FunctionType) and not generator.__closure__ else None


@dataclass(frozen=True)
class GeneratorManager:
    """A generator that manages a context.

    Attributes:
        generator: The generator.
        definition: Its definition.
    """

    generator: types.FunctionType
    definition: ast.FunctionDef

    def around(
        self,
        item: ast.withitem,
        body: list[ast.stmt],
        whole: ast.With,
        around: ast.FunctionDef,
        resolve: Callable[[str], Any],
    ) -> list[ast.stmt] | None:
        """The statements in place of a ``with``; None if there are none that mean the same.

        Args:
            item: The call of the function, and the target of its value.
            body: The statements inside of the ``with``, in which such statements are replaced already.
            whole: The ``with`` as it was.
            around: The definition that the ``with`` stands in.
            resolve: Gives the value of a name from outside of that.
        """
        call, definition = item.context_expr, self.definition
        arguments = self._arguments(call) if isinstance(call, ast.Call) else None
        follows = _follows(definition.body)
        if arguments is None or follows is None or (follows and _are_left(body)):
            return None
        if not self._names_mean_the_same(around, resolve):
            return None
        own = local_names(definition)
        same = {
            name: value.id
            for name, value in arguments.items()
            if isinstance(value, ast.Name) and not self._is_assigned(name, value.id, item, body, around)
        }
        names = {name: at_a_loop(name, call.lineno, call.col_offset, 0) for name in own} | same
        target, yielded = _own_target(item, body, whole, around), _yielded(definition)
        if target and yielded in own - same.keys() and yielded not in arguments:
            names[yielded] = target
        new = with_names(definition, names)
        given = [assigned(names[name], value, value) for name, value in arguments.items() if name not in same]
        if target and yielded in same and not any(isinstance(part, _FUNCTIONS) for part in walk_all(body)):
            inside = located(ast.FunctionDef(**dict(ast.iter_fields(definition))), call)
            inside.body = body
            body, item = with_names(inside, {target: same[yielded]}).body, ast.withitem(call, None)
        elif target == names.get(yielded):
            item = ast.withitem(call, None)
        return [*given, *_filled(new.body[ast.get_docstring(new) is not None :], item, body)]

    def _arguments(self, call: ast.Call) -> Mapping[str, ast.expr] | None:
        """The arguments by parameter, in the order in which Python evaluates them; None if they are not known."""
        parameters = self.definition.args
        names = positional(self.definition)
        has_stars = parameters.vararg or parameters.kwarg or any(isinstance(one, ast.Starred) for one in call.args)
        if has_stars or any(one.arg is None for one in call.keywords) or len(call.args) > len(names):
            return None
        given = dict(zip(names, call.args, strict=False)) | {str(one.arg): one.value for one in call.keywords}
        defaults = dict(zip(names[len(names) - len(parameters.defaults) :], parameters.defaults, strict=True))
        named = zip(parameters.kwonlyargs, parameters.kw_defaults, strict=True)
        defaults |= {one.arg: value for one, value in named if value is not None}
        constants = {name: value for name, value in defaults.items() if isinstance(value, ast.Constant)}
        wanted = [*names, *(one.arg for one in parameters.kwonlyargs)]
        is_known = len(given) == len(call.args) + len(call.keywords) and set(wanted) == {*given, *constants}
        return given | {name: value for name, value in constants.items() if name not in given} if is_known else None

    def _names_mean_the_same(self, around: ast.FunctionDef, resolve: Callable[[str], Any]) -> bool:
        """Whether the names that the generator reads from outside mean the same objects where the ``with`` stands."""
        read = {name for statement in self.definition.body for name in read_names(statement)}
        free = read - local_names(self.definition)
        taken = {name for part in walk(around) if isinstance(part, ast.FunctionDef) for name in local_names(part)}
        known = {**vars(builtins), **self.generator.__globals__}
        return free.isdisjoint(taken) and all(name in known and resolve(name) is known[name] for name in free)

    def _is_assigned(
        self, parameter: str, name: str, item: ast.withitem, body: list[ast.stmt], around: ast.FunctionDef
    ) -> bool:
        """Whether a parameter, or the variable that is its argument, may be given another value meanwhile."""
        inside = [*body, item.optional_vars] if item.optional_vars else body
        declared = {one for part in walk(around) if isinstance(part, ast.Nonlocal) for one in part.names}
        own = frozenset().union(*map(stored_names, self.definition.body))
        return parameter in own or name in declared.union(*map(stored_names, inside))


def _yielded(definition: ast.FunctionDef) -> str:
    """The variable that the generator yields; empty if it yields something else."""
    values = [part.value for part in walk(definition) if isinstance(part, ast.Yield)]
    return values[0].id if values and isinstance(values[0], ast.Name) else ""


def _own_target(item: ast.withitem, body: list[ast.stmt], whole: ast.With, around: ast.FunctionDef) -> str:
    """The target in a ``with`` if it is a variable that is read behind it there, and used nowhere else; else empty."""
    target = item.optional_vars
    if not isinstance(target, ast.Name) or target.id in frozenset().union(*map(stored_names, body)):
        return ""
    uses = [
        part for part in walk(around) if target.id in (getattr(part, field, None) for field in ("id", "arg", "name"))
    ]
    first, last = (target.lineno, target.col_offset), (whole.end_lineno or 0, whole.end_col_offset or 0)
    are_there = all(first <= (part.lineno, part.col_offset) < last for part in uses)  # type: ignore[attr-defined]
    return target.id if are_there else ""


def _is_yield(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Yield)


def _yields(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Yield) for part in walk(node))


def _follows(body: Sequence[ast.stmt]) -> bool | None:
    """Whether more than a ``finally`` follows the only ``yield``; None if it is not the only one, or may be missed."""
    parts = walk_all(body)
    if sum(isinstance(part, ast.Yield) for part in parts) != 1 or any(isinstance(part, _NOT_INSIDE) for part in parts):
        return None
    follows = False
    while True:
        number = next(i for i, statement in enumerate(body) if _yields(statement))
        statement = body[number]
        follows = follows or number + 1 < len(body)
        if _is_yield(statement):
            return follows
        if not isinstance(statement, ast.Try) or not any(map(_yields, statement.body)):
            return None
        follows, body = follows or bool(statement.orelse), statement.body


def _filled(body: Sequence[ast.stmt], item: ast.withitem, inside: list[ast.stmt]) -> list[ast.stmt]:
    """The generator's statements, with the statements inside of the ``with`` in place of its ``yield``."""
    found = list[ast.stmt]()
    for statement in body:
        if _is_yield(statement):
            value = statement.value.value or located(ast.Constant(None), statement)  # type: ignore[attr-defined]
            if item.optional_vars is not None:
                found.append(located(ast.Assign([item.optional_vars], value), item.optional_vars))
            elif not isinstance(value, (ast.Constant, ast.Name)):
                found.append(assigned(at_a_loop("given", value.lineno, value.col_offset, 0), value, value))
            found += inside
        elif _yields(statement):
            assert isinstance(statement, ast.Try)
            found.append(with_fields(statement, body=_filled(statement.body, item, inside)))
        else:
            found.append(statement)
    return found


def _are_left(body: Sequence[ast.stmt]) -> bool:
    """Whether statements may be left by ``return``, ``break`` or ``continue``."""
    returns = any(isinstance(part, ast.Return) for statement in body for part in own_parts(statement))
    return returns or leave_the_loop(body)
