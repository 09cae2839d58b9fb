"""What a call saves has one pointer, its return address included; a return reads that address and no stack."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch chain --depth 5 --disable ask-ahead --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return n, n
    double = 2 * n
    square = n * n
    low, high = f(n - 1)
    return double + low, square * high


# Nothing else is compared with the depth.
# CHECK-LABEL: func.func private @block_{{[0-9]+}}.f.then(
# CHECK-NOT: stablehlo.gather
# CHECK-LABEL: func.func private @block_{{[0-9]+}}.f.after_if(
# CHECK-COUNT-1: stablehlo.compare GT
# CHECK-NOT: stablehlo.compare GT
# CHECK: return
