"""What a program of the corpus is: a plain function, examples to run it on, and what is known of it.

A ``Program`` answers the same questions as one of the zoo (``zoo.ZooProgram``), so that the same executors run both.
Its truth is the function itself, run by Python on one example at a time: on Python's numbers, NumPy's arrays and JAX's
keys.
"""

import contextlib
import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb
from hlobatch.values.ragged import with_containers


class ByLane(list[Any]):
    """The results of a batch, one after the other."""


def own_part(result: Any, lane: int) -> Any:
    """The part of a batch's result that belongs to a lane."""
    if isinstance(result, ByLane):
        return result[lane]
    return jax.tree.map(lambda part: part[lane], result, is_leaf=lambda part: isinstance(part, hb.Ragged))


def is_keys(column: Any) -> bool:
    return isinstance(column, jax.Array) and jnp.issubdtype(column.dtype, jax.dtypes.prng_key)


@dataclass(frozen=True, eq=False)
class Program:
    """A function of one example, and examples.

    Attributes:
        function: As its author wrote it, without a decorator.
        columns: For each argument that is not static its values, example by example: Python's numbers or flags in a
            list, arrays stacked to one, keys as ``jax.random.split`` gives them, lists of unequal lengths in a list.
        static: Arguments by name that are known when the program is built.
        rtol: How far floats may be off, relative to the value (or to 1, if that is less).
        x64: Whether it needs JAX's 64 bits: it counts beyond 32, or wants more digits than a float of 32 bits has.
        raises: What some of its examples end with in plain Python, instead of a result.
        rewrite: The function after the rewrite that the message names; None if it runs as it is, or not yet.
    """

    function: Callable[..., Any]
    columns: tuple[Any, ...]
    static: dict[str, Any] = field(default_factory=dict)
    rtol: float = 1e-5
    x64: bool = False
    raises: type[Exception] | None = None
    rewrite: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def subject(self) -> str:
        """The module it stands in."""
        return self.function.__module__.rpartition(".")[2]

    @functools.cached_property
    def rows(self) -> int:
        """How many examples there are."""
        (size,) = {len(column) for column in self.columns}
        return size

    def plain(self, row: int) -> list[Any]:
        """The arguments of one example as Python has them; their own copy, as programs may write to it."""

        def pick(column: Any) -> Any:
            value = column[row]
            return value.item() if isinstance(value, np.generic) else copy.deepcopy(value)

        return [pick(column) for column in self.columns]

    @functools.cached_property
    def outcomes(self) -> list[Any]:
        """For each example what plain Python makes of it: the result, or the exception that it ends with."""
        return [self._outcome(row) for row in range(self.rows)]

    def _outcome(self, row: int) -> Any:
        try:
            return self.function(*self.plain(row), **self.static)
        except Exception as error:
            if self.raises is None or not isinstance(error, self.raises):
                raise
            return error

    @functools.cached_property
    def finishing(self) -> list[int]:
        """Examples that end with a result."""
        return [row for row, outcome in enumerate(self.outcomes) if not isinstance(outcome, Exception)]

    # As a batch

    def precision(self) -> contextlib.AbstractContextManager[Any]:
        """Within it, JAX has the bits that the program needs."""
        return jax.enable_x64(True) if self.x64 else contextlib.nullcontext()

    def variant(self, **options: Any) -> hb.BatchedFunction:
        """The batched function under options of ``hb.batch``."""
        return hb.batch(self.rewrite or self.function, static_argnames=tuple(self.static), **options)

    def rows_of(self, batch: int) -> list[int]:
        """The examples of a batch of some size: those that end with a result, in turn."""
        return [self.finishing[i % len(self.finishing)] for i in range(batch)]

    def arrays(self, rows: Sequence[int]) -> list[Any]:
        """What is not static of some examples, every array ``[len(rows), ...]``."""
        index = np.asarray(rows, int)
        return [jax.tree.map(lambda array: array[index], column) for column in self._columns]

    @functools.cached_property
    def _columns(self) -> list[Any]:
        """The columns as arrays, or as lists of unequal lengths."""

        def made(column: Any) -> Any:
            return hb.Ragged.of(column) if isinstance(column[0], list) else jnp.asarray(np.asarray(column))

        return [column if is_keys(column) else made(column) for column in self.columns]

    def arguments(self, rows: Sequence[int]) -> list[Any]:
        """All arguments in the order of the parameters, static ones and defaults too, as eager executors take them."""
        bound = inspect.signature(self.function).bind(*with_containers(self.arrays(rows)), **self.static)
        bound.apply_defaults()
        return list(bound.arguments.values())

    def example(self, row: int) -> list[Any]:
        """The same of one example, without a batch axis."""
        return jax.tree.map(lambda x: x[0] if isinstance(x, jax.Array) else x, self.arguments([row]))

    def call(self, batched: hb.BatchedFunction, rows: Sequence[int]) -> Any:
        return batched(*self.arrays(rows), **self.static)

    def trace(self) -> hb.Traced:
        return self.variant().trace(*self.arrays(self.finishing), **self.static)


class WrongResultError(AssertionError):
    """A batch's result is not what plain Python says."""


def check(program: Program, rows: Sequence[int], result: Any) -> None:
    """Raise unless a batch's result is that of its examples: structure, shapes, kinds of numbers and values."""
    wanted = [program.outcomes[row] for row in rows]
    for lane, one in enumerate(wanted):
        where, found = f"example {rows[lane]}: ", own_part(result, lane)
        if jax.tree.structure(found) != jax.tree.structure(one):
            got = jax.tree.structure(found)
            raise WrongResultError(f"{where}structure {got} instead of {jax.tree.structure(one)}")
        for got, value in zip(jax.tree.leaves(found), jax.tree.leaves(one), strict=True):
            _check_leaf(where, np.asarray(_words(got)), np.asarray(_words(value)), program.rtol)


def _words(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if is_keys(leaf) else leaf


def _check_leaf(where: str, got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], rtol: float) -> None:
    kinds = {"u": "i"}
    if kinds.get(got.dtype.kind, got.dtype.kind) != kinds.get(wanted.dtype.kind, wanted.dtype.kind):
        raise WrongResultError(f"{where}{got.dtype} instead of {wanted.dtype}")
    if got.shape != wanted.shape:
        raise WrongResultError(f"{where}shape {got.shape} instead of {wanted.shape}")
    if wanted.dtype.kind in "fc":
        right = np.isclose(got, wanted, rtol=rtol, atol=rtol, equal_nan=True).all()
    else:
        right = np.array_equal(got, wanted)
    if not right:
        raise WrongResultError(f"{where}{got.tolist()} instead of {wanted.tolist()}")
