"""Deep recursion: Ackermann's function, and stacks that grow while they are used.

No depth has to be known in advance. A lane that runs out of stack waits, and the others go on; then
the host gives it a larger one. Here, where each lane runs code of its own, that lane begins anew; in
XLA's loop over all lanes it goes on from where it was.
"""

import jax.numpy as jnp
from jax import Array

import hlobatch as hb


@hb.batch(max_stack_depth=32)
def ackermann(m: Array, n: Array) -> Array:
    """Returns Ackermann's function in the form of Robinson and Péter.

    Example:
        >>> ackermann(jnp.full(5, 2), jnp.arange(5)).tolist()
        [3, 5, 7, 9, 11]
    """
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def main() -> None:
    """Prints a table of values, and statistics of the stacks."""
    m, n = (index.ravel() for index in jnp.mgrid[:4, :5])
    values, stats = ackermann.with_stats(m, n)
    print("ackermann(m, n)" + "".join(f"    n={column}" for column in range(5)))
    for row, cells in enumerate(values.reshape(4, 5).tolist()):
        print(f"            m={row}" + "".join(f"{value:7d}" for value in cells))
    print(f"\nThe stacks had 32 frames and grew {stats.resumptions} times, to {stats.depth}.")
    print(f"{stats.steps:,d} blocks ran for {stats.inputs} lanes.")


if __name__ == "__main__":
    main()
