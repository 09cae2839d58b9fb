"""A loop carries the program counter and registers: what lives in one block is not part of it, nor is any stack."""

# RUN: hlobatch lower %s:f --args "f32[8]" --dispatch chain --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    while x > 1.0:
        half = x / 2.0
        third = x / 3.0
        x = half + third
    return x


# CHECK: stablehlo.while({{.*}}) : tensor<8xi32>, tensor<8xf32>{{(, tensor<i32>)?$}}
# CHECK-NOT: stablehlo.scatter
# CHECK-NOT: stablehlo.gather
