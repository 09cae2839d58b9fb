"""dispatch=guarded: a sweep over all blocks, each in a loop that turns once if anyone waits there."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch guarded --disable ask-ahead --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK: do {
# CHECK: [[HERE:%[0-9]+]] = func.call @anyone
# CHECK: stablehlo.while({{.*}} = [[HERE]])
# CHECK: func.call @block_0.f.entry(
# CHECK-COUNT-3: func.call @anyone
# CHECK: func.call @block_3.f.after_if.return(
# CHECK: call @finish
