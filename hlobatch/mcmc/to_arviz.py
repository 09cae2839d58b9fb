"""Draws and their statistics -> arviz's form; this is the only module that needs arviz."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from hlobatch.typing import PyTree


def to_arviz(draws: PyTree, stats: Mapping[str, NDArray[Any]], **kwargs: Any) -> Any:
    """Returns the draws in arviz's form.

    Args:
        draws: Pytree of `[chains, draws, ...]`. A variable is named after its path in the tree, as in `theta.0`.
        stats: By name, `[chains, draws]`.
        **kwargs: Passed on to `arviz.from_dict`.

    Raises:
        ImportError: arviz is not installed.
    """
    try:
        import arviz  # noqa: PLC0415  # optional
    except ImportError as error:
        raise ImportError("to_arviz needs arviz: pip install 'hlobatch[mcmc]'.") from error
    paths, _ = jax.tree.flatten_with_path(draws)
    posterior = {
        jax.tree_util.keystr(path, simple=True, separator=".") or "position": np.asarray(leaf) for path, leaf in paths
    }
    groups = {"posterior": posterior, "sample_stats": dict(stats)}
    from_dict: Any = arviz.from_dict  # its parameters differ from ArviZ 1.0 on
    if int(arviz.__version__.partition(".")[0]) >= 1:
        return from_dict(groups, **kwargs)
    return from_dict(**groups, **kwargs)
