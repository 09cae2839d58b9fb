"""What a variable holds that grows by a lane's values: arrays with room for more, and how much of them is in use.

A list whose length differs between lanes is one array for each array of its items, ``[capacity, *event]``, and its
length. ``analysis/growing_lists.py`` and the modules beside it say what its methods do; here is what types, joins and
conversions ask of any such container.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from hlobatch.diagnostics import BatchTypeError
from hlobatch.ir.value import Collection


class Growing(Collection):
    """A container that grows, or, with ``TensorType`` in place of arrays, the type of one."""

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
