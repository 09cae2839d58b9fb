"""results-in-parts gives back the arrays of a pair, and the call that main ends in is a jump."""

# RUN: hlobatch trace %s:f --args "i32[8], f32[8, 4]" --stage lowered | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8], f32[8, 4]" --stage machine | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def f(n, x):
    if n == 0:
        return n, x
    count, y = f(n - 1, x)
    return count + 1, y


# BEFORE-LABEL: def main(%f.count, %f.x) -> (%main.$result):
# BEFORE-NEXT: main.entry:
# BEFORE-NEXT: push_jump f.entry, return to main.entry.return by %f.$return
# BEFORE: main.entry.return:
# BEFORE-NEXT: %main.$result = prim "$result" (%f.count, %f.x)
# BEFORE-NEXT: halt

# AFTER-LABEL: def main(%f.count, %f.x) -> (%f.count, %f.x):
# AFTER-NEXT: f.entry:
# AFTER-NOT: halt
