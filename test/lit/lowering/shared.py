"""in_axes=None: a shared operand, and what is computed from it, never gets a batch axis."""

# RUN: hlobatch lower %s:f --args "f32[8,3], f32[100,3]" --dispatch chain --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch(in_axes=(0, None))
def f(x, data):
    while x.sum() < 100.0:
        x = x + (data - data.mean(axis=0)).T @ (data @ x)
    return x


# CHECK-NOT: 8x100x3
# CHECK-NOT: 100x8x3
# CHECK: func.func public @main(%arg0: tensor<8x3xf32>, %arg1: tensor<100x3xf32>)
# CHECK: call @shared(
# CHECK-NOT: 8x100x3
# CHECK: stablehlo.dot_general
# CHECK-NOT: 100x8x3
