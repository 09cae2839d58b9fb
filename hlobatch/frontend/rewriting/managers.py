"""The definitions of ``__enter__`` and ``__exit__`` -> what a ``with`` on an object of their class does.

::

    def __enter__(self):                        gives itself
        return self
    def __exit__(self, kind, error, trace):     has an effect at the end, and drops no exception
        self.close()
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

from hlobatch.frontend.nodes import walk

_OF_AN_EXCEPTION: Final = 3
"""Number of the arguments of ``__exit__``, which a definition may take with a star."""


@dataclass(frozen=True)
class Manager:
    """The methods of a context manager.

    Attributes:
        enter: The definition of ``__enter__``.
        leave: The definition of ``__exit__``.
    """

    enter: ast.FunctionDef
    leave: ast.FunctionDef

    @property
    def gives_itself(self) -> bool:
        """Whether ``__enter__`` returns its object at its end, and nothing before."""
        first, end, returned = self.enter.args.args[0].arg, self.enter.body[-1], _returned(self.enter)
        return len(returned) == 1 and isinstance(end, ast.Return) and is_named(end.value, first)

    @property
    def only_gives_itself(self) -> bool:
        """Whether ``__enter__`` does nothing else."""
        return self.gives_itself and len(_statements(self.enter)) == 1

    @property
    def does_nothing_at_the_end(self) -> bool:
        """Whether ``__exit__`` has no effect."""
        return all(isinstance(part, (ast.Pass, ast.Return)) for part in _statements(self.leave))

    @property
    def arguments(self) -> str:
        """The arguments of ``__exit__`` where there is no exception, as code."""
        return ", ".join(["None"] * (len(self.leave.args.args) - 1 or _OF_AN_EXCEPTION))

    @property
    def drops(self) -> bool | None:
        """Whether ``__exit__`` drops all exceptions; None if it looks at the exception, or drops only some."""
        _, *others = [part.arg for part in walk(self.leave.args) if isinstance(part, ast.arg)]
        if any(isinstance(part, ast.Name) and part.id in others for part in walk(self.leave)):
            return None
        returned = [part.value if isinstance(part, ast.Constant) else part for part in _returned(self.leave)]
        if all(value is None or value is False for value in returned):
            return False
        is_always = all(value is True for value in returned) and isinstance(self.leave.body[-1], ast.Return)
        return True if is_always else None


def is_named(node: ast.AST | None, name: str) -> bool:
    """Whether a node is a variable of this name."""
    return isinstance(node, ast.Name) and node.id == name


def _statements(definition: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a method, without its docstring."""
    return definition.body[ast.get_docstring(definition) is not None :]


def _returned(definition: ast.FunctionDef) -> list[ast.expr | None]:
    return [part.value for part in walk(definition) if isinstance(part, ast.Return)]
