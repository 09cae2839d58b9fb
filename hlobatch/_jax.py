"""All uses of JAX that are not its public API, or that change between releases.

Other modules import these names from here; when a release of JAX moves something, only this file changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, wraps
from operator import attrgetter
from types import CellType, FrameType, FunctionType
from typing import Any, Final, TypeAlias

import jax
import jax.numpy as jnp
from jax._src import checkify as _checkify
from jax._src import config as _config
from jax._src import source_info_util as _source
from jax._src import xla_bridge as _bridge
from jax._src.core import eval_trace as _eval_trace
from jax._src.core import trace_ctx as _trace_context
from jax._src.export import _export as _exporting
from jax._src.export.serialization_generated import Exported as _Exported
from jax._src.interpreters import partial_eval as _partial_evaluation
from jax._src.interpreters.ad import LinearizeTrace as _LinearizeTrace
from jax._src.interpreters.ad import primitive_linearizations as _linearizations
from jax._src.interpreters.mlir import upstream_dialects as _upstream_dialects
from jax._src.lax.lax import _convert_element_type
from jax._src.sharding_impls import ShardingContext as _ShardingContext
from jax._src.util import weakref_cache_key_types as _weak_in_caches
from jax.core import ShapedArray as _ShapedArray
from jax.extend import core as _core
from jax.extend.core import ClosedJaxpr, Literal, Primitive, jaxpr_as_fun
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import func, stablehlo
from jax.extend.mlir.passmanager import PassManager
from jax.extend.random import threefry2x32_p
from jax.interpreters import ad, batching, mlir
from jaxlib.mlir.dialects._ods_common import _cext as _bindings  # type: ignore[attr-defined]

from hlobatch.jax_primitives import CALLS
from hlobatch.typing import DType

try:
    from jax._src.core import DebugInfo as _DebugInfo
    from jax._src.interpreters.partial_eval import trace_to_jaxpr_dynamic as _trace
    from jax._src.linear_util import wrap_init as _as_traceable
    from jax._src.traceback_util import api_boundary as _api_boundary
    from jax.api_util import shaped_abstractify as _shaped
except ImportError:  # a release that moved them: ``jax.make_jaxpr`` is used instead
    _trace, _DebugInfo = None, None  # type: ignore[assignment]

try:
    from jax._src.core import auto_insert_reshard as _alike
except ImportError:  # before JAX 0.10.2
    from jax._src.core import standard_insert_pvary as _alike  # type: ignore[attr-defined, no-redef]

try:
    from jax._src.random.threefry2x32 import _threefry2x32_lowering_rule as _threefry2x32_unrolled
except ImportError:  # a release that moved it: random numbers are drawn in a loop
    _threefry2x32_unrolled = None  # type: ignore[assignment]

__all__ = [
    "HOST_EFFECTS",
    "NOT_MAPPED",
    "Atom",
    "Aval",
    "ClosedJaxpr",
    "Equation",
    "Half",
    "Jaxpr",
    "Literal",
    "PassManager",
    "Primitive",
    "ShapedArray",
    "abstract",
    "as_exported",
    "at_the_place_of",
    "batching",
    "called_by",
    "calls_of_libraries",
    "checkpointed_by_jax",
    "default_device",
    "differentiated_by",
    "done_on_host",
    "embed_module",
    "exported_by_jax",
    "func",
    "function_of",
    "has_host_do",
    "in_place_of",
    "ir",
    "is_at_once",
    "is_debug_effect",
    "is_for_export",
    "is_for_one_cpu",
    "is_for_one_device",
    "is_jit_disabled",
    "is_key",
    "is_linear_operand",
    "is_of_this_trace",
    "is_out_of_memory",
    "is_tracer",
    "is_tracing",
    "is_variable",
    "is_x64",
    "is_zero",
    "jaxpr_as_fun",
    "jaxpr_of",
    "keys_of",
    "known_platforms",
    "looked_for",
    "lower_as_jax",
    "lower_for_one_device",
    "lower_to_stablehlo",
    "lowering_platforms",
    "make_context",
    "make_plain_context",
    "mapped_first",
    "mapped_size",
    "may_be_folded",
    "mlir",
    "names_of_operations",
    "operands_of_scan",
    "random_function",
    "read_portable",
    "refuse_checks",
    "refuse_derivative",
    "register_derivatives",
    "register_dialect",
    "register_halves",
    "register_operation",
    "register_transpose",
    "serialize_portable",
    "show_tracers",
    "stable_calls",
    "stablehlo",
    "subjaxprs",
    "subjaxprs_of",
    "this_trace",
    "tracing_context",
    "tree_from_node",
    "variable_like",
    "varying_alike",
    "weakly",
    "without_shardings",
    "words_of",
    "zero_like",
]

Jaxpr: TypeAlias = Any
"""A jaxpr of JAX. Its own type says only that its variables have avals, and not that these have shapes and dtypes."""

Equation: TypeAlias = Any
"""An equation of a jaxpr."""

Atom: TypeAlias = Any
"""A variable or a literal of a jaxpr."""

Aval: TypeAlias = Any
"""The type of an array: `jax.core.ShapedArray` or `jax.ShapeDtypeStruct`."""


def jaxpr_of(function: Callable[..., list[Any]], avals: Sequence[Aval]) -> ClosedJaxpr:
    """The jaxpr of a function from arrays to a list of arrays, faster than ``jax.make_jaxpr``.

    ``jax.make_jaxpr`` also handles names, shardings and layouts, and caches them, which is half of the time for a
    statement.
    """
    if _trace is None or _config.debug_key_reuse.value:
        return jax.make_jaxpr(function)(*avals)
    traceable, types = _as_traceable(function, debug_info=_STATEMENT), tuple(map(_shaped, avals))
    jaxpr, _, constants = _api_boundary(_trace)(traceable, types)
    return ClosedJaxpr(jaxpr, constants)


_STATEMENT: Final[Any] = _DebugInfo("jit", "statement", None, None) if _trace is not None else None


NOT_MAPPED = None
"""The batch axis of an operand without one, in batching rules."""


def mapped_size(operands: Iterable[Any], axes: Iterable[Any]) -> Any:
    """The size of the batch axis that ``jax.vmap`` adds; at least one operand has it."""
    return next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not NOT_MAPPED)


def mapped_first(x: Any, axis: Any, size: Any) -> Any:
    """An operand of a batching rule as ``[size, …]``; one without a batch axis is broadcast."""
    return jnp.broadcast_to(x, (size, *x.shape)) if axis is NOT_MAPPED else jnp.moveaxis(x, axis, 0)


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs inside the equations of a jaxpr."""
    return iter(_core.subjaxprs(jaxpr))


def subjaxprs_of(equation: Equation) -> Iterator[Jaxpr]:
    """The jaxprs among an equation's parameters."""
    for value in equation.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            inner = getattr(item, "jaxpr", item)
            if isinstance(inner, _core.Jaxpr):
                yield inner


def is_tracer(value: Any) -> bool:
    """Whether a value is a tracer, whose value is not known yet."""
    return isinstance(value, jax.core.Tracer)


def show_tracers(text_of: Callable[[FrameType], str | None]) -> None:
    """Let a function give the text of tracers, wherever one is made, in place of JAX.

    Args:
        text_of: Is given the frame of the code that makes the text, and returns it; None for that of JAX. It may raise.
    """
    shown: Callable[[Any], str] = jax.core.Tracer.__repr__

    @wraps(shown)
    def __repr__(self: Any) -> str:  # noqa: N807
        text = text_of(sys._getframe(1))
        return shown(self) if text is None else text

    jax.core.Tracer.__repr__ = __repr__  # type: ignore[method-assign]


def weakly(value: Any, dtype: DType) -> Any:
    """A value as a weakly typed array, as JAX has Python numbers: it adopts the dtype of the array it meets."""
    return _convert_element_type(value, jnp.dtype(dtype), weak_type=True)


tracing_context: Final = _config.trace_context
"""A function without arguments that returns all JAX settings on which a trace depends, such as 64-bit types and the
default matmul precision. It is called in every call, so it is JAX's own function without a wrapper.
"""

abstract: Final = attrgetter("aval")
"""A concrete JAX array's abstract value (``AttributeError`` for other objects); ``jax.typeof`` is ten times slower."""


def is_tracing() -> bool:
    """Whether code that runs now becomes part of a JAX trace, even if all its operands are concrete."""
    return not _trace_context.is_top_level()


def is_at_once() -> bool:
    """Whether nothing is traced, where ``tracing_context()`` is as outside of traces; cheaper than ``is_tracing``."""
    return _trace_context.trace is _eval_trace


def this_trace() -> Any:
    """The current trace, for comparisons."""
    return _trace_context.trace


def is_of_this_trace(tracer: Any) -> bool:
    """Whether a tracer belongs to the current trace, and not to an outer one."""
    return tracer._trace is _trace_context.trace


def ShapedArray(shape: Any, dtype: DType, operands: Sequence[Any]) -> Any:  # noqa: N802
    """The abstract value of an output; inside ``shard_map`` it varies over the mesh axes that any operand does."""
    varying = [aval for aval in operands if _mesh_axes(aval)]
    if not varying:
        return _ShapedArray(shape, dtype)
    like, axes = varying[0], frozenset[Any]().union(*map(_mesh_axes, varying))
    undivided = like.sharding.update(spec=jax.sharding.PartitionSpec(*[None] * len(shape)))
    return _ShapedArray(shape, dtype, sharding=undivided, manual_axis_type=type(like.mat)(varying=axes))


def _mesh_axes(aval: Aval) -> frozenset[Any]:
    """The mesh axes over which a value varies, inside ``shard_map``."""
    found: frozenset[Any] = aval.mat.varying if isinstance(aval, _ShapedArray) else frozenset()
    return found


def varying_alike(operands: Sequence[Any]) -> list[Any]:
    """Operands of one primitive, made to vary over the same mesh axes inside ``shard_map``, as JAX requires.

    JAX knows the conversion, and sums its cotangents over those axes.
    """
    return list(_alike(*operands))


def default_device() -> Any:
    """The device that the user has set as default, for this thread or the program; None if not set."""
    return _config.default_device.value


def looked_for() -> tuple[bool, bool]:
    """Whether JAX is set to check results for NaN and for infinity."""
    return bool(_config.debug_nans.value), bool(_config.debug_infs.value)


@contextmanager
def not_looking() -> Iterator[None]:
    """A context in which JAX does not check results for NaN and infinity."""
    if not any(looked_for()):
        yield
        return
    with jax.debug_nans(False), jax.debug_infs(False):
        yield


def is_jit_disabled() -> bool:
    """Whether ``jax.jit`` is disabled, so that it runs functions operation by operation."""
    return bool(_config.disable_jit.value)


def is_x64() -> bool:
    """Whether 64-bit types are on."""
    return bool(_config.enable_x64.value)


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error means that there was not enough memory for an array."""
    return isinstance(error, MemoryError) or (
        isinstance(error, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" in str(error)
    )


def _cells(function: Any) -> dict[str, Any]:
    """The closure variables of a function, by name."""
    if not isinstance(function, FunctionType):
        return {}
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}


def _differentiating(function: Any) -> Any:
    """The inner function of a function made by ``jax.grad`` or ``jax.value_and_grad``; None if there is none."""
    return _cells(function).get("fun")


_OF_VALUES: Final = getattr(_differentiating(jax.value_and_grad(abs)), "__code__", None)
_OF_GRADIENTS: Final = [getattr(_differentiating(jax.grad(abs, 0, aux)), "__code__", None) for aux in (False, True)]


def differentiated_by(function: Any) -> tuple[Any, Any, bool, bool] | None:
    """Take apart a function from ``jax.grad``: function, ``argnums``, ``has_aux``, and whether the value is returned.

    None for any other function, and if other options than these were given.
    """
    inner = _differentiating(function)
    code = getattr(inner, "__code__", None)
    gives_value = code is _OF_VALUES
    if code is None or not (gives_value or code in _OF_GRADIENTS):
        return None
    cells = _cells(inner if gives_value else _differentiating(_cells(inner).get("value_and_grad_f")))
    if "fun" not in cells or cells.get("holomorphic") or cells.get("allow_int"):
        return None
    return cells["fun"], cells.get("argnums"), bool(cells.get("has_aux")), gives_value


def refuse_checks(primitive: Any, refuse: Callable[..., Any]) -> None:
    """Register ``refuse``, to be called where ``checkify`` would add checks other than users' own to a primitive."""

    def rule(*given: Any, **params: Any) -> Any:
        start = 0 if isinstance(given[1], frozenset) else 1  # from JAX 0.12 on, a context comes first
        error, enabled, *operands = given[start:]
        if enabled - _checkify.user_checks:
            refuse(**params)
        return error, primitive.bind(*operands, **params)

    _checkify.error_checks[primitive] = rule


def refuse_derivative(primitive: Any, refuse: Callable[..., Any]) -> None:
    """Register ``refuse``, to be called where JAX would differentiate a primitive."""
    ad.primitive_jvps[primitive] = refuse


def register_derivatives(primitive: Any, jvp: Callable[..., Any], linearize: Callable[..., Any] | None = None) -> None:
    """Register derivative rules of a primitive with several results.

    Args:
        primitive: The primitive.
        jvp: Maps values, tangents (``Zero`` for none) and parameters to results and their tangents.
        linearize: Maps whether each operand has a tangent, the values and the parameters to the results, whether each
            has a tangent, residuals, and a function from residuals and tangents to the results' tangents.
    """
    ad.primitive_jvps[primitive] = jvp
    if linearize is not None:
        _linearizations[primitive] = partial(_linearized, linearize)


_KEEPS_STRUCTURE: Final = "structured_residuals" in _LinearizeTrace.process_primitive.__code__.co_names
"""Whether residuals may also be structured, which JAX supports from 0.12 on."""


def _linearized(
    linearize: Callable[..., Any], _: bool, has_tangent: Sequence[bool], *values: Any, **params: Any
) -> Any:
    results, nonzero, kept, linear = linearize(has_tangent, *values, **params)
    if not _KEEPS_STRUCTURE:
        return results, nonzero, kept, linear
    return results, nonzero, kept, None, lambda kept, _, *tangents: linear(kept, *tangents)


@dataclass(frozen=True)
class Half:
    """One of two equations that together replace another equation.

    Attributes:
        primitive: The primitive.
        params: The primitive's parameters.
        operands: Positions of its operands among those of the replaced equation.
        results: Positions of its results among those of the replaced equation.
    """

    primitive: Any
    params: dict[str, Any]
    operands: Sequence[int]
    results: Sequence[int]


def register_halves(primitive: Any, halves: Callable[..., tuple[Half, Half] | None]) -> None:
    """Register how a primitive is split if only some operands are known, as in ``jax.checkpoint``.

    Args:
        primitive: The primitive.
        halves: Maps whether each operand is unknown, and parameters, to the half that can be computed from known
            operands, and the other half; None if all has to wait.
    """

    def rule(_: Any, unknown: Sequence[bool], there: Sequence[bool], equation: Equation) -> Any:
        """The equations to run first and later, whether each result comes later, and the later one's residuals."""
        if not any(unknown):
            return equation, None, [False] * len(equation.outvars), [False] * len(equation.outvars), []
        found = halves(unknown, **equation.params)
        given = [v for v, is_there in zip(equation.invars, there, strict=True) if not is_there]
        given = [v for v in given if not isinstance(v, Literal)]
        if found is None:
            return None, equation, [True] * len(equation.outvars), [True] * len(equation.outvars), given
        first, later = (_half_of(equation, half) for half in found)
        is_later = [i in found[1].results for i in range(len(equation.outvars))]
        return first, later, is_later, is_later, given

    _partial_evaluation.partial_eval_jaxpr_custom_rules[primitive] = rule


def _half_of(equation: Equation, half: Half) -> Any:
    return equation.replace(
        primitive=half.primitive,
        params=half.params,
        invars=[equation.invars[i] for i in half.operands],
        outvars=[equation.outvars[i] for i in half.results],
    )


def register_transpose(primitive: Any, rule: Callable[..., Any]) -> None:
    """Register the transpose of a primitive that is linear in some operands.

    Args:
        primitive: The primitive.
        rule: Maps cotangents (``Zero`` for none), operands and parameters to a cotangent for each linear operand, and
            None for each other operand.
    """
    ad.primitive_transposes[primitive] = rule


def is_linear_operand(operand: Any) -> bool:
    """Whether an operand of a transposed primitive is one that it is linear in, so that it has no value."""
    return isinstance(operand, ad.UndefinedPrimal)


def is_zero(tangent: Any) -> bool:
    """Whether a tangent or cotangent is a symbolic zero."""
    return type(tangent) is ad.Zero


def zero_like(value: Any) -> Any:
    """The symbolic zero tangent of a value."""
    return ad.Zero(jax.typeof(value).to_tangent_aval())


def freed_with_its_program(kind: type) -> type:
    """Register a class of equation parameters to which JAX's caches refer weakly, as they do to jaxprs."""
    _weak_in_caches.add(kind)
    return kind


def lowering_platforms(ctx: Any) -> tuple[str, ...]:
    """The platforms that a lowering rule lowers for; ``("cpu",)``, which serves all, if there are several."""
    platforms = tuple(ctx.module_context.platforms)
    return platforms if len(platforms) == 1 else ("cpu",)


def is_for_export(ctx: Any) -> bool:
    """Whether a lowering rule is called by ``jax.export``."""
    return bool(ctx.module_context.lowering_parameters.for_export)


def is_for_one_cpu(ctx: Any) -> bool:
    """Whether the computation that a lowering rule is called for is compiled now for a single CPU."""
    return tuple(ctx.module_context.platforms) == ("cpu",) and is_for_one_device(ctx)


def is_for_one_device(ctx: Any) -> bool:
    """Whether the computation that a lowering rule is called for is compiled now for a single device."""
    around = ctx.module_context.axis_context
    return isinstance(around, _ShardingContext) and around.num_devices == 1 and not is_for_export(ctx)


def lower_to_stablehlo(traced: Any, platforms: tuple[str, ...]) -> Any:
    """The module of what ``jax.jit`` traced.

    On a CPU, JAX draws random numbers (``threefry2x32``) in a loop of five turns, to spare XLA the code. Each turn is
    some thirty kernels of a few words per lane; unrolled, it is one. The words are the same.
    """
    unroll = platforms == ("cpu",) and _threefry2x32_unrolled is not None
    rules = ((threefry2x32_p, _threefry2x32_unrolled),) if unroll else None
    parameters = mlir.LoweringParameters(override_lowering_rules=rules)
    return traced.lower(lowering_platforms=platforms, _private_parameters=parameters).compiler_ir("stablehlo")


def lower_as_jax(ctx: Any, function: Callable[..., Any], operands: Sequence[Any]) -> list[Any]:
    """Lower a JAX function, called with a lowering rule's operands."""
    return list(mlir.lower_fun(function, multiple_results=True)(ctx, *operands))


def lower_for_one_device(ctx: Any, function: Callable[..., Any], operands: Sequence[Any]) -> list[Any]:
    """``lower_as_jax`` of a function that knows no mesh: inside ``shard_map``, it runs on each device by itself."""
    avals = [_ShapedArray(aval.shape, aval.dtype) for aval in ctx.avals_in]
    return lower_as_jax(ctx.replace(avals_in=avals), function, operands)


def in_no_mesh() -> Any:
    """A context in which the mesh that the user has set does not hold.

    In it, arrays that are divided along explicit axes of a mesh have the types of other arrays.
    """
    return jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), ()))


def is_divided(x: Any) -> bool:
    """Whether an array is divided among devices along explicit axes of a mesh, which its type says."""
    return any(axis is not None for axis in jax.typeof(x).sharding.spec)


def embed_module(
    ctx: Any, build: Callable[[Any], Any], name: str, operands: Sequence[Any], sizes: Sequence[tuple[Any, int]]
) -> list[Any]:
    """Merge a module into the module of a lowering rule, and call its ``main``.

    Args:
        ctx: The rule's context.
        build: Makes the module in a given MLIR context.
        name: The new name of its ``main``, which is made unique.
        operands: Its operands after the sizes.
        sizes: For each symbolic size, an operand and the axis that has it.
    """
    around = ctx.module_context
    module = build(around.module.context)
    kind = ir.FunctionType(ir.TypeAttr(ir.SymbolTable(module.operation)["main"].attributes["function_type"]).value)
    symbol = mlir.merge_mlir_modules(around.module, name, module, dst_symtab=around.symbol_table)
    leading = [stablehlo.get_dimension_size(value, axis) for value, axis in sizes]
    return list(func.CallOp(list(kind.results), ir.FlatSymbolRefAttr.get(symbol), [*leading, *operands]).results)


def make_context() -> Any:
    """An MLIR context with StableHLO that accepts unregistered operations."""
    context = mlir.make_ir_context()
    context.allow_unregistered_dialects = True
    return context


def make_plain_context() -> Any:
    """An MLIR context with MLIR's own dialects only, as in tools without StableHLO; accepts unregistered operations."""
    context = ir.Context()
    context.append_dialect_registry(_upstream_dialects)
    context.load_all_available_dialects()
    context.allow_unregistered_dialects = True
    return context


def register_dialect(dialect: type[Any], package: str) -> None:
    """Register a dialect that is defined in Python with MLIR's bindings, and the package that its module is in.

    They look for the dialect's module whenever they meet an operation, also when its class is registered.
    """
    _bindings.register_dialect(dialect)
    _bindings.globals.append_dialect_search_prefix(package)


def register_operation(dialect: type[Any], operation: Any) -> Any:
    """Register the class that MLIR's bindings use for an operation."""
    return _bindings.register_operation(dialect)(operation)


def tree_from_node(node: tuple[type, Any], children: Sequence[Any]) -> Any:
    """The treedef with the node data and the children of ``node_data()`` and ``children()``."""
    return jax.tree_util.PyTreeDef.from_node_data_and_children(jax.tree_util.default_registry, node, children)


def without_shardings(module: Any) -> None:
    """Remove the marks that JAX puts on typed keys for a partitioner: a module here is for one device."""
    marks: list[Any] = []

    def collect(operation: Any) -> Any:
        if operation.name.startswith("sdy."):
            marks.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    for mark in marks:
        if mark.name == "sdy.sharding_constraint":
            mark.results[0].replace_all_uses_with(mark.operands[0])
        mark.erase()


stable_calls: Final[Container[str]] = _exporting._CUSTOM_CALL_TARGETS_GUARANTEED_STABLE
"""Names of the custom calls that mean the same in every release of JAX; others are not exported."""


_TO_STABLEHLO: Final = "func.func(chlo-legalize-to-stablehlo,shape-legalize-to-stablehlo)"
"""CHLO operations such as ``erf_inv`` become StableHLO operations. With a symbolic batch size, shape operations become
StableHLO as well, between pairs of casts that cancel each other.
"""


def serialize_portable(module: Any, target_version: str | None = None) -> bytes:
    """A StableHLO module as a portable artifact, with operations of StableHLO only.

    A copy is serialized: the original would be turned into VHLO in place, and be unusable if that fails halfway.

    Raises:
        ValueError: The version, or every version, has no form for an operation.
    """
    requirement = stablehlo.StablehloCompatibilityRequirement.WEEK_12
    version = target_version or stablehlo.get_version_from_compatibility_requirement(requirement)
    stablehlo.register_stablehlo_passes()
    with module.context, _diagnostics(module.context) as said:
        copy = ir.Module.parse(module.operation.get_asm(binary=False))
        _without_sharding_rules(copy)
        try:
            PassManager.parse(f"builtin.module({_TO_STABLEHLO})").run(copy.operation)
            if any(operation == "builtin.unrealized_conversion_cast" for operation in names_of_operations(copy)):
                PassManager.parse("builtin.module(canonicalize)").run(copy.operation)
            return bytes(stablehlo.serialize_portable_artifact(copy, version))
        except (ir.MLIRError, ValueError) as error:
            raise ValueError("; ".join(said) or str(error)) from None


def read_portable(data: bytes) -> Any:
    """A module from a portable artifact, verified.

    Raises:
        ValueError: This version cannot read it.
    """
    context = mlir.make_ir_context()
    with context, _diagnostics(context) as said:
        try:
            module: Any = stablehlo.deserialize_portable_artifact(context, data)
            module.operation.verify()
        except (ir.MLIRError, ValueError) as error:
            raise ValueError("; ".join(said) or str(error)) from None
    return module


def exported_by_jax(data: bytes) -> tuple[bytes, list[str], int]:
    """The module, the platforms and the calling convention version in a file of ``Exported.serialize``.

    Only these are read, since the numbers in the file may be anything; any exception may be raised.
    """
    exported = _Exported.GetRootAsExported(data, 0)
    platforms = [exported.Platforms(i).decode() for i in range(min(exported.PlatformsLength(), 100))]
    module: Any = exported.MlirModuleSerializedAsNumpy()
    return module.tobytes(), platforms, exported.CallingConventionVersion()


def as_exported(module: bytes, name: str, platforms: Sequence[str], version: int, avals: Any, results: Any) -> Any:
    """The ``Exported`` that ``jax.export`` would have made with the given module.

    All other attributes are made anew by JAX, from a function of the same types.
    """

    def blank(*_: Any) -> list[Any]:
        return [jnp.zeros(result.shape, result.dtype) for result in results]

    with jax.enable_x64(True):
        made = jax.export.export(jax.jit(blank, keep_unused=True), platforms=list(platforms))(*avals)
    return replace(
        made, mlir_module_serialized=module, fun_name=name, calling_convention_version=version, _get_vjp=None
    )


def known_platforms() -> frozenset[str]:
    """The names of the platforms that JAX can lower for, as in ``jax.export``."""
    return frozenset({"cpu", "cuda", "rocm", "tpu"} | (_bridge.known_platforms() - {"gpu"}))


@contextmanager
def _diagnostics(context: Any) -> Iterator[list[str]]:
    """Collects MLIR's error messages within it, which would otherwise be printed."""
    said: list[str] = []

    def hear(diagnostic: Any) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            said.append(str(diagnostic.message))
        return True

    handler = context.attach_diagnostic_handler(hear)
    try:
        yield said
    finally:
        handler.detach()


def names_of_operations(module: Any) -> set[str]:
    """Names of the operations in a module."""
    found: set[str] = set()

    def collect(operation: Any) -> Any:
        found.add(operation.name)
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    return found


def calls_of_libraries(module: Any) -> set[str]:
    """Names of the custom calls in a module."""
    found: set[str] = set()

    def collect(operation: Any) -> Any:
        if operation.name == "stablehlo.custom_call":
            found.add(ir.StringAttr(operation.attributes["call_target_name"]).value)
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    return found


def _without_sharding_rules(module: Any) -> None:
    """Remove sharding rules from custom calls: a portable artifact is for one device."""

    def clean(operation: Any) -> Any:
        if operation.name == "stablehlo.custom_call" and _SHARDING_RULE in operation.attributes:
            del operation.attributes[_SHARDING_RULE]
        return ir.WalkResult.ADVANCE

    module.operation.walk(clean)


_SHARDING_RULE: Final = "sdy.sharding_rule"


def public_primitives() -> frozenset[str]:
    """Names of the primitives in JAX's public modules."""
    modules = (jax.lax, jax.lax.linalg, _core.primitives)
    return frozenset(p.name for module in modules for p in vars(module).values() if isinstance(p, Primitive))


def called_by(equation: Equation) -> Any:
    """The closed jaxpr that an equation calls, if that is all it does."""
    if equation.primitive.name not in CALLS:
        return None
    params = equation.params
    if "_prim" in params:  # from jax 0.12 on, a class with a method for its code
        avals = [atom.aval for atom in equation.invars]
        return jaxpr_of(lambda *operands: equation.primitive.to_lojax(*operands, **params), avals)
    jaxpr = params["jaxpr"] if "jaxpr" in params else params["call_jaxpr"]
    return jaxpr if isinstance(jaxpr, ClosedJaxpr) else ClosedJaxpr(jaxpr, ())  # from jax 0.12 on, all are closed


HOST_EFFECTS: Final = ("debug_callback", "debug_print")
"""Primitives whose only purpose is an effect on the host."""


def is_debug_effect(effect: Any) -> bool:
    """Whether an effect is from ``jax.debug.print`` or ``jax.debug.callback``."""
    return type(effect).__name__ in ("DebugEffect", "OrderedDebugEffect")


def has_host_do(equation: Equation) -> bool:
    """Whether an equation only has an effect on the host, and no results."""
    return equation.primitive.name in HOST_EFFECTS


def done_on_host(equation: Equation) -> tuple[Callable[..., object], bool]:
    """The function that a callback's equation has the host call with its operands, and whether it prints."""
    callback = equation.params.get("callback")
    return (function_of(equation), True) if callback is None else (callback, False)


def function_of(equation: Equation, **changed: Any) -> Callable[..., list[Any]]:
    """A function from the operands of an equation to its results, with some parameters changed."""
    primitive = equation.primitive
    params = primitive.get_bind_params({**equation.params, **changed})

    def run(*operands: Any) -> list[Any]:
        results = primitive.bind(*operands, **params)
        return list(results) if primitive.multiple_results else [results]

    return run


def operands_of_scan(params: Any, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The operands of a scan: constants, carried values, and arrays to scan over."""
    if "ft_in" in params:  # from jax 0.12 on
        of_every_turn, carried, over = params["ft_in"].update(list(operands)).unpack()
        return list(of_every_turn), list(carried), list(over)
    first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
    return list(operands[:first]), list(operands[first:last]), list(operands[last:])


@contextmanager
def in_place_of(equation: Equation) -> Iterator[None]:
    """Within it, new operations get the source location and the settings of an equation."""
    names = _source.current_name_stack() + equation.source_info.name_stack
    with _source.user_context(equation.source_info.traceback, name_stack=names), equation.ctx.manager:
        yield


def at_the_place_of(call: Any, equation: Equation) -> Any:
    """An equation of what another one calls, in the place of that, as tracing it within ``in_place_of`` makes it."""
    if call is None:
        return equation
    names = call.source_info.name_stack + equation.source_info.name_stack
    return equation.replace(source_info=equation.source_info.replace(name_stack=names))


_FOLDED: Final = frozenset({"convert_element_type", "device_put", "stage"})


def may_be_folded(equation: Equation) -> bool:
    """Whether JAX makes no equation of this one where its operands are known as code is traced."""
    return equation.primitive.name in _FOLDED


def is_variable(atom: Any) -> bool:
    """Whether an operand is a variable, and no literal."""
    return not isinstance(atom, Literal)


def variable_like(variable: Any) -> Any:
    """A variable of its own of the type of another one."""
    return type(variable)(variable.aval)


def is_key(array: Any) -> bool:
    """Whether an array, or an abstract one, holds typed PRNG keys."""
    return bool(jnp.issubdtype(array.dtype, jax.dtypes.prng_key))


def keys_of(words: Any, aval: Aval) -> Any:
    """Typed keys made from their words."""
    return jax.random.wrap_key_data(words, impl=aval.dtype._impl)


def words_of(keys: Any) -> Any:
    """The words of typed keys; for concrete keys the array that holds them, without a computation."""
    held = getattr(keys, "_base_array", None)
    return jax.random.key_data(keys) if held is None else held


def random_function(equation: Equation) -> Callable[..., list[Any]] | None:
    """For an equation that draws from or makes one typed key, its function on the key's words; None for others."""
    name, params = equation.primitive.name, equation.params
    if name == "random_seed":
        return lambda seed: [params["impl"].seed(seed)]
    if not name.startswith("random_") or any(atom.aval.shape for atom in equation.invars):
        return None
    generator = equation.invars[0].aval.dtype._impl
    if name == "random_bits":
        return lambda words: [generator.random_bits(words, params["bit_width"], params["shape"])]
    if name == "random_split":
        return lambda words: [generator.split(words, params["shape"])]
    return (lambda words, data: [generator.fold_in(words, data)]) if name == "random_fold_in" else None


def _codes_within(function: Any) -> list[Any]:
    """The code objects of the functions in a function's closure."""
    cells = getattr(function, "__closure__", None) or ()
    held = (cell.cell_contents for cell in cells if cell != CellType())
    return [inner.__code__ for inner in held if isinstance(inner, FunctionType)]


_OF_CHECKPOINT: Final = _codes_within(jax.checkpoint(lambda: None))


def checkpointed_by_jax(function: Any) -> Any:
    """The function that was passed to ``jax.checkpoint`` to get this one; None for other functions."""
    wraps = isinstance(function, FunctionType) and hasattr(function, "__wrapped__") and bool(_OF_CHECKPOINT)
    return function.__wrapped__ if wraps and _codes_within(function) == _OF_CHECKPOINT else None
