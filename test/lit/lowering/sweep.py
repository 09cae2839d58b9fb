"""dispatch=sweep: every block in order, masked, without any conditional."""

# RUN: hlobatch lower %s:f --args "i32[8]" --dispatch sweep --disable ask-ahead --dialect portable | filecheck %s
import hlobatch as hb


@hb.batch
def f(n):
    if n <= 1:
        return 1
    kept = n * n
    return kept * f(n - 1)


# CHECK: stablehlo.while
# CHECK-NOT: stablehlo.case
# CHECK: func.call @block_0.f.entry(
# CHECK-NEXT: func.call @block_1.f.then(
# CHECK-NEXT: func.call @block_2.f.after_if(
# CHECK-NEXT: func.call @block_3.f.after_if.return(
# CHECK-NOT: stablehlo.case
# CHECK: call @finish
