"""Calls come out of an expression in the order Python evaluates them; a call ends its block."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def g(a, b=10):
    return a - b


@hb.batch
def f(x):
    return x * g(x + 1) + g(b=x, a=g(x, 2))


# Checks of f, g, made by update_checks.py
# CHECK-LABEL: def f(%f.x) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.$2 = prim "10" ()
# CHECK-NEXT:     %f.$3 = prim "x + 1" (%f.x)
# CHECK-NEXT:     %f.$1 = call @g(%f.$3, %f.$2)
# CHECK-NEXT:     jump after_g
# CHECK-NEXT:   after_g:
# CHECK-NEXT:     %f.$6 = prim "2" ()
# CHECK-NEXT:     %f.$5 = call @g(%f.x, %f.$6)
# CHECK-NEXT:     jump after_g.2
# CHECK-NEXT:   after_g.2:
# CHECK-NEXT:     %f.$4 = call @g(%f.$5, %f.x)
# CHECK-NEXT:     jump after_g.3
# CHECK-NEXT:   after_g.3:
# CHECK-NEXT:     %f.$result = prim "x * $1 + $4" (%f.x, %f.$1, %f.$4)
# CHECK-NEXT:     halt
# CHECK-LABEL: def g(%g.a, %g.b) -> (%g.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %g.$result = prim "a - b" (%g.a, %g.b)
# CHECK-NEXT:     halt
