"""Control on a traced value in a function that is not batched, where such functions are not followed."""

# RUN: not hlobatch trace %s:f --args "f32[8]" 2>&1 | filecheck %s
import hlobatch as hb


def helper(x):
    return 1 if x > 0 else 2


@hb.batch(follow=False)
def f(x):
    return helper(x)


# CHECK: {{.*}}undecorated.py:[[# @LINE - 3]]:12: error: a Python `if`, `while`, `and` or `or` inside this code depends on a value
# CHECK: {{.*}}undecorated.py:[[# @LINE - 9]]:17: note: here, in helper
# CHECK: help: decorate the function that contains it with @hb.batch, or use jnp.where.
