"""A seed -> a program of floating-point numbers, and whether its derivatives are those of plain Python.

A program is a function ``main(x, y, n, v, w)`` of two numbers, an integer, a vector, and a matrix that all examples
share. It combines features as those of ``feature_pairs.py`` do, and is smooth but where it branches. Each example is
judged by plain Python: the value in both modes, the tangent by finite differences in 64 bits, and the gradient by the
tangent (the dot-product test), or by differences where it is asked for alone. An example that raises has no derivative,
and the others have theirs.

    python test/py/smooth_programs.py 17            one program: its text, and what came of it
    python test/py/smooth_programs.py 0 1000        some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import random
import sys
import textwrap
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import feature_pairs
import feature_writer
import features
import jax
import jax.numpy as jnp
import numpy as np
from feature_pairs import MOST_DEPTH, OWN_WORDS, SKIPPED, Outcome, made
from feature_writer import Feature, Lines, indented
from smooth_containers import Held
from zoo import optimizing_little

import hlobatch as hb

_RANDOM = np.random.default_rng(53)
LANES = 6
ARGUMENTS = (
    _RANDOM.uniform(0.2, 1.2, LANES),
    _RANDOM.uniform(-1.0, 1.0, LANES),
    np.array([0, 1, 2, 3, 5, 4]),
    _RANDOM.uniform(-1.0, 1.0, (LANES, 3)),
    _RANDOM.uniform(-0.7, 0.7, (3, 3)),
)
"""The arguments of all examples: one row of each array for an example; the last array is shared."""
IN_AXES = (0, 0, 0, 0, None)
VARIED = (0, 1, 3, 4)
DIRECTIONS = tuple(_RANDOM.normal(size=ARGUMENTS[i].shape) for i in VARIED)
STEP = 1e-6


@dataclass
class Writer(feature_writer.Writer):
    """Draws the parts of one program.

    Attributes:
        floats: The floating-point numbers in scope; ``names`` are the integers.
    """

    names: list[str] = field(default_factory=lambda: ["n"])
    floats: list[str] = field(default_factory=lambda: ["x", "y", "t"])
    turns: ClassVar[Sequence[str]] = ("n", "3")
    ranges: ClassVar[Sequence[str]] = ("range(3)", "range(n)", "(n, 2)", "range(1, n + 1)")

    def number(self, depth: int = 1) -> str:
        """A floating-point expression."""
        kind = self.draw.random()
        if depth == 0 or kind < 0.35 or self.within > 2:
            return self.draw.choice([*self.floats, f"{self.draw.uniform(-1, 1):.2f}"])
        if kind < 0.65:
            return self.feature().value(self)
        left, right = self.number(depth - 1), self.number(depth - 1)
        if kind < 0.72:
            return f"({left} if {self.condition()} else {right})"
        return f"({left} {self.draw.choice('+-*')} {right})"

    def whole(self) -> str:
        """An integer: a name or a constant."""
        return self.draw.choice([*self.names, str(self.draw.randint(0, 4))])

    def condition(self) -> str:
        kind = self.draw.random()
        if kind < 0.25 and self.within <= 2:
            return self.feature().condition(self)
        if kind < 0.5:
            return f"{self.whole()} {self.draw.choice(['<', '==', '!=', '>='])} {self.whole()}"
        test = f"{self.number(0)} {self.draw.choice('<>')} {self.number(0)}"
        return f"{test} and {self.whole()} > 1" if kind < 0.6 else test

    def seen(self, value: str) -> str:
        """A statement that lets the result depend on a value, and keeps it small."""
        return f"t = 0.6 * t + jnp.sin({value})"

    def part(self, letter: str) -> str:
        """A floating-point expression for ``#``, a plain integer for ``$``."""
        return self.number() if letter == "#" else self.whole() if letter == "$" else letter


class Smooth(Feature):
    """A feature of smooth programs."""

    conditions = ("x > y",)


class Elementary(Smooth):
    values = (
        "jnp.sin(#)",
        "jnp.exp(-abs(#))",
        "jnp.sqrt(1 + # ** 2)",
        "jnp.log1p((#) ** 2)",
        "# / (2 + jnp.cos(#))",
        "abs(#)",
        "max(#, #)",
        "min(#, y)",
        "jnp.where(# > 0.5, #, #)",
        "x ** ($ % 3)",
        "(0.5 + x) ** y",
        "jax.grad(lambda z: jnp.sin(z) * z)(#)",
        "jnp.floor(#)",
        "float($)",
        "jnp.arctan2(#, 1.5)",
    )
    changes = ("x, y = y, x", "x = #", "y *= 0.5", "t += #", "x, t = t, 0.5 * x", "y = jnp.tanh(#)")


class Integers(Smooth):
    begins = ("k = n", "k = 2")
    values = ("k * #", "0.1 * (k + 1)", "(# if k > 1 else y)", "(k % 3 - 1) * #", "x ** k")
    conditions = ("k > $", "k % 2 == 1")
    changes = ("k += $", "k = (3 * k + 1) % 7", "k = int(3 * abs(y))", "k, t = k + 1, t * 0.5")


class Vector(Smooth):
    begins = ("r = v", "r = jnp.zeros(3)", "r = v * x")
    values = ("r[$ % 3]", "r.sum()", "jnp.dot(r, v)", "(w @ r)[$ % 3]", "jnp.max(r)", "r[::-1][0]", "r[-1]")
    conditions = ("r[0] > #", "r.sum() < 1")
    changes = (
        "r = r.at[$ % 3].set(#)",
        "r = r.at[$ % 3].add(#)",
        "r = r.at[$ % 3].multiply(#)",
        "r = jnp.sin(r) + v",
        "r = w @ r",
        "r = jnp.where(r > 0.2, r, 0.5 * r)",
        "r = jnp.concatenate([r[1:], r[:1]])",
        "r = r.at[1:].set(v[:2] * #)",
        "for e in r:\n    t = 0.5 * t + e",
    )


class InPlace(Smooth):
    begins = ("q = np.zeros(3)", "q = np.ones(3)")
    values = ("q[$ % 3]", "q.sum()", "q[0] * q[1]")
    conditions = ("q[0] > #",)
    changes = ("q[$ % 3] = #", "q[1] += #", "q[0], q[1] = q[1], q[0]", "q *= 0.5", "q[1:] = v[:2]", "p = q.copy()")


class Weights(Smooth):
    values = ("w[$ % 3, $ % 3]", "(w @ v)[$ % 3]", "jnp.sum(w) * #", "jnp.tanh(w @ (v * #)).sum()", "w[$ % 3].sum()")
    helpers = """
    def layered(w, u, k):
        while k > 0:
            u = jnp.tanh(w @ u) + 0.1
            k -= 1
        return u
    """
    changes = ("v = jnp.tanh(w @ v)", "v = layered(w, v, $)", "t += layered(w, v, n)[$ % 3]", "w = w * 0.9")


class List(Smooth):
    begins = ("l = []", "l = [x, 0.5]", "l = [y] * 3")
    values = ("sum(l)", "(l[0] if l else x)", "(l[-1] if len(l) > 0 else 0.5)", "len(l) * #", "max([0.1, *l])")
    conditions = ("len(l) > $", "l")
    changes = (
        "l.append(#)",
        "if l:\n    l.pop()",
        "if l:\n    t += l.pop(0)",
        "if len(l) > 1:\n    l[1] = #",
        "l.insert(0, #)",
        "l += [#, y]",
        "l.reverse()",
        "l = l + [#]",
        "for e in l:\n    t = 0.5 * t + e",
        "if len(l) > 1:\n    l[0], l[-1] = l[-1], l[0]",
    )


class Dict(Smooth):
    begins = ("d = {}", "d = {0: x}", "d = {n: y, 7: x}")
    values = ("d.get($, #)", "sum(d.values())", "len(d) * #", "d.pop($, 0.2)", "d.setdefault($, #)")
    conditions = ("$ in d", "len(d) > $")
    changes = ("d[$] = #", "d[$] = d.get($, 0.5) + #", "d.pop($, None)", "for k, e in d.items():\n    t = 0.5 * t + e")


class Object(Smooth):
    helpers = """
    class Box:
        def __init__(self, u):
            self.u, self.items, self.count = u, [], 0

        def add(self, u):
            self.u = 0.7 * self.u + u
            self.count += 1
            if self.count > 3:
                self.u = u
                return u * u
            return self.u

        def keep(self, u):
            self.items.append(u * self.u)
            return len(self.items)

        @property
        def twice(self):
            return 2 * self.u
    """
    begins = ("o = Box(x)", "o = Box(0.5)")
    values = ("o.u", "o.add(#)", "o.keep(#) * x", "sum(o.items)", "o.twice", "o.count * 0.1")
    conditions = ("o.u > #", "o.count > $")
    changes = ("o.u = #", "o.u *= #", "o.add(#)", "o.keep(#)", "o = Box(#)", "if o.items:\n    t += o.items.pop()")


class Nothing(Smooth):
    begins = ("m = None", "m = None if n > 1 else y")
    values = ("(0.3 if m is None else m)", "(m if m is not None else #)")
    conditions = ("m is None", "m is not None and m > 0.1")
    changes = ("m = #", "m = None", "if m is None:\n    m = #\nelse:\n    t += m * x")


class Raising(features.Raising):
    helpers = """
    def check(u):
        if u > 0.6:
            raise ValueError("large")
        return u * u

    def whole(k):
        if k == 2:
            raise KeyError("two")
        return k
    """
    conditions = ("x > y",)
    values = ("check(-abs(#))", "whole(3 * $ + 1) * y")
    risky = ("t = check(#)", "t += check(x)", "t = whole($) * #", "t += whole(n) * y", "raise KeyError(1)", "check(#)")
    caught = ("ValueError", "KeyError", "(ValueError, KeyError)", "Exception", "LookupError")


class Recursion(Smooth):
    helpers = """
    def down(u, k):
        if k <= 0:
            return jnp.sin(u)
        if u > 0.5:
            return down(u * 0.7, k - 1) * u
        return down(u - 0.3, k - 2) + 0.5 * down(u * u, k - 1)

    def node(w, u, k):
        if k < 1:
            return u
        a = node(w, u * 0.5, k - 1)
        return jnp.tanh(w @ (a + node(w, u, k - 2)))

    def ping(u, k):
        return u if k <= 0 else pong(u + 0.2, k - 1)

    def pong(u, k):
        if k <= 0:
            return jnp.cos(u)
        s = ping(u * 0.9, k - 1)
        return s * u
    """
    values = ("down(#, $)", "node(w, v, n)[$ % 3]", "ping(#, $)", "pong(y, n)", "down(x, n)")


class Helper(Smooth):
    helpers = """
    def fill(items, u, k):
        while k > 0:
            items.append(u * k)
            k -= 2
        return len(items) * u

    def mix(items):
        items[0], items[-1] = items[-1] * 0.5, items[0] + items[-1]

    def first_above(v, u, z=0.4):
        for i in range(3):
            if v[i] > u:
                return v[i] * z
        return z * z
    """
    begins = ("h = [y]", "h = [0.5, x, 1.0]")
    values = ("sum(h)", "fill(h, #, $)", "first_above(v, #)", "first_above(v, 0.1, z=#)", "h[0]")
    changes = ("fill(h, #, $)", "mix(h)", "h = h[:]", "g = h[:]\nmix(g)\nt += g[0]", "t += first_above(v, #, #)")


class Comprehension(Smooth):
    values = (
        "sum(e * 2 for e in (x, y, #))",
        "sum([e * e for e in (x, #)])",
        "sum(x * i for i in range(1, n + 2))",
        "sum(e for e in v if e > #)",
        "max(e - # for e in (x, y))",
    )
    conditions = ("any(e > # for e in (x, y))", "all(e > # for e in (x, y))")


class Closure(Smooth):
    begins = (
        "def bump(u):\n    nonlocal z\n    z = 0.5 * z + u\n    return z * x",
        "def bump(u):\n    nonlocal z\n    if u > 0.3:\n        z = u\n    return z",
    )
    values = ("bump(#)", "bump(x)", "z")
    changes = ("z = #", "bump(#)", "t += bump(#)")

    def begin(self, w: feature_writer.Writer) -> Lines:
        return ["z = 0.5", *w.draw.choice(self.begins).splitlines()]


class Until(Smooth):
    begins = ("a, c = x, 0", "a, c = 1.0, 0")
    values = ("a", "a * c")
    conditions = ("a > #", "c > $")
    changes = (
        "a, c = #, 0\nwhile jnp.abs(a) > 0.1 and c < 5:\n    a = 0.6 * a * jnp.cos(#)\n    c += 1",
        "while True:\n    a = 0.5 * a + 0.1 * #\n    c += 1\n    if c > 4 or a < 0.2:\n        break\n    t += a * 0.1",
        "for c in range(n):\n    if a > 2:\n        break\n    a = a + x * x\nelse:\n    a = a * 0.5",
    )


class Outside(Smooth):
    helpers = """
    TABLE = np.linspace(0.5, 1.5, 4)
    """
    values = ("TABLE[$ % 4] * #", "jnp.interp(#, TABLE, TABLE ** 2)", "jnp.dot(TABLE[:3], v)")


FEATURES: tuple[type[Feature], ...] = (*Smooth.__subclasses__(), Raising, *Held.__subclasses__())


IMPORTS = (
    "import bisect, contextlib, dataclasses, enum, functools, heapq, itertools, math",
    "from collections import defaultdict, deque",
    "from typing import NamedTuple",
    "import jax, jax.numpy as jnp, numpy as np",
    "import hlobatch as hb",
)


def program(seed: int) -> str:
    """The text of a program; the same for each seed."""
    w = Writer(random.Random(seed))
    w.features = [kind() for kind in w.draw.sample(FEATURES, w.draw.choice((2, 3, 3)))]
    helpers = [textwrap.dedent(feature.helpers) for feature in w.features]
    begin = [line for feature in w.features for text in feature.begin(w) for line in text.splitlines()]
    body = [line for _ in range(w.draw.randint(2, 4)) for line in w.statement(MOST_DEPTH)]
    leaves = [f"if {w.condition()}:", f"    return {w.number()}"] if w.draw.random() < 0.3 else []
    values = [w.seen(feature.value(w)) for feature in w.features]
    lines = ["t = 0.1", *begin, *body, *leaves, *values, "return t * x"]
    return "\n".join([*IMPORTS, *helpers, "def main(x, y, n, v, w):", *indented(lines), ""])


# Plain Python


def _example(row: int, step: float) -> list[Any]:
    """The arguments of an example, moved by some steps along the direction."""
    moved = [np.asarray(a, a.dtype) for a in ARGUMENTS]
    for place, direction in zip(VARIED, DIRECTIONS, strict=True):
        moved[place] = moved[place] + step * STEP * direction
    own = [a if axis is None else a[row] for a, axis in zip(moved, IN_AXES, strict=True)]
    return [jnp.asarray(own[0]), jnp.asarray(own[1]), int(own[2]), jnp.asarray(own[3]), jnp.asarray(own[4])]


@dataclass(frozen=True)
class Truth:
    """The result of plain Python for one example: a value, or an exception."""

    main: Callable[..., Any]
    row: int
    value: float = 0.0
    raised: type[Exception] | None = None

    def difference(self, steps: int) -> float | None:
        """The slope along the direction by finite differences; None if the program raises nearby."""
        try:
            ahead, behind = (float(self.main(*_example(self.row, s))) for s in (steps, -steps))
        except (ValueError, LookupError):
            return None
        return (ahead - behind) / (2 * steps * STEP)

    @cached_property
    def slope(self) -> float | None:
        return self.difference(1)

    @cached_property
    def is_smooth(self) -> bool:
        """Whether two finite differences agree, so that the program is differentiable there."""
        near, far = self.slope, self.difference(3)
        return near is not None and far is not None and abs(near - far) <= 1e-5 * max(1.0, abs(near))


def truth(main: Callable[..., Any], row: int) -> Truth:
    """The result of plain Python for an example."""
    try:
        return Truth(main, row, float(main(*_example(row, 0))))
    except SKIPPED:
        raise
    except Exception as error:  # noqa: BLE001  # whatever the program raises
        return Truth(main, row, raised=type(error))


# hlobatch


def _values_and_slopes(found: Callable[[], Any], count: int) -> tuple[Any, dict[int, type]]:
    """The results of a run, and in lanes that raised the classes of their exceptions."""
    try:
        return found(), {}
    except hb.LaneError as error:
        if not getattr(error, "errors", None):
            raise
        raised = {
            lane: next(k for k in type(e).__mro__ if k.__module__ == "builtins") for lane, e in error.errors.items()
        }
        return error.outputs, raised


class Modes(NamedTuple):
    """The requested modes of differentiation: forward, reverse, or both."""

    forward: bool = True
    reverse: bool = True


BOTH = Modes()


@dataclass(frozen=True)
class Derivatives:
    """The derivatives of a program, and those of plain Python.

    Attributes:
        main: The program.
        batched: The program, batched.
        modes: The requested modes.
    """

    main: Callable[..., Any]
    batched: Any
    modes: Modes

    def forward(self) -> Any:
        def of_varied(*some: Any) -> Any:
            given = list(map(jnp.asarray, ARGUMENTS))
            for place, value in zip(VARIED, some, strict=True):
                given[place] = value
            return self.batched(*given)

        return jax.jvp(of_varied, [jnp.asarray(ARGUMENTS[i]) for i in VARIED], list(map(jnp.asarray, DIRECTIONS)))

    def reverse(self) -> Any:
        return hb.value_and_grad(self.batched, VARIED)(*map(jnp.asarray, ARGUMENTS))

    @cached_property
    def rows(self) -> list[Truth]:
        return [truth(self.main, row) for row in range(LANES)]

    @property
    def sound(self) -> list[Truth]:
        """The examples that do not raise."""
        return [one for one in self.rows if one.raised is None]

    def differs(self) -> str:
        """The difference from plain Python in some example, as text; empty if there is none."""
        if not self.sound:
            return ""
        slopes, total = None, None
        for name in (mode for mode, is_asked in self.modes._asdict().items() if is_asked):
            (values, found), raised = _values_and_slopes(getattr(self, name), LANES)
            if wrong := self._wrong_values(name, values, raised):
                return wrong
            if name == "forward":
                slopes = np.asarray(jax.tree.leaves(found)[0] if jax.tree.leaves(found) else np.zeros(LANES))
            else:
                total = sum(float(jnp.sum(g * d)) for g, d in zip(found, DIRECTIONS, strict=True))
        return self._wrong_slopes(slopes) or self._wrong_total(slopes, total)

    def _wrong_values(self, name: str, values: Any, raised: dict[int, type]) -> str:
        wanted = {one.row: one.raised for one in self.rows if one.raised is not None}
        if raised != wanted:
            return f"raises {raised} in {name} mode, not {wanted}"
        wrong = (
            o for o in self.sound if not np.allclose(values[o.row], o.value, rtol=1e-9, atol=1e-11, equal_nan=True)
        )
        return next((f"lane {o.row}: value {values[o.row]} in {name} mode, not {o.value}" for o in wrong), "")

    def _wrong_slopes(self, slopes: Any) -> str:
        """The difference of a slope from finite differences where these agree with each other, as text; else empty."""
        for one in self.sound if slopes is not None else ():
            is_near = one.slope is None or np.isclose(slopes[one.row], one.slope, rtol=1e-5, atol=1e-6)
            if not is_near and one.is_smooth:
                return f"lane {one.row}: slope {slopes[one.row]}, by differences {one.slope}"
        return ""

    def _wrong_total(self, slopes: Any, total: float | None) -> str:
        """The difference of the gradient along the direction from the tangents, or from finite differences, as text.

        Else empty.
        """
        if total is None:
            return ""
        if slopes is not None:
            own = slopes[[one.row for one in self.sound]]
            is_near = np.isclose(total, own.sum(), rtol=1e-9, atol=1e-10, equal_nan=True)
            return "" if is_near else f"the gradient along the direction is {total}, the tangents are {own}"
        own = [one.slope for one in self.sound]
        if None in own or np.isclose(total, sum(own), rtol=1e-5, atol=1e-5 * max(1.0, *map(abs, own))):
            return ""
        is_smooth = all(one.is_smooth for one in self.sound)
        return f"the gradient along the direction is {total}, by differences {own}" if is_smooth else ""


def by_turns(text: str) -> Outcome:
    """The outcome of a program's derivatives, in one of the modes or in both, chosen by the text's checksum."""
    modes = (BOTH, Modes(forward=False), Modes(forward=False), Modes(reverse=False))
    return outcome(text, modes[zlib.crc32(text.encode()) % len(modes)])


def outcome(text: str, modes: Modes = BOTH, **options: Any) -> Outcome:
    """The outcome of a program's derivatives in the given modes."""
    with jax.enable_x64(True), optimizing_little():
        main = made(text)
        batched = hb.batch(main, in_axes=IN_AXES, max_steps=100_000, **{"dispatch": "kernel", **options})
        try:
            found = Derivatives(main, batched, modes).differs()
        except SKIPPED as error:
            return Outcome("skipped", repr(error))
        except hb.KernelError as error:  # XLA would take minutes to compile some of these programs
            return Outcome("refused", str(error))
        except hb.VerificationError as error:
            return Outcome("wrong", str(error))
        except hb.HloBatchError as error:
            said = next((word for word in OWN_WORDS if word in str(error)), None)
            return Outcome("refused" if said is None else "wrong", str(error))
        except Exception as error:  # noqa: BLE001  # whatever comes out of the compiler
            return Outcome("wrong", repr(error))
        return Outcome("wrong", found) if found else Outcome("ran")


if __name__ == "__main__":
    feature_pairs.main(sys.argv[1:], program, outcome)
