"""One small program for each kind of argument, result and happening, with the values that Python has for each lane.

``PROGRAMS`` has them by name. ``test_ways_of_running.py`` runs each in every way. ``Program.judge`` compares what a
batch gives, or the error it raises, with the plain Python function, lane by lane.
"""

import collections
import contextlib
import functools
import inspect
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb

LANES = (0, 1, 2, 3)
"""All lanes of each program."""
COUNTS = (3, 0, 5, 1)


@dataclass(frozen=True, eq=False)
class Program:
    """A program with the arguments of four lanes.

    Attributes:
        function: The function of one example.
        lanes: The arguments of each lane.
        options: Options of ``hb.batch``.
        shared: Positions of arguments that all lanes share.
        axes: By position, the batch axis of an argument, if it is not the first.
        ragged: Positions of arguments that are containers of unequal lengths, or texts.
        limited: Lanes that a limit stops which Python does not have.
    """

    function: Callable[..., Any]
    lanes: Sequence[tuple[Any, ...]]
    options: dict[str, Any] = field(default_factory=dict)
    shared: tuple[int, ...] = ()
    axes: dict[int, int] = field(default_factory=dict)
    ragged: tuple[int, ...] = ()
    limited: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__

    @functools.cached_property
    def names(self) -> list[str]:
        """The parameters, by position."""
        return list(inspect.signature(self.function).parameters)

    @property
    def in_axes(self) -> Any:
        places = range(len(self.lanes[0]))
        return (
            tuple(None if i in self.shared else self.axes.get(i, 0) for i in places) if self.shared or self.axes else 0
        )

    @property
    def all_options(self) -> dict[str, Any]:
        return {"in_axes": self.in_axes, **self.options}

    def batched(self, **options: Any) -> Any:
        return hb.batch(self.function, **{**self.all_options, **options})

    def arguments(self, index: Sequence[int] = LANES) -> tuple[Any, ...]:
        """The arguments of a batch of these lanes."""
        return tuple(self._argument(i, [self.lanes[lane][i] for lane in index]) for i in range(len(self.lanes[0])))

    def _argument(self, place: int, values: list[Any]) -> Any:
        some = self.lanes[0][place]
        if place in self.shared:
            return some
        if place in self.ragged:  # with the room that the batch of all lanes has
            return hb.Ragged.of([*values, *(lane[place] for lane in self.lanes)])[: len(values)]
        axis = self.axes.get(place, 0)
        if not values:
            return jax.tree.map(lambda leaf: jnp.stack([leaf], axis).take(np.zeros(0, int), axis), some)
        return jax.tree.map(lambda *leaves: jnp.stack(leaves, axis), *values)

    @functools.cached_property
    def expected(self) -> list[Any]:
        """For each lane the result of the plain function, or the exception that it raises."""
        return [self._plain(lane) for lane in LANES]

    def _plain(self, lane: int) -> Any:
        if lane in self.limited:
            return hb.HloBatchError("this lane is stopped")
        own = [_as_python(x) if i not in self.ragged else copied(x) for i, x in enumerate(self.lanes[lane])]
        with hb.disable_batching(), contextlib.redirect_stdout(io.StringIO()):
            try:
                return self.function(*own)
            except Exception as error:  # noqa: BLE001  # what the program raises is its outcome
                return error

    def judge(self, index: Sequence[int], run: Callable[[], Any]) -> None:
        """Compare the result of a run of these lanes, or its error, with Python's."""
        wrong = {place: self.expected[i] for place, i in enumerate(index) if isinstance(self.expected[i], Exception)}
        try:
            result = run()
            jax.block_until_ready(result)
            jax.effects_barrier()
        except hb.LaneError as error:
            _check_error(error, wrong, len(index))
            result = error.outputs
        except jax.errors.JaxRuntimeError as error:
            _check_text(str(error), wrong)
            return
        else:
            assert not wrong, result
        for place, i in enumerate(index):
            if place not in wrong:
                assert plain(lane_of(result, place)) == plain(self.expected[i]), (place, result, self.expected[i])


def _check_error(error: hb.LaneError, wrong: dict[int, Exception], lanes: int) -> None:
    """Compare an error with the exceptions of its lanes; of rows that ``jax.vmap`` maps over, each has all lanes."""
    assert wrong, error
    assert {lane % lanes for lane in error.lanes} == set(wrong), error
    for lane, exception in (getattr(error, "errors", None) or {}).items():
        expected = wrong[lane % lanes]
        if not isinstance(expected, hb.HloBatchError):
            assert isinstance(exception, type(expected))
            assert str(exception) == str(expected)


def _check_text(text: str, wrong: dict[int, Exception]) -> None:
    """Check that the text of an error from inside ``jax.jit`` names an exception of a lane."""
    assert any(type(one).__name__ in text or isinstance(one, hb.HloBatchError) for one in wrong.values()), text


PROGRAMS: dict[str, Program] = {}


def program(lanes: Sequence[tuple[Any, ...]], **how: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: the function becomes one of ``PROGRAMS``."""

    def add(function: Callable[..., Any]) -> Any:
        PROGRAMS[function.__name__] = Program(function, lanes, **how)
        return function

    return add


def copied(container: Any) -> Any:
    return container if isinstance(container, str) else container.copy()


def is_key(x: Any) -> bool:
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _as_python(value: Any) -> Any:
    """An argument of a lane: Python's numbers where it has some, else JAX's arrays."""

    def converted(leaf: Any) -> Any:
        if is_key(leaf):
            return leaf
        return leaf.item() if leaf.dtype in (np.int32, np.bool_) and not leaf.ndim else jnp.asarray(leaf)

    return jax.tree.map(converted, value)


def lane_of(value: Any, lane: int) -> Any:
    """What a result has for one lane."""
    if isinstance(value, str):
        return value
    if isinstance(value, hb.Ragged | jax.Array | np.ndarray):
        return value[lane]
    if isinstance(value, Account):
        return Account(lane_of(value.balance, lane), lane_of(value.steps, lane))
    if isinstance(value, dict):
        return {key: lane_of(part, lane) for key, part in value.items()}
    return jax.tree.map(lambda part: lane_of(part, lane), value, is_leaf=lambda part: part is not value)


def plain(value: Any) -> Any:
    """A value in a form that can be compared: numbers rounded to what all executors agree on, dicts in their order."""
    match value:
        case Account():
            return ["Account", plain(value.balance), plain(value.steps)]
        case dict():
            return [(plain(key), plain(part)) for key, part in value.items()]
        case set():
            return sorted(map(plain, value))
        case str() | None:
            return value
        case list() | tuple() | collections.deque():
            return [type(value).__name__, *map(plain, value)]
    if is_key(value):
        return np.asarray(jax.random.key_data(value)).tolist()
    if not isinstance(value, int | float | complex | np.ndarray | np.generic | jax.Array):
        return [type(value).__name__, *map(plain, jax.tree.leaves(value))]
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        return array.astype(np.int64).tolist()
    if not array.size:
        return array.shape
    return [f"{x:.3g}" for x in array.astype(np.complex64).ravel()]


i32, f32 = np.int32, np.float32
counts = [(i32(n),) for n in COUNTS]


class Pair(NamedTuple):
    a: Any
    b: Any


@jax.tree_util.register_dataclass
@dataclass
class Registered:
    x: Any
    n: Any


class Account:
    def __init__(self, balance, steps):
        self.balance, self.steps = balance, steps

    def deposit(self, x):
        self.balance += x
        self.steps += 1


class InsufficientError(Exception):
    pass


@program(counts)
def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@program([(np.asarray(n, jnp.bfloat16), np.uint8(n), np.complex64(n), np.bool_(n)) for n in COUNTS])
def dtypes(x, k, z, flag):
    while k > 0:
        x, z, flag, k = x + x, z * 1j, not flag, k - 1
    return x, k, z, flag


@program([(key, i32(n)) for key, n in zip(jax.random.split(jax.random.key(1), 4), COUNTS, strict=True)])
def keys(key, n):
    total = 0.0
    while n > 0:
        key, own = jax.random.split(key)
        total, n = total + jax.random.uniform(own), n - 1
    return total, key


@program([(np.zeros(0, f32), i32(n)) for n in COUNTS])
def no_elements(x, n):
    total = x.sum()
    while n > 0:
        total, n = total + 1, n - 1
    return x, total


@program([([f32(n), f32(2)], {"n": i32(n), "pair": Pair(f32(1), None)}) for n in COUNTS])
def pytrees(items, rest):
    n = rest["n"]
    while n > 0:
        items[0], n = items[0] + items[1], n - 1
    return Pair(items, (rest["pair"], None))


@program([(Registered(f32(n), i32(n)),) for n in COUNTS])
def registered(r):
    while r.n > 0:
        r.x, r.n = r.x * 2, r.n - 1
    return r


@program(counts)
def objects(n):
    account = Account(0, 0)
    while account.steps < n:
        account.deposit(n)
    return account


@program(counts)
def dicts_in_order(n):
    total = 0
    for i in range(n):
        total += i
    return {"total": total, "n": n, "name": "sum"}


@program(counts)
def lists(n):
    rows = []
    for i in range(n):
        rows.append([i] * i)
        rows[-1].append(n)
    return rows


@program(counts)
def tables(n):
    seen, often = set(), {}
    for i in range(n):
        seen.add(i % 3)
        often[i % 2] = often.get(i % 2, 0) + 1
    return seen, often


@program(counts)
def texts(n):
    text = ""
    for i in range(n):
        text += str(i)
    return text, "odd" if n % 2 else "even"


@program([(list(range(n)), "ab" * n, {i: 2 * i for i in range(n + 1)}) for n in COUNTS], ragged=(0, 1, 2))
def ragged(items, text, table):
    total = 0
    for x in items:
        total += table[x]
    items.append(total)
    return items, text.upper()


TABLE, WEIGHTS = jnp.arange(10.0), {"w": [2, np.arange(4)]}


@program([(f32(n), i32(n)) for n in COUNTS])
def captured(x, n):
    while n > 0:
        x = x + TABLE[n] * WEIGHTS["w"][0] + WEIGHTS["w"][1][n % 4]
        n -= 1
    return x


@program(counts)
def raises_in_some(n):
    items = []
    for i in range(n):
        items.append(i)
        if i == 3:
            raise InsufficientError(i)
    return items


@program(counts)
def raises_in_all_and_returns_nothing(n):
    while n > 0:
        n -= 1
    assert n > 0, "never"


@program(counts)
def returns_nothing(n):
    while n > 0:
        n -= 1
    assert n == 0, n


@program([(i32(n),) for n in (3, 0, 300, 1)], options={"max_steps": 60}, limited=(2,))
def takes_steps(n):
    while n > 0:
        n -= 1
    return n


@program(counts, limited=(2,))
def has_little_room(n):
    items = hb.capacity([], 4)
    for i in range(n):
        items.append(i)
    return sum(items)


@program([(i32(n),) for n in (3, 0, 40, 1)], options={"checked": True}, limited=(2,))
def overflows(n):
    x = 1
    for _ in range(n):
        x = x * 3
    return x


@program([(i32(n),) for n in (3, 0, 20, 8)])
def calls_itself(n):
    return 0 if n == 0 else 1 + calls_itself(n - 1)


@program(counts)
def prints(n):
    while n > 0:
        print("n is", n)
        n -= 1
    return n


@program(counts)
def straight(n):
    return 2 * n + 1, 7, jnp.arange(3)


@program([(f32(n), f32([1, 2, 3])) for n in COUNTS], shared=(1,))
def shares(x, weights):
    for i in range(3):
        x = x * weights[i] + 1
    return x


@program([(f32([n, n + 1]), f32([1, 2])) for n in COUNTS], axes={0: 1, 1: -1})
def other_axes(x, y):
    k = 0
    while k < 3:
        x, k = x + y, k + 1
    return x


@program([(f32(n), f32(2), f32(1)) for n in COUNTS])
def any_number_of_arguments(*xs):
    total = 0.0
    for x in xs:
        while x > 0:
            total, x = total + x, x - 1
    return total


@program(counts)
def has_inner_functions(n):
    def squares(m):
        for i in range(m):
            yield i * i

    return max((k + 1 for k in range(n)), default=0) + sum(squares(n))


@program([(f32(n),) for n in COUNTS])
def inner_gradient(x):
    def power(y):
        for _ in range(3):
            y = y * y * 0.3
        return y

    return jax.grad(power)(x)
