"""Static arguments that are equal, but not identical."""

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_functions import ints

import hlobatch as hb


def number_of_plans(function):
    """The number of plans for a function that is given an object."""
    return sum(len(kept.latest.plans) for kept in function._kept_with.values())


@dataclasses.dataclass(frozen=True)
class Factor:
    k: object


class Held:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return isinstance(other, Held) and self.k == other.k

    def __hash__(self):
        return hash(self.k)


class Remembering(Held):
    """Remembers what it has computed."""

    @functools.cached_property
    def double(self):
        return 2 * self.k


class Named(NamedTuple):
    k: object


def factor_in(holder):
    """The number in an object, however deep."""
    if isinstance(holder, int | float):
        return holder
    return factor_in(next(iter(holder))) if isinstance(holder, tuple | frozenset) else factor_in(holder.k)


HOLDERS = {
    "dataclass": Factor,
    "slots": Held,
    "attributes": Remembering,
    "named tuple": Named,
    "set": lambda k: frozenset([k]),
    "nested": lambda k: Factor((Held(frozenset([Factor(k)])),)),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_equal_objects_that_are_static_shared_a_program(name):
    """``Factor(1)``, ``Factor(1.0)`` and ``Factor(True)`` are equal, and what is computed with them is not."""

    @hb.batch(static_argnames="holder")
    def scaled(x, holder):
        return x * factor_in(holder), factor_in(holder) is True

    for _ in range(2):
        found = [scaled(ints(1, 2), HOLDERS[name](k)) for k in (1, 1.0, True, 1)]
        assert [x.dtype for x, _ in found] == ["int32", "float32", "int32", "int32"]
        assert [is_true[0] for _, is_true in found] == [False, False, True, False]
    assert number_of_plans(scaled) == 3


def test_an_object_that_has_computed_something_is_the_same():
    @hb.batch(static_argnames="holder")
    def scaled(x, holder):
        return x * holder.double

    for _ in range(3):
        assert scaled(ints(1, 2), Remembering(3)).tolist() == [6, 12]
    assert number_of_plans(scaled) == 1


def test_equal_objects_beside_arrays_shared_a_program():
    @functools.partial(jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=["k"])
    @dataclasses.dataclass
    class Scaled:
        x: object
        k: object

    @hb.batch
    def product(scaled, entries):
        return scaled.x * scaled.k, sum(entries)

    @hb.batch
    def either(x):
        scaled = Scaled(x, 1)
        if x > 1:
            scaled = Scaled(x, 1.0)
        return scaled.x * scaled.k

    for x in (np.arange(3), jnp.arange(3)):
        for _ in range(2):
            found = [product(Scaled(x, k), {k: x}) for k in (1, 1.0, True)]
            assert [a.dtype for a, _ in found] == ["int32", "float32", "int32"]
            assert [b.dtype for _, b in found] == ["int32", "float32", "int32"]
    with pytest.raises(hb.BatchTypeError, match=r"one has static \(1,\) beside its arrays, the other static \(1.0,\)"):
        either(ints(1, 2))
