"""The predecessor, TensorFlow Probability's `auto_batching`, in an interpreter of its own.

It needs TensorFlow and an older NumPy, so it cannot live beside JAX. The environment variable `HLOBATCH_TFP_PYTHON`
names an interpreter that has tensorflow-cpu 2.18, tf-keras 2.18 and tensorflow-probability 0.25. One repetition is one
request over a pipe, so repetitions interleave with those of the other contenders.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.workload import Prepared

INTERPRETER: Final = "HLOBATCH_TFP_PYTHON"
SCRIPT: Final = Path(__file__).with_name("tfp_auto_batching.py")


class Peer:
    """A process that runs the same program again each time it is asked; it ends when its input does."""

    def __init__(self, request: Any) -> None:
        interpreter = os.environ.get(INTERPRETER)
        if not interpreter:
            raise ImportError(f"{INTERPRETER} names no interpreter with tensorflow-probability")
        self._process = subprocess.Popen(
            [interpreter, str(SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.ready = self.ask(request)

    def ask(self, request: Any) -> Any:
        """Send a request; returns the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise ImportError(f"the interpreter that {INTERPRETER} names could not run tensorflow-probability")
        return json.loads(line)


def fibonacci(
    numbers: Sequence[int], *, work: Callable[[Any], float], comparable: Callable[[Any], Any] | None = None
) -> Prepared:
    """Recursive Fibonacci under XLA."""
    peer = Peer(list(numbers))
    result = np.asarray(peer.ask("result"), np.int32)

    def run() -> Any:
        peer.ask("run")
        return result

    return Prepared(run, work(result), peer.ready["compile_seconds"], note=peer.ready["note"], comparable=comparable)
