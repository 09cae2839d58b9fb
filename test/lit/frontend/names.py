"""A local named like a global is a local; functions of one name get names of their own; ``main`` is taken."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb

x = 3


def make(k):
    @hb.batch
    def helper(a):
        return a + k

    return helper


one, two = make(1), make(2)


@hb.batch
def main(a):
    return a


@hb.batch
def f(n):
    x = n + 1
    return one(x) + two(x) + main(x)


# Checks of f, main_2, helper, helper_2, made by update_checks.py
# CHECK-LABEL: def f(%f.n) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.x = prim "n + 1" (%f.n)
# CHECK-NEXT:     %f.$1 = call @helper(%f.x)
# CHECK-NEXT:     jump after_helper
# CHECK-NEXT:   after_helper:
# CHECK-NEXT:     %f.$2 = call @helper_2(%f.x)
# CHECK-NEXT:     jump after_helper_2
# CHECK-NEXT:   after_helper_2:
# CHECK-NEXT:     %f.$3 = call @main_2(%f.x)
# CHECK-NEXT:     jump after_main_2
# CHECK-NEXT:   after_main_2:
# CHECK-NEXT:     %f.$result = prim "$1 + $2 + $3" (%f.$1, %f.$2, %f.$3)
# CHECK-NEXT:     halt
# CHECK-LABEL: def main_2(%main_2.a) -> (%main_2.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %main_2.$result = prim "a" (%main_2.a)
# CHECK-NEXT:     halt
# CHECK-LABEL: def helper(%helper.a) -> (%helper.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %helper.$result = prim "a + k" (%helper.a)
# CHECK-NEXT:     halt
# CHECK-LABEL: def helper_2(%helper_2.a) -> (%helper_2.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %helper_2.$result = prim "a + k" (%helper_2.a)
# CHECK-NEXT:     halt
