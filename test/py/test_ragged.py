"""Results that are lists, sets, dicts and deques whose length differs between lanes: each is what Python returns."""

import copy
import dataclasses
import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_equivalence import EXECUTORS
from zoo import ZooProgram, integers

import hlobatch as hb
from hlobatch.ir.schema import from_schema

BATCH = np.array([5, 0, 20, 1, 2, 13, 9, 3, 4, 7, 6, 11, 8, 10, 12, 14, 15], np.int32)


def primes(n):
    found = []
    for k in range(2, n):
        if all(k % p for p in found):
            found.append(k)
    return found


def halves_of_squares(n):
    found = {}
    for k in range(n):
        found[k * k % 11] = k * 0.5
    return found


def remainders(n):
    found = set()
    for k in range(n):
        found.add(k * k % 7)
    return found, n


def last_items(n):
    queue = deque()
    for k in range(n):
        queue.append(k)
        if k % 3 == 2:
            queue.popleft()
    return queue


def last_three(n):
    queue = deque(maxlen=3)
    for k in range(n):
        queue.append(k)
    return queue


def triangle(n):
    return [[i] * i for i in range(n)]


def pairs(n):
    return {"pairs": [(i, i * 0.5) for i in range(n)], "n": n}


def counted_up(n):
    if n == 0:
        return []
    items = counted_up(n - 1)
    items.append(n)
    return items


def early(n):
    if n < 3:
        return []
    return [1, 2, n]


def counts(n):
    found = Counter()
    for k in range(n):
        found[k % 3] += 1
    return found


def by_remainder(n):
    found = defaultdict(list)
    for k in range(n):
        found[k % 3].append(k)
    return found


def in_this_order(n):
    found = OrderedDict()
    for k in range(n):
        found[-k] = n
    return found


def rows(n):
    return [[k, k + 1, n] for k in range(n)]


@dataclasses.dataclass
class Steps:
    length: int
    steps: list


def path(n):
    return Steps(n, [k * k for k in range(n)])


FUNCTIONS = (
    primes, halves_of_squares, remainders, last_items, last_three, triangle, pairs, counted_up, early, counts,
    by_remainder, in_this_order, rows,
)  # fmt: skip


def of_lane(result: Any, lane: int) -> Any:
    """The part of a result that belongs to a lane, with Python's numbers."""

    def own(part: Any) -> Any:
        return part[lane] if isinstance(part, hb.Ragged) else part[lane].item()

    return jax.tree.map(own, result, is_leaf=lambda part: isinstance(part, hb.Ragged))


def assert_as_python(function: Callable[..., Any], result: Any, batch: np.ndarray[Any, Any] = BATCH) -> None:
    wanted = [function(n.item()) for n in batch]
    found = [of_lane(result, lane) for lane in range(len(batch))]
    assert found == wanted
    assert [type(one) for one in found] == [type(one) for one in wanted]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_each_lane_has_what_python_returns(function: Callable[..., Any]) -> None:
    batched = hb.batch(function)
    for batch in (BATCH, BATCH[:1], BATCH[:0]):
        assert_as_python(function, batched(batch), batch)


FORMS = ("compiled", "stackless_numpy", "vm_numpy", "queue", "kernel_checked", "gang", "threads", "inside_jit")


@pytest.mark.parametrize(
    "executor",
    [
        pytest.param(name, marks=() if name in FORMS else pytest.mark.slow)
        for name in EXECUTORS
        if not name.startswith("interpret")
    ],
)
def test_every_executor_gives_the_lists(executor: str) -> None:
    program = ZooProgram("counted_up", hb.batch(counted_up), (integers(0, 20),), (0,), recursive=True)
    result = EXECUTORS[executor](program, 17)
    assert_as_python(counted_up, result, program.inputs(17)[0])


@pytest.mark.parametrize("function", [counted_up, triangle, halves_of_squares])
def test_the_interpreter_gives_the_containers_of_one_example(function: Callable[..., Any]) -> None:
    traced = hb.batch(function).trace(BATCH)
    assert hb.instructions.interpret(traced.program, jnp.int32(5)) == function(5)


def test_containers_get_more_room() -> None:
    assert hb.batch(rows)(jnp.array([1000, 3])).lengths.tolist() == [1000, 3]


def test_a_lane_that_fails_has_no_items() -> None:
    def up_to_four(n):
        found = []
        for k in range(n):
            assert k < 4
            found.append(k)
        return found

    with pytest.raises(hb.LaneError) as caught:
        hb.batch(up_to_four)(jnp.array([2, 8, 4]))
    assert caught.value.outputs.tolist() == [[0, 1], [], [0, 1, 2, 3]]


def test_attributes_of_objects_are_lists() -> None:
    found = hb.batch(path)(jnp.array([2, 3]))
    assert isinstance(found, Steps)
    assert found.steps.tolist() == [[0, 1], [0, 1, 4]]


def test_items_of_other_kinds() -> None:
    def made(n):
        return [(jax.random.key(k), jnp.arange(2) + k) for k in range(n)]

    ((_, first), (key, second)), _ = hb.batch(made)(jnp.array([2, 0]))
    assert (first.tolist(), second.tolist()) == ([0, 1], [1, 2])
    assert key == jax.random.key(1)


def test_padded_and_lengths_under_jit() -> None:
    @jax.jit
    def in_three_forms(n):
        found = hb.batch(primes)(n)
        return found, found.padded(-1), found.lengths

    found, padded, lengths = in_three_forms(jnp.array([5, 8]))
    assert found.tolist() == [[2, 3], [2, 3, 5, 7]]
    assert padded[:, :5].tolist() == [[2, 3, -1, -1, -1], [2, 3, 5, 7, -1]]
    assert lengths.tolist() == [2, 4]


def test_padded_begins_with_the_first_item_of_a_queue() -> None:
    found = hb.batch(last_items)(jnp.array([7, 3]))
    assert found.padded()[:, :6].tolist() == [[2, 3, 4, 5, 6, 0], [1, 2, 0, 0, 0, 0]]


def test_padded_dict_and_pairs() -> None:
    keys, values = hb.batch(halves_of_squares)(jnp.array([2, 1])).padded(np.nan)
    assert keys[:, 0].tolist() == [0, 0]
    np.testing.assert_array_equal(values[:, :3], [[0, 0.5, np.nan], [0, np.nan, np.nan]])


def test_vmap_adds_an_axis() -> None:
    found = jax.vmap(hb.batch(primes))(jnp.array([[3, 8], [2, 4]]))
    assert [part.tolist() for part in found] == [[[2], [2, 3, 5, 7]], [[], [2, 3]]]
    assert found.padded()[..., 1].tolist() == [[0, 3], [0, 3]]
    assert repr(found) == "Ragged(2 × 2 lists)"


def test_gradient() -> None:
    @hb.batch
    def multiples(x, n):
        return [x * k for k in range(n)]

    def total(x):
        return jnp.sum(multiples(x, jnp.array([3, 2])).padded())

    assert jax.grad(total)(jnp.array([1.0, 2.0])).tolist() == [3, 1]


@pytest.mark.parametrize("function", [primes, remainders, last_items, triangle, pairs, counts, by_remainder])
def test_artifacts_give_the_same_lists(function: Callable[..., Any], tmp_path: Path) -> None:
    batch = BATCH[:4] % 5
    artifact = hb.load(hb.export(hb.batch(function), batch).save(tmp_path / "lists"))
    result = artifact.call(batch)
    assert [of_lane(result, lane) for lane in range(len(batch))] == [function(n.item()) for n in batch]


@pytest.mark.parametrize(
    ("dtype", "items", "size"), [("int32", [], []), ("float32", [8], []), ("int32", [8], [3]), ("int32", [8], [8])]
)
def test_a_damaged_artifact_is_refused(dtype: str, items: list[int], size: list[int]) -> None:
    arrays = [{"kind": "array", "dtype": "int32", "shape": items}, {"kind": "array", "dtype": dtype, "shape": size}]
    with pytest.raises(hb.ArtifactError, match="growing 'list' that there cannot be"):
        from_schema({"kind": "growing", "class": "list", "items": [*arrays, {"kind": "none"}]})


def test_artifacts_name_the_arrays_of_a_list() -> None:
    artifact = hb.export(hb.batch(pairs), BATCH)
    named = {"['pairs'].items[0]: i32[17,64]", "['pairs'].items[1]: f32[17,64]", "['pairs'].size: i32[17]"}
    assert {f"result{name}" for name in named} <= set(artifact.results)


def test_streams_and_long_runs_give_lists() -> None:
    batched = hb.batch(primes)
    streamed = hb.stream(batched, iter([jnp.array([5, 8]), jnp.array([3])]), chunk=2)
    assert [chunk.tolist() for chunk in streamed] == [[[2, 3], [2, 3, 5, 7]], [[2]]]
    state = batched.advance(batched.start(jnp.array([5, 3])), 10_000)
    assert batched.finish(state).tolist() == [[2, 3], [2]]


def test_ragged_is_a_sequence_of_containers() -> None:
    found = hb.batch(primes)(jnp.array([5, 8, 3]))
    assert len(found) == 3
    assert found[-1] == [2]
    assert list(found) == found.tolist() == [[2, 3], [2, 3, 5, 7], [2]]
    assert (
        found[1:].tolist()
        == found[[1, 2]].tolist()
        == found[np.array([False, True, True])].tolist()
        == [[2, 3, 5, 7], [2]]
    )
    assert found[[]].tolist() == []
    assert pickle.loads(pickle.dumps(found)).tolist() == found.tolist()
    assert repr(found) == "Ragged(3 lists: [2, 3], [2, 3, 5, 7], [2])"
    with pytest.raises(IndexError, match="3 inputs"):
        found[3]
    with pytest.raises(IndexError, match="out of bounds"):
        found[[0, 3]]


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ([[1], [2, 3]], [[4] * 100]),
        (["a", "bc"], ["d" * 100]),
        ([{1}, set()], [set(range(100))]),
        ([{1: 2}, {3: 4, 0: 1}], [dict.fromkeys(range(100), 7)]),
        ([deque([1]), deque([2])], [deque(range(100))]),
        ([[["a"]], [["b", "cd"]]], [[["e" * 100] * 3, []]]),
        ([[(1, 2.0)], []], [[(3, 4.0)] * 100]),
    ],
)
def test_streams_join_batches_of_other_rooms(short: list[Any], long: list[Any]) -> None:
    batches = [hb.Ragged.of(short), hb.Ragged.of(long), hb.Ragged.of(short)]
    found = [one for result in hb.stream(same, batches, chunk=4) for one in result.tolist()]
    assert found == [*short, *long, *short]


def test_streams_join_a_queue_that_has_gone_round() -> None:
    """Its first item is not in the first row."""
    gone_round, long = hb.batch(last_three)(jnp.array([7, 200])), [deque(range(100))]
    found = [one for result in hb.stream(same, [gone_round, hb.Ragged.of(long)], chunk=3) for one in result.tolist()]
    assert found == [deque([4, 5, 6]), deque([197, 198, 199]), *long]


@hb.batch
def same(items):
    return items


def last_three(n):
    items = deque()
    for i in range(n):
        items.append(i)
        if len(items) > 3:
            items.popleft()
    return items


def test_ragged_without_values() -> None:
    shapes = jax.eval_shape(hb.batch(primes), jnp.array([5, 8]))
    assert repr(shapes) == "Ragged(2 lists)"
    assert repr(jax.tree.map(lambda _: None, shapes)) == repr(jax.tree.map(lambda _: 0, shapes)) == "Ragged(lists)"
    with pytest.raises(hb.BatchTypeError, match="without values"):
        shapes.tolist()


def test_what_is_no_array_says_so() -> None:
    found = hb.batch(primes)(jnp.array([5, 8]))
    with pytest.raises(hb.BatchTypeError, match="unequal lengths") as caught:
        np.asarray(found)
    assert "padded" in str(caught.value)
    with pytest.raises(hb.BatchTypeError, match="unequal lengths"):
        hb.batch(triangle)(jnp.array([2])).padded()
    with pytest.raises(hb.BatchTypeError, match="tracing"):
        jax.jit(lambda n: hb.batch(primes)(n).tolist())(jnp.array([2]))


# Arguments


def total(xs):
    found = 0
    for x in xs:
        found += x
    return found, len(xs)


def with_one_more(xs):
    xs.append(3)
    xs.sort()
    return xs


def folded(xs):
    if not xs:
        return 0
    x = xs.pop()
    return x + 2 * folded(xs)


def emptied(xs):
    found = 0
    while xs:
        found = found * 2 + xs.popleft()
        if len(xs) > 2:
            xs.append(1)
            xs.popleft()
    return found


def best(xs):
    return max(xs, key=xs.get, default=-1), sum(xs.values())


def symmetric(xs):
    return {x for x in range(5) if x in xs and -x in xs}


def second_items(xs):
    return [b for a, b in xs if a > 1]


def breadth_first(graph):
    seen, queue, found = [False] * len(graph), deque([0]), []
    seen[0] = True
    while queue:
        node = queue.popleft()
        found.append(node)
        for neighbour in graph[node]:
            if not seen[neighbour]:
                seen[neighbour] = True
                queue.append(neighbour)
    return found


def rows_grown(rows):
    for row in rows:
        row.append(len(row))
    rows.append([1, 2, 3])
    return rows


def sums_of_sets(xs):
    return [sum(sorted(x)) for x in xs]


def reversed_items(xs):
    return xs[::-1]


def merged(xs):
    found = {}
    for x in xs:
        found.update(x)
    return found


def lists_in_a_dict(xs):
    for key in xs:
        xs[key].append(key)
    return xs


def sums_beside(xs):
    return [a + sum(b) for a, b in xs]


LISTS = [[5, 1, 2], [], [7], [4, 4, 4, 4]]
GRAPHS = [[[1, 2], [0], [0]], [[1], [0, 2], [1, 3], []], [[]]]
ARGUMENTS = (
    (total, LISTS),
    (with_one_more, LISTS),
    (folded, LISTS),
    (emptied, list(map(deque, LISTS))),
    (best, [{3: 1, 4: 9}, {}, {-1: 0}]),
    (symmetric, [{1, -1, 3}, {0}]),
    (second_items, [[(1, 0.5), (2, 1.5)], [], [(5, 2.5)]]),
    (breadth_first, GRAPHS),
    (rows_grown, GRAPHS),
    (sums_of_sets, [[{1, 2}, {3}], [], [set(), {4}]]),
    (sums_beside, [[(1, [2]), (3, [4, 5])], [(1, [])]]),
    (reversed_items, [[[[1], [2, 3]], []], [[[4]]]]),
    (merged, [[{1: 2}, {3: 4, 1: 1}], [{}]]),
    (lists_in_a_dict, [{1: [1, 2], 2: []}, {5: [4]}]),
)


@pytest.mark.parametrize(("function", "containers"), ARGUMENTS, ids=lambda part: getattr(part, "__name__", ""))
def test_containers_as_arguments(function: Callable[..., Any], containers: list[Any]) -> None:
    result = hb.batch(function)(hb.Ragged.of(containers))
    found = [of_lane(result, lane) for lane in range(len(containers))]
    assert found == [function(copy.deepcopy(one)) for one in containers]


def test_what_one_function_returns_another_takes() -> None:
    found = hb.batch(primes)(BATCH)
    repeated = [hb.batch(total)(found) for _ in range(6)]  # as JAX's compiled dispatch takes them, too
    assert {tuple(one[0].tolist()) for one in repeated} == {tuple(sum(primes(n)) for n in BATCH.tolist())}
    within = jax.jit(lambda n: hb.batch(total)(hb.batch(primes)(n)))(BATCH)
    assert within[1].tolist() == found.lengths.tolist()


def test_parts_of_arguments_and_gradients() -> None:
    @hb.batch
    def weighted(given, scale):
        return sum(x * scale for x in given["xs"]) + given["more"]

    xs = hb.Ragged.of([[1.0, 2.0], [3.0]])
    given, scale = {"xs": xs, "more": jnp.array([0.5, 1.0])}, jnp.array([2.0, 3.0])
    assert weighted(given, scale).tolist() == [6.5, 10]
    assert jax.grad(lambda scale: jnp.sum(weighted(given, scale)))(scale).tolist() == [3, 3]
    slopes = jax.grad(lambda given: jnp.sum(weighted(given, scale)), allow_int=True)(given)
    assert jax.tree.leaves(slopes["xs"])[0][:, :2].tolist() == [[2, 2], [3, 0]]


def test_an_artifact_takes_lists() -> None:
    xs = hb.Ragged.of(LISTS)
    artifact = hb.export(hb.batch(total), xs)
    assert artifact.operands == ("xs.items: i32[4,64]", "xs.size: i32[4]")
    assert artifact.call(xs)[0].tolist() == [8, 0, 7, 16]


def test_room_of_an_argument() -> None:
    def counted(xs, n):
        for k in range(n):
            xs.append(k)
        return len(xs)

    n = jnp.array([3, 100])
    with pytest.raises(hb.LaneError, match="more than 64 items"):
        hb.batch(counted)(hb.Ragged.of([[1]] * 2), n)
    assert hb.batch(counted)(hb.Ragged.of([[1]] * 2, room=200), n).tolist() == [4, 101]
    assert hb.Ragged.of([[1] * 1000]).room >= 2000


@pytest.mark.parametrize(
    ("containers", "reason"),
    [
        ([[], []], "no container has an item"),
        ([], "there is no container"),
        ([[1], (2,)], "of the classes list, tuple"),
        ([[1], [(2, 3)]], "are not of one type"),
        ([[[1], [2.5, [3]]]], "1 and 2.5 are not of one type"),
        ([[[1], {2}]], r"\[1\] and \{2\} are not of one type"),
        ([[(1, [2]), (1, ())]], r"\[2\] and \(\) are not of one type"),
        ([[[]]], r"the item \[\] holds no number"),
        ([[np.zeros(2)], [np.zeros(3)]], "arrays of several shapes"),
        ([[b"a"]], "b'a', a bytes, and no number"),
        ([[1 << 40]], "too large for int32"),
    ],
)
def test_what_no_batch_of_containers_can_be(containers: list[Any], reason: str) -> None:
    with pytest.raises(hb.BatchTypeError, match=reason):
        hb.Ragged.of(containers)


def test_containers_lie_along_the_first_axis() -> None:
    with pytest.raises(hb.BatchTypeError, match=r"unequal lengths, hb\.Ragged, and in_axes is None"):
        hb.batch(lambda n, xs: n + len(xs), in_axes=(0, None))(BATCH, hb.Ragged.of(LISTS))


def test_a_batch_of_containers_from_outside_is_no_list() -> None:
    found = hb.batch(primes)(jnp.array([5, 8]))

    def item(n):
        return len(found[n])

    with pytest.raises(hb.HloBatchError, match="at an index that differs between lanes"):
        hb.batch(item)(jnp.array([0, 1]))


@pytest.mark.parametrize("kind", [Counter, lambda: defaultdict(int)], ids=["Counter", "defaultdict"])
def test_a_dict_of_one_that_knows_missing_keys_does_not(kind: Callable[[], Any]) -> None:
    def remainders_in_a_dict(xs):
        found = kind()
        for x in xs:
            found[x % 3] += 1
        plain = dict(found)
        try:
            missing = plain[99]
        except KeyError:
            missing = -1
        return plain, missing

    given = [[1, 2, 4], [3]]
    plain, missing = hb.batch(remainders_in_a_dict)(hb.Ragged.of(given))
    assert [(plain[lane], missing[lane].item()) for lane in (0, 1)] == list(map(remainders_in_a_dict, given))
    assert type(plain[0]) is dict


# Keys that may fail


def by_value(xs):
    squares = {x: x * x % 7 for x in xs}
    return sorted(squares, key=lambda k: (squares[k], k)), max(squares, key=lambda k: squares[k])


def by_quotient(xs):
    table = [5, 1, 4]
    try:
        return min(xs, key=lambda k: table[k] // (k - 1))
    except ZeroDivisionError:
        return -7
    except IndexError:
        return -8


def of_a_queue(xs):
    queue = deque(xs)
    queue.rotate(1)
    queue.append(queue.popleft())
    table = [3, 1, 2, 5]
    return sorted(queue, key=lambda k: table[k])


@pytest.mark.parametrize("function", [by_value, by_quotient, of_a_queue])
def test_a_key_fails_as_that_of_the_first_item_that_fails(function: Callable[..., Any]) -> None:
    """The third list divides by zero before it reads outside of the table, the fourth the other way round."""
    lists = [[2, 0], [2, 0, 2], [0, 1, 3], [3, 1], [2, 3]]

    def python(one: list[int]) -> Any:
        try:
            return function(one)
        except LookupError as error:
            return type(error)

    try:
        result, errors = hb.batch(function)(hb.Ragged.of(lists)), {}
    except hb.LaneError as error:
        result, errors = error.outputs, error.errors
    found = [type(errors[lane]) if lane in errors else of_lane(result, lane) for lane in range(len(lists))]
    assert found == list(map(python, lists))


# Exceptions made of containers


class Basket:
    def __init__(self, items):
        self.items = items


def told_of_a_list(xs):
    if len(xs) > 2:
        raise ValueError(f"{len(xs)} {xs} {xs[-1]} {sum(xs)} {sorted(xs)} {xs[1:]} {[2 * x for x in xs]}", xs)
    return 1


def told_of_a_set(xs):
    members = set(xs)
    if len(xs) > 2:
        raise KeyError(len(members), 4 in members, sorted(members))
    return 1


def told_of_a_dict(xs):
    counts = {x: 2 * x for x in xs}
    if len(xs) > 2:
        raise KeyError(len(counts), counts, counts.get(99), f"{list(counts.items())}")
    return 1


def told_of_an_object(xs):
    basket, is_small = Basket([*xs, 7]), len(xs) < 3
    if not is_small:
        raise AssertionError(f"{len(basket.items)} of {basket.items}")
    return 1


def told_of_rows(xs):
    rows = [xs[:k] for k in range(len(xs))]
    if len(xs) > 2:
        raise ValueError(f"{len(rows)} rows of {len(xs)}")
    return 1


@pytest.mark.parametrize("function", [told_of_a_list, told_of_a_set, told_of_a_dict, told_of_an_object, told_of_rows])
def test_an_exception_is_made_of_containers_as_in_python(function: Callable[..., Any]) -> None:
    lists = [[5, 1, 2], [4], [4, 4, 4, 9]]
    with pytest.raises(hb.LaneError) as caught:
        hb.batch(function)(hb.Ragged.of(lists))
    for lane, xs in enumerate(lists):
        if len(xs) < 3:
            assert lane not in caught.value.errors
            continue
        with pytest.raises(Exception) as wanted:  # noqa: PT011
            function(xs)
        found = caught.value.errors[lane]
        assert (type(found), found.args) == (wanted.type, wanted.value.args)


def test_an_exception_that_is_made_of_too_many_items_keeps_its_class() -> None:
    def counted(xs):
        if len(xs) > 100:
            raise ValueError(f"{len(xs)} items: {xs}")
        if len(xs) > 50:
            raise KeyError(f"{sum(xs)}")
        return 1

    with pytest.raises(hb.LaneError) as caught:
        hb.batch(counted)(hb.Ragged.of([[1] * 300, [1], [1] * 60]))
    assert str(caught.value.errors[0]) == "300 items: …"
    assert isinstance(caught.value.errors[2], KeyError)
    assert "sum(xs)" in str(caught.value.errors[2])
