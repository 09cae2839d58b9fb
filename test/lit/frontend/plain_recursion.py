"""A function batched later under another name recurses into the batched one, although its body names the plain one."""

# RUN: hlobatch trace %s:fast --stage frontend | filecheck %s
# RUN: hlobatch trace %s:slow --stage frontend | filecheck %s
import hlobatch as hb


def slow(n):
    return 0 if n < 1 else slow(n - 1)


fast = hb.batch(slow)


# Checks of slow, made by update_checks.py
# CHECK-LABEL: def slow(%slow.n) -> (%slow.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %slow.$if1 = prim "n < 1" (%slow.n)
# CHECK-NEXT:     branch %slow.$if1, choose, otherwise
# CHECK-NEXT:   choose:
# CHECK-NEXT:     %slow.$result = prim "0" ()
# CHECK-NEXT:     halt
# CHECK-NEXT:   otherwise:
# CHECK-NEXT:     %slow.$2 = prim "n - 1" (%slow.n)
# CHECK-NEXT:     %slow.$result = call @slow(%slow.$2)
# CHECK-NEXT:     jump after_slow
# CHECK-NEXT:   after_slow:
# CHECK-NEXT:     halt
