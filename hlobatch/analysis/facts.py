"""What tracing finds out and the frontend has to know to build control flow: facts, each about one place in the source.

The frontend builds blocks before types are known. Which function ``rule`` stands for in ``rule(x)``, how many items a
``for`` goes over and which copy of a generic function a call means turn out only when the code around them is traced.
Such a fact is noted, and type inference goes on with all that does not depend on it; at the end of the round it raises
``Learned``, and the program is built again with all facts that it came by (``transforms/learning.py``). Facts are only
ever added, so this comes to an end. (The properties of a program that a strategy depends on are another thing:
``strategy/properties.py``.)
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Protocol, Self, TypeVar, runtime_checkable

from hlobatch.diagnostics import UNKNOWN, HloBatchError, Location, UnsupportedSyntaxError

Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the source, in one copy of one function.

    Attributes:
        function: What the copy of the function is known by in the frontend.
        path: In loops that are unrolled, the turn of each, from the outermost to the innermost.
        span: Line and offset where the node begins and where it ends.
    """

    function: Hashable
    path: tuple[int, ...]
    span: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class LoopSite(Site):
    """The place of a ``for``.

    Attributes:
        file: The file that it stands in, as Python names it.
        size: How many statements it is made of.
        is_plain: Whether its turns, written out, are few blocks: none of them ends early within a loop around it, or
            calls a function of the user's.
    """

    file: str
    size: int
    is_plain: bool = False

    @property
    def anywhere(self) -> LoopSite:
        """The loop in all turns of the loops around it."""
        return LoopSite(self.function, (), self.span, self.file, self.size)

    def holds(self, place: Location) -> bool:
        """Whether a place is inside of the loop."""
        first, last = self.span[:2], self.span[2:]
        is_there = first <= (place.line, place.column - 1) and (place.end_line, place.end_column - 1) <= last
        return is_there and self.file == place.file


def of_function(key: Hashable) -> Site:
    """The site of what is known about a function itself."""
    return Site(key, (), (0, 0, 0, 0))


@dataclass(frozen=True)
class Facts:
    """All that is known about the sites of a program; immutable.

    Attributes:
        known: Facts by their class and their site.
    """

    known: Mapping[tuple[type, Site], Any] = field(default_factory=dict)

    def of(self, kind: type[Fact], site: Site) -> Fact | None:
        """The fact of a kind about a site, if there is one."""
        return self.known.get((kind, site))

    def all_of(self, kind: type[Fact]) -> Sequence[Fact]:
        """All facts of a kind, in the order in which they were learned."""
        return self._by_kind.get(kind, [])

    def has(self, kind: type) -> bool:
        """Whether there is a fact of a kind."""
        return kind in self._by_kind

    def about_code(self, kind: type[Fact]) -> Sequence[tuple[Location, Fact]]:
        """All facts of a kind about straight-line code, and where that is."""
        return [(site.function, fact) for (known, site), fact in self.known.items() if known is kind]  # type: ignore[misc]

    @cached_property
    def _by_kind(self) -> Mapping[type, list[Any]]:
        found: dict[type, list[Any]] = {}
        for (kind, _), fact in self.known.items():
            found.setdefault(kind, []).append(fact)
        return found

    def __bool__(self) -> bool:
        return bool(self.known)

    def and_also(self, learned: Learned) -> Facts:
        """These facts and more, each of which replaces what was known about its site, or is joined with it."""
        known = dict(self.known)
        for site, fact in learned.facts:
            before = known.get((type(fact), site))
            known[type(fact), site] = fact.joined(before) if before is not None and isinstance(fact, Joined) else fact
        return Facts(known)

    def without(self, *kinds: type) -> Facts:
        """These facts but for those of some kinds."""
        return Facts({about: fact for about, fact in self.known.items() if about[0] not in kinds})

    def more(self, learned: Learned) -> Facts:
        """These facts and more.

        Raises:
            UnsupportedSyntaxError: All were known, and to know of them changed nothing: so it would go on for ever.
        """
        if (facts := self.and_also(learned)).known != self.known:
            return facts
        place = learned.facts[0][0].function
        raise UnsupportedSyntaxError(
            "this code does several things at once of which hlobatch cannot make a program",
            place if isinstance(place, Location) else UNKNOWN,
            help="write it as several statements, each of which changes one object or computes one value.",
        )


NONE_KNOWN: Final = Facts()


@runtime_checkable
class Joined(Protocol):
    """A fact that is learned bit by bit."""

    def joined(self, known: Self) -> Self:
        """It, and what was known."""


@dataclass(frozen=True, slots=True)
class Copy:
    """The fact that a call is one of a copy of its function that is made for some types.

    Attributes:
        types: The types of the arguments, by which copies are told apart.
        disagreement: Why it cannot be the function for the types of other calls.
    """

    types: Hashable
    disagreement: HloBatchError = field(compare=False)


@dataclass(frozen=True, slots=True)
class Turns:
    """The fact that the turns of a loop are to be written out, or that they cannot be.

    Attributes:
        count: How many there are; None if that differs between lanes, or between the ways that lead to the loop.
        is_trial: Whether only the first two are written out, to find out whether what is wrong is wrong in those, too.
        changes: Whether there are more or fewer than there were items before the first.
    """

    count: int | None
    is_trial: bool = False
    changes: bool = False


@dataclass(frozen=True, slots=True)
class MayBeNone:
    """The fact that a variable is None in some lanes and a value in others.

    Attributes:
        variable: Its name in the program, before live ranges are split.
    """

    variable: str

    @property
    def site(self) -> Site:
        """All of the variable."""
        return Site(self.variable, (), (0, 0, 0, 0))


@dataclass(frozen=True, slots=True)
class Grows:
    """The fact that lists, or other containers, in a variable have another length in each lane.

    Attributes:
        variable: Its name in the program, before live ranges are split.
        depth: Where they are: 0 if the variable is one, 1 if they are its items or attributes, and so on.
    """

    variable: str
    depth: int

    @property
    def site(self) -> Site:
        """All of the variable."""
        return Site(self.variable, (self.depth,), (0, 0, 0, 0))


@dataclass(frozen=True, slots=True)
class GoesOver:
    """The fact that a comprehension of the program goes over a container that has another length in each lane."""


@dataclass(frozen=True, slots=True)
class HasToReturn:
    """The fact that what the program's first function returns may be None in some lanes: those that return it fail.

    Attributes:
        function: The function's name in the program.
    """

    function: str


@dataclass(frozen=True, slots=True)
class BoundAnew:
    """The fact that code which a loop may come by puts another object where the one is that the loop goes over."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The fact that the code of a statement changes in place what variables hold: it binds them to that, too.

    Attributes:
        names: The user's names of the variables.
    """

    names: frozenset[str]

    def joined(self, known: Changes) -> Changes:
        """It, and what was known."""
        return Changes(known.names | self.names)


def holds(place: Location, inner: Location) -> bool:
    """Whether one place in the source is a part of another."""
    if place.file != inner.file or (inner.line, inner.column) < (place.line, place.column):
        return False
    return (inner.end_line, inner.end_column) <= (place.end_line, place.end_column)


def of_code(place: Location) -> Site:
    """The site of what is known about straight-line code, in all copies of the function and all turns of loops."""
    return Site(place, (), (0, 0, 0, 0))


MOST_STATEMENTS_WRITTEN_OUT: Final = 1_000
"""Statements in all turns of a loop up to which its turns are written out where they have to be. So many take tens of
seconds to compile (2026-11)."""

MOST_STATEMENTS_WRITTEN_OUT_FOR_TEXTS: Final = 256
"""Statements in all turns of a loop over texts up to which its turns are written out at once. With more, the loop is
tried first, in which the text of a turn is one of several: 200 turns compile in 0.1 s instead of 2 s (2026-11)."""

MOST_STATEMENTS_WRITTEN_OUT_FOR_SPEED: Final = 32
"""Statements in all turns of a plain loop over what is known up to which its turns are written out though they need not
be. Written out, a walk by a table of strides (`benchmarks/workloads/ablation.py`) took 0.54 of the time (2026-11)."""

_counted: contextvars.ContextVar[dict[LoopSite, int] | None] = contextvars.ContextVar("hlobatch_counted", default=None)
_kept: contextvars.ContextVar[set[LoopSite] | None] = contextvars.ContextVar("hlobatch_kept", default=None)
_writes_out: contextvars.ContextVar[bool] = contextvars.ContextVar("hlobatch_writes_out", default=False)


@contextlib.contextmanager
def counted(writes_out: bool) -> Iterator[Mapping[LoopSite, int]]:
    """A context that collects trip counts of loops that are known when the program is built, as tracing meets them.

    Args:
        writes_out: Whether the turns of short loops are written out where they need not be.
    """
    found: dict[LoopSite, int] = {}
    tokens = _counted.set(found), _writes_out.set(writes_out), _kept.set(set())
    try:
        yield found
    finally:
        _counted.reset(tokens[0])
        _writes_out.reset(tokens[1])
        _kept.reset(tokens[2])


@contextlib.contextmanager
def counted_in_vain() -> Iterator[None]:
    """A context for code that is traced to find out more: what it says of loops that were known is forgotten.

    What it says of others stays, since code of which the trace is kept does not say it again.
    """
    before, in_vain = _counted.get(), dict(_counted.get() or {})
    tokens = _counted.set(in_vain), _kept.set({*(_kept.get() or ())})
    try:
        yield
    finally:
        _counted.reset(tokens[0])
        _kept.reset(tokens[1])
        if before is not None:
            before.update({site: turns for site, turns in in_vain.items() if site not in before})


def count_turns(site: LoopSite, turns: int | None) -> None:
    """Say how often a loop turns, or that it is not known."""
    found = _counted.get()
    if found is None:
        return
    if turns is None:
        found.pop(site, None)
    else:
        found[site] = turns


def turns_of(site: LoopSite) -> int | None:
    """How often a loop turns, as far as tracing has come by it."""
    found = _counted.get()
    return None if found is None else found.get(site)


def is_in_counted_loop(error: HloBatchError) -> bool:
    """Whether an error may be due to a loop whose turns could be written out."""
    return any(site.holds(place) for site in _counted.get() or () for place in error.places)


def keep_as_loop(site: LoopSite) -> None:
    """Say that the turns of a loop are not written out for now, though its items are no numbers."""
    if (kept := _kept.get()) is not None:
        kept.add(site)


def is_kept_as_loop(site: LoopSite) -> bool:
    """Whether the turns of a loop may have to be written out, wherever it is that something is wrong."""
    return site in (_kept.get() or ())


def pays_written_out(site: LoopSite, turns: int) -> bool:
    """Whether the turns of a loop over what is known are to be written out, though they need not be."""
    return _writes_out.get() and site.is_plain and turns * site.size <= MOST_STATEMENTS_WRITTEN_OUT_FOR_SPEED


class Learned(Exception):  # noqa: N818  # nothing is wrong
    """Raised in code that is being traced, and at the end of a round: the program has to be made anew, with facts.

    Attributes:
        facts: The facts, and what each is about; its class says of which kind it is.
    """

    def __init__(self, site: Site, fact: Any, *more: tuple[Site, Any]) -> None:
        super().__init__(site, fact, *more)
        self.facts = ((site, fact), *more)


class Tried(Exception):  # noqa: N818  # nothing is wrong
    """Raised in code that is traced only to see whether what the program was made for is so.

    Attributes:
        fact: What came of it, and what that is about.
        is_expected: Whether it is so, so that nothing has to be made anew.
    """

    def __init__(self, site: Site, fact: Any, *, is_expected: bool) -> None:
        super().__init__(site, fact)
        self.fact, self.is_expected = (site, fact), is_expected


def tell(facts: Sequence[tuple[Site, Any]]) -> None:
    """Say at the end of a round which facts were learned, if any were.

    Args:
        facts: The facts, and what each is about.

    Raises:
        Learned: Some were.
    """
    if facts:
        raise Learned(*facts[0], *facts[1:])


class NotYet(Exception):  # noqa: N818  # nothing is wrong so far
    """Raised in code that is being traced: what it takes out of a container has no type before something is put there.

    Attributes:
        error: What is wrong if nothing ever is.
    """

    def __init__(self, error: HloBatchError) -> None:
        super().__init__(error)
        self.error = error
