"""The operation of an expression -> what it may do beside giving a value.

::

    a + b                 nothing
    d[k]                  may raise, and reads what may change
    items.pop()           may do anything
    f(x)                  may do anything, unless ``f`` is listed here

This is a list of what is harmless. An operation, a function or a method that is not listed is taken to raise, to
change objects and to read what may change. So what nobody has thought of is evaluated where Python evaluates it.

An operation may raise if it does so for some values of operands whose types fit: what raises because of types is
refused while the program is built. Operands have operations of their own.
"""

from __future__ import annotations

import ast
import builtins
import collections
import functools
import itertools
import math
import operator
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch.frontend.nodes import all_arguments, walk
from hlobatch.frontend.scopes import HELPER, MISSING


class Harm(NamedTuple):
    """What an operation may do beside giving a value.

    Attributes:
        raises: Whether it may raise.
        changes: Whether it may change an object or bind a variable.
        reads: Whether it reads what other code may change.
        of_classes: Whether a class of the user's may have a method in its place, which may do anything.
    """

    raises: bool = False
    changes: bool = False
    reads: bool = False
    of_classes: bool = False

    def joined(self, other: Harm) -> Harm:
        """What either of two operations may do."""
        return Harm(*(one or two for one, two in zip(self, other, strict=True)))


NONE: Final = Harm()
RAISES: Final = Harm(raises=True)
READS: Final = Harm(reads=True)
RAISES_AND_READS: Final = Harm(raises=True, reads=True)
ANY: Final = Harm(raises=True, changes=True, reads=True, of_classes=True)
_OF_CLASSES: Final = Harm(of_classes=True)

EXPRESSIONS: Final[Mapping[type[ast.expr], Harm]] = {
    **dict.fromkeys((ast.Constant, ast.Tuple, ast.List, ast.Slice), NONE),
    **dict.fromkeys((ast.Set, ast.Dict), _OF_CLASSES),  # ``__hash__`` and ``__eq__``
    **dict.fromkeys((ast.JoinedStr, ast.FormattedValue), READS._replace(of_classes=True)),  # ``__format__``
    **dict.fromkeys((ast.BoolOp, ast.IfExp), READS._replace(of_classes=True)),  # ``__bool__`` and ``__len__``
    ast.Name: READS,
    ast.Attribute: READS._replace(of_classes=True),  # a property
    ast.Starred: READS._replace(of_classes=True),  # ``__iter__``
    # Functions, and items that are made when they are asked for.
    **dict.fromkeys((ast.Lambda, ast.GeneratorExp), NONE),
    # What they do for each item is added.
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp), READS._replace(of_classes=True)),
}
"""Expressions other than operators, items and calls. ``await``, ``yield`` and ``:=`` are not among them."""

OPERATORS: Final[Mapping[type[ast.AST], Harm]] = {
    **dict.fromkeys((ast.Add, ast.Sub, ast.Mult), READS._replace(of_classes=True)),  # of lists, too
    **dict.fromkeys((ast.BitAnd, ast.BitOr, ast.BitXor), READS._replace(of_classes=True)),  # of sets, too
    ast.MatMult: _OF_CLASSES,  # shapes are known when the program is built
    **dict.fromkeys((ast.Div, ast.FloorDiv, ast.Mod), RAISES._replace(of_classes=True)),  # by 0
    ast.Pow: RAISES._replace(of_classes=True),  # a negative power of 0, or too large
    **dict.fromkeys((ast.LShift, ast.RShift), RAISES._replace(of_classes=True)),  # by a negative number
    **dict.fromkeys((ast.UAdd, ast.USub, ast.Invert), _OF_CLASSES),
    ast.Not: READS._replace(of_classes=True),
    **dict.fromkeys((ast.Is, ast.IsNot), NONE),
    **dict.fromkeys((ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE), READS._replace(of_classes=True)),
    **dict.fromkeys((ast.In, ast.NotIn), READS._replace(of_classes=True)),
}
"""Operators, which change no operand."""

_EVALUATED_LATER: Final = (ast.Lambda, ast.GeneratorExp)
_BY_CONSTANTS: Final = (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
"""Operators that raise only for some right operands, none of which is a positive number."""

FUNCTIONS: Final[tuple[tuple[Any, Harm], ...]] = (
    *((one, NONE) for one in (bool, callable, id, isinstance, issubclass, object, slice, super, type)),
    *((one, READS) for one in (dict, enumerate, frozenset, len, list, set, str, tuple)),
    *((one, READS) for one in (abs, all, any, ascii, bin, filter, hash, hex, map, oct, repr, reversed, sum, zip)),
    *((one, READS) for one in (dir, hasattr, iter, sorted, vars)),
    (print, READS),  # what is printed is an effect of its own, which changes no object
    *((one, RAISES) for one in (chr, divmod, pow, range, round)),  # a number that is too large, negative or 0
    *((one, RAISES_AND_READS) for one in (bytearray, bytes, complex, float, format, getattr, int, max, min, ord)),
    *((one, READS) for one in (collections.Counter, collections.OrderedDict, collections.defaultdict)),
    (collections.deque, RAISES_AND_READS),  # a negative length
    *((one, NONE) for one in vars(builtins).values() if isinstance(one, type) and issubclass(one, BaseException)),
    *((one, RAISES) for one in vars(math).values() if callable(one)),
    *((one, READS) for one in (operator.attrgetter, operator.itemgetter, operator.methodcaller, functools.partial)),
    (functools.cmp_to_key, NONE),
    (functools.reduce, RAISES_AND_READS),
    *((one, READS) for one in (itertools.accumulate, itertools.chain)),
    *((one, READS) for one in (itertools.compress, itertools.cycle, itertools.dropwhile, itertools.filterfalse)),
    *((one, READS) for one in (itertools.groupby, itertools.pairwise, itertools.product, itertools.starmap)),
    *((one, READS) for one in (itertools.takewhile, itertools.zip_longest)),
    *((one, RAISES_AND_READS) for one in (itertools.combinations, itertools.combinations_with_replacement)),
    *((one, RAISES_AND_READS) for one in (itertools.permutations, itertools.tee)),
    *((one, RAISES_AND_READS) for one in (itertools.islice, itertools.count, itertools.repeat)),
)
"""Functions of Python's and its library's. ``setattr``, ``next`` and the like are not among them."""
_OF_OPERATORS: Final[Mapping[Any, type[ast.AST]]] = {
    operator.add: ast.Add,
    operator.sub: ast.Sub,
    operator.mul: ast.Mult,
    operator.truediv: ast.Div,
    operator.floordiv: ast.FloorDiv,
    operator.mod: ast.Mod,
    operator.pow: ast.Pow,
    operator.matmul: ast.MatMult,
    operator.and_: ast.BitAnd,
    operator.or_: ast.BitOr,
    operator.xor: ast.BitXor,
    operator.inv: ast.Invert,
    operator.lshift: ast.LShift,
    operator.rshift: ast.RShift,
    operator.pos: ast.UAdd,
    operator.neg: ast.USub,
    operator.eq: ast.Eq,
    operator.ne: ast.NotEq,
    operator.lt: ast.Lt,
    operator.le: ast.LtE,
    operator.gt: ast.Gt,
    operator.ge: ast.GtE,
    operator.is_: ast.Is,
    operator.is_not: ast.IsNot,
    operator.not_: ast.Not,
    operator.truth: ast.Not,
    operator.contains: ast.In,
    operator.abs: ast.UAdd,
    operator.concat: ast.Add,
}
"""The functions of ``operator`` that are operators of expressions."""
_CHANGING_ARRAYS: Final = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})
"""Functions of NumPy that change an argument, of names that also functions of JAX have, which do not."""
_ARRAYS: Final = (jnp, jnp.linalg, jnp.fft, jax.lax, jax.nn, jax.random, jax.scipy.special)
"""Modules whose functions change no argument and raise for no values: JAX's arrays do not change."""

_BY_ARGUMENTS: Final = ("encode", "format", "partition", "rpartition", "rsplit", "split")
"""Methods of texts that raise only for some arguments, such as an empty separator."""
_OF_SETS: Final = dict.fromkeys(
    ("copy", "difference", "intersection", "isdisjoint", "issubset", "issuperset", "symmetric_difference", "union"),
    READS,
)

METHODS: Final[Mapping[type, Mapping[str, Harm]]] = {
    list: {"copy": READS, "count": READS, "index": RAISES_AND_READS},
    tuple: {"count": READS, "index": RAISES_AND_READS},
    range: {"count": READS, "index": RAISES_AND_READS},
    dict: {"copy": READS, "fromkeys": READS, "get": READS, "items": READS, "keys": READS, "values": READS},
    collections.OrderedDict: {},
    collections.defaultdict: {},
    collections.Counter: {"fromkeys": ANY, "elements": READS, "most_common": READS, "total": READS},
    collections.deque: {"copy": READS, "count": READS, "index": RAISES_AND_READS},
    set: _OF_SETS,
    frozenset: _OF_SETS,
    str: {
        **{name: READS for name in vars(str) if not name.startswith("_")},
        **dict.fromkeys(("index", "rindex", "format_map", "maketrans", *_BY_ARGUMENTS), RAISES_AND_READS),
    },
    int: {
        **dict.fromkeys(("as_integer_ratio", "bit_count", "bit_length", "conjugate", "is_integer"), NONE),
        "to_bytes": RAISES,
    },
    float: {
        **dict.fromkeys(("conjugate", "hex", "is_integer"), NONE),
        "as_integer_ratio": RAISES,
    },
    np.ndarray: {
        **dict.fromkeys(("all", "any", "argmax", "argmin", "argsort", "astype"), READS),
        **dict.fromkeys(("clip", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal"), READS),
        **dict.fromkeys(("dot", "flatten", "max", "mean", "min", "nonzero", "prod", "ravel"), READS),
        **dict.fromkeys(("reshape", "round", "searchsorted", "squeeze", "std", "sum", "swapaxes"), READS),
        **dict.fromkeys(("tobytes", "tolist", "trace", "transpose", "var", "view"), READS),
        **dict.fromkeys(("argpartition", "choose", "compress", "item", "repeat", "take"), RAISES_AND_READS),
    },
}
"""Methods of Python's containers, texts, numbers and arrays that change nothing."""


def _by_name() -> Mapping[str, Harm]:
    """The methods that are harmless whatever the receiver is: if no kind has a method of the name that is not."""
    names = {name for methods in METHODS.values() for name in methods}
    found = dict[str, Harm]()
    for name in names:
        known = [harm for kind in METHODS if (harm := of_method(kind, name)) is not None]
        found[name] = functools.reduce(Harm.joined, known, _OF_CLASSES)
    return found


def of_method(kind: type, name: str) -> Harm | None:
    """What a method of a listed kind may do; None if the kind has no method of this name."""
    if not hasattr(kind, name):
        return None
    return next((METHODS[one][name] for one in kind.__mro__ if one in METHODS and name in METHODS[one]), ANY)


_METHODS: Final = _by_name()
READERS: Final = frozenset(name for name, harm in _METHODS.items() if not harm.changes)
"""The names of methods that change nothing, whichever of Python's containers they are called on."""

_HELPERS: Final[Mapping[str, Harm]] = {
    **dict.fromkeys(("__hb_closure", "__hb_is_none", "__hb_captured"), READS),
    **dict.fromkeys(("__hb_not", "__hb_and", "__hb_truth", "__hb_asked"), READS._replace(of_classes=True)),
    **dict.fromkeys(("__hb_range", "__hb_gone_over", "__hb_whole", "__hb_first", "__hb_once"), RAISES_AND_READS),
    **dict.fromkeys(("__hb_possible", "__hb_possible_now", "__hb_all_there", "__hb_first_item"), RAISES_AND_READS),
    **dict.fromkeys(("__hb_set", "__hb_starred_set", "__hb_set_of", "__hb_in_any_order"), RAISES_AND_READS),
    **dict.fromkeys(("__hb_dict", "__hb_dict_of", "__hb_in_known_order"), RAISES_AND_READS),
    **dict.fromkeys(("__hb_listed", "__hb_tupled", "__hb_unpack", "__hb_numbered", "__hb_items"), RAISES_AND_READS),
    **dict.fromkeys(("__hb_shown", "__hb_formatted", "__hb_joined", "__hb_number", "__hb_row"), RAISES_AND_READS),
}
"""Functions that stand for expressions after their control flow has been lowered."""


def _functions() -> Iterable[tuple[Any, Harm]]:
    yield from FUNCTIONS
    yield from ((function, OPERATORS[node]) for function, node in _OF_OPERATORS.items())
    yield operator.getitem, RAISES_AND_READS
    for module in _ARRAYS:
        for name, one in vars(module).items():
            if callable(one) and not name.startswith("_"):
                yield one, READS
                if module is jnp and name not in _CHANGING_ARRAYS:
                    yield getattr(np, name, one), READS


_LISTED: Final[Mapping[int, tuple[Any, Harm]]] = {
    id(function): (function, harm) for function, harm in reversed([*_functions()])
}
"""The functions, by identity, since a value that is called may have an ``__eq__`` of its own."""


def of_function(function: Any) -> Harm:
    """What a call of a known function may do, apart from what functions that it is given do."""
    listed = _LISTED.get(id(function))
    if listed is not None:
        return listed[1]._replace(of_classes=True)  # ``__len__``, ``__abs__`` and the like
    if isinstance(function, types.MethodDescriptorType):
        return of_method(function.__objclass__, function.__name__) or ANY
    if isinstance(function, types.BuiltinMethodType):  # of a class or of an object, made anew for each access
        value = function.__self__
        is_chain = function == itertools.chain.from_iterable
        return (
            READS
            if is_chain
            else of_method(value if isinstance(value, type) else type(value), function.__name__) or ANY
        )
    return ANY


def of_operation(node: ast.AST, static_value: Callable[[ast.expr], Any]) -> Harm:
    """What an expression may do beside giving a value, apart from what its operands do.

    Args:
        node: The expression. Nodes that are no expressions, such as keywords, do nothing.
        static_value: Gives the values of names from outside of the function, else ``MISSING``.
    """
    match node:
        case ast.Call():
            return _of_call(node, static_value)
        case ast.Subscript(_, ast.Slice(_, _, step)) if step is None or _is_positive(step):
            return EXPRESSIONS[ast.Attribute]
        case ast.Subscript():
            return RAISES_AND_READS._replace(of_classes=True)
        case ast.BinOp(_, op, right) if isinstance(op, _BY_CONSTANTS) and _is_positive(right):
            return READS._replace(of_classes=True)
        case ast.BinOp(_, op) | ast.UnaryOp(op):
            return OPERATORS.get(type(op), ANY)
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            return EXPRESSIONS[type(node)].joined(_of_parts(node, static_value))
        case ast.Compare(_, ops):
            return functools.reduce(Harm.joined, (OPERATORS.get(type(op), ANY) for op in ops))
        case ast.expr():
            return EXPRESSIONS.get(type(node), ANY)
    return NONE


def _of_parts(node: ast.AST, static_value: Callable[[ast.expr], Any]) -> Harm:
    """What the operations inside an expression may do."""
    return functools.reduce(Harm.joined, (of_operation(part, static_value) for part in walk(node)[1:]), NONE)


def _of_call(node: ast.Call, static_value: Callable[[ast.expr], Any]) -> Harm:
    """What a call may do, which may call a function that it is given, and ask for the items of an iterator."""
    return _of_callee(node, static_value).joined(of_given(node, static_value))


def of_given(node: ast.Call, static_value: Callable[[ast.expr], Any]) -> Harm:
    """What the functions and generator expressions may do that stand among the arguments of a call."""
    later = [_of_parts(part, static_value) for part in all_arguments(node) if isinstance(part, _EVALUATED_LATER)]
    return functools.reduce(Harm.joined, later, NONE)


def _of_callee(node: ast.Call, static_value: Callable[[ast.expr], Any]) -> Harm:
    if isinstance(node.func, ast.Name) and node.func.id.startswith(HELPER):
        return _HELPERS.get(node.func.id, ANY)
    if any(keyword.arg == "out" for keyword in node.keywords):
        return ANY
    if _raises_for_nothing(node, static_value):
        return READS._replace(of_classes=True)
    function = static_value(node.func)
    if function is not MISSING:
        return of_function(function)
    return _METHODS.get(node.func.attr, ANY) if isinstance(node.func, ast.Attribute) else ANY


def _raises_for_nothing(node: ast.Call, static_value: Callable[[ast.expr], Any]) -> bool:
    """Whether a function that raises only for some arguments is given none of those."""
    match node:
        case ast.Call(ast.Attribute(ast.Constant(str()) | ast.JoinedStr(), "format")):
            return True  # the fields of a text are known when the program is built
        case ast.Call(ast.Attribute(_, name), arguments, []) if name in _BY_ARGUMENTS:
            return name != "format" and all(isinstance(one, ast.Constant) and one.value for one in arguments)
        case ast.Call(function, [_, _, *others], []) if not any(isinstance(one, ast.Starred) for one in node.args):
            value = static_value(function)
            return value is max or value is min or (value is range and not others)
        case ast.Call(function, [_], []) if not isinstance(node.args[0], ast.Starred):
            return static_value(function) is range
        case ast.Call(function, [_], keywords) if any(keyword.arg == "default" for keyword in keywords):
            value = static_value(function)
            return value is max or value is min
    return False


def _is_positive(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and node.value > 0
