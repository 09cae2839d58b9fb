"""A JSON file of measurements of one machine -> the profile that the costs of a target follow from.

``python -m benchmarks.calibrate`` measures a machine and writes such a file; ``HLOBATCH_PROFILE`` names the one to use.
The files in ``profiles/`` are of the machines on which the rules of ``strategy/`` were tried.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, final

from hlobatch import config
from hlobatch.diagnostics import ProfileError

PROFILES: Final = Path(__file__).with_name("profiles")


FORMS: Final = ("lane", "gang", "loop")
"""The forms of a run: a lane by itself, lanes in gangs, and XLA's loop over all lanes."""


GANG_BITS: Final = 8
"""Bits of a vector for each lane of a gang: a number of 32 bits takes several vectors (``kernel_shape.VECTORS``)."""


@final
@dataclass(frozen=True)
class WorkTimes:
    """Nanoseconds that kinds of work take one lane in one form, each measured alone, among lanes that are all busy.

    Attributes:
        number: An operation on one number.
        function: An exponential function of one number.
        wide: An operation on an element of an array.
        product: A multiplication in a product with a matrix that all lanes share.
        read: A read by index.
        update: An update by index.
        saved: Pushing or popping an element.
        factorization: A Cholesky factorization of a small matrix.
    """

    number: float
    function: float
    wide: float
    product: float
    read: float
    update: float
    saved: float
    factorization: float


@final
@dataclass(frozen=True)
class Profile:
    """Measurements of a machine. A quantity that is None was not measured there.

    Attributes:
        platform: JAX's name of the machine's platform.
        machine: Its name, for a reader.
        measured: The date, as ``YYYY-MM-DD``.
        jax: The version of JAX.
        operation_ns: Nanoseconds for an operation on one number of one lane, with so many lanes that other costs of a
            turn are negligible.
        kernel_ns: Nanoseconds of a turn besides its operations, for starting kernels.
        thread_ns: Nanoseconds for giving a part of a batch to another thread and waiting for it.
        test_ns: Nanoseconds that the host waits for the device at each test whether a loop goes on; also None if the
            device itself runs the loop.
        busy_lanes: Lanes that keep the machine busy, however little each does; 0 if a few vectors of lanes do.
        core_bytes: Size in bytes of the largest cache that each core has for itself.
        vector_bits: Bits of the widest vectors of the processor.
        lane: Times of kinds of work in a lane by itself.
        gang: Times of kinds of work in a gang.
        loop: Times of kinds of work in XLA's loop.
    """

    platform: str
    machine: str = "a machine that was not measured"
    measured: str = ""
    jax: str = ""
    operation_ns: float | None = None
    kernel_ns: float | None = None
    thread_ns: float | None = None
    test_ns: float | None = None
    busy_lanes: int = 0
    core_bytes: int | None = None
    vector_bits: int | None = None
    lane: WorkTimes | None = None
    gang: WorkTimes | None = None
    loop: WorkTimes | None = None

    def __post_init__(self) -> None:
        for field in fields(self):  # `field.type` is a string, since annotations are not evaluated
            value = getattr(self, field.name)
            wanted = _WANTED[field.type]
            if not wanted.holds(value):
                raise ProfileError(f"`{field.name}` of a profile is {wanted.said}, not {value!r}", help=_REMEDY)

    @classmethod
    def read(cls, path: Path) -> Profile:
        """The profile in a file.

        Raises:
            ProfileError: There is no such file, or it is no profile.
        """
        try:
            given = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ProfileError(f"the profile {path} cannot be read: {error}", help=_REMEDY) from error
        known = {field.name for field in fields(cls)}
        if not isinstance(given, dict) or not given.keys() <= known or "platform" not in given:
            raise ProfileError(f"{path} is no profile: it has {_found(given, known)}", help=_REMEDY)
        return cls(**given | {form: _times(form, given[form]) for form in FORMS if form in given})

    def write(self, path: Path) -> None:
        """Write the profile to a file, without what was not measured."""
        measured = {name: value for name, value in asdict(self).items() if value not in (None, "", 0)}
        path.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")

    def operations(self, quantity: str) -> float:
        """The number of operations on one number that take as long as a quantity of this machine.

        Args:
            quantity: The name of an attribute in nanoseconds. The ratio of the server is used if either the quantity or
                the time of an operation was not measured here.
        """
        time = getattr(self, quantity)
        if time is None or self.operation_ns is None:
            return server().operations(quantity)
        return float(time / self.operation_ns)

    def relative(self, form: str, kind: str) -> float | None:
        """The time of a kind of work in a form, relative to an operation of a lane by itself; None if unmeasured.

        Args:
            form: One of ``FORMS``.
            kind: The name of an attribute of ``WorkTimes``.
        """
        times = getattr(self, form)
        return None if times is None or self.lane is None else float(getattr(times, kind) / self.lane.number)

    @property
    def gang_lanes(self) -> int:
        """Lanes of a gang whose lanes hold single numbers."""
        return (self.vector_bits or server().vector_bits or 0) // GANG_BITS

    @property
    def turns_slower(self) -> float:
        """How many times as many operations of a lane by itself a turn of XLA's loop takes as on the server."""
        pairs = [(each.kernel_ns, each.lane and each.lane.number) for each in (self, server())]
        here, there = (turn / number if turn and number else None for turn, number in pairs)
        return here / there if here and there else 1.0


_REMEDY: Final = "make one with `python -m benchmarks.calibrate FILE`, or unset HLOBATCH_PROFILE"


def _is_number(value: Any, *kinds: type) -> bool:
    return type(value) in kinds and math.isfinite(value)


class _Wanted(NamedTuple):
    """The check of a quantity of some type, and its description for messages."""

    said: str
    holds: Callable[[Any], bool]


_WANTED: Final[dict[Any, _Wanted]] = {
    "str": _Wanted("a text", lambda v: isinstance(v, str)),
    "int": _Wanted("a whole number", lambda v: _is_number(v, int) and v >= 0),
    "int | None": _Wanted("a whole number above zero", lambda v: v is None or (_is_number(v, int) and v > 0)),
    "float | None": _Wanted("a number above zero", lambda v: v is None or (_is_number(v, int, float) and v > 0)),
    "WorkTimes | None": _Wanted("times of kinds of work", lambda v: v is None or isinstance(v, WorkTimes)),
}
"""For each annotation of an attribute, the check of its value."""


def _times(form: str, given: Any) -> WorkTimes:
    """The times of a form in a file."""
    kinds = [field.name for field in fields(WorkTimes)]
    is_complete = isinstance(given, dict) and sorted(given) == sorted(kinds)
    if not is_complete or not all(map(_WANTED["float | None"].holds, given.values())):
        raise ProfileError(f"`{form}` of a profile is a number above zero for each of {', '.join(kinds)}", help=_REMEDY)
    return WorkTimes(**given)


def _found(given: Any, known: set[str]) -> str:
    if not isinstance(given, dict):
        return f"no names but {given!r}"
    unknown = sorted(given.keys() - known)
    return "no `platform`" if not unknown else f"the unknown name{'s'[: len(unknown) > 1]} {', '.join(unknown)}"


@cache
def server() -> Profile:
    """The profile of the machine that stands in for what was not measured on another one."""
    return Profile.read(PROFILES / "server.json")


@cache
def h100() -> Profile:
    """The profile of the GPU on which the rules were tried."""
    return Profile.read(PROFILES / "h100.json")


def own(platform: str) -> Profile | None:
    """The profile that the user named, if it is for this platform; else None.

    Raises:
        ProfileError: The file that the user named is no profile.
    """
    path = config.profile()
    named = None if path is None else _kept(path, path.stat().st_mtime_ns if path.is_file() else 0)
    return named if named is not None and named.platform == platform else None


@cache
def _kept(path: Path, changed: int) -> Profile:
    """The profile in a file, cached by the time of its last change."""
    del changed
    return Profile.read(path)
