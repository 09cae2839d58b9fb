"""An argument that is only read lies where the host has it, and a shared one is nobody's own."""

# RUN: hlobatch lower %s:f --args "f32[8,100], i32[8]" --dialect llvm | filecheck %s
import hlobatch as hb


@hb.batch
def f(table, n):
    total = 0.0
    while n > 0:
        total = total + table[n]
        n = n - 1
    return total


# CHECK: %own0 = getelementptr i8, ptr %in0
# CHECK-NOT: memcpy
# CHECK: getelementptr float, ptr %own0
# CHECK: finished:
