"""A call of a batched function with the wrong arguments: the call, and the definition."""

# RUN: not hlobatch trace %s:f --stage frontend 2>&1 | filecheck %s
import hlobatch as hb


@hb.batch
def g(a, b):
    return a + b


@hb.batch
def f(x):
    return 1 + g(x)


# CHECK: {{.*}}inner_call.py:[[# @LINE - 3]]:16: error: g() is called wrongly: missing a required argument: 'b'
# CHECK: {{.*}}inner_call.py:[[# @LINE - 10]]:1: note: g is defined here
# CHECK: help: its parameters are (a, b).
