"""Before anything else a block that pushes takes lanes whose stacks are full out of its mask."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch case --depth 5 --disable ask-ahead --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK-LABEL: func.func private @block_2.f.after_if(
# CHECK: [[MASK:%[0-9]+]] = stablehlo.compare EQ, %arg0
# CHECK: [[FULL:%[0-9]+]] = stablehlo.compare GT
# CHECK: stablehlo.and [[MASK]]
# CHECK: "stablehlo.scatter"
