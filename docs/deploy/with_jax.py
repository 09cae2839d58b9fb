"""Run the output of `hlobatch export … --jax FILE` with JAX, without hlobatch: `with_jax.py FILE IN.npy OUT.npz`."""

import sys
from pathlib import Path

import jax
import numpy as np


def main(file: str, given: str, found: str) -> None:
    exported = jax.export.deserialize(bytearray(Path(file).read_bytes()))
    result, stopped, status = jax.jit(exported.call)(np.load(given))
    np.savez(found, result=result, stopped=stopped, status=status)


if __name__ == "__main__":
    main(*sys.argv[1:])
