"""The table of JAX's primitives.

Its names are those of the installed JAX, and each primitive has its listed properties.
"""

import jax
import pytest

from hlobatch import _jax
from hlobatch.jax_primitives import TABLE, Primitive, Trait, having
from hlobatch.kernels import machine  # whose imports register all rules  # noqa: F401
from hlobatch.kernels.rules import ARRAYS, NUMBERS
from hlobatch.transforms.split_shared import _TAKING_LONG


def test_every_primitive_of_the_installed_jax_has_an_entry() -> None:
    missing = sorted(_jax.public_primitives() - TABLE.keys())
    assert not missing, (
        f"{', '.join(missing)}: no entry in hlobatch/jax_primitives.py. Add a line to `_KNOWN` that says what it "
        f"takes and what may be done with it; or its name to `_OTHERS`, if nothing is to be said of it."
    )


def test_what_nobody_has_heard_of_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax.lax, "frobnicate_p", _jax.Primitive("frobnicate"), raising=False)
    with pytest.raises(AssertionError, match=r"frobnicate: no entry in hlobatch/jax_primitives\.py\. Add a line"):
        test_every_primitive_of_the_installed_jax_has_an_entry()


def test_rules_for_one_lane_are_those_of_the_table() -> None:
    assert NUMBERS.keys() | ARRAYS.keys() == having(Trait.CODE)


def test_no_entry_contradicts_itself() -> None:
    assert not sorted(name for name, entry in TABLE.items() if not is_consistent(entry))


def is_consistent(entry: Primitive) -> bool:
    return all(
        [
            Trait.FOREIGN not in entry.traits or Trait.CODE not in entry.traits,
            Trait.LOOP not in entry.traits or Trait.CONTROL in entry.traits,
        ]
    )


def test_functions_take_long_wherever_that_is_asked() -> None:
    assert {"tanh", "cbrt", "erfc", "random_bits"} <= _TAKING_LONG
    assert "add" not in _TAKING_LONG
