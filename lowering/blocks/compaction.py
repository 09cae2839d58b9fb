"""An expensive block at which few lanes wait -> its primitives on arrays of only those lanes (stream compaction).

::

    r = where(mask, f(x), r)    ==>    lanes = positions of the mask, where those are at most 8
                                       r     = r.at[lanes].set(f(x[lanes]))

Arrays are ``[lanes, *event]`` here. The module has the code once for each width of arrays (``strategy/widths.py``), and
once for all lanes, each in a ``stablehlo.while`` of its own: that for the least width that fits turns once, the others
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

from hlobatch.lowering.arrays.masks import from_active_lane, masked
from hlobatch.lowering.arrays.rows import IN_BOUNDS
from hlobatch.lowering.arrays.where import where
from hlobatch.lowering.module.tie import tied
from hlobatch.lowering.module.trim import Trimmed, trimmed
from hlobatch.typing import ArrayLike

Values = Mapping[str, Any]

Widths = Mapping[int, tuple[int, ...]]
"""By the index of a block, ascending widths of arrays, each for at most so many waiting lanes; then all lanes."""


@dataclass(frozen=True)
class Selection(ABC):
    """The lanes that primitives are computed for.

    Attributes:
        mask: Those whose results are kept, ``bool[lanes]``.
    """

    mask: ArrayLike

    @property
    @abstractmethod
    def count(self) -> Any:
        """The number of lanes that primitives are computed for."""

    @property
    @abstractmethod
    def each_once(self) -> Any:
        """``bool[count]``: true once for each lane of the mask, false for lanes that only fill up the width."""

    @abstractmethod
    def taken(self, array: ArrayLike) -> Any:
        """An array of ``count`` lanes, as a primitive is given it, from an array of all lanes."""

    @abstractmethod
    def real(self, array: ArrayLike) -> Any:
        """An array of ``count`` lanes, with the values of inactive lanes replaced by that of an active lane."""

    @abstractmethod
    def put(self, array: ArrayLike, new: ArrayLike) -> Any:
        """The array of all lanes, with the results ``new`` of ``count`` lanes put in the lanes of the mask."""


@dataclass(frozen=True)
class Everyone(Selection):
    """All lanes."""

    @property
    def count(self) -> Any:
        return self.mask.shape[0]

    @property
    def each_once(self) -> Any:
        return self.mask

    def taken(self, array: ArrayLike) -> Any:
        return array

    def real(self, array: ArrayLike) -> Any:
        return from_active_lane(self.mask, array)

    def put(self, array: ArrayLike, new: ArrayLike) -> Any:
        return masked(self.mask, new, array)


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
        first = jnp.full(self.width + 1, jnp.argmax(self.mask), jnp.int32)  # the last element takes all other lanes
        return first.at[rank].set(jnp.arange(self.mask.shape[0], dtype=jnp.int32), **IN_BOUNDS)[: self.width]

    def taken(self, array: ArrayLike) -> Any:
        return array.at[self._positions].get(**IN_BOUNDS)

    def real(self, array: ArrayLike) -> Any:
        return array

    def put(self, array: ArrayLike, new: ArrayLike) -> Any:
        return array.at[self._positions].set(new, **IN_BOUNDS)


Run = Callable[[Selection, Values], Sequence[Any]]

MASK: Final = "mask"
"""The name of the mask among the values that a loop reads."""
WIDTH: Final = "width"
"""The name of the carried number that says which of the loops turns; it is carried beside the values written."""


def compacted(
    run: Run, widths: Sequence[int], mask: ArrayLike, values: Values, varying: Collection[str], written: Sequence[str]
) -> dict[str, Any]:
    """Compute on the narrowest arrays that hold the lanes of a mask, and not at all if it has none.

    Args:
        run: A function of lanes and values, by name, to the values that ``written`` names.
        widths: Widths of arrays, ascending; all lanes come after them.
        mask: ``bool[lanes]``.
        values: The values that ``run`` is given, by name.
        varying: Names of values that change from one run of the block to the next.
        written: Names of values that ``run`` changes.

    Returns:
        The values that ``run`` changed, by name.
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
