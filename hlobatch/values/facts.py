"""Facts: what tracing learns and the frontend needs in order to build control flow, each about one place in the source.

The frontend builds blocks before types are known. Which function ``rule`` stands for in ``rule(x)``, how many items a
``for`` iterates over and which copy of a generic function a call means are known only once the code around is traced.
Such a fact is noted, and type inference goes on with all that does not depend on it; at the end of the round it raises
``Learned``, and the program is built again with all facts that it learned (``transforms/attempts.py``). Facts are only
ever added, so this ends. (The properties of a program that a strategy depends on are no facts in this sense: see
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
from hlobatch.scoped import having

Fact = TypeVar("Fact")


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the source, in one copy of one function.

    Attributes:
        function: The key of the copy of the function in the frontend.
        path: In loops that are unrolled, the turn of each, from the outermost to the innermost.
        span: Line and offset of the beginning and of the end of the node.
    """

    function: Hashable
    path: tuple[int, ...]
    span: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class LoopSite(Site):
    """The site of a ``for`` loop.

    Attributes:
        file: The file that it stands in, as Python names it.
        size: The number of statements in it.
        is_plain: Whether its turns, written out, are few blocks: no turn ends early within an outer loop, or calls a
            function of the user's.
    """

    file: str
    size: int
    is_plain: bool = False

    @property
    def anywhere(self) -> LoopSite:
        """The site of the loop, whichever turns of outer loops it is in."""
        return LoopSite(self.function, (), self.span, self.file, self.size)

    def is_nested_with(self, other: LoopSite) -> bool:
        """Whether one of two loops stands in the other, or both are the same."""
        (first, last), (begin, end) = ((one.span[:2], one.span[2:]) for one in (self, other))
        return self.file == other.file and first <= end and begin <= last

    def holds(self, place: Location) -> bool:
        """Whether a place is inside of the loop."""
        first, last = self.span[:2], self.span[2:]
        is_there = first <= (place.line, place.column - 1) and (place.end_line, place.end_column - 1) <= last
        return is_there and self.file == place.file


def of_function(key: Hashable) -> Site:
    """The site of facts about a function itself."""
    return Site(key, (), (0, 0, 0, 0))


WHOLE_PROGRAM: Final = of_function(None)
"""The site of facts about a whole program."""


@dataclass(frozen=True)
class Facts:
    """All facts about the sites of a program; immutable.

    Attributes:
        known: Facts by their class and their site.
    """

    known: Mapping[tuple[type, Site], Any] = field(default_factory=dict)

    def of(self, kind: type[Fact], site: Site) -> Fact | None:
        """The fact of a kind about a site; None if there is none."""
        return self.known.get((kind, site))

    def all_of(self, kind: type[Fact]) -> Sequence[Fact]:
        """All facts of a kind, in the order in which they were learned."""
        return self._by_kind.get(kind, [])

    def has(self, kind: type) -> bool:
        """Whether there is a fact of a kind."""
        return kind in self._by_kind

    def about_code(self, kind: type[Fact]) -> Sequence[tuple[Location, Fact]]:
        """All facts of a kind about straight-line code, each with the location of the code."""
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
        """These facts and newly learned ones. A new fact replaces that of its kind and site, or is joined with it."""
        known = dict(self.known)
        for site, fact in learned.facts:
            before = known.get((type(fact), site))
            known[type(fact), site] = fact.joined(before) if before is not None and isinstance(fact, Joined) else fact
        return Facts(known)

    def without(self, *kinds: type) -> Facts:
        """These facts, without those of some kinds."""
        return Facts({about: fact for about, fact in self.known.items() if about[0] not in kinds})

    def only(self, *kinds: type) -> Facts:
        """Those of these facts that are of some kinds."""
        return Facts({about: fact for about, fact in self.known.items() if about[0] in kinds})

    def more(self, learned: Learned) -> Facts:
        """These facts and newly learned ones.

        Raises:
            UnsupportedSyntaxError: No fact is new, so that building the program again would go on for ever.
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
    """A fact that is learned part by part."""

    def joined(self, known: Self) -> Self:
        """This fact joined with the one known before."""


@dataclass(frozen=True, slots=True)
class Copy:
    """The fact that a call needs a copy of its callee for the types of its arguments.

    Attributes:
        types: The types of the arguments, by which copies are told apart.
        disagreement: The error that says why these types do not fit those of other calls.
    """

    types: Hashable
    disagreement: HloBatchError = field(compare=False)


@dataclass(frozen=True, slots=True)
class Turns:
    """The fact that the turns of a loop are to be written out, or that they cannot be.

    Attributes:
        count: The trip count; None if it differs between lanes, or between paths to the loop.
        is_trial: Whether only the first two turns are written out, to see whether these have the error as well.
        changes: Whether the loop changes the number of items that it iterates over.
    """

    count: int | None
    is_trial: bool = False
    changes: bool = False


@dataclass(frozen=True, slots=True)
class OfVariable:
    """A fact about the values of a variable.

    Attributes:
        variable: Its name in the program, before live ranges are split.
    """

    variable: str

    @property
    def site(self) -> Site:
        """The site of a fact about the whole variable."""
        return Site(self.variable, (), (0, 0, 0, 0))


class MayBeNone(OfVariable):
    """The fact that a variable is None in some lanes and a value in others."""

    __slots__ = ()


class MayBeSeveral(OfVariable):
    """The fact that a variable holds values of several kinds, such as a flag in some lanes and a number in others."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Grows:
    """The fact that lists, or other containers, in a variable have another length in each lane.

    Attributes:
        variable: Its name in the program, before live ranges are split.
        depth: Nesting depth of the containers: 0 for the variable itself, 1 for its items or attributes, and so on.
    """

    variable: str
    depth: int

    @property
    def site(self) -> Site:
        """The site of a fact about the containers of the variable at this depth."""
        return Site(self.variable, (self.depth,), (0, 0, 0, 0))


@dataclass(frozen=True, slots=True)
class GoesOver:
    """The fact that a comprehension iterates over a container whose length differs between lanes."""


@dataclass(frozen=True, slots=True)
class HasToReturn:
    """The fact that the entry function's result may be None in some lanes: a lane that returns None fails.

    Attributes:
        function: The function's name in the program.
    """

    function: str


@dataclass(frozen=True, slots=True)
class BoundAnew:
    """The fact that code that a loop calls may assign another object to the attribute that the loop iterates over."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The fact that a statement changes in place the values of variables, so that it assigns these too.

    Attributes:
        names: The user's names of the variables.
    """

    names: frozenset[str]

    def joined(self, known: Changes) -> Changes:
        """This fact joined with the one known before."""
        return Changes(known.names | self.names)


def holds(place: Location, inner: Location) -> bool:
    """Whether the source span ``place`` contains the span ``inner``."""
    if place.file != inner.file or (inner.line, inner.column) < (place.line, place.column):
        return False
    return (inner.end_line, inner.end_column) <= (place.end_line, place.end_column)


def of_code(place: Location) -> Site:
    """The site of facts about straight-line code, in all copies of the function and all turns of loops."""
    return Site(place, (), (0, 0, 0, 0))


MOST_STATEMENTS_WRITTEN_OUT: Final = 1_000
"""Most statements, over all turns, of a loop that is written out because it has to be. That many take tens of seconds
to compile (2026-11)."""

MOST_STATEMENTS_WRITTEN_OUT_FOR_TEXTS: Final = 256
"""Most statements, over all turns, of a loop over texts that is written out at once. A larger one is first tried as a
loop in which the text of a turn is one of several: 200 turns compile in 0.1 s instead of 2 s (2026-11)."""

MOST_STATEMENTS_WRITTEN_OUT_FOR_SPEED: Final = 32
"""Most statements, over all turns, of a plain loop over known items that is written out for speed alone. Written out,
a walk by a table of strides (`benchmarks/workloads/ablation.py`) took 0.54 of the time (2026-11)."""

_counted: contextvars.ContextVar[dict[LoopSite, int] | None] = contextvars.ContextVar("hlobatch_counted", default=None)
_kept: contextvars.ContextVar[set[LoopSite] | None] = contextvars.ContextVar("hlobatch_kept", default=None)
_writes_out: contextvars.ContextVar[bool] = contextvars.ContextVar("hlobatch_writes_out", default=False)


@contextlib.contextmanager
def counted(writes_out: bool) -> Iterator[Mapping[LoopSite, int]]:
    """A context that collects trip counts known when the program is built, as tracing reaches the loops.

    Args:
        writes_out: Whether short loops are written out for speed.
    """
    found: dict[LoopSite, int] = {}
    with having(_counted, found), having(_writes_out, writes_out), having(_kept, set()):
        yield found


@contextlib.contextmanager
def counted_in_vain() -> Iterator[None]:
    """A context for tracing that serves messages alone: at its end, trip counts counted before are restored.

    Counts of other loops are kept, since code whose trace is cached does not report them again.
    """
    before, in_vain = _counted.get(), dict(_counted.get() or {})
    with having(_counted, in_vain), having(_kept, {*(_kept.get() or ())}):
        try:
            yield
        finally:
            if before is not None:
                before.update({site: turns for site, turns in in_vain.items() if site not in before})


def count_turns(site: LoopSite, turns: int | None) -> None:
    """Record the trip count of a loop, or that it is not known (None)."""
    found = _counted.get()
    if found is None:
        return
    if turns is None:
        found.pop(site, None)
    else:
        found[site] = turns


def turns_of(site: LoopSite) -> int | None:
    """The trip count of a loop that tracing has reached; None if it is not known."""
    found = _counted.get()
    return None if found is None else found.get(site)


def is_in_counted_loop(error: HloBatchError) -> bool:
    """Whether an error may be due to a loop whose turns could be written out."""
    return any(site.holds(place) for site in _counted.get() or () for place in error.places)


def keep_as_loop(site: LoopSite) -> None:
    """Record that a loop is not written out for now, though its items are no numbers."""
    if (kept := _kept.get()) is not None:
        kept.add(site)


def is_kept_as_loop(site: LoopSite) -> bool:
    """Whether a loop was recorded by ``keep_as_loop``; any error may be due to it."""
    return site in (_kept.get() or ())


def pays_written_out(site: LoopSite, turns: int) -> bool:
    """Whether a loop over known items is written out for speed."""
    return _writes_out.get() and site.is_plain and turns * site.size <= MOST_STATEMENTS_WRITTEN_OUT_FOR_SPEED


class Learned(Exception):  # noqa: N818  # nothing is wrong
    """Raised while code is traced, and at the end of a round: the program has to be built again with further facts.

    Attributes:
        facts: Pairs of a site and a fact; the class of a fact is its kind.
    """

    def __init__(self, site: Site, fact: Any, *more: tuple[Site, Any]) -> None:
        super().__init__(site, fact, *more)
        self.facts = ((site, fact), *more)


class Tried(Exception):  # noqa: N818  # nothing is wrong
    """Raised by code that is traced only to see whether a guess, with which the program was built, is right.

    Attributes:
        fact: The site and the fact that answers the question.
        is_expected: Whether the guess is right, so that the program need not be built again.
    """

    def __init__(self, site: Site, fact: Any, *, is_expected: bool) -> None:
        super().__init__(site, fact)
        self.fact, self.is_expected = (site, fact), is_expected


def tell(facts: Sequence[tuple[Site, Any]]) -> None:
    """Raise ``Learned`` at the end of a round if there are facts.

    Args:
        facts: Pairs of a site and a fact.

    Raises:
        Learned: There is at least one fact.
    """
    if facts:
        raise Learned(*facts[0], *facts[1:])


class NotYet(Exception):  # noqa: N818  # nothing is wrong so far
    """Raised while code is traced: it reads an item of a container in which nothing with a known type was put yet.

    Attributes:
        error: The error to raise if nothing ever is.
        fact: The site and the fact that the code surely fails, if the program catches that; else None.
    """

    def __init__(self, error: HloBatchError, fact: tuple[Site, Any] | None = None) -> None:
        super().__init__(error)
        self.error, self.fact = error, fact
