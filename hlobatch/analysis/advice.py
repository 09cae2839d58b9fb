"""Two types of one variable that disagree -> the help text of an error: what to write so that they agree."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from hlobatch.diagnostics import Location
from hlobatch.ir.boxed import Boxed
from hlobatch.ir.types import Leaf, Static, TensorType, Type
from hlobatch.values.kinds import Kinds
from hlobatch.values.leaf_types import is_scalar

Side = tuple[Type, Location]
"""The type of a variable on one path, and the place in the source that gives it that type."""


def advice(side: Side, other: Side, name: str) -> str:
    """The help of an error about two types of one variable that disagree.

    Args:
        side: The type of the variable on one path, and its place.
        other: The type on another path, and its place.
        name: The variable's name: ``$result`` for the function's result; other names with ``$`` are temporaries.
    """
    (left, _), (right, _) = side, other
    if left.treedef != right.treedef:
        return _of_structures(side, other, is_returned=name == "$result")
    objects = any(isinstance(leaf, Static) and not is_scalar(leaf) for t in (left, right) for leaf in t.leaves)
    if objects or not left.has_pattern_of(right):
        return (
            "a Python object is the same in every lane: use a number in place of it, "
            "or do in each branch what depends on it."
        )
    pairs = list(zip(left.leaves, right.leaves, strict=True))
    if any(map(_is_infinity_beside_integer, pairs)):
        return (
            "infinity is a float: let the integer be one, too, as in `float(x)`, or begin with an integer beyond all "
            "others, as in `10**9` or `-(10**9)`."
        )
    differing = [{_kind(leaf) for leaf in pair} for pair in pairs if _kind(pair[0]) != _kind(pair[1])]
    if differing and all(kinds == {"i", "f"} for kinds in differing):
        return "let both be floats, as in `float(x)` for the integer: before the loop, if it changes in one."
    if all(_shape(a) == _shape(b) for a, b in pairs):
        return "make both the same, with jnp.asarray(…, dtype) or .astype(…)."
    if len(pairs) == 1 and () in (_shape(left.leaves[0]), _shape(right.leaves[0])):
        number, array = sorted(pairs[0], key=lambda leaf: len(_shape(leaf)))
        return _of_number_and_array(number, array, name)
    return "make the shapes equal, as with jnp.broadcast_to or by padding."


def _of_structures(side: Side, other: Side, *, is_returned: bool) -> str:
    nothing = [where for type_, where in (side, other) if not type_.leaves and type_.tensors is None]
    if is_returned and nothing and nothing[0].text.startswith("return"):
        return "results are arrays: return a number in place of None, such as -1 or jnp.nan, or a flag beside it."
    if is_returned and nothing:
        return "a path that ends without `return` returns None: return a value on every path."
    classes = [_class(type_) for type_, _ in (side, other)]
    if is_returned and classes[0] is not classes[1] and {None, *classes} != {None}:
        return (
            "results are arrays: return the numbers that the object is for, as in `return shape.area()`, and a number "
            "that tells its class if that matters."
        )
    if None not in classes and classes[0] is not classes[1]:
        return "let the attributes that both have be of one type; or do in each branch what the object is for."
    if all(type(type_.tensors) is tuple for type_, _ in (side, other)):
        return (
            "a tuple that gets longer holds numbers, texts or tuples of these, of one type: keep lists, arrays and "
            "objects in a list."
        )
    return (
        "give both the same structure: as many items, and no None where there is an array. What grows in a loop "
        "is an array of fixed size, as in `x = x.at[i].set(…)`."
    )


def _class(type_: Type) -> type | None:
    """The class of a variable that holds objects of the user's, or that of ``Kinds`` for several; else None."""
    if isinstance(type_.tensors, Kinds):
        return Kinds
    kind, about = type_.treedef.node_data() or (None, (dict,))
    return about[0] if kind is Boxed and not issubclass(about[0], dict) else None


def _of_number_and_array(number: Leaf, array: Leaf, name: str) -> str:
    """Help where one path has a number and the other an array: the variable should be an array from the start."""
    assert isinstance(array, TensorType)
    shape = str(array.shape[0]) if len(array.shape) == 1 else str(tuple(array.shape))
    if not isinstance(number, Static):
        filled = f"jnp.full({shape}, …)"
    elif number.value == 0:
        filled = f"jnp.zeros({shape}{_dtype(number, array, float)})"
    else:
        filled = f"jnp.full({shape}, {number.value!r}{_dtype(number, array, type(number.value))})"
    if name.startswith("$"):
        return f"let both be arrays of that shape, as in `{filled}` in place of the number."
    return f"begin with an array of that shape, as in `{name} = {filled}`."


def _dtype(number: Static, array: TensorType, usual: type) -> str:
    """The dtype argument that the suggested call needs; empty if the dtype that the call has without one is right."""
    dtype = jnp.result_type(array.dtype, type(number.value))
    return "" if dtype == jnp.result_type(usual) else f", jnp.{np.dtype(dtype).name}"


def _is_infinity_beside_integer(pair: tuple[Leaf, Leaf]) -> bool:
    """Whether an infinity is beside an integer, as where a search for the least integer begins with infinity."""
    infinite = [isinstance(leaf, Static) and leaf.value in (float("inf"), -float("inf")) for leaf in pair]
    return any(infinite) and "i" in map(_kind, pair)


def _kind(leaf: Leaf) -> str:
    """NumPy's letter for the kind of a single number, ``i`` for an integer and ``f`` for a float; else empty."""
    if isinstance(leaf, Static):
        return {int: "i", float: "f"}.get(type(leaf.value), "")
    return leaf.dtype.kind if leaf.shape == () and not leaf.is_key else ""


def _shape(leaf: Leaf) -> tuple[int, ...]:
    return leaf.shape if isinstance(leaf, TensorType) else ()
