"""A ``for`` over the items of a generator of the user's -> the generator's statements, with the body in their midst.

::

    for x in upto(n):         %i = prim "0" (); jump while           the generator's variables get names of their own
        …                ==>  while: branch "i < n" …
                              body: %x = prim "i" (%i); …; %i = prim "i + 1" (%i); jump while

``with_body.py`` makes the statements. They are lowered where the loop stands, so the generator has to be
defined in the same file.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hlobatch.diagnostics import Note, UnsupportedSyntaxError
from hlobatch.frontend.changes import changed_by_methods, changes_of, objects_changed
from hlobatch.frontend.expressions import ExpressionLowering
from hlobatch.frontend.failing_statements import FailingLowering
from hlobatch.frontend.following import Calls
from hlobatch.frontend.handlers import caught_kinds, drops_exceptions
from hlobatch.frontend.harm_of_code import harm_of
from hlobatch.frontend.in_turn.lazy import LAZY
from hlobatch.frontend.in_turn.with_body import WithBody
from hlobatch.frontend.nested import Template
from hlobatch.frontend.nodes import located, walk, walk_all
from hlobatch.frontend.program_calls import CallLowering, is_starred
from hlobatch.frontend.rewriting.other_names import with_names
from hlobatch.frontend.scopes import MISSING, local_names, read_names, stored_names
from hlobatch.frontend.source import source_of
from hlobatch.frontend.syntax import assigned, helper, load, placed
from hlobatch.frontend.whole_function import Loop
from hlobatch.ir.names import at_a_loop

_AROUND: Final = (ast.Try, ast.TryStar, ast.With, ast.AsyncWith)
_INSIDE: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_YIELDS: Final = (ast.Yield, ast.YieldFrom)
_LEAVES: Final = (ast.Raise, ast.Assert)

_RECURSION: Final = "write a function that appends the items to a list that it is given, and go over that list."


def _yields(nodes: Sequence[ast.AST]) -> bool:
    return any(isinstance(part, _YIELDS) for part in walk_all(nodes))


def takes_turns(lowering: ExpressionLowering, loop: ast.For, iterable: ast.expr) -> bool:
    """Whether the body of a loop may change an object, or a variable that an inner function in the iterable reads."""
    around = {n for read in read_names(iterable) if read in lowering.scope for n in lowering.scope[read].captured}
    if changes_of(loop.body) or changed_by_methods(loop.body) or not around.isdisjoint(stored_names(loop)):
        return True
    calls = (part for part in walk_all(loop.body) if isinstance(part, ast.Call))
    return any(harm_of(call, lowering).changes for call in calls)


class GeneratorLoop:
    """Lowers one loop over the items of a generator."""

    def __init__(self, lowering: FailingLowering, node: ast.For, calls: Calls) -> None:
        function = calls.function
        self.is_lazy = function in LAZY.values()
        self.lowering, self.node, self.calls = lowering, node, calls
        self.source = function.source if isinstance(function, Template) else source_of(function)
        # That of the iterable, since the loops of a comprehension all stand where it begins.
        self.place = node.iter.lineno, node.iter.col_offset

    def lower(self) -> None:
        """Emit the loop."""
        lowering, node, depth = self.lowering, self.node, len(self.lowering.loops)
        self._check()
        around = depth, len(lowering.tries), len(lowering.handled)
        body = WithBody(self._with_own_names(), node, *around).of().body
        otherwise, after = lowering.blocks.name("else"), lowering.blocks.name("after_for")
        ends = otherwise if node.orelse else after
        with self._inside(body):
            lowering.loops += [Loop(after, after), Loop(ends, ends)]
            lowering.statements(body)
            del lowering.loops[depth:]
        lowering.loop_end(node, otherwise, after)

    @contextlib.contextmanager
    def _inside(self, body: list[ast.stmt]) -> Iterator[None]:
        """A context in which the generator's statements count as the function's."""
        lowering = self.lowering
        before = lowering.source, lowering.meanings, lowering.path, lowering.drawn
        whole = located(ast.FunctionDef(**dict(ast.iter_fields(lowering.source.node))), lowering.source.node)
        whole.body = [*whole.body, *body]
        lowering.source = replace(lowering.source, node=whole)
        lowering.meanings = replace(lowering.meanings, source=lowering.source, local=lowering.local)
        line, column = self.place
        lowering.path = (*lowering.path, -line, column)
        lowering.drawn = (*lowering.drawn, self.calls.function)
        try:
            yield
        finally:
            lowering.source, lowering.meanings, lowering.path, lowering.drawn = before

    # The generator's variables

    def _with_own_names(self) -> ast.FunctionDef:
        """The generator with new names for its variables; the arguments have been assigned to its parameters."""
        definition, lowering = self.source.node, self.lowering
        if self.is_lazy:
            definition = placed(with_names(definition, {}), self.node.iter)
        around = {name for part in walk(definition) if isinstance(part, ast.Nonlocal) for name in part.names}
        names = {
            name: at_a_loop(name, *self.place, self._loops_around())
            for name in sorted(local_names(definition) - around)
        }
        arguments = self._arguments()
        inside = {n: value for n, value in arguments.items() if isinstance(value, ast.Call) and lowering.draws(value)}
        same = {
            parameter: value.id
            for parameter, value in arguments.items()
            if isinstance(value, ast.Name) and self._means_the_same(value.id, parameter)
        }
        lowering.local = lowering.local.union(names[name] for name in names.keys() - same.keys() - inside.keys())
        lowering.meanings = replace(lowering.meanings, local=lowering.local)
        new = with_names(definition, {**names, **same}, {names[n]: value for n, value in inside.items()})
        given = {names[n]: value for n, value in arguments.items() if n not in same and n not in inside}
        self._give(given, new)
        return new

    def _loops_around(self) -> int:
        """The number of loops around this one that are written at its place, in a generator."""
        (line, column), path = self.place, self.lowering.path
        return sum(pair == (-line, column) for pair in itertools.pairwise(path))

    def _give(self, arguments: Mapping[str, ast.expr], new: ast.FunctionDef) -> None:
        """Emit the assignments of arguments to parameters, in the order in which Python evaluates them."""
        lowering = self.lowering
        for name, value in sorted(arguments.items(), key=lambda one: (one[1].lineno, one[1].col_offset)):
            lowering.statement(assigned(name, value, value))
        for name in objects_changed(new):
            lowering.assign(name, helper("__hb_own", [load(name, self.node.iter)], self.node.iter), self.node.iter)
        for name in changes_of(new.body):
            lowering.changes_own(name)

    def _means_the_same(self, name: str, parameter: str) -> bool:
        """Whether a parameter is the same variable as its argument: neither is given another value during the loop."""
        definition, lowering = self.source.node, self.lowering
        others = {getattr(part, "id", getattr(part, "arg", "")) for part in walk(definition)} - {parameter}
        bound = stored_names(self.node).union(*(template.bound for template in lowering.scope.values()))
        stored = frozenset().union(*map(stored_names, definition.body))
        is_known = lowering.static_value(ast.Name(name)) is not MISSING
        return (name in lowering.local or is_known) and name not in others | bound and parameter not in stored

    def _arguments(self) -> dict[str, ast.expr]:
        """The arguments by parameter."""
        over, receiver = self.node.iter, self.calls.receiver
        if not isinstance(over, ast.Call) or receiver == "itself":
            over, receiver = located(ast.Call(over, [], []), over), "itself"
        given = CallLowering(self.lowering).arguments(over, self.source, receiver)
        return {name: self.lowering.handed_on(value) for name, value in given.items()}

    # What is refused

    def _check(self) -> None:
        """Refuse a generator that cannot take turns with the loop.

        Raises:
            UnsupportedSyntaxError: It is one.
        """
        lowering, definition, function = self.lowering, self.source.node, self.calls.function
        if function in lowering.drawn and not self.is_lazy:
            raise self._refused("calls itself", definition, _RECURSION)
        for part in walk(definition)[1:]:
            if isinstance(part, _INSIDE):
                raise self._refused("defines a function or a class", part, "define it outside of the generator.")
            if isinstance(part, _AROUND) and _yields([part]):
                self._check_around(part)
            if isinstance(part, ast.Return) and part.value is not None:
                raise self._refused("returns a value", part, "yield it, or leave it out.")
        as_statements = {id(part.value) for part in walk(definition) if isinstance(part, ast.Expr)}
        for part in walk(definition):
            if isinstance(part, _YIELDS) and id(part) not in as_statements:
                raise self._refused("is sent values", part, "write `yield …` as a statement of its own.")
        self._check_surroundings(function)

    def _check_around(self, node: ast.stmt) -> None:
        """Refuse a statement around a ``yield`` if it sees, or changes, that the loop is left and the generator ended.

        Python then raises ``GeneratorExit`` at the ``yield``. Lanes only carry out each ``finally``.
        """
        if not isinstance(node, ast.Try):
            raise self._refused("has a `yield` inside of this `with`", node, "yield outside of it.")
        if _yields(node.finalbody):
            raise self._refused("has a `yield` inside of `finally`", node, "yield behind the `try`.")
        leaves = any(isinstance(part, _LEAVES) for part in walk_all(node.finalbody))
        if leaves or drops_exceptions(node):
            raise self._refused("leaves a `finally`, or raises in it", node, "let it end in each case.")
        local = local_names(self.source.node)
        for handler in node.handlers if _yields(node.body) else ():
            kinds = caught_kinds(handler, self.source, local)
            are_known = not isinstance(handler.type, ast.Tuple) or len(kinds) == len(handler.type.elts)
            if not kinds or not are_known or issubclass(GeneratorExit, tuple(kinds)):
                raise self._refused(
                    "catches what Python raises at a `yield` when a loop is left",
                    handler,
                    "write `except Exception`, or the classes that are meant.",
                )

    def _check_surroundings(self, function: object) -> None:
        """Refuse a generator whose names mean something else where the loop stands."""
        lowering, definition = self.lowering, self.source.node
        if isinstance(self.node.iter, ast.Call) and (
            self.calls.receiver not in ("", "__self__", "itself", "values") or is_starred(self.node.iter)
        ):
            raise self._refused("is called with a star, or bound to arguments", definition, "write its arguments out.")
        if self.is_lazy:
            return
        if isinstance(function, Template):
            if function not in lowering.scope.values():
                raise self._refused("is defined in another function", definition, "define it in this one.")
            return
        own, there = self.source.function, lowering.source.function
        if own.__globals__ is not there.__globals__ or own.__closure__:
            raise self._refused("is defined in another file or function", definition, "define it in this file.")
        free = read_names(definition).keys() - local_names(definition) - set(lowering.callee.columns)
        if clash := sorted(free & lowering.local):
            raise self._refused(f"reads {clash[0]!r}, and so is a variable here", definition, "rename the variable.")

    def _refused(self, what: str, node: ast.AST, instead: str) -> UnsupportedSyntaxError:
        source, name = self.source, self.source.node.name
        place = source.definition if node is source.node else source.location(node)
        return UnsupportedSyntaxError(
            f"the generator {name!r} depends on values that differ between lanes, and {what}",
            self.lowering.location(self.node.iter),
            notes=[Note(f"here, in {name}", place)],
            help=instead,
        )
