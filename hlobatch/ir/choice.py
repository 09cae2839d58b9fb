"""What a variable holds that is one Python object in some lanes and another in others: an index into all of them.

``type_join.py`` makes it of two objects where a variable was found to need it, as ``items.py`` does where one is chosen
by a lane's number. Code sees an object that can be compared, looked up, called and asked for attributes: each is done
for all of the objects, once, and the lane takes what belongs to its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import weakly
from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.sameness import are_same

_NUMBERS: Final = (bool, int, float, complex)


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, eq=False)
class Choice:
    """One of several Python objects.

    Attributes:
        index: Which one.
        objects: All of them, each once.
    """

    index: Any
    objects: tuple[Any, ...]

    def tree_flatten(self) -> tuple[tuple[Any], tuple[Any, ...]]:
        return (self.index,), self.objects

    @classmethod
    def tree_unflatten(cls, objects: tuple[Any, ...], children: tuple[Any]) -> Choice:
        return cls(children[0], objects)

    def each(self, function: Callable[[Any], Any]) -> Any:
        """What a function gives for the lane's object; it runs for all of them."""
        return chosen([function(value) for value in self.objects], self.index)

    def position(self, value: Any) -> int:
        """Where an object stands among all of them."""
        return next(i for i, other in enumerate(self.objects) if are_same(value, other))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.each(lambda value: getattr(value, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.each(lambda value: value(*args, **kwargs))

    def __getitem__(self, key: Any) -> Any:
        return self.each(lambda value: value[key])

    def __bool__(self) -> bool:
        truths = {bool(value) for value in self.objects}
        if len(truths) == 1:
            return truths.pop()
        raise BatchTypeError(
            "a Python `if` asks for an object that differs between lanes",
            help="decorate the function that contains it with @hb.batch.",
        )

    def __len__(self) -> int:
        lengths = {len(value) for value in self.objects}
        if len(lengths) == 1:
            return lengths.pop()
        raise BatchTypeError(
            "the length of an object that differs between lanes", help="keep the length in a variable of its own."
        )

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'Tracer'")  # as other values that differ between lanes


def _binary(name: str, reflected: bool) -> Callable[[Choice, Any], Any]:
    operation = getattr(operator, name)

    def apply(self: Choice, other: Any) -> Any:
        def one(value: Any) -> Any:
            if isinstance(other, Choice):
                return other.each(lambda its: operation(value, its))
            return operation(other, value) if reflected else operation(value, other)

        return self.each(one)

    return apply


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Choice, f"__{_name}__", _binary(_name, reflected=False))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Choice, f"__{_name}__", _binary(_name, reflected=False))
    setattr(Choice, f"__r{_name}__", _binary(_name, reflected=True))


def chosen(values: Sequence[Any], index: Any) -> Any:
    """The value at an index that differs between lanes: a number, an array, what consists of them, or a choice."""
    if all(value is values[0] or are_same(value, values[0]) for value in values):
        return values[0]
    if all(type(value) in _NUMBERS for value in values):
        table = jnp.asarray(np.asarray(values))
        return table[index] if table.dtype == bool else weakly(table[index], table.dtype)
    structures = {jax.tree.structure(value) for value in values}
    if len(structures) == 1 and jax.tree.structure(0) not in structures:
        columns = zip(*map(jax.tree.leaves, values), strict=True)
        return jax.tree.unflatten(structures.pop(), [chosen(column, index) for column in columns])
    if all(isinstance(value, (jax.Array, np.ndarray, np.generic, *_NUMBERS)) for value in values):
        return jnp.stack([jnp.asarray(value) for value in values])[index]
    return choice_of(values, index)


def choice_of(values: Sequence[Any], index: Any) -> Choice:
    """A choice among objects, of which some may be the same, or choices themselves.

    Raises:
        BatchTypeError: Something in them differs between lanes otherwise.
    """
    objects: list[Any] = []
    for value in values:
        if isinstance(value, jax.Array) or (not isinstance(value, Choice) and jax.tree.leaves(value) != [value]):
            raise BatchTypeError(
                "a lane has one of several objects that are of different kinds, and hold what differs between lanes",
                help="let all be numbers, or arrays of one shape, or tuples of as many of them.",
            )
        for one in value.objects if isinstance(value, Choice) else (value,):
            if not any(are_same(one, other) for other in objects):
                objects.append(one)
    whole = Choice(None, tuple(objects))
    places = [moved(value, whole) for value in values]
    if any(isinstance(place, jax.Array) for place in places):
        return Choice(jnp.stack(list(map(jnp.asarray, places)))[index], whole.objects)
    return Choice(jnp.asarray(np.asarray(places, np.int32))[index], whole.objects)


def without_none(choice: Choice) -> Any:
    """The choice where it is not None; the object itself where only one is left."""
    left = tuple(value for value in choice.objects if value is not None)
    if len(left) < 2:
        return left[0] if left else None
    table = np.asarray([0 if value is None else left.index(value) for value in choice.objects], np.int32)
    return Choice(jnp.asarray(table)[choice.index], left)


def moved(value: Any, into: Choice) -> Any:
    """The index of an object, or of one of several, in another choice."""
    if not isinstance(value, Choice):
        return np.int32(into.position(value))
    table = np.asarray([into.position(one) for one in value.objects], np.int32)
    return jnp.asarray(table)[value.index]
