"""Tables for generated programs in which one object has several names: kinds of objects, names for them, and changes.

In these texts ``<list>`` stands for an expression that gives an object of that kind, such as a name, a part of another
object, the result of a function, or a copy. ``@`` stands for a plain integer, ``?`` for a condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

HELPERS: Final = """
def folded(t, items):
    for x in items:
        t = (t * 7 + x) % 10007
    return t

def same(x):
    return x

def either(x, y, c):
    if c:
        return x
    return y

def last(rows, k):
    if k <= 0:
        return rows[-1]
    return last(rows, k - 1)

def grow(x, v):
    x.append(v)

def grown(x, v):
    x += [v]
    return x

def longer(x, v):
    x = x + [v]
    x.append(v)
    return x

def deeper(x, k):
    if k > 0:
        x[0] += k
        deeper(x, k - 1)

def both(x, y):
    x.append(y[0])
    y[0] += 3
    return len(x)

def added(v, into=None):
    if into is None:
        into = []
    into.append(v)
    return into

def rows_of(x, y):
    yield x
    yield y

class Box:
    def __init__(self, items, n=0):
        self.items, self.n = items, n

    def put(self, v):
        self.items.append(v)
        return self

    def renew(self):
        self.items = list(self.items)
        return self.items

    def raised(self, v):
        self.n += v
        return self.n

@dataclasses.dataclass
class Pair:
    left: list
    right: list = dataclasses.field(default_factory=lambda: [1, 2])
    box: Box = None

    def swapped(self):
        self.left, self.right = self.right, self.left
        return self

class Node:
    def __init__(self, v, next=None):
        self.v, self.next = v, next

    def add(self, v):
        self.v += v
        if self.next is not None:
            self.next.v += 1
        return self

class Held:
    def __init__(self, held):
        self.held = held

    def __enter__(self):
        return self.held

    def __exit__(self, *_):
        pass
"""


@dataclass(frozen=True)
class Kind:
    """A kind of objects.

    Attributes:
        made: Expressions that make one.
        parts: Expressions for one that stands in an object of another kind, or that code returns.
        copies: Expressions that make one of another, which may share parts with it.
        changes: Statements that change one, which ``<X>`` stands for.
        seen: Expressions for the numbers in one, which ``<X>`` stands for.
    """

    made: tuple[str, ...]
    parts: tuple[str, ...]
    copies: tuple[str, ...]
    changes: tuple[str, ...]
    seen: tuple[str, ...]


ANY_PARTS: Final = (
    *("(<X> if ? else <X>)", "same(<X>)", "either(<X>, <X>, ?)", "(<X>, <X>)[b % 2]", "[<X>, <X>][@ % 2]"),
    *("{0: <X>, 1: <X>}[a % 2]", "(lambda: <X>)()", "(lambda x: x)(<X>)", "[<X>][0]", "(z := <X>)", "<X>"),
)
"""Expressions for an object of any kind, which ``<X>`` stands for."""
ANY_COPIES: Final = ("copy.copy(<X>)", "copy.deepcopy(<X>)")

KINDS: Final[Mapping[str, Kind]] = {
    "list": Kind(
        made=("[a, 2, b]", "[@, @]", "[0] * 3", "list(range(a + 2))", "[@] * (b + 2)", "[k + a for k in range(3)]"),
        parts=(
            *("<rows>[0]", "<rows>[-1]", "<rows>[b % 2]", "<rows>.pop()", "next(iter(<rows>))", "last(<rows>, 1)"),
            *(
                "max(<rows>, key=len)",
                "min(<rows>, key=sum)",
                "list(<rows>)[0]",
                "sorted(<rows>)[0]",
                "<rows>[::-1][0]",
            ),
            *("[*<rows>, <list>][-1]", "next(x for x in <rows> if x)", "[x for x in <rows>][0]", "(<list> or <list>)"),
            *("<dict>[1]", "<dict>[1 + b % 2]", "<dict>.get(1)", "<dict>.get(@, <list>)", "<dict>.pop(2, <list>)"),
            *("<dict>.setdefault(@, <list>)", "<dict>.setdefault(@, [])", "list(<dict>.values())[0]"),
            *("dict(<dict>)[1]", "{**<dict>}[2]", "<tuple>[0]", "<tuple>[1]", "<box>.items", "<box>.put(@).items"),
            *("getattr(<box>, 'items')", "<boxes>[0].items", "<boxes>[b % 2].items", "<pair>.left", "<pair>.right"),
            *(
                "<pair>.swapped().left",
                "<pair>.box.items",
                "grown(<list>, @)",
                "added(@, <list>)",
                "(<list> and <list>)",
            ),
            *(
                "Box(<list>).items",
                "<rows>[:1][0]",
                "(<rows> + <rows>)[0]",
                "<box>.renew()",
                "operator.itemgetter(0)(<rows>)",
            ),
        ),
        copies=(
            *(
                "<list>[:]",
                "list(<list>)",
                "<list>.copy()",
                "<list> + [@]",
                "[*<list>]",
                "<list> * 1",
                "sorted(<list>)",
            ),
            *("[x for x in <list>]", "list(tuple(<list>))", "<list> + <list>", "<list>[::-1]", "longer(<list>, @)"),
            *("added(@)", "[*<list>, @]", "list(reversed(<list>))", "list(map(abs, <list>))", "<list>[:2]"),
        ),
        changes=(
            *("<X>.append(@)", "<X>[0] = @", "<X>[0] += @", "<X>[b % 2] -= @", "<X>.pop()", "<X>[1:] = [@, @]"),
            *(
                "<X>.sort()",
                "<X>.reverse()",
                "<X>.extend(<list>)",
                "<X>.insert(0, @)",
                "<X>[:] = <list>",
                "<X> += <list>",
            ),
            *(
                "grow(<X>, @)",
                "grown(<X>, @)",
                "longer(<X>, @)",
                "deeper(<X>, 2)",
                "both(<X>, <list>)",
                "both(<list>, <X>)",
            ),
            *("added(@, <X>)", "added(@, into=<X>)", "<X>[0], <X>[1] = <X>[1], <X>[0]", "<X> *= 2", "<X> += [@]"),
            *("del <X>[0]", "<X>[-1] = len(<list>)", "<X>[0] += <X>.pop()", "for <X>[0] in range(@):\n    t += 1"),
            *(
                "for x in list(<X>):\n    <X>.append(x)",
                "<X>.extend([x + 1 for x in <list>])",
                "heapq.heappush(<X>, @)",
            ),
            *(
                "def fc(k):\n    <X>.append(k)\nfc(@)",
                "def fc(k, into=<X>):\n    into[0] += k\nfc(@)",
                "Box(<X>).put(@)",
            ),
            *(
                "with Held(<X>) as x:\n    x.append(@)",
                "with Held(<X>) as x:\n    x[0] = @",
                "t += [<X>.append(@), 1][1]",
            ),
        ),
        seen=("<X>", "<X>", "<X>[:2]", "[sum(<X>), len(<X>)]", "[int(<X> == <list>)]", "[int(@ in <X>)]", "<X>[::-1]"),
    ),
    "rows": Kind(
        made=(
            *("[[a, 1], [2, b, 3]]", "[[@] for _ in range(3)]", "[[0] * 2 for _ in range(b + 2)]", "[<list>, <list>]"),
            *("[[@, b], <list>]", "[<list>] * 2", "[<list> for _ in range(2)]", "list(<dict>.values())"),
        ),
        parts=(),
        copies=(
            *("<rows>[:]", "list(<rows>)", "<rows>.copy()", "[*<rows>]", "<rows> + [<list>]", "[x[:] for x in <rows>]"),
            *("[x for x in <rows>]", "sorted(<rows>)", "<rows>[::-1]", "<rows> + <rows>", "[list(x) for x in <rows>]"),
        ),
        changes=(
            *(
                "<X>.append(<list>)",
                "<X>[0] = <list>",
                "<X>[b % 2] = <list>",
                "<X> += [<list>]",
                "<X>.insert(0, <list>)",
            ),
            *(
                "<X>.extend([<list>, <list>])",
                "<X>[0], <X>[1] = <X>[1], <X>[0]",
                "<X>.pop()",
                "<X>.reverse()",
                "<X>.sort()",
            ),
            *("<X>[0].append(@)", "<X>[b % 2][0] += @", "<X>[0] += [@]", "<X>[-1] = <X>[0]", "<X>[1:] = [<list>]"),
            *(
                "for x in <X>:\n    x.append(@)",
                "for x in <X>:\n    x[0] += @",
                "for i, x in enumerate(<X>):\n    x[0] += i",
            ),
            *("for x, y in zip(<X>, <rows>):\n    x[0] = y[-1]", "for i in range(len(<X>)):\n    <X>[i][0] += i"),
            *(
                "for x in <X>[:]:\n    x.append(@)",
                "for x in reversed(<X>):\n    x[0] *= 2",
                "x, y = <X>[0], <X>[1]\nx.append(@)",
            ),
            *("x, *y = <X>\nx[0] += @", "for x in rows_of(<list>, <list>):\n    x[0] += @", "grow(<X>, <list>)"),
            *(
                "for x in <X>:\n    if x[0] > @:\n        x.pop()",
                "[x.append(@) for x in <X>]",
                "<X>[0].extend(<X>[1])",
            ),
            *(
                "while len(<X>) > 2:\n    <list>.extend(<X>.pop())",
                "for x in <X>:\n    grow(x, @)",
                "x = <X>[0]\nx += [@]",
            ),
        ),
        seen=("[v for x in <X> for v in x]", "[len(x) for x in <X>]", "[sum(x) for x in <X>]", "<X>[0]", "<X>[-1]"),
    ),
    "dict": Kind(
        made=(
            "{1: [a, 2], 2: [3, b]}",
            "{1: <list>, 2: <list>}",
            "{k: [k] for k in range(3)}",
            "dict(zip((1, 2), <rows>))",
        ),
        parts=(),
        copies=(
            "dict(<dict>)",
            "<dict>.copy()",
            "{**<dict>}",
            "{k: v[:] for k, v in <dict>.items()}",
            "<dict> | {@: [@]}",
        ),
        changes=(
            *("<X>[1].append(@)", "<X>[1 + b % 2][0] += @", "<X>[2] += [@]", "<X>[1] = <list>", "<X>[@] = <list>"),
            *("for k, x in <X>.items():\n    x[0] += k", "for x in <X>.values():\n    x.append(@)", "<X>[1] = <X>[2]"),
            *(
                "<X>.setdefault(@, []).append(@)",
                "<X>.update({2: <list>})",
                "<X>.get(1, <list>).append(@)",
                "<X>.clear()",
            ),
            *(
                "for k in <X>:\n    <X>[k] = <X>[k] + [k]",
                "<X>.pop(1, <list>).append(@)",
                "del <X>[1]",
                "<X>[2] = <X>.pop(1)",
            ),
            *("x = <X>.setdefault(@, <list>)\nx.append(@)", "for k in sorted(<X>):\n    <X>[k].append(k)"),
            *("if @ not in <X>:\n    <X>[@] = []\n<X>[1].append(@)", "<X> |= {2: <list>}", "x = <X>[1]\nx[0] += @"),
        ),
        seen=("[v for k in sorted(<X>) for v in <X>[k]]", "<X>.keys()", "[len(x) for x in <X>.values()]", "<X>[1]"),
    ),
    "tuple": Kind(
        made=("([a, 1], [2, b])", "(<list>, <list>)", "(<list>,) * 2", "tuple([[@], [b, @]])", "tuple(<rows>[:2])"),
        parts=(),
        copies=("<tuple>[:]", "tuple(<tuple>)", "<tuple>[::-1]", "tuple(x[:] for x in <tuple>)"),
        changes=(
            *(
                "<X>[0].append(@)",
                "<X>[1][0] += @",
                "for x in <X>:\n    x.append(@)",
                "x, y = <X>\nx[0] += @\ny.append(@)",
            ),
            *("<X> += (<list>,)", "grow(<X>[b % 2], @)", "(x, y), k = <X>, @\nx.append(k)"),
        ),
        seen=("<X>[0] + <X>[1]", "[v for x in <X> for v in x]", "<X>[0]", "[len(x) for x in <X>]"),
    ),
    "box": Kind(
        made=("Box([a, 1], b)", "Box(<list>, @)", "Box(<list>)", "Box(items=<list>)"),
        parts=(
            "<boxes>[0]",
            "<boxes>[b % 2]",
            "<pair>.box",
            "<box>.put(@)",
            "next(x for x in <boxes>)",
            "<boxes>.pop()",
        ),
        copies=("Box(<box>.items, <box>.n)", "Box(list(<box>.items), @)"),
        changes=(
            *(
                "<X>.items.append(@)",
                "<X>.put(@)",
                "<X>.items = <list>",
                "<X>.renew().append(@)",
                "<X>.n += @",
                "<X>.raised(@)",
            ),
            *(
                "<X>.items[0] = <X>.n",
                "<X>.items += [@]",
                "<X>.put(<X>.raised(@)).put(@)",
                "<X>.items, <X>.n = <list>, @",
            ),
            *(
                "x = <X>.items\nx.append(@)",
                "<X>.n, t = @, <X>.n",
                "deeper(<X>.items, <X>.n % 3)",
                "<X>.items = <X>.items[::-1]",
            ),
            *("def fc(box):\n    box.n += 1\n    return box\nfc(<X>).n += @", "t += <X>.raised(@) * <box>.raised(@)"),
        ),
        seen=("[<X>.n]", "<X>.items", "[*<X>.items, <X>.n]", "[<X>.n, int(<X> is <box>)]"),
    ),
    "boxes": Kind(
        made=("[Box([a], @), Box([b], 1)]", "[<box>, <box>]", "[Box([k], a) for k in range(3)]", "[<box>] * 2"),
        parts=(),
        copies=("<boxes>[:]", "list(<boxes>)", "[x for x in <boxes>]", "sorted(<boxes>, key=lambda x: x.n)"),
        changes=(
            *(
                "<X>[0].n += @",
                "<X>[b % 2].n = @",
                "<X>[0].put(@)",
                "for x in <X>:\n    x.n += 1",
                "for x in <X>:\n    x.put(@)",
            ),
            *(
                "<X>.append(<box>)",
                "<X>[0] = <box>",
                "<X>[0], <X>[1] = <X>[1], <X>[0]",
                "max(<X>, key=lambda x: x.n).n = @",
            ),
            *(
                "for x in <X>:\n    if x.n > @:\n        x.n -= 1\n        break",
                "x = <X>[0]\nx.n += @",
                "<X>.reverse()",
            ),
            *("<X>.sort(key=lambda x: x.n)", "<X>[0].items = <X>[1].items", "for x in <X>:\n    x.items = <list>"),
        ),
        seen=("[x.n for x in <X>]", "[v for x in <X> for v in x.items]", "[<X>[0].n]", "[int(<X>[0] is <X>[1])]"),
    ),
    "pair": Kind(
        made=("Pair([a, 2])", "Pair(<list>, <list>)", "Pair(<list>, box=<box>)", "Pair([@], [b, @], Box([1]))"),
        parts=(),
        copies=(
            "dataclasses.replace(<pair>)",
            "Pair(<pair>.left, <pair>.right)",
            "dataclasses.replace(<pair>, left=<list>)",
        ),
        changes=(
            *(
                "<X>.left.append(@)",
                "<X>.swapped()",
                "<X>.left = <X>.right",
                "<X>.right += [@]",
                "<X>.left, <X>.right = <list>, <list>",
            ),
            *("<X>.swapped().left.append(@)", "grow(<X>.left, @)", "both(<X>.left, <X>.right)", "<X>.box = <box>"),
        ),
        seen=("<X>.left + <X>.right", "<X>.right", "<X>.left"),
    ),
    "node": Kind(
        made=("Node(a)", "Node(b, Node(a))", "Node(@, <node>)"),
        parts=("(<node>.next or <node>)",),
        copies=("Node(<node>.v, <node>.next)",),
        changes=(
            *("<X>.v += @", "<X>.next = <node>", "<X>.add(@)", "<X>.next, t = None, <X>.v", "<X>.add(<node>.v).add(@)"),
            *(
                "if <X>.next:\n    <X>.next.v = @",
                "x = <X>.next\nif x is not None:\n    x.v += @",
                "t += <X>.add(@).v - <node>.v",
            ),
        ),
        seen=(
            "[<X>.v]",
            "[<X>.v, int(<X> is <node>)]",
            "[0 if <X>.next is None else <X>.next.v]",
            "[int(<X> == <node>)]",
        ),
    ),
    "array": Kind(
        made=("np.array([a, 2, b])", "np.zeros(3, dtype=int)", "np.arange(3) + a"),
        parts=(
            "<grid>[0]",
            "<grid>[b % 2]",
            "<grid>[:, 0]",
            "<grid>.ravel()",
            "<arrays>[0]",
            "<arrays>[b % 2]",
            "<array>[:]",
        ),
        copies=(
            "<array>.copy()",
            "<array> + @",
            "np.array(<array>)",
            "<array>[::-1].copy()",
            "np.where(<array> > @, 1, 2)",
        ),
        changes=(
            *(
                "<X>[0] = @",
                "<X>[1] += @",
                "<X>[b % 2] = @",
                "<X>[1:] = @",
                "<X> += @",
                "<X>[:] = <array>[::-1]",
                "<X>.sort()",
            ),
            *(
                "<X>[<X> > @] = @",
                "deeper(<X>, 2)",
                "<X>[0], <X>[1] = <X>[1], <X>[0]",
                "for i in range(2):\n    <X>[i] += i",
            ),
            *("np.add(<X>, 1, out=<X>)", "<X> *= 2", "x = <X>[1:]\nx[0] = @", "<X> = <X> + @", "<X>.fill(@)"),
        ),
        seen=("<X>[:3]", "[<X>.sum()]", "[<X>[0]]", "[<X>[1], <X>[-1]]"),
    ),
    "grid": Kind(
        made=("np.zeros((2, 3), dtype=int)", "np.array([[a, 1, 2], [b, 3, 4]])", "np.arange(6).reshape(2, 3)"),
        parts=("<grid>.T", "<grid>[:]", "<grid>.reshape(3, 2)", "<grid>[::-1]"),
        copies=("<grid>.copy()", "<grid> + a", "np.array(<grid>)"),
        changes=(
            *(
                "<X>[0, 1] = @",
                "<X>[0][1] += @",
                "<X>[1] = @",
                "for x in <X>:\n    x[0] += @",
                "<X>[:, 0] = @",
                "<X>[b % 2, 1] = @",
            ),
            *(
                "x = <X>[0]\nx[1] = @",
                "for x in <X>:\n    x += @",
                "<X>[0] = <array>[0]",
                "<X>[0], <X>[1] = <X>[1], <X>[0].copy()",
            ),
        ),
        seen=("<X>.ravel()", "<X>[0]", "<X>[:, 0]", "[<X>.sum()]"),
    ),
    "arrays": Kind(
        made=(
            "[np.array([a, 1, 2]), np.array([b, 2, 3])]",
            "[<array>, <array>]",
            "[np.zeros(3, dtype=int) for _ in range(2)]",
        ),
        parts=(),
        copies=("<arrays>[:]", "list(<arrays>)"),
        changes=(
            *(
                "<X>[0][1] = @",
                "<X>[b % 2][0] += @",
                "for x in <X>:\n    x[0] += @",
                "<X>[0] = <array>",
                "<X>.append(<array>)",
            ),
            *("<X>[0], <X>[1] = <X>[1], <X>[0]", "x = <X>[0]\nx[0] = @", "<X>[0] += @"),
        ),
        seen=("[v for x in <X> for v in x[:2]]", "[x.sum() for x in <X>]"),
    ),
    "set": Kind(
        made=("{a, 2, b}", "set(range(a))", "{@}", "set(<list>)"),
        parts=("<sets>[0]", "<sets>[b % 2]", "(<set> or <set>)"),
        copies=("set(<set>)", "<set>.copy()", "<set> | {@}", "<set> - {@}"),
        changes=(
            *(
                "<X>.add(@)",
                "<X>.discard(@)",
                "<X> |= {@}",
                "<X>.update(<set>)",
                "<X> -= {@}",
                "<X>.update(<list>)",
                "<X>.clear()",
            ),
            *("if @ in <X>:\n    <X>.remove(@)", "for x in sorted(<X>):\n    <X>.add(x + 1)", "<X> = <X> | {@}"),
        ),
        seen=("sorted(<X>)", "[len(<X>), sum(<X>)]", "[int(@ in <X>)]", "[int(<X> == <set>)]"),
    ),
    "sets": Kind(
        made=("[{a}, {b, 1}]", "[<set>, <set>]", "[set() for _ in range(2)]"),
        parts=(),
        copies=("<sets>[:]", "list(<sets>)"),
        changes=(
            *(
                "<X>[0].add(@)",
                "<X>[b % 2].add(@)",
                "for x in <X>:\n    x.add(@)",
                "<X>[0] = <set>",
                "<X>.append(<set>)",
            ),
            *("<X>[0] |= <X>[1]", "x = <X>[0]\nx.add(@)"),
        ),
        seen=("[len(x) for x in <X>]", "[sum(x) for x in <X>]", "sorted(<X>[0])"),
    ),
    "deque": Kind(
        made=("deque([a, 2, b])", "deque(<list>)", "deque([@, @], maxlen=3)"),
        parts=("(<deque> or <deque>)",),
        copies=("deque(<deque>)", "<deque>.copy()"),
        changes=(
            *(
                "<X>.append(@)",
                "<X>.appendleft(@)",
                "<X>.popleft()",
                "<X>.rotate(1)",
                "<X>[0] = @",
                "<X>.extend(<list>)",
            ),
            *("<X> += [@]", "grow(<X>, @)", "while len(<X>) > 2:\n    t += <X>.pop()", "<X>.extend(<deque>)"),
        ),
        seen=("<X>", "[len(<X>), sum(<X>)]", "list(<X>)[:2]"),
    ),
}
"""The kinds of objects, by name. Expressions name other kinds that they are parts of, or that have them as parts."""
BINDINGS: Final = (
    *(
        "N = <X>",
        "N = <X>",
        "N = M = <X>",
        "N, M = <X>, <X>",
        "(N, M), k = (<X>, <X>), @",
        "N = [<X>, @][0]",
        "(N := <X>)",
    ),
    *(
        "if ?:\n    N = <X>\nelse:\n    N = <X>",
        "for N in (<X>, <X>):\n    pass",
        "for N in [<X>]:\n    CHANGE",
        "[N] = [<X>]",
    ),
    *("def fn():\n    return <X>\nN = fn()", "N = M = <X>\nN, M = M, N", "def fn(x=<X>):\n    return x\nN = fn()"),
    *("with Held(<X>) as N:\n    CHANGE", "N = <X>\nif ?:\n    N = <X>", "match <X>:\n    case N:\n        pass"),
    *("N = <X>\nfor k in range(2):\n    if k == b:\n        N = <X>", "N, *_ = [<X>, <X>]", "N, _ = rows_of(<X>, <X>)"),
    *("def fn():\n    nonlocal NAME\n    NAME = <X>\nfn()\nN = NAME", "try:\n    N = <X>\nfinally:\n    t += 1"),
)
"""Statements that give an object the name ``N``, and some of them the name ``M``."""
