"""Mutual recursion: two functions that end in calls of each other are one loop, without a stack.

A call in tail position has nothing to return to, so it is compiled to a jump. A million calls deep,
a lane uses no more memory than at the start.
"""

import jax.numpy as jnp
from jax import Array

import hlobatch as hb


@hb.batch
def is_even(n: Array) -> Array:
    """Returns whether a natural number is even.

    Example:
        >>> is_even(jnp.arange(4)).tolist()
        [True, False, True, False]
    """
    if n == 0:
        return True
    return is_odd(n - 1)


@hb.batch
def is_odd(n: Array) -> Array:
    """Returns whether a natural number is odd."""
    if n == 0:
        return False
    return is_even(n - 1)


def main() -> None:
    """Prints some results, a very deep one among them, and the program."""
    numbers = jnp.array([0, 1, 2, 201, 1_000_000])
    for number, even in zip(numbers.tolist(), is_even(numbers).tolist(), strict=True):
        print(f"{number:>9,d} is {'even' if even else 'odd'}")
    program = is_even.trace(numbers).lowered_program
    stacks = [name for name, how in program.var_alloc.items() if how is hb.VariableAllocation.FULL]
    print(f"\nVariables with a stack: {', '.join(stacks) or 'none'}\n")
    print(program)


if __name__ == "__main__":
    main()
