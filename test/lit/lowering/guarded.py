"""dispatch=guarded: a sweep over all blocks, each behind a conditional that asks whether anyone waits there."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch guarded | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK: do {
# CHECK: [[HERE:%[0-9]+]] = func.call @anyone
# CHECK-NEXT: [[BRANCH:%[0-9]+]] = stablehlo.convert [[HERE]]
# CHECK-NEXT: "stablehlo.case"([[BRANCH]])
# CHECK-COUNT-3: func.call @anyone
# CHECK: func.call @block_3.f.after_if.return(
# CHECK: call @finish
