"""Classes that lanes derive users' classes from in place of Python's containers: an object with the container in it.

::

    class Stack(list):                     class Stack(List):
        def push(self, x):           ==>       def push(self, x):
            super().append(x)                      super().append(x)

An object of a class that is derived from ``list`` is a list with attributes beside its items. In lanes it is an object
of the class on the right (``values/own_containers.py``), with the list in its attribute ``hb_content``.
"""

from __future__ import annotations

import collections
import sys
from typing import Any, ClassVar


class Content:
    """An object whose attribute ``hb_content`` is a container.

    Attributes:
        hb_python: The class of Python's that the user's class is derived from.
        hb_kind: The class of the container.
    """

    hb_python: ClassVar[Any]
    hb_kind: ClassVar[Any]
    hb_content: Any

    def __new__(cls, *_: Any, **__: Any) -> Any:
        """An object with an empty container, which has items before ``__init__`` as little as one of Python's."""
        made = object.__new__(cls)
        made.hb_content = cls.hb_kind()
        return made

    def hb_as_python(self) -> Any:
        """The object of the user's class."""
        kind: Any = getattr(type(self), "hb_stands_for", self.hb_python)
        made = kind.__new__(kind)
        for name, value in vars(self).items():
            if name != "hb_content":
                object.__setattr__(made, name, value)
        self.hb_fill(made)
        return made

    def hb_fill(self, made: Any) -> None:
        """Put the items into an object of the user's class."""
        raise NotImplementedError

    def __len__(self) -> Any:
        return len(self.hb_content)

    def __bool__(self) -> Any:
        return len(self.hb_content) > 0

    def __contains__(self, item: Any) -> Any:
        return item in self.hb_content

    def __iter__(self) -> Any:
        return iter(self.hb_content)

    def __getitem__(self, key: Any) -> Any:
        return self.hb_content[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.hb_content[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.hb_content[key]

    def __eq__(self, other: object) -> Any:
        return self.hb_content == other

    def __ne__(self, other: object) -> Any:
        return self.hb_content != other

    __hash__ = None  # type: ignore[assignment]

    def clear(self) -> None:
        self.hb_content.clear()

    def copy(self) -> Any:
        return self.hb_content.copy()


class MissingKeys(Content):
    """A dict whose class defines ``__missing__``."""

    def __getitem__(self, key: Any) -> Any:
        if key in self.hb_content:
            return self.hb_content[key]
        return self.__missing__(key)  # type: ignore[attr-defined]


class Compared(Content):
    """Containers that ``<`` compares."""

    def __lt__(self, other: Any) -> Any:
        return self.hb_content < other

    def __le__(self, other: Any) -> Any:
        return self.hb_content <= other

    def __gt__(self, other: Any) -> Any:
        return self.hb_content > other

    def __ge__(self, other: Any) -> Any:
        return self.hb_content >= other


class Sequence(Compared):
    """What lists and deques have in common."""

    def __add__(self, other: Any) -> Any:
        return self.hb_content + other

    def __mul__(self, times: Any) -> Any:
        return self.hb_content * times

    def __rmul__(self, times: Any) -> Any:
        return self.hb_content * times

    def __iadd__(self, other: Any) -> Any:
        self.hb_content.extend(other)
        return self

    def __reversed__(self) -> Any:
        return reversed(self.hb_content)

    def append(self, item: Any, /) -> None:
        self.hb_content.append(item)

    def extend(self, items: Any, /) -> None:
        self.hb_content.extend(items)

    def insert(self, index: Any, item: Any, /) -> None:
        self.hb_content.insert(index, item)

    def remove(self, item: Any, /) -> None:
        self.hb_content.remove(item)

    def reverse(self) -> None:
        self.hb_content.reverse()

    def index(self, item: Any, start: Any = 0, stop: Any = sys.maxsize, /) -> Any:
        return self.hb_content.index(item, start, stop)

    def count(self, item: Any, /) -> Any:
        return self.hb_content.count(item)


class List(Sequence):
    hb_python: ClassVar[Any] = list
    hb_kind: ClassVar[Any] = list

    def __init__(self, iterable: Any = (), /) -> None:
        self.hb_content = list(iterable)

    def hb_fill(self, made: Any) -> None:
        list.extend(made, self.hb_content)

    def pop(self, index: Any = -1, /) -> Any:
        return self.hb_content.pop(index)

    def sort(self, *, key: Any = None, reverse: Any = False) -> None:
        self.hb_content.sort(key=key, reverse=reverse)


class Deque(Sequence):
    hb_python: ClassVar[Any] = collections.deque
    hb_kind: ClassVar[Any] = collections.deque

    def __init__(self, iterable: Any = (), maxlen: Any = None) -> None:
        self.hb_content = collections.deque(iterable, maxlen)

    def hb_fill(self, made: Any) -> None:
        collections.deque.__init__(made, self.hb_content, self.hb_content.maxlen)

    @property
    def maxlen(self) -> Any:
        return self.hb_content.maxlen

    def pop(self) -> Any:
        return self.hb_content.pop()

    def popleft(self) -> Any:
        return self.hb_content.popleft()

    def appendleft(self, item: Any, /) -> None:
        self.hb_content.appendleft(item)

    def extendleft(self, items: Any, /) -> None:
        self.hb_content.extendleft(items)

    def rotate(self, steps: Any = 1, /) -> None:
        self.hb_content.rotate(steps)


class Set(Compared):
    hb_python: ClassVar[Any] = set
    hb_kind: ClassVar[Any] = set

    def __init__(self, iterable: Any = (), /) -> None:
        self.hb_content = set(iterable)

    def hb_fill(self, made: Any) -> None:
        set.update(made, self.hb_content)

    def __and__(self, other: Any) -> Any:
        return self.hb_content & other

    def __or__(self, other: Any) -> Any:
        return self.hb_content | other

    def __sub__(self, other: Any) -> Any:
        return self.hb_content - other

    def __xor__(self, other: Any) -> Any:
        return self.hb_content ^ other

    def add(self, item: Any, /) -> None:
        self.hb_content.add(item)

    def discard(self, item: Any, /) -> None:
        self.hb_content.discard(item)

    def remove(self, item: Any, /) -> None:
        self.hb_content.remove(item)

    def update(self, other: Any, /) -> None:
        self.hb_content.update(other)

    def union(self, other: Any, /) -> Any:
        return self.hb_content.union(other)

    def intersection(self, other: Any, /) -> Any:
        return self.hb_content.intersection(other)

    def difference(self, other: Any, /) -> Any:
        return self.hb_content.difference(other)

    def issubset(self, other: Any, /) -> Any:
        return self.hb_content.issubset(other)

    def issuperset(self, other: Any, /) -> Any:
        return self.hb_content.issuperset(other)

    def isdisjoint(self, other: Any, /) -> Any:
        return self.hb_content.isdisjoint(other)


class Dict(Content):
    hb_python: ClassVar[Any] = dict
    hb_kind: ClassVar[Any] = dict

    def __init__(self, entries: Any = (), /) -> None:
        self.hb_content = dict(entries)

    def hb_fill(self, made: Any) -> None:
        dict.update(made, self.hb_content)

    def get(self, key: Any, default: Any = None, /) -> Any:
        return self.hb_content.get(key, default)

    def setdefault(self, key: Any, default: Any = None, /) -> Any:
        return self.hb_content.setdefault(key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        return self.hb_content.pop(key, *default)

    def update(self, entries: Any, /) -> None:
        self.hb_content.update(entries)

    def keys(self) -> Any:
        return self.hb_content.keys()

    def values(self) -> Any:
        return self.hb_content.values()

    def items(self) -> Any:
        return self.hb_content.items()


class Ordered(Dict):
    hb_python: ClassVar[Any] = collections.OrderedDict
    hb_kind: ClassVar[Any] = collections.OrderedDict

    def __init__(self, entries: Any = (), /) -> None:
        self.hb_content = collections.OrderedDict(entries)

    def popitem(self, last: Any = True) -> Any:
        return self.hb_content.popitem(last)

    def move_to_end(self, key: Any, last: Any = True) -> None:
        self.hb_content.move_to_end(key, last)


class Defaults(Dict):
    hb_python: ClassVar[Any] = collections.defaultdict
    hb_kind: ClassVar[Any] = collections.defaultdict

    def __init__(self, factory: Any = None, entries: Any = (), /) -> None:
        self.hb_content = collections.defaultdict(factory, entries)

    def hb_fill(self, made: Any) -> None:
        collections.defaultdict.__init__(made, self.hb_content.default_factory, self.hb_content)


class Counts(Dict):
    hb_python: ClassVar[Any] = collections.Counter
    hb_kind: ClassVar[Any] = collections.Counter

    def __init__(self, iterable: Any = (), /) -> None:
        self.hb_content = collections.Counter(iterable)

    def most_common(self, n: Any = None) -> Any:
        return self.hb_content.most_common(n)

    def elements(self) -> Any:
        return self.hb_content.elements()

    def total(self) -> Any:
        return self.hb_content.total()

    def update(self, iterable: Any, /) -> None:
        self.hb_content.update(iterable)

    def subtract(self, iterable: Any, /) -> None:
        self.hb_content.subtract(iterable)


class UserContent(Content):
    """A container whose class is written in Python, with a plain one in its attribute ``data``."""

    @property
    def data(self) -> Any:
        return self.hb_content

    @data.setter
    def data(self, items: Any) -> None:
        self.hb_content = items

    def hb_fill(self, made: Any) -> None:
        made.data = self.hb_content


class UserList(UserContent, List):
    hb_python: ClassVar[Any] = collections.UserList
    hb_kind: ClassVar[Any] = list


class UserDict(UserContent, Dict):
    hb_python: ClassVar[Any] = collections.UserDict
    hb_kind: ClassVar[Any] = dict
