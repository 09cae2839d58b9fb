"""A push is a scatter with unique indices into a stack of depth + 1 rows: what a masked lane writes goes to the last row."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch chain --depth 5 --disable ask-ahead --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK-LABEL: func.func private @block_2.f.after_if(
# CHECK: "stablehlo.scatter"(
# CHECK-SAME: unique_indices = true
# CHECK: (tensor<48xi32>, tensor<8x1xi32>, tensor<8xi32>) -> tensor<48xi32>
