"""max_steps: each lane counts its blocks, and one that has used them up is done; why is in an array of its own."""

# RUN: hlobatch lower %s:f --args "f32[8]" --max-steps 77 --dispatch chain --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    while x > 1.0:
        x = x / 2.0
    return x


# CHECK: stablehlo.while({{.*}}) : tensor<8xi32>, tensor<8xf32>, tensor<8xi32>, tensor<8xi32>
# CHECK: func.func private @block_0
# CHECK: stablehlo.constant dense<77>
# CHECK: stablehlo.compare GE
