"""A batched function -> what was made of it in earlier calls, found again by what it reads outside.

Programs have the values in them that names of a module, attributes of objects and arrays outside had when they were
made. A call finds those that were made when all that was as it is now; a change back finds what was made before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hlobatch.analysis.surroundings import Surroundings
from hlobatch.runtime.plan import Executables, Plan
from hlobatch.runtime.shortcuts import Shortcuts

MOST_KEPT: Final = 8
"""States of what is read outside of which all that was made is kept. Chosen by judgement (2026-11), not measured."""


@dataclass(eq=False)
class Made:
    """What was made of a function, as long as what it reads outside stays as it is.

    Attributes:
        surroundings: That; None as long as nothing was made.
        plans: By what calls have in common.
        executables: Those of the plans.
        shortcuts: Of calls.
        rooms: By what calls have in common, how many times as much room their containers have as at first.
    """

    surroundings: Surroundings | None = None
    plans: dict[Any, Plan] = field(default_factory=dict)
    executables: list[Executables] = field(default_factory=list)
    shortcuts: Shortcuts = field(default_factory=Shortcuts)
    rooms: dict[Any, int] = field(default_factory=dict)

    def is_current(self) -> bool:
        """Whether all that is read outside is as it was."""
        return self.surroundings is None or self.surroundings.are_as_before()

    def add(self, key: Any, plan: Plan, values: Sequence[Any]) -> None:
        """Keep a plan that was made with what these values read; making it may have added to that."""
        self.plans[key] = plan
        self.executables.append(plan.executables)
        self.surroundings = Surroundings(values)


@dataclass(eq=False)
class Kept:
    """All that is kept of a function.

    Attributes:
        latest: What was made as all was in the last call.
        earlier: What was made before, the oldest first.
    """

    latest: Made = field(default_factory=Made)
    earlier: list[Made] = field(default_factory=list)

    def find(self, values: Sequence[Any]) -> Made:
        """What was made with all that some functions and objects read as it is now; nothing yet, if that is new."""
        if not self.latest.is_current():
            now = Surroundings(values)
            others = [*self.earlier, self.latest]
            alike = (made for made in others[::-1] if made.surroundings and made.surroundings.are_like(now))
            found = next(alike, Made())
            found.surroundings = found.surroundings and now
            self.earlier = [made for made in others if made is not found][-MOST_KEPT:]
            self.latest = found
        return self.latest
