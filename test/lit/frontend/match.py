"""``match``: questions and branches, decided when types are known; names are bound once the whole pattern fits."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(n, m):
    match n, m:
        case 0, y if y > 2:
            n = y
        case (1 | 2) as x, _:
            n = x
    return n


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.n, %f.m) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.$1 = prim "(n, m)" (%f.n, %f.m)
# CHECK-NEXT:     %f.$if2 = prim "is_sequence($1, 2, False)" (%f.$1)
# CHECK-NEXT:     branch %f.$if2, fits, case
# CHECK-NEXT:   fits:
# CHECK-NEXT:     %f.$3 = prim "$1[0]" (%f.$1)
# CHECK-NEXT:     %f.$if4 = prim "$3 == 0" (%f.$3)
# CHECK-NEXT:     branch %f.$if4, fits.2, case
# CHECK-NEXT:   fits.2:
# CHECK-NEXT:     %f.$5 = prim "$1[1]" (%f.$1)
# CHECK-NEXT:     %f.$capture_y = prim "$5" (%f.$5)
# CHECK-NEXT:     %f.y = prim "$capture_y" (%f.$capture_y)
# CHECK-NEXT:     %f.$if6 = prim "y > 2" (%f.y)
# CHECK-NEXT:     branch %f.$if6, body, case
# CHECK-NEXT:   body:
# CHECK-NEXT:     %f.n = prim "y" (%f.y)
# CHECK-NEXT:     jump after_match
# CHECK-NEXT:   case:
# CHECK-NEXT:     %f.$if7 = prim "is_sequence($1, 2, False)" (%f.$1)
# CHECK-NEXT:     branch %f.$if7, fits.3, case.2
# CHECK-NEXT:   fits.3:
# CHECK-NEXT:     %f.$8 = prim "$1[0]" (%f.$1)
# CHECK-NEXT:     %f.$if9 = prim "$8 == 1" (%f.$8)
# CHECK-NEXT:     branch %f.$if9, fits.4, or
# CHECK-NEXT:   fits.4:
# CHECK-NEXT:     jump matched
# CHECK-NEXT:   or:
# CHECK-NEXT:     %f.$if10 = prim "$8 == 2" (%f.$8)
# CHECK-NEXT:     branch %f.$if10, fits.5, case.2
# CHECK-NEXT:   fits.5:
# CHECK-NEXT:     jump matched
# CHECK-NEXT:   matched:
# CHECK-NEXT:     %f.$capture_x = prim "$8" (%f.$8)
# CHECK-NEXT:     %f.x = prim "$capture_x" (%f.$capture_x)
# CHECK-NEXT:     %f.n = prim "x" (%f.x)
# CHECK-NEXT:     jump after_match
# CHECK-NEXT:   case.2:
# CHECK-NEXT:     jump after_match
# CHECK-NEXT:   after_match:
# CHECK-NEXT:     %f.$result = prim "n" (%f.n)
# CHECK-NEXT:     halt
