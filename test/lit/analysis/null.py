"""NULL: what holds no array, and what nothing reads, takes no storage."""

# RUN: hlobatch trace %s:f --args "i32[8], 'fast'" --disable dead-code | filecheck %s
import hlobatch as hb


@hb.batch(static_argnames="mode")
def f(x, mode):
    unread = x * 3
    scale = {"fast": 2, "slow": 1}
    return x * scale[mode]


# CHECK-DAG: var null      %f.mode: static 'fast'
# CHECK-DAG: var null      %f.unread: i32[]
# CHECK-DAG: var register  %f.x: i32[]
# CHECK: %f.$result = prim "x * scale[mode]" (%f.x)
