"""A ``range`` known when the program is built still is a loop, whose condition is a tensor: its counter changes."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after specialize | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    for i in range(3):
        x = x + i
    return x


# CHECK-DAG: var %f.$turn5: i32[]
# CHECK-DAG: var %f.$turn5_if: bool[]
# CHECK: branch %f.$turn5_if, body, after_for
