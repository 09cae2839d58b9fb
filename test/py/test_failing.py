"""`raise`, `assert` and `try`, for each lane by itself: in every form, against plain Python on every example."""

import collections
import contextlib
import heapq

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from feature_pairs import right_or_refused

import hlobatch as hb
from hlobatch import stackless, virtual_machine
from hlobatch.interpreters.backends import NumpyBackend
from hlobatch.interpreters.definitional import interpret

NUMBERS = np.arange(-3, 9, dtype=np.int32)


class NegativeError(ValueError):
    def __init__(self, value, place):
        super().__init__(f"{value:03d} at {place}")
        self.value = value


def root(x):
    if x < 0:
        raise ValueError(f"no root of {x}")
    return 2 * x


def depth(n):
    if n > 5:
        raise RuntimeError("deep")
    if n <= 0:
        return 0
    return 1 + depth(n - 1)


def caught(n):
    try:
        y = root(n - 3)
    except ValueError:
        y = -1
    else:
        y += 100
    return y


def with_finally(n):
    log = 0
    for i in range(3):
        try:
            if i == n:
                break
            if n > 5:
                raise KeyError("k")
            log += 1
        except (KeyError, IndexError):
            log += 10
            continue
        finally:
            log += 1000
    return log


def none_until_a_call_that_may_raise(n):
    found = None
    for x in [9]:
        found = root(n + x)
        break
    if found is None:
        return -1
    return found


def returns_through_finally(n):
    total = 0
    try:
        if n > 3:
            return n
        total = root(n)
    except ValueError:
        return -total
    finally:
        total += 1
    return total


def divides(n):
    try:
        return 12 // (n - 3)
    except ZeroDivisionError:
        return -5


def indexes(n):
    items = jnp.array([4, 5, 6])
    try:
        found = items[n + 1]
    except IndexError:
        found = 0
    return found


def of_a_recursion(n):
    total = 0
    while n < 10:
        try:
            total += depth(n)
        except RuntimeError:
            total += 100
            n += 2
        n += 1
    return total


def again(n):
    try:
        try:
            return root(n - 2)
        except ValueError:
            if n == 0:
                raise
            return 55
    except Exception:  # noqa: BLE001  # that is what people write
        return 77


def caught_at_some_depth(n):
    if n <= 0:
        raise ValueError("bottom")
    try:
        return caught_at_some_depth(n - 1)
    except ValueError:
        if n == 2:
            return 50
        raise


def of_a_recursion_that_raises_again(n):
    try:
        return caught_at_some_depth(n)
    except ValueError:
        return -1


def called_for_what_it_raises(n):
    y = 0
    try:
        root(n)
    except ValueError:
        y = 5
    return y


def by_class(n):
    try:
        if n < 0:
            raise NegativeError(n, "start")
        if n == 2:
            raise KeyError(n)
        if n > 5:
            raise OverflowError
    except KeyError:
        return 1
    except (ValueError, OverflowError):
        return 2
    return 3


CATCHING = [
    caught,
    with_finally,
    none_until_a_call_that_may_raise,
    returns_through_finally,
    divides,
    of_a_recursion,
    again,
    by_class,
]
CATCHING += [of_a_recursion_that_raises_again, called_for_what_it_raises]


def plain(function):
    """Python's value or exception for each example."""
    found = []
    for number in NUMBERS.tolist():
        try:
            found.append(function(number))
        except Exception as error:  # noqa: BLE001  # whatever it raises
            found.append(error)
    return found


@pytest.mark.parametrize("function", CATCHING, ids=lambda f: f.__name__)
def test_what_is_caught(function):
    assert hb.batch(function)(NUMBERS).tolist() == plain(function)


def test_an_index_out_of_range_is_caught():
    expected = [[4, 5, 6][n + 1] if -3 <= n + 1 < 3 else 0 for n in NUMBERS.tolist()]
    assert hb.batch(indexes)(NUMBERS).tolist() == expected


def raises_with_values(n):
    assert n != 4, f"not {n}"
    if n < 0:
        raise NegativeError(n, "start")
    return n + depth(n)


FORMS = {
    "default": {},
    "queue": {"lanes": 2},
    "threads": {"threads": 2},
    "case": {"dispatch": "case", "max_steps": 1000},
    "chain": {"dispatch": "chain"},
    "guarded queue": {"dispatch": "guarded", "lanes": 3},
    "sweep": {"dispatch": "sweep"},
    "unoptimized": {"optimizations": hb.Optimizations(kernels=False, if_conversion=False)},
}


def same(got, expected):
    return type(got) is type(expected) and str(got) == str(expected).split("\n")[0]  # pytest explains an `assert`


@pytest.mark.parametrize("form", FORMS)
def test_the_others_have_results_and_each_that_raised_its_exception(form):
    expected = plain(raises_with_values)
    with pytest.raises(
        ValueError, match=r"lane 0 of 'raises_with_values' raised NegativeError: -03 at start"
    ) as caught:
        hb.batch(raises_with_values, **FORMS[form])(NUMBERS)
    error = caught.value
    assert isinstance(error, hb.LaneError)
    raised = [i for i, value in enumerate(expected) if isinstance(value, Exception)]
    assert error.lanes == error.unfinished == tuple(raised)
    assert all(same(error.errors[lane], expected[lane]) for lane in raised)
    assert all(error.outputs[i] == value for i, value in enumerate(expected) if i not in raised)
    assert error.location.line == raises_with_values.__code__.co_firstlineno + 3


def numbers_in_messages(n, x):
    if n == 1:
        raise ValueError(n, "of two")
    if n == 2:
        raise ValueError(f"{n!r} and {x}", x, [n], n > 1)
    if n == 3:
        raise KeyError(n)
    if n == 4:
        raise KeyError((n, x))
    if n == 5:
        raise NegativeError(-n, {"x": x})
    assert n != 6, [x, (n,)]
    assert n != 7, n * 0.5
    if n == 8:
        raise RuntimeError(complex(n, 1))
    return n


def test_numbers_in_messages_are_written_as_pythons():
    """Without the names of NumPy's classes, and a float of 32 bits with the digits of the number it stands for."""
    x = [0.1, 2.5, 0.3, 1e-7, 0.1, 3.0, 0.7, 1e30, 0.5]
    with pytest.raises(hb.LaneError) as caught:
        hb.batch(numbers_in_messages)(np.arange(9, dtype=np.int32), np.float32(x))
    errors = caught.value.errors
    assert sorted(errors) == list(range(1, 9))
    for lane, error in errors.items():
        with pytest.raises(type(error)) as expected:
            numbers_in_messages(lane, x[lane])
        assert same(error, expected.value), lane


def test_a_message_may_ask_a_number_for_what_numpys_have():
    @hb.batch
    def f(n):
        if n > 1:
            raise ValueError(f"{n.dtype} {n.astype(float)}")
        return n

    with pytest.raises(hb.LaneError) as caught:
        f(np.arange(3, dtype=np.int32))
    assert str(caught.value.errors[2]) == "int32 2.0"


def test_interpreters_raise_too():
    batched = hb.batch(raises_with_values)
    traced = batched.trace(NUMBERS)
    assert interpret(traced.program, np.int32(2)) == raises_with_values(2)
    with pytest.raises(NegativeError, match="-01 at start"):
        interpret(traced.program, np.int32(-1))
    with pytest.raises(hb.LaneError) as caught:
        stackless.execute(traced.program, NumpyBackend(), None, NUMBERS)
    assert caught.value.lanes == (0, 1, 2, 7, 9, 10, 11)
    with pytest.raises(hb.LaneError) as caught:
        virtual_machine.execute(traced.lowered_program, [NUMBERS], 32, NumpyBackend())
    assert caught.value.lanes == (0, 1, 2, 7, 9, 10, 11)


@pytest.mark.parametrize("how", [jax.jit, lambda f: jax.jit(lambda x: jax.vmap(f)(x[None])[0])], ids=["jit", "vmap"])
def test_inside_other_computations(how):
    f = how(hb.batch(root))
    assert f(NUMBERS[3:]).tolist() == (2 * NUMBERS[3:]).tolist()
    with pytest.raises(jax.errors.JaxRuntimeError, match="lane 0 of 'root' raised ValueError: no root of -3"):
        jax.block_until_ready(f(NUMBERS))


def test_artifacts_say_which_statement_it_was(tmp_path):
    artifact = hb.load(hb.export(hb.batch(root), NUMBERS).save(tmp_path / "root.hb"))
    with pytest.raises(
        hb.LaneError, match=r"lanes 0, 1, 2 of 'root' raised, the first: raise ValueError\(f.no root"
    ) as e:
        artifact.call(NUMBERS)
    assert e.value.outputs[3:].tolist() == (2 * NUMBERS[3:]).tolist()


def checks_mode(x, mode="up"):
    assert x.ndim == 0, "one number"
    if mode not in ("up", "down"):
        raise ValueError(f"no mode {mode}")
    return x + 1 if mode == "up" else x - 1


def test_what_is_decided_when_the_program_is_built_costs_nothing():
    program = hb.batch(checks_mode, static_argnames="mode").trace(NUMBERS, mode="down").program
    assert not program.failures
    assert len(program.vars_out) == 1
    text = hb.batch(checks_mode, static_argnames="mode").trace(NUMBERS, mode="down").lower().as_text()
    assert text.replace("checks_mode", "plainly") == hb.batch(plainly).trace(NUMBERS).lower().as_text()


def plainly(x):
    return x - 1


def test_what_every_lane_would_raise_is_raised_at_once():
    with pytest.raises(ValueError, match="no mode sideways") as caught:
        hb.batch(checks_mode, static_argnames="mode")(NUMBERS, mode="sideways")
    assert isinstance(caught.value, hb.BatchTypeError)


def test_all_that_raises_are_named_in_a_long_queue():
    numbers = np.where(np.arange(5_000) % 20 == 7, -1, 3).astype(np.int32)
    with pytest.raises(hb.LaneError) as caught:
        hb.batch(root)(numbers)
    assert len(caught.value.lanes) == len(caught.value.unfinished) == 250


def test_an_array_in_a_message():
    def norm(v):
        if v.sum() > 2:
            raise ValueError(f"large: {v}")
        return v.sum()

    with pytest.raises(ValueError, match=r"large: \[1\. 2\.\]"):
        hb.batch(norm)(np.float32([[0, 1], [1, 2]]))


def test_a_message_is_written_into_a_variable_first():
    def f(n):
        if not isinstance(n, int):
            message = f"{n} is no integer"
            raise TypeError(message)
        for i in range(3):
            if n == i:
                message = "{} comes at turn {}".format(n * 10, i)  # noqa: UP032
                raise ValueError(message) from None
            try:
                if n < i:
                    message = f"{n:03d} is less than %d" % i
                    raise KeyError(message)
            except KeyError as error:
                message = f"turn {i} of {n}"
                raise RuntimeError(message) from error
        return n

    with pytest.raises(hb.LaneError) as caught:
        hb.batch(f)(NUMBERS)
    expected = {}
    for lane, n in enumerate(NUMBERS.tolist()):
        try:
            f(n)
        except (ValueError, RuntimeError) as error:
            expected[lane] = repr(error)
    assert {lane: repr(error) for lane, error in caught.value.errors.items()} == expected
    with pytest.raises(TypeError, match=r"^.*1.5 is no integer"):
        hb.batch(f)(np.float32([1.5, 2.5]))


def test_nothing_catches_what_does_not_raise():
    def f(n):
        try:
            y = n + 1
        except np.linalg.LinAlgError:
            y = 0
        return y

    with pytest.raises(hb.UnsupportedSyntaxError, match="nothing in this `try` raises for a lane by itself"):
        hb.batch(f)(NUMBERS)


def counted(n):
    counts = collections.defaultdict(int)
    counts[n] = 4
    try:
        counts[0] += 1
        counts[5] = counts[5] + counts[n % 3]
    finally:
        counts[8] += 1
    return len(counts), counts[0], counts[5]


def counted_until(n):
    counts = collections.Counter()
    counts[n] += 1
    try:
        counts[0] += 1
        counts[root(n)] += 5
    except ValueError:
        counts[9] += 1
    return len(counts), counts[0], counts[9]


def set_in_a_handler(n):
    seen = {0, 1}
    total = 0
    try:
        total += root(n)
    except ValueError:
        if n not in seen:
            seen |= {sum(seen), 4}
    finally:
        total += 1
    return len(seen), sum(seen), total


def union_in_a_handler(n):
    seen = {0, n}
    try:
        seen.add(root(n))
    except ValueError:
        seen |= {n, 4}
        seen -= {0}
    return len(seen), sum(seen)


@pytest.mark.parametrize("function", [counted, counted_until, set_in_a_handler, union_in_a_handler])
def test_what_a_statement_changes_and_assigns_in_a_try_is_found_out_once(function):
    """Regression: it was found again and again, until an error after a minute."""
    results = [np.asarray(part).tolist() for part in hb.batch(function)(NUMBERS)]
    assert list(zip(*results, strict=True)) == [function(n) for n in NUMBERS.tolist()]


def test_what_may_raise_in_a_store_that_reads_a_missing_key_is_refused():
    def f(n):
        counts = collections.defaultdict(int)
        counts[n] = 4
        try:
            counts[0] += 10 // n
        except ZeroDivisionError:
            counts[7] += 1
        return len(counts)

    with pytest.raises(hb.UnsupportedSyntaxError, match="changes 'counts' in place, and computes what may raise"):
        hb.batch(f)(NUMBERS)


def pushed(n):
    heap = []
    try:
        for i in range(n + 3):
            heapq.heappush(heap, 6 // (2 - i))
    except ZeroDivisionError:
        return -len(heap)
    return len(heap)


def never_pushed(n):
    heap = [n]
    try:
        heapq.heappush(heap, 6 // 0)
    except ZeroDivisionError:
        return -len(heap)
    return n


def pushed_none(n):
    heap, x = [n], None
    if n % 2:
        x = n
    try:
        heapq.heappush(heap, x + 1)
    except TypeError:
        return -1
    return len(heap)


def given_a_quotient(n):
    try:
        return depth(min(4, 6 // n))
    except ZeroDivisionError:
        return -1


class Purse:
    def __init__(self, amount):
        self.amount, self.coins = amount, []

    def take(self):
        self.amount -= 1
        return self.coins.pop()


def taken_from_none(n):
    purse = Purse(n)
    try:
        purse.take()
    except IndexError:
        purse.amount *= 2
    return purse.amount


def an_item(n, place):
    if n > 5:
        return 3
    return (1, 2)[place]


def an_item_that_is_not_there(n):
    try:
        return an_item(n, 2)
    except IndexError:
        return -1


@pytest.mark.parametrize(
    ("function", "checked"),
    [
        (pushed, False),
        (pushed, True),
        (never_pushed, False),
        (pushed_none, False),
        (given_a_quotient, False),
        (taken_from_none, False),
        (an_item_that_is_not_there, False),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_surely_raises_or_computes_what_may_raise_can_be_tried(function, checked):
    """Regression: the trial of a call raised as well, where nothing tests for it."""
    batched = hb.batch(function, checked=checked, dispatch="kernel")
    assert batched(NUMBERS).tolist() == [function(n) for n in NUMBERS.tolist()]


NOTHING: dict[int, int] = {}


def first_seen(n):
    last, total = {}, 0
    for i in range(abs(n)):
        try:
            total += last[i % 2]
        except KeyError:
            total += 100
        last[i % 2] = i
    return total


def item_before(n):
    items, total = [], 0
    for i in range(abs(n)):
        try:
            total += items[i - 2] + items.index(i - 1)
        except (IndexError, ValueError):
            items.append(i)
    return total * 10 + len(items)


def filled_in_handlers(n):
    best, queue, total = [], collections.deque(), 0
    while total < abs(n):
        total += 1
        try:
            total += max(best) + queue[0]
        except ValueError:
            best.append(total % 3)
        except IndexError:
            queue.append(1)
    return total * 100 + len(best) * 10 + len(queue)


def asked(entries, key):
    if key > 7:
        return 7
    return entries[key]


def asked_for_what_is_never_there(n):
    try:
        return asked({}, n)
    except LookupError:
        return NOTHING.get(n, -1)


def taken_out(n):
    last, total = {}, 0
    for i in range(abs(n)):
        if i > 0:
            del last[i - 1]
        last[i] = total
        total += len(last)
    return total


def test_an_entry_is_taken_out_before_one_is_put_in():
    assert hb.batch(taken_out, dispatch="kernel")(NUMBERS).tolist() == [taken_out(n) for n in NUMBERS.tolist()]


@pytest.mark.parametrize("function", [first_seen, item_before, filled_in_handlers, asked_for_what_is_never_there])
def test_a_container_is_read_before_anything_is_put_into_it(function):
    """Regression: it was refused, since what puts something into it comes behind the read that fails."""
    assert hb.batch(function, dispatch="kernel")(NUMBERS).tolist() == [function(n) for n in NUMBERS.tolist()]


def says_much(x, verbose=False):
    count = 0
    while x > 1:
        x, count = x / 2, count + 1
        if verbose:
            print("x is", x)
            with open(undefined_name) as file:  # noqa: F821, PTH123
                file.write("x")
    return count


def test_what_is_never_reached_is_never_refused():
    assert hb.batch(says_much)(np.float32([1, 2, 5])).tolist() == [0, 1, 3]
    with pytest.raises(hb.UnsupportedSyntaxError, match="`with` of this object is not supported"):
        hb.batch(says_much, static_argnames="verbose")(np.float32([1, 2]), verbose=True)


def test_text_of_a_lane_s_key_error_is_that_of_the_error() -> None:
    """``KeyError`` would show it as it is written in Python, on one line."""

    @hb.batch
    def looked(n):
        if n > 1:
            raise KeyError(1)
        return n

    with pytest.raises(KeyError) as caught:
        looked(np.arange(3))
    assert str(caught.value) == caught.value.render()


class Ledger:
    def __init__(self, most):
        self.most, self.total, self.is_open = most, 0, False

    def __enter__(self):
        self.is_open = True
        return self

    def __exit__(self, *error):
        self.is_open = False
        self.total += 100

    def pay(self, amount):
        if amount > self.most:
            raise ValueError("too much")
        self.total += amount


class Dropping:
    def __init__(self):
        self.count = 0

    def __enter__(self):
        return self.count + 7

    def __exit__(self, kind, error, traceback):
        self.count += 1
        return True


class Looking:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return kind is not None


def paid(n):
    total = 0
    for i in range(n):
        with Ledger(n) as own, Ledger(3) as other:
            if i == 2:
                continue
            own.pay(i)
            other.pay(1)
            total += own.total
            if i == 3:
                break
        total = total * 3 + own.total + other.total + own.is_open
    return total


def paid_in_part(n):
    ledger = Ledger(n)
    try:
        with ledger:
            ledger.pay(1)
            ledger.pay(3)
            return ledger.total
    except ValueError:
        return -ledger.total


def dropped(n):
    dropping, total = Dropping(), 0
    with dropping as given:
        total += given
        if n > 2:
            raise KeyError(n)
        total += 50
    return total * 10 + dropping.count


class RaisingAtTheEnd:
    def __init__(self, n):
        self.n = n

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.n == 2:
            raise KeyError("left")
        return True


def raised_by_the_exit(n):
    total = 0
    try:
        with RaisingAtTheEnd(n):
            total += 1
            if n % 2:
                raise ValueError
            total += 10
        total += 100
    except KeyError:
        total += 1000
    return total


def of_contextlib(n):
    total, found = 0, {1: 5, 3: 6}
    with contextlib.suppress(KeyError, ZeroDivisionError):
        total += 1
        total += found[n]
        total += 100 // (n - 1)
    with contextlib.nullcontext(n + 1) as other, np.errstate(divide="ignore"):
        return total + other * 1000


def looking(n):
    with Looking():
        if n > 2:
            raise ValueError
    return n


def given_another_name(n):
    dropping = Dropping()
    with dropping:
        dropping = Dropping()
    return dropping.count + n


@pytest.mark.parametrize(
    "function", [paid, paid_in_part, dropped, raised_by_the_exit, of_contextlib], ids=lambda f: f.__name__
)
def test_with_is_a_try_with_a_finally(function) -> None:
    numbers = np.arange(1, 7, dtype=np.int32)
    assert hb.batch(function)(numbers).tolist() == [function(n) for n in numbers.tolist()]


@pytest.mark.parametrize("function", [looking, given_another_name])
def test_with_is_refused_where_the_object_is_not_known_or_looks_at_the_exception(function) -> None:
    with pytest.raises(hb.UnsupportedSyntaxError, match="`with` of this object is not supported"):
        hb.batch(function)(NUMBERS)


COUNTS = collections.Counter({1: 5, 2: 7})


def counted(n):
    groups, numbers = collections.defaultdict(list), collections.defaultdict(int)
    try:
        found = {1: 2}[n]
    except KeyError:
        found = 5
    for i in range(3):
        groups[i % 2].append(i + n)
    try:
        found += numbers[n]
    except KeyError:
        found = -1
    return found + sum(groups[0]), len(groups), len(numbers), COUNTS[n] + 10 * collections.Counter([1, 1, 3])[n]


def spread(items, n):
    if n <= 0 or len(items) > 6:
        return 1
    items.append(n)
    return spread(items, n - 1) + spread(items[:], n - 2)


def spread_and_caught(n):
    try:
        first = [1, 2][n]
    except IndexError:
        first = 7
    items = [n]
    return first + spread(items, n), len(items)


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("program", [counted, spread_and_caught])
def test_what_does_not_fail_in_python_does_not_fail(program, checked):
    """Regression: a key that a ``defaultdict`` lacks was an error in such programs, and so was what calls store back.

    An argument that a call has changed is stored back by an operation that is none of Python's.
    """
    numbers = np.arange(5, dtype=np.int32)
    found = [column.tolist() for column in hb.batch(program, checked=checked)(numbers)]
    assert found == [list(column) for column in zip(*(program(n) for n in range(5)), strict=True)]


class Noting:
    def __init__(self, log, tag):
        self.log, self.tag = log, tag

    def __enter__(self):
        self.log.append(self.tag)
        return self.tag * 2

    def __exit__(self, kind, error, trace):
        self.log.append(-self.tag)
        return True


def left_in_several_ways(n):
    noting = Noting([], 1)
    for i in range(n):
        with noting as tag:
            if i == 2:
                continue
            if i == 4:
                break
            noting.log.append(tag + 10 // (i - 1))
    return len(noting.log), sum(noting.log)


def test_a_with_is_left_in_several_ways():
    found = hb.batch(left_in_several_ways)(np.arange(7))
    assert np.stack(found, 1).tolist() == [list(left_in_several_ways(n)) for n in range(7)]


def test_a_list_that_the_object_of_a_with_changes_is_right_or_refused():
    def program(n):
        log = []
        with Noting(log, 1), Noting(log, 2) as tag:
            log.append(tag * 10 // (n - 3))
            if n == 1:
                raise KeyError
        return len(log)

    right_or_refused(program, [0, 2, 4, 5])
