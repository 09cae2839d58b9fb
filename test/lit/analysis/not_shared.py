"""A shared input that some lane may overwrite is stored per lane like any other variable."""

# RUN: hlobatch trace %s:f --args "i32[8], i32[]" --disable rotate-loops | filecheck %s
import hlobatch as hb


@hb.batch(in_axes=(0, None))
def f(x, k):
    while x > 0:
        k = k + x
        x = x - 1
    return k


# CHECK-DAG: var shared    %main.k: i32[]
# CHECK-DAG: var register  %f.k: i32[]
# CHECK-DAG: var register  %f.x: i32[]
