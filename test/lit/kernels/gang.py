"""A gang computes with vectors of lanes, and what all lanes share stays one number."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dialect llvm --dispatch gang | filecheck %s

# CHECK: define internal i32 @gang({{.*}}
# CHECK: srem <{{[0-9]+}} x i32> %v{{[0-9]+}}, %v{{[0-9]+}}, !dbg
# CHECK: define i32 @run(
# CHECK: call i32 @gang(


def f(n):
    count = 0
    while n != 1:
        n = n % 7 + count
        count += 1
    return n
