"""An exception in the user's code, three calls deep: where it is, and how control got there."""

# RUN: not hlobatch trace %s:f --args "f32[8,3]" 2>&1 | filecheck %s
import jax.numpy as jnp

import hlobatch as hb


def helper(x):
    return jnp.dot(x, jnp.ones(2))


@hb.batch
def inner(x):
    if x[0] > 0:
        return 2 * helper(x)
    return x[0]


@hb.batch
def f(x):
    return inner(x) + 1


# CHECK: {{.*}}user_code.py:[[# @LINE - 9]]:20: error: TypeError: dot_general requires contracting dimensions
# CHECK-NEXT: |         return 2 * helper(x)
# CHECK-NEXT: |                    ^^^^^^^^^
# CHECK-NEXT: in inner
# CHECK: {{.*}}user_code.py:[[# @LINE - 19]]:12: note: here, in helper
# CHECK: {{.*}}user_code.py:[[# @LINE - 8]]:12: note: called from here
# CHECK: help: the code runs on one example, where x is f32[3].
# CHECK-NOT: Traceback
