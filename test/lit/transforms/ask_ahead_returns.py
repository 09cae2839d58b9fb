"""ask-ahead lets blocks return for those that they lead to, but no loop that turns in one block.

Where another way goes on from what a return would write, a select keeps it.
"""

# RUN: hlobatch trace %s:f --args "i32[8], i32[8]" --stage lowered | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8], i32[8]" --stage machine | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def f(n, best):
    if n <= 0:
        return best
    if n == 7:
        return best * 2
    best = f(n - 1, best + 1)
    if best == 3:
        return n
    while best > 9:
        best = best - n
        if best == 5:
            return best + n
    return f(n - 2, best) + n


# BEFORE-LABEL: def main(
# BEFORE: f.then.2:
# BEFORE-NEXT: %f.best = prim "best * 2" (%f.best)
# BEFORE-NEXT: return by %f.$return
# BEFORE: push_jump f.entry, return to f.after_if.2.return by %f.$return
# BEFORE-NEXT: f.after_if.2.return:
# BEFORE: f.then.3:
# BEFORE-NEXT: %f.best = prim "n" (%f.n)
# BEFORE-NEXT: return by %f.$return

# AFTER-LABEL: def main(
# AFTER: f.entry:
# AFTER: // past f.then.2: return by %f.$return
# AFTER-NEXT: f.after_while.return:
# AFTER: f.after_if.2:
# AFTER: %f.best = prim "best + 1" (%f.best)
# AFTER-NEXT: %f.$if1@f.after_if.2 = prim "n <= 0" (%f.n)
# AFTER-NEXT: %f.$if2@f.after_if.2 = prim "n == 7" (%f.n)
# AFTER-NEXT: %f.best@f.after_if.2 = prim "best * 2" (%f.best)
# AFTER-NEXT: %f.$if2@f.after_if.2:2 = prim "neither_but" (%f.$if1@f.after_if.2, %f.$if2@f.after_if.2)
# AFTER-NEXT: %f.best = prim "select" (%f.$if2@f.after_if.2:2, %f.best@f.after_if.2, %f.best)
# AFTER-NEXT: push_jump f.entry, return to f.after_if.2.return by %f.$return
# AFTER-NEXT: // past f.entry: branch %f.$if1@f.after_if.2, f.then, f.after_if
# AFTER-NEXT: // past f.after_if: branch %f.$if2@f.after_if.2, f.then.2, f.after_if.2
# AFTER-NEXT: // past f.then: return by %f.$return
# AFTER-NEXT: // past f.then.2: return by %f.$return
# AFTER-NEXT: f.after_if.2.return:
# AFTER: // past f.then.3: return by %f.$return
# AFTER-NEXT: f.body:
# AFTER-NEXT: %f.best = prim "best - n" (%f.best, %f.n)
# AFTER-NEXT: %f.$if7 = prim "best == 5" (%f.best)
# AFTER-NEXT: %f.$if6@f.body = prim "best > 9" (%f.best)
# AFTER-NEXT: branch %f.$if7, f.then.4, f.while
# AFTER-NEXT: // past f.while: branch %f.$if6@f.body, f.body, f.after_while
# AFTER-NEXT: f.then.4:
# AFTER-NEXT: %f.best = prim "best + n" (%f.best, %f.n)
# AFTER-NEXT: return by %f.$return
