"""lower-calls: a branch straight out of a function gets a block that returns."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after lower-calls | filecheck %s
import hlobatch as hb


@hb.batch
def at_least(n):
    if n < 0:
        return False
    return n == 0 or at_least(n - 1)


@hb.batch
def f(n):
    return at_least(n) + at_least(n - 9)


# CHECK: branch %at_least.$if2:joined, at_least.entry.leave, at_least.or
# CHECK: at_least.entry.leave:
# CHECK-NEXT: return by %at_least.$return
