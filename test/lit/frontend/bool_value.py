"""``and`` and ``or`` give the operand that decides, and evaluate no more than Python does."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(x, y):
    z = x or y + 1
    return z


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x, %f.y) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.$1 = prim "x" (%f.x)
# CHECK-NEXT:     %f.$if2 = prim "$1" (%f.$1)
# CHECK-NEXT:     branch %f.$if2, decided, or
# CHECK-NEXT:   or:
# CHECK-NEXT:     %f.$1 = prim "y + 1" (%f.y)
# CHECK-NEXT:     jump decided
# CHECK-NEXT:   decided:
# CHECK-NEXT:     %f.z = prim "$1" (%f.$1)
# CHECK-NEXT:     %f.$result = prim "z" (%f.z)
# CHECK-NEXT:     halt
