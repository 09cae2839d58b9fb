"""simplify-cfg neither merges a block marked by ``hb.sync()`` nor jumps over it, empty as it may be."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after simplify-cfg | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    while x > 0:
        x = x - 1
        hb.sync()
    return x


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x) -> (%f.$result):
# CHECK-NEXT:   while:
# CHECK-NEXT:     %f.$if1 = prim "x > 0" (%f.x)
# CHECK-NEXT:     branch %f.$if1, body, after_while
# CHECK-NEXT:   body:
# CHECK-NEXT:     %f.x = prim "x - 1" (%f.x)
# CHECK-NEXT:     jump sync
# CHECK-NEXT:   sync:  // sync
# CHECK-NEXT:     jump while
# CHECK-NEXT:   after_while:
# CHECK-NEXT:     %f.$result = prim "x" (%f.x)
# CHECK-NEXT:     halt
