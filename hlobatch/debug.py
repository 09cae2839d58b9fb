"""What is for measuring and for debugging alone: results are the same, and no program needs it.

hb.batch(f, optimizations=hb.debug.Optimizations(kernels=False))
"""

from hlobatch.transforms.optimizations import Optimizations

__all__ = ["Optimizations"]
