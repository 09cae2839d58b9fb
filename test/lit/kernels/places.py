"""Instructions carry the user's lines."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dialect llvm --dispatch kernel | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    while n > 9:
        n = n // 3
    return n + 1


# CHECK: sdiv i32 {{.*}}, !dbg [[PLACE:![0-9]+]]
# CHECK: distinct !DISubprogram(name: "f",
# CHECK: [[PLACE]] = !DILocation(line: 10,
# CHECK: !DIFile(filename: "places.py"
