"""Draws piece by piece -> arrays of all draws, in memory or in files.

Chains are not all equally far, so that each piece has for each chain its own place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from hlobatch.mcmc.chains import STATISTICS


class Store:
    """What has been drawn.

    Attributes:
        draws: Pytree of `[chains, draws, ...]`.
        statistics: By name, `[chains, draws]`.
        counts: `Int[ndarray, "chains"]`, draws that each chain has in it.
        folder: Where it is kept, if not in memory.
    """

    def __init__(self, like: Any, chains: int, draws: int, folder: Path | None) -> None:
        """Makes room.

        Args:
            like: Pytree of what one draw of one chain is, with shapes and dtypes.
            chains: How many.
            draws: Of each chain.
            folder: Where arrays are kept as `.npy` files that are mapped into memory; None keeps them in memory.
        """
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

        def room(name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
            if folder is None or not draws:
                return np.zeros((chains, draws, *shape), dtype)
            path = folder / f"{name}.npy"
            return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(chains, draws, *shape))

        paths, structure = jax.tree.flatten_with_path(like)
        names = [jax.tree_util.keystr(path, simple=True, separator=".") or "draws" for path, _ in paths]
        leaves = [room(name, aval.shape, aval.dtype) for name, (_, aval) in zip(names, paths, strict=True)]
        self.draws = jax.tree.unflatten(structure, leaves)
        self.statistics = {name: room(f"stats.{name}", (), _dtype_of(name)) for name in STATISTICS}
        self.counts = np.zeros(chains, np.int64)
        self.folder = folder

    def add(self, draws: Any, statistics: NDArray[Any], kept: NDArray[np.bool_]) -> None:
        """Adds a piece.

        Args:
            draws: Pytree of `[chains, rows, ...]`.
            statistics: `[chains, rows, statistics]`.
            kept: `Bool[ndarray, "chains rows"]`: which rows belong to the draws. They follow those that are here.
        """
        chain, row = np.nonzero(kept)
        if not len(chain):
            return
        place = self.counts[chain] + (np.cumsum(kept, axis=1) - 1)[chain, row]
        for into, piece in zip(jax.tree.leaves(self.draws), jax.tree.leaves(draws), strict=True):
            into[chain, place] = np.asarray(piece)[chain, row]
        for number, name in enumerate(STATISTICS):
            self.statistics[name][chain, place] = statistics[chain, row, number]
        self.counts += kept.sum(axis=1)

    def flush(self) -> None:
        """Writes to the files what is still in memory, and to one of them how many draws each chain has."""
        if self.folder is None:
            return
        np.save(self.folder / "counts.npy", self.counts)
        for array in (*jax.tree.leaves(self.draws), *self.statistics.values()):
            if isinstance(array, np.memmap):
                array.flush()


def _dtype_of(statistic: str) -> Any:
    return {"diverging": np.bool_, "tree_depth": np.int32, "n_steps": np.int32}.get(statistic, np.float64)
