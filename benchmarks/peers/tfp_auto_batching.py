"""Recursive Fibonacci in TFP's `auto_batching` under XLA; run by `tfp.py` in an interpreter that has TFP.

The first line of input is the batch, as JSON; the answer says how long compilation took. Then each line asks for a
`"run"`, answered when it is done, or for the `"result"`.
"""

import json
import sys
import time

import tensorflow as tf
from tensorflow_probability.python.experimental import auto_batching as ab

MAX_STACK_DEPTH = 24

truthy = ab.truthy


def fibonacci_type(arg_types):
    return arg_types[0]


ctx = ab.Context()


@ctx.batch(type_inference=fibonacci_type)
def fibonacci(n):
    if truthy(n <= 1):
        return 1
    left = fibonacci(n - 2)
    right = fibonacci(n - 1)
    return left + right


@tf.function(jit_compile=True)
def run(numbers):
    return fibonacci(numbers, max_stack_depth=MAX_STACK_DEPTH, backend=ab.TensorFlowBackend())


def answer(value):
    print(json.dumps(value), flush=True)


def main():
    numbers = tf.constant(json.loads(sys.stdin.readline()), tf.int32)
    begin = time.perf_counter()
    result = run(numbers).numpy()
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    run(numbers).numpy()
    seconds = first - (time.perf_counter() - begin)
    answer({"compile_seconds": max(seconds, 0.0), "note": f"TensorFlow {tf.__version__}, depth {MAX_STACK_DEPTH}"})
    for line in sys.stdin:
        if json.loads(line) == "result":
            answer(result.tolist())
        else:
            run(numbers).numpy()
            answer("done")


if __name__ == "__main__":
    main()
