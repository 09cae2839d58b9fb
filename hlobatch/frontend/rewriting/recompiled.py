"""The definition of a function with other statements -> its code."""

from __future__ import annotations

import ast
import copy
import types
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from hlobatch.frontend.compiling import ONE_AT_A_TIME
from hlobatch.frontend.nodes import located

_FACTORY, _CODE = "__hb_factory", "__hb_code"


def recompiled(node: ast.FunctionDef, body: Sequence[ast.stmt], plain: types.CodeType, file: str) -> types.CodeType:
    """The code of a function with another body, whose closure variables are among those of the function.

    Args:
        node: The function's definition.
        body: The statements in place of its own, located in the same file.
        plain: The function's own code. The new code, and that of the functions inside it, is named after it.
        file: The path of the file.
    """
    definition = copy.copy(node)
    definition.body, definition.decorator_list, definition.returns = list(body), [], None
    definition.name = _CODE
    definition.args = without_defaults(node.args)
    parameters = [ast.arg(name) for name in plain.co_freevars]
    arguments = ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])
    factory = copy.copy(definition)
    factory.name, factory.args = _FACTORY, arguments
    factory.body = [definition, ast.Return(ast.Name(_CODE, ast.Load()))]
    module = ast.fix_missing_locations(ast.Module([factory], type_ignores=[]))
    namespace: dict[str, Any] = {}
    with ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about calls of tuples
        code = compile(module, file, "exec", dont_inherit=True)
    exec(code, namespace)
    made: types.CodeType = namespace[_FACTORY](*(None for _ in parameters)).__code__
    # Line numbers are relative to the line of `def`, not of the decorators.
    return _named(made, plain.co_qualname).replace(co_name=plain.co_name)


def compiled(node: ast.Lambda, names: Iterable[str], plain: types.CodeType, file: str) -> types.CodeType:
    """The code of a lambda that stands for other code of the user's.

    Args:
        node: The lambda, located in the same file.
        names: The variables of the function around it, which it may close over.
        plain: The code of that function, after which the new code is named.
        file: The path of the file.
    """
    parameters = [ast.arg(name) for name in sorted({*names, *plain.co_freevars})]
    arguments = ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])
    factory = copy.copy(ast.parse(f"def {_FACTORY}(): return None").body[0])
    assert isinstance(factory, ast.FunctionDef)
    factory.args, factory.body = arguments, [ast.Return(copy.deepcopy(node))]
    module = ast.fix_missing_locations(ast.Module([factory], type_ignores=[]))
    with ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        [around] = (one for one in compile(module, file, "exec", dont_inherit=True).co_consts if _is_code(one))
    [code] = (one for one in around.co_consts if _is_code(one))
    made: types.CodeType = code.replace(co_qualname=f"{plain.co_qualname}.<locals>.<lambda>")
    return made


def _is_code(constant: Any) -> bool:
    return isinstance(constant, types.CodeType)


def _named(code: types.CodeType, name: str) -> types.CodeType:
    """Code under the user's name, so that inner functions count as the user's."""
    inside = (_named(part, name) if isinstance(part, types.CodeType) else part for part in code.co_consts)
    qualname = code.co_qualname.replace(f"{_FACTORY}.<locals>.{_CODE}", name)
    return code.replace(co_qualname=qualname, co_consts=tuple(inside))


def without_defaults(arguments: ast.arguments) -> ast.arguments:
    """The parameters of a function without defaults and annotations, which the function itself has already."""

    def bare(argument: ast.arg | None) -> Any:
        return argument and located(ast.arg(argument.arg), argument)

    return ast.arguments(
        posonlyargs=list(map(bare, arguments.posonlyargs)),
        args=list(map(bare, arguments.args)),
        vararg=bare(arguments.vararg),
        kwonlyargs=list(map(bare, arguments.kwonlyargs)),
        kw_defaults=[None for _ in arguments.kwonlyargs],
        kwarg=bare(arguments.kwarg),
        defaults=[],
    )
