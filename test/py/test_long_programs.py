"""Programs of very many operations or choices."""

import collections
import contextlib
import gc
import importlib.util
import re
from typing import NamedTuple

import pytest
from shares import by_day
from small_functions import ints

import hlobatch as hb
from hlobatch.analysis import tracing
from hlobatch.analysis.may_alias import Aliases
from hlobatch.frontend.to_cfg import FunctionLowering
from hlobatch.frontend.to_program import to_program
from hlobatch.ir.ops import BranchOp
from hlobatch.runtime.garbage import SELDOM
from hlobatch.transforms import attempts


def function_of(file, text):
    """The function ``f`` of a file that has this text."""
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def chain_of(count, folder):
    """A function with so many ``elif``s, of its own file."""
    tests = "".join(f"    elif n == {i}:\n        k = {i * i % 97}\n" for i in range(1, count + 1))
    text = f"def f(n):\n    if n == 0:\n        k = 0\n{tests}    else:\n        k = -1\n    return k + 1\n"
    return function_of(folder / "chain.py", text)


def test_a_chain_of_choices_is_no_nest(tmp_path):
    """500 of them were "an expression nested too deeply": each is one in the other side of the last."""
    program = to_program(chain_of(500, tmp_path))
    (function,) = program.functions
    assert sum(isinstance(block.terminator, BranchOp) for block in function.graph) == 501


@pytest.mark.slow
def test_a_chain_of_choices_is_run(tmp_path):
    numbers = ints(0, 3, 250, 500, 501)
    function = chain_of(500, tmp_path)
    assert hb.batch(function)(numbers).tolist() == [function(n) for n in numbers.tolist()]


def test_long_expressions_ended_in_a_recursion_error(tmp_path):
    text = "def f(n):\n    return " + "+".join(["n"] * 2500) + "\n"
    function = function_of(tmp_path / "long_expression.py", text)
    with pytest.raises(hb.UnsupportedSyntaxError, match="'f' is nested too deeply"):
        hb.batch(function)(ints(1))


def helpers(count, folder):
    """A function that calls so many others, which append to a list and pop from it, of its own file."""
    text = (
        "".join(
            f"def h{i}(items, x):\n    items.append(x + {i})\n"
            "    if len(items) > 3:\n        return items.pop()\n    return x\n"
            for i in range(count)
        )
        + "def f(n):\n    items = []\n    total = 0\n    for i in range(n):\n"
        + "".join(f"        total = total + h{i}(items, i)\n" for i in range(count))
        + "    return total\n"
    )
    return function_of(folder / f"helpers{count}.py", text)


def test_functions_are_lowered_in_proportion_to_the_helpers(tmp_path, monkeypatch):
    """Each helper is lowered again for what is found out about it, and its caller; not the other helpers."""
    lowered = []
    lower = FunctionLowering.function
    monkeypatch.setattr(FunctionLowering, "function", lambda self: (lowered.append(self.callee.name), lower(self))[1])

    def lowerings(count):
        lowered.clear()
        function, numbers = helpers(count, tmp_path), ints(0, 2, 5)
        assert hb.batch(function)(numbers).tolist() == [function(n) for n in numbers.tolist()]
        return len(lowered), max(lowered.count(f"h{i}") for i in range(count))

    (few, of_one), (many, of_one_of_many) = lowerings(8), lowerings(16)
    assert of_one_of_many <= of_one
    assert many < 2.2 * few


class Effort(NamedTuple):
    """What it took to give a program its types.

    Attributes:
        rounds: The number of times that the program was built.
        traced: The number of statements that were traced, each as often as it was.
        most: The number of times that the code of one place was traced, at most.
    """

    rounds: int
    traced: int
    most: int

    def holds_for(self, longer):
        """Whether a program that is twice as long took no more rounds, and twice as many traces.

        A few statements more may be traced, such as those between two loops, or for one more list that a list becomes.
        """
        return longer.rounds <= self.rounds and longer.most < 1.2 * self.most and longer.traced < 2.3 * self.traced


def effort(function, monkeypatch, *, runs=True):
    """The effort of a function, whose result is compared with CPython's."""
    made, places = [], []
    specialize, traced = attempts.specialized_program, tracing.traced
    numbers = ints(0, 2, 5, 9)
    with monkeypatch.context() as noting:
        noting.setattr(attempts, "specialized_program", lambda *given: made.append(1) or specialize(*given))
        noting.setattr(tracing, "traced", lambda op, *given: places.append(op.location) or traced(op, *given))
        if runs:
            assert hb.batch(function)(numbers).tolist() == [function(n) for n in numbers.tolist()]
        else:
            hb.batch(function).trace(numbers)
    return Effort(len(made), len(places), max(collections.Counter(places).values()))


def rounds_of(function, monkeypatch, *, runs=True):
    return effort(function, monkeypatch, runs=runs).rounds


def four_that_may_fail(items, n):
    first = items[n % 3]
    items[n % 2] = first // (n - 7)
    return items[n] % (n + 1)


def fails_in_many_ways(n):
    try:
        return four_that_may_fail([1, 2, 3], n)
    except (IndexError, ZeroDivisionError):
        return -1


def test_all_that_may_fail_is_found_in_one_round(monkeypatch):
    """Regression: one round was made for each operation that raises."""
    assert rounds_of(fails_in_many_ways, monkeypatch) <= 3


def test_helpers_are_made_in_as_many_rounds_however_many_they_are(tmp_path, monkeypatch):
    """Each took a round of its own to be found, one for each way in which it fails, and one for its arguments."""
    few, many = (rounds_of(helpers(count, tmp_path), monkeypatch) for count in (8, 12))
    assert many <= few <= 6


def repeated(text, count):
    """The text in which each line with ``{i}`` stands so many times."""
    lines = (line.replace("{i}", str(i)) for line in text.splitlines() for i in range(count if "{i}" in line else 1))
    return "\n".join(lines) + "\n"


def written(text, count, folder):
    """A function, of its own file, in which each line with ``{i}`` stands so many times."""
    return function_of(folder / f"written{count}.py", repeated(text, count))


LISTS = """
def f(n):
    a{i} = []
    for k in range(n):
        a{i}.append(k + {i})
    return 0
"""
DICTS = """
def f(n):
    a{i} = {}
    for k in range(n):
        a{i}[k % ({i} + 2)] = k
    return sum([len(a0), len(a1), len(a2)])
"""
NONE_OR_NUMBERS = """
def f(n):
    a{i} = None
    for k in range(n):
        a{i} = k if k % ({i} + 2) == 1 else a{i}
    total = 0
    total += a{i} if a{i} is not None else {i}
    return total
"""
FUNCTIONS_IN_VARIABLES = """
def down(x):
    while x > 3:
        x -= 2
    return x

def f(n):
    total = 0
    g{i} = down
    total += g{i}(n + {i})
    return total
"""
COMPREHENSIONS = """
def f(n):
    items = []
    for k in range(n):
        items.append(k)
    total = 0
    total += sum(x for x in items if x > {i})
    return total
"""
LISTS_OF_LISTS = """
def f(n):
    a{i} = [[], []]
    for k in range(n):
        a{i}[k % 2].append(k + {i})
    return sum([len(a0[0]), len(a1[1])])
"""
IN_A_LOOP_OF_KNOWN_TURNS = """
def f(n):
    a{i} = {}
    for k in range(17):
        a{i}[(n + k) % ({i} + 3)] = k
    return sum([len(a0), len(a1), len(a2)])
"""
IN_LOOPS_OF_KNOWN_TURNS = """
def f(n):
    a{i} = []
    for k in range(17): a{i}.extend([k] if (n + k) % ({i} + 3) == 1 else [])
    return sum([len(a0), len(a1), len(a2)])
"""
UNROLLED = """
def f(n):
    a{i} = []
    for k in range(17): a{i}.append(n + k)
    return sum([len(a0), len(a1), len(a2)])
"""


@pytest.mark.parametrize(
    "text",
    by_day(
        [
            *(LISTS, NONE_OR_NUMBERS, DICTS, FUNCTIONS_IN_VARIABLES, LISTS_OF_LISTS, COMPREHENSIONS),
            *(IN_A_LOOP_OF_KNOWN_TURNS, IN_LOOPS_OF_KNOWN_TURNS, UNROLLED),
        ],
        5,
    ),
)
def test_a_round_finds_all_however_many_there_are(text, tmp_path, monkeypatch):
    """Each list that grows, each variable that may be None and each call that is followed took rounds of its own."""
    few = effort(written(text, 3, tmp_path), monkeypatch)
    many = effort(written(text, 6, tmp_path), monkeypatch, runs=False)
    assert few.holds_for(many), (few, many)


SORTED_LISTS = """
def h{i}(items, x):
    items.append(x * {i})
    best = sorted(items)
    return best[0] + max(items) + sum(items)
def f(n):
    items, total = [], 0
    for k in range(n):
        total += h{i}(items, k)
    return total
"""
SETS = """
def h{i}(items, x):
    if x in items:
        items.remove(x)
        return 1
    items.add(x + {i})
    return len(items)
def f(n):
    items, total = set(), 0
    for k in range(n):
        total += h{i}(items, k)
    return total
"""
LISTS_IN_A_DICT = """
def h{i}(items, x):
    if x not in items:
        items[x] = []
    items[x].append({i})
    return len(items[x])
def f(n):
    items, total = {}, 0
    for k in range(n):
        total += h{i}(items, k)
    return total
"""
OBJECTS_IN_A_LIST = """
class Point:
    def __init__(self, x):
        self.x = x
def h{i}(points, x):
    points.append(Point(x + {i}))
    total = 0
    for point in points:
        if point.x > {i}:
            total += point.x
            point.x -= 1
    return total
def f(n):
    items, total = [], 0
    for k in range(n):
        total += h{i}(items, k)
    return total
"""
IN_A_CIRCLE = """
def h{i}(items, x):
    items.append(x)
    if x <= 0:
        return {i}
    return h{next}(items, x - 1) + items.pop()
def f(n):
    return h0([], n)
"""
UNTIL_THE_LIST_IS_LONG = """
def h{i}(items, x):
    if len(items) > 5:
        return sum(items)
    return h{next}([*items, x], x + 1)
def f(n):
    return h0([], n)
"""


def functions_of(text, count, folder):
    """The function ``f`` of its own file, in which functions and lines of ``f`` with ``{i}`` stand so many times."""
    helper, f = re.split(r"^(?=def f\()", text, flags=re.MULTILINE)
    before, helper = re.split(r"^(?=def h\{i\})", helper, flags=re.MULTILINE)
    helpers = "".join(helper.replace("{i}", str(i)).replace("{next}", str((i + 1) % count)) for i in range(count))
    return function_of(folder / f"functions{count}.py", before + helpers + repeated(f, count))


@pytest.mark.parametrize(
    "text", by_day([SORTED_LISTS, SETS, LISTS_IN_A_DICT, OBJECTS_IN_A_LIST, IN_A_CIRCLE, UNTIL_THE_LIST_IS_LONG], 3)
)
def test_functions_are_made_in_as_many_rounds_however_many_they_are(text, tmp_path, monkeypatch):
    """Regression: each function took one or two rounds of its own, and each of a recursion in a circle fifteen."""
    few = effort(functions_of(text, 2, tmp_path), monkeypatch)
    many = effort(functions_of(text, 4, tmp_path), monkeypatch, runs=False)
    assert few.holds_for(many), (few, many)


def one_of_more_and_more_texts(count, folder):
    """A function whose variable is one of so many texts, and is read behind each of them."""
    turn = "        if k % {i} == 1:\n            word = 't{i}'\n        total += len(word) + k\n"
    turns = "".join(turn.replace("{i}", str(i)) for i in range(10, 10 + count))
    text = f"def f(n):\n    word, total = 'none', 0\n    for k in range(n):\n{turns}    return total\n"
    return function_of(folder / f"texts{count}.py", text)


def lists_of_the_items_of_others(count, folder):
    """A function that makes so many lists, each of some items of the one before, as a called function says."""
    halved = "def halved(x):\n    while x > 9:\n        x //= 2\n    return x\n"
    loop = "    for x in items:\n        if halved(x + {i}) % 3:\n            a{i}.append(x)\n"
    turns = "".join(f"    a{{i}} = []\n{loop}    items = a{{i}}\n".replace("{i}", str(i)) for i in range(count))
    text = f"{halved}def f(n):\n    items = list(range(n))\n{turns}    return len(items)\n"
    return function_of(folder / f"filters{count}.py", text)


@pytest.mark.parametrize(("made", "count"), [(one_of_more_and_more_texts, 12), (lists_of_the_items_of_others, 3)])
def test_what_depends_on_more_and_more_is_traced_as_often(made, count, tmp_path, monkeypatch):
    """Regression: a statement was traced for each text that the variable may be; 60 texts took ten seconds.

    A loop over a list that was still empty hid the next list; 16 lists took 35 rounds.
    """
    few = effort(made(count, tmp_path), monkeypatch)
    many = effort(made(2 * count, tmp_path), monkeypatch, runs=False)
    assert few.holds_for(many), (few, many)


OBJECTS_ONE_BY_ONE = """
class Point:
    def __init__(self, x):
        self.x = x
def f(n):
    points = []
    points.append(Point(n + {i}))
    total = 0
    for point in points:
        total += point.x
    return total
"""


def test_aliases_are_as_many_as_the_statements(tmp_path, monkeypatch):
    """Regression: each object was a pair with itself in each earlier value of the list; 60 objects took 40 seconds."""
    sizes = []
    after = Aliases._after
    monkeypatch.setattr(Aliases, "_after", lambda *given: sizes.append(len(pairs := after(*given))) or pairs)

    def pairs(count):
        sizes.clear()
        hb.batch(written(OBJECTS_ONE_BY_ONE, count, tmp_path)).trace(ints(1, 2))
        return sum(sizes)

    assert 0 < pairs(16) < 2.3 * pairs(8)


def sift_up(heap, i):
    while i > 0:
        parent = (i - 1) // 2
        if heap[parent] <= heap[i]:
            break
        heap[parent], heap[i] = heap[i], heap[parent]
        i = parent


def sift_down(heap, i):
    n = len(heap)
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[i] <= heap[child]:
            break
        heap[i], heap[child] = heap[child], heap[i]
        i = child


def push(heap, x):
    heap.append(x)
    sift_up(heap, len(heap) - 1)


def pop(heap):
    last = heap.pop()
    if not heap:
        return last
    top = heap[0]
    heap[0] = last
    sift_down(heap, 0)
    return top


def sorted_by_a_heap(n):
    heap, total, x = [], 0, n * 7919 + 13
    for _ in range(n):
        x = (x * 1103 + 12345) % 10007
        push(heap, x)
    while heap:
        total = (total * 31 + pop(heap)) % 1000003
    return total


def test_a_heap_of_four_helpers_is_made_three_times(monkeypatch):
    """Regression: it was made 118 times, once for each call, each way to fail and each changed argument."""
    assert rounds_of(sorted_by_a_heap, monkeypatch) <= 3


class Account:
    def __init__(self, balance):
        self.balance = balance
        self.refused = 0

    def withdraw(self, amount):
        if amount > self.balance:
            self.refused += 1
            return False
        self.balance = self.balance - amount
        return True

    def settle(self, rate):
        while self.balance > rate:
            self.balance = self.balance - rate
        return self.balance


def of_an_account(n):
    account = Account(n)
    got = 0
    for amount in range(3):
        if account.withdraw(amount):
            got += amount
    return got + 10 * account.settle(4) + 100 * account.refused


def of_functions_inside(n):
    def down(x):
        if x > n:
            return x - n
        return x + 1

    def twice(x):
        if x > 2:
            return down(down(x))
        return down(x)

    return twice(n + 1) + down(twice(3 * n))


@pytest.mark.parametrize("function", [of_an_account, of_functions_inside])
def test_methods_and_functions_inside_are_followed_in_one_round(function, monkeypatch):
    """Each call of one took a round of its own."""
    assert rounds_of(function, monkeypatch) == 1


@contextlib.contextmanager
def collections_as(threshold):
    usual = gc.get_threshold()
    gc.set_threshold(threshold)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@pytest.mark.parametrize(("usual", "meanwhile"), [(700, SELDOM), (0, 0), (2 * SELDOM, 2 * SELDOM)])
def test_garbage_is_looked_for_more_seldom_while_a_program_is_made(usual, meanwhile):
    with collections_as(usual):
        assert hb.batch(lambda n: n + gc.get_threshold()[0])(ints(1)).tolist() == [1 + meanwhile]
        assert gc.get_threshold()[0] == usual


def test_garbage_is_looked_for_as_before_once_a_program_is_refused():
    with collections_as(700):
        with pytest.raises(hb.HloBatchError):
            hb.batch(lambda n: n.nothing)(ints(1))
        assert gc.get_threshold()[0] == 700


def test_what_the_user_sets_meanwhile_stays_set():
    def f(n):
        gc.set_threshold(1_234)
        return n

    with collections_as(700):
        hb.batch(lambda n: f(n))(ints(1))
        assert gc.get_threshold()[0] == 1_234
