"""Parts of functions: each is traced once, and its module has only what it uses and changes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlobatch._jax import ir, make_context
from hlobatch.lowering.module.splice import Splicer
from hlobatch.lowering.module.trim import Part, trimmed

NUMBERS = jax.ShapeDtypeStruct((3,), np.int32)
AVALS = dict.fromkeys("abcd", NUMBERS)


class Noted:
    """A function of four slots that counts how often it is traced; it reads two of them and changes two."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, a: Any, b: Any, c: Any, d: Any) -> list[Any]:
        self.times += 1
        return [a, b + d, c, d, b]


@pytest.fixture
def noted() -> Noted:
    return Noted()


def test_what_is_neither_used_nor_changed_is_left_out(noted: Noted) -> None:
    part = trimmed(noted, "abcd", "abcda", AVALS)
    assert (part.reads, part.writes) == (("b", "d"), ("b", "a"))
    b, d = jnp.arange(3), jnp.ones(3, int)
    assert [array.tolist() for array in part.run(b, d)] == [[1, 2, 3], [0, 1, 2]]


def test_a_part_is_traced_once(noted: Noted) -> None:
    part = trimmed(noted, "abcd", "abcda", AVALS)
    with make_context(), ir.Location.name("test"):
        splicer = Splicer(ir.Module.create(), ("cpu",))
        splicer.add(part.run, [NUMBERS] * 2, "part")
        splicer.finish()
    jax.make_jaxpr(part.run)(NUMBERS, NUMBERS)
    assert noted.times == 1


def test_it_has_its_operands_and_results_alone_in_a_module(noted: Noted) -> None:
    part = trimmed(noted, "abcd", "abcda", AVALS)
    with make_context(), ir.Location.name("test"):
        module = ir.Module.create()
        splicer = Splicer(module, ("cpu",))
        spliced = splicer.add(part.run, [NUMBERS] * 2, "part")
        whole = splicer.add(noted, [NUMBERS] * 4, "whole")
        splicer.finish()
        assert module.operation.verify()
        kinds = {
            ir.StringAttr(f.attributes["sym_name"]).value: ir.FunctionType(
                ir.TypeAttr(f.attributes["function_type"]).value
            )
            for f in module.body.operations
        }
    assert (len(kinds["part"].inputs), len(kinds["part"].results)) == (2, len(spliced.results)) == (2, 2)
    assert (len(kinds["whole"].inputs), len(kinds["whole"].results)) == (4, len(whole.results)) == (4, 5)
    assert "test_trim.py" in module.operation.get_asm(enable_debug_info=True)  # where the user wrote it


def test_what_a_function_does_not_use_is_an_operand_of_it_if_it_was_added_with_it() -> None:
    with make_context(), ir.Location.name("test"):
        module = ir.Module.create()
        splicer = Splicer(module, ("cpu",))
        spliced = splicer.add(lambda a, b, c: [b + 1], [NUMBERS] * 3, "one")
        splicer.finish()
        function = ir.SymbolTable(module.operation)[spliced.symbol]
        assert len(ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).inputs) == 3
        assert module.operation.verify()


def test_all_of_a_function_is_a_part_of_it() -> None:
    part = Part.all_of(lambda a, b: [b, a], [NUMBERS, NUMBERS])
    assert [array.tolist() for array in part(jnp.zeros(3, int), jnp.ones(3, int))] == [[1, 1, 1], [0, 0, 0]]
