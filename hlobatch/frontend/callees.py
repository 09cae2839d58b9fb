"""Call expressions -> the functions of the program that they call, if the program itself carries them out.

A callee is found by the object that its name is bound to, not by the spelling of the name: a batched function under any
name, a function without a decorator that is followed, or the plain Python function behind one that is already part of
the program (so ``fast = hb.batch(slow)`` recurses into ``fast`` although the body says ``slow``). A callee that no name
outside of the function is bound to is found by tracing (``following.py``).
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Protocol, TypeGuard, runtime_checkable

from hlobatch.diagnostics import HloBatchError, Location, UnsupportedSyntaxError
from hlobatch.frontend.changes import ChangesByCalls, GivesBack, changed_parameters, changes_of
from hlobatch.frontend.checkpoints import is_computed_again
from hlobatch.frontend.failures import AlwaysRaises, Failures, Raises
from hlobatch.frontend.files import is_users
from hlobatch.frontend.following import Calls, called, is_batched, is_followed_at_once, is_generator
from hlobatch.frontend.guesses import CONTAINERS, Expected, NothingExpected, Unexpected, is_likely, method
from hlobatch.frontend.held_objects import initializer
from hlobatch.frontend.library import changed_in, is_built_in
from hlobatch.frontend.nested import Template
from hlobatch.frontend.rewriting.inner_classes import with_classes
from hlobatch.frontend.rewriting.memoized import Memoized, with_dicts
from hlobatch.frontend.rewriting.references import columns
from hlobatch.frontend.scopes import MISSING
from hlobatch.frontend.source import Source, plain_function, read_source
from hlobatch.ir.names import unused
from hlobatch.values.facts import Copy, Facts, Site, of_function

SYNC_MARK: Final = "__hlobatch_sync__"
"""Attribute by which the frontend recognizes ``hb.sync``."""


BATCH_MARK: Final = "__hlobatch_batch__"
"""Attribute by which the frontend recognizes ``hb.batch``."""

MOST_COPIES: Final = 16
"""Most copies of one function, for arguments of different types; a recursion may need ever new ones."""


@runtime_checkable
class Batched(Protocol):
    """The attributes of a batched function that the frontend reads."""

    @property
    def __hlobatch_function__(self) -> Callable[..., Any]:
        """The plain Python function."""

    @property
    def __hlobatch_type_inference__(self) -> Callable[..., Any] | None:
        """The function's declared result type, as a callable; None if it has none."""


@dataclass(eq=False)
class Callee:
    """A function as part of a program.

    Attributes:
        name: Its name in the program.
        source: Its source.
        type_inference: Its declared result type, as a callable; None if it has none.
        template: Its closure variables, if it is defined inside another function.
        raises: Whether it may raise: it then returns a failure code and details of the exception after its results.
        always_raises: Whether every path that ends raises.
        changes: Its parameters whose arguments it changes in place, itself or through its callees.
        gives_back: Whether it returns these arguments to its callers.
        types: The types of arguments that this copy of the function is made for; None for the first one.
        called_from: The first call of it in the program.
        columns: The columns of objects that refer to each other, which each call passes, too.
    """

    name: str
    source: Source
    type_inference: Callable[..., Any] | None = None
    template: Template | None = None
    raises: bool = False
    always_raises: bool = False
    changes: tuple[str, ...] = ()
    gives_back: bool = False
    types: Hashable = None
    called_from: Location | None = None
    columns: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[Any, Hashable]:
        """The key of the function, the same in each program that is made of the same functions."""
        return self.template or self.source.function, self.types

    @property
    def seen(self) -> Hashable:
        """The facts about the function that its callers, and its own lowering, depend on."""
        return (
            self.key,
            self.name,
            self.raises,
            self.always_raises,
            self.changes,
            self.gives_back,
            self.source.code,
            self.columns,
        )

    @property
    def captured(self) -> tuple[str, ...]:
        """Variables of enclosing functions, which each call passes first."""
        return (*(self.template.captured if self.template else ()), *self.columns)

    @property
    def changed(self) -> tuple[str, ...]:
        """Variables of enclosing functions that each call returns beside the result."""
        return self.template.changed if self.template else ()

    @property
    def bound(self) -> frozenset[str]:
        """Variables of enclosing functions that it may assign to."""
        return self.template.bound if self.template else frozenset()

    @property
    def given_back(self) -> tuple[str, ...]:
        """Its own variables that each call returns beside the result."""
        return (*self.changed, *(self.changes if self.gives_back else ()))


def changed_default(callee: Callee, parameter: str) -> UnsupportedSyntaxError:
    """The error for a function that changes the default of a parameter in place, which the next call would see."""
    return UnsupportedSyntaxError(
        f"{callee.source.node.name!r} changes the default of its parameter {parameter!r} in place, which all of its "
        "calls share",
        help=f"make a new one in each call: write `{parameter}=None`, and in the function `if {parameter} is None:`.",
    )


@dataclass(frozen=True, slots=True)
class Called:
    """The callee of a call expression.

    Attributes:
        callee: The function of the program.
        receiver: How the first argument follows from the called object, as in ``following.Calls``.
        expected: The guess that the call cannot be traced; None if that is known.
        is_again: Whether its values are computed again on the way back of a derivative.
        contents: The positions of arguments of which it gets the containers in them, as in ``following.Calls``.
    """

    callee: Callee
    receiver: str = ""
    expected: Expected | None = None
    is_again: bool = False
    contents: tuple[int, ...] = ()


@dataclass
class Callees:
    """The functions of one program that are batched or followed, found as calls are met.

    Attributes:
        facts: The facts learned so far.
        failures: The failures that the program may raise.
        follows: Whether functions without a decorator may become parts of the program.
        by_key: The functions that are part of the program, by their plain Python function, or template, and the types
            that a copy is for.
        guessed: Functions that are part of the program by a guess.
        classes: The user's classes that the program makes objects of.
    """

    facts: Facts = field(default_factory=Facts)
    follows: bool = True
    failures: Failures = field(default_factory=Failures)
    by_key: dict[tuple[Any, Hashable], Callee] = field(default_factory=dict)

    guessed: set[Any] = field(default_factory=set)
    classes: set[type] = field(default_factory=set)
    _disagreements: dict[Any, HloBatchError] = field(default_factory=dict)

    @cached_property
    def followed(self) -> frozenset[Any]:
        """Functions without a decorator that are followed wherever they are called by their name."""
        return frozenset(fact.function for fact in self.facts.all_of(Calls))

    def add(self, function: Callable[..., Any], type_inference: Callable[..., Any] | None = None) -> Callee:
        """The callee for a plain function, entered under a unique name at its first mention."""
        plain = plain_function(function)
        key = plain, None
        if key not in self.by_key:
            source = with_dicts(
                with_classes(read_source(plain)),
                lambda node, of: static_value(node, of, frozenset()),
                of_globals=self.facts.has(Memoized),
            )
            made = Callee(self._name(plain), source, type_inference)
            self.by_key[key] = self._as_known(key, made)
        return self.by_key[key]

    def of_template(self, template: Template) -> Callee:
        """The callee for a function that is defined inside another."""
        key = template, None
        if key not in self.by_key:
            source = template.source
            self.by_key[key] = self._as_known(key, Callee(self._name(source.function), source, template=template))
        return self.by_key[key]

    def copy(self, callee: Callee, fact: Copy) -> Callee:
        """The copy of a callee for arguments of some types.

        Raises:
            HloBatchError: The most copies that there may be have been made already.
        """
        function, _ = callee.key
        first = self._disagreements.setdefault(function, fact.disagreement)
        if (function, fact.types) not in self.by_key:
            if sum(known == function for known, _ in self.by_key) >= MOST_COPIES:
                raise first
            name = self._name(callee.source.function)
            made = replace(callee, name=name, types=fact.types, called_from=None)
            self.by_key[function, fact.types] = self._as_known((function, fact.types), made)
        return self.by_key[function, fact.types]

    def _as_known(self, key: Hashable, callee: Callee) -> Callee:
        """A callee with the facts about it: whether it raises, and what it changes. The first one has no callers."""
        site = of_function(key)
        by_calls, always = self.facts.of(ChangesByCalls, site), self.facts.of(AlwaysRaises, site)
        source = callee.source
        own = [*(changed_in(source.function) if source.is_of_prelude else changed_parameters(source.node))]
        own += [name for name in changes_of(source.node.body) if name in columns()]
        return replace(
            callee,
            columns=columns(),
            raises=self.facts.of(Raises, site) is not None,
            always_raises=always is not None and always.is_so,
            changes=tuple(dict.fromkeys((*own, *(by_calls.names if by_calls else ())))),
            gives_back=bool(self.by_key) or self.facts.of(GivesBack, site) is not None,
        )

    def _name(self, plain: types.FunctionType) -> str:
        taken = {callee.name for callee in self.by_key.values()} | {"main"}
        stem = "lambda" if plain.__name__ == "<lambda>" else plain.__name__
        return unused(stem, taken, separator="_")

    def note_call(self, key: tuple[Any, Hashable], location: Location) -> None:
        """Note the place of a call of a function; the first one is kept."""
        callee = self.by_key[key]
        callee.called_from = callee.called_from or location

    def of_object(self, value: Any) -> Called | None:
        """The callee of a call of an object; None if that is no function of the program."""
        if (init := initializer(value)) is not None:
            self.makes(value)
            return self.of_fact(Calls(init, "made"))
        calls = called(value)
        if calls is not None and is_generator(calls.function):
            return None  # a loop over the generator may take turns with it
        if calls is None:
            known = self.by_key.get((value, None)) if isinstance(value, types.FunctionType) else None
            return None if known is None else Called(known)
        if calls.function is value and isinstance(value, types.FunctionType) and not is_users(value):
            return self.of_fact(calls)  # no function of the user's, so it is another one of the prelude
        if is_built_in(value):
            return None  # a fact about the place gives the callee
        is_known = (calls.function, None) in self.by_key and calls.function not in self.guessed
        if is_followed_at_once(calls.function) or calls.function in self.followed or is_known:
            return self.of_fact(calls)
        return None

    def guess(self, calls: Calls, site: Site) -> Called | None:
        """The callee of a call, on the guess that the program has to carry it out; None if that is unlikely."""
        known = self.facts.of(Unexpected, of_function((calls.function, None)))
        if not self.follows or known is not None or self.facts.has(NothingExpected) or not is_likely(calls):
            return None
        self.guessed.add(calls.function)
        return replace(self.of_fact(calls), expected=Expected(site, calls))

    def makes(self, kind: type) -> None:
        """Note that the program makes objects of a class."""
        self.classes.add(kind)

    def method(self, name: str) -> Calls | None:
        """The function that a method call means, as far as its name alone tells; else None."""
        return None if name in CONTAINERS else method(self.classes, name)

    def of_fact(self, calls: Calls) -> Called:
        """The callee of a call that tracing has resolved, as the fact ``calls``."""
        function = calls.function
        if isinstance(function, Template):
            callee = self.of_template(function)
        elif is_batched(function):
            callee = self.add(function.__hlobatch_function__, function.__hlobatch_type_inference__)
        else:
            callee = self.add(function)
        return Called(callee, calls.receiver, is_again=is_computed_again(function), contents=calls.contents)

    def of_call(self, node: ast.expr, source: Source, local: frozenset[str]) -> Called | None:
        """The callee of a call expression, if its name says that it is a function of the program; else None."""
        if not isinstance(node, ast.Call):
            return None
        try:
            return self.of_object(static_value(node.func, source, local))
        except HloBatchError as error:
            raise error.at(source.location(node)) from None


def static_value(node: ast.expr, source: Source, local: frozenset[str]) -> Any:
    """The value of a dotted name that begins with a name from outside of the function; ``MISSING`` if it has none."""
    if isinstance(node, ast.Name):
        return MISSING if node.id in local else source.resolve(node.id)
    if isinstance(node, ast.Attribute):
        value = static_value(node.value, source, local)
        try:
            return MISSING if value is MISSING else getattr(value, node.attr, MISSING)
        except Exception:  # noqa: BLE001  # the error of a user's property gets a place where the code runs
            return MISSING
    return MISSING


def is_sync(node: ast.expr, source: Source, local: frozenset[str]) -> TypeGuard[ast.Call]:
    """Whether an expression is a call of ``hb.sync``."""
    return isinstance(node, ast.Call) and bool(
        getattr(static_value(node.func, source, local), SYNC_MARK, False) is True
    )
