"""dispatch=case is the paper's figure 5: one case on the earliest program counter, each branch a block."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch case --disable ask-ahead --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK: stablehlo.while
# CHECK: cond {
# CHECK: stablehlo.compare LT
# CHECK: do {
# CHECK: "stablehlo.case"(
# CHECK-NEXT: func.call @block_0.f.entry(
# CHECK: func.call @block_1.f.then(
# CHECK: func.call @block_2.f.after_if(
# CHECK: func.call @block_3.f.after_if.return(
# CHECK-NOT: stablehlo.case
# CHECK: call @finish
