"""``continue`` in a ``for`` goes to the block that counts; ``break`` past the ``else``."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    total = 0
    for i in range(n):
        if i == 3:
            continue
        if i == 5:
            break
        total += i
    else:
        total = -1
    return total


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.n) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.total = prim "0" ()
# CHECK-NEXT:     %f.$1 = prim "0" ()
# CHECK-NEXT:     %f.$2 = prim "1" ()
# CHECK-NEXT:     %f.$3 = prim "n" (%f.n)
# CHECK-NEXT:     %f.$turns4 = prim "range_count($1, $3, $2)" (%f.$1, %f.$3, %f.$2)
# CHECK-NEXT:     %f.$turn5 = prim "0" ()
# CHECK-NEXT:     jump for
# CHECK-NEXT:   for:
# CHECK-NEXT:     %f.$turn5_if = prim "$turn5 < $turns4" (%f.$turn5, %f.$turns4)
# CHECK-NEXT:     branch %f.$turn5_if, body, else
# CHECK-NEXT:   body:
# CHECK-NEXT:     %f.i = prim "range_item($turn5, $1, $2, $3)" (%f.$turn5, %f.$1, %f.$2, %f.$3)
# CHECK-NEXT:     %f.$if6 = prim "i == 3" (%f.i)
# CHECK-NEXT:     branch %f.$if6, then, after_if
# CHECK-NEXT:   then:
# CHECK-NEXT:     jump next
# CHECK-NEXT:   after_if:
# CHECK-NEXT:     %f.$if7 = prim "i == 5" (%f.i)
# CHECK-NEXT:     branch %f.$if7, then.2, after_if.2
# CHECK-NEXT:   then.2:
# CHECK-NEXT:     jump after_for
# CHECK-NEXT:   after_if.2:
# CHECK-NEXT:     %f.total = prim "total + i" (%f.total, %f.i)
# CHECK-NEXT:     jump next
# CHECK-NEXT:   next:
# CHECK-NEXT:     %f.$turn5 = prim "$turn5 + 1" (%f.$turn5)
# CHECK-NEXT:     jump for
# CHECK-NEXT:   else:
# CHECK-NEXT:     %f.total = prim "-1" ()
# CHECK-NEXT:     jump after_for
# CHECK-NEXT:   after_for:
# CHECK-NEXT:     %f.$result = prim "total" (%f.total)
# CHECK-NEXT:     halt
