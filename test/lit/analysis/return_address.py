"""Return addresses: a stack for a recursion, a register for a function that is never entered twice at once."""

# RUN: hlobatch trace %s:f --args "i32[8]" --stage lowered | filecheck %s
import hlobatch as hb


@hb.batch
def once(m):
    while m > 10:
        m = m - 10
    return m


@hb.batch
def again(n):
    if n <= 0:
        return once(n)
    return again(n - 1) + once(n)


@hb.batch
def f(x):
    return again(x) + 1


# CHECK-DAG: var full      %again.$return: i32[]
# CHECK-DAG: var register  %once.$return: i32[]
# CHECK: return to again.then.return by %once.$return
# CHECK: return to again.after_if.return by %again.$return
# CHECK: return by %once.$return
