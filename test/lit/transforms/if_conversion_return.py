"""A branch that returns numbers joins the loop's way out, where variables are given back: it returns by way of those."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after rotate-loops | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8]" --print-after if-conversion-rotated | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def f(n):
    found, seen = 0, 1
    if n == 7:
        return 1, 1
    n = n & 3
    while n > 0:
        below, deeper = f(n - 1)
        found, seen, n = found + below, seen + deeper, n - 1
    return found, seen


# BEFORE-LABEL: def f(
# BEFORE: branch %f.$if1, then, after_if
# BEFORE: then:
# BEFORE-NEXT: %f.$result = prim "(1, 1)" ()
# BEFORE-NEXT: halt
# BEFORE: branch %f.$if2, body, after_while

# AFTER-LABEL: def f(
# AFTER: %f.found:exit, %f.seen:exit = prim "(1, 1)" ()
# AFTER: %f.found = prim "select" (%f.$if1, %f.found:exit, %f.found)
# AFTER: %f.seen = prim "select" (%f.$if1, %f.seen:exit, %f.seen)
# AFTER: %f.$if2:joined = prim "neither_but" (%f.$if1, %f.$if2)
# AFTER-NEXT: branch %f.$if2:joined, body, after_while
# AFTER-NOT: then:
# AFTER: after_while:
# AFTER-NEXT: %f.$result = prim "(found, seen)" (%f.found, %f.seen)
# AFTER-NEXT: halt
