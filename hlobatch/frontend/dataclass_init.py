"""A dataclass -> its ``__init__`` as a function with a source, which the one that Python generates has not.

::

    @dataclass
    class Tree:                            def __init__(self, key, left=None):
        key: int                ==>            self.key = key           at the place of ``key: int``
        left: Tree | None = None               self.left = left
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import linecache
import types
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.nodes import located, walk, walk_all
from hlobatch.frontend.source import Source, keep_source

_INITS: Final[weakref.WeakKeyDictionary[type, types.FunctionType]] = weakref.WeakKeyDictionary()
"""The functions that were made, by their classes."""
_NOT_GIVEN: Final = "_not_given"
"""The default of a parameter whose attribute is made anew for each object."""


def init_of(kind: type) -> types.FunctionType:
    """The ``__init__`` that a class has of its own or inherits.

    Raises:
        UnsupportedSyntaxError: It is not written in Python, or the class is in no file.
    """
    owner = next((base for base in kind.__mro__ if "__init__" in vars(base)), object)
    own = vars(owner)["__init__"]
    if _is_generated(own) and "__dataclass_fields__" in vars(owner):
        if owner not in _INITS:
            _INITS[owner] = _of_dataclass(owner)
        return _INITS[owner]
    if not isinstance(own, types.FunctionType):
        raise UnsupportedSyntaxError(f"the `__init__` of {kind.__name__!r} is not written in Python")
    return own


def _is_generated(function: Any) -> bool:
    """Whether ``dataclasses`` has made a function of a text, which is in no file."""
    return isinstance(function, types.FunctionType) and function.__code__.co_filename == "<string>"


def _of_dataclass(kind: type) -> types.FunctionType:
    file, definition = _definition(kind)
    fields = dataclasses.fields(kind)
    if any(isinstance(one.type, dataclasses.InitVar) for one in vars(kind)["__dataclass_fields__"].values()):
        raise UnsupportedSyntaxError(f"{kind.__name__!r} has fields that are no attributes")
    node = _placed(_written(kind, fields), definition)
    module = ast.Module([node], type_ignores=[])
    codes = compile(module, file, "exec", dont_inherit=True).co_consts
    code = next(part for part in codes if isinstance(part, types.CodeType))
    around = vars(inspect.getmodule(kind) or object)
    made = types.FunctionType(code, {**around, **_values(fields)}, "__init__")
    defaults = {one.name: _default(one) for one in fields if one.init and not _is_needed(one)}
    made.__defaults__ = tuple(defaults[one.name] for one in fields if not one.kw_only and one.name in defaults)
    made.__kwdefaults__ = {one.name: defaults[one.name] for one in fields if one.kw_only and one.name in defaults}
    made.__qualname__, made.__module__ = f"{kind.__qualname__}.__init__", kind.__module__
    keep_source(Source(made, file, node, tuple(linecache.getlines(file)), code))
    return made


def _is_made(one: dataclasses.Field[Any]) -> bool:
    """Whether the attribute is made anew for each object."""
    return one.default_factory is not dataclasses.MISSING


def _is_needed(one: dataclasses.Field[Any]) -> bool:
    """Whether an argument has to be given for the attribute."""
    return one.default is dataclasses.MISSING and not _is_made(one)


def _default(one: dataclasses.Field[Any]) -> Any:
    return _NOT_GIVEN if _is_made(one) else one.default


def _values(fields: Sequence[dataclasses.Field[Any]]) -> Mapping[str, Any]:
    """The objects outside of the function that its text names."""
    made = {f"_make_{one.name}": one.default_factory for one in fields if _is_made(one)}
    return {_NOT_GIVEN: _NOT_GIVEN, **made, **{f"_default_{one.name}": one.default for one in fields}}


def _written(kind: type, fields: Sequence[dataclasses.Field[Any]]) -> ast.FunctionDef:
    """The definition of the function."""
    given = [one for one in fields if one.init]
    parameters = {one.name: one.name if _is_needed(one) else f"{one.name}=None" for one in given}
    first = ["self", *(parameters[one.name] for one in given if not one.kw_only)]
    named = [parameters[one.name] for one in given if one.kw_only]
    body = [f"self.{name} = {value}" for name, value in _assignments(fields)]
    body += ["self.__post_init__()"] if hasattr(kind, "__post_init__") else []
    lines = [f"def __init__({', '.join([*first, *(['*', *named] if named else [])])}):", *(body or ["pass"])]
    (node,) = ast.parse("\n ".join(lines)).body
    assert isinstance(node, ast.FunctionDef)
    return node


def _assignments(fields: Sequence[dataclasses.Field[Any]]) -> Iterator[tuple[str, str]]:
    """The attributes that the function assigns, each with the text of its value."""
    for one in fields:
        if _is_made(one):
            other = f" if {one.name} is {_NOT_GIVEN} else {one.name}" if one.init else ""
            yield one.name, f"_make_{one.name}(){other}"
        elif one.init:
            yield one.name, one.name
        elif one.default is not dataclasses.MISSING:
            yield one.name, f"_default_{one.name}"


def _placed(node: ast.FunctionDef, definition: ast.ClassDef) -> ast.FunctionDef:
    """The function, with each assignment at the place of its field, and each node at a place of its own."""
    places: dict[str, ast.AST] = {
        part.target.id: part
        for part in definition.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    for part in walk(node):
        if isinstance(part, (ast.expr, ast.stmt, ast.arg)):
            located(part, definition)
    for statement in node.body:
        name = statement.targets[0].attr if isinstance(statement, ast.Assign) else ""  # type: ignore[attr-defined]
        for part in walk(statement):
            if isinstance(part, (ast.expr, ast.stmt)):
                located(part, places.get(name, definition))
    used = dict[tuple[int, int], int]()
    for part in walk_all(node.body):
        if isinstance(part, (ast.expr, ast.stmt)):
            place = part.lineno, part.col_offset
            used[place] = used.get(place, 0) + 1
            part.end_lineno, part.end_col_offset = part.lineno, part.col_offset + used[place]
    return node


@functools.lru_cache(maxsize=256)
def _definition(kind: type) -> tuple[str, ast.ClassDef]:
    """The file and the definition of a class."""
    try:
        file, (_, line) = inspect.getsourcefile(kind) or "", inspect.findsource(kind)
    except (OSError, TypeError):
        raise UnsupportedSyntaxError(f"the source of {kind.__name__!r} cannot be read") from None
    for part in ast.walk(ast.parse("".join(linecache.getlines(file)))):
        if isinstance(part, ast.ClassDef) and part.name == kind.__name__:
            first = min([part.lineno, *(decorator.lineno for decorator in part.decorator_list)])
            if first <= line + 1 <= (part.end_lineno or part.lineno):
                return file, part
    raise UnsupportedSyntaxError(f"the source of {kind.__name__!r} cannot be read")
