"""``for`` over what has items: they are counted before the first turn, and had by their number in each."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(xs):
    total = 0
    for i, (x, y) in enumerate(zip(xs, reversed(xs), strict=True)):
        total += i * x * y
    return total


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.xs) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.total = prim "0" ()
# CHECK-NEXT:     %f.$turns1 = prim "length(xs)" (%f.xs)
# CHECK-NEXT:     %f.$turns2 = prim "length(xs)" (%f.xs)
# CHECK-NEXT:     %f.$turns3 = prim "fewest(True, $turns1, $turns2)" (%f.$turns1, %f.$turns2)
# CHECK-NEXT:     %f.$turn4 = prim "0" ()
# CHECK-NEXT:     jump for
# CHECK-NEXT:   for:
# CHECK-NEXT:     %f.$turn4_if = prim "$turn4 < $turns3" (%f.$turn4, %f.$turns3)
# CHECK-NEXT:     branch %f.$turn4_if, body, after_for
# CHECK-NEXT:   body:
# CHECK-NEXT:     %f.i, %f.x, %f.y = prim "i, (x, y) = ($turn4, (item_of(xs, $turn4), item_of(xs, from_end($turns2, $turn4))))" (%f.$turn4, %f.xs, %f.$turns2)
# CHECK-NEXT:     %f.total = prim "total + i * x * y" (%f.total, %f.i, %f.x, %f.y)
# CHECK-NEXT:     jump next
# CHECK-NEXT:   next:
# CHECK-NEXT:     %f.$turn4 = prim "$turn4 + 1" (%f.$turn4)
# CHECK-NEXT:     jump for
# CHECK-NEXT:   after_for:
# CHECK-NEXT:     %f.$result = prim "total" (%f.total)
# CHECK-NEXT:     halt
