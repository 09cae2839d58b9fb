"""pop-push-elimination keeps the pair of a parameter that is passed on as it is: the callee reads it."""

# RUN: hlobatch trace %s:f --args "i32[8], i32[8]" --print-after pop-push-elimination | filecheck %s
import hlobatch as hb


@hb.batch
def f(n, a):
    if n <= 0:
        return a
    left = f(n - 1, a + 1)
    right = f(n - 1, a)
    return left + right + a


# CHECK: f.after_if.return:
# CHECK-NEXT: pop %f.a, %f.n
# CHECK: push %f.a
# CHECK-NOT: %f.a =
# CHECK: push_jump f.entry
