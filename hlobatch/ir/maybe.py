"""A variable that holds None in some lanes and a value in others: a flag beside the value.

``type_join.py`` makes one from None and a type, for a variable that needs it. User code never sees it: it gets the
value, and ``x is None`` is answered by the flag (``values/optional.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.ir.choice import Choice
from hlobatch.ir.types import TensorType
from hlobatch.ir.value import Value


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Maybe(Value):
    """A value, or None.

    Attributes:
        is_there: Whether there is a value.
        value: The value; zeros where there is none.
    """

    is_there: Any
    value: Any
    hb_differs: ClassVar[bool] = True

    def hb_known(self, known: Callable[[Any], Any]) -> Any:
        return known(self.value) if self.is_there else None

    def hb_truth(self, truth: Callable[[Any], Any]) -> Any:
        return jnp.logical_and(self.is_there, truth(self.value))

    @property
    def hb_alternatives(self) -> Iterator[tuple[Any, Any]]:
        """None and the value, each with the lanes that have it."""
        yield self.hb_is_none, None
        yield self.is_there, self.value

    @property
    def hb_index(self) -> Any:
        """The index of the lane's one among the alternatives."""
        return jnp.asarray(self.is_there, jnp.int32)

    @property
    def hb_is_none(self) -> Any:
        """Whether the lane has None."""
        return jnp.logical_not(self.is_there)

    @property
    def hb_without_none(self) -> Maybe:
        """The value in a lane where it is not None."""
        return Maybe(True, self.value)

    @classmethod
    def hb_join(cls, left: Any, right: Any, join: Callable[[Any, Any], Any], held: Callable[[Any], Any]) -> Any:
        sides = [side for side in (left, right) if side is not None]
        if len(sides) == 2 and not any(isinstance(side, cls) for side in sides):
            return NotImplemented
        values = [side.value if isinstance(side, cls) else side for side in sides]
        return cls(TensorType(np.dtype(bool)), held(values[0] if len(values) == 1 else join(*values)))

    @property
    def hb_inside(self) -> Any:
        return self.value

    def hb_text(self, text: Callable[[Any], str]) -> str:
        return f"{text(self.value)} or None"

    def hb_hold(self, value: Any, hold: Callable[[Any, Any], Any]) -> Any:
        if value is None:
            return Maybe(jnp.bool_(False), jax.tree.map(lambda leaf: leaf.blank, self.value))
        if isinstance(value, Maybe):
            return Maybe(value.is_there, hold(self.value, value.value))
        if isinstance(value, Choice) and None in value.hb_objects:
            return Maybe(jnp.logical_not(value.hb_is_none), hold(self.value, value.hb_without_none))
        return Maybe(jnp.bool_(True), hold(self.value, value))
