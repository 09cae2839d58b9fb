"""A batch of any size: one module whose first operand is the size."""

# RUN: hlobatch lower %s:f --args "i32[b]" --depth 5 --dispatch chain --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK: func.func public @main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<?xi32>) -> (tensor<?xi32>
# CHECK: tensor<6x?xi32>
# CHECK: func.call @block_0.f.entry(%arg0,
