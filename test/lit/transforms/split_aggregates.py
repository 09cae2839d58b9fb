"""split-aggregates gives each array of a pair a variable of its own; main's result is put together at the end."""

# RUN: hlobatch trace %s:f --args "i32[8], f32[8, 4]" --print-after split-aggregates | filecheck %s
import hlobatch as hb


@hb.batch
def f(n, x):
    if n == 0:
        return n, x
    count, y = f(n - 1, x)
    return count + 1, y


# CHECK-DAG: var register  %main.$result: (i32[], f32[4])
# CHECK-DAG: var register  %f.$result:0: i32[]
# CHECK-DAG: var register  %f.$result:1: f32[4]
# CHECK-LABEL: def main(%main.n, %main.x) -> (%main.$result):
# CHECK:         %main.$result:0, %main.$result:1 = call @f(%main.n, %main.x)
# CHECK-NEXT:    jump results
# CHECK-NEXT:  results:
# CHECK-NEXT:    %main.$result = prim "$result" (%main.$result:0, %main.$result:1)
# CHECK-NEXT:    halt
# CHECK-LABEL: def f(%f.n, %f.x) -> (%f.$result:0, %f.$result:1):
# CHECK:         %f.$2:0, %f.$2:1 = call @f(%f.$3, %f.x)
# CHECK:         %f.count, %f.y = prim "count, y = $2" (%f.$2:0, %f.$2:1)
# CHECK-NEXT:    %f.$result:1 = prim "(count + 1, y)" (%f.y)
# CHECK-NEXT:    %f.$result:0 = prim "(count + 1, y)" (%f.count)
