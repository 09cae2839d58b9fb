"""The jaxpr of one lane -> operations on tiles, equation by equation, by the rules for primitives.

A lane's array has the axes of the lane first, then those of a tile: a vector of three numbers is three tiles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import ClosedJaxpr, Literal, called_by, random_function
from hlobatch.ir.evaluation import as_it_is, evaluated, inlined, known_at_first
from hlobatch.kernels import arithmetic, functions  # noqa: F401  # imported for the primitives that they register
from hlobatch.kernels.rules import NUMBERS
from hlobatch.kernels.types import NoKernelError, layout
from hlobatch.targets.tpu import shapes  # noqa: F401  # imported for its rules
from hlobatch.targets.tpu.indices import COMBINED
from hlobatch.targets.tpu.rules import RULES, all_indices, rule, shape_of, size_of
from hlobatch.targets.tpu.tile import TILE, Tile, full, nothing

NONE: Final[Mapping[int, Tile]] = MappingProxyType({})
OF_NOTHING: Final = frozenset({"cond", "pad", "scan", "concatenate", *COMBINED})
"""Primitives with a rule for arrays without elements."""


def on_tiles(code: ClosedJaxpr, values: Sequence[Tile], captured: Mapping[int, Tile] = NONE) -> list[Tile]:
    """The results of a jaxpr of one lane, for each element of tiles.

    Args:
        code: The jaxpr.
        values: Its operands.
        captured: Arrays that the host passes, by the identity of the constants that they stand for.
    """
    code = inlined(code, called_by)
    jaxpr: Any = code.jaxpr
    constants = [captured[id(array)] if id(array) in captured else _constant(array) for array in code.consts]
    known = known_at_first(ClosedJaxpr(jaxpr, constants), values)
    found = evaluated(jaxpr.eqns, known, jaxpr.outvars, _on_tiles, called_by)
    return [_spread(x, *layout(v.aval)) for x, v in zip(found, jaxpr.outvars, strict=True)]


def _constant(array: Any) -> Tile:
    """A known array of a lane; a kernel of Pallas has numbers as constants alone."""
    array = np.asarray(array)
    numbers = [full(x.item(), array.dtype) for x in array.reshape(-1)]
    return jnp.stack(numbers).reshape(*array.shape, *TILE) if numbers else nothing(array.dtype, array.shape)


def _spread(x: Any, dtype: Any, shape: tuple[int, ...]) -> Tile:
    """A number as tiles of an array that has it everywhere; tiles are returned as they are."""
    if not math.prod(shape):
        return nothing(dtype, shape)
    x = jnp.asarray(x, dtype)
    if x.ndim == 0:
        return full(x, dtype, shape)
    missing = len(shape) - (x.ndim - len(TILE))
    return jnp.broadcast_to(x.reshape(*[1] * missing, *x.shape), (*shape, *TILE))


def _on_tiles(equation: Any, given: Sequence[Any]) -> Sequence[Tile]:
    """The results of an equation on tiles."""
    name, shape = equation.primitive.name, shape_of(equation.outvars[0])
    if not any(map(size_of, equation.outvars)):
        return [nothing(*layout(v.aval)) for v in equation.outvars]
    if (drawn := random_function(equation)) is not None:
        avals = [jax.ShapeDtypeStruct(s, d) for d, s in (layout(v.aval) for v in equation.invars)]
        return on_tiles(jax.make_jaxpr(drawn)(*avals), _all_spread(equation, given))
    if name in RULES and (all(map(size_of, equation.invars)) or name in OF_NOTHING):
        found = RULES[name](equation, _all_spread(equation, given))
        return found if isinstance(found, list) else [found]
    if not all(map(size_of, equation.invars)):
        raise NoKernelError(f"`{name}` of an array without elements has no code in tiles")
    if name.startswith(("reduce_", "arg")) or name in ("sort", "squeeze"):  # along axes of the lane
        return as_it_is(equation, _all_spread(equation, given))
    is_known = not shape or name in NUMBERS or name == "threefry2x32"
    if not is_known or not all(_fits(shape_of(v), shape) for v in equation.invars):
        raise NoKernelError(f"`{name}` of arrays has no code in tiles")
    return as_it_is(
        equation, [_spread(x, layout(v.aval)[0], shape) for x, v in zip(given, equation.invars, strict=True)]
    )


def _fits(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """Whether an array is a number, or has each axis of another, maybe with one element."""
    return not shape or (len(shape) == len(whole) and all(n in (1, m) for n, m in zip(shape, whole, strict=True)))


def _all_spread(equation: Any, given: Sequence[Any]) -> list[Tile]:
    """The operands of an equation as tiles."""
    arrays = [
        _constant(x) if isinstance(v, Literal) and np.ndim(x) else x
        for x, v in zip(given, equation.invars, strict=True)
    ]
    return [_spread(x, *layout(v.aval)) for x, v in zip(arrays, equation.invars, strict=True)]


@rule("cond")
def _(equation: Any, given: Sequence[Tile]) -> list[Tile]:
    """All branches run, and each lane takes the results of its own."""
    which, *operands = given
    which = jnp.clip(which.astype(jnp.int32), 0, len(equation.params["branches"]) - 1)
    each = [on_tiles(branch, operands) for branch in equation.params["branches"]]
    found = each[0]
    for k, results in enumerate(each[1:], 1):
        found = [jnp.where(which == k, new, old) if new.size else new for new, old in zip(results, found, strict=True)]
    return found


@rule("scan")
def _(equation: Any, given: Sequence[Tile]) -> list[Tile]:
    """The results of a loop of known length, whose turns are written one after the other."""
    p = equation.params
    of_each = p["num_consts"] + p["num_carry"]
    constants, carry, rows = given[: p["num_consts"]], list(given[p["num_consts"] : of_each]), given[of_each:]
    found = dict[int, list[Tile]]()
    for (k,) in list(all_indices([p["length"]]))[:: -1 if p["reverse"] else 1]:
        results = on_tiles(p["jaxpr"], [*constants, *carry, *(x[k] for x in rows)])
        carry, found[k] = results[: p["num_carry"]], results[p["num_carry"] :]
    types = [(shape_of(v), v.aval.dtype) for v in equation.outvars[p["num_carry"] :]]
    each = [[found[k][n] for k in range(p["length"])] for n in range(len(types))]
    return [
        *carry,
        *(jnp.stack(xs) if xs else nothing(d, s) for xs, (s, d) in zip(each, types, strict=True)),
    ]
