"""lower-calls: a call in tail position within its group of functions is a jump, mutual ones too."""

# RUN: hlobatch trace %s:is_even --args "i32[8]" --print-after lower-calls | filecheck %s
import hlobatch as hb


@hb.batch
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


@hb.batch
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


# CHECK-NOT: full
# CHECK-NOT: push
# CHECK: is_even.after_if:
# CHECK: %is_odd.n = prim "move" (
# CHECK-NEXT: jump is_odd.entry
# CHECK: is_odd.after_if:
# CHECK: %is_even.n = prim "move" (
# CHECK-NEXT: jump is_even.entry
# CHECK-NOT: $return
