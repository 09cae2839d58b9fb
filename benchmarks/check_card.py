"""Whether JAX finds a GPU that takes a kernel: `python -m benchmarks.check_card`, before all else there.

It prints the devices, runs a kernel by itself and inside `jax.jit`, and compares the values. Without a GPU it fails,
unless `JAX_PLATFORMS` asks for the CPU.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import hlobatch as hb


def turns(n: int) -> int:
    """The number of turns until Collatz's sequence is at 1."""
    count = 0
    while n != 1:
        n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
    return count


def main() -> str | None:
    """Check the card; returns what is wrong, if anything is."""
    print("jax", jax.__version__, [device.device_kind for device in jax.devices()], flush=True)
    if jax.default_backend() != "gpu" and os.environ.get("JAX_PLATFORMS") != "cpu":
        return "JAX finds no GPU; its plugin comes with the package `jax[cuda12]` or `jax[cuda13]`"
    numbers, batched = np.arange(1, 1001, dtype=np.int32), hb.batch(turns, dispatch="kernel")
    wanted = [turns(n) for n in range(1, 1001)]
    runs: dict[str, Callable[..., Any]] = {"by itself": batched, "inside jax.jit": jax.jit(batched)}
    for how, run in runs.items():
        began = time.perf_counter()
        if np.asarray(run(numbers)).tolist() != wanted:
            return f"the values of a kernel {how} are wrong"
        print(f"a kernel {how} is right; first call {time.perf_counter() - began:.2f} s", flush=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
