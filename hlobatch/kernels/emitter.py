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
from types import MappingProxyType
from typing import Any, Final

import jax
import numpy as np

from hlobatch._jax import Literal, called_by, is_key, is_tracer, random_function
from hlobatch.ir.evaluation import variables_among
from hlobatch.ir.outer import adds_outer_product
from hlobatch.jax_primitives import CONTROL, UPDATES
from hlobatch.kernels.negative_indices import counted_from_the_end
from hlobatch.kernels.processors import Processor
from hlobatch.kernels.rules import ARRAYS, CALLS, NUMBERS, OUTER_PRODUCT, USE_ONCE, apply
from hlobatch.kernels.text import MOST_ELEMENTS_UNROLLED, Index, Text
from hlobatch.kernels.types import (
    NoKernelError,
    in_memory,
    is_signed,
    kind,
    layout,
    number,
    size,
    stored,
)
from hlobatch.kernels.update_order import updates_last
from hlobatch.kernels.values import Value, roots_of

MOST_ELEMENTS_IN_MODULE: Final = 1 << 14
"""Elements of an array up to which it is written into the module; a larger one is passed by the host. Chosen by
judgement (2026-11), not measured."""

_LAST: Final = str((1 << 63) - 1)

WITH_CODE: Final = CONTROL
"""Primitives that run jaxprs of their own, which may update arrays."""


class Emitter(Text):
    """A function, and what is known of the values in it.

    Attributes:
        captured: Arrays that the host passes, by their identity: the pointer to them.
        protected: How many of those who still need it protect each piece of memory from being updated.
        from_the_end: For the register of an index that counts from the end where it is negative: that of the index as
            it was written, and how many are added.
        asked: Memory of arrays that was asked for and not given back, in this order.
        turned: Emits what is done once in every turn of a loop that may be long.
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
        """A number as an index; one that is larger than any signed number of 64 bits stays larger than any place."""
        k = kind(value.dtype)
        if k == "i64":
            return value.ref if is_signed(value.dtype) else self.intrinsic("umin", value.dtype, value.ref, _LAST)
        return self.op(f"{'sext' if is_signed(value.dtype) else 'zext'} {k} {value.ref} to i64")

    def as_written(self, index: str) -> str:
        """An index before negative ones count from the end."""
        return self.from_the_end.get(index, (index, 0))[0]

    def again(self, index: str, dtype: Any) -> str:
        """An index, computed again if it may count from the end.

        It is written as the user has it until something asks for it, so that nothing is computed for nobody.
        """
        written, more = self.from_the_end.get(index, (index, 0))
        if not more:
            return index
        k = kind(dtype)
        moved, is_negative = self.op(f"add {k} {written}, {more}"), self.op(f"icmp slt {k} {written}, 0")
        return self.op(f"select i1 {is_negative}, {k} {moved}, {k} {written}")

    def element(self, value: Value, i: Index) -> str:
        """The element at a place."""
        if value.element is not None:
            return value.element(i)
        return self.load(value.ref, value.dtype, i, within=size(value.shape)) if value.shape else value.ref

    def put(self, x: str, array: Value, i: Index) -> None:
        """Write the element at a place of an array that lies in memory."""
        self.store(x, array.ref, array.dtype, i, within=size(array.shape))

    def fresh(self, dtype: Any, shape: tuple[int, ...]) -> Value:
        """An array whose elements are to be stored."""
        place = self.memory(dtype, size(shape))
        return Value(np.dtype(dtype), shape, place, place)

    def built(self, dtype: Any, shape: tuple[int, ...], element: Callable[[list[Index]], str]) -> Value:
        """The array, or the number, with these elements."""
        if not shape:
            return Value(np.dtype(dtype), (), element([]))
        new = self.fresh(dtype, shape)
        self.each(shape, lambda index: self.put(element(index), new, self.position(index, shape)), new.ref)
        return new

    def of_all_lanes(self, pointer: str, dtype: Any, i: Index) -> str:
        """A pointer to the elements of all lanes, side by side, at a place in memory of the host."""
        raise NotImplementedError

    def give_back(self, begin: int, needed: frozenset[str]) -> None:
        """Other arrays may lie in what was asked for from some place in ``asked`` on, but for what is still needed."""

    def keep(self) -> None:
        """What was given back so far is for nothing else."""

    def where_used(
        self, dtype: Any, shape: tuple[int, ...], element: Callable[[list[Index]], str], *values: Value
    ) -> Value:
        """The array with these elements, computed where they are read if what finds them is nothing beside that."""
        if not shape or self.processor.width == 1:
            return self.built(dtype, shape, element)
        return Value(np.dtype(dtype), shape, "", None, lambda i: element(self.unravelled(i, shape)), roots_of(values))

    def resident(self, place: str, dtype: Any, shape: tuple[int, ...]) -> Value:
        """What lies in memory of this function."""
        return Value(dtype, shape, place, place) if shape else Value(dtype, (), self.load(place, dtype))

    def copy_to(self, value: Value, pointer: str) -> None:
        """Write a value where a pointer points to."""
        count = size(value.shape)
        if count <= MOST_ELEMENTS_UNROLLED:
            for i in range(count):
                self.store(self.element(value, i), pointer, value.dtype, i)
        elif value.element is not None:
            self.loop(count, lambda i: self.store(self.element(value, i), pointer, value.dtype, i))
        else:
            self.copy(value.ref, pointer, value.dtype, count)

    def copied(self, value: Value) -> Value:
        """The value in memory that nothing else lies in."""
        if not value.shape:
            return value
        new = self.fresh(value.dtype, value.shape)
        self.copy_to(value, new.ref)
        return new

    def forced(self, value: Value) -> Value:
        """The value with its elements in memory."""
        return self.copied(value) if value.element is not None else value

    def settle(self, places: Sequence[str], values: Sequence[Value]) -> None:
        """Move values to where they belong; those that lie in the place of another are taken aside first."""
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
        """A context in which the memory of some values is not updated."""
        roots = roots_of(values)
        self.protected.update(roots)
        try:
            yield
        finally:
            self.protected.subtract(roots)

    def to_update(self, value: Value, others: Sequence[Value]) -> Value:
        """An array where it may be updated in place: itself, or a copy if it, or what lies there, is still needed."""
        is_free = value.root is not None and not self.protected[value.root] and value.element is None
        return value if is_free and value.root not in roots_of(others) else self.copied(value)

    def constant(self, array: Any) -> Value:
        """A constant of the code."""
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
        """The name of a constant array, which stands in the module once."""
        k = stored(array.dtype)
        items = ", ".join(f"{k} {in_memory(x, array.dtype)}" for x in array.reshape(-1)) or f"{k} zeroinitializer"
        text = f"private unnamed_addr constant [{max(array.size, 1)} x {k}] [{items}], align 16"
        return "@" + self.constants.setdefault(text, f"constant{len(self.constants)}")

    def converted(self, value: Value, dtype: Any) -> Value:
        """A value in another type."""
        if value.dtype == dtype:
            return value
        convert = lambda x: apply(self, "convert_element_type", dtype, x, of=value.dtype)  # noqa: E731
        return self.map(convert, dtype, value.shape, value)

    def map(self, function: Callable[..., str], dtype: Any, shape: tuple[int, ...], *values: Value) -> Value:
        """A function of the elements of arrays; numbers, and axes of one element, are the same for all."""
        dtype = np.dtype(dtype)
        if not shape:
            return Value(dtype, (), function(*[self.element(v, 0) for v in values]))
        kind(dtype)
        if any(v.shape and v.shape != shape for v in values):
            values = tuple(v if v.is_cheap or v.shape == shape else self.forced(v) for v in values)

            def at(v: Value, index: list[Index]) -> str:
                within = [i if n != 1 else 0 for i, n in zip(index[len(index) - len(v.shape) :], v.shape, strict=True)]
                return self.element(v, self.position(within, v.shape))

            return self.where_used(dtype, shape, lambda index: function(*[at(v, index) for v in values]), *values)
        return Value(
            dtype, shape, "", None, lambda i: function(*[self.element(v, i) for v in values]), roots_of(values)
        )

    def written(self, function: Callable[..., Any], *values: Value) -> list[Value]:
        """What a function written in JAX makes of values."""
        avals = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]
        return self.closed(jax.make_jaxpr(function)(*avals), values)

    # Jaxprs

    def closed(self, closed: Any, values: Sequence[Value]) -> list[Value]:
        """The code of a jaxpr with its constants, given the values of its inputs."""
        if not hasattr(closed, "consts"):
            return self.jaxpr(closed, [], values)
        constants = [
            self._constant_or_captured(c, v) for c, v in zip(closed.consts, closed.jaxpr.constvars, strict=True)
        ]
        return self.jaxpr(closed.jaxpr, constants, values)

    def _constant_or_captured(self, array: Any, variable: Any) -> Value:
        pointer = self.captured.get(id(array))
        if pointer is None:
            return self.constant(array)
        dtype, shape = layout(variable.aval)
        return Value(dtype, shape, pointer) if shape else Value(dtype, (), self.load(pointer, dtype))

    def jaxpr(self, jaxpr: Any, constants: Sequence[Value], values: Sequence[Value]) -> list[Value]:
        """The code of a jaxpr, given the values of its constants and inputs."""
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
                results = self.equation(equation, operands)
            for v in from_the_end.keys() & set(equation.outvars):
                self.from_the_end[results[0].ref] = operands[1].ref, from_the_end[v]
            variables.define(equation.outvars, results)
            self.give_back(begin, roots_of(variables.values))
        return [variables.read(v) for v in jaxpr.outvars]

    def equation(self, equation: Any, values: list[Value]) -> list[Value]:
        """The code of an equation, given the values of its operands."""
        called = called_by(equation)
        if adds_outer_product(equation):
            return CALLS[OUTER_PRODUCT](self, {}, values, [layout(v.aval) for v in equation.outvars])
        if called is not None:
            return self.closed(called, values)
        name = equation.primitive.name
        out = [layout(v.aval) for v in equation.outvars]
        drawn = random_function(equation)
        if drawn is not None:
            _ = [layout(v.aval) for v in equation.invars]  # keys of another generator have no code
            return self.written(drawn, *values)
        if name in ARRAYS:
            if name not in USE_ONCE:
                values = [self.forced(v) for v in values]
            return ARRAYS[name](self, equation.params, values, out)
        if name not in NUMBERS:
            raise NoKernelError(f"`{name}` has no code")
        ((dtype, shape),) = out
        source = values[0].dtype
        if name == "pow":  # the exponent of a float may be a whole number
            values = [values[0], self.converted(values[1], dtype)]
        compute = lambda *xs: apply(self, name, dtype, *xs, of=source, **equation.params)  # noqa: E731
        return [self.map(compute, dtype, shape, *values)]


def may_update(equation: Any) -> bool:
    """Whether an array of its operands may be updated in place by it."""
    name = equation.primitive.name
    return name in UPDATES or name in WITH_CODE or called_by(equation) is not None


class _Variables:
    """The values of a jaxpr's variables while the code of its equations is made, each as long as it is still read."""

    def __init__(self, emitter: Emitter, reads: Sequence[Sequence[Any]]) -> None:
        """No values yet.

        Args:
            emitter: What makes the code.
            reads: The atoms that each equation reads, in order, and behind them those that the jaxpr gives back.
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

    def define(self, variables: Sequence[Any], values: Sequence[Value]) -> None:
        """Keep the values that are read. One that is read more than once is computed now, unless that is cheap."""
        for v, value in zip(variables, values, strict=True):
            if v in self._last:
                is_kept = self._uses[v] > 1 and not value.is_cheap
                self._known[v] = self._emitter.forced(value) if is_kept else value

    def read(self, atom: Any) -> Value:
        """The value of a variable or a literal."""
        if isinstance(atom, Literal):
            aval: Any = atom.aval
            return self._emitter.constant(np.asarray(atom.val, aval.dtype))
        return self._known[atom]

    def drop(self, at: int, atoms: Sequence[Any]) -> None:
        """Forget the variables that an equation is the last to read."""
        for v in set(variables_among(atoms)):
            if self._last[v] == at:
                self._known.pop(v)
