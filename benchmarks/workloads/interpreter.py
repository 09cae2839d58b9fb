"""A stack machine that interprets a program per lane; lanes differ only in their next instruction."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import hlobatch as hb
from benchmarks import compile as ready
from benchmarks.workload import Prepared, Size, Workload

LENGTH = 24
STACK = 8
HALT, PUSH, LOAD, STORE, ADD, SUBTRACT, MULTIPLY, REMAINDER, JUMP, JUMP_IF_ZERO = range(10)

GCD = (
    *(
        (LOAD, 1),
        (JUMP_IF_ZERO, 10),
        (LOAD, 0),
        (LOAD, 1),
        (REMAINDER, 0),
        (LOAD, 1),
        (STORE, 0),
        (STORE, 1),
        (JUMP, 0),
    ),
    *((HALT, 0), (HALT, 0)),
)
POWER = (  # variable 2 becomes 3 ** variable 1 modulo 1009
    *((PUSH, 1), (STORE, 2), (LOAD, 1), (JUMP_IF_ZERO, 15), (LOAD, 2), (PUSH, 3), (MULTIPLY, 0), (PUSH, 1009)),
    *((REMAINDER, 0), (STORE, 2), (LOAD, 1), (PUSH, 1), (SUBTRACT, 0), (STORE, 1), (JUMP, 2), (HALT, 0)),
)
SQUARES = (  # variable 2 becomes the sum of the squares up to variable 1
    *((LOAD, 1), (JUMP_IF_ZERO, 13), (LOAD, 2), (LOAD, 1), (LOAD, 1), (MULTIPLY, 0), (ADD, 0), (STORE, 2)),
    *((LOAD, 1), (PUSH, 1), (SUBTRACT, 0), (STORE, 1), (JUMP, 0), (HALT, 0)),
)


@hb.batch
def run(program: Array, variables: Array) -> tuple[Array, Array]:
    """The variables at the end, and the number of instructions that ran.

    Args:
        program: `Int[Array, "length 2"]`, instructions and their operands.
        variables: `Int[Array, "4"]`.
    """
    stack = jnp.zeros(STACK, jnp.int32)
    top, position, count = 0, 0, 0
    while program[position, 0] != HALT:
        code, operand = program[position, 0], program[position, 1]
        position += 1
        count += 1
        if code == PUSH:
            stack = stack.at[top].set(operand)
            top += 1
        elif code == LOAD:
            stack = stack.at[top].set(variables[operand])
            top += 1
        elif code == STORE:
            top -= 1
            variables = variables.at[operand].set(stack[top])
        elif code == JUMP:
            position = operand
        elif code == JUMP_IF_ZERO:
            top -= 1
            if stack[top] == 0:
                position = operand
        else:
            top -= 1
            left, right = stack[top - 1], stack[top]
            if code == ADD:
                result = left + right
            elif code == SUBTRACT:
                result = left - right
            elif code == MULTIPLY:
                result = left * right
            else:
                result = left % right
            stack = stack.at[top - 1].set(result)
    return variables, count


def inputs(count: int) -> tuple[Array, Array]:
    random = np.random.default_rng(70)
    programs = np.zeros((3, LENGTH, 2), np.int32)
    for program, source in zip(programs, (GCD, POWER, SQUARES), strict=True):
        program[: len(source)] = source
    which = random.integers(0, 3, count)
    variables = np.zeros((count, 4), np.int32)
    variables[:, 0] = random.integers(1, 1_000_000, count)
    large = random.integers(1, 1_000_000, count)
    small = np.exp(random.uniform(0.0, np.log(200.0), count)).astype(np.int32)
    variables[:, 1] = np.where(which == 0, large, small)
    return jnp.asarray(programs[which]), jnp.asarray(variables)


def work(result: Any) -> float:
    return ready.total(result[1])


def everything(result: Any) -> Any:
    return result


def batched(size: Size) -> Prepared:
    return ready.batched(run, inputs(size.inputs), work=work, comparable=everything)


def lockstep(size: Size) -> Prepared:
    """A contender that chooses the instruction by `lax.switch`, all of whose branches run under `vmap`."""

    def one(program: Array, variables: Array) -> tuple[Array, Array]:
        def instruction(state: Any) -> Any:
            stack, top, variables, position, count = state
            code, operand = program[position]

            def push(value: Array) -> Any:
                return stack.at[top].set(value), top + 1, variables, position + 1

            def calculate(combine: Any) -> Any:
                result = combine(stack[top - 2], stack[top - 1])
                return stack.at[top - 2].set(result), top - 1, variables, position + 1

            after = jax.lax.switch(
                code - 1,
                [
                    lambda: push(operand),
                    lambda: push(variables[operand]),
                    lambda: (stack, top - 1, variables.at[operand].set(stack[top - 1]), position + 1),
                    lambda: calculate(jnp.add),
                    lambda: calculate(jnp.subtract),
                    lambda: calculate(jnp.multiply),
                    lambda: calculate(jnp.remainder),
                    lambda: (stack, top, variables, operand),
                    lambda: (stack, top - 1, variables, jnp.where(stack[top - 1] == 0, operand, position + 1)),
                ],
            )
            return (*after, count + 1)

        first = (jnp.zeros(STACK, jnp.int32), 0, variables, 0, 0)
        state = jax.lax.while_loop(lambda state: program[state[3], 0] != HALT, instruction, first)
        return state[2], state[4]

    return ready.lockstep(
        one,
        inputs(size.inputs),
        size,
        work=work,
        comparable=everything,
        executions=lambda result: float(result[1].max()),
    )


def serial(size: Size) -> Prepared:
    import numba

    @numba.njit
    def all_inputs(programs: Any, variables: Any) -> Any:
        variables = variables.copy()
        counts = np.zeros(len(programs), np.int32)
        stack = np.zeros(STACK, np.int32)
        for k in range(len(programs)):
            program, own = programs[k], variables[k]
            top, position, count = 0, 0, 0
            while program[position, 0] != HALT:
                code, operand = program[position, 0], program[position, 1]
                position += 1
                count += 1
                if code == PUSH:
                    stack[top] = operand
                    top += 1
                elif code == LOAD:
                    stack[top] = own[operand]
                    top += 1
                elif code == STORE:
                    top -= 1
                    own[operand] = stack[top]
                elif code == JUMP:
                    position = operand
                elif code == JUMP_IF_ZERO:
                    top -= 1
                    if stack[top] == 0:
                        position = operand
                else:
                    top -= 1
                    left, right = stack[top - 1], stack[top]
                    if code == ADD:
                        stack[top - 1] = left + right
                    elif code == SUBTRACT:
                        stack[top - 1] = left - right
                    elif code == MULTIPLY:
                        stack[top - 1] = left * right
                    else:
                        stack[top - 1] = left % right
            counts[k] = count
        return variables, counts

    return ready.serial(all_inputs, inputs(size.inputs), work=work, comparable=everything)


WORKLOAD = Workload(
    name="interpreter",
    title="Stack machine",
    unit="instruction",
    description=(
        "Each lane interprets one of three programs on data of its own: greatest common divisors, powers, sums of "
        "squares. The unit is an instruction. Lockstep selects it by `lax.switch`, which runs all nine for "
        "every lane."
    ),
    sizes=(Size(1_000, 1_000), Size(1_000, 10_000)),
    contenders={"hlobatch": batched, "lockstep vmap": lockstep, "numba, serial": serial},
    roofline=None,
)
