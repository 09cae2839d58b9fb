"""An inner ``while`` sees no junk: lanes that only pass by get the values of one that does not."""

# RUN: hlobatch lower %s:f --args "f32[8]" --dispatch chain --dialect portable | filecheck %s
import jax

import hlobatch as hb


@hb.batch
def f(x):
    y = jax.lax.while_loop(lambda v: v > 1.0, lambda v: v / 2.0, x)
    if y > 0.7:
        return y
    return f(y + 1.0)


# CHECK-LABEL: func.func private @block_0
# CHECK: call @{{.*}}argmax
# CHECK: stablehlo.while
