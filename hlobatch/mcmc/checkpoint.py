"""The state of a run that writes into a folder <-> a file in that folder, from which another process can go on.

The file is replaced as a whole. Draws that chains made after it was written are made again, and are the same.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import hlobatch as hb
from hlobatch.mcmc.chains import Chain
from hlobatch.mcmc.errors import ArgumentError
from hlobatch.mcmc.nuts import Point
from hlobatch.mcmc.result import State
from hlobatch.mcmc.step_size import StepSize

NAME: Final = "state.npz"
_LIKE: Final = State(Chain(0, 0, Point(0, 0, 0, 0), StepSize(0, 0, 0, 0, 0)), 0, 0, 0)  # type: ignore[arg-type]


class Checkpoint(NamedTuple):
    """The state of a run in a folder.

    Attributes:
        state: The state of its chains.
        first: `Int[ndarray, "chains"]`, the number of each chain's draw from which on draws are kept.
        thin: The number of draws of which one is kept.
    """

    state: State
    first: NDArray[np.int64]
    thin: int

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of draws of each chain that are kept."""
        made: NDArray[np.int64] = np.asarray(self.state.chains.made, np.int64) - self.first
        return np.maximum(made, 0) // self.thin


def write(folder: Path, checkpoint: Checkpoint) -> None:
    """Writes the checkpoint into the folder, in place of an earlier one."""
    key = checkpoint.state.chains.key
    plain = checkpoint.state._replace(chains=checkpoint.state.chains._replace(key=jax.random.key_data(key)))
    arrays: dict[str, Any] = {
        f"state{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in jax.tree.leaves_with_path(plain)
    }
    being_written = folder / f"{NAME}.new"
    with being_written.open("wb") as file:
        implementation = np.array(str(jax.random.key_impl(key)))
        np.savez(file, **arrays, first=checkpoint.first, thin=np.int64(checkpoint.thin), key_of=implementation)
    being_written.replace(folder / NAME)


def read(folder: Path) -> Checkpoint | None:
    """Returns the checkpoint in a folder; None if there is none.

    Raises:
        ArgumentError: The file is not a checkpoint.
    """
    try:
        with np.load(folder / NAME) as file:
            arrays: dict[str, Any] = dict(file)
        paths, structure = jax.tree.flatten_with_path(_LIKE)
        state = jax.tree.unflatten(structure, [arrays[f"state{jax.tree_util.keystr(path)}"] for path, _ in paths])
        key = jax.random.wrap_key_data(jnp.asarray(state.chains.key), impl=str(arrays["key_of"]))
        first, thin = arrays["first"], int(arrays["thin"])
    except FileNotFoundError:
        return None
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise ArgumentError(
            f"{folder / NAME} is not where a run stands: {error}", help="give another folder."
        ) from error
    chains = jax.tree.map(jnp.asarray, state.chains._replace(key=key))
    state = State(chains, jnp.asarray(state.scale), state.window, jnp.asarray(state.warmup))
    return Checkpoint(state, first, thin)


@hb.at_the_call
def saved_state(folder: str | Path) -> State:
    """Returns the state of the run that last wrote into a folder, even if its process was killed.

    `mcmc.sample(…, folder=folder, state=mcmc.saved_state(folder))` goes on from that state, to the same draws as if the
    run had not ended, and adds them to those in the folder.

    Raises:
        ArgumentError: No run has written into the folder.
    """
    found = read(Path(folder))
    if found is None:
        raise ArgumentError(f"no run of `sample` has written into {folder}.", help="give the folder= of one.")
    return found.state


def to_go_on_from(folder: Path | None, state: State | None, thin: int) -> Checkpoint | None:
    """Returns the checkpoint of the run to which draws are added; None for a folder without one, or no folder.

    Raises:
        ArgumentError: The new draws do not follow those in the folder.
    """
    found = None if folder is None else read(folder)
    if found is None:
        return None
    if state is None:
        raise ArgumentError(
            f"{folder} has the draws of a run, which this one would overwrite.",
            help="give another folder, or add to that run: state=mcmc.saved_state(folder).",
        )
    if not _are_equal(state, found.state):
        raise ArgumentError(
            f"state is not where the draws in {folder} end.",
            help="give another folder, or state=mcmc.saved_state(folder).",
        )
    if thin != found.thin:
        raise ArgumentError(
            f"of the draws in {folder} one of {found.thin} is kept, and now thin={thin}.",
            help=f"write thin={found.thin}, or give another folder.",
        )
    return found


def _are_equal(state: State, other: State) -> bool:
    """Whether two states have the same chains at the same draws."""
    pairs = [
        (jax.random.key_data(state.chains.key), jax.random.key_data(other.chains.key)),
        (state.chains.made, other.chains.made),
        (state.chains.point.position, other.chains.point.position),
        (state.chains.step.log_step, other.chains.step.log_step),
    ]
    return all(np.array_equal(one, another) for one, another in pairs)
