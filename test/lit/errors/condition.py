"""A condition has to be a scalar."""

# RUN: not hlobatch trace %s:f --args "f32[8,3]" 2>&1 | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    while x > 1:
        x = x / 2
    return x


# CHECK: {{.*}}condition.py:[[# @LINE - 5]]:11: error: the condition has shape [3], it has to be a scalar
# CHECK-NEXT: |     while x > 1:
# CHECK-NEXT: |           ^^^^^
# CHECK: help: reduce it
