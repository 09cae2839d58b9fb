"""Functions that call each other are functions of one program."""

# RUN: hlobatch trace %s:is_even --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


@hb.batch
def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


# Checks of is_even, is_odd, made by update_checks.py
# CHECK-LABEL: def is_even(%is_even.n) -> (%is_even.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %is_even.$if1 = prim "n == 0" (%is_even.n)
# CHECK-NEXT:     branch %is_even.$if1, then, after_if
# CHECK-NEXT:   then:
# CHECK-NEXT:     %is_even.$result = prim "True" ()
# CHECK-NEXT:     halt
# CHECK-NEXT:   after_if:
# CHECK-NEXT:     %is_even.$2 = prim "n - 1" (%is_even.n)
# CHECK-NEXT:     %is_even.$result = call @is_odd(%is_even.$2)
# CHECK-NEXT:     jump after_is_odd
# CHECK-NEXT:   after_is_odd:
# CHECK-NEXT:     halt
# CHECK-LABEL: def is_odd(%is_odd.n) -> (%is_odd.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %is_odd.$if1 = prim "n == 0" (%is_odd.n)
# CHECK-NEXT:     branch %is_odd.$if1, then, after_if
# CHECK-NEXT:   then:
# CHECK-NEXT:     %is_odd.$result = prim "False" ()
# CHECK-NEXT:     halt
# CHECK-NEXT:   after_if:
# CHECK-NEXT:     %is_odd.$2 = prim "n - 1" (%is_odd.n)
# CHECK-NEXT:     %is_odd.$result = call @is_even(%is_odd.$2)
# CHECK-NEXT:     jump after_is_even
# CHECK-NEXT:   after_is_even:
# CHECK-NEXT:     halt
