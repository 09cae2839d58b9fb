"""Recursion without a base case."""

# RUN: not hlobatch trace %s:f --args "i32[8]" 2>&1 | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    return 1 + f(x - 1)


# CHECK: {{.*}}endless.py:[[# @LINE - 3]]:16: error: 'f' never returns: every path through it calls it again
# CHECK: help: give the recursion a base case that returns without a call.
