"""lanes=4 for 64 inputs: lanes that are done hand in their results and take the next inputs, inside the loop."""

# RUN: hlobatch lower %s:f --args "i32[64]" --lanes 4 --dispatch chain --dialect portable | filecheck %s
# RUN: hlobatch lower %s:f --args "i32[4]" --lanes 4 --dispatch chain --dialect portable | filecheck %s --check-prefix=FITS
import hlobatch as hb


@hb.batch
def f(n):
    while n > 1:
        n = n // 2
    return n


# CHECK: func.func public @main(%arg0: tensor<64xi32>) -> (tensor<64xi32>, tensor<i32>, tensor<64xi32>)
# CHECK: do {
# CHECK: [[WANTED:%[0-9]+]] = func.call @wants_turnover(
# CHECK: func.call @turnover(
# CHECK: func.call @block_0
# CHECK: func.func private @turnover(
# CHECK: "stablehlo.scatter"
# CHECK: (tensor<65xi32>, tensor<4x1xi32>, tensor<4xi32>) -> tensor<65xi32>
# FITS-NOT: turnover
