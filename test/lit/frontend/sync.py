"""``hb.sync()`` starts a block that later passes leave alone."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
# RUN: hlobatch trace %s:f --args "i32[8]" | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    y = x + 1
    hb.sync()
    z = y * 2
    return z


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.y = prim "x + 1" (%f.x)
# CHECK-NEXT:     jump sync
# CHECK-NEXT:   sync:  // sync
# CHECK-NEXT:     %f.z = prim "y * 2" (%f.y)
# CHECK-NEXT:     %f.$result = prim "z" (%f.z)
# CHECK-NEXT:     halt
