"""simplify-cfg keeps one of several blocks that are alike, and lets who is called last return for its caller."""

# RUN: hlobatch trace %s:f --args "i32[8], i32[8]" --print-after coalesce-copies | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8], i32[8]" --print-after simplify-coalesced | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def f(n, best):
    if n <= 0:
        return best
    best = f(n - 2, best + 1)
    if best < 5:
        best = f(n - 1, best)
    return best


# BEFORE-LABEL: def main(
# BEFORE: f.then:
# BEFORE-NEXT: return by %f.$return
# BEFORE: f.then.2:
# BEFORE-NEXT: %f.n = prim "n - 1" (%f.n)
# BEFORE-NEXT: push_jump f.entry, return to f.then.2.return by %f.$return
# BEFORE: f.after_if.2:
# BEFORE-NEXT: return by %f.$return

# AFTER-LABEL: def main(
# AFTER: f.then:
# AFTER-NEXT: return by %f.$return
# AFTER: branch %f.$if4, f.then.2, f.then
# AFTER-NEXT: f.then.2:
# AFTER-NEXT: %f.n = prim "n - 1" (%f.n)
# AFTER-NEXT: jump f.entry
# AFTER-NOT: return by
