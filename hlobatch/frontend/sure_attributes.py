"""A class -> the attributes that its objects surely have once they are made.

::

    def __init__(self, v, boss=None):
        self.v = v                              v, boss: nobody sees the object before both are assigned
        self.boss = boss
        if boss is not None:
            boss.reports.append(self)

An object in columns that has no value of an attribute yet would have that of a row which nobody wrote. So its class may
be held in columns only if no other code sees an object before it has all its attributes.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend.dataclass_init import init_of
from hlobatch.frontend.nodes import walk
from hlobatch.frontend.scopes import positional
from hlobatch.frontend.source import source_of

Names = frozenset[str]


def sure_attributes(kind: type) -> Names:
    """The attributes that objects of a class surely have once they are made; none if code may see one without them."""
    try:
        return _Assigned(kind).by_init()
    except HloBatchError:  # some code of it has no source
        return frozenset()


class _Assigned:
    """The attributes that code surely assigns of its first parameter, statement by statement.

    Attributes:
        kind: The class.
        me: The name of the first parameter, in the function that is looked at.
        seen: The attributes that are assigned where other code may see the object.
    """

    def __init__(self, kind: type) -> None:
        self.kind, self.me = kind, ""
        self.seen: list[Names] = []

    def by_init(self) -> Names:
        """The attributes that an object has after ``__init__``; none if other code may see it without one of them."""
        names = self._by(init_of(self.kind), frozenset())
        return names if names is not None and all(names <= seen for seen in self.seen) else frozenset()

    def _by(self, function: object, before: Names) -> Names | None:
        """The attributes that are assigned after a function, given those before it."""
        source = source_of(function)  # type: ignore[arg-type]
        owner, outer = source.function.__qualname__.split(".")[-2], self.me
        self.me = positional(source.node)[0]
        try:
            return self._statements(source.node.body, before, owner)
        finally:
            self.me = outer

    def _statements(self, body: Sequence[ast.stmt], names: Names, owner: str) -> Names | None:
        """The attributes assigned after statements; None if control does not get there."""
        after: Names | None = names
        for statement in body:
            if after is not None:
                after = self._statement(statement, after, owner)
        return after

    def _statement(self, node: ast.stmt, names: Names, owner: str) -> Names | None:
        match node:
            case ast.Assign(targets, value):
                assigned = [self._target(target, names) for target in targets]
                if not (isinstance(value, ast.Name) and value.id == self.me and all(assigned)):
                    self._look(value, names)
                return names.union(*assigned)
            case ast.AnnAssign(target, value=ast.expr() as value):
                self._look(value, names)
                return names.union(self._target(target, names))
            case ast.If(test, body, orelse):
                self._look(test, names)
                sides = [self._statements(side, names, owner) for side in (body, orelse)]
                known = [side for side in sides if side is not None]
                return frozenset.intersection(*known) if known else None
            case ast.Raise():
                self._look(node, names)
                return None
            case ast.Return():
                self.seen.append(names)
                return None
            case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("super")), "__init__"), arguments, keywords)):
                for given in (*arguments, *(keyword.value for keyword in keywords)):
                    self._look(given, names)
                return self._by_base(names, owner)
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.stmt):
                self._statement(part, names, owner)
            else:
                self._look(part, names)
        return names

    def _by_base(self, names: Names, owner: str) -> Names | None:
        """The attributes assigned after ``super().__init__(…)`` in a class of the name ``owner``."""
        order = [base for base in self.kind.__mro__ if base is not object]
        behind = next((order[i + 1 :] for i, base in enumerate(order) if base.__name__ == owner), [])
        base = next((one for one in behind if "__init__" in vars(one)), None)
        return names if base is None else self._by(init_of(base), names)

    def _target(self, target: ast.expr, names: Names) -> Names:
        """The attributes that a target assigns."""
        match target:
            case ast.Attribute(ast.Name(name), attribute) if name == self.me:
                return frozenset({attribute})
            case ast.Tuple(parts) | ast.List(parts):
                return frozenset().union(*(self._target(part, names) for part in parts))
        self._look(target, names)
        return frozenset()

    def _look(self, node: ast.AST, names: Names) -> None:
        """Note that code reads the object, unless it reads an attribute that is assigned."""
        parts = walk(node)
        plain = {id(part.value) for part in parts if isinstance(part, ast.Attribute) and part.attr in names}
        if any(isinstance(part, ast.Name) and part.id == self.me and id(part) not in plain for part in parts):
            self.seen.append(names)
