"""dispatch=sweep: a block that goes on to itself runs, four turns at a time, while most lanes stand there."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch sweep --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    while n > 1:
        n = n // 2
    return n


# CHECK: func.call @block_1.f.body(
# CHECK: stablehlo.while
# CHECK: func.call @majority
# CHECK: do {
# CHECK-COUNT-4: func.call @block_1.f.body(
# CHECK: call @finish
