"""A primitive that updates an array in place -> the primitive under a mask that guards only the elements updated.

::

    new  = array.at[i].set(x)                      i     = where(active, i, len(array))
    array = where(active, new, array)      ==>     array = array.at[i].set(x)

A lane that is not active must keep its array. The form on the left selects between two whole arrays, so it reads and
writes all elements of both, however few were updated. The form on the right has such a lane scatter to an index past
the end, which XLA drops, and the array is updated in place. Two kinds of updates cannot be sent past the end: those at
an index that all lanes share, and those that clamp their index. There, a lane that is not active writes the values that
the array has at that index already.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import Aval, ClosedJaxpr, Equation, Jaxpr, function_of
from hlobatch.analysis.updates import SLICE, Origins
from hlobatch.ir.evaluation import as_it_is, evaluated, inlined, known_at_first, variables_among
from hlobatch.jax_primitives import UPDATES
from hlobatch.lowering.arrays.where import where
from hlobatch.typing import ArrayLike


@dataclass(frozen=True)
class Updating:
    """A function of one lane that updates arrays it is given.

    Attributes:
        closed: The code of the function.
        updates: By the index of each equation that updates, whether lanes may differ in the place that it updates.
        results: Positions of the results that are an updated argument.
    """

    closed: ClosedJaxpr
    updates: Mapping[int, bool]
    results: frozenset[int]

    def __call__(self, active: Any, *arrays: ArrayLike) -> list[Any]:
        """The results; in a lane that is not active, those at ``results`` are the arguments, unchanged."""
        jaxpr: Jaxpr = self.closed.jaxpr
        known = known_at_first(self.closed, arrays)
        order, opaque = self._updates_last(), set[Any]()
        for position, index in enumerate(order):
            run = as_it_is
            if index in self.updates:
                read = self._to_hold(order[:position], order[position:], opaque)
                now, *values = held([active, *(known[v] for v in read)])
                known.update(zip(read, values, strict=True))
                opaque.update(read)
                run = partial(_where, now, self.updates[index])
            evaluated([jaxpr.eqns[index]], known, (), run)
        return evaluated((), known, jaxpr.outvars)

    def _updates_last(self) -> list[int]:
        """The indices of all equations; those that can be computed before any array is updated come first."""
        later = set[Any]()
        first, rest = list[int](), list[int]()
        for index, equation in enumerate(self.closed.jaxpr.eqns):
            waits = index in self.updates or not later.isdisjoint(variables_among(equation.invars))
            (rest if waits else first).append(index)
            later.update(equation.outvars if waits else ())
        return [*first, *rest]

    def _to_hold(self, before: Sequence[int], after: Sequence[int], opaque: AbstractSet[Any]) -> list[Any]:
        """The values to hold before an update: computed from arrays that are updated, and used after it.

        Args:
            before: Indices of the equations that have been evaluated.
            after: Indices of the others; the first of them is the update.
            opaque: Values that are held already.
        """
        equations = self.closed.jaxpr.eqns
        first, *rest = (equations[i] for i in after)
        array, later = first.invars[0], {equations[i].invars[0] for i in after[1:] if i in self.updates}
        wanted = set(variables_among(self.closed.jaxpr.outvars)).union(
            *(variables_among(equation.invars) for equation in rest)
        )
        of_others = set(self._read_from(later - {array}, before, opaque)).intersection(variables_among(first.invars))
        return [v for v in self._read_from({array, *later}, before, opaque) if v in wanted | of_others]

    def _read_from(self, arrays: AbstractSet[Any], before: Sequence[int], opaque: AbstractSet[Any]) -> list[Any]:
        """The values computed from arrays so far, except for the updated arrays themselves."""
        found = dict.fromkeys(arrays)
        for index in before:
            equation = self.closed.jaxpr.eqns[index]
            if index not in self.updates and not found.keys().isdisjoint(variables_among(equation.invars)):
                found |= dict.fromkeys(v for v in equation.outvars if v not in opaque)
        return [v for v in found if v not in arrays]


def held(arrays: list[Any]) -> list[Any]:
    """The arrays behind an optimization barrier, so that each is computed once, before any use of any of them.

    A value read from an array that is then updated has to be read before the update. Without the barrier, XLA may fuse
    the read into a use after the update, and has to copy the whole array for that.
    """
    return arrays if len(arrays) == 1 else list(lax.optimization_barrier(arrays))


def updating(
    function: Callable[..., Sequence[Any]], avals: Sequence[Aval], varies: Sequence[bool], targets: Mapping[int, int]
) -> Updating | None:
    """A function as one that updates arguments in place, under a mask; None if it updates none.

    Args:
        function: Of one lane's arrays.
        avals: Shapes and dtypes of those arrays.
        varies: For each, whether lanes differ in it.
        targets: By the position of a result that is assigned to the variable of an argument, that argument's position.
    """
    code = Origins(inlined(jax.make_jaxpr(function)(*avals)))
    jaxpr = code.jaxpr
    differ = {v for v, differs in zip(jaxpr.invars, varies, strict=True) if differs}
    place_varies = []
    for equation in jaxpr.eqns:
        given = _places(equation) if equation.primitive.name in UPDATES else ()
        place_varies.append(not differ.isdisjoint(variables_among(given)))
        if not differ.isdisjoint(variables_among(equation.invars)):
            differ.update(equation.outvars)
    found = {}
    for result, argument in targets.items():
        origin, updates = code.origin(jaxpr.outvars[result])
        may_be = all(_may_be_left_out(jaxpr.eqns[i], place_varies=place_varies[i]) for i in updates)
        if origin is jaxpr.invars[argument] and updates and may_be:
            found[result] = updates
    if not found:
        return None
    return Updating(code.closed, {i: place_varies[i] for updates in found.values() for i in updates}, frozenset(found))


def _places(equation: Equation) -> Sequence[Any]:
    """The operands that say where an update goes."""
    return list(equation.invars[2:] if equation.primitive.name == SLICE else equation.invars[1:2])


def _may_be_left_out(equation: Equation, *, place_varies: bool) -> bool:
    """Whether an update can be masked, so that it changes nothing in a lane that is not active."""
    return equation.primitive.name == SLICE or _goes_past_the_end(equation, place_varies) or _is_plain(equation)


def _goes_past_the_end(equation: Equation, place_varies: bool) -> bool:
    """Whether to send the scatter of an inactive lane past the end.

    A scatter at one index that all lanes share is not sent there: it writes one row of all lanes at once, as it should.
    """
    numbers = equation.params["dimension_numbers"].scatter_dims_to_operand_dims
    return bool(place_varies and numbers and equation.params["mode"] != lax.GatherScatterMode.CLIP)


def _is_plain(equation: Equation) -> bool:
    """Whether an update is a scatter that overwrites, without combining new elements with old ones."""
    return equation.primitive.name == "scatter" and equation.params["update_jaxpr"] is None


def _where(active: Any, place_varies: bool, equation: Equation, values: Sequence[Any]) -> Sequence[Any]:
    """The result of an update in an active lane, and the array that was given in any other."""
    array, *rest = values
    if equation.primitive.name == SLICE:
        update, *starts = rest
        old = lax.dynamic_slice(array, starts, update.shape, allow_negative_indices=False)
        return function_of(equation)(array, where(active, update, old), *starts)
    index, update = rest
    if not _goes_past_the_end(equation, place_varies):
        return function_of(equation)(array, index, where(active, update, _there(equation, array, index, update)))
    past = np.array([array.shape[d] for d in equation.params["dimension_numbers"].scatter_dims_to_operand_dims])
    if past.max() > np.iinfo(index.dtype).max:
        index = index.astype(jnp.int32)
    scatter = function_of(equation, mode=lax.GatherScatterMode.FILL_OR_DROP)
    return scatter(array, where(active, index, past.astype(index.dtype)), update)


def _there(equation: Equation, array: ArrayLike, index: Any, update: Any) -> Any:
    """The old elements where a scatter writes, in the shape of its updates; any elements where it writes nothing."""
    dims = equation.params["dimension_numbers"]
    one_wide = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window = iter(dims.update_window_dims)
    sizes = tuple(1 if d in one_wide else update.shape[next(window)] for d in range(array.ndim))
    gathered = lax.GatherDimensionNumbers(
        offset_dims=dims.update_window_dims,
        collapsed_slice_dims=dims.inserted_window_dims,
        start_index_map=dims.scatter_dims_to_operand_dims,
        operand_batching_dims=dims.operand_batching_dims,
        start_indices_batching_dims=dims.scatter_indices_batching_dims,
    )
    return lax.gather(array, index, gathered, sizes, mode=lax.GatherScatterMode.CLIP)
