"""``collections``: methods that growing containers lack."""

from __future__ import annotations

import collections
from typing import Any


class Counter(collections.Counter):  # type: ignore[type-arg]
    def elements(self) -> Any:
        """All items, as a list."""
        repeated: Any = []
        for item, count in self.items():
            for _ in range(count):
                repeated.append(item)
        return repeated

    def update(self, iterable: Any = None, /, **kwds: Any) -> None:
        if iterable is not None:
            if isinstance(iterable, dict):
                for item, count in iterable.items():
                    self[item] = self[item] + count
            else:
                for item in iterable:
                    self[item] = self[item] + 1
        if kwds:
            self.update(kwds)

    def subtract(self, iterable: Any = None, /, **kwds: Any) -> None:
        if iterable is not None:
            if isinstance(iterable, dict):
                for item, count in iterable.items():
                    self[item] = self[item] - count
            else:
                for item in iterable:
                    self[item] = self[item] - 1
        if kwds:
            self.subtract(kwds)


class OrderedDict(collections.OrderedDict):  # type: ignore[type-arg]
    def popitem(self, last: Any = True) -> Any:
        if len(self) == 0:
            raise KeyError("dictionary is empty")
        keys = list(self)
        key = keys[-1] if last else keys[0]
        return key, self.pop(key)

    def move_to_end(self, key: Any, last: Any = True) -> None:
        value = self.pop(key)
        if last:
            self[key] = value
        else:
            others = list(self.items())
            self.clear()
            self[key] = value
            for other, kept in others:
                self[other] = kept
