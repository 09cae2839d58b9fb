"""Streams: for any sizes of batches, results are those of one call, in order, by one compiled program."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb


@hb.batch(in_axes=(0, 0, None))
def powers(x, n, scale):
    while n > 0:
        x, n = x * scale, n - 1
    return {"x": x, "n": n}


X, N, SCALE = np.linspace(0, 1, 20, dtype=np.float32), np.arange(20, dtype=np.int32) % 5, jnp.float32(1.5)


def batches(*sizes: int) -> Iterator[tuple[Any, Any]]:
    first = 0
    for size in sizes:
        yield X[first : first + size], N[first : first + size]
        first += size


@pytest.mark.parametrize(
    ("sizes", "chunk"), [((20,), 6), ((1,) * 20, 6), ((7, 0, 9, 4), 3), ((5, 5, 5, 5), 5), ((3, 17), 32), ((), 4)]
)
def test_results_come_in_order(sizes: tuple[int, ...], chunk: int) -> None:
    found = list(hb.stream(powers, batches(*sizes), chunk=chunk, scale=SCALE))
    assert [len(result["x"]) for result in found] == [min(chunk, sum(sizes) - i) for i in range(0, sum(sizes), chunk)]
    expected = powers(X, N, SCALE)
    for name in ("x", "n") if found else ():
        assert np.concatenate([result[name] for result in found]).tolist() == expected[name].tolist()


def test_a_stream_goes_on_from_its_state() -> None:
    first = hb.stream(powers, batches(7, 7, 6), chunk=4, scale=SCALE)
    begun = [next(first), next(first)]
    assert first.state == 8
    rest = hb.stream(powers, batches(7, 7, 6), chunk=4, state=first.state, scale=SCALE)
    found = np.concatenate([result["x"] for result in [*begun, *rest]])
    assert found.tolist() == powers(X, N, SCALE)["x"].tolist()


def test_no_more_is_read_than_a_chunk_takes() -> None:
    read: list[int] = []

    def numbers() -> Iterator[Any]:
        for i in range(1000):
            read.append(i)
            yield np.arange(2) + 2 * i

    stream = hb.stream(hb.batch(lambda n: n + 1), numbers())
    assert next(stream).tolist() == [1, 2]
    assert next(stream).tolist() == [3, 4]
    assert read == [0, 1]


def test_a_lane_that_raises_is_found_in_the_stream_which_goes_on() -> None:
    @hb.batch
    def inverse(n):
        if n == 6:
            raise ValueError("six")
        return 12 // (n + 1)

    stream = hb.stream(inverse, [np.arange(9)], chunk=5)
    assert next(stream).tolist() == [12, 6, 4, 3, 2]
    with pytest.raises(
        ValueError, match=r"lane 1 of 'inverse' raised(.|\n)*lane 0 of this chunk is input 5 of"
    ) as error:
        next(stream)
    assert error.value.lanes == (1,)
    assert len(error.value.outputs) == 4
    assert list(stream) == []
    assert stream.state == 9


def test_keys_and_progress_and_prints(capsys: pytest.CaptureFixture[str]) -> None:
    @hb.batch
    def f(key, n):
        print(n)
        return jax.random.uniform(key) + n

    keys, told = jax.random.split(jax.random.key(0), 5), list[hb.Progress]()
    given = [(keys[:2], jnp.arange(2)), (keys[2:], jnp.arange(2, 5))]
    found = np.concatenate(list(hb.stream(f, given, chunk=3, progress=told.append)))
    assert capsys.readouterr().out.count("\n") == 5  # nothing is printed of what fills a chunk up
    np.testing.assert_allclose(found, jax.vmap(jax.random.uniform)(keys) + np.arange(5))
    assert [(each.done, each.total, each.is_last) for each in told] == [
        (0, None, False),
        (3, None, False),
        (5, None, True),
    ]


def test_what_cannot_be_a_stream_is_refused() -> None:
    with pytest.raises(hb.BatchTypeError, match="takes a batched function"):
        hb.stream(abs, [])
    with pytest.raises(hb.BatchTypeError, match="of one size"):
        next(hb.stream(powers, [(X, N, SCALE)]))
    with pytest.raises(hb.BatchTypeError, match="along the first axis"):
        next(hb.stream(hb.batch(jnp.sum, in_axes=1), [np.ones((3, 4))]))
    with pytest.raises(ValueError, match="chunk is a positive int"):
        hb.stream(powers, [], chunk=0)
