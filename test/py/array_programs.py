"""A seed -> a program on arrays, written with NumPy or with JAX, and whether hlobatch gives what plain Python gives.

A program is a function ``main(n, k, x, u, v, m)`` of two integers, a number, four integers, three numbers, and a matrix
of three by three; one written with JAX also takes a key. It combines features as those of ``feature_pairs.py`` do, and
returns all its arrays beside a number that all statements change. Each example is judged by plain Python: the same
values, kinds of numbers and shapes, of JAX's arrays the same dtypes; or the same exception; or hlobatch refuses the
program, in words that name nothing of its own.

    python test/py/array_programs.py 17            one program: its text, and its outcome
    python test/py/array_programs.py 0 1000        some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import contextlib
import random
import sys
import textwrap
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import feature_pairs
import feature_writer
import jax
import jax.numpy as jnp
import numpy as np
from array_features import FEATURES
from feature_pairs import SKIPPED, Outcome, made, tried
from feature_writer import indented
from programs.table import own_part
from zoo import LOOP, optimizing_little

import hlobatch as hb

_RANDOM = np.random.default_rng(61)
LANES = 6
N = np.array([0, 1, 2, 3, 5, 4])
K = np.array([1, -2, 0, 3, -5, 2])
X = np.array([0.75, -0.45, 1.25, 0.3, 2.1, -1.55])
U = np.array([[1, -2, 3, 0], [4, 4, 0, 1], [2, 2, 2, 2], [5, -1, 0, 3], [0, 7, 1, 9], [-3, 6, -3, 8]])
V = _RANDOM.uniform(-1.0, 1.0, (LANES, 3)).round(3)
M = _RANDOM.uniform(-1.0, 1.0, (LANES, 3, 3)).round(3)
"""The examples: one row of each array."""
MEANINGLESS = ("item assignment", "out of bounds for", "Cannot cast", "not acceptable")
"""Words of NumPy's and JAX's errors about programs that make no sense, as to write into an array of another dtype."""
MOST_DEPTH = 2
SMALL = 0.6
"""The share of programs of one or two features and one or two statements."""
FEW = hb.Optimizations(split_aggregates=False, in_place=False, if_conversion=False, coalesce=False, merge_lists=False)
"""Passes that treat arrays in other ways are switched off now and then."""
SHORT = ("bfloat16", "float16", "float32", "complex64")
"""Dtypes that a program may name, the shortest first."""
ROUNDING = 1e-6
"""A relative change of the floats of an example; a program whose result it changes by much is not compared."""


@dataclass
class Writer(feature_writer.Writer):
    """Draws the parts of one program.

    Attributes:
        library: The library that the program is written with: ``np`` or ``jnp``.
        floats: The numbers in scope; ``names`` are the integers.
        vectors: The arrays of three numbers in scope.
        wholes: The arrays of four integers in scope.
        matrices: The arrays of three by three numbers in scope.
    """

    library: str = "np"
    names: list[str] = field(default_factory=lambda: ["n", "abs(k)"])
    floats: list[str] = field(default_factory=lambda: ["x", "t"])
    vectors: list[str] = field(default_factory=lambda: ["v"])
    wholes: list[str] = field(default_factory=lambda: ["u"])
    matrices: list[str] = field(default_factory=lambda: ["m"])
    turns: ClassVar[Sequence[str]] = ("n", "3", "len(v)")
    ranges: ClassVar[Sequence[str]] = (
        *("range(3)", "range(n)", "range(len(u))", "range(1, n + 1)", "range(v.shape[0])", "range(2, -1, -1)"),
    )

    def number(self, depth: int = 1) -> str:
        """An expression for a number."""
        kind = self.draw.random()
        if depth == 0 or kind < 0.3 or self.within > 2:
            return self.draw.choice([*self.floats, f"{self.draw.uniform(-1, 1):.2f}"])
        if kind < 0.75:
            return self.feature().value(self)
        left, right = self.number(depth - 1), self.number(depth - 1)
        if kind < 0.82:
            return f"({left} if {self.condition()} else {right})"
        return f"({left} {self.draw.choice('+-*')} {right})"

    def whole(self) -> str:
        """A small integer that is not negative: a name or a constant."""
        return self.draw.choice([*self.names, str(self.draw.randint(0, 4))])

    def array(self, names: Sequence[str], kind: str) -> str:
        """An expression for an array: a name, or what a feature makes of one."""
        made_by = [f for f in self.features if getattr(f, kind)]
        if self.within > 2 or not made_by or self.draw.random() < 0.6:
            return self.draw.choice(names)
        return self.draw.choice(made_by).array(self, kind)

    def condition(self) -> str:
        kind = self.draw.random()
        if kind < 0.35 and self.within <= 2:
            return self.feature().condition(self)
        if kind < 0.6:
            return f"{self.whole()} {self.draw.choice(['<', '==', '!=', '>='])} {self.whole()}"
        test = f"{self.number(0)} {self.draw.choice('<>')} {self.number(0)}"
        return f"{test} and {self.whole()} > 1" if kind < 0.7 else test

    def seen(self, value: str) -> str:
        return f"t = 0.6 * t + xp.sin(1.0 * {value})"

    def part(self, letter: str) -> str:
        """The replacement of a letter in a feature's text: a number, integer or array for a mark."""
        if letter == "#":
            return self.number()
        if letter == ";":
            return self.whole()
        arrays = {"$": (self.vectors, "vector"), "?": (self.wholes, "whole"), "`": (self.matrices, "matrix")}
        return self.array(*arrays[letter]) if letter in arrays else letter


IMPORTS = (
    "import functools, itertools, math, operator",
    "from dataclasses import dataclass",
    "from typing import NamedTuple",
    "import jax, jax.numpy as jnp, numpy as np",
    "from jax import lax",
    "import hlobatch as hb",
)


def program(seed: int) -> str:
    """The text of a program; the same for each seed."""
    draw = random.Random(seed)
    w = Writer(draw, library=draw.choice(("np", "jnp")))
    usable = [kind for kind in FEATURES if w.library in kind.libraries]
    is_small = draw.random() < SMALL
    w.features = [kind() for kind in draw.sample(usable, draw.choice((1, 2, 2)) if is_small else 3)]
    helpers = [textwrap.dedent(feature.helpers) for feature in w.features]
    begin = [line for feature in w.features for line in feature.begin(w)]
    count, depth = (draw.randint(1, 2), draw.randint(1, 2)) if is_small else (draw.randint(2, 4), MOST_DEPTH)
    body = [line for _ in range(count) for line in w.statement(depth)]
    own = [name for feature in w.features for name in feature.returned]
    result = f"return {', '.join(['t', 'u', 'v', 'm', *own])}"
    leaves = [f"if {w.condition()}:", f"    {result}"] if draw.random() < 0.3 else []
    values = [w.seen(feature.value(w)) for feature in w.features]
    copies = ["u, v, m = u.copy(), v.copy(), m.copy()"] if w.library == "np" and draw.random() < 0.5 else []
    key = ", key" if w.library == "jnp" else ""
    lines = [*copies, "t = 0.1", *begin, *body, *leaves, *values, result]
    return text_of(lines, "\n".join(helpers), key).replace("xp.", f"{w.library}.")


def text_of(body: Sequence[str], helpers: str = "", key: str = "") -> str:
    """The text of a program.

    Args:
        body: The lines of its function ``main``.
        helpers: The definitions before it.
        key: The parameter for a key, with a comma before it, if it is written with JAX.
    """
    return "\n".join([*IMPORTS, helpers, f"def main(n, k, x, u, v, m{key}):", *indented(body), ""])


# Plain Python


def _example(row: int, *, is_jax: bool, scale: float = 1.0) -> list[Any]:
    """The arguments of one example: numbers, and arrays of NumPy or of JAX."""
    whole, real = (np.int64, np.float64) if jax.config.values["jax_enable_x64"] else (np.int32, np.float32)
    x, v, m = X[row] * scale, V[row] * scale, M[row] * scale
    arrays = [U[row].astype(whole), v.astype(real), m.astype(real)]
    if is_jax:
        numbers = [jnp.asarray(N[row], whole), jnp.asarray(K[row], whole), jnp.asarray(x, real)]
        return [*numbers, *map(jnp.asarray, arrays), jax.random.key(row)]
    return [int(N[row]), int(K[row]), float(real(x)), *arrays]


def _batch(lanes: Any, *, is_jax: bool) -> list[Any]:
    """The arguments of some examples, stacked."""
    whole, real = (np.int64, np.float64) if jax.config.values["jax_enable_x64"] else (np.int32, np.float32)
    found = [N.astype(whole), K.astype(whole), X.astype(real), U.astype(whole), V.astype(real), M.astype(real)]
    keys = [jax.vmap(jax.random.key)(jnp.asarray(lanes))] if is_jax else []
    return [*(array[lanes] for array in found), *keys]


def _plain(main: Callable[..., Any], row: int, **how: Any) -> Any:
    """The result of plain Python, or the class of the exception that it raises."""
    try:
        return main(*_example(row, **how))
    except SKIPPED:
        raise
    except Exception as error:  # whatever the program raises
        if any(words in str(error) for words in MEANINGLESS):
            raise NameError(str(error)) from error
        return error


def _kind(dtype: np.dtype[Any]) -> str:
    return "i" if dtype.kind == "u" else "f" if jnp.issubdtype(dtype, jnp.floating) else dtype.kind


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def difference(got: Any, wanted: Any, precision: float) -> str:
    """The difference of a result from Python's, as text; empty if there is none.

    Args:
        got: The result.
        wanted: Python's result.
        precision: How far floats may be off, relative to the value, or to 1, if that is less.
    """
    if jax.tree.structure(got) != jax.tree.structure(wanted):
        return f"structure {jax.tree.structure(got)}, in Python {jax.tree.structure(wanted)}"
    for place, (one, other) in enumerate(zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True)):
        if what := _difference_of_leaf(one, other, precision):
            return f"result {place}: {what}"
    return ""


def _difference_of_leaf(got: Any, wanted: Any, precision: float) -> str:
    got, wanted = (jax.random.key_data(leaf) if _is_key(leaf) else leaf for leaf in (got, wanted))
    if type(wanted) is int or (getattr(wanted, "weak_type", False) and _kind(wanted.dtype) == "i"):
        wanted = np.asarray(wanted, np.asarray(got).dtype)  # a variable that is a float on one path is one on all
    dtype = np.asarray(got).dtype
    own = np.asarray(wanted).dtype
    if dtype != own if isinstance(wanted, jax.Array) and not wanted.weak_type else _kind(dtype) != _kind(own):
        return f"{dtype}, in Python {own}"
    if np.shape(got) != np.shape(wanted):
        return f"shape {np.shape(got)}, in Python {np.shape(wanted)}"
    if _kind(own) in "fc":
        precision = max(precision, 1000 * float(jnp.finfo(dtype).eps), 1000 * float(jnp.finfo(own).eps))
        left, right = (np.asarray(a, np.complex128 if _kind(own) == "c" else np.float64) for a in (got, wanted))
        near = np.isclose(left, right, rtol=precision, atol=precision, equal_nan=True).all()
    else:
        near = np.array_equal(got, wanted)
    return "" if near else f"{np.asarray(got).tolist()}, in Python {np.asarray(wanted).tolist()}"


def _precision(text: str) -> float:
    """How far the floats of a program may be off: a thousand times the unit of the shortest dtype that it names."""
    shortest = next((name for name in SHORT if name in text), "float64")
    return 1000 * float(jnp.finfo(shortest).eps)


# hlobatch


def by_turns(text: str) -> Outcome:
    """The outcome of a program in one of several forms, chosen by the text's checksum."""
    number = zlib.crc32(text.encode())
    forms: list[dict[str, Any]] = [
        {"dispatch": "kernel"}, {"dispatch": "kernel"}, {}, {"optimizations": LOOP},
        {"dispatch": "kernel", "optimizations": FEW},
    ]  # fmt: skip
    return outcome(text, x64=number // 7 % 3 == 0, **forms[number % len(forms)])


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def outcome(text: str, *, x64: bool = False, **options: Any) -> Outcome:
    """The outcome of a program with some options of ``hb.batch``, judged by plain Python."""
    with jax.enable_x64(x64), optimizing_little(), _quiet():
        try:
            main = made(text)
            is_jax = ", key)" in text
            wanted = [_plain(main, row, is_jax=is_jax) for row in range(LANES)]
            around = (1 - ROUNDING, 1 + ROUNDING)
            nearby = [[_plain(main, row, is_jax=is_jax, scale=scale) for scale in around] for row in range(LANES)]
        except SKIPPED as error:
            return Outcome("skipped", repr(error))
        except Exception as error:  # noqa: BLE001  # what is left of a program that is reduced
            return Outcome("skipped", repr(error))
        lanes = [row for row in range(LANES) if all(_is_compared(wanted[row], other, text) for other in nearby[row])]
        if not lanes:
            return Outcome("skipped", f"nothing to compare: {wanted}")
        expected = [wanted[row] for row in lanes]
        return tried(lambda: _compared(main, lanes, expected, _precision(text), is_jax, options))


def _is_compared(value: Any, nearby: Any, text: str) -> bool:
    """Whether an example's outcome has to be Python's: rounding does not change it, and it is promised."""
    if isinstance(value, Exception):
        return type(value) is type(nearby) and feature_pairs._is_asked_for(feature_pairs._builtin(value), text)
    if isinstance(nearby, Exception):
        return False
    for one, other in zip(jax.tree.leaves(value), jax.tree.leaves(nearby), strict=True):
        if _is_key(one):
            continue
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape:
            return False
        if _kind(one.dtype) in "fc":
            eps = 300 * max(ROUNDING, float(jnp.finfo(one.dtype).eps))
            if not np.isclose(one.astype(complex), other.astype(complex), rtol=eps, atol=eps, equal_nan=True).all():
                return False
        elif not np.array_equal(one, other):
            return False
    return True


def _compared(
    main: Callable[..., Any], lanes: list[int], wanted: list[Any], precision: float, is_jax: bool, options: Any
) -> Outcome:
    """The outcome of a run beside the results of plain Python."""
    arguments = _batch(lanes, is_jax=is_jax)
    raised: dict[int, Any] = {}
    try:
        try:
            found = hb.batch(main, max_steps=100_000, **options)(*arguments)
        except hb.KernelError:
            found = hb.batch(main, max_steps=100_000)(*arguments)
    except hb.LaneError as error:
        if not getattr(error, "errors", None):
            raise
        found, raised = error.outputs, error.errors
    for lane, value in enumerate(wanted):
        where = f"example {lanes[lane]}: "
        if isinstance(value, Exception) or lane in raised:
            got = feature_pairs._builtin(raised[lane]) if lane in raised else None
            own = feature_pairs._builtin(value) if isinstance(value, Exception) else None
            if got != own:
                return Outcome("wrong", f"{where}raises {got}, in Python {own}: {value!r}")
            continue
        if what := difference(own_part(found, lane), value, precision):
            return Outcome("wrong", where + what)
    return Outcome("ran")


if __name__ == "__main__":
    feature_pairs.main(sys.argv[1:], program, by_turns)
