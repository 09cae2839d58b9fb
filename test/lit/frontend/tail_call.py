"""A call in tail position writes the result and leaves, also from a conditional expression and from ``or``."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    if x > 10:
        return x > 20 or f(x + 1)
    return True if x < 0 else f(x - 1)


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.$if1 = prim "x > 10" (%f.x)
# CHECK-NEXT:     branch %f.$if1, then, after_if
# CHECK-NEXT:   then:
# CHECK-NEXT:     %f.$result = prim "x > 20" (%f.x)
# CHECK-NEXT:     %f.$if2 = prim "$result" (%f.$result)
# CHECK-NEXT:     branch %f.$if2, halt, or
# CHECK-NEXT:   or:
# CHECK-NEXT:     %f.$3 = prim "x + 1" (%f.x)
# CHECK-NEXT:     %f.$result = call @f(%f.$3)
# CHECK-NEXT:     jump after_f
# CHECK-NEXT:   after_f:
# CHECK-NEXT:     halt
# CHECK-NEXT:   after_if:
# CHECK-NEXT:     %f.$if4 = prim "x < 0" (%f.x)
# CHECK-NEXT:     branch %f.$if4, choose, otherwise
# CHECK-NEXT:   choose:
# CHECK-NEXT:     %f.$result = prim "True" ()
# CHECK-NEXT:     halt
# CHECK-NEXT:   otherwise:
# CHECK-NEXT:     %f.$5 = prim "x - 1" (%f.x)
# CHECK-NEXT:     %f.$result = call @f(%f.$5)
# CHECK-NEXT:     jump after_f.2
# CHECK-NEXT:   after_f.2:
# CHECK-NEXT:     halt
