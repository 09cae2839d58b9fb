"""The arguments of a tail call are one parallel move: all are read before any is written."""

# RUN: hlobatch trace %s:gcd --args "i32[8], i32[8]" --print-after lower-calls | filecheck %s
import hlobatch as hb


@hb.batch
def gcd(a, b):
    if b == 0:
        return a
    return gcd(b, a % b)


# CHECK: %gcd.a, %gcd.b = prim "move" (%gcd.b, %gcd.$2)
# CHECK-NEXT: jump gcd.entry
