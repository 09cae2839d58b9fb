"""Sets of expressions that may have one object as their value, joined as they are found to be one (union-find).

::

    cur = []; groups.append(cur)        one set: the display, ``cur``, the items of ``groups``, ``cur`` at the call
"""

from __future__ import annotations

from typing import Any, Final

CONTAINERS: Final = frozenset({"list", "dict", "set", "deque"})
"""The kinds of containers that code can change, which a holder may hold."""


class Objects:
    """The objects that some expressions may have as values.

    Attributes:
        kinds: What they may be: kinds of containers, ``tuple``, ``object``, ``None``.
        said: What happens to them: they are ``bound`` to another name, ``changed`` in place, come from ``outside``.
        items: Their items; of a dict, its values.
        keys: The keys of a dict.
        parts: The items of a tuple, by their positions, as far as these are told apart.
        functions: The functions that they may be.
    """

    def __init__(self) -> None:
        self._to: Objects | None = None
        self.kinds, self.said = set[str](), set[str]()
        self._items: Objects | None = None
        self._keys: Objects | None = None
        self._parts: dict[int, Objects] | None = {}
        self.functions: dict[int, Any] = {}

    def root(self) -> Objects:
        """The set that these objects are in by now."""
        root = self
        while root._to is not None:
            root = root._to
        if self is not root:
            self._to = root
        return root

    @property
    def items(self) -> Objects:
        root = self.root()
        root._items = root._items or Objects()
        parts, root._parts = root._parts, None
        for part in (parts or {}).values():
            self.items.join(part)  # which may join these objects with others, where a container holds itself
        found = self.root()._items
        assert found is not None
        return found.root()

    @property
    def keys(self) -> Objects:
        root = self.root()
        root._keys = root._keys or Objects()
        return root._keys.root()

    def part(self, index: int) -> Objects:
        """An item of a tuple."""
        root = self.root()
        if root._parts is None or root._items is not None:
            return root.items
        return root._parts.setdefault(index, Objects()).root()

    @property
    def inside(self) -> list[Objects]:
        """The sets of what is in these objects."""
        root = self.root()
        found = [root._items, root._keys, *(root._parts or {}).values()]
        return [one.root() for one in found if one is not None]

    def note(self, *what: str) -> None:
        """Note what happens to the objects."""
        self.root().said.update(what)

    def are(self, *kinds: str) -> None:
        """Note what the objects may be."""
        self.root().kinds.update(kinds)

    def join(self, other: Objects) -> None:
        """Join two sets, and those of their items."""
        one, other = self.root(), other.root()
        if one is other:
            return
        other._to = one
        one.kinds |= other.kinds
        one.said |= other.said
        one.functions.update(other.functions)
        if one._items is None and other._items is None and one._parts is not None and other._parts is not None:
            for index, part in list(other._parts.items()):
                one.part(index).join(part)
        else:
            theirs = other._parts or {}
            if one._items is None:
                one._items, other._items = other._items or Objects(), None
            items = one.items
            for part in theirs.values():
                items.join(part)
            if other._items is not None:
                items.join(other._items)
        one = one.root()
        if other._keys is not None:
            one.keys.join(other._keys)
