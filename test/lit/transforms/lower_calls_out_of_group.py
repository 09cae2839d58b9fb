"""lower-calls: a call that cannot come back to its caller saves nothing; main's own call needs no return address."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after lower-calls | filecheck %s
import hlobatch as hb


@hb.batch
def g(x):
    while x > 1:
        x = x // 2
    return x


@hb.batch
def f(x):
    kept = x + 1
    return g(x) * kept


# CHECK-LABEL: def main(
# CHECK-NEXT:   main.entry:
# CHECK-NEXT:     %f.x = prim "move" (%main.x)
# CHECK-NEXT:     jump f.entry
# CHECK-NOT: push %
# CHECK: push_jump g.{{.*}}, return to f.entry.return by %g.$return
# CHECK-NOT: pop
# CHECK: return by %g.$return
