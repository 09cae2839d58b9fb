"""The table of Python's syntax: what is supported, and what to write in place of the rest.

The frontend's errors and ``docs/language.md`` are generated from it.
"""

from __future__ import annotations

import ast
from typing import Final

SUPPORTED: Final[dict[type[ast.AST], str]] = {
    ast.Assign: "assignment to names, items and attributes, and to nested tuples of them",
    ast.AnnAssign: "annotated assignment",
    ast.AugAssign: "augmented assignment (`x += 1`, `grid[y][x] += 1`)",
    ast.If: "`if`, `elif`, `else`",
    ast.IfExp: "conditional expressions (`a if c else b`)",
    ast.BoolOp: "`and`, `or` (short-circuit), `not`",
    ast.While: "`while`, also with `else`",
    ast.For: "`for` over ranges, arrays, sequences, generators, `enumerate`, `zip` and the like, also with `else`",
    ast.Break: "`break`",
    ast.Continue: "`continue`",
    ast.Return: "`return`, anywhere",
    ast.Call: "calls; of batched functions anywhere in an expression, recursively or mutually",
    ast.FunctionDef: "functions defined inside, also recursive ones",
    ast.ClassDef: "classes defined inside, which use no variables of the function",
    ast.Nonlocal: "`nonlocal`",
    ast.Raise: "`raise`, in each lane separately",
    ast.Assert: "`assert`, in each lane separately",
    ast.Try: "`try`, `except`, `else`, `finally`, in each lane separately",
    ast.With: "`with` of objects of your classes, your functions by `contextlib.contextmanager`, "
    "`contextlib.suppress`, `closing`, `nullcontext`, `np.errstate`",
    ast.Expr: "`print(…)`, `jax.debug.print`, `hb.sync()`, docstrings, calls of batched functions",
    ast.Pass: "`pass`",
    ast.Import: "`import` of modules",
    ast.ImportFrom: "`from … import …`",
    ast.Match: "`match` on values, tuples, dicts and classes, with `|`, guards and captures",
    ast.NamedExpr: "`:=`, in comprehensions too",
    ast.Delete: "`del` of names and items",
    ast.Global: "`global`, for names that are only read",
}

UNSUPPORTED: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.AsyncFunctionDef: ("`async def`", "use an ordinary function."),
    ast.ClassDef: (
        "a class defined inside an inner function, a branch or a loop",
        "define it between the statements of the batched function, or outside.",
    ),
    ast.Delete: ("`del` of an attribute", "build a new value without it."),
    ast.AsyncFor: ("`async for`", "use `for … in range(…)`."),
    ast.With: (
        "`with` of this object",
        "write `try` and `finally`; or make an object of your class here, whose `__exit__` ignores the exception.",
    ),
    ast.AsyncWith: ("`async with`", "use ordinary code."),
    ast.TryStar: ("`except*`", "write `except`."),
    ast.Global: ("assignment to a `global` name", "pass the value in and return it."),
    ast.Yield: ("`yield`", "go over the generator in a batched function, as in `for x in generator(n):`."),
    ast.YieldFrom: ("`yield from`", "go over the generator in a batched function, as in `for x in generator(n):`."),
    ast.Await: ("`await`", "use ordinary code."),
}


def refusal(node: ast.AST) -> tuple[str, str]:
    """The words for an unsupported node, and help: what to write in its place."""
    return UNSUPPORTED.get(type(node), (f"`{type(node).__name__}`", "see docs/language.md for what is supported."))


def instead_of_effect(node: ast.expr) -> str:
    """Help for an expression that is a statement for the sake of its effect."""
    match node:
        case ast.Call(ast.Attribute(ast.Name("np" | "jnp" | "numpy"))):
            return f"its value is another array: give it a name, as in `x = {ast.unparse(node)}`."
        case ast.Call(ast.Attribute(value, _)):
            name = ast.unparse(value)
            return f"{name} is no variable of the function: work on a copy, `own = list({name})`, and return that."
    return "assign it to a name, or leave it out; batched code has no side effects, but for `print`."


INSTEAD_OF_LOGGING: Final = (
    "write `print(…)`, which each lane does by itself; `jax.debug.callback` calls any function so."
)
