"""A function that calls itself in tail position only needs no stack, not even for its return address."""

# RUN: hlobatch trace %s:iota_sum --args "i32[8], i32[8]" --stage lowered | filecheck %s
import hlobatch as hb


@hb.batch
def iota_sum(n, total):
    if n == 0:
        return total
    return iota_sum(n - 1, total + n)


# CHECK-NOT: full
# CHECK-NOT: push
# CHECK-NOT: $return
# CHECK: jump iota_sum.entry
