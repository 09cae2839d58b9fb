"""A call in code that is being traced -> its value, with the meaning that the function has in Python.

::

    sum(xs)                      __hb_call(sum, xs)
    math.isqrt(n)        ==>     __hb_call(math.isqrt, n)
    best.get(k, 0)               __hb_call(best.get, k, 0)

Functions of Python, of its library and of NumPy need numbers that are known. Their meanings on values that differ
between lanes are in tables, from a function to a function on traced values, with a module for each subject. The
function is found by the object, and not by its name. If no value differs between lanes, the function itself is called.
"""

from __future__ import annotations

import collections
import copy
import enum
import functools
import operator
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import jax

from hlobatch import prelude
from hlobatch.analysis.mutation import has_changed
from hlobatch.analysis.objects import ATOMS
from hlobatch.analysis.reach import parts as found_in
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend import (
    container_methods,
    kept_items,
    library,
    library_functions,
    math_functions,
    numpy_functions,
    python_functions,
    texts,
)
from hlobatch.frontend.dict_order import IN_ORDER, check_arguments
from hlobatch.frontend.effects import print_values
from hlobatch.frontend.files import is_users
from hlobatch.frontend.lane_numbers import is_of_lane, parts
from hlobatch.frontend.meaning import Function, Meaning
from hlobatch.frontend.own_methods import check_asked_in_part
from hlobatch.frontend.python_numbers import type_of
from hlobatch.frontend.traced_functions import as_meant
from hlobatch.ir.boxed import leaves_of
from hlobatch.ir.choice import Choice
from hlobatch.ir.growing import Growing
from hlobatch.ir.reference import is_reference
from hlobatch.values import own_containers
from hlobatch.values.boxes import boxed, is_boxable
from hlobatch.values.held_classes import is_held, is_holding
from hlobatch.values.lane_failures import by_python, is_there
from hlobatch.values.one_of import each, for_each
from hlobatch.values.optional import any_optional, is_any_optional, is_optional, is_several

_MEANINGS: Final[Mapping[Any, Meaning]] = {
    **numpy_functions.MEANINGS,
    **math_functions.MEANINGS,
    **library_functions.MEANINGS,
    **kept_items.MEANINGS,
    **python_functions.MEANINGS,
}
_METHODS: Final[Mapping[tuple[type, str], Function]] = {**container_methods.METHODS, **numpy_functions.METHODS}
_CALLERS: Final[frozenset[Any]] = python_functions.CALLERS | library_functions.CALLERS


def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The value of ``function(*args, **kwargs)``."""
    if isinstance(function, functools.partial):
        return call(function.func, *function.args, *args, **{**function.keywords, **kwargs})
    if isinstance(function, Choice):
        return each(function, lambda one: _unchanging(one, args, kwargs))
    if function is print:
        return print_values(*args, **kwargs)
    function = dispatched(function, args)
    args, kwargs = own_containers.contents(function, args, kwargs)
    # A call that the program could make itself has gone through `following.follow` before.
    if not library.is_meant_as_a_whole(function) and library.standing_in(function, args, kwargs) is not None:
        raise library.traced(function)
    known = _known(function)
    _check_whole_objects(known, (args, kwargs))
    check_arguments(known, args, kwargs)
    if (done := texts.method(function, args, kwargs) or _for_each(known, args, kwargs)) is not None:
        return done()
    if known in _CALLERS:
        args = _reduced(known, tuple(map(_as_meant, args)))
        kwargs = {name: _as_meant(value) for name, value in kwargs.items()}
    meaning = _meaning(known)
    is_by_key = known in (max, min) and len(args) > 1 and kwargs.get("key") is not None
    if (
        known not in _OF_NONE
        and not is_by_key
        and (meaning is not None or getattr(known, "__module__", None) in _OF_ARRAYS)
    ):
        inside = meaning is None or known in math_functions.MEANINGS or known in numpy_functions.MEANINGS
        for argument in leaves_of(args, is_optional) if inside and is_any_optional() else args:
            is_there(argument, f"`{getattr(function, '__name__', function)}` of")
    if meaning is not None and meaning.uses_items:
        args = _with_known_items(known, args)
    if meaning is not None and _needs_meaning(known, meaning, args, kwargs):
        return meaning.function(*args, **kwargs)
    method = _method(function)
    calls = any(map(callable, kwargs.values()))  # a sort key may return a value that differs between lanes
    # A list may be empty, and an object that is None in some lanes known otherwise: they hold no tracer.
    takes = any(isinstance(argument, Growing) or is_several(argument) for argument in args)
    if method is not None and (calls or takes or _holds(is_of_lane, (function.__self__, args, kwargs))):
        kwargs = {name: functools.partial(call, value) if callable(value) else value for name, value in kwargs.items()}
        with by_python():
            return method(function.__self__, *args, **kwargs)
    if isinstance(function, (types.BuiltinMethodType, type)) and not _holds(is_of_lane, (args, kwargs)):
        with by_python():
            return function(*args, **kwargs)
    return as_meant(function, (args, kwargs))(*args, **kwargs)


def _with_known_items(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with lists in place of iterators, whose items are then known."""
    if function in (any, all) and args:
        check_asked_in_part(args[0])
    return tuple(list(value) if isinstance(value, Iterator) else value for value in args)


_OF_WHOLE_OBJECTS: Final = frozenset({id, vars, dir, copy.deepcopy})
"""Functions that look at an object with all that it consists of, or at which one it is."""


def _check_whole_objects(function: Any, values: Any) -> None:
    """Refuse a function that looks at whole objects, for values that refer to some which are held in columns."""
    if function not in _OF_WHOLE_OBJECTS or not is_holding():
        return
    found = (part for part in jax.tree.leaves(boxed(values, ()), is_leaf=is_reference) if is_reference(part))
    if (one := next(found, None)) is not None:
        raise UnsupportedSyntaxError(
            f"`{function.__name__}` looks at a {one.cls.__name__!r}, which refers to other objects",
            help="compare objects by `is`, and make a copy in a function of yours, which makes each object anew.",
        ).of_references()


def _reduced(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with an iterator for a lane's list if ``reduce``, which hides errors of ``iter``, goes over it."""
    is_hidden = function is functools.reduce and len(args) > 1 and isinstance(args[1], Growing)
    return (args[0], iter(args[1]), *args[2:]) if is_hidden else args


_GENERIC: Final = functools.singledispatch(lambda _: None).__code__  # type: ignore[attr-defined]
"""The code of all generic functions."""


def dispatched(function: Any, args: Sequence[Any]) -> Any:
    """The implementation that a generic function calls for the Python class of its first argument; else the function.

    For a class of a library's that has a registered stand-in, the stand-in.

    Raises:
        UnsupportedSyntaxError: The class differs between lanes.
    """
    if not isinstance(function, types.FunctionType) or function.__code__ is not _GENERIC or not args:
        return own_containers.function_for(function, args)
    kind = type_of(args[0])
    if not isinstance(kind, type):
        raise UnsupportedSyntaxError(
            f"which function {function.__name__!r} calls depends on the lane", help="ask for the class by `if`."
        )
    return function.dispatch(kind)  # type: ignore[attr-defined]


def _unchanging(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The value of a call of one of several functions; each is called, though each lane has one of them.

    Raises:
        UnsupportedSyntaxError: A function changes an object, which it would do for every lane.
    """
    known = [replace(part, may_grow=False) for value in (function, *args, *kwargs.values()) for part in found_in(value)]
    result = call(function, *args, **kwargs)
    if has_changed(known):
        raise UnsupportedSyntaxError(
            "which of several functions is called depends on the lane, and one of them changes an object in place",
            help="call each by its name, under an `if`.",
        )
    return result


def _needs_meaning(function: Any, meaning: Meaning, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call needs the function on traced values, since Python's own cannot take some arguments."""
    holds_arrays = _holds(is_of_lane if meaning.converts else _is_jax, (args, kwargs))
    computes = function in _OF_OPERANDS and _holds(is_boxable, (args, kwargs))
    calls = function in _CALLERS and _holds(callable, (args, kwargs))
    has_keys = function in _OF_KEYS and any_optional(args)
    return holds_arrays or computes or calls or has_keys or any(isinstance(value, Growing) for value in args)


_OF_ARRAYS: Final = ("jax.numpy", "jax.lax", "jax.nn")
"""Modules whose functions compute with all their arguments."""
_OF_KEYS: Final = frozenset({set, frozenset, dict, collections.OrderedDict, collections.Counter})
"""Functions that hash the items of their arguments, which may be None in some lanes."""
_OF_OPERANDS: Final = frozenset({abs, sum, pow, divmod, min, max, sorted, *library_functions.OPERATORS})
"""Functions that act like operators, for which the user's classes may have methods."""


def _for_each(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[[], Any] | None:
    """A call of a Python function for each object of an argument that is a choice; None for any other call."""
    if function in _COPIES and not kwargs and len(args) == 1:
        return functools.partial(_copied, function, *args)
    if _is_of_text(function) and len(args) == 1 and isinstance(args[0], (list, tuple)):
        return functools.partial(for_each, lambda *items: function(items), *args[0])
    if function is getattr and args and is_optional(args[0]):
        return functools.partial(for_each, lambda value: getattr(value, *args[1:]), args[0])
    if not _is_done_for_each(function, args, kwargs):
        return None

    def one(*given: Any) -> Any:
        return call(function, *given[: len(args)], **dict(zip(kwargs, given[len(args) :], strict=True)))

    return functools.partial(for_each, one, *args, *kwargs.values())


_OF_NONE: Final = (
    bool,
    *(getattr(operator, name) for name in ("eq", "ne", "is_", "is_not", "not_", "truth", "contains")),
)
"""Functions that accept None."""
_KEEPING: Final = (iter, next, hash, id, sorted, setattr, delattr, vars, dir)
"""Python functions that are not called once per object of a choice: they return iterators, or refuse choices."""
_MAKING: Final = (bool, int, float, complex, str, bytes, range)
"""Classes whose objects hold no reference to the arguments they are made of."""


def _is_done_for_each(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a function, not one of the user's, has a choice among its arguments, and would keep none of them."""
    values = (*args, *kwargs.values())
    if not any(isinstance(value, Choice) for value in values) or function is None or not _is_of_python(function):
        return False
    meaning = _meaning(function)
    if meaning is not None and meaning.uses_items and len(args) == 1:
        return False
    return all(isinstance(value, (Choice, enum.Enum, *ATOMS)) or is_optional(value) for value in values)


_COPIES: Final = (copy.copy, copy.deepcopy)


def _copied(function: Any, value: Any) -> Any:
    """A copy of a value; its parts that are None in some lanes are not copied, since they do not change."""
    if is_several(value):
        return for_each(function, value)
    if function is copy.copy or not any_optional(value):
        return function(value)
    return copy.deepcopy(value, {id(part): part for part in leaves_of(value, is_optional) if is_optional(part)})


def _is_of_text(function: Any) -> bool:
    """Whether an object is a method of a known text."""
    return isinstance(getattr(function, "__self__", None), (str, bytes))


def _is_of_python(function: Any) -> bool:
    """Whether an object is a function that keeps no reference to its arguments."""
    if isinstance(function, type):
        return function in _MAKING
    if isinstance(function, types.BuiltinFunctionType):
        owner = function.__self__
        holds_nothing = owner is None or isinstance(owner, (types.ModuleType, *ATOMS))
        return holds_nothing and function not in _KEEPING
    return isinstance(function, types.FunctionType) and not is_users(function) and function not in _COPIES


def has_meaning(function: Any) -> bool:
    """Whether calls of an object may have another meaning than JAX would give them."""
    known = _known(function)
    has_own = (
        own_containers.class_for(function) is not function
        or known is print
        or known in _CALLERS
        or known in _OF_WHOLE_OBJECTS
        or known in IN_ORDER
        or _meaning(known) is not None
        or _method(function) is not None
    )
    is_pythons = known is not None and (_is_of_python(known) or known in _COPIES)
    return has_own or is_pythons or isinstance(function, Choice) or prelude.standing_for(function) is not None


def known_functions() -> dict[str, Sequence[str]]:
    """The names of the functions that have a meaning here, by their module."""
    own = {*python_functions.MEANINGS, *python_functions.CALLERS}.difference(python_functions.REFUSED)
    return {
        "Python": sorted(function.__qualname__ for function in own),
        "`math`": sorted(math_functions.NAMES),
        **{f"`{module}`": names for module, names in prelude.names().items() if module not in ("builtins", "math")},
        "containers": [f"{kind.__name__}.{name}" for kind, name in _METHODS],
    }


def _meaning(function: Any) -> Meaning | None:
    if isinstance(function, type) and issubclass(function, enum.Enum):
        member = python_functions.integer_member if issubclass(function, int) else container_methods.member
        return Meaning(functools.partial(member, function), converts=True)
    return _MEANINGS.get(function)


def _known(function: Any) -> Any:
    """The key of an object in the tables of meanings; None if it cannot be hashed."""
    try:
        hash(function)
    except Exception:  # noqa: BLE001  # the error of a user's ``__hash__``
        return None
    return function


def _method(function: Any) -> Function | None:
    if not isinstance(function, types.BuiltinMethodType) or isinstance(function.__self__, types.ModuleType):
        return None
    kinds = type(function.__self__).__mro__
    return next((_METHODS[kind, function.__name__] for kind in kinds if (kind, function.__name__) in _METHODS), None)


def _as_meant(value: Any) -> Any:
    """A function that is passed to another function, wrapped so that calls of it have their meaning here."""
    if isinstance(value, Choice) and not all(map(callable, value.hb_objects)):
        return value
    is_meant = _is_users(value) or (callable(value) and has_meaning(value))
    return functools.partial(call, value) if is_meant else value


def _is_users(function: Any) -> bool:
    plain = getattr(function, "__func__", function)
    return isinstance(plain, types.FunctionType) and is_users(plain)


def _is_jax(value: Any) -> bool:
    """Whether a value is a JAX array, or a reference; a result computed from one is not known while code is traced."""
    return isinstance(value, jax.Array) or is_held(value)


def _holds(kind: Callable[[Any], bool], value: Any) -> bool:
    return any(map(kind, parts(value)))
