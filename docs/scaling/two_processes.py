"""A batch divided among processes, on one host or on many: `two_processes.py COORDINATOR PROCESSES NUMBER`.

Each process makes the inputs of its own part, and keeps the results of it. On a cluster whose scheduler JAX knows,
such as Slurm, `jax.distributed.initialize()` needs no arguments.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import hlobatch as hb


@hb.batch
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def main(coordinator: str, processes: int, number: int) -> None:
    jax.distributed.initialize(coordinator, processes, number)
    mesh = jax.make_mesh((jax.device_count(),), ("batch",))
    sharding = NamedSharding(mesh, P("batch"))
    steps_of = jax.jit(jax.shard_map(collatz, mesh=mesh, in_specs=P("batch"), out_specs=P("batch")))

    own = np.arange(1, 1001, dtype=np.int32) + 1000 * number  # the inputs of this process
    steps = steps_of(jax.make_array_from_process_local_data(sharding, own))

    longest = max(int(shard.data.max()) for shard in steps.addressable_shards)
    everywhere = int(jax.jit(jnp.max)(steps))  # an operation over all parts: the processes communicate once
    print(f"process {number}: {steps.shape[0]} inputs in all, the longest here {longest}, of all {everywhere}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
