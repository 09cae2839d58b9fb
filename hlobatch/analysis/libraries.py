"""A lowered program -> the primitives that call a library on a CPU, which keep a batch in one thread.

XLA calls LAPACK and foreign functions on threads of a pool that all runs share. A call of LAPACK on part of a batch
then waits, on such a thread, for calls on the other parts, which the same pool has to run. Two runs at this point can
hold all threads between them, and then wait forever: a deadlock. Plain JAX has it, too, when two threads call it.

``python test/py/two_threads.py`` runs each operation in two threads of plain JAX, in a process of its own with a
time limit. On two cores (jax 0.10.2), with 200 matrices of 30 x 30:

* stopped for ever, some of the times or most: ``cholesky``, ``eigh``, ``expm``, ``householder_product``, ``lu``,
  ``qr``, ``triangular_solve``, ``tridiagonal``;
* were not seen to stop, but are LAPACK's too: ``eig``, ``hessenberg``, ``schur``, ``svd``, ``tridiagonal_solve``;
* always ended, and are XLA's own: ``fft``, ``sort``, ``argsort``, ``top_k``, convolutions, products of matrices, large
  ones among them.

The waits of a foreign function are not known, so it has one thread, too. (Calls of Python are refused.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from hlobatch.ir.ops import Op
from hlobatch.ir.program import Program
from hlobatch.jax_primitives import Trait, having

LIBRARIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(having(Trait.LAPACK), "LAPACK"),
    **dict.fromkeys(having(Trait.FOREIGN), "a foreign function"),
}
"""The library that a primitive of JAX's, or an operation in code read from a module, calls."""


def library_calls(program: Program) -> Mapping[str, str]:
    """The primitives in the loop that call a library, and which library."""
    return _calls(op for block in program.graph for op in program.primitives_in_loop(block))


def shared_library_calls(program: Program) -> Mapping[str, str]:
    """The primitives computed once for all lanes, before the loop, which call a library, and which library."""
    return _calls(op for op in program.ops if program.is_computed_once(op))


def _calls(ops: Iterable[Op]) -> Mapping[str, str]:
    used = {name for op in ops for name in op.code.primitives}
    return {name: LIBRARIES[name] for name in sorted(used & LIBRARIES.keys())}
