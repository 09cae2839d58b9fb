"""Parts of a batch as tasks of Ray: each worker compiles once, and takes the next part when it is done with one."""

import numpy as np
import ray


@ray.remote
class Worker:
    """A worker, one process per host: hlobatch divides its part among the host's cores, or runs it on its device."""

    def __init__(self) -> None:
        import hlobatch as hb

        @hb.batch
        def collatz(n):
            steps = 0
            while n != 1:
                n = n // 2 if n % 2 == 0 else 3 * n + 1
                steps += 1
            return steps

        self.run = collatz

    def steps(self, part: np.ndarray) -> np.ndarray:
        return np.asarray(self.run(part))


if __name__ == "__main__":
    ray.init()
    workers = ray.util.ActorPool([Worker.remote() for _ in range(2)])
    parts = np.array_split(np.arange(1, 8001, dtype=np.int32), 16)
    steps = np.concatenate(list(workers.map(lambda worker, part: worker.steps.remote(part), parts)))
    print(len(parts), "parts, the longest of", steps.max(), "steps")
