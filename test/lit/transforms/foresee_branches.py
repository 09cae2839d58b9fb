"""A loop whose first test is known is entered past it, where what its body assigns would have no value otherwise."""

# RUN: hlobatch trace %s:f --args "f32[8]" --print-after specialize | filecheck %s
# RUN: hlobatch trace %s:g --args "f32[8]" --print-after specialize | filecheck %s --check-prefix=G
import hlobatch as hb


@hb.batch
def f(x):
    error = 9.0
    while error > 0.1:
        new = x / 2
        error = x - new
        x = new
    return new


@hb.batch
def g(x):
    error = 9.0
    while error > 0.1:
        new = x / 2
        error = x - new
        x = new
    return x


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x) -> (%f.$result):
# CHECK-NEXT:   body:
# CHECK-NEXT:     %f.new = prim "x / 2" (%f.x)
# CHECK-NEXT:     %f.error:2 = prim "x - new" (%f.x, %f.new)
# CHECK-NEXT:     %f.x = prim "new" (%f.new)
# CHECK-NEXT:     %f.$if1:2 = prim "error > 0.1" (%f.error:2)
# CHECK-NEXT:     branch %f.$if1:2, body, after_while
# CHECK-NEXT:   after_while:
# CHECK-NEXT:     %f.$result = prim "new" (%f.new)
# CHECK-NEXT:     halt
# Checks of g, made by update_checks.py
# G-LABEL: def g(%g.x) -> (%g.$result):
# G-NEXT:   entry:
# G-NEXT:     %g.error = prim "9.0" ()
# G-NEXT:     jump while
# G-NEXT:   while:
# G-NEXT:     %g.$if1 = prim "error > 0.1" (%g.error)
# G-NEXT:     branch %g.$if1, body, after_while
# G-NEXT:   body:
# G-NEXT:     %g.new = prim "x / 2" (%g.x)
# G-NEXT:     %g.error = prim "x - new" (%g.x, %g.new)
# G-NEXT:     %g.x = prim "new" (%g.new)
# G-NEXT:     jump while
# G-NEXT:   after_while:
# G-NEXT:     %g.$result = prim "x" (%g.x)
# G-NEXT:     halt
