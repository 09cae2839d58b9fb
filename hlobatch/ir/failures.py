"""Where a program may raise, and how the values that its message is made of travel: as words of 32 bits.

A function that may raise gives back, beside its result, which of the program's failures it was (0 if none) and the
values that the exception is made of, encoded. The host decodes them for each lane that failed and makes the user's own
exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import UNKNOWN, LaneError, Location, Note, as_also, name_lanes
from hlobatch.ir.fate import NUMBER, Fate, Stop, stop_of
from hlobatch.ir.types import TensorType, Type

FAILURE: Final = "$failure"
"""The variable of a function that holds which failure there was, by its name without the function's."""
DETAILS: Final = "$details"
"""The variable that holds what its exception is made of."""

MOST_EXCEPTIONS: Final = 1_000
"""Lanes that exceptions are made for, of those that raised, the first ones."""

MOST_WORDS: Final = 64
"""Words of 32 bits that are kept of the values that an exception is made of; what does not fit is left out."""


@dataclass(frozen=True)
class Failure:
    """A ``raise`` or an ``assert`` of a program.

    Attributes:
        number: What functions give back where lanes come here; they count from 1.
        text: The statement as the user wrote it.
        make: From the values of the variables that it reads to the exception.
        in_types: Types of those variables.
        location: Where it stands.
    """

    number: int
    text: str
    make: Callable[..., BaseException] = field(compare=False)
    in_types: tuple[Type, ...] = ()
    location: Location = field(default=UNKNOWN, compare=False)

    @property
    def short_text(self) -> str:
        """The statement on one line of moderate length, and where it stands."""
        text = "".join(c if c.isprintable() else " " for c in self.text)
        return f"{text[:400]} (line {self.location.line})"

    def exception(self, words: np.ndarray) -> BaseException:
        """The exception that a lane raises.

        Args:
            words: What it gave back, ``i32[words]``.
        """
        supply = iter(decoded(words, self.in_types))
        values = [type_.rebuild([next(supply) for _ in type_.tensor_leaves]) for type_ in self.in_types]
        try:
            return self.make(*values)
        except Exception as error:  # noqa: BLE001  # the user's own code, on values of which some may be missing
            return RuntimeError(f"{self.text} ({type(error).__name__}: {error})")


def failed(
    name: str | None, failures: Sequence[Failure], stop: Stop, words: np.ndarray[Any, Any], *, outputs: Any = None
) -> LaneError:
    """The error for a run of which some inputs raised.

    Args:
        name: The user's name for the function.
        failures: Those of the program.
        stop: What stopped the run.
        words: What the exceptions are made of, ``i32[inputs, words]``.
        outputs: The results of the whole batch.

    Returns:
        An error that is also one of the class of what its first lane raised.
    """
    by_number = {failure.number: failure for failure in failures}
    pairs = list(zip(stop.lanes, stop.failures, strict=True))[:MOST_EXCEPTIONS]
    errors = {lane: by_number[number].exception(words[lane]) for lane, number in pairs}
    first, error = next(iter(errors.items()))
    where = by_number[stop.failures[0]].location
    notes = [Note(f"{name_lanes(others)} raised here", by_number[number].location) for number, others in _others(stop)]
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    more = f" (of {len(stop.lanes)} lanes that raised)" if len(stop.lanes) > 1 else ""
    kind = as_also(LaneError, type(error))
    made = kind(
        f"{name_lanes([first])}{f' of {name!r}' if name else ''} raised {what}{more}",
        where,
        lanes=stop.lanes,
        outputs=outputs,
        unfinished=stop.unfinished,
        notes=notes,
        help=""
        if outputs is None
        else "what each raised is in `error.errors`, the others' results in `error.outputs`.",
    )
    assert isinstance(made, LaneError)
    made.errors = errors
    return made


def checked(program: Any, results: Sequence[Any]) -> list[Any]:
    """What an interpreter gave for ``program.vars_out``, without what is said of failures.

    Raises:
        LaneError: Some lanes raised.
    """
    if not program.failures:
        return list(results)
    *kept, numbers, details = results
    status = np.where(np.asarray(numbers) != 0, Fate.FAILED + (np.asarray(numbers, np.int32) << NUMBER), 0)
    if status.any():
        outputs = kept[0] if len(kept) == 1 else kept
        raise failed(None, program.failures, stop_of(status), np.asarray(details), outputs=outputs)
    return kept


def _others(stop: Stop) -> list[tuple[int, list[int]]]:
    """By failure, the lanes that came to another one than the first lane did."""
    found: dict[int, list[int]] = {}
    for lane, number in zip(stop.lanes, stop.failures, strict=True):
        found.setdefault(number, []).append(lane)
    found.pop(stop.failures[0])
    return list(found.items())


class Unkept:
    """What stands for a value that is too large to be kept."""

    def __repr__(self) -> str:
        return "…"

    def __format__(self, form: str) -> str:
        return "…"


def kept(types: Sequence[Type]) -> list[tuple[TensorType, bool]]:
    """The leaves of some types, in order, and whether there is room for each."""
    room, found = MOST_WORDS, list[tuple[TensorType, bool]]()
    for leaf in (leaf for type_ in types for leaf in type_.tensor_leaves):
        size = words_for(leaf)
        found.append((leaf, size <= room))
        room -= size if size <= room else 0
    return found


def words_for(leaf: TensorType) -> int:
    """How many words an array takes."""
    return int(jax.eval_shape(_as_words, leaf.aval).size)


def size_of(types: Sequence[Type]) -> int:
    """How many words the values of some types take, as far as they are kept."""
    return sum(words_for(leaf) for leaf, fits in kept(types) if fits)


def encoded(leaves: Sequence[Any], types: Sequence[Type], size: int) -> Any:
    """Arrays as ``i32[size]``, zeros at the end."""
    pairs = zip(leaves, kept(types), strict=True)
    words = [_as_words(leaf) for leaf, (_, fits) in pairs if fits]
    flat = jnp.concatenate([*words, jnp.zeros(0, jnp.int32)])
    return jnp.pad(flat, (0, size - flat.size))


def decoded(words: np.ndarray, types: Sequence[Type]) -> list[Any]:
    """What ``encoded`` was given, as NumPy's arrays and scalars; a Python number where there was one."""
    found: list[Any] = []
    for leaf, fits in kept(types):
        if not fits:
            found.append(Unkept())
            continue
        size = words_for(leaf)
        found.append(_from_words(np.asarray(words[:size], np.int32), leaf))
        words = words[size:]
    return found


def _as_words(value: Any) -> Any:
    value = jnp.asarray(jax.random.key_data(value) if TensorType(value.dtype).is_key else value)
    if jnp.issubdtype(value.dtype, jnp.complexfloating):
        value = jnp.stack([value.real, value.imag], -1)
    if value.dtype.itemsize < 4:
        value = value.astype(jnp.float32 if jnp.issubdtype(value.dtype, jnp.floating) else jnp.int32)
    return jnp.ravel(jax.lax.bitcast_convert_type(value, jnp.int32))


def _from_words(words: np.ndarray, leaf: TensorType) -> Any:
    if leaf.is_key:
        return words.view(np.uint32)
    dtype = np.dtype(leaf.dtype)
    wide = {1: np.float32, 2: np.float32} if jnp.issubdtype(dtype, jnp.floating) else {1: np.int32, 2: np.int32}
    stored = dtype if dtype.itemsize >= 4 else np.dtype(wide[dtype.itemsize])
    value = words.view(stored).astype(dtype).reshape(leaf.shape)
    return value.item() if leaf.weak and leaf.shape == () else value[()]
