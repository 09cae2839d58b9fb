"""Assignment to items binds the names that they are a part of; targets of one assignment are one primitive."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(a, i):
    a[i], a[0] = a[0], a[i]
    a[i] += 1
    n, a[g(i)] = i, a[g(a[i])]
    return a[n]


@hb.batch
def g(i):
    return i - 1


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.a, %f.i) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.a = prim "a[i], a[0] = (a[0], a[i])" (%f.a, %f.i)
# CHECK-NEXT:     %f.a = prim "a[i] += 1" (%f.a, %f.i)
# CHECK-NEXT:     %f.$5 = prim "a[i]" (%f.a, %f.i)
# CHECK-NEXT:     %f.$4 = call @g(%f.$5)
# CHECK-NEXT:     jump after_g
# CHECK-NEXT:   after_g:
# CHECK-NEXT:     %f.$6 = prim "(i, a[$4])" (%f.i, %f.a, %f.$4)
# CHECK-NEXT:     %f.$7, %f.$8 = prim "(i, a[$4])" (%f.$6)
# CHECK-NEXT:     %f.n = prim "n" (%f.$7)
# CHECK-NEXT:     %f.$9 = call @g(%f.i)
# CHECK-NEXT:     jump after_g.2
# CHECK-NEXT:   after_g.2:
# CHECK-NEXT:     %f.a = prim "a[g(i)]" (%f.a, %f.$8, %f.$9)
# CHECK-NEXT:     %f.$result = prim "a[n]" (%f.a, %f.n)
# CHECK-NEXT:     halt
