"""Assignment: chains and nested unpacking are one primitive; rebinding keeps the name here, passes rename it."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(pair):
    a, (b, *rest) = pair
    x = y = a + b
    x = x * 2
    a: float = x
    a += y
    return a, rest


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.pair) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.a, %f.b, %f.rest = prim "a, (b, *rest) = pair" (%f.pair)
# CHECK-NEXT:     %f.x, %f.y = prim "x = y = a + b" (%f.a, %f.b)
# CHECK-NEXT:     %f.x = prim "x * 2" (%f.x)
# CHECK-NEXT:     %f.a = prim "x" (%f.x)
# CHECK-NEXT:     %f.a = prim "a + y" (%f.a, %f.y)
# CHECK-NEXT:     %f.$result = prim "(a, rest)" (%f.a, %f.rest)
# CHECK-NEXT:     halt
