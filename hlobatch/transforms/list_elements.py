"""Evaluates a jaxpr on single numbers with arrays, where numbers are elements of arrays.

::

    a, b, c = in_parts(counts)                 counts
    d = b + 1                            ==>   d = counts[1] + 1
    as_one(a, d, c)                            dynamic_update_slice(counts, [d], (1,))

During evaluation, an element of an array is a pair of the array and a position (``Element``). It is sliced out of the
array only if an equation computes with it. Where an array is put together from the elements of one array, each at its
own position, the result is that array, updated where elements differ. So nothing is computed for elements that a
statement neither reads nor writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hlobatch._jax import Atom, Aval, Equation, Literal, weakly
from hlobatch.ir.evaluation import evaluated
from hlobatch.ir.joined import makes_one, makes_parts
from hlobatch.typing import DType

MOST_PIECES_UPDATED: Final = 4
"""Pieces of an array that are updated one by one. With more pieces, a new array is concatenated, unless most elements
stay the same. Chosen by judgement when lists were first merged (2026-11-27), not measured.
"""


@dataclass(frozen=True)
class Element:
    """An element of an array of one dimension, before it is sliced out of the array.

    Attributes:
        array: The array.
        position: The index of the element.
        dtype: The number's dtype, which may differ from the array's: a conversion waits until the number is needed.
        weak: Whether the number is a Python scalar, which adopts the dtype of the array it meets.
    """

    array: Any
    position: int
    dtype: DType
    weak: bool

    def follows(self, other: Any) -> bool:
        """Whether this element comes right after ``other`` in the same array, with the same dtype."""
        is_near = isinstance(other, Element) and other.array is self.array and other.dtype == self.dtype
        return is_near and other.position + 1 == self.position

    def as_number(self) -> Any:
        """The element as an array of no dimension."""
        number = lax.squeeze(lax.slice_in_dim(self.array, self.position, self.position + 1), (0,))
        if self.weak and not number.weak_type:
            number = weakly(number, self.dtype)
        return _converted(number, self.dtype)


class ElementEvaluator:
    """Evaluates jaxprs whose values are arrays or elements of arrays; each element is sliced out at most once."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int, Any, bool], Any] = {}
        self._arrays_alive: list[Any] = []  # ``_numbers`` has keys made of their ids, which must not be reused

    def results(self, closed: Any, arguments: Sequence[Any]) -> list[Any]:
        """The results of a jaxpr, each an array or an ``Element``.

        Args:
            closed: The jaxpr.
            arguments: Its arguments, each an array or an ``Element``.
        """
        jaxpr = closed.jaxpr
        known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *arguments), strict=True))

        def value(atom: Atom) -> Any:
            return atom.val if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            values = list(map(value, equation.invars))
            known.update(zip(equation.outvars, self._equation(equation, values), strict=True))
        return list(map(value, jaxpr.outvars))

    def _equation(self, equation: Equation, values: Sequence[Any]) -> Sequence[Any]:
        """The results of one equation."""
        avals = [v.aval for v in equation.outvars]
        if makes_one(equation):
            return [self._array_of_one_kind(values, avals[0])]
        if makes_parts(equation):
            array = self.as_array(values[0])
            return [Element(array, i, array.dtype, aval.weak_type) for i, aval in enumerate(avals)]
        if equation.primitive.name == "convert_element_type" and isinstance(values[0], Element):
            return [Element(values[0].array, values[0].position, avals[0].dtype, avals[0].weak_type)]
        pairs = zip(equation.invars, values, strict=True)
        known = {atom: self.as_array(x) for atom, x in pairs if not isinstance(atom, Literal)}
        return evaluated([equation], known, equation.outvars)

    def _array_of_one_kind(self, values: Sequence[Any], aval: Aval) -> Any:
        array = self.joined(values, aval.dtype)
        return weakly(array, aval.dtype) if aval.weak_type and not array.weak_type else array

    def as_array(self, value: Any) -> Any:
        """A value as an array; an ``Element`` is sliced out of its array."""
        if not isinstance(value, Element):
            return value
        key = id(value.array), value.position, value.dtype, value.weak
        if key not in self._numbers:
            self._numbers[key] = value.as_number()
            self._arrays_alive.append(value.array)
        return self._numbers[key]

    def joined(self, values: Sequence[Any], dtype: DType) -> Any:
        """One array of some numbers: an update of the array that has most of them as elements, or a new array."""
        pieces = _pieces(values)
        base = _array_to_update(pieces, len(values))
        if base is None:
            arrays = [_as_piece(piece, dtype) for piece in pieces]
            return arrays[0] if len(arrays) == 1 else lax.concatenate(arrays, 0)
        array = _converted(base, dtype)
        position = 0
        for piece in pieces:
            if not _stands_in(piece, base, position):
                array = lax.dynamic_update_slice(array, _as_piece(piece, dtype), (position,))
            position += len(piece)
        return array


Piece = Sequence[Any]
"""Numbers next to each other that can be written to an array at once."""


def _pieces(values: Sequence[Any]) -> list[list[Any]]:
    """Splits numbers into consecutive elements of one array, runs of known numbers, and single traced numbers."""
    pieces = list[list[Any]]()
    for value in values:
        if pieces and _continues(pieces[-1][-1], value):
            pieces[-1].append(value)
        else:
            pieces.append([value])
    return pieces


def _continues(last: Any, value: Any) -> bool:
    """Whether a number belongs to the piece that ends with ``last``."""
    return value.follows(last) if isinstance(value, Element) else _is_known(value) and _is_known(last)


def _is_known(value: Any) -> bool:
    return not isinstance(value, (Element, jax.core.Tracer))


def _stands_in(piece: Piece, array: Any, position: int) -> bool:
    """Whether a piece is what ``array`` already holds at a position."""
    first = piece[0]
    return isinstance(first, Element) and first.array is array and first.position == position


def _array_to_update(pieces: Sequence[Piece], size: int) -> Any:
    """The array that has most of the numbers at their positions; None if there is none, or too many pieces differ."""
    counts, arrays, position = dict[int, int](), dict[int, Any](), 0
    for piece in pieces:
        first = piece[0]
        if isinstance(first, Element) and first.position == position and first.array.shape == (size,):
            counts[id(first.array)] = counts.get(id(first.array), 0) + len(piece)
            arrays[id(first.array)] = first.array
        position += len(piece)
    if not counts:
        return None
    best = max(counts, key=counts.__getitem__)
    others = sum(not (isinstance(piece[0], Element) and piece[0].array is arrays[best]) for piece in pieces)
    return arrays[best] if others <= MOST_PIECES_UPDATED or counts[best] * 2 > size else None


def _as_piece(piece: Piece, dtype: DType) -> Any:
    """The numbers of a piece as an array of one dimension."""
    first = piece[0]
    if isinstance(first, Element):
        return _converted(lax.slice_in_dim(first.array, first.position, first.position + len(piece)), dtype)
    if _is_known(first):
        numbers = np.array([np.asarray(value) for value in piece]).astype(dtype)
        return lax.full(numbers.shape, numbers[0]) if (numbers == numbers[0]).all() else jnp.asarray(numbers)
    return lax.reshape(jnp.asarray(first, dtype), (1,))


def _converted(array: Any, dtype: DType) -> Any:
    return array if array.dtype == dtype else lax.convert_element_type(array, dtype)
