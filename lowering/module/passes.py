"""A module and named passes on it -> the module rewritten in place by each in order, verified and dumped after each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hlobatch import config
from hlobatch.transforms.pipeline import dump

ModulePass = Callable[[], None]
"""A pass, which changes the module that it was made for."""


def run_passes(module: Any, passes: Mapping[str, ModulePass]) -> None:
    """Change a module by passes, in order, as ``transforms/pipeline.py`` runs those on programs.

    Raises:
        ir.MLIRError: A pass made the module invalid, which is a bug in that pass.
    """
    for name, rewrite in passes.items():
        rewrite()
        if config.verify_each():
            module.operation.verify()
        dump(name, module, suffix=".mlir")
