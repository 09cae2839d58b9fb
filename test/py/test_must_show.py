"""The paper's own examples: exact results, exact counts, and loops that copy no stack."""

import math
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from optimized_hlo import computations, inside_loops, whole_writes
from runs import layout_of
from zoo import LOOP, ackermann, fibonacci, iota_sum, is_even, is_odd

import hlobatch as hb
from examples import nuts, targets
from hlobatch import virtual_machine
from hlobatch.instructions import IndirectGotoOp, PopOp, PrimOp, PushGotoOp, PushOp

LANES = 1_000


def test_fibonacci() -> None:
    assert fibonacci(jnp.array([6, 7, 8, 9])).tolist() == [13, 21, 34, 55]


def add_block(program: hb.Program) -> str:
    """The name of the block that adds the results of the two calls."""
    (name,) = [
        block.name
        for block in program.graph
        if any(isinstance(op, PrimOp) and "+" in op.text for op in block.instructions)
    ]
    return name


@pytest.mark.parametrize("dispatch", ["chain", "case"])
def test_additions_of_the_longest_lane_alone(dispatch: str) -> None:
    """The paper's schedule adds for all lanes when it adds for one: as often as the input 7 needs it."""
    earliest = hb.batch(fibonacci.function, schedule="earliest", dispatch=dispatch)
    inputs = jnp.array([3, 7, 4, 5])
    _, stats = earliest.with_stats(inputs)
    adding = stats.block(add_block(earliest.trace(inputs).lowered_program))
    assert adding.executions == 20
    assert adding.active == sum(fibonacci_additions(n) for n in (3, 7, 4, 5))


def fibonacci_additions(n: int) -> int:
    return 0 if n <= 1 else 1 + fibonacci_additions(n - 2) + fibonacci_additions(n - 1)


def test_additions_in_the_virtual_machine() -> None:
    earliest = hb.batch(fibonacci.function, schedule="earliest")
    inputs = np.asarray([3, 7, 4, 5], np.int32)
    program = earliest.trace(inputs).lowered_program
    machine = virtual_machine.start(program, [inputs], 32, virtual_machine.NumpyBackend())
    while machine.step():
        pass
    assert machine.executions[add_block(program)] == 20


def test_tail_recursion_takes_no_stack() -> None:
    """Neither for a variable nor for the program counter."""
    traced = iota_sum.trace(jnp.arange(5), jnp.zeros(5, jnp.int32))
    program = traced.lowered_program
    assert not [op for op in program.ops if isinstance(op, (PushGotoOp, IndirectGotoOp, PushOp, PopOp))]
    assert hb.VariableAllocation.FULL not in program.var_alloc.values()
    assert not layout_of(traced.plan, LANES, 32).stacked
    assert iota_sum(jnp.array([100_000]), jnp.array([7])).tolist() == [(100_000 * 100_001 // 2 + 7) % (1 << 32)]


def test_mutual_tail_recursion() -> None:
    n = jnp.arange(201)
    assert is_even(n).tolist() == [i % 2 == 0 for i in range(201)]
    assert is_odd(n).tolist() == [i % 2 == 1 for i in range(201)]
    allocations = is_even.trace(n).lowered_program.var_alloc.values()
    assert hb.VariableAllocation.FULL not in allocations


def test_ackermann() -> None:
    assert ackermann(jnp.full(5, 2), jnp.arange(5)).tolist() == [3, 5, 7, 9, 11]


# Stacks that run full


def shallow() -> hb.BatchedFunction:
    """A Fibonacci function of its own: one that has grown once begins with deeper stacks."""
    return hb.batch(fibonacci.function, max_stack_depth=4)


def test_stacks_grow_while_running() -> None:
    results, stats = shallow().with_stats(jnp.array([25, 3]))
    assert results.tolist() == [121393, 3]
    assert stats.resumptions > 0
    assert stats.depth > 4


TRACED: dict[str, Callable[[hb.BatchedFunction], Callable[[jax.Array], jax.Array]]] = {
    "jit": jax.jit,
    "part of jit": lambda f: jax.jit(lambda n: f(n) + 1),
    "vmap": lambda f: jax.jit(lambda n: jax.vmap(f)(n[None])),
    "scan": lambda f: lambda n: jax.lax.scan(lambda carry, m: (carry, f(m)), 0, n[:, None])[1],
}


@pytest.mark.parametrize("how", TRACED)
def test_overflow_in_jit_never_returns_a_number(how: str) -> None:
    run = TRACED[how](shallow())
    with pytest.raises(jax.errors.JaxRuntimeError, match="lane 0 of 'fibonacci' needed more than 4 stack frames"):
        np.asarray(run(jnp.array([25, 3])))
    assert np.asarray(run(jnp.array([3, 4]))).ravel().tolist() == [
        3 + (how == "part of jit"),
        5 + (how == "part of jit"),
    ]


# Stacks inside the loop


def compiled_fibonacci(**options: Any) -> hb.Traced:
    return hb.batch(fibonacci.function, threads=1, **options).trace(jax.ShapeDtypeStruct((LANES,), np.int32))


def compiled_nuts(**options: Any) -> hb.Traced:
    density = targets.correlated_gaussian(targets.ar1_covariance(10, 0.5)).log_density
    sample = nuts.make_nuts(density, step_size=0.25, num_draws=3, max_depth=5)
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), LANES))
    positions = jax.ShapeDtypeStruct((LANES, 10), np.float32)
    chains = jax.eval_shape(jax.vmap(lambda key, x: nuts.start_chain(density, key, x)), keys, positions)
    return hb.batch(sample.function, threads=1, **options).trace(chains)


def stack_shapes(traced: hb.Traced) -> set[tuple[int, ...]]:
    """The shapes ``[depth + 1, lanes, *event]`` of the stacks' buffers, and those with the first two axes as one."""
    layout = layout_of(traced.plan, LANES, traced.plan.depth)
    shapes = {layout.slots[slot].shape for variable in layout.stacked for slot in layout.frames(variable)}
    return shapes | {(first * second, *rest) for first, second, *rest in shapes}


@pytest.mark.usefixtures("optimized_in_full")
def test_hlo_is_read_in_full() -> None:
    """Every instruction of a module is found, and those that move a stack are among those inside the loop."""
    traced = compiled_fibonacci(dispatch="chain")
    text = traced.lower().compile().as_text()
    assert sum(map(len, computations(text).values())) == sum(" = " in line for line in text.splitlines())
    inside = [i for i in inside_loops(text) if "[33,1000]" in i.shape or "[33000]" in i.shape]
    assert {"scatter", "while", "get-tuple-element"} <= {instruction.opcode for instruction in inside}
    assert stack_shapes(traced) == {(33, LANES), (33 * LANES,)}


@pytest.mark.usefixtures("optimized_in_full")
@pytest.mark.parametrize("build", [compiled_fibonacci, pytest.param(compiled_nuts, marks=pytest.mark.slow)])
def test_no_stack_is_copied_inside_the_loop(build: Callable[..., hb.Traced]) -> None:
    traced = build(optimizations=LOOP)
    shapes = stack_shapes(traced)
    written = whole_writes(traced.lower().compile().as_text(), shapes)
    assert shapes
    assert not written


# What all lanes share

DATA, REGRESSORS = 500, 20


def compiled_logistic_nuts(lanes: int, **options: Any) -> Any:
    """The sampler on a logistic regression, whose regressors all lanes share."""
    density = targets.logistic_regression(num_data=DATA, dim=REGRESSORS).log_density
    sample = nuts.make_nuts(density, step_size=0.1, num_draws=3, max_depth=5)
    keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), lanes))
    positions = jax.ShapeDtypeStruct((lanes, REGRESSORS), np.float32)
    chains = jax.eval_shape(jax.vmap(lambda key, x: nuts.start_chain(density, key, x)), keys, positions)
    return hb.batch(sample.function, threads=1, **options).trace(chains).lower().compile()


def compiled_logistic_descent(lanes: int, **options: Any) -> Any:
    """Steps against the gradient of the same density, as many as each lane needs."""
    density = targets.logistic_regression(num_data=DATA, dim=REGRESSORS).log_density

    def descend(x: Any) -> Any:
        slope = jax.grad(density)(x)
        while slope @ slope > 1e-3:
            x = x + 0.01 * slope
            slope = jax.grad(density)(x)
        return x

    starts = jax.ShapeDtypeStruct((lanes, REGRESSORS), np.float32)
    return hb.batch(descend, threads=1, **options).trace(starts).lower().compile()


@pytest.mark.parametrize(
    "build", [compiled_logistic_descent, pytest.param(compiled_logistic_nuts, marks=pytest.mark.slow)]
)
def test_what_all_lanes_share_is_never_broadcast(build: Callable[..., Any]) -> None:
    """No array has the size of the regressors for each lane, nor is there memory for one."""
    lanes = 96
    compiled = build(lanes, optimizations=LOOP)
    shapes = [tuple(map(int, dims.split(","))) for dims in re.findall(r"f32\[([\d,]+)\]", compiled.as_text())]
    assert (DATA, REGRESSORS) in shapes
    assert max(map(math.prod, shapes)) < lanes * DATA * REGRESSORS / 5
    per_lane = build(2 * lanes, optimizations=LOOP).memory_analysis().temp_size_in_bytes
    per_lane = (per_lane - compiled.memory_analysis().temp_size_in_bytes) / lanes
    assert per_lane < 4 * DATA * REGRESSORS / 2, "another lane takes much less memory than a copy of the regressors"


@pytest.mark.usefixtures("optimized_in_full")
@pytest.mark.parametrize(
    ("build", "lanes"),
    [
        (compiled_logistic_descent, 96),
        pytest.param(compiled_logistic_nuts, 1, marks=pytest.mark.slow),
        pytest.param(compiled_logistic_nuts, 96, marks=pytest.mark.slow),
    ],
)
def test_what_all_lanes_share_is_turned_around_before_the_loop(build: Callable[..., Any], lanes: int) -> None:
    """The model multiplies by the regressors' transpose: a statement of which a part is the same in every lane."""
    text = build(lanes, optimizations=LOOP).as_text()
    assert not whole_writes(text, {(DATA, REGRESSORS), (REGRESSORS, DATA)})


@pytest.mark.usefixtures("optimized_in_full")
def test_copies_inside_the_loop_are_found() -> None:
    """A multi-way conditional makes XLA copy every stack in every turn: what the test above looks for is to be seen."""
    traced = compiled_fibonacci(dispatch="case")
    written = whole_writes(traced.lower().compile().as_text(), stack_shapes(traced))
    assert written["copy"]
