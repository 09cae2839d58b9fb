"""Recursion: one Fibonacci number per lane, the example of the paper.

Lanes that are at the same line run together, whatever their depths of recursion. So a batch runs
as many additions as its longest lane by itself, and the others take part in them.

Reference:
    Radul et al., "Automatically batching control-intensive programs for modern accelerators",
    MLSys 2020, section 3.
"""

import jax.numpy as jnp
from jax import Array

import hlobatch as hb


@hb.batch(schedule="earliest")
def fibonacci(n: Array) -> Array:
    """Returns the n-th Fibonacci number.

    Example:
        >>> fibonacci(jnp.array([6, 7, 8, 9])).tolist()
        [13, 21, 34, 55]
    """
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


def main() -> None:
    """Prints the numbers, the program with its stacks, and the share of active lanes by block."""
    inputs = jnp.array([3, 7, 4, 5])
    numbers, stats = fibonacci.with_stats(inputs)
    print(f"fibonacci({inputs}) = {numbers}\n")
    print("What is pushed is all that lives across a call; each lane has a program counter:\n")
    print(f"{fibonacci.trace(inputs).lowered_program}\n")
    print("How often each block ran, and for how many of the lanes:\n")
    print(stats)


if __name__ == "__main__":
    main()
