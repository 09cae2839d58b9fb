"""A branch picks the next program counter per lane; the block touches nothing but what it changes."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch case --disable ask-ahead --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK-LABEL: func.func private @block_0.f.entry(
# CHECK-SAME: %arg0: tensor<8xi32>, %arg1: tensor<8xi32>) -> tensor<8xi32>
# CHECK: stablehlo.compare LE, %arg1
# CHECK: return {{%[0-9]+}} : tensor<8xi32>
