"""A call of a function of the user's -> a guess whether the program has to carry it out, before types are known.

::

    total = total + steps(n)            def steps(n):
                                            while n > 1: …        a branch: JAX will not trace it

Whether a function can be traced shows only when its arguments have types, and code behind the call has no types before
that. Most functions that branch or loop cannot be traced. So a call of one becomes a call of the program at once. As
soon as its arguments have types, the call is traced, only to see whether it can be. If it can, the guess was wrong, and
the program is built again without it and all facts that followed from it (``transforms/attempts.py``).
"""

from __future__ import annotations

import ast
import collections
import functools
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend.changes import ChangesByCalls, GivesBack, changed_by_methods
from hlobatch.frontend.failures import AlwaysRaises, Raises
from hlobatch.frontend.files import is_users
from hlobatch.frontend.following import Calls, follow
from hlobatch.frontend.nested import Template
from hlobatch.frontend.nodes import located
from hlobatch.frontend.scopes import own_parts
from hlobatch.frontend.source import Source, read_source
from hlobatch.frontend.steps import StepByStep
from hlobatch.values.facts import WHOLE_PROGRAM, Facts, Learned, NotYet, Site, Tried, of_function
from hlobatch.values.lane_failures import OF_LANES, SurelyFails, is_wanted

OF_LOWERING: Final = (Raises, AlwaysRaises, ChangesByCalls, GivesBack, StepByStep)
"""The kinds of facts that lowering derives from the other facts."""
_CONTROL: Final = (ast.If, ast.While, ast.Try, ast.Match, ast.Raise, ast.Assert)


@dataclass(frozen=True, slots=True)
class Expected:
    """The guess that a call has to be carried out by the program.

    Attributes:
        site: The place of the call.
        calls: The function that it calls.
    """

    site: Site
    calls: Calls


@dataclass(frozen=True, slots=True)
class Unexpected:
    """The fact that a call of a function can be traced, against the guess.

    Attributes:
        function: The function.
    """

    function: Any


@dataclass(frozen=True, slots=True)
class NothingExpected:
    """The fact that a program cannot be built with guesses."""


def is_likely(calls: Calls) -> bool:
    """Whether the program probably has to carry out calls of a function."""
    function = calls.function
    if isinstance(function, Template):
        return _has_control(function.source)
    return isinstance(function, types.FunctionType) and calls.receiver in ("", "__self__") and _branches(function)


@functools.lru_cache(maxsize=256)
def _branches(function: types.FunctionType) -> bool:
    try:
        return _has_control(read_source(function))
    except HloBatchError:
        return False


def _has_control(source: Source) -> bool:
    """Whether a function has statements that JAX cannot trace if they depend on a value that differs between lanes.

    A function that changes an argument counts, too, since its caller has to see the change.
    """
    body = source.node.body
    if not changed_by_methods(body).isdisjoint(source.signature.parameters):
        return True
    return any(isinstance(part, _CONTROL) for statement in body for part in own_parts(statement))


def method(kinds: Iterable[type], name: str) -> Calls | None:
    """The method that a call of this name means, if exactly one of the classes has a method of that name; else None."""
    found = {id(one): one for kind in kinds if (one := inspect.getattr_static(kind, name, None)) is not None}
    functions = [one for one in found.values() if isinstance(one, types.FunctionType) and is_users(one)]
    return Calls(functions[0], "__self__") if len(found) == len(functions) == 1 else None


ANY_SPECIAL: Final = "__*__"
"""Stands for the names of all special methods, except those that only make an object."""
_MAKING: Final = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__"})


def has_methods(kinds: Iterable[type], names: Sequence[str]) -> bool:
    """Whether one of the classes has, by one of the names, a function of the user's, or a property."""
    return any(_is_own(one) for kind in kinds for name in names for one in _members(kind, name))


def _members(kind: type, name: str) -> Iterator[Any]:
    if name != ANY_SPECIAL:
        yield inspect.getattr_static(kind, name, None)
        return
    for one in kind.__mro__:
        yield from (member for n, member in vars(one).items() if n.startswith("__") and n not in _MAKING)


def _is_own(member: Any) -> bool:
    """Whether what a class has by a name is a function of the user's, or calls one when it is read."""
    if isinstance(member, types.FunctionType):
        return is_users(member)
    return isinstance(member, (property, functools.cached_property))


CONTAINERS: Final = frozenset(name for kind in (list, dict, set, collections.deque, str) for name in dir(kind))
"""Names of methods that probably belong to a container."""


def tried(node: ast.Call, calls: Calls, signature: inspect.Signature, values: Mapping[str, ast.expr]) -> ast.Call:
    """The call to trace in order to test a guess.

    Args:
        node: The call.
        calls: The function that it calls.
        signature: The signature of that function.
        values: The argument for each parameter.
    """
    arguments: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    parameters = [*signature.parameters.items()]
    for name, parameter in parameters[1:] if calls.receiver == "__self__" else parameters:
        value = values[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            arguments.append(located(ast.Starred(value, ast.Load()), node))
        elif parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            keyword = None if parameter.kind is parameter.VAR_KEYWORD else name
            keywords.append(located(ast.keyword(keyword, value), node))
        else:
            arguments.append(value)
    return located(ast.Call(node.func, arguments, keywords), node)


def expect(expected: Expected, function: Any, /, *args: Any, **kwargs: Any) -> None:
    """Trace a call to test the guess that it cannot be traced.

    Raises:
        Tried: Always, with the outcome, unless a fact has to be learned first.
        Learned: A fact has to be learned first.
    """
    called = expected.calls.function
    try:
        follow(expected.site, function, *args, **kwargs)
    except Learned as learned:
        if learned.facts == ((expected.site, expected.calls),):
            raise Tried(expected.site, expected.calls, is_expected=True) from None
        raise
    except NotYet as nothing:
        if nothing.fact is None:
            raise
        raise Tried(expected.site, expected.calls, is_expected=True) from None
    except (SurelyFails, *OF_LANES) as error:  # the program tests for these in the statement that raises them
        if not (isinstance(error, SurelyFails) or is_wanted(type(error))):
            raise
        raise Tried(expected.site, expected.calls, is_expected=True) from None
    raise Tried(of_function((called, None)), Unexpected(called), is_expected=False)


def after(facts: Facts, learned: Learned) -> Facts:
    """The facts of the next round.

    Facts that followed from a wrong guess do not count. After a second wrong guess, there are no more guesses.
    """
    more = facts.more(learned)
    needed = {one.function for one in more.all_of(Calls)}
    wrong = [known for known in learned.facts if isinstance(known[1], Unexpected) and known[1].function not in needed]
    if not wrong:
        return more
    if facts.has(Unexpected):
        wrong = [(WHOLE_PROGRAM, NothingExpected())]
    return facts.without(*OF_LOWERING).and_also(Learned(*wrong[0], *wrong[1:]))
