"""Runs that are interrupted and resumed, here or in another process, from any state.

They give what a single call gives.
"""

import copy
import io
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_stops import options

import hlobatch as hb

SIZE = 23
NUMBERS = np.arange(SIZE, dtype=np.int32) % 11


def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


def logistic(x, n):
    while n > 0:
        x, n = 3.9 * x * (1 - x), n - 1
    return x


def kept(state: hb.RunState) -> dict[str, np.ndarray[Any, Any]]:
    """A state after a round trip through a file."""
    file = io.BytesIO()
    np.savez(file, **state.arrays)
    file.seek(0)
    return dict(np.load(file))


def left_and_kept(f: hb.BatchedFunction[..., Any], steps: int, *args: Any) -> Any:
    """The result of a run that is left after every few steps, and goes on from a file."""
    state, seen = f.start(*args), [-1]
    for _ in range(1000):
        if state.is_done:
            break
        state = f.start(*args).with_arrays(kept(f.advance(state, steps)))
        assert state.done >= seen[-1]
        seen.append(state.done)
    assert state.done == state.size
    assert len(seen) > 3, "it was never left"
    return f.finish(state)


@pytest.mark.parametrize("way", [("auto", None, 2), ("case", 6, 1), ("sweep", 5, 2)])
def test_what_is_left_gives_what_a_call_gives(way: tuple[str, int | None, int]) -> None:
    """Recursion whose stacks grow on the way, in several forms."""
    f = hb.batch(fibonacci, max_stack_depth=6, **options(*way))
    assert left_and_kept(f, 7, NUMBERS).tolist() == [(1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)[n] for n in NUMBERS]


def test_the_bits_are_those_of_a_run_that_is_not_left() -> None:
    f = hb.batch(logistic)
    x, n = jnp.linspace(0.1, 0.9, SIZE), 10 * NUMBERS
    whole = f.finish(f.start(x, n))
    assert left_and_kept(f, 5, x, n).tobytes() == whole.tobytes()


def test_a_state_stays_as_it_is() -> None:
    f = hb.batch(fibonacci, lanes=4)
    state = f.advance(f.start(NUMBERS), 3)
    before = {name: np.array(array) for name, array in state.arrays.items()}
    for _ in range(2):
        assert f.finish(state).tolist() == f(NUMBERS).tolist()
        f.advance(state, 100)
    assert all((before[name] == np.asarray(array)).all() for name, array in state.arrays.items())


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_state_can_be_copied(copied: Any) -> None:
    f = hb.batch(fibonacci, lanes=4)
    state = f.advance(f.start(NUMBERS), 3)
    state = state.with_arrays(kept(state))
    other = copied(state)
    assert f.finish(other).tolist() == f(NUMBERS).tolist()
    shared = all(array is state.arrays[name] for name, array in other.arrays.items())
    assert shared == (copied is copy.copy)


def test_a_state_is_a_pytree_of_arrays() -> None:
    f = hb.batch(logistic)
    state = f.advance(f.start(jnp.linspace(0.1, 0.9, SIZE), 9 * NUMBERS), 4)
    leaves, treedef = jax.tree.flatten(state)
    assert treedef == jax.tree.structure(f.start(jnp.linspace(0.1, 0.9, SIZE), 9 * NUMBERS))
    assert hash(treedef) == hash(jax.tree.structure(state))
    again = jax.tree.unflatten(treedef, [np.asarray(leaf) for leaf in leaves])
    assert (f.finish(again) == f.finish(state)).all()
    assert [leaf.shape for leaf in jax.tree.leaves(jax.eval_shape(f.start, jnp.zeros(SIZE), NUMBERS))] == [
        leaf.shape for leaf in leaves
    ]


def test_within_a_jit() -> None:
    f = hb.batch(fibonacci, threads=2)
    state = jax.jit(lambda n, steps: f.advance(f.start(n), steps))(jnp.asarray(NUMBERS), 9)
    assert 0 < state.done < SIZE
    assert f.finish(jax.jit(f.advance)(state, 5)).tolist() == f(NUMBERS).tolist()
    with pytest.raises(hb.HloBatchError, match="finish cannot be traced"):
        jax.jit(f.finish)(state)


def test_lanes_that_fail_are_told_of_at_the_end() -> None:
    @hb.batch(dispatch="case")
    def f(n):
        total = 0
        while n > 0:
            if n == 7:
                raise ValueError(f"seven, and {total}")
            total, n = total + n, n - 1
        return total

    n = NUMBERS[:10]
    with pytest.raises(ValueError, match="lane 7 of 'f' raised ValueError: seven, and 0") as plain:
        f(n)
    with pytest.raises(ValueError, match="lane 7 of 'f' raised ValueError: seven, and 0") as left:
        left_and_kept(f, 2, n)
    assert left.value.unfinished == plain.value.unfinished
    assert left.value.outputs.tolist() == plain.value.outputs.tolist()


def test_steps_are_counted_over_all_of_a_run() -> None:
    f = hb.batch(logistic, max_steps=40, dispatch="case", threads=1)
    x, n = jnp.full(SIZE, 0.3), 5 * NUMBERS
    with pytest.raises(hb.StepLimitError) as plain:
        f(x, n)
    with pytest.raises(hb.StepLimitError) as left:
        left_and_kept(f, 4, x, n)
    assert left.value.lanes == plain.value.lanes != ()


@pytest.mark.slow
def test_stacks_that_grow_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 4)

    def deep(n):
        return 0 if n == 0 else 1 + 1 * deep(n - 1)

    f = hb.batch(deep, max_stack_depth=4, lanes=4, threads=1, dispatch="case")
    with pytest.raises(hb.StackOverflowError) as plain:
        f(NUMBERS)
    with pytest.raises(hb.StackOverflowError) as left:
        left_and_kept(f, 9, NUMBERS)
    assert left.value.unfinished == plain.value.unfinished != ()


SCALE = jnp.arange(4.0) + 1


def scaled(x, key, weights, n):
    while n > 0:
        x, n = (x * SCALE[n % 4] + weights.sum() + jax.random.uniform(key)).astype(jnp.bfloat16), n - 1
    return x, key


def test_shared_and_captured_arrays_keys_and_short_floats() -> None:
    f = hb.batch(scaled, in_axes=(0, 0, None, 0))
    keys = jax.random.split(jax.random.key(3), SIZE)
    given = jnp.linspace(0, 1, SIZE, dtype=jnp.bfloat16), keys, jnp.arange(3.0), 3 * NUMBERS
    found, expected = left_and_kept(f, 1, *given), f.finish(f.start(*given))
    assert found[0].tobytes() == expected[0].tobytes()
    assert (found[1] == keys).all()


def test_what_lanes_print_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    @hb.batch(dispatch="case")
    def f(n):
        while n > 0:
            print(n)
            n -= 1
        return n

    left_and_kept(f, 1, np.array([1, 3, 2]))
    assert sorted(capsys.readouterr().out.split("\n")) == sorted(
        ["", "lane 0: 1", "lane 1: 3", "lane 1: 2", "lane 1: 1", "lane 2: 2", "lane 2: 1"]
    )


def test_what_cannot_be_endless_goes_to_its_end_and_a_batch_may_be_empty() -> None:
    f = hb.batch(lambda n: n + 1)
    for state in (f.start(NUMBERS), jax.jit(f.start)(NUMBERS)):
        assert f.finish(f.advance(state, 1)).tolist() == (NUMBERS + 1).tolist()
    g = hb.batch(fibonacci)
    state = g.advance(g.start(NUMBERS[:0]), 5)
    assert state.is_done
    assert g.finish(state).tolist() == []


def test_states_of_others_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    f, g = hb.batch(fibonacci), hb.batch(logistic)
    state = g.start(jnp.ones(SIZE), NUMBERS)
    with pytest.raises(hb.StateError, match="none of this run"):
        f.advance(state, 1)
    with pytest.raises(hb.StateError, match="none of this run of 'fibonacci'"):
        f.start(NUMBERS).with_arrays(kept(state))
    with pytest.raises(hb.StateError):
        f.start(NUMBERS).with_arrays(kept(f.start(NUMBERS[1:])))
    with pytest.raises(hb.StateError):
        f.start(NUMBERS).with_arrays({})
    h = hb.batch(scaled, in_axes=(0, 0, None, 0))
    given = jnp.ones(SIZE, jnp.bfloat16), jax.random.split(jax.random.key(3), SIZE), jnp.arange(3.0), NUMBERS
    before = h.start(*given)
    monkeypatch.setitem(globals(), "SCALE", SCALE + 1)
    with pytest.raises(hb.StateError):
        h.finish(before)
    with pytest.raises(hb.StateError):
        h.start(*given).with_arrays(kept(before))
    with pytest.raises(TypeError, match="keep its arrays"):
        before.__reduce__()
    with pytest.raises(TypeError, match="a state is what start"):
        f.finish(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="steps is an int"):
        f.advance(f.start(NUMBERS), -1)


def test_damaged_states_are_refused(tmp_path: Path) -> None:
    """A truncated or changed file, and numbers of blocks, frames and inputs that do not exist."""
    f = hb.batch(fibonacci, lanes=4, threads=1)
    state = f.advance(f.start(NUMBERS), 9)
    arrays, path = kept(state), tmp_path / "state.npz"
    np.savez(path, **state.arrays)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x55
    path.write_bytes(content)
    with pytest.raises(hb.StateError, match="the file of a state is damaged"):
        f.start(NUMBERS).with_arrays(np.load(path))
    places = [
        name for name in arrays if name.endswith(("pc", "item", "head", ".pointer", "$return#0", "$return#0.frames"))
    ]
    assert len(places) == 6
    for name in places:
        for wrong in (-2, 1 << 30):
            changed = np.array(arrays[name])
            changed.reshape(-1)[-1] = wrong
            with pytest.raises(hb.StateError, match="the state is damaged: its array"):
                f.start(NUMBERS).with_arrays({**arrays, name: changed})
    with pytest.raises(hb.StateError):
        f.start(NUMBERS).with_arrays({name: array.tolist() for name, array in arrays.items()})
    assert f.finish(f.start(NUMBERS).with_arrays(arrays)).tolist() == f(NUMBERS).tolist()


def test_interrupted_on_the_way_it_is_as_far_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    f = hb.batch(fibonacci, threads=1)
    state, seen = f.advance(f.start(NUMBERS), 2), [0]

    def interrupt(*_: object) -> None:
        seen[0] += 1
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("hlobatch.runtime.course.Course.note", interrupt)
        with pytest.raises(hb.Interrupted) as caught:
            f.advance(state, 20)
    assert seen == [1]
    assert caught.value.state.done > state.done
    assert f.finish(caught.value.state).tolist() == f(NUMBERS).tolist()


PROGRAM = """
import sys, numpy as np, jax.numpy as jnp, hlobatch as hb

@hb.batch(lanes=5)
def f(x, n):
    def turns(x, n):
        return x if n == 0 else 3.7 * turns(x, n - 1) * (1 - x)
    return turns(x, n)

x, n = jnp.linspace(0.1, 0.9, 20), jnp.arange(20)
state = f.start(x, n)
if sys.argv[1] == "begin":
    np.savez(sys.argv[2], **f.advance(state, 5).arrays)
    np.save(sys.argv[2] + ".npy", f.finish(state))
else:
    state = state.with_arrays(np.load(sys.argv[2]))
    assert 0 < state.done < 20
    assert f.finish(state).tobytes() == np.load(sys.argv[2] + ".npy").tobytes()
"""


@pytest.mark.slow
def test_another_process_goes_on_bit_for_bit(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    for what in ("begin", "go on"):
        subprocess.run([sys.executable, file, what, str(tmp_path / "state.npz")], check=True)
