"""A container is changed by one of two names that only a lane's values tell apart: each lane gives Python's value."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from feature_pairs import made, right_or_refused

import hlobatch as hb

NUMBERS = [0, 1, 4, 5, 9]


def folded(items):
    t = 0
    for x in items:
        t = (t * 31 + x) % 10007
    return t


def of_rows(rows):
    t = 0
    for row in rows:
        t = (t * 31 + folded(row) + 7) % 10007
    return t


class Bag:
    def __init__(self, items):
        self.items = items

    def put(self, x):
        self.items.append(x)


@dataclass
class Order:
    lines: list = field(default_factory=list)


def runs(n):
    groups, last, run = [], -1, []
    for i in range(n):
        v = i // 2 % 3
        if v != last:
            run = []
            groups.append(run)
            last = v
        run.append(i)
    return of_rows(groups)


def longest_rise(n):
    best, run = [], []
    for i in range(n):
        v = i * 7 % 5
        if run and v < run[-1]:
            run = []
        run.append(v)
        if not run or (best and len(run) <= len(best)):
            continue
        best = run
    return folded(best)


def words(n):
    sentence, word = [], []
    for i in range(n):
        if i % 3 == 2:
            sentence.append(word)
            word = []
        else:
            word.append(i)
    if word:
        sentence.append(word)
        word.append(50)
    return of_rows(sentence)


def best_so_far(n):
    run, best = [], []
    for i in range(n):
        run.append(i * 3 % 5)
        if len(run) > len(best):
            best = run
        if i % 4 == 1:
            run = [7]
    best.append(100)
    run.append(50)
    return folded(best) * 3 + folded(run)


def best_or_none(n):
    best = None
    for i in range(3):
        run = list(range(n * (i + 1) % 5))
        if best is None or len(run) > len(best):
            best = run
        run.append(9)
    return folded(best)


def exchanged(n):
    small, large = [1, 2], [3]
    rows = [small, large]
    for i in range(n):
        if len(small) > len(large):
            small, large = large, small
        small.append(i)
    return folded(small) * 7 + of_rows(rows)


def kept_by_an_object(n):
    items = [1, n]
    one, other = Bag(items), Bag(items)
    items.append(5)
    one.put(n)
    if n > 4:
        other.items = [4]
    other.put(9)
    return folded(one.items) * 7 + folded(other.items) * 3 + len(items)


def kept_by_a_dataclass(n):
    one, other = Order(), Order([n])
    lines = one.lines if n % 2 else other.lines
    lines.append(n)
    other.lines = one.lines
    other.lines.append(8)
    return folded(one.lines) * 7 + folded(other.lines) * 3 + folded(lines)


def least_full(n):
    bins = [[] for _ in range(3)]
    for i in range(n):
        least = min(bins, key=sum)
        least.append(i * 5 % 7)
    return of_rows(bins)


def one_item_several_times(n):
    rows = [[0] * 2] * 3
    rows[n % 3][n % 2] += 5
    rows[0] = [n, 1]
    rows[n % 2][0] += 1
    return of_rows(rows)


def of_a_dict(n):
    groups = {}
    for i in range(n):
        group = groups.get(i % 3)
        if group is None:
            group = []
            groups[i % 3] = group
        group.append(i)
    return folded([len(groups[k]) * 10 + k for k in sorted(groups)])


def trie(n):
    tree = {}
    for word in ((1, 2, 3), (1, 2, 4), (n, 2)):
        node = tree
        for letter in word:
            node = node.setdefault(letter, {})
    t, node = 0, tree
    for letter in (1, 2):
        t = t * 31 + len(node)
        if letter in node:
            node = node[letter]
    return t * 10 + len(tree)


def sets(n):
    one, other = {1, n}, {2}
    both = [one, other]
    for i in range(3):
        if len(one) > len(other):
            one, other = other, one
        one.add(i)
        one |= other
    return len(one) * 100 + sum(other) * 10 + sum(len(x) for x in both)


def by_functions(n):
    def longer(p, q):
        return p if len(p) > len(q) else q

    def put(p, x):
        p.append(x)
        return p

    one, other = [n], [1, 2]
    rows = [one, other]
    put(longer(one, other), 7).append(n)
    for row in rows:
        if n % 2:
            other = row
    put(other, 8)
    return of_rows(rows)


def by_identity(n):
    one, other = [n], [n]
    rows = [one, other, one]
    chosen = rows[n % 3]
    chosen.append(3)
    return (chosen is one) * 100 + (chosen == one) * 10 + (other in rows) + (rows == [[n, 3], [n], [n, 3]]) * 1000


def sorted_and_zipped(n):
    grid = [[n, 2], [1, 5], [3, 0]]
    row = grid[n % 3]
    grid.sort()
    row[1] += 4
    first = max(grid)
    first.append(9)
    columns = [sum(column) for column in zip(*grid, strict=False)]
    return of_rows(grid) + folded(columns) * 3 + max(map(len, grid))


def unpacked(n):
    one = [n, 2, 3]
    other = one if n % 2 else [5, 6]
    first, *rest = other
    rest.append(first)
    other[:] = rest + other[:1]
    a, b = other[-2:]
    return folded(one) * 7 + folded(other) * 3 + a + b


def in_a_generator(n):
    def chunks():
        chunk = []
        for i in range(n):
            chunk.append(i)
            if len(chunk) == 2:
                yield chunk
                chunk = [50]

    t = 0
    for chunk in chunks():
        chunk.append(4)
        t = t * 3 + folded(chunk)
    return t % 10007


def in_the_order_of_evaluation(n):
    def put(p, x):
        p.append(x)
        return len(p)

    one = [n, 4]
    other = one if n > 4 else [2, 5]
    seen = [len(one), put(other, 1), one[-1], put(one, 7), other[-1]]
    other[0], one[1] = one[1], other[0]
    return folded(seen) * 7 + folded(one) * 3 + folded(other)


def around_exceptions(n):
    one = [n, 4]
    other = one if n > 1 else [2, 5]
    try:
        other.append(one[n])
        one.append(10 // (n - 5))
    except IndexError:
        other.append(70)
    except ZeroDivisionError:
        one.append(80)
    finally:
        other.append(1)
    return folded(one) * 3 + folded(other)


def maybe_none(n):
    one = [n]
    other = one if n > 4 else [2]
    third = None if n % 2 else other
    one.append(5)
    if third:
        third.append(6)
    last = third or one
    last.append(7)
    return folded(one) * 3 + folded(other)


RUN = [
    runs, longest_rise, words, best_so_far, best_or_none, exchanged, kept_by_an_object, kept_by_a_dataclass,
    least_full, one_item_several_times, of_a_dict, trie, sets, by_functions, by_identity, sorted_and_zipped, unpacked,
    in_a_generator, in_the_order_of_evaluation, around_exceptions, maybe_none,
]  # fmt: skip


@pytest.mark.parametrize("main", RUN, ids=lambda main: main.__name__)
def test_a_container_with_several_names_is_python_s(main):
    refusal = right_or_refused(main, NUMBERS)
    assert refusal is None, refusal


def chunks(n):
    found = [[]]
    for i in range(n):
        if len(found[-1]) == 3:
            found.append([])
        last = found[-1]
        last.append(i)
    return found, {"last": found[-1]}


def test_containers_by_reference_are_plain_ones_in_results():
    found, by_name = hb.batch(chunks)(np.array(NUMBERS))
    wanted = [chunks(n) for n in NUMBERS]
    assert found.tolist() == [rows for rows, _ in wanted]
    assert by_name["last"].tolist() == [by["last"] for _, by in wanted]


def raises(n):
    one = [n]
    other = one if n > 4 else [7]
    other.append(2)
    if n == 9:
        raise ValueError(one)
    return len(one)


def test_containers_by_reference_are_plain_ones_in_exceptions():
    with pytest.raises(ValueError, match=r"\[9, 2\]") as caught:
        hb.batch(raises)(np.array(NUMBERS))
    assert caught.value.lanes == (4,)


VIEWS = {
    "reversed": ("reversed(one)", "sum(seen)"),
    "reversed and numbered": ("enumerate(reversed(one))", "sum(x * i for i, x in seen)"),
    "an iterator": ("iter(one)", "next(seen) + sum(seen)"),
    "pairs": ("zip(one, one)", "sum(x * y for x, y in seen)"),
    "a generator expression": ("(x + 1 for x in one)", "sum(seen)"),
    "a slice": ("one[:2]", "sum(seen)"),
    "the list itself": ("one", "sum(seen)"),
    "a display": ("[*one, other.pop(), *one]", "sum(seen)"),
    "keys": ("dict.fromkeys(one).keys()", "sum(seen)"),
}


@pytest.mark.parametrize("other", ["one", "one if n > 4 else [7]"])
@pytest.mark.parametrize(("made_of", "used"), VIEWS.values(), ids=VIEWS)
def test_what_is_made_of_a_list_sees_changes_by_another_name_as_in_python_or_is_refused(made_of, used, other):
    lines = [
        "one = [n, 2]",
        f"other = {other}",
        f"seen = {made_of}",
        "other.append(5)",
        f"return {used} * 100 + sum(one)",
    ]
    right_or_refused(made("\n    ".join(["def main(n):", *lines]) + "\n"), NUMBERS)


ASKED = {
    "isinstance": "isinstance(one, list)",
    "type": "type(one) is list",
    "truth": "1 if one else 0",
    "equality": "one == [n, 4]",
    "in": "n in one",
    "length": "len(one)",
    "item": "one[0]",
    "loop": "[x for x in one][0]",
    "sum": "sum(one)",
    "method": "one.index(n)",
    "attribute": "hasattr(one, 'append')",
    "order": "one < [3]",
    "text": "len(str(one))",
    "copy": "len(one.copy())",
    "operation": "(one + [1])[0]",
}


TEXT = """
import operator

def main(n):
    one = [n]
    other = one if n > 4 else [7]
    other.append(4)
    one = operator.getitem([one, other], 0)
    return QUESTION
"""


@pytest.mark.parametrize("question", ASKED.values(), ids=ASKED)
def test_what_is_asked_of_a_container_that_is_not_known_to_be_one_is_right_or_refused(question):
    right_or_refused(made(TEXT.replace("QUESTION", question)), NUMBERS)


def part_of_what_is_made_of_it(n):
    x = (n, 1) if n % 2 else None
    members = {n}
    members.add(x)
    return len(members)


def method_beside_a_text(n):
    x = False if n % 2 else Bag([n]).items.count
    text = f"{n}-{n}"
    pair = (x, text)
    return len(pair[1])


@pytest.mark.parametrize("main", [part_of_what_is_made_of_it, method_beside_a_text])
def test_a_value_that_may_be_a_part_of_itself_is_gone_over(main):
    """Regression: joining the parts of such a value joined it with another, and an assertion failed."""
    right_or_refused(main, NUMBERS)
