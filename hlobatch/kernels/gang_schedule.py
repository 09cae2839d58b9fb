"""The dear blocks of a gang, and how many lanes wait at each -> the one that runs next.

A cheap block runs whenever a lane is at it. A dear block runs once waiting has cost as much as running it now would
waste (a ski-rental rule): the time that other blocks took meanwhile, times the lanes that waited here, is compared with
the block's own cost, times the running lanes that are elsewhere. If no lane is at a cheap block, the dear block with
the largest difference runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hlobatch.kernels.gang_emitter import GangEmitter

_NEVER: Final = str(-(1 << 62))


class Choice:
    """The choice among the dear blocks of a program.

    Attributes:
        emitter: Writes the gang's code.
        costs: The cost of each dear block, by the block's number.
    """

    def __init__(self, emitter: GangEmitter, costs: Mapping[int, int]) -> None:
        self.emitter, self.costs = emitter, costs
        self._spent = emitter.counter() if costs else ""
        self._waited = {number: emitter.counter() for number in costs}

    def begin(self) -> None:
        """Set all counters to zero."""
        for cell in [self._spent, *self._waited.values()] if self.costs else ():
            self.emitter.plain_do(f"store i64 0, ptr {cell}")

    def spend(self, cost: int) -> None:
        """Account for a block that has run: lanes at dear blocks waited for ``cost``."""
        if self.costs:
            self._add(self._spent, str(cost))

    def ran(self, number: int) -> None:
        """Account for dear block ``number`` that has run: nothing waits at it any more."""
        self.emitter.plain_do(f"store i64 0, ptr {self._waited[number]}")
        self.spend(self.costs[number])

    def pick(self, lanes: Mapping[int, str], running: str) -> str:
        """The register with the number of the dear block that runs next, or -1 for none.

        Args:
            lanes: For each dear block, the register with the number of lanes at it.
            running: The register with the number of lanes at any block.
        """
        e, at_dear = self.emitter, "0"
        for here in lanes.values():
            at_dear = e.plain(f"add i64 {at_dear}, {here}")
        elsewhere = e.plain(f"icmp ult i64 {at_dear}, {running}")
        spent = e.plain(f"load i64, ptr {self._spent}")
        e.plain_do(f"store i64 0, ptr {self._spent}")
        best, most = "-1", e.plain(f"select i1 {elsewhere}, i64 -1, i64 {_NEVER}")
        for number, here in lanes.items():
            waited = self._add(self._waited[number], e.plain(f"mul i64 {spent}, {here}"))
            idle = e.plain(f"mul i64 {e.plain(f'sub i64 {running}, {here}')}, {self.costs[number]}")
            worth = e.plain(f"sub i64 {waited}, {idle}")
            nobody = e.plain(f"icmp eq i64 {here}, 0")
            worth = e.plain(f"select i1 {nobody}, i64 {_NEVER}, i64 {worth}")
            better = e.plain(f"icmp sgt i64 {worth}, {most}")
            best = e.plain(f"select i1 {better}, i32 {number}, i32 {best}")
            most = e.plain(f"select i1 {better}, i64 {worth}, i64 {most}")
        return best

    def _add(self, cell: str, more: str) -> str:
        e = self.emitter
        total = e.plain(f"add i64 {e.plain(f'load i64, ptr {cell}')}, {more}")
        e.plain_do(f"store i64 {total}, ptr {cell}")
        return total
