"""A statement without a rule: what it is, where, and what to write instead."""

# RUN: not hlobatch trace %s:f --stage frontend 2>&1 | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    # CHECK: {{.*}}unsupported.py:[[# @LINE + 3]]:9: error: `yield` is not supported in a batched function
    # CHECK-NEXT: | y = yield x
    # CHECK-NEXT: |     ^^^^^^^
    y = yield x
    # CHECK: in f
    # CHECK-NEXT: help: go over the generator in a batched function
    return y
