"""Keeps programs and executables of a batched function, and finds them by the values that the function reads.

A program contains the values that globals, attributes and captured arrays had when it was made. A call finds the
programs that were made with the values as they are now; if a value changes back, the earlier programs are found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from hlobatch.analysis.surroundings import Surroundings
from hlobatch.runtime.plan import Executables, Plan
from hlobatch.runtime.shortcuts import Shortcuts
from hlobatch.transforms.attempts import Lessons
from hlobatch.typing import Arrays

MOST_KEPT: Final = 8
"""Number of earlier states of these values for which programs are kept. Chosen by judgement (2026-11), not measured."""


@dataclass(eq=False)
class Made:
    """Everything made for a function while the values that it reads from outside stay the same.

    Attributes:
        surroundings: These values; None as long as nothing was made.
        plans: The plan for each kind of call.
        executables: The executables of the plans, kept alive.
        shortcuts: The shortcuts of calls.
        rooms: For each kind of call, the factor on the initial capacity of containers.
        lessons: For each kind of call whose containers may need more, what making its program has taught.
    """

    surroundings: Surroundings | None = None
    plans: dict[Any, Plan] = field(default_factory=dict)
    executables: list[Executables] = field(default_factory=list)
    shortcuts: Shortcuts = field(default_factory=Shortcuts)
    rooms: dict[Any, int] = field(default_factory=dict)
    lessons: dict[Any, Lessons] = field(default_factory=dict)

    def is_current(self) -> bool:
        """Whether all values that are read from outside are as they were."""
        return self.surroundings is None or self.surroundings.are_as_before()

    def add(self, key: Any, plan: Plan, values: Arrays) -> None:
        """Keep a plan; ``values`` are the roots of what it reads from outside, to which making it may have added."""
        self.plans[key] = plan
        self.executables.append(plan.executables)
        self.surroundings = Surroundings(values)


@dataclass(eq=False)
class Kept:
    """Everything that is kept for a function.

    Attributes:
        latest: The programs and executables made for the values at the last call.
        earlier: Those made for earlier values, the oldest first.
    """

    latest: Made = field(default_factory=Made)
    earlier: list[Made] = field(default_factory=list)

    def find(self, values: Arrays) -> Made:
        """The programs made for the values that some functions and objects read now; empty if these are new."""
        if not self.latest.is_current():
            now = Surroundings(values)
            others = [*self.earlier, self.latest]
            alike = (made for made in others[::-1] if made.surroundings and made.surroundings.are_like(now))
            found = next(alike, Made())
            found.surroundings = found.surroundings and now
            self.earlier = [made for made in others if made is not found][-MOST_KEPT:]
            self.latest = found
        return self.latest
