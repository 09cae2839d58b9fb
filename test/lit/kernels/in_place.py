"""An array of which a statement changes an element is changed where it is, though it is read after the change."""

# RUN: hlobatch lower %s:f --args "f32[8,100], i32[8]" --dialect llvm | filecheck %s
import hlobatch as hb


@hb.batch
def f(x, n):
    while n > 0:
        first = x[n]
        x = x.at[n].set(x[n - 1]).at[n - 1].set(first)
        n = n - 1
    return x


# The argument is copied once, before the loop, and the result once, after it.
# CHECK: call void @llvm.memcpy.p0.p0.i64(ptr [[X:%m[0-9]+]], ptr {{%v[0-9]+}}, i64 400,
# CHECK-NOT: memcpy
# CHECK: getelementptr float, ptr [[X]]
# CHECK-NOT: memcpy
# CHECK: finished:
# CHECK: call void @llvm.memcpy.p0.p0.i64(ptr {{%v[0-9]+}}, ptr [[X]], i64 400,
