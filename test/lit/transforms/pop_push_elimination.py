"""pop-push-elimination: what is saved across two calls in a row stays saved between them."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after simplify-lowered | filecheck %s --check-prefix=BEFORE
# RUN: hlobatch trace %s:f --args "i32[8]" --print-after pop-push-elimination | filecheck %s --check-prefix=AFTER
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 0:
        return 1
    kept = n * n
    a = f(n - 1)
    b = f(a - 1)
    return b + kept


# BEFORE: push %f.kept
# BEFORE: f.after_if.return:
# BEFORE-NEXT: pop %f.kept
# BEFORE: push %f.kept
# BEFORE: pop %f.kept

# AFTER: push %f.kept
# AFTER: f.after_if.return:
# AFTER-NOT: pop
# AFTER-NOT: push %
# AFTER: f.after_f.return:
# AFTER-NEXT: pop %f.kept
