"""A Python number takes the type of an array that it meets on another path; alone it stays a weak one."""

# RUN: hlobatch trace %s:f --args "f32[8]" --disable rotate-loops --disable if-conversion | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    total = 0
    count = 0
    while x > 1:
        total = total + x
        count = count + 1
        x = x / 2
    return total, count


# CHECK-DAG: var register  %f.total: f32[]{{$}}
# CHECK-DAG: var register  %f.count: i32[]*
