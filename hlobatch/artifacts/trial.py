"""Tries to read and compile an untrusted file in another process, in case that crashes.

The process has limits of time and memory. This module is what it runs: the file is its standard input, and an error
message its standard output.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import Final

import jax
import jax.export

from hlobatch._jax import Aval
from hlobatch.artifacts.reading import Contents, read
from hlobatch.diagnostics import ArtifactError

MOST_SECONDS: Final = 300
"""Seconds for reading a file and compiling its module in the other process."""
MOST_BYTES_OF_ADDRESSES: Final = 8 << 30
"""Bytes of address space for that."""
_REFUSED: Final = 3
"""Exit status if the file is refused."""


def try_elsewhere(content: bytes) -> None:
    """Read a file, and compile its module for a CPU, in another process.

    Raises:
        ArtifactError: It is refused there, or the process crashed, or took too much time or memory.
    """
    command = [sys.executable, "-P", "-m", __name__]  # -P: do not import from the current folder
    places = os.pathsep.join(place for place in sys.path if place)
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": places}
    try:
        done = subprocess.run(
            command, input=content, capture_output=True, env=environment, timeout=MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ArtifactError(f"it takes more than {MOST_SECONDS} seconds to read and compile") from None
    if done.returncode == _REFUSED:
        raise ArtifactError(done.stdout.decode(errors="replace"))
    if done.returncode:
        raise ArtifactError("to read or compile it takes too much memory, or ends the process")


def main() -> int:
    """The main function of the other process."""
    _limit_memory()
    try:
        _compile(read(sys.stdin.buffer.read()))
    except ArtifactError as error:
        sys.stdout.buffer.write(error.message.encode(errors="replace"))
        return _REFUSED
    return 0


def _limit_memory() -> None:
    with contextlib.suppress(ImportError):  # without the module, only time is limited
        import resource  # noqa: PLC0415

        resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES_OF_ADDRESSES, MOST_BYTES_OF_ADDRESSES))


def _compile(contents: Contents) -> None:
    """Compile a module for a CPU, with a batch of two if the batch size may vary."""
    exported = contents.exported
    if "cpu" not in exported.platforms:
        return

    def sized(aval: Aval) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct([size if isinstance(size, int) else 2 for size in aval.shape], aval.dtype)

    with jax.enable_x64(True):
        try:
            jax.jit(exported.call).lower(*map(sized, exported.in_avals)).compile()
        except jax.errors.JaxRuntimeError as error:
            raise ArtifactError(f"XLA does not compile it: {str(error)[:300]}") from None


if __name__ == "__main__":
    sys.exit(main())
