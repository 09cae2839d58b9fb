"""ask-ahead lets blocks ask what those that they lead to would ask, a recursion's base case among it."""

# RUN: hlobatch trace %s:f --args "i32[8], i32[8]" --stage lowered | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8], i32[8]" --stage machine | filecheck %s --check-prefix=AFTER
import jax.numpy as jnp

import hlobatch as hb


@hb.batch
def f(n, x):
    if n <= 0:
        return jnp.full(64, x)
    table = f(n - 1, x + 1) * f(n - 2, x - 1)
    if n == 3:
        table = table.at[x % 64].set(0)
    elif n == 5:
        table = table[::-1]
    return table


# BEFORE-LABEL: def main(
# BEFORE: f.else.2:
# BEFORE-NEXT: %f.$if9 = prim "n == 5" (%f.n)
# BEFORE-NEXT: branch %f.$if9, f.then.3, f.after_if.2

# AFTER-LABEL: def main(
# AFTER: f.entry:
# AFTER-NEXT: %f.$if1 = prim "n <= 0" (%f.n)
# AFTER-NEXT: branch %f.$if1, f.then, f.after_if
# AFTER: f.after_if:
# AFTER-NEXT: push %f.n, %f.x
# AFTER-NEXT: %f.n = prim "n - 1" (%f.n)
# AFTER-NEXT: %f.x = prim "x + 1" (%f.x)
# AFTER-NEXT: %f.$if1@f.after_if = prim "n <= 0" (%f.n)
# AFTER-NEXT: push_jump f.entry, return to f.after_if.return by %f.$return
# AFTER-NEXT: // past f.entry: branch %f.$if1@f.after_if, f.then, f.after_if
# AFTER: branch %f.$if8, f.then.2, f.else.2
# AFTER-NEXT: // past f.else.2: branch %f.$if9@f.after_f.return, f.then.3, f.after_if.2
# AFTER-NEXT: // past f.after_if.2: return by %f.$return
# AFTER-NEXT: f.then.2:
# AFTER-NOT: "n == 5"
