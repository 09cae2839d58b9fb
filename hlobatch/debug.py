"""Options for measuring and debugging only: they do not change results, and no program needs them.

hb.batch(f, optimizations=hb.debug.Optimizations(kernels=False))
"""

from hlobatch.transforms.optimizations import Optimizations

__all__ = ["Optimizations"]
