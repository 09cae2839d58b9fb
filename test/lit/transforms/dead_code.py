"""dead-code drops primitives whose results nothing reads; calls stay, since they might not end."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after hoist-shared | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8]" --print-after dead-code | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def g(x):
    while x > 1:
        x = x // 2
    return x


@hb.batch
def f(x):
    one = x + 1
    two = one * 2
    three = x - 3
    unused = g(three)
    return x


# BEFORE: prim "x + 1"
# BEFORE: prim "one * 2"
# AFTER-LABEL: def f(
# AFTER-NOT: prim "x + 1"
# AFTER-NOT: prim "one * 2"
# AFTER: %f.three = prim "x - 3" (%f.x)
# AFTER-NEXT: call @g(%f.three)
