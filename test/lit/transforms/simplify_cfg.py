"""simplify-cfg threads jumps through empty blocks, merges straight lines, and drops what no control reaches."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8]" --print-after simplify-cfg | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def f(x):
    if x > 0:
        if x > 1:
            x = 1
        else:
            x = 2
    while True:
        break
    return x


# Checks of f, made by update_checks.py
# BEFORE-LABEL: def f(%f.x) -> (%f.$result):
# BEFORE-NEXT:   entry:
# BEFORE-NEXT:     %f.$if1 = prim "x > 0" (%f.x)
# BEFORE-NEXT:     branch %f.$if1, then, after_if
# BEFORE-NEXT:   then:
# BEFORE-NEXT:     %f.$if2 = prim "x > 1" (%f.x)
# BEFORE-NEXT:     branch %f.$if2, then.2, else.2
# BEFORE-NEXT:   then.2:
# BEFORE-NEXT:     %f.x = prim "1" ()
# BEFORE-NEXT:     jump after_if.2
# BEFORE-NEXT:   else.2:
# BEFORE-NEXT:     %f.x = prim "2" ()
# BEFORE-NEXT:     jump after_if.2
# BEFORE-NEXT:   after_if.2:
# BEFORE-NEXT:     jump after_if
# BEFORE-NEXT:   after_if:
# BEFORE-NEXT:     jump while
# BEFORE-NEXT:   while:
# BEFORE-NEXT:     %f.$if3 = prim "True" ()
# BEFORE-NEXT:     branch %f.$if3, body, after_while
# BEFORE-NEXT:   body:
# BEFORE-NEXT:     jump after_while
# BEFORE-NEXT:   after_while:
# BEFORE-NEXT:     %f.$result = prim "x" (%f.x)
# BEFORE-NEXT:     halt
# Checks of f, made by update_checks.py
# AFTER-LABEL: def f(%f.x) -> (%f.$result):
# AFTER-NEXT:   entry:
# AFTER-NEXT:     %f.$if1 = prim "x > 0" (%f.x)
# AFTER-NEXT:     branch %f.$if1, then, while
# AFTER-NEXT:   then:
# AFTER-NEXT:     %f.$if2 = prim "x > 1" (%f.x)
# AFTER-NEXT:     branch %f.$if2, then.2, else.2
# AFTER-NEXT:   then.2:
# AFTER-NEXT:     %f.x = prim "1" ()
# AFTER-NEXT:     jump while
# AFTER-NEXT:   else.2:
# AFTER-NEXT:     %f.x = prim "2" ()
# AFTER-NEXT:     jump while
# AFTER-NEXT:   while:
# AFTER-NEXT:     %f.$if3 = prim "True" ()
# AFTER-NEXT:     %f.$result = prim "x" (%f.x)
# AFTER-NEXT:     halt
