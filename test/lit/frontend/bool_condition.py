"""In a condition ``and``, ``or`` and ``not`` only choose where to go: they compute nothing."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(x, y):
    if x > 0 and not (y > 0 or x > y):
        return 1
    return 2


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x, %f.y) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.$if1 = prim "x > 0" (%f.x)
# CHECK-NEXT:     branch %f.$if1, and, after_if
# CHECK-NEXT:   and:
# CHECK-NEXT:     %f.$if2 = prim "y > 0" (%f.y)
# CHECK-NEXT:     branch %f.$if2, after_if, or
# CHECK-NEXT:   or:
# CHECK-NEXT:     %f.$if3 = prim "x > y" (%f.x, %f.y)
# CHECK-NEXT:     branch %f.$if3, after_if, then
# CHECK-NEXT:   then:
# CHECK-NEXT:     %f.$result = prim "1" ()
# CHECK-NEXT:     halt
# CHECK-NEXT:   after_if:
# CHECK-NEXT:     %f.$result = prim "2" ()
# CHECK-NEXT:     halt
