"""A Python function -> its syntax tree in the file's own coordinates, and the values of its free names.

Invariant: every span that comes out of here is one that an editor would show: the whole file is parsed, never a
dedented copy, and Python's UTF-8 byte columns are turned into character columns.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import jax

from hlobatch.diagnostics import UNKNOWN, Location, UnsupportedSyntaxError
from hlobatch.frontend.compiling import ONE_AT_A_TIME
from hlobatch.frontend.files import file_of, is_users, lines_of
from hlobatch.frontend.in_turn.at_its_use import with_iterators_at_their_uses
from hlobatch.frontend.nodes import located, walk
from hlobatch.frontend.rewriting.and_or import with_choices
from hlobatch.frontend.rewriting.messages import with_messages_in_place
from hlobatch.frontend.rewriting.own_containers import with_own_containers
from hlobatch.frontend.rewriting.private_names import as_python_has_it
from hlobatch.frontend.rewriting.references import with_columns
from hlobatch.frontend.rewriting.stars import with_items_in_order
from hlobatch.frontend.rewriting.with_statements import WithoutWith
from hlobatch.frontend.scopes import MISSING
from hlobatch.frontend.support import refusal
from hlobatch.frontend.typed_code import PROGRAM, PROMPTS
from hlobatch.prelude import is_of_prelude
from hlobatch.values.holders import holder


@dataclass(frozen=True, eq=False)
class Source:
    """A function's source.

    Attributes:
        function: The plain Python function.
        file: Path as compiled.
        node: Its definition; a lambda is converted to a definition with one ``return``.
        lines: The lines of the file.
        code: The code of the definition: the function's own, unless the definition was rewritten.
        classes: The classes that were defined inside, by their names.
    """

    function: types.FunctionType
    file: str
    node: ast.FunctionDef
    lines: tuple[str, ...] = field(repr=False)
    code: types.CodeType = field(repr=False)
    classes: Mapping[str, type] = field(repr=False, default_factory=dict)

    def location(self, node: ast.AST) -> Location:
        """The span of a node."""
        line = getattr(node, "lineno", self.node.lineno)
        end_line = getattr(node, "end_lineno", None) or line
        column = self._column(line, getattr(node, "col_offset", 0))
        end_column = self._column(end_line, getattr(node, "end_col_offset", None) or 0)
        return Location(self.file, line, column, end_line, end_column, self.function.__qualname__)

    def _column(self, line: int, offset: int) -> int:
        if not 1 <= line <= len(self.lines):
            return offset + 1
        text = self.lines[line - 1]
        if text.isascii():
            return min(offset, len(text)) + 1
        return len(text.encode()[:offset].decode(errors="replace")) + 1

    @property
    def definition(self) -> Location:
        """The span of the function's ``def`` line."""
        whole = self.location(self.node)
        if self.node.name == "<lambda>":
            return whole
        line = self.lines[whole.line - 1].rstrip() if whole.line else ""
        return Location(whole.file, whole.line, whole.column, whole.line, len(line) + 1)

    @property
    def is_of_prelude(self) -> bool:
        """Whether the code replaces a function of Python's library."""
        return is_of_prelude(self.file)

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.function, follow_wrapped=False)

    @cached_property
    def _closure(self) -> dict[str, Any]:
        names = self.function.__code__.co_freevars
        return dict(zip(names, self.function.__closure__ or (), strict=True))

    @property
    def free_names(self) -> tuple[str, ...]:
        """Names taken from enclosing functions, and of classes that were defined inside."""
        return (*self.function.__code__.co_freevars, *self.classes)

    def resolve(self, name: str) -> Any:
        """The present value of a name that is not local; ``MISSING`` if it is not defined."""
        if name in self.classes:
            return self.classes[name]
        if (own := holder(name)) is not None:
            return own
        if name in self._closure:
            try:
                return self._closure[name].cell_contents
            except ValueError:
                return MISSING
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return getattr(builtins, name, MISSING)

    def text(self, node: ast.AST) -> str:
        """The source of a node, on one line."""
        try:
            return " ".join(ast.unparse(node).split())
        except (ValueError, RecursionError):
            return type(node).__name__


def plain_function(fun: Callable[..., Any]) -> types.FunctionType:
    """The Python function behind a callable.

    The result of a decorator is not unwrapped, since its code around the wrapped function is part of the call. Only
    wrappers known to have no effect are unwrapped.

    Raises:
        UnsupportedSyntaxError: It is not written in Python (a builtin, a class, a callable object).
    """
    inner: Any = fun
    while _is_transparent(inner):
        inner = inner.__wrapped__
    if isinstance(inner, types.FunctionType):
        return inner
    kind = type(fun).__name__
    raise UnsupportedSyntaxError(
        f"{getattr(fun, '__name__', fun)!r} is a {kind}, not a Python function",
        help="pass a function written with `def` or `lambda`; wrap a method or an object in one.",
    )


def _is_transparent(wrapper: Any) -> bool:
    """Whether a function may stand in for its wrapper: one by ``jax.jit``, ``functools.cache`` or ``hb.batch``."""
    # This test comes first: `isinstance` of a protocol such as JAX's takes long.
    if not hasattr(wrapper, "__wrapped__"):
        return False
    is_of_a_library = isinstance(wrapper, (functools._lru_cache_wrapper, jax.stages.Wrapped))
    return is_of_a_library or hasattr(type(wrapper), "__hlobatch_function__")


def read_source(fun: types.FunctionType) -> Source:
    """The source of a function: its file is parsed, and its definition looked up.

    Raises:
        UnsupportedSyntaxError: The source cannot be read, or the definition is not one that can be batched.
    """
    source = source_of(fun)
    check_kind(source, fun)
    return source


def source_of(fun: types.FunctionType) -> Source:
    """The source of any function, also one that cannot be batched, such as a generator.

    Raises:
        UnsupportedSyntaxError: The source cannot be read.
    """
    if (made := made_source(fun)) is not None:
        return with_columns(made)
    lines, file = lines_of(fun), file_of(fun)
    if not lines:
        raise UnsupportedSyntaxError(
            f"the source of {fun.__qualname__!r} cannot be read ({file})",
            help=_INSTEAD_OF_TYPED.get(file, "put the function in a file, and import it again if that has changed."),
        )
    node = _find(_definitions("".join(lines), file), fun)
    source = Source(fun, file, as_python_has_it(_rewritten(node), fun), tuple(lines), fun.__code__)
    if not source.is_of_prelude:
        source = replace(source, node=with_iterators_at_their_uses(source.node, source.resolve))
    if _has_with(node):
        rewriting = WithoutWith(source.node, file, source.resolve, lambda method: source_of(method).node)
        source = replace(source, node=rewriting.of())
    return with_columns(source)


_MADE: Final[weakref.WeakKeyDictionary[types.FunctionType, Source]] = weakref.WeakKeyDictionary()
"""The sources of functions that stand in no file, since Python makes them."""


def made_source(function: types.FunctionType) -> Source | None:
    """The source of a function that Python makes, such as the ``__init__`` of a dataclass; None for any other."""
    return _MADE.get(function)


def keep_source(source: Source) -> None:
    """Keep the source of a function that stands in no file."""
    _MADE[source.function] = source


@functools.lru_cache(maxsize=256)
def _rewritten(node: ast.FunctionDef) -> ast.FunctionDef:
    return with_own_containers(with_items_in_order(with_choices(with_messages_in_place(node))))


@functools.lru_cache(maxsize=256)
def _has_with(node: ast.FunctionDef) -> bool:
    """Whether a definition, as ``_definitions`` keeps it, has a ``with`` statement."""
    return any(isinstance(part, ast.With) for part in walk(node))


_INSTEAD_OF_TYPED: Final = {
    PROGRAM: "put the function in a file; what is passed to `exec` keeps its text if that is given a name: "
    "`linecache.cache[name] = len(text), None, text.splitlines(True), name`, `exec(compile(text, name, 'exec'))`.",
    **dict.fromkeys(
        PROMPTS,
        "put the function in a file, and import it; or type it in IPython, or in Python from 3.13 on, which keep it.",
    ),
}
"""Help where the text of a function is gone, by Python's name for the file."""


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@functools.lru_cache(maxsize=16)
def _definitions(text: str, file: str) -> Mapping[tuple[int, str], Sequence[_Definition]]:
    """The functions and lambdas of a whole file, by first line and name. The nodes must not be modified."""
    with ONE_AT_A_TIME:
        tree = ast.parse(text, filename=file)
    found: dict[tuple[int, str], list[_Definition]] = {}
    for node in walk(tree):
        if isinstance(node, ast.Lambda):
            found.setdefault((node.lineno, "<lambda>"), []).append(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            # Code that a method is given while it is traced has no decorators, and begins at the `def`.
            for first in {node.lineno, min([node.lineno, *(d.lineno for d in node.decorator_list)])}:
                found.setdefault((first, node.name), []).append(node)
    return found


def _find(definitions: Mapping[tuple[int, str], Sequence[_Definition]], fun: types.FunctionType) -> ast.FunctionDef:
    """The definition of a function: the one with the first line and the name of its code object."""
    line, name = fun.__code__.co_firstlineno, fun.__code__.co_name
    nodes = definitions.get((line, name), ())
    if len(nodes) > 1 and name == "<lambda>":
        nodes = [node for node in nodes if holds(node.body, fun.__code__)][-1:]  # type: ignore[arg-type]
    if nodes:
        return as_definition(nodes[0]) if isinstance(nodes[0], ast.Lambda) else nodes[0]  # type: ignore[return-value]
    raise UnsupportedSyntaxError(
        f"the definition of {fun.__qualname__!r} was not found at {fun.__code__.co_filename}:{line}",
        help="if the file changed after import, import it again; give a lambda a line of its own.",
    )


def holds(node: ast.expr, code: types.CodeType) -> bool:
    """Whether all positions in some code are inside a node. Of nested nodes that hold it, the last is meant."""
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    spans = [(line, column, end_line, end_column) for line, end_line, column, end_column in code.co_positions()]
    known = [span for span in spans if None not in span and span[:2] != span[2:]]
    return all(start <= span[:2] and span[2:] <= end for span in known)


def as_definition(node: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef:
    """A definition; a lambda is converted to one with one ``return``."""
    if isinstance(node, ast.FunctionDef):
        return node
    body = located(ast.Return(node.body), node.body)
    definition = ast.FunctionDef("<lambda>", node.args, [body], [], None, None)
    return located(definition, node)


def check_kind(source: Source, fun: types.FunctionType) -> None:
    """Refuse generators, coroutines, and functions made by a library's decorator."""
    strange = (ast.AsyncFunctionDef, ast.Yield, ast.YieldFrom)
    if inspect.iscoroutinefunction(fun) or inspect.isasyncgenfunction(fun) or inspect.isgeneratorfunction(fun):
        node = next(node for node in ast.walk(source.node) if isinstance(node, strange))
        what, instead = refusal(node)
        raise UnsupportedSyntaxError(
            f"{what} is not supported in a batched function", source.location(node), help=instead
        )
    if fun is not (wrapped := inspect.unwrap(fun)) and not is_users(fun):
        raise UnsupportedSyntaxError(
            f"{fun.__qualname__!r} is what another decorator made of a function",
            _definition_line(wrapped),
            help="put @hb.batch next to `def`; or batch a function that calls it, as in `lambda x: wrapped(x)`.",
        )


def _definition_line(function: Any) -> Location:
    """The place of a function's definition; ``UNKNOWN`` if there is no source."""
    try:
        return read_source(function).definition
    except (UnsupportedSyntaxError, AttributeError):
        return UNKNOWN
