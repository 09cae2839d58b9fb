"""``while``: a block that tests, a body that goes back to it."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    count = 0
    while n > 1:
        n = n // 2
        count += 1
    return count


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.n) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.count = prim "0" ()
# CHECK-NEXT:     jump while
# CHECK-NEXT:   while:
# CHECK-NEXT:     %f.$if1 = prim "n > 1" (%f.n)
# CHECK-NEXT:     branch %f.$if1, body, after_while
# CHECK-NEXT:   body:
# CHECK-NEXT:     %f.n = prim "n // 2" (%f.n)
# CHECK-NEXT:     %f.count = prim "count + 1" (%f.count)
# CHECK-NEXT:     jump while
# CHECK-NEXT:   after_while:
# CHECK-NEXT:     %f.$result = prim "count" (%f.count)
# CHECK-NEXT:     halt
