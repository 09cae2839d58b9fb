"""A batch over devices and processes: the examples of `docs/scaling.md` run, and devices do not talk meanwhile."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs/scaling"
COUNT = """
import json, re, runpy, jax, jax.numpy as jnp, hlobatch as hb
from jax.sharding import NamedSharding, PartitionSpec as P

example = runpy.run_path("eight_devices.py")
mesh, collatz = example["mesh"], example["collatz"]
n = jax.device_put(jnp.arange(1, 81), NamedSharding(mesh, P("batch")))

def traffic(function):
    text = jax.jit(function).lower(n).compile().as_text()
    found = re.findall(r" (all-\\w+|collective-\\w+|reduce-scatter|send|recv)(?:-start)?\\(", text)
    return found, jax.jit(function)(n).tolist()

def divided(function):
    return jax.shard_map(function, mesh=mesh, in_specs=P("batch"), out_specs=P("batch"))

loop = hb.batch(collatz.function, optimizations=hb.Optimizations(kernels=False))
print(json.dumps([traffic(f) for f in (divided(collatz), divided(loop), loop)]))
"""


def environment(**variables: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(FOLDER.parents[1])} | variables


def steps(n: int) -> int:
    count = 0
    while n != 1:
        n, count = n // 2 if n % 2 == 0 else 3 * n + 1, count + 1
    return count


def test_devices_do_not_talk_while_lanes_run() -> None:
    """Counted in the compiled modules; `jax.jit` alone, which divides the loop itself, shows what would be found."""
    eight = environment(XLA_FLAGS="--xla_force_host_platform_device_count=8")
    done = subprocess.run(
        [sys.executable, "-c", COUNT], cwd=FOLDER, env=eight, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    (by_default, its_steps), (loop, loops_steps), (undivided, those_steps) = json.loads(done.stdout)
    assert its_steps == loops_steps == those_steps == [steps(n) for n in range(1, 81)]
    assert by_default == loop == []
    assert "all-reduce" in undivided


@pytest.mark.slow
def test_two_processes() -> None:
    with socket.socket() as free:
        free.bind(("localhost", 0))
        coordinator = f"localhost:{free.getsockname()[1]}"
    command = [sys.executable, str(FOLDER / "two_processes.py"), coordinator, "2"]
    one_device = environment(XLA_FLAGS="")
    both = [
        subprocess.Popen([*command, str(number)], env=one_device, stdout=subprocess.PIPE, text=True)
        for number in range(2)
    ]
    printed = [process.communicate(timeout=120)[0].splitlines()[-1] for process in both]
    longest = [max(map(steps, range(1 + 1000 * number, 1001 + 1000 * number))) for number in range(2)]
    assert printed == [
        f"process {number}: 2000 inputs in all, the longest here {longest[number]}, of all {max(longest)}"
        for number in range(2)
    ]
