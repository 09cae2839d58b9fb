"""``import`` in a function is a primitive whose results are modules; docstrings and ``pass`` are nothing."""

# RUN: hlobatch trace %s:f --stage frontend | filecheck %s
import hlobatch as hb


@hb.batch
def f(x):
    """Says what it does."""
    from math import pi

    import jax.numpy as np

    pass
    return np.sin(x) * pi


# Checks of f, made by update_checks.py
# CHECK-LABEL: def f(%f.x) -> (%f.$result):
# CHECK-NEXT:   entry:
# CHECK-NEXT:     %f.pi = prim "from math import pi" ()
# CHECK-NEXT:     %f.np = prim "import jax.numpy as np" ()
# CHECK-NEXT:     %f.$result = prim "np.sin(x) * pi" (%f.np, %f.x, %f.pi)
# CHECK-NEXT:     halt
