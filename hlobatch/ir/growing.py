"""The base class of containers whose length differs between lanes: arrays with room for more items, and a length.

A list is one array ``[capacity, *event]`` for each array in its items, and its length. Its methods are in
``values/growing_lists.py`` and the modules beside it; this class has what types, joins and conversions need of every
such container.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeGuard

from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.value import Collection


class Growing(Collection):
    """A growing container, or, with ``TensorType`` in place of arrays, the type of one.

    Attributes:
        is_alternative: Whether Python's container keeps its structure as an item of another one, as a tuple does.
        has_columns: Whether containers in rows are equal if their arrays are, so that ``columns`` puts them in order.
    """

    is_alternative: ClassVar[bool] = False
    has_columns: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Register a subclass under the Python class that it stands for."""
        super().__init_subclass__()
        if "python" in vars(cls):
            (ALTERNATIVES if cls.is_alternative else KINDS)[cls.python] = cls

    @classmethod
    @abstractmethod
    def type_of(cls, values: Any, bound: int | None = None) -> Growing:
        """The type of a growing container that can hold a Python container, or of the type of one that grows."""

    @classmethod
    @abstractmethod
    def of(cls, values: Any, bound: int | None = None) -> Growing:
        """A growing container with the contents of a Python container."""

    @classmethod
    @abstractmethod
    def can_hold(cls, values: Any) -> bool:
        """Whether a Python container, or a type of this kind, can become a growing container."""

    @abstractmethod
    def with_items(self, other: Callable[[Any], Any]) -> Growing:
        """The type with other items, or other values of keys.

        Args:
            other: The new type of an item, given its type now.
        """

    @abstractmethod
    def counted(self) -> Growing:
        """The type with an array for its length even if the container is empty, as for items of another container."""

    @abstractmethod
    def together(self, other: Any) -> Growing:
        """The join of this type with another one of the same kind, or with the type of a Python container.

        Args:
            other: A type in the form of ``Type.tensors``.

        Raises:
            BatchTypeError: They have no join.
        """

    @abstractmethod
    def hold(self, value: Any) -> Growing:
        """A container of this kind, or a Python container, converted to this type."""

    @abstractmethod
    def with_item(self, key: Any, value: Any, *, is_other: bool) -> Growing:
        """The container after ``container[key] = value``.

        Args:
            key: The key or index of the item.
            value: The item's new value.
            is_other: Whether the value is another object; False if it is the item itself, changed in place.
        """

    @abstractmethod
    def with_capacity(self, bound: int | None) -> Growing:
        """The container with room for ``bound`` items.

        Args:
            bound: The number, if the user gave one; None to choose it here.
        """

    def columns(self) -> tuple[Any, ...]:
        """Of containers in rows that have columns: arrays ``[rows]`` that put them in order, the first first."""
        raise NotImplementedError

    def sought(self, item: Any) -> Any:
        """Of containers in rows that have columns: an item as it is compared with them."""
        raise NotImplementedError

    @abstractmethod
    def tree_flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Its arrays, or pytrees of arrays; and whether it has items, with what else is known when it is made."""

    @abstractmethod
    def contents(self) -> Any:
        """The rows in the order of the items, arrays ``[capacity, *event]``; of a dict, keys and values as a pair."""

    @abstractmethod
    def in_use(self) -> Any:
        """A mask of the rows in use: ``bool[capacity]``."""

    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        del truth
        return self.length() > 0

    def hb_text(self, text: Callable[[Any], str]) -> str:
        del text
        return f"a {self.python.__name__} of another length in each lane"

    def hb_hold(self, value: Any, hold: Callable[[Any, Any], Any]) -> Any:
        del hold
        return self.hold(value)

    def __jax_array__(self) -> Any:
        raise BatchTypeError(
            f"an array is made of a {self.python.__name__} of another length in each lane",
            help="make one of fixed size, and write its items there: `for i, x in enumerate(items): out[i] = x`.",
        )

    def __getitem__(self, key: Any) -> Any:
        return self.item(key)


KINDS: Final[dict[Any, type[Growing]]] = {}
"""By Python class, the growing container that stands for it, as a variable and as an item."""
ALTERNATIVES: Final[dict[Any, type[Growing]]] = {}
"""By Python class, the growing container that stands for it only where lengths differ."""


def growing_for(python: Any) -> type[Growing] | None:
    """The growing container that stands for a Python class where lengths differ; None if there is none."""
    return KINDS.get(python) or ALTERNATIVES.get(python)


def is_growing(part: Any) -> TypeGuard[Growing]:
    """Whether an object is a growing container, or the type of one."""
    return isinstance(part, Growing)
