"""An iterator that a variable keeps for one use -> the iterator, written where it is used.

::

    doubled = (2 * x for x in items)
    factor = 3                         ==>      factor = 3
    return sum(doubled)                         return sum(2 * x for x in items)

Python makes the items of an iterator as they are used, so both mean the same. What Python evaluates where the iterator
is made is kept in a variable: its first iterable, and the arguments of a call. An iterator that is used more than once,
or by code that may be a function of the user's, stays (``kept_iterators.py``), and so does one of a container that may
change in between, since only a list allows that.
"""

from __future__ import annotations

import ast
import collections
import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from hlobatch.frontend.changes import changed_by
from hlobatch.frontend.harm import of_operation
from hlobatch.frontend.in_turn.reads import MAKERS, reads_in_order
from hlobatch.frontend.nodes import located, walk, walk_all, with_fields
from hlobatch.frontend.scopes import is_path, own_parts, root_of, stored_names, with_parts
from hlobatch.ir.names import unused

_GO_OVER: Final = (
    *(all, any, dict, frozenset, list, max, min, set, sorted, sum, tuple),
    *(math.prod, math.fsum, collections.deque, collections.Counter),
    *MAKERS,
    *(one for one in vars(itertools).values() if isinstance(one, type)),
)
"""Functions of Python's that go over what they are given, or make an iterator that does."""
_METHODS: Final = frozenset({"join", "extend", "extendleft", "update", "union", "difference_update"})
"""Methods of containers and texts that go over what they are given."""
_JUMPS: Final = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Try, ast.With)

Resolve = Callable[[str], Any]
"""Gives the value of a name from outside of a function."""


def with_iterators_at_their_uses(node: ast.FunctionDef, resolve: Resolve) -> ast.FunctionDef:
    """The definition, in which iterators that are kept for one use stand where they are used."""
    if not _may_keep_some(node):
        return node
    moving = _Moving(node, resolve)
    new: ast.FunctionDef = moving.without_iter(moving.visited(moving.without_iter(node)))
    return new


@functools.lru_cache(maxsize=1024)
def _may_keep_some(node: ast.FunctionDef) -> bool:
    """Whether a definition gives a name to a generator expression or to the result of a call, or calls ``iter``."""
    return any(
        isinstance(part.value, (ast.GeneratorExp, ast.Call, ast.Tuple))
        if isinstance(part, (ast.Assign, ast.AnnAssign))
        else isinstance(part, ast.Name) and part.id == iter.__name__
        for part in walk(node)
    )


class _Moving:
    """Moves the iterators of one definition.

    Attributes:
        functions: The functions that are defined inside, by their names.
    """

    def __init__(self, node: ast.FunctionDef, resolve: Resolve) -> None:
        self._node, self._resolve = node, resolve
        self._names = [part for part in walk(node) if isinstance(part, ast.Name)]
        self._stored = frozenset(name.id for name in self._names if not isinstance(name.ctx, ast.Load))
        self._stored |= {part.arg for part in walk(node) if isinstance(part, ast.arg)}
        inner = [part for part in walk(node)[1:] if isinstance(part, (ast.FunctionDef, ast.ClassDef))]
        self._functions: Mapping[str, ast.AST] = {part.name: part for part in inner}
        late = [part for part in walk(node)[1:] if isinstance(part, (ast.FunctionDef, ast.Lambda, ast.ClassDef))]
        self._seen_inside = frozenset(n.id for part in late for n in walk(part) if isinstance(n, ast.Name))
        declared = (part for part in walk(node) if isinstance(part, (ast.Global, ast.Nonlocal)))
        self._seen_inside |= {name for part in declared for name in part.names}

    def visited(self, node: Any) -> Any:
        """Code in which iterators are moved."""
        fields = {name: value for name, value in ast.iter_fields(node) if isinstance(value, list)}
        blocks = {
            name: self._block(value) for name, value in fields.items() if value and isinstance(value[0], ast.stmt)
        }
        changed = {name: block for name, block in blocks.items() if block is not fields[name]}
        return with_parts(with_fields(node, **changed) if changed else node, self.visited)

    def without_iter(self, node: Any) -> Any:
        """Code without calls of ``iter`` for what is an iterator already."""
        new = with_parts(node, self.without_iter)
        match new:
            case ast.Call(function, [inner], []) if self._static(function) is iter and self._is_iterator(inner):
                return inner
        return new

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        parts = [part for statement in body for part in self._one_by_one(statement)]
        body = parts if len(parts) > len(body) else body
        for at, statement in enumerate(body):
            if (moved := self._moved(statement, body[at + 1 :])) is not None:
                return [*body[:at], *self._block(moved)]
        return body

    def _one_by_one(self, statement: ast.stmt) -> list[ast.stmt]:
        """``a, b = X, Y`` with an iterator in it, as ``a = X`` and ``b = Y``, where none of them reads the other."""
        match statement:
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values) and any(
                map(self._is_iterator, values)
            ):
                names = {part.id for part in targets if isinstance(part, ast.Name)}
                read = {part.id for value in values for part in walk(value) if isinstance(part, ast.Name)}
                if len(names) == len(targets) and names.isdisjoint(read):
                    pairs = zip(targets, values, strict=True)
                    return [located(ast.Assign([target], value), value) for target, value in pairs]
        return [statement]

    def _moved(self, statement: ast.stmt, rest: list[ast.stmt]) -> list[ast.stmt] | None:
        """The statements in place of one that keeps an iterator, and of those behind it; None if it is not moved."""
        match statement:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                pass
            case _:
                return None
        if not self._is_iterator(value) or name in self._seen_inside:
            return None
        behind, others = _until_assigned(name, rest)
        use = self._use(name, value, behind, others)
        if use is None:
            return None
        held = _Held(name, self._rebound(behind), self._stored)
        new = self._with_early_parts(value, held)
        roots = {root.id for place in held.places if isinstance(root := root_of(place), ast.Name)}
        changed = self._changed(behind, use)
        if not roots.isdisjoint(changed) or (self._counts_at_once(value) and any(map(self._may_be_another, changed))):
            return None
        return [*held.statements(statement), *(_with_name(use, new, part) for part in behind), *others]

    # What is moved

    def _static(self, node: ast.expr) -> Any:
        """The value of a name from outside of the definition, or of an attribute of a module; None for any other."""
        match node:
            case ast.Name(name) if name not in self._stored and name not in self._functions:
                return self._resolve(name)
            case ast.Attribute(value, name):
                module = self._static(value)
                return getattr(module, name, None) if inspect.ismodule(module) else None
        return None

    def _is_iterator(self, value: ast.expr) -> bool:
        """Whether an expression makes an iterator: one of Python's, or a generator of the user's."""
        if isinstance(value, ast.GeneratorExp):
            return not any(isinstance(part, ast.NamedExpr) for part in walk(value))
        if not isinstance(value, ast.Call) or any(isinstance(part, ast.Starred) for part in value.args):
            return False
        if isinstance(value.func, ast.Name) and isinstance(
            inner := self._functions.get(value.func.id), ast.FunctionDef
        ):
            return any(isinstance(part, (ast.Yield, ast.YieldFrom)) for part in own_parts_of(inner))
        made = self._static(value.func)
        return (_is_one_of(made, MAKERS) and made is not iter) or inspect.isgeneratorfunction(made)

    def _counts_at_once(self, value: ast.expr) -> bool:
        """Whether an iterator begins with what is the last item where it is made, or is made of one that does."""
        return any(isinstance(part, ast.Call) and self._static(part.func) is reversed for part in walk(value))

    def _may_be_another(self, name: str) -> bool:
        """Whether a variable may have an object that another variable has, too, or that holds one."""
        stores = sum(1 for one in self._names if one.id == name and isinstance(one.ctx, ast.Store))
        values = [
            part.value
            for part in walk(self._node)
            if isinstance(part, ast.Assign) and [ast.dump(one) for one in part.targets] == [_stored(name)]
        ]
        return stores > len(values) or not all(map(_is_of_its_own, values))

    def _with_early_parts(self, value: ast.expr, held: _Held) -> ast.expr:
        """An iterator whose parts that are evaluated where it is made are kept in variables."""
        if isinstance(value, ast.GeneratorExp):
            first, *others = value.generators
            over = self._early(first.iter, held)
            new = ast.comprehension(first.target, over, first.ifs, first.is_async)
            return located(ast.GeneratorExp(value.elt, [new, *others]), value)
        assert isinstance(value, ast.Call)
        made = self._static(value.func)
        before = len(held.places)
        keywords = [located(ast.keyword(k.arg, self._early(k.value, held)), k) for k in value.keywords]
        call = located(ast.Call(value.func, [self._early(part, held) for part in value.args], keywords), value)
        if not _is_one_of(made, MAKERS):
            del held.places[before:]  # a generator goes over nothing before it is asked for its first item
        return call

    def _early(self, part: ast.expr, held: _Held) -> ast.expr:
        if self._is_iterator(part):
            return self._with_early_parts(part, held)
        if isinstance(part, (ast.Constant, ast.Lambda)):
            return part
        match part:
            case ast.Name(name) if name in self._functions or (name not in self._stored and name not in held.rebound):
                return part
            case ast.Call(ast.Attribute(ast.Name(name), "items" | "keys" | "values"), [], []) if (
                name not in held.rebound
            ):
                held.places.append(part.func.value)  # type: ignore[attr-defined]
                return part
            case ast.Call(function) if self._static(function) is range:
                return located(ast.Call(function, [self._early(one, held) for one in part.args], part.keywords), part)
        return held.kept(part)

    # Where it is used

    def _use(
        self, name: str, value: ast.expr, behind: Sequence[ast.stmt], others: Sequence[ast.stmt]
    ) -> list[ast.Name] | None:
        """The reads of a variable, of which one at most is reached; None if there may be others, or none."""
        uses = [part for part in walk_all(behind) if isinstance(part, ast.Name) and part.id == name]
        reads = [part for part in self._names if part.id == name and isinstance(part.ctx, ast.Load)]
        if not uses or not all(isinstance(part.ctx, ast.Load) for part in uses) or reads_in_order(name, behind) != 1:
            return None
        if len(reads) > len(uses) and (not others or any(isinstance(part, _JUMPS) for part in walk_all(behind))):
            return None
        allowed = {id(part) for statement in behind for part in self._gone_over(statement, value)}
        return uses if all(id(part) in allowed for part in uses) else None

    def _gone_over(self, node: ast.AST, value: ast.expr) -> Iterator[ast.expr]:
        """The expressions in code whose items the code goes over at that place."""
        for part in walk(node):
            match part:
                case ast.For(_, items) | ast.comprehension(_, items) | ast.Starred(items) | ast.YieldFrom(items):
                    yield items
                case ast.Compare(_, [ast.In() | ast.NotIn()], [items]):
                    yield items
                case ast.Assign([ast.Tuple() | ast.List()], items):
                    yield items
                case ast.Call(ast.Attribute(_, method), arguments) if method in _METHODS:
                    yield from arguments
                case ast.Call(function, [*given, items]) if _is_one_of(self._static(function), _GO_OVER):
                    several = self._static(function) not in (max, min)
                    yield from [*given, items] if several or not given else []
                case ast.Call(function, [items, *_]) if self._static(function) is next:
                    yield from [items] if isinstance(value, ast.GeneratorExp) else []
                case ast.Call(_, arguments) if all(isinstance(one, (ast.Name, ast.Constant)) for one in arguments):
                    yield from arguments

    # What changes in between

    def _rebound(self, behind: Sequence[ast.stmt]) -> frozenset[str]:
        """The variables that may be bound to other objects before the use, or while it goes on."""
        inside = (part for function in self._functions.values() for part in walk(function))
        declared = {name for part in inside if isinstance(part, ast.Nonlocal) for name in part.names}
        return frozenset(declared).union(*map(stored_names, behind))

    def _changed(self, behind: Sequence[ast.stmt], uses: Sequence[ast.Name]) -> frozenset[str]:
        """The variables whose values may be changed before the use."""
        end = max((use.lineno, use.col_offset) for use in uses)
        parts = [
            part for part in walk_all(behind) if (getattr(part, "lineno", 0), getattr(part, "col_offset", 0)) < end
        ]
        called = {part.id for part in parts if isinstance(part, ast.Name)} & self._functions.keys()
        if called:  # any function inside may call the others
            parts += [part for function in self._functions.values() for part in walk(function)]
        harm = functools.partial(of_operation, static_value=self._static)
        roots = (root_of(value) for part in parts for value in changed_by(part, harm))
        return frozenset(root.id for root in roots if isinstance(root, ast.Name))


def _stored(name: str) -> str:
    return ast.dump(ast.Name(name, ast.Store()))


def _is_of_its_own(value: ast.expr) -> bool:
    """Whether an expression makes an object that has no other one in it."""
    if isinstance(value, (ast.List, ast.Set, ast.Dict)):
        return not any(isinstance(part, (ast.Name, ast.Call)) for part in walk(value))
    return isinstance(value, (ast.Constant, ast.Compare))


class _Held:
    """What is evaluated where an iterator is made, in variables.

    Attributes:
        rebound: The variables that may be bound to other objects before the iterator is used up.
        places: The containers that the iterator goes over.
    """

    def __init__(self, name: str, rebound: frozenset[str], taken: frozenset[str]) -> None:
        self.rebound, self.places = rebound, list[ast.expr]()
        self._name, self._taken, self._parts = name, set(taken), dict[str, ast.expr]()

    def kept(self, part: ast.expr) -> ast.expr:
        """An expression in place of a part that is evaluated at once."""
        if is_path(part):
            self.places.append(part)
        if isinstance(part, ast.Name) and part.id not in self.rebound:
            return part
        name = unused(self._name, self._taken, separator="_") if self._parts else self._name
        self._taken.add(name)
        self._parts[name] = part
        return located(ast.Name(name, ast.Load()), part)

    def statements(self, node: ast.stmt) -> list[ast.stmt]:
        """The statements that evaluate the parts."""
        return [
            located(ast.Assign([located(ast.Name(name, ast.Store()), part)], part), node)
            for name, part in self._parts.items()
        ]


def own_parts_of(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes in the statements of a definition, except those inside functions in it."""
    return (part for statement in node.body for part in own_parts(statement))


def _is_one_of(value: Any, functions: Sequence[Any]) -> bool:
    return any(value is function for function in functions)


def _until_assigned(name: str, body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Statements up to the first that gives a variable another value, and those from there on."""
    for at, statement in enumerate(body):
        match statement:
            case ast.Assign([ast.Name(target)]) if target == name:
                reads = any(isinstance(part, ast.Name) and part.id == name for part in walk(statement.value))
                return (body, []) if reads else (body[:at], body[at:])
    return body, []


def _with_name(uses: Sequence[ast.Name], value: ast.expr, node: Any) -> Any:
    """Code with a value in place of some reads of a name."""
    if any(node is use for use in uses):
        return value
    return with_parts(node, functools.partial(_with_name, uses, value))
