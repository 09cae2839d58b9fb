"""``with`` on an object -> ``try`` and ``finally``, before anything else reads the definition.

::

    with Ledger(n) as ledger:             ledger = Ledger(n)
        ledger.pay(3)             ==>     ledger.__enter__()
                                          try: ledger.pay(3)
                                          finally: ledger.__exit__(None, None, None)

The class of the object decides, as far as names from outside of the function tell it. For a class of the user's, its
two methods are read (``managers.py``): ``__exit__`` must not look at the exception, which differs between lanes, and
drops all of them or none. For a function by ``contextlib.contextmanager``, the statements stand in place of its
``yield`` (``generator_managers.py``). ``contextlib.suppress``, ``closing`` and ``nullcontext``, and ``numpy.errstate``,
are known. Any other ``with`` stays, and is refused where it is lowered.
"""

from __future__ import annotations

import ast
import contextlib
import contextvars
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from hlobatch.frontend.files import file_of
from hlobatch.frontend.nodes import walk, walk_all
from hlobatch.frontend.rewriting.generator_managers import GeneratorManager, generator_of
from hlobatch.frontend.rewriting.managers import Manager, is_named
from hlobatch.frontend.rewriting.rewriting import Rewriting
from hlobatch.frontend.written import written
from hlobatch.scoped import having

_MANAGER: Final = "_hb_manager"
_SUPPRESSED: Final = """
try: BODY
except CAUGHT: pass
"""
_CLOSED: Final = """
MANAGER = GIVEN
try: BODY
finally: MANAGER.close()
"""
_LEFT: Final = """
try: BODY
finally: MANAGER.__exit__(NONE)
"""
_DROPPED: Final = """
try: BODY
except: pass
"""

_read: contextvars.ContextVar[tuple[types.FunctionType, ...]] = contextvars.ContextVar("hlobatch_read", default=())
"""The generators whose definitions are being rewritten, each for a ``with`` in that before it."""


class _Places:
    """The places of what a ``with`` does with an object. At that of the object itself, facts are about how it is made.

    Attributes:
        whole: The ``with`` itself.
        begin: That of the call of ``__enter__``: from ``with`` up to the object.
        end: That of the call of ``__exit__``: from ``with`` to the end of the object.
    """

    def __init__(self, manager: ast.expr, node: ast.With) -> None:
        self.whole = node
        begin, end = (manager.lineno, manager.col_offset), (manager.end_lineno, manager.end_col_offset)
        self.begin, self.end = (_between((node.lineno, node.col_offset), place) for place in (begin, end))


def _between(first: tuple[int, int], last: tuple[int | None, int | None]) -> ast.expr:
    place = ast.Constant(None)
    (place.lineno, place.col_offset), (place.end_lineno, place.end_col_offset) = first, last
    return place


class WithoutWith(Rewriting):
    """Rewrites the ``with`` statements of one definition."""

    def __init__(
        self,
        node: ast.FunctionDef,
        file: str,
        resolve: Callable[[str], Any],
        definition: Callable[[types.FunctionType], ast.FunctionDef],
    ) -> None:
        """Of one definition.

        Args:
            node: The definition.
            file: The path of its file.
            resolve: Gives the value of a name from outside of the function.
            definition: Gives the definition of a function, such as a method.
        """
        super().__init__(node)
        self._file, self._resolve, self._definition = file, resolve, definition
        self._local = {name for part in walk(node) for name in _names_given(part)}

    def instead_of(self, node: ast.stmt) -> list[ast.stmt] | None:
        if not isinstance(node, ast.With):
            return None
        body: list[ast.stmt] | None = node.body
        for item in reversed(node.items):
            body = None if body is None else self._entered(item, body, _Places(item.context_expr, node))
        return body

    def _entered(self, item: ast.withitem, body: list[ast.stmt], places: _Places) -> list[ast.stmt] | None:
        """Statements in place of a ``with`` of one item; None if there are none.

        Args:
            item: The item.
            body: The statements inside.
            places: The places of its calls.
        """
        manager, target = item.context_expr, item.optional_vars
        given = manager.args if isinstance(manager, ast.Call) else []
        match self._kind(manager):
            case contextlib.suppress if target is None and given:
                return written(_SUPPRESSED, manager, BODY=body, CAUGHT=ast.Tuple(given, ast.Load()))
            case contextlib.nullcontext:
                return [*_assigned(target, given[0] if given else ast.Constant(None), manager), *body]
            case types.FunctionType() as made if generator := generator_of(made):
                return self._of_generator(generator, item, body, places.whole)
            case np.errstate if target is None and not _raises(manager):
                return body
            case contextlib.closing if len(given) == 1:
                return written(_CLOSED, manager, BODY=body, GIVEN=given[0], MANAGER=self._name(target, body))
            case type() as kind:
                return self._of_users(kind, item, body, places)
        return None

    def _of_generator(
        self, generator: types.FunctionType, item: ast.withitem, body: list[ast.stmt], whole: ast.With
    ) -> list[ast.stmt] | None:
        """Statements in place of a ``with`` on what a generator of the same file manages, unless it uses itself."""
        if file_of(generator) != self._file or generator in _read.get():
            return None
        with having(_read, (*_read.get(), generator)):
            definition = self._definition(generator)
        return GeneratorManager(generator, definition).around(item, body, whole, self.node, self._resolve)

    def _of_users(self, kind: type, item: ast.withitem, body: list[ast.stmt], places: _Places) -> list[ast.stmt] | None:
        """Statements in place of a ``with`` on an object of a class of the user's."""
        methods = [getattr(kind, name, None) for name in ("__enter__", "__exit__")]
        known = [self._definition(method) for method in methods if isinstance(method, types.FunctionType)]
        if len(known) < len(methods) or (manager := Manager(*known)).drops is None:
            return None
        given = item.context_expr
        if not isinstance(given, ast.Name):
            name = self._name(item.optional_vars, body, is_object=manager.gives_itself)
            made = written("MANAGER = GIVEN", given, MANAGER=name, GIVEN=given)
        elif _is_given(given.id, body):
            return None
        else:
            name, made = given.id, []
        entered = self._entering(manager, name, item, places.begin)
        return [*made, *entered, *self._leaving(manager, name, item, body, places.end)]

    def _entering(self, manager: Manager, name: str, item: ast.withitem, begin: ast.expr) -> list[ast.stmt]:
        """The call of ``__enter__``, and the assignment of its result, which is the object itself if that is known."""
        place, target = item.context_expr, item.optional_vars
        if not manager.gives_itself:
            result = target or ast.Name(self.fresh(_MANAGER), ast.Store())
            return written("TARGET = MANAGER.__enter__()", begin, TARGET=result, MANAGER=name)
        called = [] if manager.only_gives_itself else written("MANAGER.__enter__()", begin, MANAGER=name)
        return called + ([] if is_named(target, name) else _assigned(target, ast.Name(name, ast.Load()), place))

    @staticmethod
    def _leaving(
        manager: Manager, name: str, item: ast.withitem, body: list[ast.stmt], end: ast.expr
    ) -> list[ast.stmt]:
        """The statements inside, and the call of ``__exit__`` behind them if that has an effect."""
        if manager.drops:  # exceptions of the statements, but not those of `__exit__`
            body = written(_DROPPED, item.context_expr, BODY=body)
        if manager.does_nothing_at_the_end:
            return body
        return written(_LEFT.replace("NONE", manager.arguments), end, BODY=body, MANAGER=name)

    def _kind(self, manager: ast.expr) -> Any:
        """The class of an object, or the function that makes it; None if names outside of the function do not tell."""
        if isinstance(manager, ast.Call):
            return self._value(manager.func)
        if not isinstance(manager, ast.Name):
            return None
        parts = walk(self.node)
        values = [value for part in parts for target, value in _pairs(part) if is_named(target, manager.id)]
        if len(values) < sum(manager.id in _names_given(part) for part in parts):
            return None
        kinds = [self._value(value.func) if isinstance(value, ast.Call) else None for value in values]
        return kinds[0] if kinds and all(kind is kinds[0] for kind in kinds) else None

    def _value(self, node: ast.expr) -> Any:
        """The value of a dotted name from outside of the function; None for any other expression."""
        if isinstance(node, ast.Name):
            return None if node.id in self._local else self._resolve(node.id)
        if isinstance(node, ast.Attribute) and isinstance(owner := self._value(node.value), (types.ModuleType, type)):
            return getattr(owner, node.attr, None)
        return None

    def _name(self, target: ast.expr | None, body: Sequence[ast.stmt], *, is_object: bool = True) -> str:
        """The variable for the object: the one behind ``as``, if it is the object until the end of the ``with``."""
        is_kept = isinstance(target, ast.Name) and is_object and not _is_given(target.id, body)
        return target.id if isinstance(target, ast.Name) and is_kept else self.fresh(_MANAGER)


def _names_given(part: ast.AST) -> list[str]:
    """The name to which a node, as it stands alone, gives another value."""
    match part:
        case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
            return [name]
    return []


def _is_given(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether statements give a name another value."""
    return any(name in _names_given(part) for part in walk_all(body))


def _pairs(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with its value; those in tuples as far as the value is a tuple, too."""
    for target in node.targets if isinstance(node, ast.Assign) else []:
        match target, node.value:  # type: ignore[attr-defined]
            case ast.Tuple(targets), ast.Tuple(values) if len(targets) == len(values):
                yield from zip(targets, values, strict=True)
            case _, value:
                yield target, value


def _assigned(target: ast.expr | None, value: ast.expr, at: ast.AST) -> list[ast.stmt]:
    return [] if target is None else written("TARGET = VALUE", at, TARGET=target, VALUE=value)


def _raises(errstate: ast.expr) -> bool:
    """Whether ``numpy.errstate(…)`` asks for exceptions, or calls."""
    quiet = ("ignore", "warn")
    given = [keyword.value for keyword in errstate.keywords] if isinstance(errstate, ast.Call) else []
    return not all(isinstance(value, ast.Constant) and value.value in quiet for value in given)
