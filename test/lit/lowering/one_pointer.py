"""Variables that are saved together share a stack pointer; the return address, pushed at every call, has its own."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch chain --depth 5 | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return n, n
    double = 2 * n
    square = n * n
    low, high = f(n - 1)
    return double + low, square * high


# Of %double and %square; of %$return: counters are i32[8], and nothing else is compared with the depth.
# CHECK-LABEL: func.func private @block_{{[0-9]+}}.f.after_if(
# CHECK-COUNT-2: stablehlo.compare GT
# CHECK-NOT: stablehlo.compare GT
# CHECK: return
