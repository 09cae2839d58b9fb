"""A conditional expression becomes two blocks that write one variable; returned, each side returns by itself."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    y = 1 + (x * 2 if x > 0 else -x)
    return y if y > 3 else 0


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.$if2 = prim "x > 0" (%f.x)
# CHECK-NEXT:     branch %f.$if2, choose, otherwise
# CHECK-NEXT:   choose:
# CHECK-NEXT:     %f.$1 = prim "x * 2" (%f.x)
# CHECK-NEXT:     jump chosen
# CHECK-NEXT:   otherwise:
# CHECK-NEXT:     %f.$1 = prim "-x" (%f.x)
# CHECK-NEXT:     jump chosen
# CHECK-NEXT:   chosen:
# CHECK-NEXT:     %f.y = prim "1 + $1" (%f.$1)
# CHECK-NEXT:     %f.$if3 = prim "y > 3" (%f.y)
# CHECK-NEXT:     branch %f.$if3, choose.2, otherwise.2
# CHECK-NEXT:   choose.2:
# CHECK-NEXT:     %f.$result = prim "y" (%f.y)
# CHECK-NEXT:     halt
# CHECK-NEXT:   otherwise.2:
# CHECK-NEXT:     %f.$result = prim "0" ()
# CHECK-NEXT:     halt
