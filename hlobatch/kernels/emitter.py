"""The jaxpr of a primitive for one lane -> LLVM IR that computes it, equation by equation, by the rules for primitives.

::

    b = mul a 2.0                          loop over i:
    c = add b d                     ==>      %1 = load a[i]; %2 = fmul %1, 2.0
                                             %3 = load d[i]; %4 = fadd %2, %3; store %4 to c[i]

A number is a register, an array is row-major memory. An array that is computed element by element and used once is not
stored: its elements are computed where they are used (fusion).

An array is updated in place if no other value that is still needed lies in its memory. This is decided for the memory
and not for the variable, since a reshaped array lies in the memory of the original.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import Atom, Aval, Equation, Jaxpr, Literal, called_by, is_key, is_tracer, random_function
from hlobatch.ir.evaluation import variables_among
from hlobatch.ir.outer import adds_outer_product
from hlobatch.jax_primitives import CONTROL, UPDATES
from hlobatch.kernels.negative_indices import counted_from_the_end
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.rules import ARRAYS, CALLS, NUMBERS, OUTER_PRODUCT, READ_TOGETHER, USE_ONCE, apply
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED, Index, Text
from hlobatch.kernels.types import (
    NoKernelError,
    in_memory,
    is_signed,
    kind,
    layout,
    must_not_be_packed,
    number,
    size,
    stored,
)
from hlobatch.kernels.update_order import updates_last
from hlobatch.kernels.values import Value, roots_of
from hlobatch.typing import DType

MOST_ELEMENTS_IN_MODULE: Final = 1 << 14
"""Largest number of elements of an array that is written into the module as a constant; the host passes larger ones.
Chosen by judgement (2026-11), not measured."""

_LAST: Final = str((1 << 63) - 1)

WITH_CODE: Final = CONTROL
"""Primitives with jaxprs as parameters, whose code may update arrays."""


class Emitter(Text):
    """The text of a function, and what is known of the values in it.

    Attributes:
        captured: For each array that the host passes, by its ``id``, the pointer to it.
        protected: For each piece of memory, the number of reasons (values still needed) not to update it in place.
        from_the_end: For the register of an index that counts from the end where it is negative: the register of the
            index as the user wrote it, and the length that is added.
        asked: Memory of arrays that was allocated and not given back, in order of allocation.
        turned: Emits the check that is made once in every turn of a loop that may be long.
    """

    def __init__(
        self,
        processor: Processor,
        captured: Mapping[int, str] = MappingProxyType({}),
        *,
        checked: bool = False,
    ) -> None:
        super().__init__(processor, checked=checked)
        self.captured = captured
        self.protected: Counter[str] = Counter()
        self.asked: list[str] = []
        self.turned: Callable[[], None] = lambda: None
        self.from_the_end: dict[str, tuple[str, int]] = {}

    # Values

    def index(self, value: Value) -> str:
        """An integer as an index of 64 bits.

        An unsigned one above the largest signed number is clamped to that, out of bounds.
        """
        k = kind(value.dtype)
        if k == "i64":
            return value.ref if is_signed(value.dtype) else self.intrinsic("umin", value.dtype, value.ref, _LAST)
        return self.op(f"{'sext' if is_signed(value.dtype) else 'zext'} {k} {value.ref} to i64")

    def as_written(self, index: str) -> str:
        """The index as the user wrote it, before the length was added to a negative one."""
        return self.from_the_end.get(index, (index, 0))[0]

    def again(self, index: str, dtype: DType) -> str:
        """An index with the length added if it is negative.

        It is emitted at each use, so that nothing is computed for an index that is only used as it was written.
        """
        written, more = self.from_the_end.get(index, (index, 0))
        if not more:
            return index
        k = kind(dtype)
        moved, is_negative = self.op(f"add {k} {written}, {more}"), self.op(f"icmp slt {k} {written}, 0")
        return self.op(f"select i1 {is_negative}, {k} {moved}, {k} {written}")

    def element(self, value: Value, i: Index) -> str:
        """The element of a value at the row-major position ``i``."""
        if value.element is not None:
            return value.element(i)
        return self.load(value.ref, value.dtype, i, within=size(value.shape)) if value.shape else value.ref

    def put(self, x: str, array: Value, i: Index) -> None:
        """Store an element at the row-major position ``i`` of an array in memory."""
        self.store(x, array.ref, array.dtype, i, within=size(array.shape))

    def fresh(self, dtype: DType, shape: tuple[int, ...]) -> Value:
        """A new array in memory, whose elements are not yet set."""
        place = self.memory(dtype, size(shape))
        return Value(np.dtype(dtype), shape, place, place)

    def window(self, x: Value, place: Index, shape: tuple[int, ...]) -> Value:
        """The contiguous elements of an array in memory from a position on, in place."""
        return replace(x, shape=shape, ref=self.address(x.ref, x.dtype, place))

    def built(self, dtype: DType, shape: tuple[int, ...], element: Callable[[list[Index]], str]) -> Value:
        """A new array with ``element(index)`` at each index; a number if the shape is empty."""
        if not shape:
            return Value(np.dtype(dtype), (), element([]))
        new = self.fresh(dtype, shape)
        self.each(shape, lambda index: self.put(element(index), new, self.position(index, shape)), new.ref)
        return new

    def of_all_lanes(self, pointer: str, dtype: DType, i: Index) -> str:
        """A pointer to the vector of all lanes' elements at ``i`` in interleaved memory of the host (gangs only)."""
        raise NotImplementedError

    def give_back(self, begin: int, needed: frozenset[str]) -> None:
        """Let other arrays reuse the memory allocated since ``asked[begin]``, except what is in ``needed``."""

    def keep(self) -> None:
        """Do not reuse the memory that has been given back so far."""

    def where_used(
        self, dtype: DType, shape: tuple[int, ...], element: Callable[[list[Index]], str], *values: Value
    ) -> Value:
        """The array with ``element(index)`` at each index.

        In a gang the elements are computed where they are read; for a single lane the array is stored.
        """
        if not shape or self.processor.width == 1:
            return self.built(dtype, shape, element)
        return Value(np.dtype(dtype), shape, "", None, lambda i: element(self.unravelled(i, shape)), roots_of(values))

    def resident(self, place: str, dtype: DType, shape: tuple[int, ...]) -> Value:
        """The value in memory of this function: an array where it lies, or a number that is loaded."""
        return Value(dtype, shape, place, place) if shape else Value(dtype, (), self.load(place, dtype))

    def copy_to(self, value: Value, pointer: str) -> None:
        """Store all elements of a value at a pointer."""
        count = size(value.shape)
        if count <= MOST_ELEMENTS_UNROLLED:
            for i in range(count):
                self.store(self.element(value, i), pointer, value.dtype, i)
        elif value.element is not None:
            self.loop(count, lambda i: self.store(self.element(value, i), pointer, value.dtype, i))
        else:
            self.copy(value.ref, pointer, value.dtype, count)

    def copied(self, value: Value) -> Value:
        """A copy of an array in new memory; a number is returned as it is."""
        if not value.shape:
            return value
        new = self.fresh(value.dtype, value.shape)
        self.copy_to(value, new.ref)
        return new

    def forced(self, value: Value) -> Value:
        """The value with its elements in memory: a copy if they are computed where they are read."""
        return self.copied(value) if value.element is not None else value

    def settle(self, places: Sequence[str], values: Sequence[Value]) -> None:
        """Store each value at its place; one that lies at the place of another is copied to new memory first."""
        taken = set(places)
        values = [
            self.copied(v) if v.shape and v.roots & taken and v.ref != place else v
            for place, v in zip(places, values, strict=True)
        ]
        with self.at_once():
            for place, v in zip(places, values, strict=True):
                if v.ref != place:
                    self.copy_to(v, place)

    @contextmanager
    def protecting(self, values: Sequence[Value]) -> Iterator[None]:
        """A context in which the memory of some values is not updated in place."""
        roots = roots_of(values)
        self.protected.update(roots)
        try:
            yield
        finally:
            self.protected.subtract(roots)

    def to_update(self, value: Value, others: Sequence[Value]) -> Value:
        """The array itself if it may be updated in place, else a copy.

        It is copied if its memory is protected, or holds one of ``others``.
        """
        is_free = value.root is not None and not self.protected[value.root] and value.element is None
        return value if is_free and value.root not in roots_of(others) else self.copied(value)

    def constant(self, array: Any) -> Value:
        """The value of a constant of a jaxpr."""
        if is_tracer(array):
            raise NoKernelError("a value of a computation that is being traced is captured")
        if is_key(array):
            layout(jax.typeof(array))
            array = jax.random.key_data(array)
        array = np.asarray(array)
        if array.ndim == 0:
            return Value(array.dtype, (), number(array, array.dtype))
        if array.size > MOST_ELEMENTS_IN_MODULE:
            raise NoKernelError(f"a constant of shape {list(array.shape)} is too large to be written out")
        return Value(array.dtype, array.shape, self._written(array))

    def _written(self, array: np.ndarray[Any, Any]) -> str:
        """The name of a constant array of the module; equal arrays are written once."""
        k = stored(array.dtype)
        items = ", ".join(f"{k} {in_memory(x, array.dtype)}" for x in array.reshape(-1)) or f"{k} zeroinitializer"
        text = f"private unnamed_addr constant [{max(array.size, 1)} x {k}] [{items}], align 16"
        return "@" + self.constants.setdefault(text, f"constant{len(self.constants)}")

    def converted(self, value: Value, dtype: DType) -> Value:
        """A value converted to another dtype."""
        if value.dtype == dtype:
            return value
        convert = lambda x: apply(self, "convert_element_type", dtype, x, of=value.dtype)  # noqa: E731
        return self.map(convert, dtype, value.shape, value)

    def map(self, function: Callable[..., str], dtype: DType, shape: tuple[int, ...], *values: Value) -> Value:
        """A function applied element by element; numbers, and axes of size 1, are broadcast."""
        dtype = np.dtype(dtype)
        if not shape:
            return Value(dtype, (), function(*[self.element(v, 0) for v in values]))
        kind(dtype)
        values = tuple(v if v.is_cheap or v.shape in ((), shape) else self.forced(v) for v in values)
        if any(v.shape != shape and size(v.shape) != 1 for v in values):

            def at(v: Value, index: list[Index]) -> str:
                within = [i if n != 1 else 0 for i, n in zip(index[len(index) - len(v.shape) :], v.shape, strict=True)]
                return self.element(v, self.position(within, v.shape))

            return self.where_used(dtype, shape, lambda index: function(*[at(v, index) for v in values]), *values)

        def element(i: Index) -> str:
            return function(*[self.element(v, i if v.shape == shape else 0) for v in values])

        return Value(dtype, shape, "", None, element, roots_of(values))

    def written(self, function: Callable[..., Any], *values: Value) -> list[Value]:
        """The results of a function that is written in JAX, which is traced and emitted."""
        avals = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]
        return self.closed(jax.make_jaxpr(function)(*avals), values)

    # Jaxprs

    def closed(self, closed: Any, values: Sequence[Value]) -> list[Value]:
        """Emit a closed jaxpr on the values of its inputs; returns its results."""
        if not hasattr(closed, "consts"):
            return self.jaxpr(closed, [], values)
        constants = [
            self._constant_or_captured(c, v) for c, v in zip(closed.consts, closed.jaxpr.constvars, strict=True)
        ]
        return self.jaxpr(closed.jaxpr, constants, values)

    def _constant_or_captured(self, array: Any, variable: Atom) -> Value:
        pointer = self.captured.get(id(array))
        if pointer is None:
            return self.constant(array)
        dtype, shape = layout(variable.aval)
        must_not_be_packed(dtype)
        return Value(dtype, shape, pointer) if shape else Value(dtype, (), self.load(pointer, dtype))

    def jaxpr(self, jaxpr: Jaxpr, constants: Sequence[Value], values: Sequence[Value]) -> list[Value]:
        """Emit a jaxpr on the values of its constants and inputs; returns its results."""
        equations = updates_last(jaxpr.eqns)
        from_the_end = counted_from_the_end(equations)
        variables = _Variables(self, [*(e.invars for e in equations), jaxpr.outvars])
        variables.define(jaxpr.constvars, constants)
        variables.define(jaxpr.invars, values)
        begin = len(self.asked)
        for at, equation in enumerate(equations):
            operands = [variables.read(v) for v in equation.invars]
            variables.drop(at, equation.invars)
            with self.protecting(variables.values if may_update(equation) else []):
                together = variables.are_read_together(equation.outvars, equations)
                results = self.equation(equation, operands, are_read_together=together)
            for v in from_the_end.keys() & set(equation.outvars):
                self.from_the_end[results[0].ref] = operands[1].ref, from_the_end[v]
            variables.define(equation.outvars, results)
            self.give_back(begin, roots_of(variables.values))
        return [variables.read(v) for v in jaxpr.outvars]

    def equation(self, equation: Equation, values: list[Value], *, are_read_together: bool = False) -> list[Value]:
        """Emit an equation on the values of its operands; returns its results.

        ``are_read_together`` says whether one equation reads all of them, element by element.
        """
        called = called_by(equation)
        if adds_outer_product(equation):
            return CALLS[OUTER_PRODUCT](self, {}, values, [layout(v.aval) for v in equation.outvars])
        if called is not None:
            return self.closed(called, values)
        name = equation.primitive.name
        out = [layout(v.aval) for v in equation.outvars]
        drawn = random_function(equation)
        if drawn is not None:
            _ = [layout(v.aval) for v in equation.invars]  # raises for keys of other generators, which have no code
            return self.written(drawn, *values)
        if name in ARRAYS:
            if name not in USE_ONCE:
                values = [self.forced(v) for v in values]
            if are_read_together and out[0][1] and name in READ_TOGETHER and not self.processor.has_vectors:
                return READ_TOGETHER[name](self, equation.params, values, out)
            return ARRAYS[name](self, equation.params, values, out)
        if name not in NUMBERS:
            raise NoKernelError(f"`{name}` has no code")
        ((dtype, shape),) = out
        source = values[0].dtype
        if name == "pow":  # the exponent of a float may be a whole number
            values = [values[0], self.converted(values[1], dtype)]
        compute = lambda *xs: apply(self, name, dtype, *xs, of=source, **equation.params)  # noqa: E731
        return [self.map(compute, dtype, shape, *values)]


def may_update(equation: Equation) -> bool:
    """Whether an equation may update an array among its operands in place."""
    name = equation.primitive.name
    return name in UPDATES or name in WITH_CODE or called_by(equation) is not None


class _Variables:
    """The values of a jaxpr's variables while its equations are emitted, each kept until its last read."""

    def __init__(self, emitter: Emitter, reads: Sequence[Sequence[Any]]) -> None:
        """No values yet.

        Args:
            emitter: Emits the code.
            reads: For each equation the atoms that it reads, in order; last, the atoms that the jaxpr returns.
        """
        self._emitter = emitter
        self._last: dict[Any, int] = {}
        self._uses: Counter[Any] = Counter()
        for at, atoms in enumerate(reads):
            variables = variables_among(atoms)
            self._last |= dict.fromkeys(variables, at)
            self._uses.update(variables)
        self._known: dict[Any, Value] = {}

    @property
    def values(self) -> list[Value]:
        """The values that are still read."""
        return list(self._known.values())

    def are_read_together(self, variables: Sequence[Any], equations: Sequence[Any]) -> bool:
        """Whether variables are each read once, all by one equation, which computes element by element."""
        reads = {(self._uses[v], self._last.get(v)) for v in variables}
        if len(variables) < 2 or len(reads) != 1:
            return False
        ((uses, at),) = reads
        return uses == 1 and at is not None and at < len(equations) and equations[at].primitive.name in NUMBERS

    def define(self, variables: Sequence[Any], values: Sequence[Value]) -> None:
        """Keep the values that are read later. One that is read more than once is stored now, unless it is cheap."""
        for v, value in zip(variables, values, strict=True):
            if v in self._last:
                is_kept = self._uses[v] > 1 and not value.is_cheap
                self._known[v] = self._emitter.forced(value) if is_kept else value

    def read(self, atom: Atom) -> Value:
        """The value of a variable or a literal."""
        if isinstance(atom, Literal):
            aval: Aval = atom.aval
            return self._emitter.constant(np.asarray(atom.val, aval.dtype))
        return self._known[atom]

    def drop(self, at: int, atoms: Sequence[Atom]) -> None:
        """Forget the variables among ``atoms`` whose last read is equation ``at``."""
        for v in set(variables_among(atoms)):
            if self._last[v] == at:
                self._known.pop(v)
