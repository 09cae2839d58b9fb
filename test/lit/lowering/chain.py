"""dispatch=chain: for each block in order a loop that runs it while it is the earliest anyone waits at."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch chain --disable ask-ahead --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK: do {
# CHECK: stablehlo.while
# CHECK: [[HERE:%[0-9]+]] = stablehlo.compare EQ
# CHECK-NEXT: stablehlo.return [[HERE]]
# CHECK: func.call @block_0.f.entry(
# CHECK: stablehlo.while
# CHECK: stablehlo.compare EQ
# CHECK: func.call @block_1.f.then(
# CHECK: stablehlo.while
# CHECK: func.call @block_2.f.after_if(
# CHECK: stablehlo.while
# CHECK: func.call @block_3.f.after_if.return(
# CHECK: call @finish
