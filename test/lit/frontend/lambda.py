"""A lambda is a function with one return."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb

f = hb.batch(lambda x, y=2: x if x > y else y)


# Checks of lambda, made by update_checks.py
# CHECK-LABEL: def lambda(%lambda.x, %lambda.y) -> (%lambda.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %lambda.$if1 = prim "x > y" (%lambda.x, %lambda.y)
# CHECK-NEXT:     branch %lambda.$if1, choose, otherwise
# CHECK-NEXT:   choose:
# CHECK-NEXT:     %lambda.$result = prim "x" (%lambda.x)
# CHECK-NEXT:     halt
# CHECK-NEXT:   otherwise:
# CHECK-NEXT:     %lambda.$result = prim "y" (%lambda.y)
# CHECK-NEXT:     halt
