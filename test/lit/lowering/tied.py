"""A register that a passed-over block reads and does not change is chosen by a condition on the next block."""

# RUN: hlobatch lower %s:f --args "f32[8], i32[8]" --dispatch chain --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(x, n):
    total = 0.0 * x
    while n > 0:
        total = total + x * x * x
        n = n - 1
    return total


# CHECK-LABEL: func.func private @block_1.f.body(
# CHECK-SAME: [[NEXT:%[a-z0-9]+]]: tensor<i32>) ->
# CHECK: [[ALWAYS:%[0-9]+]] = stablehlo.compare GE, [[NEXT]]
# CHECK: [[CHOSEN:%[0-9]+]] = stablehlo.broadcast_in_dim [[ALWAYS]], dims = []
# CHECK: stablehlo.select [[CHOSEN]],
