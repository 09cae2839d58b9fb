"""A batched function as a file that runs without the code it came from.

An artifact is a zip file::

    manifest.json        format version, the function's name and parameters, its inputs and results as schemas
    module.mlirbc        the module that ``Artifact.call`` runs: portable StableHLO, called as ``jax.export`` does
    module.stablehlo     the bare portable StableHLO artifact, for other consumers, if there is one
    lanes.…              the kernel, if it was asked for: ``artifacts/lane_code.py``
    SHA256SUMS           checksums of the other files

The exported function takes and returns flat arrays, then a code that says whether every lane was finished, and the
status of each. ``call`` checks them, so a loaded program is never silently wrong either.

Format versions: 3 has checksums and the names of parameters; in 2 and 1 the module is ``module.jax``, as serialized by
``jax.export``; 2 has the batch axis of each array, which in 1 is always the first.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import shorten
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracing, is_x64, known_platforms, serialize_portable
from hlobatch.artifacts.archive import content_of, pack
from hlobatch.artifacts.arguments import arrays_of
from hlobatch.artifacts.lane_code import LaneCode, fates_of, lane_code_of
from hlobatch.artifacts.manifest import Manifest
from hlobatch.artifacts.operands import operands, results
from hlobatch.artifacts.reading import MANIFEST, MODULE, STABLEHLO, read
from hlobatch.artifacts.replacing import write_whole
from hlobatch.artifacts.trial import try_elsewhere
from hlobatch.console import ONE_LINE, counted, folded
from hlobatch.diagnostics import ArtifactError, BatchTypeError, HloBatchError, LaneError, StepLimitError, name_lanes
from hlobatch.ir.fate import stop_of
from hlobatch.ir.physical import physical
from hlobatch.ir.schema import classes_of
from hlobatch.ir.types import Static, Type
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.runtime.plan import Plan
from hlobatch.runtime.primitive import no_effects_in_files, run_within
from hlobatch.runtime.stops import interruption_of
from hlobatch.stages import Traced
from hlobatch.typing import ArrayLike, Arrays, PyTree
from hlobatch.values.containers import without_bounds
from hlobatch.values.user_values import user_value


@dataclass(frozen=True, eq=False)
class Artifact:
    """An exported batched function.

    Attributes:
        manifest: The description of the function in the file: name, parameters, types, format.
        exported: The module that ``call`` runs.
        stablehlo: The bare portable artifact, as bytes, for a CPU: operands ``[sizes…, inputs…]``, results
            ``[results…, stopped, status]``. Results of stopped inputs are NaN, the least integer, or ``False``. None if
            some operation has no form in StableHLO.
        lanes: The kernel, which ``call`` runs on a machine of its kind; None if there is none, or if it was not
            loaded.
    """

    manifest: Manifest
    exported: jax.export.Exported
    stablehlo: bytes | None
    lanes: LaneCode | None = None

    def __repr__(self) -> str:
        results = ", ".join(self.results[:-2])  # without `stopped` and `status`
        types = shorten(f"({', '.join(self.operands)}) -> {results}", ONE_LINE, placeholder=" …")
        return f"Artifact({self.name}{types}, for {', '.join(self.manifest.platforms)})"

    def __str__(self) -> str:
        limits = self.manifest
        steps = "any number of steps" if limits.max_steps is None else counted(limits.max_steps, "step")
        bare = ["(module.stablehlo first takes the size of the batch, i32[])"] if limits.batch is None else []
        lines = [
            f"{self.name}, for {', '.join(limits.platforms)}",
            f"{counted(limits.depth, 'frame')} for each stack, {steps} for each input",
            "takes " + ", ".join([*self.operands, *(bare if self.stablehlo is not None else [])]),
            "gives " + ", ".join(self.results),
        ]
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        return folded(repr(self), str(self))

    @property
    def name(self) -> str:
        """The function's name."""
        return self.manifest.name

    @property
    def operands(self) -> tuple[str, ...]:
        """The arrays that the module takes, as in ``n: i32[batch]``, the batch in front.

        Where the batch may be of any size, the bare module ``stablehlo`` takes its size, an ``i32[]``, before them.
        """
        return operands(self.manifest)

    @property
    def results(self) -> tuple[str, ...]:
        """The arrays that both modules return, as in ``result: i32[batch]``, ``stopped`` and ``status`` last."""
        return results(self.manifest)

    @property
    def argument_types(self) -> Type:
        """The types of the arguments, as a tuple, without the batch axis."""
        return self.manifest.arguments

    @property
    def result_type(self) -> Type:
        """The type of the result, without the batch axis."""
        return self.manifest.result

    def call(self, *args: PyTree, **kwargs: PyTree) -> PyTree:
        """Run on arguments of the exported types, the batch along the same axes.

        Args:
            *args: The arguments as the function takes them, arrays ``[batch, *event]``. Python objects, such as
                defaults, may be left out.
            **kwargs: Arguments by keyword.

        Returns:
            The function's result, arrays ``[batch, *event]``.

        Raises:
            ArtifactError: It was exported for another platform, or XLA does not compile it.
            BatchTypeError: The arguments do not fit what was exported.
            Interrupted: The user pressed Ctrl-C while a kernel ran.
            HloBatchError: It is called inside a JAX transformation.
            LaneError: Some inputs raised an exception; the results of all others are in the error.
            StackOverflowError: An input needed more stack frames than were exported.
            StepLimitError: Some inputs used up their steps.
        """
        if is_tracing():
            raise HloBatchError(
                f"{self.name}, an artifact, is called inside a JAX transformation",
                help="call it outside, or `.exported.call`, which gives what stopped the run besides the results.",
            )
        has_x64, result = is_x64(), self.result_type
        with jax.enable_x64(has_x64 or self.manifest.has_wide_types):
            arrays, size = arrays_of(self.manifest, args, kwargs, has_x64=has_x64)
            if size == 0:
                leaves = [physical(t) for t in result.tensor_leaves]
                return user_value([jnp.zeros((0, *t.shape), t.dtype) for t in leaves], result)
            if self.lanes is not None and self.lanes.runs_here:
                *results, stopped, status = self._run_lanes(self.lanes, arrays, size)
            else:
                *results, stopped, status = self._run(arrays)
            outputs = user_value(results, result)
        if stopped:
            self._stop(np.asarray(status), outputs)
        return outputs

    @cached_property
    def _compiled(self) -> Any:
        """The jitted function that runs, traced once; ``exported.call`` itself is traced at each call."""
        return jax.jit(self.exported.call)

    def _run(self, arrays: Arrays) -> list[Any]:
        """The results, the code of what stopped the run, and the status of each input."""
        try:
            *results, stopped, status = self._compiled(*arrays)
            return [*results, int(stopped), status]
        except ValueError as error:
            if "platform" not in str(error):
                raise BatchTypeError(f"these arguments do not fit what was exported: {error}") from None
            raise ArtifactError(
                f"{self.name} was exported for {', '.join(self.manifest.platforms)}, and that is not where its "
                "arguments are",
                help="name all platforms when it is exported, as in platforms=('cpu', 'cuda').",
            ) from None
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" in str(error):  # not the artifact's fault
                raise
            raise ArtifactError(f"{self.name}, an artifact, cannot be run by this XLA: {error}") from None

    def _run_lanes(self, lanes: LaneCode, arrays: Arrays, size: int) -> list[Any]:
        """Run the artifact's kernel; arguments and results are those of ``_run``."""
        wanted = (aval.dtype for aval in self.exported.in_avals)
        given = [jnp.asarray(x, dtype) for x, dtype in zip(arrays, wanted, strict=True)]
        found, run = lanes.run(given, size)
        results = list(map(jnp.asarray, found[: len(self.result_type.tensor_leaves)]))
        status = fates_of(run)
        if run.is_interrupted:
            raise interruption_of(self.name, status, user_value(results, self.result_type))
        return [*results, int(np.max(status)), status]

    def _stop(self, status: Any, outputs: Any) -> None:
        stop = stop_of(status)
        if stop.failures:
            text = self.manifest.failures.get(stop.failures[0], "an exception")
            message = f"{name_lanes(stop.lanes)} of {self.name!r} raised, the first: {text}"
            raise LaneError(message, lanes=stop.lanes, outputs=outputs, unfinished=stop.unfinished)
        if stop.error is StepLimitError:
            advice = "export it with a larger max_steps."
        else:
            advice = "export it with a larger max_stack_depth: the stacks of an artifact do not grow."
        message = stop.message(self.name, self.manifest.max_steps, self.manifest.depth)
        raise stop.error(message, lanes=stop.lanes, outputs=outputs, unfinished=stop.unfinished, help=advice)

    def as_text(self) -> str:
        """The text of the StableHLO module that runs."""
        return str(self.exported.mlir_module())

    def save(self, path: str | Path) -> Path:
        """Write the artifact to a file.

        An existing file is replaced once all is written, and is unchanged if writing fails.

        Args:
            path: The file.

        Returns:
            The path of the file.

        Raises:
            OSError: The file cannot be written.
        """
        path = Path(path)
        write_whole(path, self._packed())
        return path

    def _packed(self) -> bytes:
        parts = {MANIFEST: self.manifest.to_json(), MODULE: bytes(self.exported.mlir_module_serialized)}
        parts |= {} if self.stablehlo is None else {STABLEHLO: self.stablehlo}
        return pack(parts | (self.lanes.parts() if self.lanes else {}))

    def __reduce__(self) -> Any:
        """Pickled as the content of its file, with the namedtuple classes, imported by pickle like other classes."""
        classes = classes_of(self.argument_types, self.result_type)
        return _unpacked, (self._packed(), classes, self.lanes is not None)

    def __deepcopy__(self, memo: Any) -> Artifact:
        """The artifact itself, as it does not change."""
        return self

    def __copy__(self) -> Artifact:
        return self


def load(
    path: str | Path, *, classes: Collection[type] = (), untrusted: bool = False, kernels: bool = False
) -> Artifact:
    """Read an artifact that ``Artifact.save`` wrote.

    Reading imports nothing, and runs nothing of the file before the artifact is called. Damage to the file is detected.
    An artifact is still a program: a malicious one may never end or take all memory when it is called, or crash the
    process when MLIR reads it or XLA compiles it. With ``untrusted``, reading and compiling are tried in another
    process first.

    Args:
        path: The file.
        classes: Classes of namedtuples among the arguments and results, which the file refers to by name. Classes in
            modules that are imported already need not be given; for others, namedtuples with the same fields stand in.
        untrusted: Whether to read it, and compile it for a CPU, in another Python process first, which takes seconds.
        kernels: Whether to read the kernel as well, which ``call`` then runs on a machine of its kind. It is machine
            code, which can do whatever this process can: use this only for files that you trust.

    Returns:
        The artifact.

    Raises:
        ArtifactError: The file is something else, is damaged, or has a format that this version does not know; or, with
            ``kernels``, it has no kernel, or one that calls other functions than those of numbers.
        ValueError: A kernel is to be read from an untrusted file.
        OSError: There is no such file, or it cannot be read.
    """
    if untrusted and kernels:
        raise ValueError("code of lanes can do whatever this process can: kernels=True is for files that are trusted")
    try:
        content = content_of(path)
        if untrusted:
            try_elsewhere(content)
        return _unpacked(content, classes, kernels)
    except ArtifactError as error:
        message = f"{path} is not an artifact of hlobatch that can be run: {error.message}"
        raise ArtifactError(message, help=error.help) from None


def _unpacked(content: bytes, classes: Collection[type], kernels: bool = False) -> Artifact:
    """The artifact with a file's content."""
    return Artifact(*read(content, classes, kernels=kernels))


def export(
    f: Any,
    /,
    *avals: PyTree,
    platforms: str | Sequence[str] | None = None,
    target_version: str | None = None,
    kernels: bool = False,
    **keywords: Any,
) -> Artifact:
    """Export a batched function for arguments of given types.

    Args:
        f: The batched function, or a batched method of an object.
        *avals: Its arguments: arrays or ``jax.ShapeDtypeStruct`` ``[batch, *event]``, and static arguments. The batch
            size may be symbolic, from ``jax.export.symbolic_shape``. A batch of size 0 stands for batches of any size.
        platforms: The platforms to export for, one or several of ``"cpu"``, ``"cuda"``, ``"rocm"`` and ``"tpu"``; None
            for that of the default device.
        target_version: StableHLO version of the bare artifact; None for the version of 12 weeks ago, which consumers of
            the last months can read.
        kernels: Whether to include the kernel, for CPUs of this machine's kind: if it is loaded with
            ``hb.load(…, kernels=True)``, ``call`` runs it, on all cores and with stacks that grow. Other machines, and
            consumers without hlobatch, run the portable module.
        **keywords: Arguments by keyword.

    Returns:
        The artifact, which can be saved and called.

    Raises:
        ArtifactError: The arguments or the result hold something that cannot be described in a file, the program
            has something that JAX does not export, or it has no form in the StableHLO version that was asked for; or,
            with ``kernels``, it has no kernel.
        TypeError: The function is not batched.
        ValueError: There is no such platform.
    """
    own = getattr(f, "__func__", f)  # of a method, the function
    if not hasattr(type(own), "__hlobatch_function__"):
        raise TypeError(
            f"what is exported is a function decorated with @hb.batch, and no more around it, not {f!r}; "
            "JAX exports a gradient: jax.export.export(jax.jit(hb.value_and_grad(f)))(*args)"
        )
    named = _platforms(platforms)
    traced: Traced = f.trace(*avals, **keywords)
    plan, call = traced.plan, traced.call
    if plan.has_effects:
        raise no_effects_in_files(plan)
    is_method = own is not f and isinstance(call.types[0][1].tensors, Static)
    types = call.types[1:] if is_method else call.types  # the object of a method is in the code
    batch = call.size if isinstance(call.size, int) and call.size else None
    size = jax.export.symbolic_shape("b")[0] if batch is None else batch
    strategy = plan.strategy(size)
    layout = plan.layout(strategy, plan.declared_depth, grows=False)
    exported = _exported(plan, layout.input_avals, named)
    request = plan.request(strategy, layout, keep_state=False, embed_captures=True, marks_stopped=True)
    parameters = f.signature.parameters
    manifest = Manifest(
        plan.name,
        inspect.Signature([inspect.Parameter(name, parameters[name].kind) for name, _ in types]),
        Type(without_bounds(tuple(t.strong.tensors for _, t in types))),
        tuple(name in call.shared for name, _ in types),
        call.axes,
        plan.out_type.strong,
        layout.depth,
        plan.options.max_steps,
        batch,
        exported.platforms,
        exported.calling_convention_version,
        {failure.number: failure.short_text for failure in plan.specialized.failures},
    )
    manifest.to_json()  # raises for what a file cannot describe
    portable = _portable(plan, to_stablehlo(request), target_version)
    with plan.as_typed():
        return Artifact(manifest, exported, portable, lane_code_of(plan) if kernels else None)


def _platforms(given: str | Sequence[str] | None) -> list[str] | None:
    """Check names of platforms, which JAX would not do until the artifact is called."""
    if given is None:
        return None
    names = [given] if isinstance(given, str) else list(given)
    known = known_platforms()
    for name in names:
        if name not in known:
            raise ValueError(f"platforms names {name!r}, and JAX knows {', '.join(sorted(known))}")
    if not names or len(set(names)) < len(names):
        raise ValueError(f"platforms is one or several names, each there once, not {given!r}")
    return names


def _exported(plan: Plan, avals: Arrays, platforms: list[str] | None) -> jax.export.Exported:
    def run(*arrays: ArrayLike) -> list[Any]:
        *results, stopped, status = run_within(plan, arrays)
        return [*results[: len(plan.out_type.tensor_leaves)], stopped, status]  # an artifact makes no exceptions

    flat = jax.jit(run, keep_unused=True)
    try:
        return jax.export.export(flat, platforms=platforms)(*avals)
    except (NotImplementedError, ValueError) as error:
        raise ArtifactError(
            f"{plan.name!r} has something that JAX does not export: {error}", plan.specialized.location
        ) from None


def _portable(plan: Plan, module: Any, target_version: str | None) -> bytes | None:
    """The bare artifact; None if there is none and no version was asked for."""
    try:
        return serialize_portable(module, target_version)
    except ValueError as error:
        if target_version is None:
            return None
        raise ArtifactError(
            f"{plan.name!r} has no form in StableHLO {target_version}: {error}",
            plan.specialized.location,
            help="leave target_version out, or name a later one.",
        ) from None
