"""``print``, ``jax.debug.print`` and ``jax.debug.callback``.

One call for each lane that reaches them, with its values.
"""

import contextlib
import functools
import io
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from zoo import optimizing_little

import hlobatch as hb
from hlobatch.dialect.from_program import from_program
from hlobatch.lowering.state import layout
from hlobatch.runtime import tail
from hlobatch.runtime.course import Course
from hlobatch.runtime.pace import Pace

NUMBERS = np.arange(6, dtype=np.int32)


@pytest.fixture(autouse=True)
def quickly() -> Iterator[None]:
    """XLA optimizes little, which is not the subject."""
    with optimizing_little():
        yield


def lines_by_lane(text: str, lanes: int) -> list[list[str]]:
    """The lines of each lane, in order."""
    found: list[list[str]] = [[] for _ in range(lanes)]
    for line in text.splitlines():
        lane, _, rest = line.removeprefix("lane ").partition(": ")
        found[int(lane)].append(rest)
    return found


def printed_by(run: Callable[[], Any], lanes: int) -> list[list[str]]:
    """The output of lanes while something runs."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        jax.block_until_ready(run())
        jax.effects_barrier()
    return lines_by_lane(text.getvalue(), lanes)


def expected(function: Callable[..., Any], *columns: Any) -> list[list[str]]:
    """The output of each example by itself."""
    found = []
    for example in zip(*columns, strict=True):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            function(*(jnp.asarray(value) for value in example))
        found.append(text.getvalue().splitlines())
    return found


def assert_alike(function: Callable[..., Any], *columns: Any, **options: Any) -> None:
    """Lanes print what their examples do."""
    batched = hb.batch(function, **options)
    assert printed_by(lambda: batched(*columns), len(columns[0])) == expected(function, *columns)


# What is printed


def helper(k):
    print("helper", k)
    return k + 1


def calls_helper(k):
    return helper(k) + 1


class Tracker:
    def __init__(self, start):
        self.value = start

    def __str__(self):
        return f"<{self.value}>"

    def add(self, n):
        self.value += n
        print("added", n, "now", self)


def texts(n):
    print()
    print("a", 1, None, 2.5, [1, "x"], sep="-")
    print(n, n + 1, -n, n / 2, n > 2, n == 2 and n > 0)
    print(f"{n}", f"{n:04d}", f"{n!s:>5}", f"{n + 1=!s}", f"{n / 7:.3f}", f"{'odd' if n % 2 else 'even'}")
    print("%d and %5.2f" % (n, n / 3), "%s" % n)  # noqa: UP031  # as people write
    print("n=" + str(n), "-" * 3 + str(n), format(n, "3d"))
    print(f"{n} {n + 1:>4} {n / 2:.1f}", "|".join([str(n), f"{n + 1}"]), "ab".upper())
    print("yes" if n > 2 else "no", "big" if n > 4 else f"small {n}")
    print(*[n, n + 1], sep=",", end="!\n")
    print("two\nlines", n)


def positions(n):
    for i in range(2):
        if n > 2:
            print("in a branch", i)
        elif n > 1:
            print("in another", i)
    while n > 3:
        n -= 1
        print("in a loop", n)
    squares = [print(f"in a comprehension {i}", n) or i * n for i in range(2)]
    nothing = print("a value", n)
    if n > 1 or print("not more than one", n):
        n += 1
    show = lambda value: print("in a lambda", value)  # noqa: E731
    show(n)
    print("none", nothing)
    inner(n)
    return sum(squares) + calls_helper(n)


def inner(n):
    def shown(m):
        print("nested", m)
        return m

    return shown(n) + shown(n + 1)


def objects(n):
    tracker = Tracker(n)
    while tracker.value < 6:
        tracker.add(2)
    print(tracker, {"n": None}, tracker.value)
    name = ["zero", "one", "many"][min(n, 2)]
    print("name", name)
    return tracker.value


def failing(n):
    try:
        print("tries", n)
        if n > 2:
            raise ValueError(f"{n}")
        print("went well")
    except ValueError:
        print("caught", n)
    finally:
        print("at last")
    return n


def recursive(n):
    if n <= 0:
        print("leaf")
        return 1
    print("down", n)
    found = recursive(n - 1) + recursive(n - 3)
    print("up", n, found)
    return found


def choices(n, verbose=True):
    """Statements of which only what they do counts."""
    verbose and print("verbose", n)
    n > 1 and n < 4 and print("some", n)
    n == 0 or print("not zero", n)
    print("many", n) if n > 3 else None
    inner(n) if n > 4 else print("few")
    return n


def containers(n):
    """Whose length differs between lanes: as Python has them."""
    stack, queue = [n], deque()
    while stack:
        top = stack.pop()
        print("stack", stack, top, f"{stack}", *stack)
        if top > 1:
            stack.append(top - 1)
        if top > 2:
            stack.append(top - 2)
        queue.append((top, n > 3))
        if len(queue) > 2:
            queue.popleft()
    print(len(queue), queue[0][0])
    best = None
    if n > 2:
        best = n
    print("best", best)
    return len(queue)


class Perhaps:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"Perhaps({self.value})"


def what_stands_for_values_of_python(n):
    kept = range(1, n)
    print(kept, bin(n), Perhaps(None if n < 2 else n), [Perhaps("a" if n < 3 else "b")], {"b": kept, "a": None})
    return n


@pytest.mark.parametrize(
    "function", [texts, positions, objects, failing, recursive, choices, what_stands_for_values_of_python]
)
def test_lanes_print_what_their_examples_do(function):
    assert_alike(function, NUMBERS)


def test_containers_are_as_python_has_them():
    """Whose numbers are Python's here, where a list would show that they are arrays."""
    found = printed_by(lambda: hb.batch(containers)(NUMBERS), 6)
    for n, lines in enumerate(found):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            containers(n)
        assert lines == text.getvalue().splitlines()


def test_numbers_are_those_of_the_program():
    """Of its dtypes, and a Python number with the digits that were written."""

    @hb.batch
    def show(x, small, flag, z, key):
        third = 0.1
        while third < x:
            third = third + 0.1
        print(x / 3, small, flag, z, 0.1, third, (x, small), [third])
        print(jnp.array([x, x]), jax.random.key_data(key), small + 1)

    x, z = jnp.float32([0.05, 1]), jnp.complex64([1 + 2j, 3j])
    small, flag = jnp.array([-3, 7], jnp.int8), jnp.array([True, False])
    keys = jax.random.split(jax.random.key(0), 2)
    first, second = printed_by(lambda: show(x, small, flag, z, keys), 2)
    assert first[0] == "0.016666668 -3 True (1+2j) 0.1 0.1 (0.05, -3) [0.1]"
    assert second[0] == "0.33333334 7 False 3j 0.1 1.0000001 (1.0, 7) [1.0000001]"
    assert first[1] == f"[0.05 0.05] {np.asarray(jax.random.key_data(keys[0]))} -2"


def test_numbers_of_64_bits():
    with jax.enable_x64(True):
        assert_alike(lambda n, x: print(n, x / 3, f"{n * 2}"), np.array([1 << 40, -5]), np.array([0.1, 1e300]))


def test_to_other_files():
    other = io.StringIO()

    def show(n):
        print("err", n, file=sys.stderr)
        print("here", n, flush=True)
        print("there", n, file=other, end="")
        print("", n, file=other)

    with contextlib.redirect_stderr(io.StringIO()) as errors:
        assert printed_by(lambda: hb.batch(show)(NUMBERS[:2]), 2) == [["here 0"], ["here 1"]]
    assert errors.getvalue() == "lane 0: err 0\nlane 1: err 1\n"
    assert other.getvalue() == "lane 0: there 0 0\nlane 1: there 1 1\n"


def test_lines_that_are_not_over_are_ended():
    @hb.batch
    def show(n):
        for i in range(40):
            print(i, end=" ")
        print(end="" if n else "x")

    numbers = " ".join(map(str, range(40)))
    assert printed_by(lambda: show(NUMBERS[:2]), 2) == [[f"{numbers} x"], [f"{numbers} "]]


def test_what_is_decided_when_the_program_is_built():
    """What is never reached is not there; a text without a value is printed by each lane that is."""

    def step(n, verbose=False):
        if verbose:
            print("verbose", n)
        while n > 2:
            n -= 1
        return n

    quiet, loud = hb.batch(step, static_argnames="verbose"), hb.batch(step, static_argnames="verbose")
    assert printed_by(lambda: quiet(NUMBERS), 6) == [[]] * 6
    assert not quiet.trace(NUMBERS).program.effects
    assert printed_by(lambda: loud(NUMBERS, verbose=True), 6) == [[f"verbose {n}"] for n in NUMBERS]


# JAX's own


def test_functions_of_jax():
    seen = []

    def note(n, *, word, more=None):
        seen.append((int(n), word, more and more["x"].shape))

    @hb.batch
    def show(n, x):
        for i in range(n):
            jax.debug.print("{i} of {} {word}", n, i=i, word="w")
        jax.debug.callback(note, n, word="first")
        jax.debug.callback(note, n, word="second", more={"x": x}, ordered=True)
        jax.jit(lambda m: jax.debug.print("jitted {m}", m=m))(n)
        return n

    x = jnp.zeros((6, 2))
    assert printed_by(lambda: show(NUMBERS, x), 6) == [
        [*(f"{i} of {n} w" for i in range(n)), f"jitted {n}"] for n in range(6)
    ]
    assert sorted(seen) == sorted(e for n in range(6) for e in [(n, "first", None), (n, "second", (2,))])
    for n in range(6):
        assert [word for m, word, _ in seen if m == n] == ["first", "second"]


# How it is run


def talkative(n, x):
    """More entries than a log has room for, from a loop and a recursion, of entries of different sizes."""
    for i in range(3 * n):
        print(i, x[i % 2])
        if i % 4 == n % 4:
            print("whole", x)
    return recursive(n)


COLUMNS = NUMBERS, np.arange(12, dtype=np.float32).reshape(6, 2)


@pytest.mark.parametrize(
    ("form", "how"),
    [
        pytest.param("case", {}, marks=pytest.mark.slow),
        pytest.param("chain", {"lanes": 2}, marks=pytest.mark.slow),
        pytest.param("guarded", {"threads": 2}, marks=pytest.mark.slow),
        ("sweep", {"threads": 2, "lanes": 2}),
    ],
)
def test_full_logs(form, how, monkeypatch):
    """The host reads them, and lanes go on: nothing is lost, and nothing said twice."""
    monkeypatch.setattr(layout, "DRAINED_ENTRIES", 2)
    assert_alike(talkative, *COLUMNS, dispatch=form, max_stack_depth=1, **how)


@pytest.mark.parametrize("how", [pytest.param({}, marks=pytest.mark.slow), {"lanes": 3}], ids=str)
def test_in_many_stretches(how, monkeypatch):
    monkeypatch.setattr(Pace, "guessed", classmethod(lambda cls, _: cls(3)))
    monkeypatch.setattr(Pace, "note", lambda *_: None)
    assert_alike(talkative, *COLUMNS, **how)


@pytest.mark.parametrize("how", [{}, {"lanes": 16}], ids=str)
def test_few_lanes_at_the_end(how, monkeypatch):
    widths = []
    run = tail.Tail.__call__
    monkeypatch.setattr(tail.Tail, "__call__", lambda self, *a: widths.append(self.width) or run(self, *a))
    monkeypatch.setattr("hlobatch.runtime.course.WORTH_SECONDS", 0.0)
    monkeypatch.setattr("hlobatch.runtime.pace.MOST_TURNS", 16)
    monkeypatch.setattr(layout, "DRAINED_WORDS", 5_000)
    monkeypatch.setattr(layout, "DRAINED_ENTRIES", 1_000)
    numbers = np.array([1, 300, 2, *[1] * 14], np.int32)

    def counting(n):
        while n > 0:
            print("n", n)
            n -= 1
        return n

    batched = hb.batch(counting, **how)
    for _ in range(3):
        assert printed_by(lambda: batched(numbers), 17) == expected(counting, numbers)
    assert widths


def test_a_state_that_is_large():
    """Is not packed into few arrays."""

    def show(n):
        print(n)
        return jnp.zeros(100) + n

    numbers = np.arange(3000, dtype=np.int32)
    assert printed_by(lambda: hb.batch(show)(numbers), 3000) == [[str(n)] for n in numbers]


def test_with_stats_and_stages():
    batched = hb.batch(recursive)
    assert printed_by(lambda: batched.with_stats(NUMBERS)[0], 6) == expected(recursive, NUMBERS)
    compiled = batched.trace(NUMBERS).lower().compile()
    assert printed_by(lambda: compiled(NUMBERS), 6) == expected(recursive, NUMBERS)


def test_an_empty_batch_prints_nothing():
    assert printed_by(lambda: hb.batch(recursive)(NUMBERS[:0]), 0) == []


@pytest.mark.parametrize(
    "around",
    [
        lambda f: jax.jit(f),
        lambda f: lambda x: jax.lax.scan(lambda c, _: (c, f(x)), 0, None, length=1)[1],
        lambda f: lambda x: jax.vmap(f)(x.reshape(2, 3)),
        lambda f: jax.jit(lambda x: jax.vmap(f)(x.reshape(2, 3))),
        lambda f: jax.jit(lambda x: (f(x), x)[1]),
    ],
    ids=["jit", "scan", "vmap", "jit(vmap)", "unused result"],
)
def test_inside_other_computations(around):
    batched = hb.batch(recursive)
    assert printed_by(lambda: around(batched)(jnp.asarray(NUMBERS)), 6) == expected(recursive, NUMBERS)


@pytest.mark.parametrize("lanes", [None, 2])
def test_what_is_lost_inside_jit_is_said(lanes, monkeypatch):
    monkeypatch.setattr(layout, "KEPT_ENTRIES", 20)

    @functools.partial(hb.batch, lanes=lanes)
    def count(n):
        for i in range(n):
            print(i)

    lines = printed_by(lambda: jax.jit(count)(jnp.array([5, 50])), 2)
    assert lines[0] == [str(i) for i in range(5)]
    *kept, last = lines[1]
    assert kept == [str(i) for i in range(len(kept))]
    assert last.startswith(f"… ({50 - len(kept)} more like these were lost: inside jax.jit")
    assert len(kept) == 20


# Runs that do not end well


@hb.batch
def fails(n):
    print("before", n)
    if n > 3:
        raise ValueError(f"bad {n}")
    print("after", n)
    return n


@pytest.mark.parametrize("around", [lambda f: f, jax.jit], ids=["by itself", "jit"])
def test_lanes_that_raise_have_printed_before(around):
    run = around(fails)

    def caught():
        with pytest.raises(Exception, match="bad 4"):
            jax.block_until_ready(run(jnp.asarray(NUMBERS)))

    assert printed_by(caught, 6) == [[f"before {n}", f"after {n}"] if n < 4 else [f"before {n}"] for n in range(6)]


@hb.batch(max_steps=50)
def steps_out(n):
    while n != 3:
        print("at", n)
        n += 1
    return n


def test_inputs_that_use_up_their_steps():
    def caught():
        with pytest.raises(hb.StepLimitError):
            steps_out(jnp.array([0, 5]))

    lines = printed_by(caught, 2)
    assert lines[0] == ["at 0", "at 1", "at 2"]
    assert lines[1][:30] == [f"at {n}" for n in range(5, 35)]


@pytest.mark.parametrize("lanes", [pytest.param(None, marks=pytest.mark.slow), 2])
def test_stacks_that_cannot_grow(lanes, monkeypatch):
    """Lanes that wait for the host go on where those that want a larger stack are stopped."""
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 4)
    monkeypatch.setattr(layout, "DRAINED_ENTRIES", 2)

    @hb.batch(lanes=lanes, max_stack_depth=2)
    def deep(n):
        print("down", n)
        if n <= 0:
            for i in range(9):
                print(i)
            return 0
        return deep(n - 1) * 2 + 1

    errors = []

    def caught():
        with pytest.raises(hb.StackOverflowError) as caught:
            deep(jnp.array([0, 9, 3, 20, 1]))
        errors.append(caught.value)

    lines = printed_by(caught, 5)
    assert errors[0].lanes == (1, 3)
    assert np.asarray(errors[0].outputs)[[0, 2, 4]].tolist() == [0, 7, 1]
    whole = [[f"down {m}" for m in range(n, -1, -1)] + [str(i) for i in range(9)] for n in (0, 3, 1)]
    assert [lines[0], lines[2], lines[4]] == whole
    assert lines[1][:4] == [f"down {m}" for m in (9, 8, 7, 6)]


def test_prints_of_an_endless_loop_are_seen(monkeypatch):
    """After each stretch, before the user interrupts it."""

    @hb.batch
    def endless(n):
        turn = 0
        while n >= 0:
            turn += 1
            if turn % 1000 == 0:
                print("turn", turn)
        return turn

    seen = io.StringIO()

    def stop(self, *_):
        if "turn 3000" in seen.getvalue():
            raise KeyboardInterrupt

    monkeypatch.setattr(Course, "note", stop)
    with contextlib.redirect_stdout(seen), pytest.raises(hb.Interrupted):
        endless(jnp.array([1, -1]))
    assert seen.getvalue().startswith("lane 0: turn 1000\nlane 0: turn 2000\nlane 0: turn 3000\n")


def test_what_the_users_function_raises_is_raised():
    def refuse(n):
        raise LookupError(f"no {n}")

    @hb.batch
    def show(n):
        jax.debug.callback(refuse, n)
        return n

    with pytest.raises(LookupError, match="no 0"):
        show(NUMBERS)


def test_nan_is_looked_for_without_printing_again():
    @hb.batch
    def show(x):
        print("x", x)
        return jnp.log(x)

    def caught():
        with jax.debug_nans(True), pytest.raises(FloatingPointError, match=r"jnp\.log"):
            show(jnp.array([1.0, -1.0]))

    assert printed_by(caught, 2) == [["x 1.0"], ["x -1.0"]]


# What is refused


def test_files_and_modules_have_no_python():
    batched = hb.batch(recursive)
    with pytest.raises(hb.ArtifactError, match=r"has Python do something") as caught:
        hb.export(batched, NUMBERS)
    assert caught.value.location.file == __file__
    with pytest.raises(hb.HloBatchError, match="has Python do something"):
        jax.export.export(jax.jit(batched))(NUMBERS)
    with pytest.raises(hb.HloBatchError, match="has Python do something"):
        from_program(batched.trace(NUMBERS).program)
