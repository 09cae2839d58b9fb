"""Compile and run the bare module of an artifact with IREE: `with_iree.py FILE.stablehlo IN.npy OUT.npz`.

The artifact is for one size of the batch: IREE's compiler takes no operations on arrays of unknown sizes.
"""

import sys
from pathlib import Path

import iree.compiler
import iree.runtime
import numpy as np


def main(file: str, given: str, found: str) -> None:
    module = iree.compiler.compile_str(
        Path(file).read_bytes(),
        input_type="stablehlo",
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=host"],
    )
    outputs = iree.runtime.load_vm_flatbuffer(module, driver="local-task").main(np.load(given))
    np.savez(found, **dict(zip(("result", "stopped", "status"), map(np.asarray, outputs), strict=True)))


if __name__ == "__main__":
    main(*sys.argv[1:])
