"""REGISTER: what lives from one block to another, but not across a call that may come back to its function."""

# RUN: hlobatch trace %s:f --args "i32[8]" --disable rotate-loops | filecheck %s
import hlobatch as hb


@hb.batch
def leaf(x):
    count = 0
    while x > 1:
        x = x // 2
        count = count + 1
    return count


@hb.batch
def f(x):
    kept = x + 1
    depth = leaf(x)
    return kept * depth


# CHECK-DAG: var register  %f.kept: i32[]
# CHECK-DAG: var register  %leaf.count: i32[]
# CHECK-NOT: var full
