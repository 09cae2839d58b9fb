"""rotate-loops tests a loop's condition where a turn ends."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after specialize | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8]" --print-after rotate-loops | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def f(x):
    count = 0
    while x > 1:
        x = x // 2
        count = count + 1
    return count


# Checks of f, made by update_checks.py
# BEFORE-LABEL: def f(%f.x) -> (%f.$result):
# BEFORE-NEXT:   entry:
# BEFORE-NEXT:     %f.count = prim "0" ()
# BEFORE-NEXT:     jump while
# BEFORE-NEXT:   while:
# BEFORE-NEXT:     %f.$if1 = prim "x > 1" (%f.x)
# BEFORE-NEXT:     branch %f.$if1, body, after_while
# BEFORE-NEXT:   body:
# BEFORE-NEXT:     %f.x = prim "x // 2" (%f.x)
# BEFORE-NEXT:     %f.count = prim "count + 1" (%f.count)
# BEFORE-NEXT:     jump while
# BEFORE-NEXT:   after_while:
# BEFORE-NEXT:     %f.$result = prim "count" (%f.count)
# BEFORE-NEXT:     halt
# Checks of f, made by update_checks.py
# AFTER-LABEL: def f(%f.x) -> (%f.$result):
# AFTER-NEXT:   entry:
# AFTER-NEXT:     %f.count = prim "0" ()
# AFTER-NEXT:     %f.$if1 = prim "x > 1" (%f.x)
# AFTER-NEXT:     branch %f.$if1, body, after_while
# AFTER-NEXT:   body:
# AFTER-NEXT:     %f.x = prim "x // 2" (%f.x)
# AFTER-NEXT:     %f.count = prim "count + 1" (%f.count)
# AFTER-NEXT:     %f.$if1 = prim "x > 1" (%f.x)
# AFTER-NEXT:     branch %f.$if1, body, after_while
# AFTER-NEXT:   after_while:
# AFTER-NEXT:     %f.$result = prim "count" (%f.count)
# AFTER-NEXT:     halt
