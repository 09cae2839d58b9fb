"""Checks a call's arguments; finds their arrays in the order of the program's inputs, their types, and the shared ones.

The user passes pytrees of arrays with a batch axis; the program takes the arrays of one type per parameter. Every error
in a call is found here, before anything is compiled.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from textwrap import shorten
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_tracer, not_looking
from hlobatch.analysis.explanations import LARGE_NUMBERS
from hlobatch.analysis.reach import may_change
from hlobatch.console import ONE_LINE
from hlobatch.diagnostics import BatchTypeError, Location, Note
from hlobatch.ir.physical import rebuild, to_physical
from hlobatch.ir.types import Leaf, Static, TensorType, Type, grouped
from hlobatch.strategy.options import Options
from hlobatch.values.leaf_types import KINDS_OF_NUMBERS, widened_leaf
from hlobatch.values.number_tables import NUMBERS
from hlobatch.values.ragged import is_ragged, with_containers
from hlobatch.values.type_join import MisfitError, check_number

OPTIONS: Final = frozenset({"in_axes", "static_argnames", "checked", *(field.name for field in fields(Options))})
"""Names of options of ``hb.batch``, which a user may expect to be options of a call."""


@dataclass(frozen=True)
class Call:
    """A checked call.

    Attributes:
        types: Type of each parameter, without the batch axis.
        shared: Parameters that all lanes share.
        arrays: The arrays as the user passed them, batch axis first (or their avals), in the program's order.
        axes: For each array, its batch axis as it was passed; None if it has none.
        size: Size of the batch.
        defaults: Parameters that have their default, which is an object that may change.
        is_fixed: Whether the types of the arrays decide all other attributes but the size: no default may change.
    """

    types: tuple[tuple[str, Type], ...]
    shared: frozenset[str]
    arrays: tuple[Any, ...]
    axes: tuple[int | None, ...]
    size: Any
    defaults: frozenset[str] = frozenset()
    is_fixed: bool = True

    def __repr__(self) -> str:
        return f"Call({self})"

    def __str__(self) -> str:
        types = (f"{name}: {type_}" + " (shared)" * (name in self.shared) for name, type_ in self.types)
        return f"{shorten(', '.join(types), ONE_LINE, placeholder=' …')}; {self.size} inputs"

    @property
    def key(self) -> tuple[Any, ...]:
        """The key of the call's plan."""
        return self.types, self.shared, self.defaults

    @property
    def may_have_numbers(self) -> bool:
        """Whether a shared argument is like one of Python's numbers, whose range JAX does not check."""
        leaves = [leaf for _, type_ in self.types for leaf in type_.tensor_leaves]
        return any(leaf.weak and axis is None for leaf, axis in zip(leaves, self.axes, strict=True))

    def fits(self, other: Call) -> bool:
        """Whether an executable for this call serves another: Python numbers are stored as arrays of the same dtype."""
        strong = [[(name, type_.strong) for name, type_ in call.types] for call in (self, other)]
        return strong[0] == strong[1] and self.shared == other.shared and self.size == other.size

    def physical(self) -> list[Any]:
        """The arrays, as they are stored."""
        leaves = [leaf for _, type_ in self.types for leaf in type_.tensor_leaves]
        with not_looking():  # an input may be NaN, as it may for `jax.jit`
            return [to_physical(a, leaf) for a, leaf in zip(self.arrays, leaves, strict=True)]


@dataclass(frozen=True)
class Binder:
    """Checks calls of one function.

    Attributes:
        name: The user's name for the function.
        signature: The function's signature.
        in_axes: As for ``jax.vmap``: an int, None, or a sequence with an entry per parameter; or by name.
        static: Parameters that are Python objects.
        definition: Where it is defined.
        caller: Finds the place of the call in the user's code.
    """

    name: str
    signature: inspect.Signature
    in_axes: Any
    static: frozenset[str]
    definition: Location
    caller: Callable[[], Location]

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any], *, abstract: bool = False) -> Call:
        """Match arguments to parameters and find the batch.

        Args:
            args: Positional arguments.
            kwargs: Keyword arguments.
            abstract: Whether arrays may be given as ``jax.ShapeDtypeStruct``, since nothing is run.

        Raises:
            BatchTypeError: Too many or too few arguments, a scalar where a batch is needed, or batch sizes that
                disagree.
        """
        values, defaults = self._values(args, kwargs)
        axes = self._axes(values, defaults)
        types: list[tuple[str, Type]] = []
        shared: set[str] = set()
        arrays: list[Any] = []
        along: list[int | None] = []
        sizes: list[tuple[str, Any]] = []
        for name, value in values.items():
            if name in self.static:
                types.append((name, Type(self._static(name, value))))
                continue
            if name in defaults and not any(map(_is_array, jax.tree.leaves(value))):
                types.append((name, _constant(value)))
                continue
            type_, leaves, places, own = self._parameter(name, value, None if name in defaults else axes[name])
            if not (abstract or all(map(_holds_numbers, leaves))):
                raise self._error(
                    f"{name} is a jax.ShapeDtypeStruct, which holds no numbers",
                    help="pass an array; .trace(…) takes what arrays are like.",
                )
            types.append((name, type_))
            arrays += leaves
            along += places
            sizes += own
            if not own:
                shared.add(name)
        size = self._size(sizes)
        arrays = self._broadcast(types, shared, arrays, size)
        is_fixed = all(_is_hashable(values[name]) for name in defaults)
        changing = frozenset(name for name in defaults if may_change(values[name]))
        return Call(tuple(types), frozenset(shared), tuple(arrays), tuple(along), size, changing, is_fixed)

    def _parameters(self, given: Collection[str]) -> str:
        """Help for a call that does not fit: the parameters, and the keywords that are options of ``hb.batch``."""
        options = [f"{name}=" for name in given if name in OPTIONS and name not in self.signature.parameters]
        also = f" {' and '.join(options)} may be given to hb.batch, which makes the function." if options else ""
        return f"its parameters are {self.signature}.{also}"

    def _values(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
        """The value of each parameter, and the names of the parameters that have their default."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise self._error(f"{self.name}() is called wrongly: {error}", help=self._parameters(kwargs)) from None
        given = set(bound.arguments)
        bound.apply_defaults()
        return dict(bound.arguments), set(bound.arguments) - given

    def _axes(self, values: Mapping[str, Any], defaults: AbstractSet[str]) -> dict[str, Any]:
        """For each parameter its axes, an int, None, or a pytree of these; some with a default are left out."""
        names = [name for name in values if name not in self.static]
        if self.in_axes is None or isinstance(self.in_axes, (int, np.integer)):
            return dict.fromkeys(names, self.in_axes)
        if isinstance(self.in_axes, Mapping):
            if unknown := [name for name in self.in_axes if name not in values]:
                raise self._error(
                    f"in_axes has an entry for {unknown[0]!r}, but {self.name}() has no such parameter",
                    help=f"its parameters are {self.signature}.",
                )
            return {name: self.in_axes.get(name, 0) for name in names}
        given = [name for name in values if name not in defaults]
        for some in (names, list(values), [name for name in given if name in names], given):
            if len(some) == len(self.in_axes):
                return dict(zip(some, self.in_axes, strict=True))
        raise self._error(
            f"in_axes has {len(self.in_axes)} entries, but {self.name}() has {len(values)} parameters",
            help="give one entry per parameter, or a single int or None for all.",
        )

    def _parameter(
        self, name: str, value: Any, axes: Any
    ) -> tuple[Type, list[Any], list[int | None], list[tuple[str, Any]]]:
        """A parameter's type, its arrays with the batch axis first, where that axis was before, and its batch sizes."""
        self._check_ragged(name, value, axes)
        value = with_containers(value)
        paths, treedef = jax.tree_util.tree_flatten_with_path(value)
        try:
            flat_axes = jax.tree.leaves(
                jax.tree.map(
                    lambda axis, part: jax.tree.map(lambda _: _Axis(axis), part), axes, value, is_leaf=_is_none
                ),
                is_leaf=lambda x: isinstance(x, _Axis),
            )
        except ValueError as error:
            raise self._error(f"in_axes of {name!r} does not match its value: {error}") from None
        leaves: list[Leaf] = []
        arrays: list[Any] = []
        places: list[int | None] = []
        sizes: list[tuple[str, Any]] = []
        if _is_row(value) and all(axis.value == 0 for axis in flat_axes):
            raise self._error(
                f"{name} is a {type(value).__name__} of numbers, each of which would be an argument of its own",
                help=f"pass an array, as `jnp.array({name})`; or a tuple of arrays, each with a batch.",
            )
        for (path, leaf), axis in zip(paths, flat_axes, strict=True):
            where = name + jax.tree_util.keystr(path)
            if not _is_array(leaf) and not isinstance(leaf, NUMBERS):
                leaves.append(self._object(where, leaf))
                continue
            weak = type(leaf) in (int, float, complex) or bool(getattr(leaf, "weak_type", False))
            leaf = leaf if _is_array(leaf) else self._number(where, leaf)
            dtype = self._dtype(where, leaf)
            places.append(axis.value)
            if axis.value is not None:
                leaf = self._batch_first(where, leaf, axis.value)
            if not all(isinstance(dim, int) for dim in leaf.shape[axis.value is not None :]):
                raise self._error(
                    f"{where} has shape {list(leaf.shape)}, but only the size of the batch may be symbolic",
                    help="give the other sizes as numbers.",
                )
            if axis.value is None:
                leaves.append(TensorType(dtype, tuple(leaf.shape), weak))
                arrays.append(_Unbatched(leaf))
                continue
            leaves.append(TensorType(dtype, tuple(leaf.shape[1:]), weak))
            arrays.append(leaf)
            sizes.append((where, leaf.shape[0]))
        return Type.of_leaves(tuple(leaves), treedef), arrays, places, sizes

    def _check_ragged(self, name: str, value: Any, axes: Any) -> None:
        """Refuse containers of unequal lengths along another axis than the first, or that all lanes share."""
        along = jax.tree.leaves(axes, is_leaf=_is_none)
        if any(axis != 0 for axis in along) and any(map(is_ragged, jax.tree.leaves(value, is_leaf=is_ragged))):
            raise self._error(
                f"{name} has containers of unequal lengths, hb.Ragged, and in_axes is {axes}",
                help="let its entry in in_axes be 0; an hb.Ragged has a container for each input.",
            )

    def _number(self, where: str, value: complex) -> Any:
        """A Python number as an array."""
        try:
            return number_array(value)
        except MisfitError as error:
            raise self._error(f"{where} is {value}, which is too large for {error.dtype}", help=LARGE_NUMBERS) from None

    def _dtype(self, where: str, leaf: Any) -> Any:
        """The dtype of an array in JAX; refuses arrays without a dtype of JAX's, and deleted ones."""
        if isinstance(leaf, np.ma.MaskedArray):
            raise self._error(
                f"{where} is a masked array, and JAX has no masks",
                help=f"pass `{where}.filled(…)`, or `{where}.data` and `{where}.mask` as two arguments.",
            )
        if is_deleted(leaf):
            raise self._error(
                f"{where} is an array that has been deleted, or donated to another computation",
                help="pass the result of that computation, or a copy that was made before.",
            )
        own = leaf.dtype
        if isinstance(own, np.dtype) and (own.type in _FOREIGN or own.kind not in KINDS_OF_NUMBERS or not own.isnative):
            raise self._error(
                f"{where} is an array of {own}, and JAX has none of them",
                help="pass each field as an argument of its own."
                if own.names
                else "convert it to numbers of this machine, as in x.astype(np.float32).",
            )
        return jax.dtypes.canonicalize_dtype(own, allow_extended_dtype=True)

    def _static(self, name: str, value: Any) -> Static:
        """A static argument, which has to be hashable: a list or a dict might change after a plan was made for it."""
        try:
            hash(value)
        except TypeError:
            if _is_array(value):
                raise self._error(
                    f"{name} is static, but an array is none",
                    help="leave it out of static_argnames; in_axes=None shares an array between all lanes.",
                ) from None
            raise self._error(
                f"{name} is static, but a {type(value).__name__} cannot be hashed",
                help="pass something immutable: a tuple, or a frozen dataclass.",
            ) from None
        return Static(value)

    def _object(self, where: str, value: Any) -> Leaf:
        parameter = re.split(r"[.\[]", where, maxsplit=1)[0]
        if instead := _as_array(value):
            advice = f"pass an array, as `{instead}`."
        elif isinstance(value, str):
            advice = (
                f"pass a text for each input as hb.Ragged.of(…); or, for one that is known, name the parameter in "
                f"static_argnames, as in @hb.batch(static_argnames={parameter!r})."
            )
        elif any(map(_is_array, getattr(value, "__dict__", {}).values())):
            advice = (
                "register its class, as with jax.tree_util.register_dataclass or register_pytree_node_class, or pass "
                "the arrays in its attributes."
            )
        elif parameter == where:
            advice = f"name the parameter in static_argnames, as in @hb.batch(static_argnames={parameter!r})."
        else:
            advice = (
                f"leave it out of {parameter}, and pass it as an argument of its own that is named in static_argnames."
            )
        article = "an" if type(value).__name__[0] in "AEIOUaeiou" else "a"
        raise self._error(f"{where} is {value!r}, {article} {type(value).__name__}, not an array", help=advice)

    @not_looking()
    def _batch_first(self, where: str, leaf: Any, axis: int) -> Any:
        if not -leaf.ndim <= axis < leaf.ndim:
            what = "a scalar" if leaf.ndim == 0 else f"an array of shape {list(leaf.shape)}"
            raise self._error(
                f"{where} is {what}, but a batch with axis {axis} is needed",
                help=f"pass an array whose axis {axis} is the batch, or share one value with in_axes=None.",
            )
        if axis % leaf.ndim == 0:
            return leaf
        if isinstance(leaf, jax.ShapeDtypeStruct):
            shape = list(leaf.shape)
            return jax.ShapeDtypeStruct((shape.pop(axis), *shape), leaf.dtype)
        return jnp.moveaxis(leaf, axis, 0)

    def _size(self, sizes: Sequence[tuple[str, Any]]) -> Any:
        """The batch size, which all arrays have to agree on."""
        if not sizes:
            raise self._error(
                f"{self.name}() is called without a batch: all its arguments are shared",
                help="pass at least one argument with a batch axis.",
            )
        first, size = sizes[0]
        for where, other in sizes[1:]:
            if other != size:
                raise self._error(
                    f"the batch of {first} has size {size}, but that of {where} has size {other}",
                    help="make the sizes equal, or share one value between all lanes with in_axes=None.",
                )
        return size

    @not_looking()
    def _broadcast(
        self, types: Sequence[tuple[str, Type]], shared: set[str], arrays: list[Any], size: Any
    ) -> list[Any]:
        """The arrays, where a shared array in a parameter that also has batched arrays is given a batch axis."""
        owners = [name for name, type_ in types for _ in type_.tensor_leaves]
        result = []
        for name, array in zip(owners, arrays, strict=True):
            if not isinstance(array, _Unbatched):
                result.append(array)
            elif name in shared:
                result.append(array.value)
            elif isinstance(array.value, jax.ShapeDtypeStruct):
                result.append(jax.ShapeDtypeStruct((size, *array.value.shape), array.value.dtype))
            else:
                result.append(jnp.broadcast_to(array.value, (size, *array.value.shape)))
        return result

    def _error(self, message: str, *, help: str = "") -> BatchTypeError:
        notes = [Note(f"{self.name} is defined here", self.definition)]
        return BatchTypeError(message, self.caller(), notes=notes, help=help)


def number_array(value: complex) -> Any:
    """A Python number as an array.

    Raises:
        MisfitError: It is not in the range of JAX's numbers.
    """
    check_number(Static(value), widened_leaf(Static(value * 0)))
    return np.asarray(value)


def as_batches(call: Call) -> list[Any]:
    """A call's arguments as pytrees in which every array has a batch axis, for the eager interpreters."""
    values = []
    for (name, type_), arrays in zip(call.types, grouped(call.physical(), [t for _, t in call.types]), strict=True):
        if name in call.shared:
            arrays = [jnp.broadcast_to(array, (call.size, *array.shape)) for array in arrays]
        values.append(rebuild(arrays, type_))
    return values


_FOREIGN: Final = {np.void, np.longdouble, np.clongdouble} - {np.float64, np.complex128}
"""Scalar types that JAX does not have: structured ones, and floats of more bits than 64."""


def is_deleted(leaf: Any) -> bool:
    """Whether an argument is a JAX array whose buffer was deleted."""
    return isinstance(leaf, jax.Array) and not is_tracer(leaf) and leaf.is_deleted()


@dataclass(frozen=True)
class _Axis:
    """An entry of ``in_axes``, wrapped so that None is a leaf."""

    value: int | None


@dataclass(frozen=True)
class _Unbatched:
    value: Any


def _constant(value: Any) -> Type:
    """The type of a value that is a constant of the program, such as the default of a parameter."""
    leaves, treedef = jax.tree.flatten(value)
    return Type.of_leaves(tuple(map(Static, leaves)), treedef)


def _is_hashable(value: Any) -> bool:
    """Whether an object is hashable, and so taken not to change."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_row(value: Any) -> bool:
    """Whether a value is a list or tuple of Python numbers, possibly nested, as people write arrays."""
    if type(value) not in (list, tuple) or not value:
        return False
    return all(type(part) in NUMBERS or _is_row(part) for part in value)


def _as_array(value: Any) -> str:
    """Code that makes an array of an iterable of numbers, as advice; empty if the value is something else."""
    if isinstance(value, range):
        return f"jnp.a{value!r}"
    if isinstance(value, (AbstractSet, Iterator)):
        return "jnp.array(list(…))"
    return ""


def _is_none(value: Any) -> bool:
    return value is None


def _holds_numbers(leaf: Any) -> bool:
    value = leaf.value if isinstance(leaf, _Unbatched) else leaf
    return not isinstance(value, jax.ShapeDtypeStruct)


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct))
