"""In a sweep, block-order lets lanes go on in the round.

A leaf of the recursion passes `after_while`, comes back to `body.return` and starts the next call in `body`, all in one;
in program order that takes three rounds.
"""

# RUN: hlobatch trace %s:f --args "i32[8]" --schedule sweep --print-after allocate-lowered | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8]" --schedule sweep --print-after block-order | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def f(n):
    found = 1
    while n > 0:
        n -= 1
        found += f(n)
    return found


# BEFORE: f.entry:
# BEFORE: f.body:
# BEFORE: f.body.return:
# BEFORE: f.after_while:
# AFTER: f.entry:
# AFTER: f.after_while:
# AFTER: f.body.return:
# AFTER: f.body:
