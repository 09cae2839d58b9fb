"""JAX's name of a platform -> its target."""

from __future__ import annotations

from hlobatch.targets.accelerators import accelerator
from hlobatch.targets.cpu.target import cpu
from hlobatch.targets.gpu.target import NAMES, gpu
from hlobatch.targets.target import Target
from hlobatch.targets.tpu.target import TPU, tpu


def target_of(platform: str) -> Target:
    """The target of a platform, given JAX's name of it.

    Raises:
        ProfileError: The file that ``HLOBATCH_PROFILE`` names is no valid profile.
    """
    if platform == "cpu":
        return cpu()
    if platform == TPU:
        return tpu()
    return gpu(platform) if platform in NAMES else accelerator(platform)
