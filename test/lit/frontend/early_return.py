"""``return`` leaves from anywhere; what follows it is not part of the program. The end of a function returns None."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    while n > 0:
        if n == 3:
            return n
            n = 100
        n -= 1


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.n) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     jump while
# CHECK-NEXT:   while:
# CHECK-NEXT:     %f.$if1 = prim "n > 0" (%f.n)
# CHECK-NEXT:     branch %f.$if1, body, after_while
# CHECK-NEXT:   body:
# CHECK-NEXT:     %f.$if2 = prim "n == 3" (%f.n)
# CHECK-NEXT:     branch %f.$if2, then, after_if
# CHECK-NEXT:   then:
# CHECK-NEXT:     %f.$result = prim "n" (%f.n)
# CHECK-NEXT:     halt
# CHECK-NEXT:   after_if:
# CHECK-NEXT:     %f.n = prim "n - 1" (%f.n)
# CHECK-NEXT:     jump while
# CHECK-NEXT:   after_while:
# CHECK-NEXT:     %f.$result = prim "None" ()
# CHECK-NEXT:     halt
