"""FULL in mutual recursion: a call of another function of the group saves too; a call out of the group does not."""

# RUN: hlobatch trace %s:f --args "i32[8]" | filecheck %s
import hlobatch as hb


@hb.batch
def outside(m):
    while m > 10:
        m = m - 10
    return m


@hb.batch
def g(k):
    if k <= 0:
        return 1
    mine = k * 3
    return f(k - 1) + mine


@hb.batch
def f(n):
    kept_outside = n * n
    n = outside(n) + kept_outside
    kept = n * 2
    return g(n - 1) + kept


# CHECK-DAG: var full      %f.kept: i32[]
# CHECK-DAG: var full      %g.mine: i32[]
# CHECK-DAG: var register  %f.kept_outside: i32[]
# CHECK-DAG: var register  %outside.m: i32[]
