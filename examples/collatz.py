"""Nested loops of unequal length, and a queue of inputs that keeps the lanes busy.

Each input asks: of `width` numbers from `start` on, which takes longest to reach 1 by halving the
even and taking `3n + 1` of the odd? The number of steps is not known in advance. With a lane for
each input, lanes that are done wait for the last; with fewer lanes than inputs, a lane that is done
takes the next input.
"""

import jax.numpy as jnp
from jax import Array

import hlobatch as hb

WIDTH = 10
"""The number of numbers per input."""


@hb.batch(in_axes=(0, None))
def longest_collatz(start: Array, width: Array) -> tuple[Array, Array]:
    """Returns the number with the longest sequence, and the sequence's length.

    Example:
        >>> longest_collatz(jnp.array([1, 90]), 10)[0].tolist()
        [9, 97]
    """
    best, longest = start, -1
    for number in range(start, start + width):
        n, steps = number, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        if steps > longest:
            best, longest = number, steps
    return best, longest


def main() -> None:
    """Prints a few results, and how busy the lanes were without and with a queue."""
    starts = 1 + WIDTH * jnp.arange(1_000)
    best, longest = longest_collatz(starts, WIDTH)
    for start, number, steps in list(zip(starts.tolist(), best.tolist(), longest.tolist(), strict=True))[:5]:
        print(f"{start:3d} to {start + WIDTH - 1:3d}: {number:3d} takes {steps} steps")
    print(f"\nLanes   busy, for {len(starts):,d} inputs")
    for lanes in (1_000, 100, 10):
        queued = hb.batch(longest_collatz.function, in_axes=(0, None), lanes=lanes)
        _, stats = queued.with_stats(starts, WIDTH)
        print(f"{lanes:5,d}  {stats.utilization:5.0%}")


if __name__ == "__main__":
    main()
