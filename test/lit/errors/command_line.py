"""A wrong command line is answered with the usage, not with a traceback."""

# RUN: not hlobatch trace %s:f --args "i32[8" 2>&1 | filecheck %s --check-prefix=GRAMMAR
# RUN: not hlobatch trace %s:nothing --args "i32[8]" 2>&1 | filecheck %s --check-prefix=NAME
# RUN: not hlobatch trace %s:f 2>&1 | filecheck %s --check-prefix=MISSING
# RUN: not hlobatch trace %s:f --args "i32[8]" --print-after nothing 2>&1 | filecheck %s --check-prefix=PASS
import hlobatch as hb


@hb.batch
def f(a):
    return a


# GRAMMAR: usage: hlobatch trace
# GRAMMAR: error: --args 'i32[8':
# NAME: error: {{.*}}command_line.py has no function 'nothing'; batched functions there: f
# MISSING: error: this needs the types of the arguments
# PASS: error: argument --print-after: invalid choice: 'nothing' (choose from {{.*}}simplify-cfg{{.*}}specialize{{.*}}ask-ahead
