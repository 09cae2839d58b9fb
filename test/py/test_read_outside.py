"""Variables that a function reads from outside have their values at the call, whatever they were in earlier calls."""

import functools
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from changing_state import KINDS, outcomes

import hlobatch as hb
from hlobatch import mcmc

ZEROS = np.zeros(2, np.float32)
OFFSET: Any = 1.0
TABLE = np.zeros(2, np.float32)
NUMBERS = {"a": 1.0}
ITEMS = [1.0]
SPACE = types.SimpleNamespace(n=1.0, other=0)


class Model:
    scale = 1.0

    def __init__(self):
        self.y = 1.0
        self.calls = 0

    def value(self):
        return self.y * self.scale

    def __call__(self, x):
        return x + self.value()


MODEL = Model()


def helper():
    return OFFSET


def named(x):
    return x + OFFSET


def by_helper(x):
    return x + helper() if x > -1 else x


def in_array(x):
    return x + TABLE.sum()


def in_dict(x):
    return x + NUMBERS["a"]


def in_list(x):
    return x + sum(ITEMS)


def in_attribute(x):
    return x + SPACE.n


def in_object(x):
    return x + MODEL.value()


def by_default(x, y=None, table=TABLE):
    return x + table.sum()


def around():
    n = 1.0

    def reads(x):
        return x + n

    def assigns(value):
        nonlocal n
        n = value

    return reads, assigns


READS, ASSIGNS = around()


def function_of(n):
    return lambda: n


def rebind(name, value):
    globals()[name] = value


CHANGES = [
    (named, lambda v: rebind("OFFSET", v)),
    (named, lambda v: rebind("OFFSET", jnp.float32(v))),
    (by_helper, lambda v: rebind("OFFSET", v)),
    (by_helper, lambda v: rebind("helper", function_of(v))),
    (in_array, lambda v: TABLE.fill(v / 2)),
    (in_array, lambda v: rebind("TABLE", np.full(2, v / 2, np.float32))),
    (in_dict, lambda v: NUMBERS.update(a=v)),
    (in_list, lambda v: ITEMS.__setitem__(0, v)),
    (in_attribute, lambda v: setattr(SPACE, "n", v)),
    (in_object, lambda v: setattr(MODEL, "y", v)),
    (in_object, lambda v: (setattr(MODEL, "y", 1.0), setattr(Model, "scale", v))),
    (in_object, lambda v: (setattr(MODEL, "y", v), rebind("MODEL", MODEL))),
    (MODEL, lambda v: (setattr(Model, "scale", 1.0), setattr(MODEL, "y", v))),
    (functools.partial(named), lambda v: rebind("OFFSET", v)),
    (READS, ASSIGNS),
]


@pytest.mark.parametrize(("function", "change"), CHANGES, ids=range(len(CHANGES)))
def test_what_is_read_outside_is_as_it_is_now(function, change):
    def calls(x):
        return function(x) if x > -1 else x

    Model.scale = 1.0
    saved = {name: globals()[name] for name in ("OFFSET", "TABLE", "MODEL", "helper")}
    for batched in (hb.batch(calls), hb.batch(lambda x: function(x))):
        for value in (3.0, 4.0, 3.0):
            change(value)
            assert batched(ZEROS).tolist() == [value, value]
    globals().update(saved)


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint64, np.int32, np.float32])
@pytest.mark.parametrize(
    "read", [lambda a, x: a[x], lambda a, x: jnp.take(a, x), lambda a, x: (a + x)[1] - x], ids=range(3)
)
def test_an_array_is_as_it_is_now_whatever_jax_has_made_of_it(dtype, read):
    """Of an array of 64 bits JAX makes one of 32, which it keeps for as long as anything holds it."""
    table, single = np.array([1, 2, 3], dtype), np.array(4, dtype)
    batched = hb.batch(lambda x: read(table, x) + single * (x + 1))
    for value in (5, 6, 5):
        table[1] = value
        single[...] = value
        assert batched(np.ones(2, np.int32)).tolist() == [3 * value] * 2


def test_objects_that_are_given_are_as_they_are_now():
    @hb.batch(static_argnames="model")
    def run(x, model):
        return x + model.value()

    model = Model()
    for value in (3.0, 4.0, 3.0):
        model.y = value
        assert run(ZEROS, model).tolist() == [value * Model.scale] * 2


def test_what_was_made_is_found_again():
    """After a change back, after one of what is not read, and where what is bound anew is equal."""

    def calls(x):
        return x + OFFSET + MODEL.y

    batched = hb.batch(calls)

    def plans():
        return [made.plans[key] for made in (batched._kept.latest,) for key in made.plans]

    rebind("OFFSET", 3.0)
    batched(ZEROS)
    first = plans()
    MODEL.calls += 1
    SPACE.other += 1
    batched(ZEROS)
    assert plans() == first
    rebind("OFFSET", float("3.0"))
    batched(ZEROS)
    assert plans() == first
    rebind("OFFSET", 4.0)
    batched(ZEROS)
    assert plans() != first
    rebind("OFFSET", 3.0)
    batched(ZEROS)
    assert plans() == first


def mean_of(log_density):
    how = {"chains": 2, "num_warmup": 60, "num_samples": 40, "progress": False}
    return float(mcmc.sample(log_density, {"m": 0.0}, jax.random.key(0), **how).draws["m"].mean())


DATA: Any = jnp.zeros(5)


class Posterior:
    def __init__(self):
        self.y = np.zeros(5, np.float32)

    def log_density(self, p):
        return -0.5 * jnp.sum((self.y - p["m"]) ** 2)


def log_density(p):
    return -0.5 * jnp.sum((DATA - p["m"]) ** 2)


def test_sampling_reads_the_data_as_they_are_now():
    rebind("DATA", jnp.zeros(5))
    assert abs(mean_of(log_density)) < 5
    rebind("DATA", jnp.full(5, 100.0))
    assert abs(mean_of(log_density) - 100) < 5
    posterior = Posterior()
    assert abs(mean_of(posterior.log_density)) < 5
    posterior.y[:] = 100
    assert abs(mean_of(posterior.log_density) - 100) < 5


BY_DAY, BY_NIGHT, EACH = len(KINDS), 3_000, 30


@pytest.mark.parametrize("seed", range(BY_DAY))
def test_state_of_each_kind_is_as_it_is_now(seed, tmp_path):
    """Regressions: a global tuple, methods, defaults and code of functions that were replaced had earlier values."""
    check_state(range(seed, seed + 1), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(BY_DAY, BY_NIGHT, EACH))
def test_state_of_several_kinds_is_as_it_is_now(first, tmp_path):
    check_state(range(first, first + EACH), tmp_path)


def check_state(seeds, folder):
    found = [(seed, *outcome) for seed in seeds for outcome in outcomes(seed, folder)]
    assert [one for one in found if one[1] == "wrong"] == []
    assert sum(kind == "ran" for _, kind, _ in found) > len(found) // 3
