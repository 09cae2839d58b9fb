"""The name of a platform, as JAX has it -> its target."""

from __future__ import annotations

from hlobatch.targets.accelerators import accelerator
from hlobatch.targets.cpu.target import cpu
from hlobatch.targets.gpu.target import NAMES, gpu
from hlobatch.targets.target import Target


def target_of(platform: str) -> Target:
    """The target that a platform is, in JAX's words.

    Raises:
        ProfileError: The file that ``HLOBATCH_PROFILE`` names does not say what this machine takes for what.
    """
    if platform == "cpu":
        return cpu()
    return gpu(platform) if platform in NAMES else accelerator(platform)
