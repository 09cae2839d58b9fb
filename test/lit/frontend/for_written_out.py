"""Turns that are not alike are written out, once tracing has found out."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after specialize | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    for name in ("up", "down"):
        if name == "up":
            n += 1
        elif n > 3:
            break
        else:
            n -= 2
    return n


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.n) -> (%f.$result):
# CHECK-NEXT:   then:
# CHECK-NEXT:     %f.n = prim "n + 1" (%f.n)
# CHECK-NEXT:     %f.$if6 = prim "n > 3" (%f.n)
# CHECK-NEXT:     branch %f.$if6, after_for, else.5
# CHECK-NEXT:   else.5:
# CHECK-NEXT:     %f.n = prim "n - 2" (%f.n)
# CHECK-NEXT:     jump after_for
# CHECK-NEXT:   after_for:
# CHECK-NEXT:     %f.$result = prim "n" (%f.n)
# CHECK-NEXT:     halt
