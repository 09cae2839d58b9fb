"""pop-push-elimination keeps a pair between which the variable is read."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after pop-push-elimination | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 0:
        return 1
    kept = n * n
    a = f(n - 1)
    b = f(a - kept)
    return b + kept


# CHECK: f.after_if.return:
# CHECK-NEXT: pop %f.kept
# CHECK: push %f.kept
