"""A variable that may have no value: the read, and where it is given one on other paths."""

# RUN: not hlobatch trace %s:f --args "i32[8]" 2>&1 | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    if x > 0:
        found = x
    return found


# CHECK: {{.*}}undefined.py:[[# @LINE - 3]]:12: error: 'found' may be read before it has a value
# CHECK-NEXT: |     return found
# CHECK-NEXT: |            ^^^^^
# CHECK: {{.*}}undefined.py:[[# @LINE - 7]]:9: note: 'found' is given a value here, but not on every path
# CHECK: help: give 'found' a value before the branch or loop.
