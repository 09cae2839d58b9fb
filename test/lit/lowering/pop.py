"""A pop is a gather, and writes to no stack."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch chain --depth 5 --disable ask-ahead --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK-LABEL: func.func private @block_3.f.after_if.return(
# CHECK: "stablehlo.gather"(
# CHECK-SAME: (tensor<6x8xi32>, tensor<8x2xi32>) -> tensor<8xi32>
# CHECK-NOT: stablehlo.scatter
