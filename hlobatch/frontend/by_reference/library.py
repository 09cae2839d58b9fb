"""What functions of Python, and methods of its containers, do with the items of containers."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Mapping
from typing import Any, Final

KINDS: Final[Mapping[Any, str]] = {
    list: "list",
    sorted: "list",
    dict: "dict",
    collections.defaultdict: "dict",
    collections.OrderedDict: "dict",
    collections.Counter: "dict",
    set: "set",
    collections.deque: "deque",
    tuple: "tuple",
    frozenset: "tuple",
}
"""What functions of Python make of their argument's items."""
OF_ITEMS: Final = (reversed, iter, itertools.islice, itertools.cycle, itertools.takewhile, itertools.dropwhile, filter)
"""Functions whose results have the items of one of their arguments."""
COPIES: Final = frozenset({"copy", "union", "intersection", "difference", "symmetric_difference", "fromkeys"})
"""Methods that make another container."""
ADDS: Final = frozenset({"append", "appendleft", "add"})
"""Methods that put their argument into a container."""
EXTENDS: Final = frozenset({"extend", "extendleft", "update", "intersection_update", "difference_update"})
"""Methods that put the items of their arguments into a container."""
TAKES: Final = frozenset({"pop", "popleft", "get", "setdefault"})
"""Methods that give an item, or their second argument."""
CHANGES: Final = frozenset(
    {*ADDS, *EXTENDS, "pop", "popleft", "setdefault", "insert", "remove", "discard", "clear", "sort", "reverse"}
    | {"rotate", "popitem", "move_to_end", "subtract", "symmetric_difference_update"}
)
"""Methods that change a container."""
METHODS: Final = CHANGES | COPIES | {"get", "items", "keys", "values", "index", "count", "most_common", "elements"}
"""Methods of containers, as opposed to those of the user's objects with the same names."""
