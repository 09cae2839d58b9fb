"""Pieces of draws -> arrays of all draws, in memory or in files, to which another run may add.

Chains are not equally far, so each piece has a place of its own for each chain.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from hlobatch.mcmc.chains import STATISTICS
from hlobatch.mcmc.errors import ArgumentError
from hlobatch.typing import DType, PyTree


class Store:
    """The draws and statistics of a run.

    Attributes:
        draws: Pytree of `[chains, draws, ...]`.
        statistics: By name, `[chains, draws]`.
        folder: The folder of the files; None in memory.
    """

    def __init__(self, like: PyTree, chains: int, draws: int, folder: Path | None, *, is_begun: bool = False) -> None:
        """Allocates the arrays.

        Args:
            like: Pytree of one draw of one chain, with shapes and dtypes.
            chains: The number of chains.
            draws: The number of draws of each chain.
            folder: The folder in which arrays are kept as `.npy` files that are mapped into memory; None keeps them in
                memory.
            is_begun: Whether the folder has draws that these follow.

        Raises:
            ArgumentError: Names of parameters cannot be names of files, or the folder has other files of these names.
        """
        paths, structure = jax.tree.flatten_with_path(like)
        names = [jax.tree_util.keystr(path, simple=True, separator=".") or "draws" for path, _ in paths]
        if folder is not None:
            _check_names(names)
            folder.mkdir(parents=True, exist_ok=True)

        def room(name: str, shape: tuple[int, ...], dtype: DType) -> NDArray[Any]:
            whole = (chains, draws, *shape)
            if folder is None or not draws:
                return np.zeros(whole, dtype)
            return _mapped(folder / f"{name}.npy", whole, np.dtype(dtype), is_begun=is_begun)

        leaves = [room(name, aval.shape, aval.dtype) for name, (_, aval) in zip(names, paths, strict=True)]
        self.draws = jax.tree.unflatten(structure, leaves)
        self.statistics = {name: room(f"stats.{name}", (), _dtype_of(name)) for name in STATISTICS}
        self.folder = folder

    def add(self, draws: PyTree, statistics: NDArray[Any], kept: NDArray[np.bool_], place: NDArray[np.int64]) -> None:
        """Adds a piece.

        Args:
            draws: Pytree of `[chains, rows, ...]`.
            statistics: `[chains, rows, statistics]`.
            kept: `Bool[ndarray, "chains rows"]`, the rows that are kept.
            place: `Int[ndarray, "chains rows"]`, their positions among the draws.
        """
        chain, row = np.nonzero(kept)
        to = place[chain, row]
        for into, piece in zip(jax.tree.leaves(self.draws), jax.tree.leaves(draws), strict=True):
            into[chain, to] = np.asarray(piece)[chain, row]
        for number, name in enumerate(STATISTICS):
            self.statistics[name][chain, to] = statistics[chain, row, number]

    def flush(self, counts: NDArray[np.int64]) -> None:
        """Writes changes to the files, and the numbers of draws of the chains to another file."""
        if self.folder is None:
            return
        np.save(self.folder / "counts.npy", counts)
        for array in (*jax.tree.leaves(self.draws), *self.statistics.values()):
            if isinstance(array, np.memmap):
                array.flush()


def _check_names(names: list[str]) -> None:
    """Raises an error if names of parameters cannot be names of files, or are not distinct."""
    for name in names:
        if "/" in name or "\\" in name or "\0" in name or name in {"counts", "state"} or name.startswith("stats."):
            raise ArgumentError(
                f"a parameter is called {name!r}, and {name}.npy is no name that a file of it may have in the folder.",
                help="call it something else, or give postprocess= with other names.",
            )
    if len({name.casefold() for name in names}) < len(names):
        raise ArgumentError(
            f"some of the parameters {', '.join(names)} would be written to the same file.",
            help="give them names that differ, or postprocess= with such.",
        )


def _mapped(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], *, is_begun: bool) -> NDArray[Any]:
    """An array in a file; if draws have begun, with those that are in the file."""
    if not path.exists():
        return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    if not is_begun:
        raise ArgumentError(f"{path} is there, and is none of this run.", help="give an empty folder.")
    before: NDArray[Any] = np.lib.format.open_memmap(path, mode="r+")
    if (before.dtype, before.shape[:1], before.shape[2:]) != (dtype, shape[:1], shape[2:]):
        raise ArgumentError(
            f"{path} has arrays of {before.dtype}, {before.shape}, and a draw is now of {dtype}, {shape[2:]}.",
            help="give the init, chains and postprocess that the folder was begun with, or another folder.",
        )
    if before.shape[1] >= shape[1]:
        return before
    longer = path.with_suffix(".new")
    array: NDArray[Any] = np.lib.format.open_memmap(longer, mode="w+", dtype=dtype, shape=shape)
    array[:, : before.shape[1]] = before
    longer.replace(path)  # the array stays a mapping of this file
    return array


def _dtype_of(statistic: str) -> Any:
    return {"diverging": np.bool_, "tree_depth": np.int32, "n_steps": np.int32}.get(statistic, np.float64)
