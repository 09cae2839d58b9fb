"""The table of passes: its names, switches and order agree with the compiler, the command line and the docs."""

import dataclasses
import re
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import pytest

import hlobatch as hb
from hlobatch import opt
from hlobatch.transforms import registry
from hlobatch.transforms.pipeline import observed
from hlobatch.transforms.registry import Given, passes

SWITCHES = sorted({switch for found in passes() for switch in found.switches} | {"merge_lists"})


def fibonacci(n: Any) -> Any:
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


def ran(optimizations: hb.Optimizations) -> list[str]:
    """The names of the passes that run, with some schedule under which blocks are ordered."""
    seen: list[str] = []
    with observed(lambda name, _: seen.append(name)):
        traced = hb.batch(fibonacci, optimizations=optimizations, schedule="most_lanes").trace(jnp.arange(3))
        _ = traced.machine_program
    return list(dict.fromkeys(seen))  # types are found more than once


def test_names_are_of_one_pass_each() -> None:
    names = [found.name for found in passes()]
    assert len(names) == len(set(names))
    assert {found.repeats for found in passes()} <= {"", *names}


def test_passes_run_in_the_order_of_the_table() -> None:
    wanted = [found.name for found in passes() if found.runs(Given())]
    assert ran(hb.Optimizations()) == wanted
    assert wanted == [found.name for found in passes() if found.name != "separate-narrowed"]


@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_leaves_out_what_the_table_says(switch: str) -> None:
    left_out = set(ran(hb.Optimizations())) - set(ran(replace(hb.Optimizations(), **{switch: False})))
    assert left_out == {found.name for found in passes() if switch in found.switches}
    assert bool(left_out) == (switch != "merge_lists")  # a pass that has two things to do, of which one remains


@pytest.mark.parametrize("found", [p for p in passes() if p.switches and not p.repeats], ids=lambda found: found.name)
def test_a_switch_is_described_as_its_pass_is(found: registry.Pass) -> None:
    (switch,) = found.switches
    assert switch in {field.name for field in dataclasses.fields(hb.Optimizations)}
    attributes = (hb.Optimizations.__doc__ or "").partition("Attributes:")[2]
    described = re.search(rf"\b{switch}: (.*?)(?=\n        \w|\Z)", attributes, re.DOTALL)
    assert described is not None
    text = " ".join(described[1].split())
    assert text.startswith(found.summary[0].upper() + found.summary[1:])


def test_modules_have_the_passes_of_the_table_that_can_do_something_to_them() -> None:
    wanted = {p.name for p in passes() if not (p.opens_code or p.repeats)} - {p.name for p in registry.TYPING}
    others = {"simplify-cfg", "check-definedness", "infer-types", "liveness", "round-trip", opt.TO_STABLEHLO}
    assert opt.SUMMARIES.keys() == (wanted - {"ask-ahead"}) | others
