"""Generated programs as kernels of a lane and of a gang: ``python test/py/soak_kernels.py SECONDS SEED``.

A fault in code of our own ends the process, if it does not give a wrong number. Each program runs with memory checked
and not, on one to three threads and inside of ``jax.jit``, on few and on many inputs; all is compared with
plain Python. The last line says how many programs there were; without it, the process has ended before its time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import jax
import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from own_code import checking
from test_generated import ROWS, SHARED, expected, load, modules

import hlobatch as hb

AT_A_TIME = 100
"""Programs that Hypothesis generates from one seed."""
MANY = 40
"""Number of repetitions of the inputs in a large batch."""


def soak(seconds: float, first: int) -> int:
    """Run generated programs, from seed ``first`` on; returns their number.

    Raises:
        AssertionError: A kernel computes something else than plain Python; the program is in the error's notes.
    """
    begin, count = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as name:

        @settings(max_examples=AT_A_TIME, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(source=modules())
        def run(source: str) -> None:
            nonlocal count
            if time.monotonic() - begin < seconds:
                count += 1
                compare(source, Path(name), threads=1 + count % 3)

        number = first
        while time.monotonic() - begin < seconds:
            seed(number)(run)()
            number += 1
            print(f"{count} programs, {time.monotonic() - begin:.0f} s, seeds to {number - 1}", flush=True)
            jax.clear_caches()
    return count


def compare(source: str, folder: Path, threads: int) -> None:
    """Run one program in several forms, and compare it with plain Python."""
    entry = (module := load(source, folder)).entry
    wanted = expected(module)
    rows = np.tile(ROWS, (MANY, 1))
    for dispatch in ("kernel", "gang"):
        options = {"in_axes": entry.in_axes, "dispatch": dispatch}
        with checking():
            checked = hb.batch(entry.function, **options, max_stack_depth=1, threads=threads)
            assert checked(*ROWS.T, SHARED).tolist() == wanted, f"{dispatch}, checked\n{source}"
        plain = hb.batch(entry.function, **options, threads=threads)
        assert plain(*ROWS.T, SHARED).tolist() == wanted, f"{dispatch}, unchecked\n{source}"
        assert plain(*rows.T, SHARED).tolist() == wanted * MANY, f"{dispatch}, of many\n{source}"
        inside = jax.jit(hb.batch(entry.function, **options))
        assert inside(*ROWS.T, SHARED).tolist() == wanted, f"{dispatch}, in jit\n{source}"


if __name__ == "__main__":
    print(f"{soak(float(sys.argv[1]), int(sys.argv[2]))} programs, each in eight ways, as plain Python", flush=True)
