"""A lane by itself: blocks are basic blocks, variables registers, a call pushes a label, a return is a switch on it."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dialect llvm | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK: define internal i32 @lane(i64 %index, ptr noalias readonly %in0, ptr noalias %out0, ptr %call,
# CHECK: block0:
# CHECK: icmp sle i32 {{%v[0-9]+}}, 1
# CHECK: br i1 {{%v[0-9]+}}, label {{%block[0-9]+}}, label {{%block[0-9]+}}
# What a call saves is one frame: one test whether there is room, before anything is saved.
# CHECK: br i1 {{%v[0-9]+}}, label {{%on[0-9]+}}, label %overflow0
# CHECK: mul i32
# CHECK: getelementptr i8, ptr %stacks
# CHECK-NOT: overflow
# CHECK: br label %block0
# CHECK: switch i32 {{%v[0-9]+}}, label %finished [ i32 {{[0-9]+}}, label {{%block[0-9]+}} ]
# CHECK: define i32 @run(
# CHECK: atomicrmw add ptr %next
