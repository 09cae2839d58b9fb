"""The name of a platform, as JAX has it -> its target."""

from __future__ import annotations

from hlobatch.targets.accelerators import GPU, Accelerator
from hlobatch.targets.cpu.target import cpu
from hlobatch.targets.target import Target


def target_of(platform: str) -> Target:
    """The target that a platform is, in JAX's words."""
    if platform == "cpu":
        return cpu()
    return GPU if platform == GPU.name else Accelerator(platform)
