"""TEMPORARY: what lives inside one block, wherever it has a namesake."""

# RUN: hlobatch trace %s:f --args "i32[8]" --disable rotate-loops | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    while x > 1:
        half = x // 2
        rest = x - 2 * half
        x = half + rest
    return x


# CHECK-DAG: var temporary %f.$if1: bool[]
# CHECK-DAG: var temporary %f.half: i32[]
# CHECK-DAG: var temporary %f.rest: i32[]
# CHECK-DAG: var register  %f.x: i32[]
