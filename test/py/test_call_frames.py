"""Call frames.

The variables saved in one frame, where frames are pushed and popped, and variables with their own pointer.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from by_hand import INT, block, program, step

import hlobatch as hb
from hlobatch.analysis.call_frames import CallFrames
from hlobatch.instructions import (
    HALT,
    BranchOp,
    GotoOp,
    IndirectGotoOp,
    PopOp,
    Program,
    PushGotoOp,
    PushOp,
    VariableAllocation,
)

RETURN = "$return"
CALL = step("n -> n")


def saving(*blocks: Any) -> Program:
    """A program whose variables all have a stack."""
    return program(
        *blocks,
        var_defs=dict.fromkeys(("n", "l", RETURN), INT),
        var_alloc=dict.fromkeys(("n", "l", RETURN), VariableAllocation.FULL),
    )


def call(back: str, name: str = RETURN) -> PushGotoOp:
    return PushGotoOp(back, "f", name)


LEAF = block("leaf", IndirectGotoOp(RETURN))
FIBONACCI = (
    block("f", step("n -> c"), BranchOp("c", "leaf", "first")),
    LEAF,
    block("first", PushOp(("n",)), CALL, call("second")),
    block("second", PopOp(("n",)), step("-> l"), PushOp(("l",)), call("last")),
    block("last", PopOp(("l",)), step("l -> r"), IndirectGotoOp(RETURN)),
)


def moves(calls: CallFrames, name: str) -> list[str]:
    return calls.moved(calls.program.graph.block(name))


def test_all_that_a_recursion_saves_is_in_one_frame() -> None:
    calls = CallFrames(saving(*FIBONACCI))
    assert calls.pointers == dict.fromkeys(("n", "l", RETURN), RETURN)
    assert moves(calls, "first") == ["n", RETURN]
    assert moves(calls, "last") == ["l", RETURN]


def test_a_return_touches_no_stack() -> None:
    calls = CallFrames(saving(*FIBONACCI))
    assert moves(calls, "leaf") == []


def test_a_call_after_a_call_keeps_the_frame() -> None:
    calls = CallFrames(saving(*FIBONACCI))
    first, second, last = map(calls.program.graph.block, ("first", "second", "last"))
    assert (calls.moved_down(first), calls.moved_up(first)) == (None, RETURN)
    assert (calls.moved_down(second), calls.moved_up(second)) == (None, None)
    assert (calls.moved_down(last), calls.moved_up(last)) == (RETURN, None)
    assert calls.moved(second) == ["n", "l"]


def test_what_stays_saved_from_one_call_to_the_next_is_in_the_frame() -> None:
    calls = CallFrames(
        saving(
            LEAF.replace(name="f"),
            block("first", PushOp(("n",)), CALL, call("second")),
            block("second", PushOp(("l",)), CALL, call("last")),
            block("last", PopOp(("l", "n")), IndirectGotoOp(RETURN)),
        )
    )
    assert calls.pointers == dict.fromkeys(("n", "l", RETURN), RETURN)


OWN = {"n": "n", RETURN: RETURN}
"""Only the return address is in a frame."""


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param(
            [
                block("first", PushOp(("n",)), call("last")),
                block("last", GotoOp("x")),
                block("x", PopOp(("n",)), LEAF.terminator),
            ],
            id="restored elsewhere",
        ),
        pytest.param(
            [block("first", PushOp(("n",)), call("last")), block("last", LEAF.terminator)],
            id="never restored",
        ),
        pytest.param(
            [block("first", call("last")), block("last", PopOp(("n",)), LEAF.terminator)],
            id="never saved",
        ),
        pytest.param(
            [
                block("first", PushOp(("n",)), call("last")),
                block("other", call("last")),
                block("last", PopOp(("n",)), LEAF.terminator),
            ],
            id="saved by one of two calls",
        ),
        pytest.param(
            [
                block("first", PushOp(("n",)), PushOp(("n",)), call("last")),
                block("last", PopOp(("n",)), PopOp(("n",)), LEAF.terminator),
            ],
            id="saved twice",
        ),
        pytest.param(
            [
                block("first", PushOp(("n",)), call("next")),
                block("next", PushOp(("n",)), PopOp(("n",)), call("last")),
                block("last", PopOp(("n",)), LEAF.terminator),
            ],
            id="saved before it is restored",
        ),
        pytest.param(
            [
                block("first", PushOp(("n",)), call("next")),
                block("next", PushOp(("n",)), call("last")),
                block("last", PopOp(("n",)), LEAF.terminator),
            ],
            id="saved again while it is",
        ),
    ],
)
def test_what_is_not_saved_and_restored_by_calls_alone_has_a_pointer_of_its_own(blocks: list[Any]) -> None:
    found = CallFrames(saving(LEAF.replace(name="f"), *blocks)).pointers
    assert {v: found[v] for v in OWN} == OWN


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([block("other", GotoOp("last"))], id="jumped to"),
        pytest.param([block("other", PopOp((RETURN,)), GotoOp(HALT))], id="forgotten by a pop"),
        pytest.param([block("other", PushGotoOp("last", "f", "l"))], id="come back to by another address"),
    ],
)
def test_where_more_than_a_return_leads_to_a_place_there_are_no_frames(more: list[Any]) -> None:
    calls = CallFrames(
        saving(
            LEAF.replace(name="f"),
            block("first", PushOp(("n",)), CALL, call("last")),
            block("last", PopOp(("n",)), LEAF.terminator),
            *more,
        )
    )
    assert not calls.is_framed("n")
    assert moves(calls, "f") == [RETURN]


@hb.batch
def comes_back_to_a_join(n: Any) -> Any:
    """The last call comes back to where the other branch goes too."""
    if n > 0:
        r = comes_back_to_a_join(n - 1)
        r = comes_back_to_a_join(n // 2)
    else:
        r = 7
    return r + 1


@hb.batch
def digits(n: Any, base: Any) -> Any:
    """One frame for a call in a loop, and for one in its condition."""
    total = 0
    while n > 0 and digits(n // base, base) >= 0:
        total = total + digits(n - base * base, base) + 1
        n = n - base
    return total


def one_by_one(function: Any, *columns: Any) -> list[int]:
    with hb.disable_batching():
        return [int(function(*map(int, row))) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("lanes", [None, 3])
def test_with_frames_and_without_results_are_the_same(lanes: int | None) -> None:
    n = np.arange(12, dtype=np.int32)
    assert not CallFrames(comes_back_to_a_join.trace(n).plan.programs.lowered).is_framed("comes_back_to_a_join.n")
    joined = hb.batch(comes_back_to_a_join.function, lanes=lanes)(jnp.asarray(n))
    assert joined.tolist() == one_by_one(comes_back_to_a_join, n)
    assert CallFrames(digits.trace(n, n + 3).plan.programs.lowered).is_framed("digits.$return")
    counted = hb.batch(digits.function, lanes=lanes)(jnp.asarray(n), jnp.asarray(n + 3))
    assert counted.tolist() == one_by_one(digits, n, n + 3)
