"""Two threads of plain JAX in a loop of one operation each, in processes with a limit of time: which of them end.

    python test/py/two_threads.py                    each operation that hlobatch/analysis/libraries.py speaks of
    python test/py/two_threads.py cholesky sort      those alone
    python test/py/two_threads.py --child cholesky   what such a process runs

That one ends says little where it may stop at any time; those that are no library's end always.
"""

import subprocess
import sys
import threading
import time

import jax
import jax.numpy as jnp
from jax import lax

SIZE, LANES, TURNS, RUNS = 30, 200, 30, 8
PATIENCE = 10.0, 8.0
"""Time limit for two threads: seconds, plus a multiple of the time of one thread."""

FEW = 12
"""Rows and columns of matrices for slow operations."""

OPERATIONS = {
    "cholesky": jnp.linalg.cholesky,
    "lu": lambda a: lax.linalg.lu(a)[0],
    "qr": lambda a: jnp.linalg.qr(a)[1],
    "eigh": lambda a: jnp.linalg.eigh(a)[0],
    "eig": lambda a: jnp.linalg.eigvals(a).real,
    "svd": lambda a: jnp.linalg.svd(a)[1],
    "schur": lambda a: jax.scipy.linalg.schur(a[:FEW, :FEW])[0],
    "hessenberg": lambda a: lax.linalg.hessenberg(a)[0],
    "tridiagonal": lambda a: lax.linalg.tridiagonal(a)[1],
    "tridiagonal_solve": lambda a: lax.linalg.tridiagonal_solve(a[0], 5 + a[1], a[2], a),
    "householder_product": lambda a: lax.linalg.householder_product(a, a[0]),
    "triangular_solve": lambda a: lax.linalg.triangular_solve(a, a, lower=True),
    "solve": jnp.linalg.solve,
    "expm": jax.scipy.linalg.expm,
    "fft": lambda a: jnp.fft.fft2(a).real,
    "sort": lambda a: jnp.sort(a[:FEW, :FEW].ravel()),
    "argsort": lambda a: jnp.argsort(a[:FEW, :FEW].ravel()),
    "top_k": lambda a: lax.top_k(a.ravel(), 50)[0],
    "convolution": lambda a: lax.conv(a[None, None], a[None, None, :5, :5], (1, 1), "SAME"),
    "matmul": lambda a: a @ a,
    "large matmul": lambda a: jnp.tile(a, (8, 8)) @ jnp.tile(a, (8, 1)),
}
"""Operations on one matrix, by name."""
WITH_TWO = frozenset({"solve"})
"""Operations on two matrices."""


def child(name: str) -> None:
    """Run an operation in one thread, and then in two; print the time of the single one."""
    noise = 0.01 * jax.random.normal(jax.random.key(0), (LANES, SIZE, SIZE))
    matrices = 3 * jnp.eye(SIZE) + (noise + noise.swapaxes(1, 2)) / 2
    operation = OPERATIONS[name]

    def step(a):
        return a + 1e-9 * jnp.sum(operation(a, a) if name in WITH_TWO else operation(a)) * jnp.eye(SIZE)

    compiled = jax.jit(lambda a: lax.fori_loop(0, TURNS, lambda _, a: jax.vmap(step)(a), a)).lower(matrices).compile()

    def work() -> None:
        for _ in range(RUNS):
            jax.block_until_ready(compiled(matrices))

    start = time.monotonic()
    work()
    print(time.monotonic() - start, flush=True)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("ended", flush=True)


def outcome(name: str) -> str:
    """The outcome of two threads, with a time limit that is a multiple of one thread's time."""
    command = [sys.executable, __file__, "--child", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        alone = process.stdout.readline()
        try:
            process.wait(PATIENCE[0] + PATIENCE[1] * float(alone or 0))
        except subprocess.TimeoutExpired:
            process.kill()
            return "stopped"
        return process.stdout.read().strip() or "failed"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
    else:
        for each in sys.argv[1:] or OPERATIONS:
            print(f"{each:20s} {outcome(each)}", flush=True)
