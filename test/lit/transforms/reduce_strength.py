"""reduce-strength makes shifts and masks of what is divided by powers of two; statements read as the user wrote them."""

# RUN: hlobatch lower %s:f --args "i32[8]" | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    return n // 8, n % 4, n // 3


# CHECK: stablehlo.shift_right_arithmetic
# CHECK: stablehlo.and
# CHECK-COUNT-1: stablehlo.divide
# CHECK-NOT: stablehlo.divide
