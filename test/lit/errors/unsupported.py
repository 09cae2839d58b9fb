"""A statement without a rule: what it is, where, and what to write instead."""

# RUN: not hlobatch trace %s:f --stage frontend 2>&1 | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    # CHECK: {{.*}}unsupported.py:[[# @LINE + 3]]:5: error: `del` is not supported in a batched function
    # CHECK-NEXT: | del x
    # CHECK-NEXT: | ^^^^^
    del x
    # CHECK: in f
    # CHECK-NEXT: help: leave it out
    return 1
