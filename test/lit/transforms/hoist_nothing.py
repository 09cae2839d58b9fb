"""hoist-shared leaves alone what differs between lanes or between calls."""

# RUN: hlobatch trace %s:f --args "i32[8], f32[100], f32[100]" --print-after hoist-shared | filecheck %s
import hlobatch as hb


@hb.batch
def largest(data, i):
    top = data.max()
    return top * i


@hb.batch(in_axes=(0, None, None))
def f(i, one, other):
    return largest(one, i) + largest(other, i)


# CHECK-LABEL: def main(
# CHECK-NOT: prim
# CHECK-LABEL: def f(
# CHECK-LABEL: def largest(
# CHECK: %largest.top = prim "data.max()" (%largest.data)
