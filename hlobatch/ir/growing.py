"""What a variable holds that grows by a lane's values: arrays with room for more, and how much of them is in use.

A list whose length differs between lanes is one array for each array of its items, ``[capacity, *event]``, and its
length. ``analysis/growing_lists.py`` and the modules beside it say what its methods do; here is what types, joins and
conversions ask of any such container.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final

from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.value import Collection


class Growing(Collection):
    """A container that grows, or, with ``TensorType`` in place of arrays, the type of one."""

    def __init_subclass__(cls) -> None:
        """What stands for a class of Python's is known by that."""
        super().__init_subclass__()
        if "python" in vars(cls):
            KINDS[cls.python] = cls

    @classmethod
    @abstractmethod
    def type_of(cls, values: Any, bound: int | None = None) -> Growing:
        """The type of one that holds what a container of Python's does, or of one of that type."""

    @classmethod
    @abstractmethod
    def of(cls, values: Any, bound: int | None = None) -> Growing:
        """One that holds what a container of Python's does."""

    @classmethod
    @abstractmethod
    def can_hold(cls, values: Any) -> bool:
        """Whether a container of Python's, or one of that type, may become one."""

    @abstractmethod
    def with_items(self, other: Callable[[Any], Any]) -> Growing:
        """The type of one that holds items, or values of keys, of another type.

        Args:
            other: Gives that, of the type of an item.
        """

    @abstractmethod
    def counted(self) -> Growing:
        """The type of one whose length is an array though nothing was put into it: of an item of another container."""

    @abstractmethod
    def together(self, other: Any) -> Growing:
        """The type above this one and another, of the same kind of container or of one of Python's.

        Args:
            other: A type, as ``Type.tensors`` has it.

        Raises:
            BatchTypeError: There is none.
        """

    @abstractmethod
    def hold(self, value: Any) -> Growing:
        """A container of this kind, or of Python's, as a variable of this type holds it."""

    @abstractmethod
    def with_item(self, key: Any, value: Any, *, is_other: bool) -> Growing:
        """The container after ``container[key] = value``.

        Args:
            key: Of an item.
            value: What the item is to be.
            is_other: Whether that is another object, and not the one that is there with a change in it.
        """

    @abstractmethod
    def with_capacity(self, bound: int | None) -> Growing:
        """The container with room for a number of items.

        Args:
            bound: The number, if the user gave one.
        """

    @abstractmethod
    def as_python(self) -> Any:
        """What Python has in its place, of arrays whose values are known, as on the host."""

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        return known(self.as_python())

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
"""What grows in place of each of Python's containers."""
