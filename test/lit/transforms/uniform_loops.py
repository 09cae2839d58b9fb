"""uniform-loops makes one primitive of a loop that turns equally often in every lane, and a bound they share is as good."""

# RUN: hlobatch trace %s:f --args "f32[8], i32[]" --print-after dead-code | filecheck %s
import hlobatch as hb


@hb.batch(in_axes=(0, None))
def f(x, n):
    while x < 100.0:
        for i in range(9):
            x = x * 2.0 + i
        for _ in range(n):
            x = x + 1.0
    return x


# CHECK-LABEL: def f
# CHECK:       body:
# CHECK-NEXT:    %f.x = prim "9 turns: range_item({{.*}}); x * 2.0 + i; $turn{{[0-9]+}} + 1" (%f.x)
# CHECK-NEXT:    %f.x = prim "while $turn{{[0-9]+}} < $turns{{[0-9]+}}: x + 1.0; $turn{{[0-9]+}} + 1" (%f.x, %f.$turns{{[0-9]+}})
# CHECK-NEXT:    %f.$if1 = prim "x < 100.0" (%f.x)
# CHECK-NEXT:    branch %f.$if1, body, after_while
