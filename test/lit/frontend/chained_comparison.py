"""The middle of a chained comparison is evaluated once."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    y = 0 < x + 1 < 5
    return y


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.$1 = prim "x + 1" (%f.x)
# CHECK-NEXT:     %f.y = prim "and(0 < $1, $1 < 5)" (%f.$1)
# CHECK-NEXT:     %f.$result = prim "y" (%f.y)
# CHECK-NEXT:     halt
