"""If-conversion and loop rotation: fewer blocks, the same values, and no speculation of code that may not end."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch.frontend import loops
from hlobatch.ir.ops import BranchOp
from hlobatch.transforms import if_conversion


@hb.batch
def mandelbrot(cx, cy):
    x = 0.0
    y = 0.0
    n = 0
    while x * x + y * y < 4.0 and n < 50:
        x, y = x * x - y * y + cx, 2.0 * x * y + cy
        n += 1
    return n


@hb.batch
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@hb.batch
def conditions(x, y):
    a = 0
    if x > 0 or y > 2:
        a = 1
    if not (x > 1 and y > 1):
        a += 10
    if x == 3:
        a += 100
    elif y == 3:
        a += 200
    else:
        a += 300
    return a


@hb.batch
def may_not_end(n):
    steps = 0
    if n > 0:
        steps = jax.lax.while_loop(lambda s: s[0] != 1, lambda s: (s[0] // 2, s[1] + 1), (n, 0))[1]
    return steps


C = np.linspace(-2, 1, 17).astype(np.float32)
N = np.arange(1, 18).astype(np.int32)


def plain(function: hb.BatchedFunction, *args: np.ndarray) -> list[int]:
    with hb.disable_batching():
        return [int(function(*row)) for row in zip(*args, strict=True)]


def blocks(function: hb.BatchedFunction, *args: np.ndarray) -> int:
    return len(function.trace(*args).lowered_program.graph.blocks)


def test_mandelbrot_is_one_block_that_loops() -> None:
    assert mandelbrot(C, C[::-1]).tolist() == plain(mandelbrot, C, C[::-1])
    program = mandelbrot.trace(C, C).lowered_program
    assert len(program.graph.blocks) == 2
    loop = program.graph.blocks[1]
    assert isinstance(loop.terminator, BranchOp)
    assert loop.terminator.successors == (loop.name, "halt")


def test_collatz_is_one_block_that_loops() -> None:
    assert collatz(N).tolist() == plain(collatz, N)
    assert blocks(collatz, N) == 2


def test_conditions_become_straight_line_code() -> None:
    x, y = (a.ravel().astype(np.int32) for a in np.meshgrid(np.arange(5), np.arange(5)))
    assert conditions(x, y).tolist() == plain(conditions, x, y)
    assert blocks(conditions, x, y) == 1


def test_what_might_not_end_is_not_run_ahead() -> None:
    n = np.array([0, 8, -4, 3], np.int32)
    assert may_not_end(n).tolist() == [0, 3, 0, 1]
    assert blocks(may_not_end, n) > 1


def test_each_switch_turns_its_pass_off() -> None:
    plain_blocks = hb.Optimizations(if_conversion=False, rotate_loops=False)
    assert blocks(hb.batch(mandelbrot.function, optimizations=plain_blocks), C, C) == 4
    unrotated = hb.Optimizations(rotate_loops=False)
    assert blocks(hb.batch(mandelbrot.function, optimizations=unrotated), C, C) == 3


DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))


@hb.batch
def neighbors(n: np.ndarray) -> np.ndarray:
    total = 0
    while n > 0:
        for dx, dy in DIRECTIONS:
            if n % 3 == dx:
                total += dy * n
        n -= 2
    return total


@hb.batch
def first_neighbor(n: np.ndarray) -> np.ndarray:
    total = 0
    while n > 0:
        for dx, dy in DIRECTIONS:
            if n % 3 == dx:
                total += dy * n
                break
        n -= 2
    return total


def constants(program: hb.Program) -> set[str]:
    """Texts of the primitives that get an item of the table by the turn."""
    return {op.text for op in program.ops if "item_of" in getattr(op, "text", "")}


def test_short_loops_over_constants_are_written_out() -> None:
    n = np.arange(-1, 12).astype(np.int32)
    assert neighbors(n).tolist() == plain(neighbors, n)
    assert blocks(neighbors, n) == 2
    kept = hb.batch(neighbors.function, optimizations=hb.Optimizations(write_out_loops=False))
    assert kept(n).tolist() == plain(neighbors, n)
    assert any("$turn" in text for text in constants(kept.trace(n).program))
    assert not any("$turn" in text for text in constants(neighbors.trace(n).program))


NAMED = [("ab"[i % 2] * (i % 3 + 1), i) for i in range(130)]
LENGTHS = {name: 10 * len(name) for name, _ in NAMED}


def by_names(x):
    for name, w in NAMED:
        if x > w:
            x = x - len(name)
        else:
            x = x + w
    return x


def last_name(x):
    for name, w in NAMED:
        if x > w + len(name):
            x = x - w
    return x + LENGTHS[name] if name.isalpha() else x


def test_branches_of_turns_that_are_written_out_are_looked_at_in_proportion(monkeypatch) -> None:
    looked_at = []
    convert = if_conversion._Converter._convert
    monkeypatch.setattr(
        if_conversion._Converter, "_convert", lambda self, block: (looked_at.append(block), convert(self, block))[1]
    )

    def visits(turns):
        looked_at.clear()
        items = NAMED[:turns]

        def by_some_names(x):
            for name, w in items:
                if x > w:
                    x = x - len(name)
                else:
                    x = x + w
            return x

        assert blocks(hb.batch(by_some_names), np.array([0, 3, 200], np.int32)) == 1
        return len(looked_at)

    assert visits(40) < 2.2 * visits(20)


def test_many_turns_over_texts_are_a_loop_if_they_can_be() -> None:
    """Written out, they take ten times as long to compile for each twenty of them."""
    x = np.array([0, 3, 200], np.int32)
    assert hb.batch(by_names)(x).tolist() == [by_names(i) for i in x.tolist()]
    assert len(list(hb.batch(by_names).trace(x).program.ops)) < 30
    assert hb.batch(last_name)(x).tolist() == [last_name(i) for i in x.tolist()]


def sum_of_digits(a):
    return sum(int(d) for d in str(a / 2) if d != ".")


def test_a_refusal_is_due_to_turns_and_comes_before_they_are_written_out(monkeypatch) -> None:
    """Both turns that are tried have the same fault; nothing in them differs between lanes."""
    makes = []
    monkeypatch.setattr(loops.ForLowering, "_written_out", noted(makes, loops.ForLowering._written_out))

    def many(n):
        k = 0
        for a in range(2000):
            k = k + sum_of_digits(a)
        return k + n

    def of_lanes(n):
        k = 0
        for a in range(90):
            k = k + sum_of_digits(a * n)
        return k

    with pytest.raises(hb.BatchTypeError, match="text of a float that differs between lanes"):
        hb.batch(of_lanes)(np.arange(3))
    assert {turns for _, turns in makes} <= {2}
    with pytest.raises(hb.BatchTypeError, match="text of a float that differs between turns or calls"):
        hb.batch(many)(np.arange(3))


def noted(calls, function):
    """The function, whose calls are noted."""

    def with_note(self, *args):
        calls.append((self.site, args[-1]))
        return function(self, *args)

    return with_note


def test_loops_that_are_left_early_inside_of_others_are_not_written_out() -> None:
    n = np.arange(-1, 12).astype(np.int32)
    assert first_neighbor(n).tolist() == plain(first_neighbor, n)
    assert any("$turn" in text for text in constants(first_neighbor.trace(n).program))


def test_comprehensions_that_cannot_be_straight_line_code():
    @hb.batch
    def of_several_structures(n):
        return [(1, 2) if i < n else 3 for i in range(2)]

    with pytest.raises(hb.BatchTypeError, match="one of several objects, and results are arrays"):
        of_several_structures(jnp.arange(3))


def test_counting_without_an_end():
    def first_square_above(n):
        for i in itertools.count(1):
            if i * i > n:
                break
        return i

    def in_steps(n):
        total = 0
        for i, (a, b) in enumerate(zip(itertools.count(n, 3), itertools.count(10, -2))):
            if a > b:
                return total + i
            total += a
        return -1

    def down(n):
        for i, k in enumerate(itertools.count(10, -1)):  # noqa: B007
            if k < n:
                break
        return i

    numbers = np.array([0, 1, 5, 9])
    assert hb.batch(first_square_above)(numbers).tolist() == [first_square_above(n) for n in numbers.tolist()]
    assert hb.batch(down)(numbers).tolist() == [down(n) for n in numbers.tolist()]
    with pytest.raises(hb.BatchTypeError, match="does not count by whole numbers"):
        hb.batch(in_steps)(numbers)


def test_what_may_have_no_end_is_refused():
    """An endless iterator is refused, and not iterated for ever while the program is built."""

    def evens():
        n = 0
        while True:
            yield n
            n += 2

    def above(n):
        for k in iterators[kind]():
            if k > n:
                return k
        return -1

    def first(n):
        return next(i for i in itertools.count() if i > n)

    iterators = {"generator": evens, "cycle": lambda: itertools.cycle((1, 2)), "zip": lambda: map(abs, evens())}
    for kind in iterators:  # `above` reads it
        if kind == "generator":  # a loop takes turns with one of the user's
            assert hb.batch(above)(np.arange(3)).tolist() == [2, 2, 4]
            continue
        words = "or without an end" if kind == "cycle" else "is not gone over where it is called"
        with pytest.raises((hb.BatchTypeError, hb.UnsupportedSyntaxError), match=words) as caught:
            hb.batch(above)(np.arange(3))
        assert kind != "cycle" or "itertools.islice(items, 100)" in caught.value.help
    assert hb.batch(first)(np.arange(3)).tolist() == [1, 2, 3]
    assert hb.batch(lambda n: n + next(i for i in itertools.count(3)))(np.arange(3)).tolist() == [3, 4, 5]


def test_dicts_are_gone_over_in_their_order():
    """Everywhere but in an argument; JAX's pytrees have their keys sorted."""

    def digits(n):
        numbers = {"z": n, "b": 1}
        numbers["a"] = 2
        numbers.update(y=3, b=4)
        total = 0
        for key, number in numbers.items():
            total = 10 * total + number + len(key)
        first, *_, last = numbers.items()
        return total * 100 + list(numbers.values())[1] * 10 + first[1] - last[1] + list(numbers).index("y")

    def in_a_loop(n):
        left = {25: 0, 10: 0, 5: 0}
        while n > 0:
            for coin in left:  # what is there changes meanwhile
                many, n = divmod(n, coin)
                left[coin] += many
            n -= 1
        return left, next(reversed(left))

    numbers = np.array([1, 4, 7, 40])
    with hb.disable_batching():
        totals, coins = [digits(n) for n in numbers.tolist()], [in_a_loop(n) for n in numbers.tolist()]
    assert hb.batch(digits)(numbers).tolist() == totals
    left, last = hb.batch(in_a_loop)(numbers)
    assert (list(left), np.unique(last).tolist()) == ([25, 10, 5], [5])
    assert [{coin: int(many[lane]) for coin, many in left.items()} for lane in range(4)] == [own for own, _ in coins]
    exported = hb.export(hb.batch(lambda n: {"z": n, "a": n + 1}), jax.ShapeDtypeStruct((4,), numbers.dtype))
    loaded = exported.call(numbers)
    assert list(loaded) == ["z", "a"]
    assert [loaded["z"].tolist(), loaded["a"].tolist()] == [[1, 4, 7, 40], [2, 5, 8, 41]]


def test_dicts_of_several_orders_are_as_jax_has_them():
    """An argument, whose keys JAX has sorted, and what a loop makes in its place."""

    def walk(state):
        while state["n"] > 0:
            state = {"x": state["x"] * 2.0, "n": state["n"] - 1}
        return state

    start = {"x": np.ones(3), "n": np.arange(3)}
    assert {name: column.tolist() for name, column in hb.batch(walk)(start).items()} == {"n": [0] * 3, "x": [1, 2, 4]}
