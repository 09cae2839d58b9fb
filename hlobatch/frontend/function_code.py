"""The source of a function that is traced as a whole -> its code, which has Python's meaning on traced values.

It is rewritten like the statements of programs (``meanings.py``), but keeps its control flow, which Python runs while
the function is traced. The code is kept for later calls, so names are looked up when it runs, and not when it is made.
"""

from __future__ import annotations

import ast
import copy
import operator
import types
import weakref
from typing import Any, Final

from hlobatch.diagnostics import HloBatchError
from hlobatch.frontend import in_place_calls
from hlobatch.frontend.callees import static_value
from hlobatch.frontend.handlers import caught_kinds, drops_exceptions
from hlobatch.frontend.meanings import Meanings, comprehension_in_known_order
from hlobatch.frontend.nodes import Comprehension, located
from hlobatch.frontend.primitives import HELPERS
from hlobatch.frontend.rewriting.recompiled import recompiled
from hlobatch.frontend.scopes import HELPER, MISSING, local_names, with_parts
from hlobatch.frontend.source import Source, source_of
from hlobatch.frontend.syntax import helper, literal
from hlobatch.values.draws import is_users_class


class _Meanings(Meanings):
    """The meaning of the code of a whole function, whose control flow is Python's own.

    So is that of lambdas and comprehensions: to compute both sides of a choice may be wrong where one calls the
    function.
    """

    def _statement(self, node: ast.stmt) -> Any:
        return self._rewritten(node)

    def _rewritten(self, node: Any) -> Any:
        match node:
            case ast.AugAssign(ast.Name() | ast.Attribute(ast.Name())):
                return self._augmented(node, "__hb_augment_in_place", "__hb_changed_in_function")
            case ast.Expr(ast.Call() as call) if self._may_write(call):
                own = copy.copy(with_parts(node, self._rewritten))
                given = [*call.args, *(keyword.value for keyword in call.keywords)]
                if in_place_calls.is_method(call) and isinstance(call.func, ast.Attribute):
                    given = [call.func.value]
                known = helper("__hb_are_known", list(map(self._rewritten, given)), node)
                alone = helper("__hb_is_traced_alone", [literal("call that writes into an array", node)], node)
                return located(ast.If(known, [own], [located(ast.Expr(alone), node)]), node)
            case ast.Try() if any(map(self._catches_others, node.handlers)) or drops_exceptions(node):
                test = helper("__hb_is_traced_alone", [literal("try", node)], node)
                return located(ast.If(test, [node], []), node)
            case ast.Match():
                new = copy.copy(with_parts(node, self._rewritten))
                new.subject = helper("__hb_matched", [new.subject], node.subject)
                return new
            case ast.pattern() | ast.Call(ast.Name("super")):
                return node
        new = with_parts(node, self._within(node)._rewritten)
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)) and new is not node:
            # The source location of the call is that of the test.
            new.test = helper("__hb_decided", [new.test], node.test)
        new = _gone_over(new, node)
        return self._as_meant(new, node)

    def _may_write(self, call: ast.Call) -> bool:
        """Whether a call may be one that writes into an array of NumPy's."""
        if in_place_calls.is_method(call):
            return True
        function = static_value(call.func, self.source, self.local)
        return function is not MISSING and in_place_calls.of_function(call, function, ast.Constant) is not None

    def _catches_others(self, handler: ast.ExceptHandler) -> bool:
        """Whether a handler catches exceptions other than the user's: a lane's, or JAX's about lane values."""
        return not all(map(is_users_class, caught_kinds(handler, self.source, self.local)))

    def _trace_time(self, node: Any) -> Any:
        return node

    def _call(self, node: ast.Call, written: ast.Call) -> ast.expr:
        match node:
            case ast.Call(ast.Name(name), [argument, *_]) if isinstance(argument, Comprehension) and self._is_builtin(
                name
            ):
                return node
        return super()._call(node, written)

    def _called(self, node: ast.Call) -> Any:
        return MISSING


def _gone_over(node: Any, written: Any) -> Any:
    """A node, of which ``written`` is the original, that refuses to go over a dict whose keys are in no known order."""
    if isinstance(node, Comprehension) and not isinstance(node, ast.SetComp):
        return comprehension_in_known_order(node)
    match node:
        case ast.For(_, items) | ast.Assign([ast.Tuple() | ast.List()], items) if not _is_written_as_no_dict(items):
            new = copy.copy(node) if node is written else node
            setattr(new, "iter" if isinstance(new, ast.For) else "value", helper("__hb_in_known_order", [items], items))
            return new
    return node


def _is_written_as_no_dict(items: ast.expr) -> bool:
    """Whether an expression is a tuple, a list or a range as it is written, and so no dict."""
    is_range = isinstance(items, ast.Call) and isinstance(items.func, ast.Name) and items.func.id == "range"
    return is_range or isinstance(items, (ast.Tuple, ast.List, ast.Constant))


_CODES: Final[weakref.WeakKeyDictionary[types.FunctionType, types.CodeType]] = weakref.WeakKeyDictionary()
"""The code with Python's meaning on traced values, of functions that have been called."""


def code_of(function: types.FunctionType, source: Source | None = None) -> types.CodeType:
    """The code of a function with Python's meaning on traced values; its own if that is the same, or cannot be made."""
    if function not in _CODES:
        if _is_meant(function.__code__):
            return function.__code__
        try:
            _CODES[function] = _code_as_meant(source or source_of(function))
        except HloBatchError:  # the source cannot be found, or the function calls ``locals()`` or the like
            _CODES[function] = function.__code__
    return _CODES[function]


def _code_as_meant(source: Source) -> types.CodeType:
    """The code of a function with Python's meaning on traced values; its own code if that is the same.

    The frontend's functions that it calls are constants of it, so its closure variables are those of the function.

    Raises:
        UnsupportedSyntaxError: It uses its variables as objects, as ``locals()`` does.
    """
    plain = source.function.__code__
    meanings = _Meanings(source, _all_names(source.node)).of(source.node.body)
    body = list(map(_without_names, meanings))
    if isinstance(source.node, ast.AsyncFunctionDef) or all(map(operator.is_, body, source.node.body)):
        return plain
    return _with_helpers(recompiled(source.node, body, plain, source.file))


def _is_meant(code: types.CodeType) -> bool:
    """Whether code has Python's meaning on traced values already, or is a part of code that has."""
    return not frozenset(HELPERS.values()).isdisjoint(part for part in code.co_consts if callable(part))


def _without_names(node: Any) -> Any:
    """Code with constants in place of the names of the frontend's functions."""
    if isinstance(node, ast.Name) and node.id.startswith(HELPER):
        return literal((HELPER, node.id), node)
    return with_parts(node, _without_names)


def _with_helpers(code: types.CodeType) -> types.CodeType:
    """Code with the frontend's functions in place of the constants for their names."""

    def constant(part: Any) -> Any:
        if isinstance(part, types.CodeType):
            return _with_helpers(part)
        return HELPERS[part[1]] if isinstance(part, tuple) and part[:1] == (HELPER,) else part

    return code.replace(co_consts=tuple(map(constant, code.co_consts)))


def _all_names(node: ast.FunctionDef) -> frozenset[str]:
    """The local variables of a function and of the functions inside it."""
    inside = (part for part in ast.walk(node) if isinstance(part, ast.FunctionDef))
    lambdas = (
        a.arg
        for part in ast.walk(node)
        if isinstance(part, ast.Lambda)
        for a in ast.walk(part.args)
        if isinstance(a, ast.arg)
    )
    return frozenset(lambdas).union(*map(local_names, inside))
