"""if-conversion turns a cheap branch into a select, and a short-circuit condition into one."""

# RUN: hlobatch trace %s:f --args "i32[8], i32[8]" --print-after hoist-shared | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8], i32[8]" --print-after if-conversion | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def f(x, y):
    while x > 0 and y > 0:
        if x > y:
            x = x - y
        else:
            y = y - x
    return x + y


# BEFORE: branch %f.$if{{[0-9]+}}, then, else
# AFTER-LABEL: def f(
# AFTER: prim "both" (%f.$if1, %f.$if2)
# AFTER: body:
# AFTER: %f.x = prim "select" (%f.$if3, %f.x:then, %f.x)
# AFTER: %f.y = prim "select" (%f.$if3, %f.y, %f.y:else)
# AFTER-NEXT: jump
# AFTER-NOT: then:
