"""The table of JAX's primitives: it names those of the installed JAX, and what is done for each is what it says."""

import jax
import pytest

from hlobatch import _jax
from hlobatch.jax_primitives import IN_KERNELS, TABLE, Batched, Costs, Primitive, Trait, batched, having, operations
from hlobatch.kernels import machine  # whose imports register all rules  # noqa: F401
from hlobatch.kernels.rules import ARRAYS, NUMBERS
from hlobatch.targets.cpu.batching import _CONTROL
from hlobatch.targets.cpu.batching_rules import RULES
from hlobatch.transforms.split_shared import _TAKING_LONG


def test_every_primitive_of_the_installed_jax_has_an_entry() -> None:
    missing = sorted(_jax.public_primitives() - TABLE.keys())
    assert not missing, (
        f"{', '.join(missing)}: no entry in hlobatch/jax_primitives.py. Add a line to `_KNOWN` that says what it "
        f"becomes, how it is batched, what it takes and what may be done with it; or its name to `_BATCHED_ALONE`, "
        f"if jax.vmap is all that there is for it."
    )


def test_what_nobody_has_heard_of_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax.lax, "frobnicate_p", _jax.Primitive("frobnicate"), raising=False)
    with pytest.raises(AssertionError, match=r"frobnicate: no entry in hlobatch/jax_primitives\.py\. Add a line"):
        test_every_primitive_of_the_installed_jax_has_an_entry()


def test_rules_for_all_lanes_are_those_of_the_table() -> None:
    of_the_walk = {"optimization_barrier", "random_unwrap", "random_wrap"}
    assert RULES.keys() == batched(Batched.EACH, Batched.AXES, Batched.OWN) - of_the_walk
    assert _CONTROL.keys() == batched(Batched.CONTROL)


def test_rules_for_one_lane_are_those_of_the_table() -> None:
    assert NUMBERS.keys() | ARRAYS.keys() == having(Trait.CODE)


def test_no_entry_contradicts_itself() -> None:
    assert not sorted(name for name, entry in TABLE.items() if not is_consistent(entry))


def is_consistent(entry: Primitive) -> bool:
    in_vectors, of_libm = Trait.TURNS in entry.traits, Trait.LIBM in entry.traits
    return all(
        [
            not in_vectors or (Trait.KERNEL in entry.traits and not of_libm),
            not of_libm or entry.costs is Costs.FUNCTION,
            not entry.traits & (Trait.LAPACK | Trait.FOREIGN) or Trait.KERNEL not in entry.traits,
            Trait.FOREIGN not in entry.traits or Trait.CODE not in entry.traits,
            Trait.LOOP not in entry.traits or entry.batched is Batched.CONTROL,
            not entry.traits & (Trait.READS | Trait.UPDATES) or entry.batched is Batched.OWN,
        ]
    )


def test_functions_take_long_wherever_that_is_asked() -> None:
    assert {"tanh", "cbrt", "erfc", "random_bits"} <= _TAKING_LONG
    assert "add" not in _TAKING_LONG


def test_operations_of_kernels_are_in_the_words_of_stablehlo() -> None:
    assert {"stablehlo.cosine", "stablehlo.compare", "stablehlo.round_nearest_even"} <= operations(IN_KERNELS)
    assert "stablehlo.sort" not in operations(IN_KERNELS)
