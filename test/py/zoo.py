"""One zoo of single-example programs, shared by the tests of every stage.

``ZOO`` holds them with inputs to run them on and the precision to expect; between them they use everything the frontend
supports. A program is written as a user would write it. Seventeen rows of inputs are made for each, from its own seed;
a batch of another size takes them in turn, so that a small batch is the start of a large one.

``expected`` is the truth: the plain Python, example by example.
"""

import collections
import contextlib
import dataclasses
import enum
import functools
import heapq
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

import hlobatch as hb

ROWS = 17
"""Rows of inputs of each program; also the largest batch of the usual grid (0, 1, 2, 17)."""

PASSES = tuple(field.name for field in dataclasses.fields(hb.Optimizations))
"""The optimizations that may be switched off."""
UNOPTIMIZED = hb.Optimizations(**dict.fromkeys(PASSES, False))
LOOP = hb.Optimizations(kernels=False)
"""Options for tests of XLA's loop over all lanes, since kernels may behave differently."""

Column = Callable[[np.random.Generator], Any]
"""Makes the rows of one argument, or of one array in it."""


@dataclass(frozen=True, eq=False)
class ZooProgram:
    """A program with inputs.

    Attributes:
        name: The function's name.
        function: The batched function, with default options.
        columns: For each argument, a pytree of what makes its arrays.
        in_axes: As for ``hb.batch``: one entry per argument that is not static.
        static: Names of arguments that are Python objects.
        ulps: Steps of the result's precision that executors may differ by; 0 asks for equality.
        recursive: Whether it needs a stack: something in it calls itself other than in tail position.
        prints: Whether it prints.
    """

    name: str
    function: hb.BatchedFunction
    columns: tuple[Any, ...]
    in_axes: tuple[int | None, ...]
    static: tuple[str, ...] = ()
    ulps: int = 0
    recursive: bool = False
    prints: bool = False

    @functools.cached_property
    def rows(self) -> tuple[Any, ...]:
        """The arguments of ``ROWS`` examples."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return jax.tree.map(lambda column: column(rng) if callable(column) else column, self.columns)

    @property
    def _axes(self) -> list[int | None]:
        """For each argument its batch axis; None for those that have none."""
        axes = iter(self.in_axes)
        return [None if name in self.static else next(axes) for name in self._parameters]

    @property
    def _parameters(self) -> list[str]:
        code = self.function.function.__code__
        return list(code.co_varnames[: len(self.columns)])

    def inputs(self, batch: int) -> tuple[Any, ...]:
        """The arguments of a batch."""
        index = np.arange(batch) % ROWS

        def rows(axis: int, array: Any) -> Any:
            return array[(slice(None),) * axis + (index,)]

        pairs = zip(self._axes, self.rows, strict=True)
        return tuple(arg if axis is None else jax.tree.map(functools.partial(rows, axis), arg) for axis, arg in pairs)

    def batch_first(self, batch: int) -> list[Any]:
        """The arguments with axis 0 of every array the batch, as the eager executors take them."""
        pairs = list(zip(self._parameters, self._axes, self.inputs(batch), strict=True))
        moved = []
        for name, axis, arg in pairs:
            if name in self.static:
                moved.append(arg)
            elif axis is None:
                moved.append(jax.tree.map(lambda a: np.broadcast_to(a, (batch, *np.shape(a))), arg))
            else:
                moved.append(jax.tree.map(lambda a, axis=axis: jnp.moveaxis(a, axis, 0), arg) if axis else arg)
        return moved

    def example(self, row: int) -> list[Any]:
        """The arguments of one example, without a batch axis."""

        def pick(array: Any) -> Any:
            return array[row] if isinstance(array, jax.Array) else jnp.asarray(array[row])

        pairs = zip(self._parameters, self.batch_first(ROWS), strict=True)
        return [arg if name in self.static else jax.tree.map(pick, arg) for name, arg in pairs]

    def variant(self, **options: Any) -> hb.BatchedFunction:
        """The program under other options of ``hb.batch``."""
        return hb.batch(self.function.function, in_axes=self.in_axes, static_argnames=self.static, **options)

    @functools.cached_property
    def traced(self) -> hb.Traced:
        """The program for its inputs, with default options."""
        return self.function.trace(*self.inputs(ROWS))

    @property
    def expected(self) -> list[Any]:
        """The result of each example: the plain Python runs."""
        return self._expected[0]

    @property
    def printed(self) -> list[str]:
        """The output of each example."""
        return self._expected[1]

    @functools.cached_property
    def _expected(self) -> tuple[list[Any], list[str]]:
        results, texts = list[Any](), list[str]()
        for row in range(ROWS):
            with hb.disable_batching(), contextlib.redirect_stdout(io.StringIO()) as text:
                results.append(self.function(*self.example(row)))
            texts.append(text.getvalue())
        return results, texts


ZOO: list[ZooProgram] = []


def program(
    *columns: Any, in_axes: Any = None, static: tuple[str, ...] = (), **facts: Any
) -> Callable[[Callable[..., Any]], hb.BatchedFunction]:
    """Batch the decorated function and put it into the zoo."""
    axes = tuple(in_axes) if in_axes is not None else (0,) * (len(columns) - len(static))

    def decorate(function: Callable[..., Any]) -> hb.BatchedFunction:
        batched = hb.batch(function, in_axes=axes, static_argnames=static)
        ZOO.append(ZooProgram(function.__name__, batched, columns, axes, static, **facts))
        return batched

    return decorate


def integers(low: int, high: int, dtype: Any = np.int32, shape: tuple[int, ...] = ()) -> Column:
    """Integers from ``low`` up to, and without, ``high``."""
    return lambda rng: rng.integers(low, high, (ROWS, *shape), dtype)


def floats(low: float, high: float, dtype: Any = np.float32, shape: tuple[int, ...] = ()) -> Column:
    """Floats between two bounds."""
    return lambda rng: rng.uniform(low, high, (ROWS, *shape)).astype(dtype)


def given(*values: Any, dtype: Any = np.int32) -> Column:
    """The given values, repeated in turn."""
    return lambda _: np.resize(np.asarray(values, dtype), ROWS)


def bools() -> Column:
    return lambda rng: rng.integers(0, 2, ROWS) == 1


def keys() -> Column:
    """Typed PRNG keys."""
    return lambda rng: jax.random.split(jax.random.key(int(rng.integers(1 << 30))), ROWS)


@contextlib.contextmanager
def optimizing_little() -> Iterator[None]:
    """A context in which XLA optimizes little, at night as well, which halves the time of a test."""
    with _optimizing(little=True):
        yield


@contextlib.contextmanager
def optimizing_in_full() -> Iterator[None]:
    """A context in which XLA optimizes as for users, by day as well."""
    with _optimizing(little=False):
        yield


@contextlib.contextmanager
def _optimizing(*, little: bool) -> Iterator[None]:
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", little)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


# Recursion


@program(integers(0, 12), recursive=True)
def fibonacci(n: Array) -> Array:
    """Two calls in one expression; a value is saved across each."""
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


@program(integers(0, 60), integers(-5, 5))
def iota_sum(n: Array, total: Array) -> Array:
    """A recursive call in tail position: a loop."""
    if n <= 0:
        return total
    return iota_sum(n - 1, total + n)


@program(integers(0, 40))
def is_even(n: Array) -> Array:
    """Mutual recursion in tail position."""
    if n == 0:
        return True
    return is_odd(n - 1)


@hb.batch
def is_odd(n: Array) -> Array:
    if n == 0:
        return False
    return is_even(n - 1)


@program(integers(0, 14), recursive=True)
def hofstadter_female(n: Array) -> Array:
    """Mutual recursion, nested and not in tail position.

    Reference: Hofstadter, "Gödel, Escher, Bach", 1979, chapter 5.
    """
    if n == 0:
        return 1
    return n - hofstadter_male(hofstadter_female(n - 1))


@hb.batch
def hofstadter_male(n: Array) -> Array:
    if n == 0:
        return 0
    return n - hofstadter_female(hofstadter_male(n - 1))


@program(integers(0, 3), integers(0, 4), recursive=True)
def ackermann(m: Array, n: Array) -> Array:
    """A call as the argument of a call in tail position."""
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@program(integers(70, 110), recursive=True)
def mccarthy_91(n: Array) -> Array:
    return n - 10 if n > 100 else mccarthy_91(mccarthy_91(n + 11))


@program(integers(0, 6), integers(0, 5), integers(0, 4), recursive=True)
def tak(x: Array, y: Array, z: Array) -> Array:
    """Three calls as arguments of a fourth.

    Reference: Takeuchi's function, in McCarthy, "An interesting LISP function", 1979.
    """
    if y >= x:
        return z
    return tak(tak(x - 1, y, z), tak(y - 1, z, x), tak(z - 1, x, y))


@program(integers(1, 5000), integers(0, 5000))
def gcd(a: Array, b: Array) -> Array:
    return a if b == 0 else gcd(b, a % b)


@program(integers(0, 5), integers(0, 4), integers(1, 4), recursive=True)
def lattice_paths(rows: Array, columns: Array, weight: Array) -> Array:
    """Two call sites across which different variables live."""
    if rows == 0 or columns == 0:
        return weight
    scaled = weight * 3 - rows
    left = lattice_paths(rows - 1, columns, weight + 1)
    total = left * scaled
    right = lattice_paths(rows, columns - 1, total % 5)
    return total + right


@program(integers(1, 6), given(0), given(0), given(0), recursive=True)
def queens(size: Array, columns: Array, left: Array, right: Array) -> Array:
    """Counts the ways to place queens on the rest of a board: a recursive call in a loop, sets as bit masks."""
    everything = (1 << size) - 1
    if columns == everything:
        return 1
    count = 0
    free = everything & ~(columns | left | right)
    while free != 0:
        place = free & -free
        free ^= place
        count += queens(size, columns | place, ((left | place) << 1) & everything, (right | place) >> 1)
    return count


@program(floats(0.0, 1.0), floats(1.5, 4.0), recursive=True, ulps=16)
def simpson(low: Array, high: Array) -> Array:
    """Adaptive quadrature: floats across recursive calls."""
    return refine(low, high, simpson_rule(low, high), 1e-3)


def integrand(x: Array) -> Array:
    return jnp.exp(-x) * (2.0 + jnp.sin(3.0 * x))


def simpson_rule(low: Array, high: Array) -> Array:
    middle = 0.5 * (low + high)
    return (high - low) / 6.0 * (integrand(low) + 4.0 * integrand(middle) + integrand(high))


@hb.batch
def refine(low: Array, high: Array, whole: Array, tolerance: Array) -> Array:
    middle = 0.5 * (low + high)
    left, right = simpson_rule(low, middle), simpson_rule(middle, high)
    if abs(left + right - whole) <= tolerance:
        return left + right
    return refine(low, middle, left, tolerance / 2) + refine(middle, high, right, tolerance / 2)


@program(integers(-3, 4, shape=(3,)), integers(0, 5), recursive=True)
def vectors_on_the_stack(v: Array, depth: Array) -> Array:
    """Values with an event shape live across two recursive calls."""
    if depth <= 0:
        return v
    left = vectors_on_the_stack(v * 2 + 1, depth - 1)
    right = vectors_on_the_stack(left - v, depth - 2)
    return (left + right * v) % 1009


KD_POINTS = np.random.default_rng(0).integers(0, 100, (15, 2), np.int32)
KD_POINTS = KD_POINTS[np.argsort(KD_POINTS[:, 0], kind="stable")]


class Nearest(NamedTuple):
    index: Array
    distance: Array


@program(integers(0, 100, shape=(2,)), KD_POINTS, in_axes=(0, None), recursive=True)
def nearest_point(query: Array, points: Array) -> Nearest:
    """A search tree in an array that all lanes share, passed on through the recursion."""
    return search(0, 15, query, points, Nearest(-1, 1 << 20))


@hb.batch
def search(low: Array, high: Array, query: Array, points: Array, best: Nearest) -> Nearest:
    if low >= high:
        return best
    middle = (low + high) // 2
    apart = query - points[middle]
    distance = jnp.sum(apart * apart)
    if distance < best.distance:
        best = Nearest(middle, distance)
    before = apart[0] < 0
    near = search(low, middle, query, points, best) if before else search(middle + 1, high, query, points, best)
    if apart[0] * apart[0] >= near.distance:
        return near
    return search(middle + 1, high, query, points, near) if before else search(low, middle, query, points, near)


ITEMS = {"weights": np.asarray([3, 4, 5, 9, 4], np.int32), "values": np.asarray([3, 4, 4, 10, 4], np.int32)}


@program(given(0), integers(0, 20), ITEMS, in_axes=(0, 0, None), recursive=True)
def knapsack(item: Array, capacity: Array, items: dict[str, Array]) -> Array:
    """A shared dict of arrays, passed on as it is."""
    if item == items["weights"].shape[0]:
        return 0
    without = knapsack(item + 1, capacity, items)
    if items["weights"][item] > capacity:
        return without
    taken = items["values"][item] + knapsack(item + 1, capacity - items["weights"][item], items)
    return jnp.maximum(without, taken)


SAMPLE = np.asarray([2, 3, 5, 7, 11, 13], np.int32)


@program(integers(-3, 6), SAMPLE, integers(0, 4), in_axes=(0, None, 0), recursive=True)
def computed_once(x: Array, sample: Array, depth: Array) -> Array:
    """Values that are the same in every lane, used after branches, in a loop, and by another function."""
    total = jnp.sum(sample)
    largest = total - sample[0]
    if depth == 0:
        return x * total
    rest = computed_once(x + 1, sample, depth - 1)
    for _ in range(sample.shape[0] // 2):
        if rest > 1000:
            rest = rest - above_average(x, sample)
        rest = rest + largest
    return rest


@hb.batch
def above_average(x: Array, sample: Array) -> Array:
    average = jnp.sum(sample) // sample.shape[0]
    if x > 0:
        return jnp.sum(sample > average)
    return average


# Calls


@hb.batch
def half_up(x: Array) -> Array:
    return (x + 1) // 2


@hb.batch
def odd_square(x: Array) -> Array:
    if x % 2 == 0:
        return x
    return x * x


@program(integers(-20, 20))
def calls_in_one_expression(x: Array) -> Array:
    """Functions that do not recurse, called from several sites, one within the other."""
    return half_up(odd_square(x)) + half_up(x) * odd_square(half_up(x))


@hb.batch
def scaled(x: Array, factor: int = 3, *, offset: Any = 1) -> Array:
    return x * factor + offset


@program(integers(-9, 9), integers(-9, 9))
def keywords_and_defaults(x: Array, y: Array) -> Array:
    return scaled(x) + scaled(factor=2, x=y) - scaled(x, y, offset=x)


@hb.batch
def divide(a: Array, b: Array) -> tuple[Array, Array, None]:
    if b == 0:
        return 0, a, None
    return a // b, a % b, None


@hb.batch
def nothing(x: Array) -> None:
    if x > 0:
        return
    x = x + 1


@program(integers(-2, 3))
def no_result(x: Array) -> None:
    """A function without a result, and a call of one in tail position."""
    return nothing(x)


@program(integers(-2, 3))
def decided_return(x: Array) -> int:
    """A constant result, though the code has other ends."""
    for _ in range(2):
        return 81
    return half_up(x)


@program(integers(-30, 30), integers(0, 4))
def several_results(a: Array, b: Array) -> Any:
    """Results unpacked; None as a result, and inside one."""
    quotient, remainder, rest = divide(a, b)
    nothing(a)
    empty = nothing(quotient)
    return (quotient, rest), {"remainder": remainder, "empty": empty}


@program(integers(0, 10), integers(1, 4), "product", static=("mode",), recursive=True)
def static_argument(x: Array, n: Array, mode: str) -> Array:
    """A Python object, passed on through the recursion; it decides branches when the program is built."""
    if n == 0:
        return 1 if mode == "product" else 0
    rest = static_argument(x + 1, n - 1, mode)
    if mode == "product":
        return x * rest
    elif mode == "sum":
        return x + rest
    return x.no_such_method()  # never reached, so never traced


def make_walk(table: np.ndarray[Any, Any], stride: int) -> None:
    weights = jnp.asarray(table)

    @program(integers(0, 8), integers(0, 6), recursive=True)
    def closure(position: Array, turns: Array) -> Array:
        """Takes arrays and a number from the function around it, and calls itself by a name from there."""
        if turns == 0:
            return weights[position]
        visited = closure((position + stride) % table.shape[0], turns - 1)
        return visited * 2 + jnp.asarray(table)[position]


make_walk(np.asarray([5, 3, 8, 1, 9, 2, 7, 4], np.int32), 3)


@program(integers(0, 9), recursive=True)
def tail_call_of_another(n: Array) -> Array:
    """Ends in a call of a function that it is not recursive with."""
    if n % 3 == 0:
        return half_up(n)
    return fibonacci(n)


@program(integers(-10, 10), recursive=True)
def calls_in_both_arms(x: Array) -> Array:
    doubled = (odd_square(x) if x > 0 else half_up(-x)) * 2
    return fibonacci(doubled % 7) if x % 2 == 0 else iota_sum(x, doubled)


@program(integers(0, 12), integers(0, 3), recursive=True)
def call_after_or(n: Array, a: Array) -> Array:
    """``or`` and ``and`` give back the operand that decided; the last may be a call in tail position."""
    if n <= 0:
        return a
    inner = call_after_or(n - 2, a) and n
    return inner % 5 or call_after_or(n - 3, a + 1)


fuel = 3
"""Shadowed below."""


@program(integers(0, 20))
def shadowing(n: Array) -> Array:
    """Local variables with the names of a number, a batched function and a builtin of the module."""
    fuel = n + 1
    half_up = fuel * 2
    range = half_up - n  # noqa: A001
    return fuel + half_up * range


# Loops


@program(integers(1, 60))
def collatz(n: Array) -> Array:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@program(integers(1, 20), integers(0, 5))
def nested_loops(start: Array, count: Array) -> tuple[Array, Array]:
    """The longest Collatz sequence among some starts: a ``while`` in a ``for``."""
    longest, where = -1, start
    for offset in range(count):
        n = start + offset
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps = steps + 1
        if steps > longest:
            longest, where = steps, start + offset
    return longest, where


@program(integers(0, 40))
def early_return(target: Array) -> tuple[Array, Array]:
    """A return out of two loops at once."""
    for i in range(1, 6):
        for j in range(i, 7):
            if i * j == target:
                return i, j
            if i * j > target:
                break
    return -1, -1


@program(integers(0, 12), integers(2, 5))
def break_continue_else(n: Array, divisor: Array) -> tuple[Array, Array]:
    total = 0
    for i in range(n):
        if i % divisor == 1:
            continue
        if total > 20:
            total = -total
            break
        total += i
    else:
        total = total + 1000
    left = n
    while left > 0:
        left -= divisor
        if left == 1:
            continue
        if left == 4:
            break
        total += 1
    else:
        left = left - 100
    return total, left


@program(integers(-6, 6), integers(-6, 6))
def ranges(a: Array, b: Array) -> Array:
    """Ranges with runtime bounds and negative steps, whose bounds the body may overwrite."""
    total = 0
    for i in range(a, b):
        total = total * 3 + i
        b = b + 1
    for i in range(b, a, -2):
        total = total * 2 + i
    for i in range(3, -4, -3):
        total = total - i * a
    for _ in range(a):
        total ^= 5
    return total


@program(integers(0, 6))
def loop_variable_afterwards(n: Array) -> tuple[Array, Array]:
    i = -1
    last = 100
    for i in range(n):
        last = i * i
        i = i + 10
    return i, last


@program(integers(1, 50), integers(2, 7))
def while_true(n: Array, step: Array) -> Array:
    turns = 0
    while True:
        n = n - step
        turns += 1
        if n < 0:
            break
        hb.sync()
    return turns * 100 + n


@program(given(0.25, 2.0, 3.0, 10.0, 144.0, 5e3, 1e-3, dtype=np.float32), ulps=4)
def newton_sqrt(x: Array) -> Array:
    guess = jnp.maximum(x, 1.0)
    while abs(guess * guess - x) > 1e-5 * x:
        guess = 0.5 * (guess + x / guess)
    return guess


@program(given(0.25 + 0.6j, -0.8 + 0.2j, 0.1 - 0.1j, 1 + 1j, -1.9 + 0.1j, 0.4 + 0.4j, -0.7 - 0.4j, dtype=np.complex64))
def mandelbrot(c: Array) -> Array:
    z = c
    for turn in range(20):
        if z.real * z.real + z.imag * z.imag > 4.0:
            return turn
        z = z * z + c
    return -1


@program(given(0.25 + 0.6j, -0.8 + 0.2j, 0.1 - 0.1j, 1 + 1j, -1.9 + 0.1j, 0.4 + 0.4j, -0.7 - 0.4j, dtype=np.complex64))
def escape_time(c: Array) -> Array:
    """The most natural way to write it, with a complex absolute value in the test."""
    z, turns = 0j, 0
    while abs(z) <= 2 and turns < 30:
        z = z * z + c
        turns += 1
    return turns


@program(given(1 + 2j, 3 - 1j, -2 + 1j, 1j, 2 + 0.5j, -0.5 - 0.5j, dtype=np.complex64), ulps=64)
def newton_fractal(z: Array) -> Any:
    """A root of z**3 - 1, and which one: quotients, selects and tables of complex numbers."""
    turns = 0
    while abs(z**3 - 1) > 1e-5 and turns < 40:
        z = z - (z**3 - 1) / (3 * z * z)
        turns += 1
    roots = jnp.exp(2j * jnp.pi / 3 * jnp.arange(3)).astype(jnp.complex64)
    nearest = jnp.argmin(abs(roots - z))
    return roots[nearest], nearest


@program(lambda rng: rng.integers(-3, 4, (ROWS, 4)).astype(np.float32), integers(1, 7), ulps=2048)
def durand_kerner(coefficients: Array, turns: Array) -> Any:
    """All roots of a polynomial at once: an array of complex numbers that changes by index, sums and products of it."""
    roots = (0.4 + 0.9j) ** jnp.arange(4)
    for turn in range(turns):
        k = turn % 4
        value = 1.0 + 0j
        for coefficient in coefficients:
            value = value * roots[k] + coefficient
        others = jnp.where(jnp.arange(4) == k, 1, roots[k] - roots)
        roots = roots.at[k].add(-value / jnp.prod(others))
        if abs(value) < 1e-3:
            break
    return jnp.sum(roots).real, jnp.abs(roots).max(), roots.real, roots.imag


SORTED = np.asarray([-7, -3, 0, 2, 2, 5, 11, 40], np.int32)


@program(SORTED, integers(-9, 42), in_axes=(None, 0))
def binary_search(values: Array, wanted: Array) -> Array:
    """A shared argument before one with a batch."""
    low, high = 0, values.shape[0]
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if values[middle] < wanted else (low, middle)
    return low


WEIGHTS = np.linspace(0.1, 1, 16, dtype=np.float32).reshape(4, 4)


@jax.jit
def _mixed(x: Array, weights: Array) -> Array:
    """Shared and unshared values in one function that JAX calls."""
    noise = 0.01 * jax.random.normal(jax.random.key(0), (8, 4))
    return jnp.tanh(x @ jax.nn.softmax(weights.T @ weights)) + (noise.T @ noise) @ x


@program(floats(0.1, 1, shape=(4,)), WEIGHTS, integers(0, 4), in_axes=(0, None, 0), ulps=64, recursive=True)
def shared_in_part(x: Array, weights: Array, n: Array) -> Array:
    """Statements a part of which is the same in every lane, some of it expensive."""
    if n <= 0:
        doubled = weights * 2.0
        return x @ (doubled.T * 0.5) @ weights
    return shared_in_part(_mixed(x, weights) @ weights, weights, n - 1) + x @ (weights.T @ weights)


@program(integers(0, 5), integers(1, 6), recursive=True)
def only_passed_on(n: Array, a: Array) -> Array:
    """A parameter that is only passed on, saved across a call that changes it."""
    if n <= 0:
        return n + 1
    left, right = only_passed_on(n - 1, n), only_passed_on(n - 1, a)
    return left + right


@program(integers(0, 6), integers(1, 6), integers(-3, 4), recursive=True)
def unchanged_argument(n: Array, a: Array, b: Array) -> Array:
    """A parameter passed on unchanged, between calls that change it, and read after them."""
    if n <= 0:
        return a - b
    left = unchanged_argument(n - 1, a + 1, b)
    middle = unchanged_argument(n - 1, a, b - 1)
    right = unchanged_argument(n - 2, b, a)
    return left + 2 * middle + 3 * right + a * b


BYTECODE = np.asarray([[0, 1], [1, 3], [3, 5], [2, -1], [4, 0], [5, 0]], np.int32)


@program(BYTECODE, integers(0, 12), in_axes=(None, 0))
def bytecode(code: Array, x: Array) -> Array:
    """A small interpreter; which branch a lane takes depends on its program counter."""
    pc, accumulator = 0, 0
    while True:
        operation, operand = code[pc, 0], code[pc, 1]
        pc = pc + 1
        if operation == 0:
            accumulator = accumulator + operand
        elif operation == 1:
            accumulator = accumulator * operand
        elif operation == 2:
            x = x + operand
        elif operation == 3:
            if x <= 0:
                pc = operand
        elif operation == 4:
            pc = operand
        else:
            return accumulator


# Values


@program(integers(-3, 4), integers(-3, 4), integers(-3, 4))
def logic(a: Array, b: Array, c: Array) -> Any:
    """Conditions and their values, with short-circuit evaluation."""
    inside = -2 < a <= b < 3
    ratio = a // b if b != 0 and (a > 0 or not c == 1) else 99
    first = a or b or c
    last = a and b and c
    guarded = 0
    if not (a == 0 or c // a > 0):
        guarded = c // a
    return inside, ratio, first, last, guarded, not a, not inside


@program(integers(-9, 9), {"pair": (integers(-9, 9), integers(-9, 9)), "last": integers(-9, 9)})
def unpacking(a: Array, rest: dict[str, Any]) -> Array:
    (b, c), d = rest["pair"], rest["last"]
    if a > b:
        a, b = b, a
    [a, (c, d)] = b, (d, a)
    x = y = a - d
    x -= 2
    return a + 10 * b + 100 * c + 1000 * d + x * y


@program(integers(0, 9))
def rebinding(n: Array) -> Any:
    """One name for values of different shapes and types."""
    x = jnp.arange(4) * n
    squares = [x[i] * k for i, k in enumerate((1, 2, 3, 4))]
    x = x.sum() + sum(squares)
    total = 0.0
    if x > 20:
        x = x.astype(jnp.float32) / 2
        total = total + x
    x = (n, n + 1)
    total: Array = total + x[1]
    x = jax.tree.map(lambda leaf: leaf % 3, x)
    return x, total


class Particle(NamedTuple):
    position: Array
    velocity: Array
    tags: list[Array]


@program(
    Particle(integers(-5, 5, shape=(2,)), integers(-2, 3, shape=(2,)), [integers(0, 3), bools()]),
    {"left": given(0), "right": integers(4, 9)},
)
def pytrees(particle: Particle, walls: dict[str, Array]) -> Any:
    """A NamedTuple, a list and a dict, carried by a loop and given back."""
    bounces = {"left": 0, "right": 0}
    for _ in range(6):
        moved = particle.position + particle.velocity
        if moved[0] < walls["left"]:
            bounces = {**bounces, "left": bounces["left"] + 1}
            particle = particle._replace(velocity=-particle.velocity)
        elif moved[0] > walls["right"]:
            bounces = {**bounces, "right": bounces["right"] + 1}
            particle = Particle(particle.position, -particle.velocity, [particle.tags[0] + 1, ~particle.tags[1]])
        else:
            particle = particle._replace(position=moved)
    return [particle, bounces, ()]


@program(keys(), integers(0, 5), recursive=True)
def branching_process(key: Array, generations: Array) -> tuple[Array, Array]:
    """Typed PRNG keys across recursive calls, and as results."""
    if generations == 0:
        return 1, key
    key, here, there = jax.random.split(key, 3)
    children = jax.random.randint(here, (), 0, 3)
    total = 1
    for child in range(children):
        count, _ = branching_process(jax.random.fold_in(there, child), generations - 1)
        total += count
    return total, key


@program(keys(), ulps=16)
def random_walk(key: Array) -> tuple[Array, Array]:
    """A random walk with a number of draws that differs between lanes."""
    position, turns = 0.0, 0
    while abs(position) < 2.0:
        key, now = jax.random.split(key)
        position = position + jax.random.normal(now)
        turns += 1
    return position, turns


@program(bools(), bools(), integers(0, 7), recursive=True)
def booleans(a: Array, b: Array, depth: Array) -> Array:
    if depth == 0:
        return a ^ b
    return booleans(b, a and not b, depth - 1) or booleans(a | b, b, depth - 2 if depth > 1 else 0)


@program(integers(0, 256, np.uint8), integers(-128, 128, np.int8), integers(0, 1 << 32, np.uint32))
def small_integers(byte: Array, signed: Array, word: Array) -> Any:
    """Arithmetic that wraps; a range and a condition of a byte."""
    for i in range(byte % 6):
        signed = signed * 3 + 1
        word = word * 1664525 + 1013904223
        byte = byte + 77
        word = word ^ (word >> 13) if signed else word - i
    return byte, signed, word


@program(floats(1, 30, np.float16), floats(-30, 30, jnp.bfloat16), recursive=True)
def half_precision(x: Array, y: Array) -> Any:
    """Powers of two only: exact in any precision."""
    if x < 2:
        return x, y, 0
    left, right, depth = half_precision(x / 2, -y)
    if right > 0:
        right = right / 4
    return left * 2, right, depth + 1


@program(given(1 + 2j, 3 - 1j, -2 + 1j, 1j, 2 + 0j, dtype=np.complex64), integers(0, 8), recursive=True)
def complex_power(z: Array, n: Array) -> Array:
    """Repeated squaring of Gaussian integers, which is exact."""
    if n == 0:
        return 1
    half = complex_power(z, n // 2)
    return half * half * z if n % 2 == 1 else half * half


@program(floats(-1, 1, shape=(3, 2)), floats(-1, 1, shape=(2,)), integers(0, 4), recursive=True, ulps=16)
def linear_maps(matrix: Array, x: Array, depth: Array) -> Array:
    """Matrices and vectors across calls."""
    if depth == 0:
        return x
    y = matrix @ x
    deeper = linear_maps(matrix.at[0, 0].add(0.5), jnp.tanh(y[:2]) + 2.0, depth - 1)
    return deeper + jnp.abs(y[1:])


@program(lambda rng: rng.integers(-3, 4, (4, ROWS), np.int32), integers(-3, 4), in_axes=(1, 0))
def horner(coefficients: Array, x: Array) -> Array:
    """A batch along another axis."""
    value = 0
    for i in range(coefficients.shape[0]):
        value = value * x + coefficients[i]
    return value


@program(integers(0, 200), integers(1, 5))
def lax_loops_inside(n: Array, rounds: Array) -> Array:
    """JAX's own control flow in a helper; how often the inner loop turns depends on the lane."""
    total = 0
    for _ in range(rounds):
        n = integer_sqrt(n) + n // 2
        total = total * 7 + lax.cond(n % 2 == 0, successor, double, n)
    return total


@jax.jit
def integer_sqrt(n: Array) -> Array:
    return lax.while_loop(lambda r: (r + 1) * (r + 1) <= n, successor, jnp.zeros_like(n))


def successor(n: Array) -> Array:
    return n + 1


def double(n: Array) -> Array:
    return n * 2


@program(integers(-5, 5), floats(-2, 2), ulps=2)
def python_numbers(n: Array, x: Array) -> Any:
    """Python numbers take the type of what they meet; a default of None decides a branch."""
    total = 0
    power = 1
    if n > 0:
        total = x
        power = 2.5
    elif n < -2:
        power = n / 4
    return total, power, doubled_or(x), 2.5 if n > 1 else 1


@hb.batch
def doubled_or(x: Array, other: Array | None = None) -> Array:
    if other is None:
        return x * 2
    return x + other


@program(integers(0, 9))
def constant_results(n: Array) -> tuple[Array, int, bool, None]:
    """Results that are known when the program is built have a batch axis like all others."""
    return n, 7, not 7, None


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Account:
    balance: Array
    name: str = dataclasses.field(metadata={"static": True})


@program(integers(0, 50), integers(0, 5), recursive=True)
def dataclasses_too(deposit: Array, years: Array) -> Account:
    """A registered dataclass with a field that is a Python object."""
    if years == 0:
        return Account(deposit, "savings")
    before = dataclasses_too(deposit, years - 1)
    return Account(before.balance + before.balance // 10 + years, before.name)


@program(
    lambda rng: rng.integers(-8, 8, ROWS).astype(jnp.int4),
    floats(-4, 4, jnp.float8_e4m3fn),
    integers(0, 4),
    recursive=True,
)
def narrow_types(x: Array, y: Array, n: Array) -> tuple[Array, Array]:
    """Types that hardware has no arithmetic for are stored and passed on like others."""
    if n <= 0:
        return x, y
    inner_x, inner_y = narrow_types(x, y, n - 1)
    return (inner_x, y) if n % 2 == 0 else (x, inner_y)


@program(floats(-4, 4, jnp.float8_e4m3fn), floats(-4, 4, jnp.float8_e5m2), integers(0, 4))
def eight_bits(x: Array, y: Array, n: Array) -> tuple[Array, Array]:
    """Floats of 8 bits: each operation rounds, in every form."""
    total = jnp.zeros(3, x.dtype)
    for k in range(n):
        total = total.at[k % 3].set(jnp.maximum(total[k % 3], x) * 2)
        y = jnp.where(y < 0, -y, y)
    return total, y


def make_look_up(table: Array) -> None:
    @program(integers(0, 255), integers(0, 4), recursive=True)
    def look_up(row: Array, turns: Array) -> Array:
        """Values that depend on a captured array alone, which are worth computing once for all runs."""
        sums = jnp.cumsum(table, axis=0)
        turned = sums.T - 1
        if turns <= 0:
            return sums[row, 3]
        return turned[row, 5] + look_up((row + sums[5, row]) % 256, turns - 1)


make_look_up(jnp.arange(2**16, dtype=jnp.int32).reshape(256, 256) % 97)


@program(integers(0, 30))
def sieve(n: Array) -> tuple[Array, Array]:
    """A lane's own array: one element is changed at a time, and others are read."""
    crossed = jnp.zeros(30, bool)
    count = last = jnp.int32(0)
    i = 2
    while i < n:
        if not crossed[i]:
            count, last = count + 1, i
            j = i * i
            while j < n:
                crossed = crossed.at[j].set(True)
                j += i
        i += 1
    return count, last


@program(lambda rng: rng.integers(0, 99, (ROWS, 8)).astype(np.int32), integers(0, 8), recursive=True)
def quicksort(values: Array, end: Array) -> Array:
    """An array that is passed to calls, changed and returned."""
    return sorted_between(values, 0, end)


@hb.batch
def sorted_between(values: Array, begin: Array, end: Array) -> Array:
    if end - begin < 2:
        return values
    pivot, place, i = values[end - 1], begin, begin
    while i < end - 1:
        if values[i] < pivot:
            values = values.at[i].set(values[place]).at[place].set(values[i])
            place += 1
        i += 1
    values = values.at[end - 1].set(values[place]).at[place].set(pivot)
    values = sorted_between(values, begin, place)
    return sorted_between(values, place + 1, end)


@program(integers(0, 7), floats(-2, 2), ulps=4)
def updated(n: Array, x: Array) -> dict[str, Array]:
    """Every way to change a part of an array, at places that lanes share or do not, and past the end."""
    arrays = {name: jnp.linspace(-1.0, 1.0, 6) for name in ("sum", "less", "product", "high", "low")}
    rows, kept = jnp.zeros((4, 3)), jnp.zeros(6)
    bits, fixed, applied = jnp.zeros(300, jnp.uint8), jnp.ones(4), jnp.ones(6)
    places = jnp.stack([n, n + 2, n])
    while n > 0:
        arrays = {
            "sum": arrays["sum"].at[n].add(x),
            "less": arrays["less"].at[places].subtract(x),
            "product": arrays["product"].at[n - 3].multiply(x),
            "high": arrays["high"].at[n].max(x),
            "low": arrays["low"].at[places % 6].min(x),
        }
        rows = jax.lax.dynamic_update_slice(rows, jnp.stack([x, x])[None], (n - 2, n))
        rows = rows.at[n % 4].set(rows[0] + x).at[:, 1].add(1.0)
        kept = kept.at[n].set(x, mode="clip").at[n + 1].set(kept[n] - x, mode="drop")
        bits = bits.at[(n * 41).astype(jnp.uint8)].set(n.astype(jnp.uint8))
        fixed = fixed.at[2].set(x).at[0].add(x).at[jnp.array([1, 3])].set(x + 1)
        applied = applied.at[n].apply(jnp.negative)
        x, n = x * 0.5 - n, n - 1
    return {**arrays, "rows": rows, "kept": kept, "bits": bits, "fixed": fixed, "applied": applied}


@program(lambda rng: rng.integers(0, 99, (ROWS, 5)).astype(np.int32), integers(0, 6))
def exchanged(a: Array, n: Array) -> tuple[Array, Array, Array]:
    """Reads of arrays before their update give the old values."""
    b, total, seen = a[::-1] * 100, jnp.int32(0), jnp.zeros(3, jnp.int32)
    while n > 0:
        here, there = a[n % 5], b[(n + 2) % 5]
        a, b = a.at[n % 5].set(b[n % 5]), b.at[n % 5].set(a[n % 5])
        a = a.at[(n + 1) % 5].set(there).at[(n + 3) % 5].add(a[0])
        both = a[1] + b[1]
        b = b.at[1].set(here).at[n % 3].multiply(both % 7)
        total, seen = total + both + here, seen.at[n % 3].set(a[n % 5]).at[0].set(b[n % 5] + seen[2])
        n -= 1
    return a, b, total + seen[1]


@program(integers(0, 5), integers(0, 9))
def keys_in_an_array(n: Array, seed: Array) -> tuple[Array, Array]:
    """Random keys that are updated one by one."""
    keys = jax.random.split(jax.random.key(seed), 4)
    drawn = jnp.zeros(4, jnp.uint32)
    while n > 0:
        drawn = drawn.at[n - 1].set(jax.random.bits(keys[n - 1]))
        keys = keys.at[n - 1].set(jax.random.fold_in(keys[n], n))
        n -= 1
    return jax.random.key_data(keys), drawn


@program(integers(-2, 6), integers(0, 9), keys())
def counted(turns: Array, n: Array, key: Array) -> tuple[Array, Array, Array, Array]:
    """Loops of the same number of turns in every lane, up and down, long and short, in another loop and around one."""
    table, t, i = jnp.zeros(12, jnp.int32), 0, 20
    while turns > 0:
        for step in range(30):
            t = (t * 3 + step) % 1001
            table = table.at[step % 12].add(t)
            if t % 7 == n:
                n = (n + 1) % 9
        while i > 2:
            i -= 5
            n = n + i
        for _ in range(2):
            key, drawn = jax.random.split(key)
            n = (n + jax.random.randint(drawn, (), 0, 3)) % 9
        turns, i = turns - 1, 20
    for last in range(3):
        while n > last + 3:
            n = n - 1
    return table, t, i, n


@program(floats(-2, 2), np.int32(5), np.int32(0), integers(1, 4), in_axes=(0, None, None, 0), ulps=4)
def as_often_as_shared(x: Array, often: Array, never: Array, rounds: Array) -> tuple[Array, Array, Array]:
    """Loops whose number of turns is a shared argument; one of them makes no turn at all."""
    total, seen, i = jnp.zeros_like(x), x, 9
    for _ in range(rounds):
        for i in range(often):
            seen = x * (i + 1)
            total = total + seen
        for _ in range(never):
            seen, total = total, seen
        x = x + 1.0
    return total, seen, i


@program(integers(0, 9), np.int32(2), np.int32(7), in_axes=(0, None, None), recursive=True)
def asks_of_what_is_shared(n: Array, limit: Array, most: Array) -> Array:
    """A recursion with two tests at once, one of them the same in every lane."""
    if limit > most:
        return jnp.int32(0)
    if n <= limit:
        return n + most
    return asks_of_what_is_shared(n - 1, limit, most) + asks_of_what_is_shared(n - 2, limit, most)


@program(integers(0, 12), integers(0, 4), recursive=True)
def returns_numbers_and_variables(n: Array, m: Array) -> tuple[Array, Array]:
    """One return gives numbers, another one variables that the first one never assigned."""
    found, seen = m, 1
    if n == 7:
        return 1, m + 1
    n = n & 3
    while n > 0:
        below, deeper = returns_numbers_and_variables(n - 1, m + 1)
        found, seen, n = found + below, seen + deeper, n - 1
    return found, seen


@program(integers(0, 40), integers(-5, 5))
def one_of_many(n: Array, x: Array) -> tuple[Array, Array]:
    """A chain of tests, each of which leads to work on an array."""
    table, turns = jnp.zeros(64, jnp.int32), 0
    while n > 0:
        kind = (n * 7 + x) % 6
        if kind == 0:
            table = table.at[n].set(x)
        elif kind == 1:
            table = table * 3 + n
        elif kind == 2 and n > 4:
            n = n - 3
        elif kind == 3 or x == 4:
            table = table.at[x % 7].add(table[n])
        elif kind == 4:
            table = table[::-1]
        else:
            x = x + 1
            if table[0] > 5:
                break
        n, turns = n - 1, turns + 1
    return table, turns


@program(integers(-3, 9), integers(0, 4), recursive=True)
def last_call_returns(n: Array, best: Array) -> dict[str, Any]:
    """The last call of each branch returns for its caller, and the results are put in another order."""
    return {"best": (improved(n, best), n), "given": best}


@hb.batch
def improved(n: Array, best: Array) -> Array:
    """The callee of ``last_call_returns``."""
    if n <= 0:
        return best
    best = improved(n - 2, best + 1)
    if best < 5:
        best = improved(n - 1, best * 2)
    elif best > 90:
        best = improved(n - 3, best // 2)
    return best


@hb.batch
def lowered_by_threes(x: Array, often: Array) -> tuple[Array, Array]:
    """The callee of ``called_twice``: it does not recurse, so its return address is in a register."""
    while x > 10:
        x, often = x - 3, often + 1
    return x, often


@program(integers(0, 40))
def called_twice(x: Array) -> tuple[Array, Array]:
    """A call whose result is the program's, after another call of the same function has returned."""
    x, often = lowered_by_threes(x + 30, 0)
    return lowered_by_threes(x * 4 + 11, often)


@program(integers(-2, 7), integers(0, 5), recursive=True)
def calls_again(n: Array, total: Array) -> tuple[Array, Array]:
    """A tail call with the results of an earlier call of the same function."""
    if n <= 0:
        return n, total
    n, total = calls_again(n - 1, total + n)
    return calls_again(n, total)


@program(integers(0, 9), recursive=True)
def gives_back_twice(n: Array) -> tuple[Array, Array]:
    """One variable returned twice."""
    turns = n
    if n == 5:
        return n, n + 1
    while turns > 0:
        turns = turns - 1 - gives_back_twice(turns - 1)[0] * 0
        n = n + 2
    return n, n


@program(integers(-3, 9), integers(-4, 9), recursive=True)
def returns_at_once(n: Array, best: Array) -> Array:
    """Returns that are known at the call site, some with variables that other paths go on with."""
    if n > 4:
        if best > 3:
            return best * 2
        best = returns_at_once(n - 1, best + 1)
    elif n > 0:
        if n != 2:
            best = returns_at_once(n - 2, best + 2)
        else:
            return best - 3
    else:
        return best + 1
    if best % 3 == 0:
        return n
    return returns_at_once(n - 3, best) - best


@program(integers(-2, 9), integers(-4, 9), recursive=True)
def returns_between_calls(n: Array, best: Array) -> Array:
    """Returns after a call has returned, before loops, inside of them and instead of them."""
    if n <= 0:
        return best
    if n > 6 and best % 5 != 4:
        return n * best
    best = returns_between_calls(n - 1, best + 1)
    if best % 3 == 0:
        if n == 4:
            return n + best
        best = best + 7
        if best > 20:
            return best // 2
    while n > 3:
        n = n - 2
        best = returns_between_calls(n - 2, best)
        if n == 2:
            return n
    while best > 30:
        best = best // 2 - n
        if best == 11:
            return best * n
    return returns_between_calls(n - 2, best - n) + best


@program(integers(-30, 9))
def seldom_begins(n: Array) -> Array:
    """Most inputs end at their first test, several in a row."""
    steps = 7
    while n > 1:
        n = n - 1
        steps = steps + 2
    return steps


@program(integers(-2, 9), np.int32(3), in_axes=(0, None))
def returns_what_is_shared(n: Array, scale: Array) -> Array:
    """Shared values returned on paths that only some lanes take."""
    twice = scale * 2
    if n <= 0:
        return 0
    if n > 6:
        return scale
    if scale > 2:
        return twice
    return -twice


@program(floats(0.5, 60.0), integers(0, 6, shape=(4,)), ulps=4)
def first_turns_happen(x: Array, numbers: Array) -> tuple[Array, Array, Array, Array]:
    """Loops whose first test is known to hold, so that they define variables; also after a flag has ended one."""
    error, turns = float("inf"), 0
    while error > 1e-3 and turns < 40:
        root = 0.5 * (x + 40 / x)
        error = abs(root - x)
        x = root
        turns += 1
    done = False
    while not done:
        half = x / 2
        done = half < 1
        x = half
    for i in range(len(numbers)):
        doubled = numbers[i] * 2
        if doubled == 6:
            found = True
            break
    else:
        found = False
        where = -1
    if found:
        where = i
    return root, half, doubled, where


class Way(enum.Enum):
    """The enum of a static argument of ``matching``."""

    NEAR = 1
    FAR = 2


@program(integers(-4, 40, shape=(4, 6)), integers(0, 30))
def looked_up(table: Array, wanted: Array) -> tuple[Array, Array]:
    """An argument that is never assigned, whose elements are read at places that depend on earlier reads."""
    found, steps = table[wanted % 4, -1], 0
    while steps < 9 and found != wanted:
        if found < wanted:
            found = table[found % 4, wanted % 6]
        else:
            found = table[steps % 4][found % 6] + 1
        steps += 1
    return found, steps


@program(integers(-4, 9), integers(-4, 9), Way.FAR, static=("way",), in_axes=(0, 0))
def matching(n: Array, m: Array, way: Way) -> tuple[Array, Array, Array]:
    """``match``: on numbers, on what things are made of, with alternatives, guards and names that are bound."""
    match n:
        case 0:
            first = m
        case 1 | 2 | -3:
            first = 20
        case k if k > m:
            first = k * 2
        case n if n > 4:
            first = n + 1
        case _:
            first = -n
    match Nearest(n % 3, m % 3):
        case Nearest(0, y) | Nearest(distance=y, index=0):
            second = y
        case (1, 1 | 2 as y) as whole:
            second = whole.distance * 10 + y
        case x, y:
            second = x - y
    match [n, m, 5]:
        case [_]:
            third = n
        case [x, *rest, 5]:
            match {"x": x, "rest": rest, "way": way}:
                case {"x": x, "way": Way.NEAR}:
                    third = x
                case {"rest": [y], "way": Way.FAR, **others}:
                    third = y + others["x"] + len(others)
    return first, second, third


@program(integers(-4, 30), integers(1, 6))
def names_anywhere(n: Array, m: Array) -> tuple[Array, Array, Array]:
    """``:=`` in conditions, operands and comprehensions; names that are deleted and given anew; globals."""
    global ROWS
    y = 1
    total = y + (y := n) * y
    while (n := n - m) > 0 and (rest := n % 3) < 2:
        total += rest
    powers = [y := y * 2 + i for i in range(3)]
    if 1 < (half := n // 2) < (most := m + 1):
        total += half * most
        del half
    half = (total, powers[0])
    first, _ = half
    del powers, _
    return first + ROWS, half[1], y


DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))
LAYERS = [np.arange(6, dtype=np.float32).reshape(3, 2) / 8, np.ones((1, 3), np.float32)]


@program(integers(-2, 5), floats(-1, 1, shape=(3,)), floats(-1, 1, shape=(3, 2)), ulps=4)
def loops_over_things(n: Array, x: Array, rows: Array) -> tuple[Array, Array, Array]:
    """``for`` over arrays, lists, ranges in variables, and what Python makes of them; several names at once."""
    total = 0.0
    for i, value in enumerate(x, 1):
        if value > 0.5:
            continue
        total += i * value
        for j in reversed(range(n)):
            total = total * 0.5 + j
    for (a, b), c, k in zip(rows, x, range(2 - n, 9, 2), strict=False):
        total += a * b - c * k
        if total > 6:
            break
    else:
        total = total - 1
    for k, row in zip(range(n), [x, x * 2, x + n], strict=False):
        total += k * row.sum()
    count = 0
    turns = range(1, 9, 3)
    for k in turns:
        for dx, dy in DIRECTIONS:
            count = count * 2 + dx * k - dy * n
    for row in rows:
        for value in reversed(row):
            if value < 0:
                count += 1
    return total, count, k


@program(integers(-2, 5), floats(-1, 1, shape=(2,)), ulps=4)
def turns_written_out(n: Array, x: Array) -> tuple[Array, Array, Array, Array]:
    """Unrolled loops whose turns differ.

    Items of several shapes and kinds, lists that grow, and first turns that define names.
    """
    total = 0
    for layer in LAYERS:
        x = jnp.tanh(layer @ x)
    for name, scale in {"up": 2, "down": 3}.items():
        if name == "up":
            total += n * scale
        elif n > scale:
            total -= 1
            continue
        for function in (jnp.abs, jnp.negative):
            if total > 9:
                break
            total += function(n)
    powers = []
    for i in range(4):
        powers = [*powers, n * i]
        if i == 0:
            last = n
        elif n > i:
            last += powers[i - 1]
    for i in range(3):
        for j in range(i):
            for power in powers[j:i]:
                total += power * j
    return x[0], total, last, powers[3]


@program(lambda rng: rng.integers(0, 40, (ROWS, 6)).astype(np.int32), integers(-6, 6), ulps=4)
def assigned_in_place(values: Array, n: Array) -> dict[str, Any]:
    """Items of arrays and lists, by indices, slices and masks that differ between lanes."""
    table, grid, tally = np.zeros(6, dtype=np.int32), np.zeros((3, 4), np.float32), [0, 0, 0]
    places, last = [[0] * 2, [1] * 2], {"turns": 0}
    for i in range(6):
        table[i] = values[i] * 2.5
        j = i
        while j > 0 and table[j - 1] < table[j]:
            table[j - 1], table[j] = table[j], table[j - 1]
            j -= 1
            last["turns"] += 1
        tally[(n + i) % 3] += j
        places[i % 2][n % 2] = table[0]
        grid[i % 3][j % 4] += n / 4
    table[table > 50] -= 50
    grid[n % 3, : n % 4] = -1
    grid[:, n % 4] *= 2
    return {"table": table, "grid": grid, "tally": tally, "places": places, **last}


def or_else(value: Array | None, default: int) -> Array | int:
    return default if value is None else value


def nearest_above(values: Array, bound: Array, start: int = 0) -> Array | None:
    if start == 4 or bound > 8:
        return None
    if values[start] > bound:
        return values[start]
    return nearest_above(values, bound, start + 1)


@program(integers(-2, 12), integers(0, 9, shape=(4,)))
def none_or_value(n: Array, values: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Variables, results and parts of tuples that are None in some lanes: asked for, compared, passed on."""
    largest = None
    for value in values:
        if value < n and (largest is None or value > largest):
            largest = value
    best = None
    last = None
    repeated = 0
    while n > 0:
        digit = n % 3
        if last is not None and digit == last:
            repeated += 1
        if best is None or digit > best[1]:
            best = (n, digit)
        last = digit
        n = n // 2
    position = -1
    if best is not None:
        position, top = best
        repeated += top * 10
    found = nearest_above(values, last or 5)
    same = found == largest
    if found:
        repeated += 100 + found
    match last:
        case None:
            kind = 7
        case 1 | 2 as kind:
            pass
        case _:
            kind = 0
    return or_else(largest, -5), repeated, position, 1 if same else 0, kind


class Light(enum.Enum):
    RED = "r"
    GREEN = "g"
    YELLOW = "y"


class Heading(enum.IntEnum):
    NORTH = 0
    EAST = 1
    SOUTH = 2
    WEST = 3


NEXT = {Light.RED: Light.GREEN, Light.GREEN: Light.YELLOW, Light.YELLOW: Light.RED}


def turned(heading: Heading, right: Array) -> Heading:
    return Heading((heading + 1) % 4) if right else Heading((heading + 3) % 4)


def way_of(n: Array) -> str | None:
    if n > 4:
        return "up"
    if n > 1:
        return "down"
    return None


@program(integers(-2, 12), floats(-1, 1), ulps=4)
def one_of_several_objects(n: Array, x: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Texts, enums, functions and None, another one in each lane: compared, looked up, called, passed on."""
    way = way_of(n)
    total = 0
    light, heading = Light.RED, Heading.NORTH
    while n > 0:
        match light:
            case Light.RED:
                total += 1
            case Light.GREEN | Light.YELLOW if way == "up":
                total += 10
        light = NEXT[light]
        heading = turned(heading, n % 3 == 0)
        if heading is Heading.WEST or heading == Heading.EAST:
            total += 100
        n -= 2
    function = jnp.sin if light is Light.GREEN else jnp.cos
    words = ["zero", "one", "three"]
    word = words[total % 3]
    steps = {"up": 1, "down": -1, "stay": 0}[way or "stay"]
    return function(x), total, steps, len(word) if word != "one" else 9, 1 if light.value in ("r", "y") else 0


@program(integers(0, 3, shape=(5,)))
def given_in_the_first_turn(votes: Array) -> Array:
    """A variable that is None only before the first turn, which is known to happen."""
    candidate = None
    count = 0
    for vote in votes:
        if count == 0:
            candidate = vote
        count += 1 if vote == candidate else -1
    if count > 1:
        return candidate
    return -1


@dataclass
class Walker:
    """A class of ``objects`` that is no pytree."""

    place: Any
    speed: Any
    seen: list[Any]

    def step(self, wind: Any) -> Any:
        self.place += self.speed * wind
        self.speed -= 1
        return self.place


class Walk:
    """Another class of ``objects``."""

    __slots__ = ("ends", "steps")

    def __init__(self, ends: Any) -> None:
        self.ends, self.steps = ends, 0


@program(integers(0, 9), integers(-3, 4))
def objects(n: Array, wind: Array) -> dict[str, Any]:
    """Objects of classes that JAX does not know: changed by methods and by assignment, in lists, in each other."""
    walk = Walk([Walker(0, n, [0, 0]), Walker(wind, 2, [1, 1])])
    while walk.steps < n:
        first = walk.ends[0].step(wind)
        if first > 4:
            walk.ends[1].seen[n % 2] += first
        walk.ends[walk.steps % 2].speed += 3
        walk.steps += 1
    walker = Walker(walk.ends[1].place, n, [walk.steps])
    walker.seen.append(wind)
    places = [end.place for end in walk.ends]
    return {"walker": dataclasses.asdict(walker), "seen": walk.ends[1].seen, "places": places}


def hanoi(n: Any, source: Any, target: Any) -> Any:
    """A helper of ``prints`` that prints and recurses."""
    if n == 0:
        return 0
    before = hanoi(n - 1, source, 3 - source - target)
    print(f"move {n} from {source} to {target}")
    return before + 1 + hanoi(n - 1, 3 - source - target, target)


@program(integers(0, 6), floats(0, 9, shape=(3,)), prints=True, recursive=True)
def prints(n: Array, x: Array) -> tuple[Any, Any]:
    """Prints in loops, branches and a recursion, of numbers and texts, more than a log has room for."""
    print("start")
    total = jnp.zeros_like(x[0])
    for i in range(n):
        total += x[i % 3] * 2
        print(f"i={i:2d}", total, "%d of %d" % (i, n), sep=" | ")  # noqa: UP031  # as people write
        if i % 2:
            print(i, x.max() + i, end="; ")
            print(", ".join(f"{v:.2f}" for v in x), "odd" if total > 9 else f"even {total:.1f}")
        for j in range(i):
            print(j, end="," if j < i - 1 else "\n")
    jax.debug.print("n = {n}", n=n)
    return hanoi(n, 0, 2), total


@program(integers(0, 2, shape=(4, 4)), integers(0, 4))
def depth_first(adjacency: Array, start: Array) -> tuple[Any, Any]:
    """A stack, and a list of visited nodes, whose lengths differ between lanes."""
    seen = np.zeros(4, bool)
    stack, order = [start], []
    while stack:
        u = stack.pop()
        if seen[u]:
            continue
        seen[u] = True
        order.append((u, len(stack)))
        stack.extend([v for v in range(4) if adjacency[u, v]])
    total = 0
    for u, height in order:
        total = total * 5 + u + height
    return len(order), total


@program(integers(1, 8), integers(0, 4))
def josephus(n: Array, step: Array) -> Any:
    """A queue whose initial length differs between lanes."""
    circle = collections.deque()
    for i in range(n):
        circle.append(i)
    while len(circle) > 1:
        for _ in range(step):
            circle.append(circle.popleft())
        circle.popleft()
    return circle[0]


def _merge_sort(items: list[Any]) -> int:
    """Sorts a list in place; returns how many items of its right halves came first."""
    if len(items) < 2:
        return 0
    left, right = items[: len(items) // 2], items[len(items) // 2 :]
    moved = _merge_sort(left) + _merge_sort(right)
    i = j = 0
    while i < len(left) or j < len(right):
        if j == len(right) or (i < len(left) and left[i] <= right[j]):
            items[i + j] = left[i]
            i += 1
        else:
            items[i + j] = right[j]
            j += 1
            moved += 1
    return moved


@program(integers(0, 7), recursive=True)
def merge_sort(n: Array) -> tuple[Any, Any]:
    """A recursive function that changes lists which it makes, and the one that it is given."""
    items = [i * 5 % 7 for i in range(n + 1)]
    moved, total = _merge_sort(items), 0
    for i, value in enumerate(items):
        total += i * value
    return moved, total


@program(integers(0, 6, shape=(4, 4)), integers(0, 4))
def cheapest_ways(weights: Array, source: Array) -> Any:
    """Dijkstra's algorithm on a heap of tuples."""
    cost = [1000] * 4
    cost[source] = 0
    heap = [(0, source)]
    while heap:
        so_far, u = heapq.heappop(heap)
        if so_far > cost[u]:
            continue
        for v in range(4):
            w = weights[u, v]
            if w > 0 and so_far + w < cost[v]:
                cost[v] = so_far + w
                heapq.heappush(heap, (cost[v], v))
    return cost


@program(integers(0, 5, shape=(7,)), integers(0, 5))
def first_and_last(values: Array, wanted: Array) -> tuple[Any, ...]:
    """Dicts and a set whose keys differ between lanes."""
    first, last, twice = {}, {}, set()
    wanted = int(wanted)
    for i, number in enumerate(values):
        value = int(number)
        if value in first:
            twice.add(value)
        else:
            first[value] = i
        last[value] = i
    longest = 0
    for value, place in first.items():
        longest = max(longest, last[value] - place)
    return longest, len(twice), wanted in twice, first.get(wanted, -1), sum(twice)


@program(integers(0, 9), integers(0, 20))
def best_load(value: Array, room: Array) -> Any:
    """Dynamic programming in a table of lists, which is one array."""
    weights = (3, 4, 7)
    best = [[0] * 20 for _ in range(4)]
    for i in range(1, 4):
        for w in range(20):
            best[i][w] = best[i - 1][w]
            if weights[i - 1] <= w:
                best[i][w] = max(best[i][w], best[i - 1][w - weights[i - 1]] + value + i)
    return best[3][room], best[2]


def _in_base(n: Any, base: Any) -> str:
    digits = ""
    while n > 0:
        digits = "0123456789abcdef"[n % base] + digits
        n //= base
    return digits or "0"


def _run_lengths(text: str) -> str:
    found, last, count = "", "", 0
    for letter in text:
        if letter == last:
            count += 1
        else:
            if last:
                found += f"{count}{last}"
            last, count = letter, 1
    return found + f"{count}{last}"


@program(integers(-2000, 30000), integers(2, 17))
def texts_of_numbers(n: Array, base: Array) -> Any:
    """Palindromes, sums of digits, numerals, run lengths, and a cipher."""
    size = abs(n)
    text, numeral = str(n), _in_base(size, base)
    secret = "".join([chr(97 + (ord(letter) - 48 + base) % 26) for letter in str(size)])
    return (
        text == text[::-1],
        sum(int(digit) for digit in str(size)),
        len(numeral),
        sum((i + 1) * ord(letter) for i, letter in enumerate(numeral)),
        len(_run_lengths(f"{size:b}")),
        int(_run_lengths(str(size % 100))),
        sum(ord(letter) for letter in secret) - (secret.count("c") if "c" in secret else -1),
        int("".join(sorted(str(size)))),
    )


@program(integers(2, 40))
def primes_below(n: Array) -> Any:
    """A list of flags that are cleared one by one, and a list of counts that a helper changes."""
    is_prime = [True] * 40
    is_prime[0] = is_prime[1] = False
    ends = [0] * 20
    for p in range(2, n):
        if is_prime[p]:
            _count_in(ends, p % 10)
            multiple = p * p
            while multiple < n:
                is_prime[multiple] = False
                multiple += p
    return is_prime, ends


def _count_in(counts: list[Any], place: Any) -> None:
    counts[place] += 1
    counts[-1 - place] -= 1


@program(integers(0, 120))
def change_for(amount: Array) -> Any:
    """Dicts are iterated in insertion order, which is not that of JAX's pytrees."""
    coins, given = {50: 1, 20: 3, 5: 2, 1: 9}, collections.defaultdict(int)
    given["many"], given["few"] = 0, 0
    for coin in coins:  # noqa: PLC0206  # what is there changes meanwhile
        while amount >= coin and coins[coin] > 0:
            coins[coin] -= 1
            amount -= coin
            given["few" if coin > 10 else "many"] += 1
    first, second = given.values()
    return coins, first - second, amount


@program(integers(0, 4), integers(0, 5), integers(0, 4))
def moved_rows(i: Array, j: Array, k: Array) -> Any:
    """Rows of lists that are exchanged, assigned as a whole, and item by item."""
    grid = [[10 * a + b for b in range(5)] for a in range(4)]
    grid[i], grid[k] = list(grid[k]), list(grid[i])
    grid[k][j] += 100
    grid[1] = [x + 1 for x in grid[i]]
    grid[2][j], grid[3][4] = grid[3][4], grid[2][j]
    return grid, sum(grid[k]), max(grid[i])


@program(floats(1, 3, shape=(2,)), floats(1, 9), integers(0, 6), ulps=500)
def crossing(x: Array, scale: Array, turns: Array) -> Any:
    """Newton's method for two equations: in each turn, a small matrix is factored."""
    while turns > 0:
        value = jnp.stack([x[0] ** 2 + x[1] ** 2 - scale, x[0] - x[1] ** 3 / 9])
        slopes = jnp.stack([2 * x, jnp.stack([1.0, -(x[1] ** 2) / 3])])
        if jnp.abs(value).max() < 1e-5:
            return x
        x = x - jnp.linalg.solve(slopes, value)
        turns = turns - 1
    return x
