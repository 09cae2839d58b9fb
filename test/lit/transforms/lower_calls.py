"""lower-calls: the caller saves what it needs after the call, moves the arguments, and jumps with a return address."""

# RUN: hlobatch trace %s:f --args "i32[8]" --print-after lower-calls | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# Checks of main, made by update_checks.py
# CHECK-LABEL: def main(%main.n) -> (%f.$result):
# CHECK-NEXT:   main.entry:
# CHECK-NEXT:     %f.n = prim "move" (%main.n)
# CHECK-NEXT:     jump f.entry
# CHECK-NEXT:   f.entry:
# CHECK-NEXT:     %f.$if1 = prim "n <= 1" (%f.n)
# CHECK-NEXT:     branch %f.$if1, f.then, f.after_if
# CHECK-NEXT:   f.then:
# CHECK-NEXT:     %f.$result = prim "1" ()
# CHECK-NEXT:     return by %f.$return
# CHECK-NEXT:   f.after_if:
# CHECK-NEXT:     %f.kept = prim "n * n" (%f.n)
# CHECK-NEXT:     push %f.kept
# CHECK-NEXT:     %f.$3 = prim "n - 1" (%f.n)
# CHECK-NEXT:     %f.n = prim "move" (%f.$3)
# CHECK-NEXT:     push_jump f.entry, return to f.after_if.return by %f.$return
# CHECK-NEXT:   f.after_if.return:
# CHECK-NEXT:     pop %f.kept
# CHECK-NEXT:     %f.$2 = prim "move" (%f.$result)
# CHECK-NEXT:     jump f.after_f
# CHECK-NEXT:   f.after_f:
# CHECK-NEXT:     %f.$result = prim "kept * $2" (%f.kept, %f.$2)
# CHECK-NEXT:     return by %f.$return
