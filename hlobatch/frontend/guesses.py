"""A call of a function of the user's -> whether the program will have to carry it out, before anything has a type.

::

    total = total + steps(n)            def steps(n):
                                            while n > 1: …        a branch: JAX will not trace it

Whether a function can be traced shows only when its arguments have types, and then what comes behind the call has none
yet. Most functions that branch or loop cannot. So a call of one is taken for a call of the program at once, and what it
is given is tried in vain as soon as it has types: where that can be traced, the call is none of the program's, and the
program is made without all that it was taken for (``transforms/learning.py``).
"""

from __future__ import annotations

import ast
import collections
import functools
import inspect
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hlobatch.analysis.facts import Facts, Learned, Site, Tried, of_function
from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend.changes import ChangesByCalls, GivesBack, changed_by_methods
from hlobatch.frontend.failures import WHOLE_PROGRAM, AlwaysRaises, Raises
from hlobatch.frontend.files import is_users
from hlobatch.frontend.following import Calls, follow
from hlobatch.frontend.nested import Template
from hlobatch.frontend.scopes import own_parts
from hlobatch.frontend.source import Source, read_source
from hlobatch.frontend.steps import StepByStep

OF_LOWERING: Final = (Raises, AlwaysRaises, ChangesByCalls, GivesBack, StepByStep)
"""The facts that lowering finds out by itself, for what is known otherwise."""
_CONTROL: Final = (ast.If, ast.While, ast.Try, ast.Match, ast.Raise, ast.Assert)


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of a call.

    Attributes:
        site: Where it stands.
        calls: What it is one of, of which the program will have to carry it out.
    """

    site: Site
    calls: Calls


@dataclass(frozen=True, slots=True)
class Unexpected:
    """The fact that a call of a function can be traced, though that was not expected.

    Attributes:
        function: The function.
    """

    function: Any


@dataclass(frozen=True, slots=True)
class NothingExpected:
    """The fact that a program cannot be made with what is expected of calls."""


def is_likely(calls: Calls) -> bool:
    """Whether calls of a function will probably have to be carried out by the program."""
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
    """Whether a function has statements that JAX cannot trace if they depend on what differs between lanes.

    So has one that changes what it is given, which its caller has to see.
    """
    body = source.node.body
    if not changed_by_methods(body).isdisjoint(source.signature.parameters):
        return True
    return any(isinstance(part, _CONTROL) for statement in body for part in own_parts(statement))


def method(kinds: Iterable[type], name: str) -> Calls | None:
    """What the call of a method of that name is one of, if one of some classes alone has such a method."""
    found = {id(one): one for kind in kinds if (one := inspect.getattr_static(kind, name, None)) is not None}
    functions = [one for one in found.values() if isinstance(one, types.FunctionType) and is_users(one)]
    return Calls(functions[0], "__self__") if len(found) == len(functions) == 1 else None


CONTAINERS: Final = frozenset(name for kind in (list, dict, set, collections.deque, str) for name in dir(kind))
"""The names of methods that are probably those of a container."""


def tried(node: ast.Call, calls: Calls, signature: inspect.Signature, values: Mapping[str, ast.expr]) -> ast.Call:
    """A call as it is tried.

    Args:
        node: The call.
        calls: What it is one of.
        signature: Of that.
        values: For each parameter its argument.
    """
    arguments: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    parameters = [*signature.parameters.items()]
    for name, parameter in parameters[1:] if calls.receiver == "__self__" else parameters:
        value = values[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            arguments.append(ast.copy_location(ast.Starred(value, ast.Load()), node))
        elif parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            keyword = None if parameter.kind is parameter.VAR_KEYWORD else name
            keywords.append(ast.copy_location(ast.keyword(keyword, value), node))
        else:
            arguments.append(value)
    return ast.copy_location(ast.Call(node.func, arguments, keywords), node)


def expect(expected: Expected, function: Any, /, *args: Any, **kwargs: Any) -> None:
    """Try a call of which it is expected that it cannot be traced.

    Raises:
        Tried: Whether it can.
        Learned: Something else has to be known before.
    """
    called = expected.calls.function
    try:
        follow(expected.site, function, *args, **kwargs)
    except Learned as learned:
        if learned.facts == ((expected.site, expected.calls),):
            raise Tried(expected.site, expected.calls, is_expected=True) from None
        raise
    raise Tried(of_function((called, None)), Unexpected(called), is_expected=False)


def after(facts: Facts, learned: Learned) -> Facts:
    """The facts of the next round.

    What was learned of a program that was made for what is not so does not count. If that comes about twice, nothing is
    expected any more.
    """
    more = facts.more(learned)
    needed = {one.function for one in more.all_of(Calls)}
    wrong = [known for known in learned.facts if isinstance(known[1], Unexpected) and known[1].function not in needed]
    if not wrong:
        return more
    if facts.has(Unexpected):
        wrong = [(WHOLE_PROGRAM, NothingExpected())]
    return facts.without(*OF_LOWERING).and_also(Learned(*wrong[0], *wrong[1:]))
