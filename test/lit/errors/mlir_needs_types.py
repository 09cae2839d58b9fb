"""A module of the dialect holds a typed program: the frontend's has no types yet."""

# RUN: not hlobatch trace %s:f --stage frontend --mlir 2>&1 | filecheck %s
# RUN: not hlobatch trace %s:f --args "i32[8]" --print-after lower-calls --mlir 2>&1 | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    return x + 1


# CHECK: hlobatch trace: error: --mlir needs a typed program: it goes with --stage typed or lowered
