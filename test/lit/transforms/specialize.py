"""specialize follows only the branches that are possible, and Python objects leave the primitives."""

# RUN: hlobatch trace %s:f --args "i32[8], 'fast'" --print-after specialize | filecheck %s --check-prefix=FAST
# RUN: hlobatch trace %s:f --args "i32[8], 'slow'" --print-after specialize | filecheck %s --check-prefix=SLOW
import hlobatch as hb


@hb.batch
def exact(x):
    return x * 100


@hb.batch(static_argnames="mode")
def f(x, mode, scale=None):
    if scale is not None:
        x = x * scale
    if mode == "fast":
        return x * 7
    return exact(x)


# Checks of f, made by update_checks.py
# FAST-LABEL: def f(%f.x, %f.mode, %f.scale) -> (%f.$result):
# FAST-NEXT:   entry:
# FAST-NEXT:     %f.$result = prim "x * 7" (%f.x)
# FAST-NEXT:     halt
# FAST-NOT: def exact
# Checks of f, exact, made by update_checks.py
# SLOW-LABEL: def f(%f.x, %f.mode, %f.scale) -> (%f.$result):
# SLOW-NEXT:   entry:
# SLOW-NEXT:     %f.$result = call @exact(%f.x)
# SLOW-NEXT:     halt
# SLOW-LABEL: def exact(%exact.x) -> (%exact.$result):
# SLOW-NEXT:   entry:
# SLOW-NEXT:     %exact.$result = prim "x * 100" (%exact.x)
# SLOW-NEXT:     halt
