"""Arguments that do not fit: there is no place in a file, as they stand on the command line."""

# RUN: not hlobatch trace %s:f --args "i32[8]" 2>&1 | filecheck %s --check-prefix=COUNT
# RUN: not hlobatch trace %s:f --args "i32[8], i32[7]" 2>&1 | filecheck %s --check-prefix=SIZE
# RUN: not hlobatch trace %s:f --args "i32[8], i32[]" 2>&1 | filecheck %s --check-prefix=SCALAR
# RUN: not hlobatch trace %s:f --args "i32[8], 'fast'" 2>&1 | filecheck %s --check-prefix=STRING
import hlobatch as hb


@hb.batch
def f(a, b):
    return a + b


# COUNT: {{^}}error: f() is called wrongly: missing a required argument: 'b'
# COUNT: {{.*}}arguments.py:[[# @LINE - 5]]:1: note: f is defined here
# SIZE: {{^}}error: the batch of a has size 8, but that of b has size 7
# SCALAR: {{^}}error: b is a scalar, but a batch with axis 0 is needed
# STRING: {{^}}error: b is 'fast', a str, not an array
# STRING: help: {{.*}}name the parameter in static_argnames
