"""``if``, ``elif`` and ``else`` become branches whose sides meet again."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    if x > 2:
        y = 1
    elif x > 1:
        y = 2
    else:
        y = 3
    return y


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.$if1 = prim "x > 2" (%f.x)
# CHECK-NEXT:     branch %f.$if1, then, else
# CHECK-NEXT:   then:
# CHECK-NEXT:     %f.y = prim "1" ()
# CHECK-NEXT:     jump after_if
# CHECK-NEXT:   else:
# CHECK-NEXT:     %f.$if2 = prim "x > 1" (%f.x)
# CHECK-NEXT:     branch %f.$if2, then.2, else.2
# CHECK-NEXT:   then.2:
# CHECK-NEXT:     %f.y = prim "2" ()
# CHECK-NEXT:     jump after_if.2
# CHECK-NEXT:   else.2:
# CHECK-NEXT:     %f.y = prim "3" ()
# CHECK-NEXT:     jump after_if.2
# CHECK-NEXT:   after_if.2:
# CHECK-NEXT:     jump after_if
# CHECK-NEXT:   after_if:
# CHECK-NEXT:     %f.$result = prim "y" (%f.y)
# CHECK-NEXT:     halt
