"""What an expression reads is as it is when Python comes to it, also if its operands branch or change something."""

import jax
import numpy as np
import pytest

import hlobatch as hb


class Counter:
    def __init__(self, at):
        self.at = at
        self.items = [at]

    def bump(self):
        self.at += 1
        return self.at

    def climbed(self):
        while self.at < 4:
            self.at += 1
        return self.at


def least(a):
    while a > 5:
        a -= 1
    return a


def first(items):
    if len(items) > 0:
        return items.pop(0)
    return 0


def larger(x, y):
    return x * 10 + y if x > 2 else x * 100 + y


def item_plus_what_takes_it_out(a):
    items = [3, a, 5]
    items[0] += first(items)
    return items


def item_less_a_choice(a):
    items = [3, a, 5]
    items[0] -= items.pop(0) if a > 2 else 5
    return items[0]


def attribute_plus_a_choice(a):
    counter = Counter(a)
    counter.at += counter.bump() if a > 2 else 3
    return counter.at


def attribute_before_a_choice(a):
    counter = Counter(a)
    return counter.at * 10 + (counter.bump() if a > 2 else 3), counter.bump() + (counter.at if a > 2 else 3)


def nonlocal_name(a):
    total = 1

    def grown():
        nonlocal total
        while total < a:
            total += 2
        return total

    total += grown()
    return total, larger(total, grown())


def captured_once_arguments_are_there(a):
    total = 1

    def grown():
        nonlocal total
        total += a
        return total

    def sum_with(v):
        return v * 10 + total if v > 2 else v + total

    return sum_with(grown())


def name_and_walrus(a):
    total = 1
    total += (total := total + a)
    return total, total + (total := a) * 10 + total


def key_that_is_bound_anew(a):
    items, at = [1, 0, 3, 4], 1

    def moved():
        nonlocal at
        at = 3
        return a

    items[at] += moved()
    at = 0
    items[at] = moved()
    return items


def list_that_is_bound_anew(a):
    items = [1, 0, 3, 4]

    def other():
        nonlocal items
        items = [9, 9, 9, 9]
        return a

    items[1] += other()
    return items


def key_that_changes_the_dict(a):
    entries = {}
    entries[entries.setdefault(least(a), a)] = 9
    entries[entries.pop(sum(k for k in entries) * 0 + a, 7)] = 8
    return len(entries), sum(entries.values())


def key_that_changes_the_list(a):
    items = [0, 1, 2]
    if a > 1:
        items.append(3)
    items[items.pop(sum(items) * 0)] = 9
    return len(items), sum(items)


def keywords_as_they_are_written(a):
    items = [1, 2, 3]
    return larger(y=first(items), x=items.pop() + a), larger(y=items.pop(), x=first(items))


def tuple_of_what_changes(a):
    items, counter = [a, 2, 3], Counter(a)
    return items[0], items.pop(0), 1 if a > 2 else 2, counter.at, counter.bump(), 1 if a > 2 else 2, counter.at


def dict_display(a):
    items = [1, 2, 3, 4]
    entries = {first(items): first(items) * 10, first(items): first(items) * 10 + a}
    return list(entries.keys()), list(entries.values())


def chained_comparison(a):
    counter, items = Counter(a), [a, 4, 5]
    inside = 1 if counter.at < counter.bump() < 5 else 0
    return inside, 1 if a < 2 < items.pop() else 0, len(items), 1 if items[0] < first(items) < 5 else 0


def method_of_what_an_argument_changes(a):
    counter, rows = Counter(a), [[1, 2], [3]]
    counter.items.append(counter.climbed())
    rows[0].append(first(rows[1]))
    return counter.items, counter.at, rows[0]


def item_found_once(a):
    places, rows = [0, 1, 2], [[1], [2], [a]]
    replaced(rows[places.pop()])
    replaced(rows[first(places)])
    return places, rows


def replaced(items):
    items[0] = 50
    return 1


def swapped(a):
    b, items, i = 2, [3, 4, 5], 1

    def other():
        nonlocal b
        b = 7
        return a

    a, b = b, other()
    items[i], i = i, 2
    return a, b, items, i


def bounds_of_slices(a):
    """Each bound is evaluated once, also where the length of the slice would follow from both."""
    places, array, items = [3, 1, 2, 2, 0, 5, 1], np.zeros(9, int), [0, 1, 2, 3, 4, 5]
    array[places.pop() + a % 2 : places.pop()] = 7
    items[places.pop() : places.pop()] = [a]
    array[places.pop() : places.pop() + a] += places.pop()
    return array.tolist(), items, len(places)


def slices_changed_by_a_call(a):
    counter, array, rows = Counter(a), np.zeros(9, int), np.zeros((3, 9), int)
    array[a % 5 : 2 * a] += counter.climbed()
    array[a : a + 2] -= counter.climbed()
    rows[a % 3, a : a + 3] += counter.climbed()
    rows[1:a, a % 2 : a] *= counter.climbed()
    return array.tolist(), rows.tolist(), counter.at


def number(items):
    total = 0
    for x in items:
        total = total * 10 + x
    return total


def items_behind_stars_before_a_change(a):
    fixed, items, counter = [1, a], [1, a], Counter(a)
    if a > 2:
        items.append(3)

    def grow():
        if a > 2:
            items.append(4)
        return len(items)

    of_known_length = [*fixed, fixed.pop(), *fixed], (*fixed, fixed.append(2) or 5, *fixed)
    of_a_lane = number([*items, grow(), *items]), number((*items, items.pop(), *items)), len({*items, grow(), *items})
    return of_known_length, of_a_lane, number([*counter.items, counter.items.pop(), *counter.items, 5])


def arguments_behind_stars_before_a_change(a):
    def given(*numbers, **named):
        return number(numbers) * 100 + number(list(named.values()))

    items, options = [1, 2, 3], {"x": a, "y": 2}
    found = given(*items, items.pop(), *items, **options, z=items.pop(0))
    joined = {**options, "z": options.pop("x"), **options}
    lane = {a: 1, 7: 2}
    again = {**lane, 9: lane.pop(a), **lane}
    return found, number(list(joined.values())), len(again), number(list(again.values()))


def displays_with_several_stars(a):
    items, counts = [a], {a: 1, 5: 2}
    if a > 2:
        items.append(3)
    members = {*items, *counts, *{a, 1}, 4}
    return number([*counts, 5, *items]), number(sorted(members)), number((*counts, *items))


def keys_of_what_a_call_changes(a):
    """Each index is evaluated once, also where the item is read, changed and stored."""
    counter, rows, places = Counter(a), [[1], [2]], [0, 1, 0, 1, 1]
    if a > 2:
        rows[0].append(3)
        places.append(0)
    rows[counter.bump() % 2].append(counter.bump())
    rows[places.pop()].append(places.pop())
    rows[counter.bump() % 2] += [counter.bump()]
    groups, queues = {0: [1], 1: [2]}, [[1, 2], [3, 4]]
    groups[counter.bump() % 2].append(counter.bump())
    groups.setdefault(counter.bump() % 3, []).append(counter.bump())
    last = queues[places.pop()].pop()
    return [number(row) for row in rows], number(places), number(groups[0]), number(groups[1]), last, counter.at


PROGRAMS = [f for f in list(vars().values()) if getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("a",)]


@pytest.mark.parametrize("program", [f for f in PROGRAMS if f is not least], ids=lambda f: f.__name__)
def test_it_is_as_in_python(program) -> None:
    lanes = np.array([0, 3, 7], np.int32)
    alone = [jax.tree.leaves(program(int(a))) for a in lanes]
    together = jax.tree.leaves(hb.batch(program)(lanes))
    assert [[int(leaf[i]) for leaf in together] for i in range(3)] == alone
