"""``break`` leaves a loop past its ``else``; ``continue`` goes to its test."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    while n > 0:
        n -= 1
        if n == 7:
            break
        if n == 5:
            continue
        n -= 2
    else:
        n = 100
    return n


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.n) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     jump while
# CHECK-NEXT:   while:
# CHECK-NEXT:     %f.$if1 = prim "n > 0" (%f.n)
# CHECK-NEXT:     branch %f.$if1, body, else
# CHECK-NEXT:   body:
# CHECK-NEXT:     %f.n = prim "n - 1" (%f.n)
# CHECK-NEXT:     %f.$if2 = prim "n == 7" (%f.n)
# CHECK-NEXT:     branch %f.$if2, then, after_if
# CHECK-NEXT:   then:
# CHECK-NEXT:     jump after_while
# CHECK-NEXT:   after_if:
# CHECK-NEXT:     %f.$if3 = prim "n == 5" (%f.n)
# CHECK-NEXT:     branch %f.$if3, then.2, after_if.2
# CHECK-NEXT:   then.2:
# CHECK-NEXT:     jump while
# CHECK-NEXT:   after_if.2:
# CHECK-NEXT:     %f.n = prim "n - 2" (%f.n)
# CHECK-NEXT:     jump while
# CHECK-NEXT:   else:
# CHECK-NEXT:     %f.n = prim "100" ()
# CHECK-NEXT:     jump after_while
# CHECK-NEXT:   after_while:
# CHECK-NEXT:     %f.$result = prim "n" (%f.n)
# CHECK-NEXT:     halt
