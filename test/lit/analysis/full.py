"""FULL: what is read after a call during which its function may be entered again, and nothing else of a recursion."""

# RUN: hlobatch trace %s:f --args "i32[8]" | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    passed = n - 1
    below = f(passed)
    return below + kept


# CHECK-DAG: var full      %f.kept: i32[]
# CHECK-DAG: var register  %f.n: i32[]
# CHECK-DAG: var temporary %f.passed: i32[]
# CHECK-DAG: var register  %f.below: i32[]
