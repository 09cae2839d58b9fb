"""lower-calls: a call that cannot come back to its caller saves nothing; one way back needs no return address."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after lower-calls | filecheck %s
import hlobatch as hb


@hb.batch
def g(x):
    while x > 1:
        x = x // 2
    return x


@hb.batch
def h(x):
    while x < 1:
        x = x + 5
    return x


@hb.batch
def f(x):
    kept = x + 1
    return g(h(x)) * g(kept) * kept


# CHECK-LABEL: def main(
# CHECK-NEXT:   main.entry:
# CHECK-NEXT:     %f.x = prim "move" (%main.x)
# CHECK-NEXT:     jump f.entry
# CHECK-NOT: push %
# CHECK:   f.entry:
# CHECK:     jump h.while
# CHECK:   f.entry.return:
# CHECK-NOT: push %
# CHECK:     push_jump g.{{.*}}, return to f.[[FIRST:.*]].return by %g.$return
# CHECK-NOT: pop
# CHECK:     push_jump g.{{.*}}, return to f.[[SECOND:.*]].return by %g.$return
# CHECK-NOT: pop
# CHECK:     return by %g.$return
# CHECK-NOT: return by
# CHECK:   h.after_while:
# CHECK-NOT: return by
# CHECK:     jump f.entry.return
