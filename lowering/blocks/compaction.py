"""An expensive block at which few lanes wait -> its primitives on arrays of only those lanes (stream compaction).

::

    r = where(mask, f(x), r)    ==>    lanes = positions of the mask, where those are at most 8
                                       r     = r.at[lanes].set(f(x[lanes]))

Arrays are ``[lanes, *event]`` here. The module has the code once for each width of arrays (``strategy/widths.py``), and
once for all lanes, each in a ``stablehlo.while`` of its own: that of the least width that fits turns once, the others
not at all. ``lowering/turns/turn.py`` says why that is better than a conditional.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.lowering.arrays.masks import Put, from_active_lane, putting
from hlobatch.lowering.arrays.rows import IN_BOUNDS
from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.module.tie import tied
from hlobatch.lowering.module.trim import Trimmed, trimmed

Values = Mapping[str, Any]

Widths = Mapping[int, tuple[int, ...]]
"""Indices of blocks -> widths of arrays, ascending, for as many waiting lanes at most; after them, all lanes."""


@dataclass(frozen=True)
class Selection(ABC):
    """The lanes that primitives are computed for.

    Attributes:
        mask: Those whose results are kept, ``bool[lanes]``.
    """

    mask: Any

    @property
    @abstractmethod
    def count(self) -> Any:
        """How many are computed for."""

    @property
    @abstractmethod
    def each_once(self) -> Any:
        """Which of those that are computed for are lanes of the mask, each once, ``bool[count]``."""

    @abstractmethod
    def taken(self, array: Any) -> Any:
        """What a primitive is given, of ``count`` lanes, of an array of all lanes."""

    @abstractmethod
    def real(self, array: Any) -> Any:
        """An array that was taken, with values of inactive lanes replaced by one of an active lane."""

    @abstractmethod
    def put(self, array: Any, new: Any) -> Any:
        """The array of all lanes with what was computed, of ``count`` lanes, in the lanes of the mask."""


@dataclass(frozen=True)
class Everyone(Selection):
    """All lanes.

    Attributes:
        axis: Where arrays have the axis of lanes.
        by_bits: Whether results are put into them bit by bit; see ``masks.putting``.
    """

    axis: int = 0
    by_bits: bool = False

    @property
    def count(self) -> Any:
        return self.mask.shape[0]

    @property
    def each_once(self) -> Any:
        return self.mask

    def taken(self, array: Any) -> Any:
        return array

    def real(self, array: Any) -> Any:
        return from_active_lane(self.mask, array, self.axis)

    def put(self, array: Any, new: Any) -> Any:
        return self._put(array, new)

    @cached_property
    def _put(self) -> Put:
        return putting(self.mask, self.axis, by_bits=self.by_bits)


@dataclass(frozen=True)
class All(Everyone):
    """All lanes, every one of them in the mask."""

    def real(self, array: Any) -> Any:
        return array

    def put(self, array: Any, new: Any) -> Any:
        return jnp.broadcast_to(jnp.asarray(new, array.dtype), array.shape)


@dataclass(frozen=True)
class Few(Selection):
    """The lanes of a mask that has one to ``width`` of them; if there are fewer, the first one fills the rest."""

    width: int

    @property
    def count(self) -> int:
        return self.width

    @property
    def each_once(self) -> Any:
        return jnp.arange(self.width) < jnp.sum(self.mask, dtype=jnp.int32)

    @cached_property
    def _positions(self) -> Any:
        rank = where(self.mask, jnp.cumsum(self.mask, dtype=jnp.int32) - 1, self.width)
        first = jnp.full(self.width + 1, jnp.argmax(self.mask), jnp.int32)  # one more, for the lanes that are not there
        return first.at[rank].set(jnp.arange(self.mask.shape[0], dtype=jnp.int32), **IN_BOUNDS)[: self.width]

    def taken(self, array: Any) -> Any:
        return array.at[self._positions].get(**IN_BOUNDS)

    def real(self, array: Any) -> Any:
        return array

    def put(self, array: Any, new: Any) -> Any:
        return array.at[self._positions].set(new, **IN_BOUNDS)


Run = Callable[[Selection, Values], Sequence[Any]]

MASK: Final = "mask"
"""The name of the mask among the values that a loop reads."""
WIDTH: Final = "width"
"""The name of the number, carried beside the values that are written, of the loop that turns."""


def compacted(
    run: Run, widths: Sequence[int], mask: Any, values: Values, varying: Collection[str], written: Sequence[str]
) -> dict[str, Any]:
    """Compute on the narrowest arrays that hold the lanes of a mask, and not at all if it has none.

    Args:
        run: From lanes and values to what ``written`` names.
        widths: Of the arrays, ascending; after them, all lanes.
        mask: ``bool[lanes]``.
        values: What ``run`` is given.
        varying: Names of values that change from one time to the next.
        written: Names of values that ``run`` changes.

    Returns:
        What has changed.
    """
    values = {MASK: mask, **values}
    avals = {name: jax.ShapeDtypeStruct(value.shape, value.dtype) for name, value in values.items()}
    selections: list[Callable[[Any], Selection]] = [*(partial(Few, width=width) for width in widths), Everyone]
    parts = [
        trimmed(partial(_selected, run, those, tuple(values)), tuple(values), written, avals) for those in selections
    ]
    changed = parts[-1].writes
    waiting = jnp.sum(mask, dtype=jnp.int32)
    width = jnp.sum(waiting > np.asarray(widths, np.int32), dtype=jnp.int32)
    carried = {WIDTH: where(waiting > 0, width, len(parts)), **{name: values[name] for name in changed}}
    for index, part in enumerate(parts):
        part = tied(part, [name for name in part.reads if name in (MASK, *varying) and name not in changed], WIDTH)
        turn = partial(_turn, part, values, jnp.int32(len(parts)))
        carried = jax.lax.while_loop(partial(_turns, index), turn, carried)
    return {name: carried[name] for name in changed}


def _selected(run: Run, of: Callable[[Any], Selection], names: Sequence[str], *given: Any) -> Sequence[Any]:
    values = dict(zip(names, given, strict=True))
    return run(of(values.pop(MASK)), values)


def _turns(index: int, carried: Values) -> Any:
    return carried[WIDTH] == index


def _turn(part: Trimmed, values: Values, after: Any, carried: Values) -> dict[str, Any]:
    given = {**values, **carried}
    results = zip(part.writes, part.run(*(given[name] for name in part.reads)), strict=True)
    return {**carried, **{name: value for name, value in results if name in carried}, WIDTH: after}
