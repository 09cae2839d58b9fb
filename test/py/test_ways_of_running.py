"""Every way of running a batched function × every kind of argument, result and happening, with plain Python as judge.

A way takes a program and lanes, and returns what the batch of these lanes gives. Ways that cannot go with a kind are
refused with an error that says so: ``REFUSED`` has its text. By day each way and each kind takes its turn, and so do
the pairs that were once wrong; at night all pairs run.
"""

import copy
import functools
import io
import pickle
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kinds_of_programs import LANES, PROGRAMS, Pair, Program
from zoo import LOOP, UNOPTIMIZED

import hlobatch as hb

Index = Sequence[int]
Way = Callable[[Program, Index], Any]
WAYS: dict[str, Way] = {}


def way(run: Way) -> Way:
    WAYS[run.__name__] = run
    return run


def with_options(name: str, **options: Any) -> None:
    WAYS[name] = lambda p, index: p.batched(**options)(*p.arguments(index))


# Calls


@way
def called(p: Program, index: Index) -> Any:
    return p.batched()(*p.arguments(index))


@way
def called_often(p: Program, index: Index) -> Any:
    """The first call, calls from Python, and calls by compiled dispatch, with another batch in between."""
    f = p.batched()
    for some in (index, index, index, index, index[:1], index):
        p.judge(some, lambda some=some: f(*p.arguments(some)))
    return f(*p.arguments(index))


@way
def where_nothing_may_be_moved(p: Program, index: Index) -> Any:
    f, args = p.batched(), jax.tree.map(jnp.asarray, p.arguments(index))
    with jax.transfer_guard("disallow"):
        return f(*args)


@way
def called_by_name(p: Program, index: Index) -> Any:
    args = p.arguments(index)
    if len(p.names) < len(args):
        pytest.skip("parameters of the form *xs have no names")
    return p.batched()(**dict(reversed(list(zip(p.names, args, strict=True)))))


@way
def with_stats(p: Program, index: Index) -> Any:
    result, stats = p.batched().with_stats(*p.arguments(index))
    assert str(stats)
    return result


@way
def with_progress_and_time_limit(p: Program, index: Index) -> Any:
    return p.batched(timeout=100.0, progress=lambda _: None)(*p.arguments(index))


@way
def profiled(p: Program, index: Index) -> Any:
    f = p.batched()
    if index:  # an empty batch is refused
        assert str(hb.profile(f, seconds=0.2)(*p.arguments(index)))
    return f(*p.arguments(index))


@way
def from_threads(p: Program, index: Index) -> Any:
    """Several threads call a function that nobody has called before."""
    f, found = p.batched(), list[Any]()

    def run() -> None:
        try:
            p.judge(index, lambda: f(*p.arguments(index)))
        except BaseException as error:  # noqa: BLE001  # raised where the test sees it
            found.append(error)

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in found:
        raise error
    return f(*p.arguments(index))


# Parts of other computations


@way
def jitted(p: Program, index: Index) -> Any:
    return jax.jit(p.batched(max_stack_depth=64))(*p.arguments(index))


@way
def compiled_ahead(p: Program, index: Index) -> Any:
    traced = p.batched().trace(*p.arguments(index))
    assert str(traced.program)
    return traced.lower().compile()(*p.arguments(index))


@way
def in_a_branch(p: Program, index: Index) -> Any:
    """Beside a branch with zeros of the same type."""
    f, args = p.batched(max_stack_depth=64), p.arguments(index)

    def zeros() -> Any:
        return jax.tree.map(lambda x: jnp.full(x.shape, jnp.zeros((), x.dtype)), jax.eval_shape(f, *args))

    return jax.jit(lambda flag: jax.lax.cond(flag, lambda: f(*args), zeros))(True)


def twice(p: Program, index: Index) -> tuple[Any, ...]:
    """The arguments of two rows of the same lanes; shared ones are left out."""
    args = enumerate(p.arguments(index))
    return tuple(jax.tree.map(lambda x: jnp.stack([x, x]), x) for i, x in args if i not in p.shared)


def of_rows(p: Program, index: Index) -> Callable[[tuple[Any, ...]], Any]:
    """A function of the arguments that are not shared."""
    f, args = p.batched(max_stack_depth=64), p.arguments(index)

    def run(own: tuple[Any, ...]) -> Any:
        some = iter(own)
        return f(*[x if i in p.shared else next(some) for i, x in enumerate(args)])

    return run


def row(results: Any) -> Any:
    return jax.tree.map(lambda x: x[1], results)


@way
def mapped(p: Program, index: Index) -> Any:
    return row(jax.vmap(of_rows(p, index))(twice(p, index)))


@way
def mapped_over_no_rows(p: Program, index: Index) -> Any:
    none = jax.tree.map(lambda x: x[:0], twice(p, index))
    assert all(not len(x) for x in jax.tree.leaves(jax.vmap(of_rows(p, index))(none)))
    return row(jax.jit(jax.vmap(of_rows(p, index)))(twice(p, index)))


@way
def scanned(p: Program, index: Index) -> Any:
    run = of_rows(p, index)
    return row(jax.lax.scan(lambda carried, own: (carried, run(own)), 0, twice(p, index))[1])


@way
def recomputed(p: Program, index: Index) -> Any:
    return jax.jit(jax.checkpoint(p.batched(max_stack_depth=64)))(*p.arguments(index))


@way
def with_tangents(p: Program, index: Index) -> Any:
    """The values beside derivatives in both modes, and those of ``jax.linearize``."""
    f, args = p.batched(), p.arguments(index)

    def ones(x: Any) -> Any:
        return (
            jnp.ones_like(x) if jnp.issubdtype(jnp.result_type(x), np.inexact) else np.zeros(x.shape, jax.dtypes.float0)
        )

    values, tangents = jax.jvp(f, args, jax.tree.map(ones, args))
    again, linear = jax.linearize(f, *args)
    for one, other in zip(jax.tree.leaves(tangents), jax.tree.leaves(linear(*jax.tree.map(ones, args))), strict=True):
        if one.dtype != jax.dtypes.float0:
            np.testing.assert_allclose(np.asarray(one, np.complex64), np.asarray(other, np.complex64), rtol=1e-2)
    p.judge(index, lambda: again)
    backward = jax.vjp(f, *args)[1]
    backward(jax.tree.map(ones, values))
    return values


# Long runs, streams, files


@way
def paused(p: Program, index: Index) -> Any:
    """Its state is written to a file, and read."""
    f, args, file = p.batched(), p.arguments(index), io.BytesIO()
    np.savez(file, **f.advance(f.start(*args), 2).arrays)
    file.seek(0)
    return f.finish(f.advance(f.start(*args).with_arrays(np.load(file)), 1))


@way
def streamed(p: Program, index: Index) -> Any:
    """In chunks that do not divide the stream: the last one is shorter."""
    f, args = p.batched(), p.arguments(index)
    shared = {p.names[i]: args[i] for i in p.shared}
    own = tuple(x for i, x in enumerate(args) if i not in p.shared)
    everything = [*index, *index]
    stream, done = hb.stream(f, [own, own], chunk=3, **shared), 0
    while done < len(everything):
        p.judge(everything[done : done + 3], lambda: next(stream))
        done += len(everything[done : done + 3])
        assert stream.state == done
    with pytest.raises(StopIteration):
        next(stream)
    return f(*args)


def exported(p: Program, index: Index, folder: Path, *, kernels: bool = False, sizes: Index | None = None) -> Any:
    """From a file. An artifact gives no exceptions of lanes."""
    made = hb.export(p.batched(max_stack_depth=64), *p.arguments(index if sizes is None else sizes), kernels=kernels)
    assert repr(made)
    return hb.load(made.save(folder / "artifact"), classes=[Pair], kernels=kernels).call(*p.arguments(index))


WAYS["from_a_file"] = exported
WAYS["from_a_file_for_any_size"] = functools.partial(exported, sizes=())
WAYS["from_a_file_with_kernels"] = functools.partial(exported, kernels=True)


@way
def pickled(p: Program, index: Index) -> Any:
    """The function, its arguments and its results, and errors, are."""
    f = pickle.loads(cloudpickle.dumps(p.batched()))
    args = copy.deepcopy(p.arguments(index))
    args = args if p.name == "keys" else pickle.loads(pickle.dumps(args))
    try:
        result = copy.deepcopy(f(*args))
    except hb.LaneError as error:
        raise pickle.loads(pickle.dumps(error)) from None
    return result if p.name == "keys" else pickle.loads(pickle.dumps(result))


# Where the function stands


@way
def called_by_a_batched_function(p: Program, index: Index) -> Any:
    inner, args = hb.batch(p.function), p.arguments(index)
    outer = [lambda a: inner(a), lambda a, b: inner(a, b), lambda a, b, c: inner(a, b, c), lambda *xs: inner(*xs)]
    return hb.batch(outer[len(args) - 1], **p.all_options)(*args)


class Owner:
    """An object with a batched method."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @functools.partial(hb.batch, static_argnames="self")
    def one(self, a):
        return self.inner(a)

    @functools.partial(hb.batch, static_argnames="self")
    def two(self, a, b):
        return self.inner(a, b)


@way
def as_a_method(p: Program, index: Index) -> Any:
    args, owner = p.arguments(index), Owner(p.function)
    if p.all_options != {"in_axes": 0} or len(args) > 2:
        pytest.skip("the methods have no options, and at most two arguments")
    return (owner.one if len(args) == 1 else owner.two)(*args)


@way
def its_results_are_arguments(p: Program, index: Index) -> Any:
    result = p.batched()(*p.arguments(index))
    return result if result is None else hb.batch(lambda value: value)(result)


# Options

with_options("kernel", dispatch="kernel")
with_options("gang", dispatch="gang")
with_options("loop", optimizations=LOOP)
with_options("case", dispatch="case")
with_options("guarded", dispatch="guarded")
with_options("queue", optimizations=LOOP, lanes=2)
with_options("two_threads", optimizations=LOOP, threads=2)
with_options("unoptimized", optimizations=UNOPTIMIZED)
with_options("checked", checked=True)
with_options("growing_stacks", max_stack_depth=2)


NOT_JAXS = "is not a valid JAX type"
"""JAX refuses results that are objects of a class that it does not know, or texts that are known."""
INTO_JAX = ("jitted", "mapped", "mapped_over_no_rows", "scanned", "recomputed", "in_a_branch", "with_tangents")
INTO_FILES = ("from_a_file", "from_a_file_for_any_size", "from_a_file_with_kernels")
REFUSED = {
    **{(way, kind): NOT_JAXS for way in INTO_JAX for kind in ("objects", "dicts_in_order")},
    **{(way, "objects"): "an object of the class Account cannot be described" for way in INTO_FILES},
    **{(way, "registered"): "an object of the class Registered cannot be described" for way in INTO_FILES},
    **{(way, "prints"): "what is exported runs without it" for way in INTO_FILES},
    **{(way, "prints"): "has no kernel" for way in ("kernel", "gang")},
    ("its_results_are_arguments", "objects"): "register its class",
    ("its_results_are_arguments", "dicts_in_order"): "is 'sum', a str, not an array",
}
"""By way and kind, the error of those that do not go together."""
ONCE_WRONG = [
    ("called_often", "returns_nothing"),
    ("jitted", "raises_in_all_and_returns_nothing"),
    ("scanned", "raises_in_all_and_returns_nothing"),
    ("profiled", "returns_nothing"),
    ("streamed", "objects"),
    ("streamed", "dicts_in_order"),
    ("where_nothing_may_be_moved", "ragged"),
    ("with_progress_and_time_limit", "straight"),
    ("from_a_file", "any_number_of_arguments"),
    ("mapped_over_no_rows", "prints"),
]


def check(name: str, kind: str, folder: Path) -> None:
    """Compare a program that is run in one way with plain Python, for all of its lanes and for none."""
    p, refusal = PROGRAMS[kind], REFUSED.get((name, kind))
    run = functools.partial(WAYS[name], p, **{"folder": folder} if name in INTO_FILES else {})
    if refusal:
        with pytest.raises((hb.HloBatchError, TypeError), match=refusal):
            run(LANES)
        return
    for index in (LANES, ()):
        p.judge(index, functools.partial(run, index))


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("name", WAYS)
def test_every_way_goes_with_every_kind(name: str, kind: str, tmp_path: Path) -> None:
    check(name, kind, tmp_path)


@pytest.mark.parametrize(("name", "kind"), ONCE_WRONG)
def test_pairs_that_were_once_wrong(name: str, kind: str, tmp_path: Path) -> None:
    check(name, kind, tmp_path)
