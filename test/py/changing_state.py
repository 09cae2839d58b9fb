"""A seed -> a program that reads state outside of it, and statements that change the state between calls.

A program is a function ``f(n)`` and what it reads: numbers, containers, functions, classes, modules. After each change
Python judges what ``f`` gives now; a program that was made before the change must not be used again.

    python test/py/changing_state.py 17             one program: its text, its changes and its outcome
    python test/py/changing_state.py 0 100          some programs: the seeds whose outcome is wrong
"""

import collections
import contextlib
import importlib.util
import linecache
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np

import hlobatch as hb

NUMBERS = np.arange(5, dtype=np.int32)
HEADER = (
    "import dataclasses, enum, functools, math, types\nfrom collections import deque\nfrom typing import NamedTuple\n"
)
HEADER += "import numpy as np, jax.numpy as jnp\nimport hlobatch as hb\n"


class Kind(NamedTuple):
    """One kind of state: its definition, an expression that reads it, and changes of it; ``#`` is a small number."""

    defined: str
    read: str
    changes: tuple[str, ...]


BOX = """
class Box:
    scale = 2
    def __init__(self):
        self.x, self.rows = 1, [1, 2]
    @property
    def far(self):
        return self.x * self.scale
    @staticmethod
    def twice(v):
        return v * 2
    @classmethod
    def up(cls, v):
        return v + cls.scale
    def run(self, v):
        return v + self.x + len(self.rows)
BOX = Box()
"""
CLOSURE = """
def maker(k):
    def inner(v):
        return v + k
    def put(x):
        nonlocal k
        k = x
    return inner, put
INNER, PUT = maker(1)
"""
HELPER = """
SHIFT = 2
def helper(v, k=1, *, m=2):
    return v * k + m + SHIFT
"""
WRAPPED = """
def scaled(k):
    def wrap(f):
        @functools.wraps(f)
        def inner(v):
            return f(v) * k
        return inner
    return wrap
@scaled(2)
def wrapped(v):
    return v + 1
"""
SPECIAL = """
class Counter:
    k = 1
    def __enter__(self):
        return self.k
    def __exit__(self, *_):
        return False
    def __call__(self, v):
        return v + self.k
COUNTER = Counter()
def within(v):
    with Counter() as k:
        v += k
    return v
"""
INHERITED = """
class Base:
    w = 1
    def go(self, v):
        return v + self.w
class Child(Base):
    pass
CHILD = Child()
"""
DESCRIPTOR = """
class Field:
    def __init__(self, k):
        self.k = k
    def __get__(self, owner, kind=None):
        return self.k
class Holder:
    d = Field(3)
HOLDER = Holder()
"""
CACHED = """
STEP = 2
@functools.cache
def cached(v):
    return 0 if v <= 0 else STEP + cached(v - 1)
"""
MADE_MODULE = """
MODULE = types.ModuleType("made")
MODULE.x = 3
MODULE.go = lambda v: v + 1
"""
KINDS: dict[str, Kind] = {
    "number": Kind("G = 3", "G", ("G = #", "G = True", "G = 1", "G = 1.0", "G += 1", "G = -G", "G = np.int32(#)")),
    "sign of zero": Kind("Z = 0.0", "(1 if math.copysign(1, Z) < 0 else 2)", ("Z = -0.0", "Z = 0.0", "Z = 0")),
    "tuple": Kind("T = (1, 2)", "T[n % 2]", ("T = (1, 2)", "T = (#, 2)", "T = (1, 2.0)", "T = [3, 4]")),
    "list": Kind("L = [1, 2, 3]", "sum(L) + L[n % 2]", ("L.append(#)", "L[0] = #", "L = [1, 2, 3]", "L.reverse()")),
    "nested": Kind("N = [[1, 2], [3]]", "N[0][0] + sum(N[-1])", ("N[0][0] = #", "N[-1].append(#)", "N[1] = N[0]")),
    "dict": Kind("D = {'a': 1}", "D['a'] + D.get('c', 7) + len(D)", ("D['a'] = #", "D['c'] = #", "D.pop('c', 0)")),
    "order": Kind("O = {'a': 1, 'b': 2}", "[*O.values()][0]", ("O['a'] = O.pop('a')", "O['b'] = O.pop('b')")),
    "set": Kind("S = {1, 2}", "len(S) + (n in S)", ("S.add(#)", "S.discard(1)", "S = {1, 2}", "S = frozenset([#])")),
    "range": Kind("R = range(3)", "len(R) + (n in R)", ("R = range(#)", "R = range(0, 3)", "R = range(#, 9, 2)")),
    "array": Kind(
        "A = np.array([1, 2, 3], np.int32)",
        "A[n % 3]",
        ("A = np.asarray(A) + 1", "A = A * np.int32(2)", "A = jnp.array([#, 2, 3])"),
    ),
    "view": Kind("B = np.arange(6)\nV = B[::2]", "V[n % 3]", ("B[0] = #", "B[2] += 1", "V = B[1::2]", "V = B[::2]")),
    "text": Kind("X = 'ab'", "len(X) + (X == 'ab')", ("X = 'ab'", "X = 'abc'", "X = 'x' * #")),
    "none": Kind("NONE = None", "(3 if NONE is None else NONE)", ("NONE = #", "NONE = None", "NONE = 0")),
    "object": Kind(
        BOX,
        "BOX.far + BOX.run(n) + Box.up(n) + BOX.twice(n)",
        (
            *("BOX.x = #", "BOX.rows.append(1)", "Box.scale = #", "BOX.scale = #", "BOX.__dict__.pop('scale', 0)"),
            *("Box.twice = staticmethod(lambda v: v * 3)", "Box.run = lambda self, v: v - self.x", "BOX = Box()"),
            *("Box.far = property(lambda self: self.x + 100)", "BOX.run = lambda v: v * 7"),
        ),
    ),
    "inherited": Kind(
        INHERITED,
        "CHILD.go(n)",
        ("Base.w = #", "Child.w = #", "CHILD.w = #", "Child.go = lambda self, v: v * self.w", "CHILD.__dict__.clear()"),
    ),
    "special method": Kind(
        SPECIAL,
        "within(n) + COUNTER(n)",
        ("Counter.k = #", "Counter.__enter__ = lambda self: #", "Counter.__call__ = lambda self, v: v * self.k"),
    ),
    "descriptor": Kind(DESCRIPTOR, "HOLDER.d", ("Holder.__dict__['d'].k = #", "Holder.d = Field(#)")),
    "slots": Kind(
        "class Slots:\n    __slots__ = ('x',)\nSLOTS = Slots()\nSLOTS.x = [2]",
        "SLOTS.x[0]",
        ("SLOTS.x[0] = #", "SLOTS.x = [#]"),
    ),
    "dataclass": Kind(
        "@dataclasses.dataclass\nclass Settings:\n    a: int = 1\n    b: tuple = (1, 2)\nSETTINGS = Settings()",
        "SETTINGS.a * n + SETTINGS.b[1]",
        ("SETTINGS.a = #", "SETTINGS = Settings(#)", "SETTINGS = dataclasses.replace(SETTINGS, b=(0, #))"),
    ),
    "named tuple": Kind(
        "class Pair(NamedTuple):\n    a: int\n    b: list\nPAIR = Pair(2, [3])",
        "PAIR.a + PAIR.b[0]",
        ("PAIR = Pair(#, [1])", "PAIR.b[0] = #", "PAIR = PAIR._replace(a=#)"),
    ),
    "enum": Kind(
        "class E(enum.Enum):\n    A = 1\n    B = 2\nE_NOW = E.A", "E_NOW.value", ("E_NOW = E.B", "E_NOW = E.A")
    ),
    "function": Kind(
        HELPER,
        "helper(n)",
        (
            *(
                "helper.__defaults__ = (#,)",
                "helper.__kwdefaults__ = {'m': #}",
                "SHIFT = #",
                "helper = lambda v: v + #",
            ),
            *("helper.__code__ = (lambda v, k=1, *, m=2: v + m).__code__", "helper.__kwdefaults__['m'] = #"),
        ),
    ),
    "default": Kind(
        "def first(n, rows=[1, 2]):\n    return n + rows[0]",
        "first(n)",
        ("first.__defaults__[0][0] = #", "first.__defaults__ = ([#],)"),
    ),
    "closure": Kind(CLOSURE, "INNER(n)", ("PUT(#)", "INNER, PUT = maker(#)", "PUT(1)", "PUT(1.0)")),
    "partial": Kind(
        "def base(k, v, m=1):\n    return v * k + m\nPART = functools.partial(base, 3)",
        "PART(n)",
        ("PART = functools.partial(base, #)", "PART = functools.partial(base, 3, m=#)", "PART.keywords['m'] = #"),
    ),
    "functions in a list": Kind(
        "F = [lambda v: v + 1, abs]", "F[0](n) + F[1](n)", ("F[0] = lambda v: v + #", "F.reverse()")
    ),
    "decorated": Kind(
        WRAPPED, "wrapped(n)", ("wrapped = scaled(#)(wrapped)", "wrapped = scaled(2)(wrapped.__wrapped__)")
    ),
    "cached": Kind(
        CACHED, "cached(n)", ("STEP = #; cached.cache_clear()", "cached = functools.cache(lambda v: v + #)")
    ),
    "batched": Kind(
        "@hb.batch\ndef inner(v):\n    return v + 1", "inner(n)", ("@hb.batch\ndef inner(v):\n    return v + #",)
    ),
    "module": Kind(MADE_MODULE, "MODULE.go(n) + MODULE.x", ("MODULE.x = #", "MODULE.go = lambda v: v * #")),
    "function of Python's": Kind("", "max(n, 2)", ("max = lambda a, b: a + b", "del max", "max = min")),
}


@dataclass
class Program:
    """A program, and the statements that change what it reads."""

    text: str
    changes: list[str]
    draw: random.Random = field(repr=False)


def program(seed: int) -> Program:
    """The program of a seed: the first seeds have one kind of state each, in order."""
    draw, names = random.Random(seed), list(KINDS)
    kinds = [names[seed]] if seed < len(names) else draw.sample(names, draw.randint(1, 4))
    lines, defined = ["t = 0"], [KINDS[kind].defined for kind in kinds]
    for number, kind in enumerate(kinds):
        read = KINDS[kind].read
        ways = (
            [f"t = t * 3 + ({read})"],
            ["if n > 1:", f"    t = t * 3 + ({read})"],
            ["for _ in range(n):", f"    t = (t * 3 + ({read})) % 10007"],
            [f"t = t * 3 + used_{number}(n)"],
        )
        lines += draw.choice(ways)
        defined.append(f"def used_{number}(n):\n    if n > 2:\n        return {read}\n    return 1")
    changes = [change for kind in kinds for change in KINDS[kind].changes]
    chosen = [draw.choice(changes).replace("#", str(draw.randint(2, 6))) for _ in range(8)]
    body = "".join(f"    {line}\n" for line in [*lines, "return t"])
    return Program(HEADER + "\n".join(defined) + "\ndef f(n):\n" + body, chosen, draw)


def module_of(text: str, name: str, folder: Path) -> ModuleType:
    """The module of a program's text, in a file of its own."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def change(module: ModuleType, statement: str, number: int) -> None:
    """Run a statement in a module; functions that it defines have a source."""
    name = f"<change {number} of {module.__name__}>"
    linecache.cache[name] = len(statement), None, statement.splitlines(keepends=True), name
    with contextlib.suppress(NameError, AttributeError, TypeError, KeyError):  # as before another change
        exec(compile(statement, name, "exec"), vars(module))


def by_states(f: hb.BatchedFunction[..., Any]) -> Any:
    state = f.start(NUMBERS)
    while not state.is_done:
        state = f.advance(state, 2)
    return f.finish(state)


WAYS: tuple[Callable[[hb.BatchedFunction[..., Any]], Any], ...] = (
    *(lambda f: f(NUMBERS),) * 4,
    lambda f: jax.jit(lambda n: f(n))(NUMBERS),
    lambda f: f.with_stats(NUMBERS)[0],
    by_states,
    lambda f: f.trace(NUMBERS).lower().compile()(NUMBERS),
)
"""Ways to run a function on the batch."""


def in_python(f: Callable[[int], Any]) -> list[Any] | None:
    """What Python gives now; None if the program makes no sense now."""
    with hb.disable_batching():
        try:
            values = [float(f(n)) for n in NUMBERS.tolist()]
        except Exception:  # noqa: BLE001  # whatever the changes have led to
            return None
    return values if all(abs(value) < 1 << 24 for value in values) else None


def outcomes(seed: int, folder: Path) -> Iterator[tuple[str, str]]:
    """After each change, ``ran``, ``refused``, ``skipped`` or ``wrong``, with a description."""
    made = program(seed)
    module = module_of(made.text, f"changing_state_{seed}", folder)
    batched = hb.batch(module.f, **made.draw.choice(({}, {"dispatch": "kernel"}, {"max_steps": 1000}, {"threads": 2})))
    for number, statement in enumerate(["pass", *made.changes]):
        change(module, statement, number)
        for _ in range(made.draw.choice((1, 1, 3, 6))):
            wanted, way = in_python(module.f), made.draw.choice(WAYS)
            if wanted is None:
                yield "skipped", statement
                break
            try:
                found = np.asarray(way(batched), np.float64).tolist()
            except hb.HloBatchError as error:
                yield "refused", str(error)
                break
            yield ("ran", "") if np.allclose(found, wanted) else ("wrong", f"{statement}: {found} for {wanted}")


def main(first: int, last: int | None = None) -> None:
    """Run the commands in the module's docstring."""
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(first, first + 1 if last is None else last):
        if last is None:
            print(program(seed))
        for kind, what in outcomes(seed, Path(tempfile.mkdtemp())):
            counts[kind] += 1
            if kind == "wrong" or last is None:
                print(seed, kind, what)
    print(dict(counts))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
