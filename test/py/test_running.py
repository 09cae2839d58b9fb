"""Regressions: runs that ended too late, too early, or not at all."""

import copy
import gc
import importlib
import linecache
import os
import re
import threading
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shares import forms
from small_functions import fibonacci, ints

import hlobatch as hb


def test_compiled_program_took_its_depth_for_a_later_one() -> None:
    f = hb.batch(fibonacci.function, max_stack_depth=2)
    compiled = f.trace(ints(5, 9)).lower().compile()
    for _ in range(2):
        assert compiled(ints(5, 9)).tolist() == [8, 55]


def test_threads_grew_each_others_stacks() -> None:
    f = hb.batch(fibonacci.function, max_stack_depth=2)
    found: dict[int, list[int]] = {}

    def run(n: int) -> None:
        found[n] = f(ints(*range(n))).tolist()

    threads = [threading.Thread(target=run, args=(n,)) for n in (4, 8, 12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    truth = f(ints(*range(12))).tolist()
    assert found == {n: truth[:n] for n in (4, 8, 12)}


def collatz(n):
    def step(state):
        n, steps = state
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return jax.lax.while_loop(lambda state: state[0] != 1, step, (n, 0))[1]


@hb.batch
def inner_loop(n, k):
    """While a lane waits in the loop, ``m`` is 0, of which ``collatz`` never ends."""
    m = 0
    while k > 0:
        m = jnp.where(k == 1, n, 0)
        k = k - 1
    return n + collatz(m)


def test_inner_loop_ran_on_junk_in_a_sweep() -> None:
    sweep = hb.batch(inner_loop.function, dispatch="sweep")
    assert sweep(ints(1, 3), ints(3, 2)).tolist() == [1, 10]


def test_inner_loop_ran_on_junk_where_steps_ran_out() -> None:
    for steps in range(2, 8):
        with pytest.raises(hb.StepLimitError):
            hb.batch(inner_loop.function, max_steps=steps)(ints(3, 3), ints(50, 1))


def test_vmap_over_nothing() -> None:
    assert jax.vmap(fibonacci)(np.zeros((0, 3), np.int32)).shape == (0, 3)
    assert jax.jit(jax.vmap(fibonacci))(np.zeros((2, 0), np.int32)).shape == (2, 0)


def test_disable_jit_recursed_forever() -> None:
    with jax.disable_jit():
        assert fibonacci(ints(3, 4)).tolist() == [3, 5]


def test_select_of_a_python_object() -> None:
    @hb.batch
    def tagged(x):
        if x > 0:
            pair = (x + 1, "tag")
        else:
            pair = (x * 2, "tag")
        return pair[0]

    assert tagged(ints(1, -2)).tolist() == [2, -4]


@pytest.mark.usefixtures("optimized_in_full")
@pytest.mark.parametrize("dispatch", forms("small_loop_of_a_reduction_never_ended"))
def test_small_loop_of_a_reduction_never_ended(dispatch: str) -> None:
    """A block kept out of line hung where XLA compiles a small loop into one function."""

    @hb.batch(dispatch=dispatch)
    def halved(y):
        while jnp.sum(y) > 1.0:
            y = y / 2
        return y

    y = np.arange(35, dtype=np.float32).reshape(5, 7)
    expected = [row / 2.0 ** max(0, int(np.ceil(np.log2(row.sum())))) for row in y]
    np.testing.assert_array_equal(halved(y), np.stack(expected))


@pytest.mark.usefixtures("optimized_in_full")
@pytest.mark.parametrize("dispatch", ["chain", "guarded"])
def test_a_passed_over_block_did_its_work_in_every_turn(dispatch: str) -> None:
    """XLA moved what a block reads and does not change out of the loop the block stands in."""

    @hb.batch(dispatch=dispatch)
    def noise_then_count(key, n):
        total = jnp.sum(jax.random.normal(key, (50,)))
        while n > 0:
            n = n - 1
        return total + jnp.sum(jax.random.normal(key, (60,)))

    keys = jax.random.split(jax.random.key(0), 300)
    text = noise_then_count.trace(keys, ints(*range(300))).lower().compile().as_text()
    assert not hoisted(text, "_normal")


def hoisted(text: str, what: str) -> list[str]:
    """Instructions made by ``what`` that stand in the outermost loop's own body."""
    outermost = re.findall(r"while\([^)]*\), condition=\S+, body=(%[\w.-]+)", text.split("ENTRY")[1])
    bodies = [
        body for name in outermost for body in re.findall(rf"^{re.escape(name)} .*?^}}", text, re.MULTILINE | re.DOTALL)
    ]
    assert bodies
    return [line for body in bodies for line in body.splitlines() if what in line and " while(" not in line]


@pytest.mark.parametrize("dispatch", forms("loops_in_which_nothing_happens"))
def test_loops_in_which_nothing_happens(dispatch):
    """A block that only asks, and goes to itself, was asked past without end; so was one that leads to another such."""

    @hb.batch
    def waits(x):
        while x < 0:
            x = x
        return x

    @hb.batch
    def called(x):
        if x < 0:
            return called(x)
        return x

    @hb.batch
    def calls(x):
        y = called(abs(x))
        return y if y >= 0 else called(-y)

    @hb.batch
    def in_turns(x, y):
        while x < 0:
            while y < 0:
                x = x
            y = y
        return x + y

    x = ints(3, 0, 7)
    for function, arguments, results in (
        (waits, [x], x),
        (called, [x], x),
        (calls, [-x], x),
        (in_turns, [x, x], 2 * x),
    ):
        run = hb.batch(function.function, dispatch=dispatch, max_steps=50)
        assert run(*arguments).tolist() == results.tolist()
    for function, arguments in ((waits, [-x]), (called, [-x]), (in_turns, [-x, x]), (in_turns, [-x, -x])):
        with pytest.raises(hb.StepLimitError, match="lanes 0, 2"):
            hb.batch(function.function, dispatch=dispatch, max_steps=50)(*arguments)


@pytest.mark.parametrize("dispatch", forms("inputs_that_are_done_where_they_begin_ended_the_run"))
@pytest.mark.parametrize("lanes", [1, 2, 8])
def test_inputs_that_are_done_where_they_begin_ended_the_run(dispatch, lanes):
    """All lanes in flight were done with the inputs that they had just taken, and no block had run."""

    @hb.batch(dispatch=dispatch, lanes=lanes)
    def loop(n):
        s = 7
        while n > 1:
            n = n - 1
            s += 2
        return s

    @hb.batch(dispatch=dispatch, lanes=lanes)
    def recursion(n):
        if n <= 1:
            return n
        return recursion(n - 1) + recursion(n - 2)

    n = np.array([5, 0, 1, 0, 0, 0, 0, 0, 0, 6, 0, 0, 1, *[0] * 20, 4], np.int32)
    assert loop(n).tolist() == [7 + 2 * max(x - 1, 0) for x in n]
    assert recursion(n).tolist() == [{4: 3, 5: 5, 6: 8}.get(int(x), x) for x in n]


def written(path, constant):
    """A module with a function that adds a constant, written anew."""
    body = f"    while x < 0:\n        x = -x\n    return x + {constant}\n"
    path.write_text(f"import hlobatch as hb\n\n@hb.batch\ndef f(x):\n{body}")
    when = path.stat().st_mtime + constant  # Python knows a file by its second
    os.utime(path, (when, when))


def test_a_module_that_was_imported_again_ran_as_it_was(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "imported_again.py"
    written(path, 1)
    module = importlib.import_module("imported_again")
    old = module.f
    assert old(ints(0, -2)).tolist() == [1, 3]
    written(path, 100)
    linecache.checkcache()
    assert old(np.array([0, -2], np.int8)).tolist() == [1, 3]
    with pytest.raises(hb.UnsupportedSyntaxError, match="cannot be read"):
        hb.batch(types.FunctionType(old.function.__code__.replace(co_name="g"), vars(module)))(ints(1))
    module = importlib.reload(module)
    assert module.f(ints(0, -2)).tolist() == [100, 102]
    assert old(ints(0, -2)).tolist() == [1, 3]
    assert copy.deepcopy(old) is old


def test_captured_arrays_were_kept_for_ever():
    """By JAX's caches, through the plan that an equation has and what had been compiled of it."""

    def run(number, inside_jit):
        held = jnp.full((311, 7), float(number))

        @hb.batch
        def total(n):
            s = 0.0
            while n > 0:
                s = s + held[n, 0]
                n = n - 1
            return s

        assert (jax.jit(total) if inside_jit else total)(jnp.arange(3)).tolist() == [0, number, 2 * number]

    for number in range(3):
        for inside_jit in (False, True):
            run(number, inside_jit)
    gc.collect()
    assert not [array for array in jax.live_arrays() if array.shape == (311, 7)]
