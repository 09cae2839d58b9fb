"""A seed -> a program in which a variable has values of several types, by lane, and is asked what Python lets one ask.

Where paths meet, a variable may be an integer in one lane and a float, None, a text, a tuple, an object, a function in
another. The programs make such a value in one of many ways, ask it one or two things, and return what the answers are
and of which type.

    python test/py/joined_programs.py 17            one program: its text, and its outcome
    python test/py/joined_programs.py 0 1000        some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Mapping
from typing import Final

from feature_pairs import IMPORTS, main, raises
from feature_writer import Lines, indented

HELPERS: Final = """
class Color(enum.Enum):
    RED = 1
    BLUE = 2

class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2

class Point:
    kind = 4

    def __init__(self, p, q=2):
        self.p, self.q = p, q

    def extent(self, k=1):
        return self.p + k

    def __add__(self, other):
        return Point(self.p + 1, self.q)

    def __eq__(self, other):
        return isinstance(other, Point) and self.p == other.p

    def __hash__(self):
        return 5

    def __len__(self):
        return 2

class Box:
    kind = 6

    def __init__(self, p):
        self.p = p

    def extent(self, k=2):
        return self.p * k if self.p > 1 else -k

    def __bool__(self):
        return self.p > 1

    def __call__(self, k=3):
        return self.p * k

class Cell(Box):
    def extent(self, k=3):
        return super().extent(k) + 1

class Pair(NamedTuple):
    p: int
    q: float = 0.5

@dataclasses.dataclass
class Item:
    p: int
    q: float = 1.5

def double(k=2):
    return k * 2

def signed(k=1):
    if k > 1:
        return -k
    return k

def same(x):
    return x

def shown(r):
    if r is None:
        return 2
    if isinstance(r, bool):
        return 3 + r
    if isinstance(r, int):
        return 5 + r * 7
    if isinstance(r, float):
        return 11 + int(r * 8 + 0.03)
    if isinstance(r, str):
        return 13 + len(r) * 3
    if isinstance(r, (tuple, list)):
        return 17 + len(r)
    if isinstance(r, (dict, set, range)):
        return 19 + len(r)
    return 23
"""

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "int": ("a", "3", "b + 1", "-a", "0", "1", "a * b"),
    "float": ("a / 2", "1.5", "0.0", "b + 0.5", "1.0", "-2.0", "float(a)"),
    "bool": ("a > 1", "True", "False", "not b", "a == b"),
    "None": ("None",),
    "text": ("'ab'", "str(a)", "''", "'1'", "'a' * b", "f'{a}-{b}'", "'ba'[b % 2]"),
    "tuple": ("()", "(a, b)", "(1,)", "(a, 'x', 2.5)", "tuple(range(b))", "(1, 2, 3)", "(a > 1, None)"),
    "list": ("[]", "[a]", "[1, 2, 3]", "[b] * a", "list(range(a))", "[a, b]"),
    "dict": ("{}", "{1: a}", "{a: b}", "{'k': a}", "{1: 2, 2: b}"),
    "set": ("{1}", "{a, b}", "set()", "frozenset((1, 2))"),
    "range": ("range(a)", "range(3)", "range(1, b + 2)"),
    "array": ("np.array([0.5, 1.5])", "np.zeros(3)"),
    "enum": ("Color.RED", "Color.BLUE", "Level.HIGH", "Level.LOW"),
    "object": ("Point(a)", "Box(b)", "Cell(a)", "Pair(a)", "Item(b)", "Point(1, a)", "Pair(1, 2.5)"),
    "function": ("double", "signed", "lambda k=1: k + a", "Point(a).extent", "abs", "Box(b).extent", "len", "max"),
    "class": ("int", "float", "Point", "Box", "str", "ValueError", "bool"),
    "exception": ("ValueError(a)", "KeyError('k')", "ValueError()"),
    "bytes": ("b'ab'", "b''"),
}
"""By the name of a type, expressions of values of it."""
OFTEN: Final = ("int", "float", "bool", "None", "text", "tuple", "int", "bool", "float", "None", "list", "object")
"""The types of most values."""
NUMBERS: Final = frozenset({"int", "float", "bool"})

ABOUT_ANY: Final = (
    "x == 1",
    "x == y",
    "x != y",
    "x is None",
    "x is not None",
    "x is True",
    "x is y",
    "not x",
    "bool(x)",
    "x or 5",
    "x and 4",
    "x or y",
    "x and y",
    "y or x",
    "isinstance(x, int)",
    "isinstance(x, bool)",
    "isinstance(x, (float, str))",
    "isinstance(x, (list, tuple))",
    "type(x) is int",
    "type(x) is float",
    "type(x) is bool",
    "type(x) == type(y)",
    "type(x) in (int, str)",
    "type(x).__name__",
    "callable(x)",
    "hasattr(x, 'p')",
    "hasattr(x, '__len__')",
    "getattr(x, 'p', 7)",
    "x in (1, None, 'ab')",
    "x in [y, 2]",
    "x in {1: 2, None: 3}",
    "x in {1, 'ab', None}",
    "(x, 1) == (y, 1)",
    "[x] == [y]",
    "[x, y].count(1)",
    "[x, y, x].index(x)",
    "(x, y)",
    "[x, x]",
    "str(x)",
    "repr(x)",
    "f'{x}'",
    "f'{x!r:>6}'",
    "f'{x:>5}'",
    "'%s' % (x,)",
    "'{} {}'.format(x, y)",
    "{1: 'one', 0: 'zero', None: 'none'}.get(x, 'other')",
    "{x: 1}.get(y, 4)",
    "{x: 1}[x]",
    "len({x, y})",
    "same(x)",
    "x if x else y",
    "x if x is not None else 8",
    "0 if x is None else x",
    "any([x, y])",
    "all((x, y))",
    "sum(1 for v in (x, y, 1) if v == 1)",
    "[v for v in (x, y) if v]",
    "[v for v in (x, y) if v is not None]",
    "(lambda v: v)(x)",
    "int(isinstance(x, int) and x > 1)",
    "x + 1 if isinstance(x, (int, float)) else 9",
    "len(x) if isinstance(x, (str, list, tuple)) else -1",
    "x is False or x == 0",
    "1 == x == True",
    "hash(x) == hash(y)",
    "id(x) == id(x)",
    "dict(k=x)['k']",
    "max(x, y, key=lambda v: v is None)",
    "[x, y][a % 2]",
    "(x, y, 1)[b % 3]",
    "{0: x, 1: y}[a % 2]",
    "next(v for v in (None, x, y, 1) if v)",
    "next(iter([x, y]))",
    "sorted([x, y], key=lambda v: isinstance(v, int))[0]",
    "list(filter(None, [x, y]))",
    "list(map(bool, [x, y]))",
    "dict(zip('pq', (x, y)))['q']",
)
ABOUT_NUMBERS: Final = (
    "x + 1",
    "x + y",
    "1 + x",
    "x - y",
    "x * 2",
    "x * y",
    "2 * x",
    "x / 2",
    "x // 2",
    "x % 3",
    "7 % (x + 4)",
    "divmod(x, 2)",
    "x ** 2",
    "2 ** abs(x)",  # of negative integers, it is 0 in lanes
    "pow(x, 2)",
    "-x",
    "+x",
    "abs(x)",
    "x << 1",
    "x >> 1",
    "x & 3",
    "x | 1",
    "x ^ y",
    "x < 2",
    "x >= y",
    "0 < x < 3",
    "int(x)",
    "float(x)",
    "round(x)",
    "round(x, 1)",
    "min(x, 1)",
    "max(x, y)",
    "max(x, y, 0.5)",
    "min([x, y])",
    "sum([x, y])",
    "sum((x, y, 0.5))",
    "sorted([x, y, 1])",
    "sorted((x, 2), reverse=True)",
    "range(x)",
    "list(range(x))",
    "[1] * x",
    "'ab' * x",
    "'abc'[x]",
    "[4, 5, 6][x]",
    "(1, 2, 3)[:x]",
    "f'{x:d}'",
    "f'{x:03}'",
    "f'{x:5}'",
    "f'{x:+}'",
    "f'{x:.1f}'",
    "'%d' % x",
    "chr(97 + x)",
    "bin(x)",
    "math.floor(x)",
    "math.sqrt(abs(x))",
    "x.bit_length()",
    "x.conjugate()",
    "complex(x)",
    "operator.add(x, y)",
    "operator.index(x)",
    "functools.reduce(lambda p, q: p + q, [x, y, 1])",
    "list(itertools.accumulate([x, y, 1]))[-1]",
    "(x > 1) + (y == 1)",
    "x == int(x)",
    "np.sqrt(abs(x))",
    "sum(range(int(x)))",
    "x.__add__(1)",
    "{1: 2}[x]",
)
ABOUT_ITEMS: Final = (
    "len(x)",
    "x[0]",
    "x[-1]",
    "x[1]",
    "x[a]",
    "x[:2]",
    "x[::-1]",
    "1 in x",
    "'a' in x",
    "a in x",
    "sum(x)",
    "max(x)",
    "min(x, default=4)",
    "sorted(x)",
    "list(x)",
    "tuple(x)",
    "set(x)",
    "dict(x)",
    "len(list(x))",
    "list(enumerate(x))",
    "list(zip(x, y))",
    "list(reversed(x))",
    "any(x)",
    "all(x)",
    "next(iter(x))",
    "next(iter(x), 6)",
    "[v for v in x]",
    "sum(1 for v in x)",
    "[*x, 1]",
    "(*x, 2)",
    "{**x}",
    "x + x",
    "x + (1,)",
    "x + [1]",
    "x + 'a'",
    "x * 2",
    "x < y",
    "x | x",
    "x @ x",
    "x.count(1)",
    "x.index(1)",
    "x.get(1)",
    "x.get(1, 9)",
    "x.keys()",
    "x.upper()",
    "x.split('-')",
    "x.append(1)",
    "x.pop()",
    "''.join(x)",
    "'-'.join([x, x])",
    "x.startswith('a')",
    "x.strip()",
    "int(x)",
    "float(x)",
    "f'{x:>4}'",
    "f'{x:s}'",
    "x.p",
    "x.q",
    "x.kind",
    "x.extent()",
    "x.extent(2)",
    "x.extent(k=4)",
    "x.name",
    "x.value",
    "x.args",
    "x()",
    "x(2)",
    "x(k=2)",
    "x(1, 2)",
    "x('12')",
    "x([3, 1])",
    "x.__name__",
    "x.__class__.__name__",
    "isinstance(a, x)",
    "issubclass(x, int)",
    "double(*x)",
    "double(**x)",
    "max(*x, 1)",
    "x.issubset({1, 2})",
    "x.start",
    "x._replace(p=2)",
    "dataclasses.replace(x, p=3)",
    "ord(x)",
)
STATEMENTS: Final = (
    "r = x\nr += 1",
    "r = x\nr += x",
    "r = x\nr *= 2",
    "r = 1\nr += x",
    "r = 0.5\nr -= x",
    "r = [0]\nr += x",
    "r = x\nr /= 2",
    "r = x\nr |= x",
    "p, q = x\nr = q",
    "p, *r = x",
    "*r, q = x\nr = q",
    "r = 0\nfor v in x:\n    r += v",
    "r = 0\nfor v in x:\n    r += 1\n    if v == 1:\n        break",
    "r = 0\nfor v in (x, y, 1):\n    if isinstance(v, int):\n        r += v",
    "r = 0\nfor i, v in enumerate([x, y]):\n    if v:\n        r += i + 1",
    "r = 0\nwhile x and r < 4:\n    r += 1\n    x = y if r == 2 else x",
    "r = 4\nif x:\n    r = x",
    "if x is None:\n    x = 3\nr = x",
    "if not x:\n    x = y\nr = x",
    "if isinstance(x, int):\n    r = x * 2\nelif isinstance(x, float):\n    r = x + 1\nelse:\n    r = x",
    "if type(x) is bool:\n    r = 1 - x\nelse:\n    r = x",
    "match x:\n    case None:\n        r = 1\n    case 1:\n        r = 2\n    case _:\n        r = x",
    (
        "match x:\n    case bool():\n        r = 1\n    case int(v):\n        r = v + 2"
        "\n    case str():\n        r = 3\n    case _:\n        r = 4"
    ),
    (
        "match x:\n    case True:\n        r = 1\n    case 1 | 2.0:\n        r = 2"
        "\n    case 'ab' | '':\n        r = 3\n    case _:\n        r = 5"
    ),
    (
        "match x:\n    case []:\n        r = 1\n    case [v]:\n        r = v"
        "\n    case [v, *w]:\n        r = len(w)\n    case _:\n        r = 5"
    ),
    "match x:\n    case {1: v}:\n        r = v\n    case {'k': v}:\n        r = v + 1\n    case _:\n        r = 5",
    (
        "match x:\n    case Point(p=v):\n        r = v\n    case Box() as v:\n        r = v.p"
        "\n    case Item(v, w):\n        r = w\n    case _:\n        r = 5"
    ),
    (
        "match x:\n    case float() | int() as v if v > 1:\n        r = v"
        "\n    case None | False:\n        r = 2\n    case _:\n        r = 5"
    ),
    (
        "match (x, y):\n    case (None, _):\n        r = 1\n    case (int(v), int(w)):\n        r = v + w"
        "\n    case (v, w):\n        r = v == w"
    ),
    "d = {}\nd[x] = 1\nd[y] = d.get(y, 0) + 2\nr = len(d)",
    "d = {x: 1, y: 2}\nr = d[x]",
    "s = {x}\ns.add(y)\nr = len(s)",
    "xs = [x]\nxs.append(y)\nr = xs[a % 2]",
    "xs = [x, y]\nxs[a % 2] = 1\nr = xs[0]",
    "d = {'p': x}\nd['q'] = y\nr = d['pq'[a % 2]]",
    "xs = [x, y]\nxs.remove(x)\nr = xs",
    "o = Item(x, y)\nr = o.q",
    "o = Item(x)\no.p = y if a > 1 else o.p\nr = o.p",
    "o = Item(1)\nif b:\n    o.q = x\nr = o.q",
    "o = Pair(x, y)\nr = o.p",
    "r = x\nif r != y:\n    r = y",
    "x[0] = 5\nr = x",
    "x.p = 5\nr = x.p",
    "x.p += 1\nr = x.p",
    "x.append(4)\nr = len(x)",
    "r = [x, y]\nr.sort()\nr = r[0]",
    "del x[0]\nr = len(x)",
    "raise x",
    "assert x\nr = 1",
    "with contextlib.suppress(TypeError):\n    x = x + 1\nr = x",
    "global_ = (x, y)\np, q = global_\nr = q if p else p",
    "def inner(v=x):\n    return v\nr = inner()",
    "def inner():\n    return x\nr = inner()",
    "f = lambda v: v if v else 3\nr = f(x)",
)
"""Statements that ask for something, and leave the answer in ``r``."""

SHOWN: Final = (
    "shown(r)",
    "shown(r)",
    "(r == 1) + 2 * isinstance(r, bool) + 4 * (r is None)",
    "(type(r) is int) + 2 * (type(r) is float) + 4 * (type(r) is bool)",
    "1 if r else 2",
    "len(str(r)) if isinstance(r, (int, str)) else 7",
    "int(r * 8 + 0.03) if isinstance(r, (int, float)) else 3",
    "r // 1 if isinstance(r, int) else 30",
    "(r is None) + 2 * (r == 0) + 4 * (r == '1')",
)
"""How the answer reaches the result."""

JOINS: Final = (
    "if COND:\n    x = ONE\nelse:\n    x = TWO",
    "x = ONE\nif COND:\n    x = TWO",
    "x = ONE if COND else TWO",
    "if COND:\n    x = ONE\nelif b > 1:\n    x = TWO\nelse:\n    x = THREE",
    "x = ONE if COND else TWO if b > 1 else THREE",
    "x = [ONE, TWO][COND]",
    "x = (ONE, TWO, THREE)[a % 3]",
    "x = {0: ONE, 1: TWO}[a % 2]",
    "x = {0: ONE, 1: TWO}.get(b, THREE)",
    "def made():\n    if COND:\n        return ONE\n    return TWO\nx = made()",
    "def made(v=ONE):\n    return v\nx = made() if COND else made(TWO)",
    "x = COND and ONE",
    "x = COND and ONE or TWO",
    "x = ONE or TWO",
    "x = ONE and TWO",
    "x = ONE\nfor i in range(a):\n    if i == 1:\n        x = TWO",
    "x = ONE\nfor i in range(b):\n    x = TWO if i else THREE",
    "x = ONE\nw = a\nwhile w > 0:\n    w -= 1\n    x = TWO\n    if w == b:\n        break",
    "for x in (ONE, TWO, THREE):\n    if COND:\n        break",
    "o = Item(ONE)\nif COND:\n    o.p = TWO\nx = o.p",
    "o = Item(ONE if COND else TWO)\nx = o.p",
    "xs = [ONE, 1]\nif COND:\n    xs[0] = TWO\nx = xs[0]",
    "xs = []\nxs.append(ONE if COND else TWO)\nx = xs[0]",
    "d = {'k': ONE}\nif COND:\n    d['k'] = TWO\nx = d['k']",
    "d = {}\nd['k'] = ONE if COND else TWO\nx = d['k']",
    "match a:\n    case 0:\n        x = ONE\n    case 1 | 2:\n        x = TWO\n    case _:\n        x = THREE",
    "try:\n    if COND:\n        raise ValueError\n    x = ONE\nexcept ValueError:\n    x = TWO",
    "p, x = (1, ONE) if COND else (2, TWO)",
    "x = same(ONE if COND else TWO)",
    "def made(v):\n    return ONE if v else TWO\nx = made(COND)",
    "x = (lambda: ONE)() if COND else (lambda: TWO)()",
    "x = next((v for v in (ONE, TWO) if COND), THREE)",
    "*_, x = (0, ONE) if COND else (1, TWO)",
    "x, z = ONE, TWO\nif COND:\n    x, z = z, x",
)
CONDITIONS: Final = ("a > 1", "a < b", "b == 0", "a % 2 == 1", "a > 1 and b > 0")
GUARDS: Final = (
    "except (TypeError, AttributeError):\n    t += 5",
    "except (TypeError, AttributeError, ValueError, LookupError):\n    t += 6",
    "except Exception:\n    t += 7",
    "except TypeError:\n    t += 8\nexcept (AttributeError, ValueError):\n    t += 9\nexcept KeyError:\n    t += 10",
)


def _values(draw: random.Random) -> tuple[list[str], bool]:
    """Three expressions of values of at least two types, and whether all are numbers or None."""
    often = draw.random() < 0.75
    names = [draw.choice(OFTEN) if often else draw.choice([*KINDS]) for _ in range(2)]
    if draw.random() < 0.3 and len(set(names)) == 1:
        names[1] = draw.choice(OFTEN)
    names.append(draw.choice((*names, draw.choice(OFTEN))))
    return [draw.choice(KINDS[name]) for name in names], NUMBERS.issuperset({*names} - {"None"})


def _join(draw: random.Random, name: str) -> tuple[Lines, bool]:
    """Statements that give a variable values of several types, and whether these are numbers."""
    values, are_numbers = _values(draw)
    text = draw.choice(JOINS)
    for word, value in zip(("ONE", "TWO", "THREE"), values, strict=True):
        text = text.replace(
            word, f"({value})" if " " in value and re.search(r"(or|and|=|return) " + word, text) else value
        )
    text = text.replace("COND", draw.choice(CONDITIONS))
    if name == "y":
        text = re.sub(r"\b(x|xs|o|d|w|made|z|p|i|v)\b", r"y\1", text).replace("yx", "y")
        text = text.replace(".yp", ".p")
        text = re.sub(r"(Item|Point|Pair)\(yp", r"\1(p", text)
    return text.splitlines(), are_numbers


def _text(body: Lines) -> str:
    return "\n".join([*IMPORTS, HELPERS, "def main(a, b):", *indented(["t = 0", *body, "return t"]), ""])


def program(seed: int) -> str:
    """The text of a program; the same for each seed."""
    draw = random.Random(seed)
    begin, are_numbers = _join(draw, "x")
    if draw.random() < 0.3:
        begin += _join(draw, "y")[0]
    else:
        begin.append(f"y = {draw.choice((*KINDS['int'], *KINDS['float'], *KINDS['bool'], 'None', *KINDS['text']))}")
    body: Lines = []
    for _ in range(draw.randint(1, 2)):
        kind = draw.random()
        table = ABOUT_ANY if kind < 0.4 else STATEMENTS if kind < 0.6 else ABOUT_NUMBERS if are_numbers else ABOUT_ITEMS
        table = ABOUT_NUMBERS if kind > 0.92 else ABOUT_ITEMS if kind > 0.88 else table
        text = draw.choice(table)
        lines = (text if table is STATEMENTS else f"r = {text}").splitlines()
        lines.append(f"t = (t * 3 + ({draw.choice(SHOWN)})) % 1009")
        if draw.random() < 0.85 and raises(_text([*begin, *body, *lines])):  # a `try` without an exception is refused
            lines = ["try:", *indented(lines), *draw.choice(GUARDS).splitlines()]
        body += lines
    return _text([*begin, *body])


if __name__ == "__main__":
    main(sys.argv[1:], program)
