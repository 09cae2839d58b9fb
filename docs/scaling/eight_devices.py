"""A batch divided among the devices of one process, each of which runs its part by itself.

Here the devices are eight of the CPU: `XLA_FLAGS=--xla_force_host_platform_device_count=8 python eight_devices.py`.
"""

import jax
import jax.numpy as jnp
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


mesh = jax.make_mesh((jax.device_count(),), ("batch",))
steps_of = jax.jit(jax.shard_map(collatz, mesh=mesh, in_specs=P("batch"), out_specs=P("batch")))

if __name__ == "__main__":
    numbers = jax.device_put(jnp.arange(1, 8001), NamedSharding(mesh, P("batch")))
    steps = steps_of(numbers)  # still sharded: each device has the results of its part
    print(len(steps.addressable_shards), "parts, the longest of", int(steps.max()), "steps")
