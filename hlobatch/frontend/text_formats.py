"""F-strings, ``%``, ``format`` and ``str`` of values that differ between lanes -> lanes' texts (``values/texts.py``).

::

    str(n), f"{n:>4}", "%d of %d" % (i, n)        the numerals of the lane's numbers, and letters around them

If nothing differs between lanes, Python makes the text. Texts of floats are refused: how many digits Python writes
depends on the value.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp

from hlobatch._jax import is_tracer
from hlobatch.diagnostics import BatchTypeError
from hlobatch.frontend.lane_numbers import as_index, as_int
from hlobatch.ir.choice import MOST_CHOICES, Choice, objects_of
from hlobatch.values import lane_failures, number_classes
from hlobatch.values.boxes import boxed
from hlobatch.values.draws import is_users_class
from hlobatch.values.lane_failures import fails
from hlobatch.values.numerals import PREFIXES, of_flag, of_integer
from hlobatch.values.one_of import each, for_each
from hlobatch.values.optional import is_several
from hlobatch.values.texts import LaneText, is_text
from hlobatch.values.texts_made import INSTEAD_OF_A_TEXT

_FORMAT: Final = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>=^]))?(?P<sign>[-+ ])?(?P<alternate>#)?(?P<zero>0)?(?P<width>\d+)?(?P<group>[,_])?"
    r"(?:\.(?P<precision>\d+))?(?P<kind>[bcdoxXs]?)",
    re.DOTALL,
)
_CONVERSIONS: Final[Mapping[str, Callable[[Any], str]]] = {"r": repr, "s": str, "a": ascii}
_BASES: Final = {"b": 2, "o": 8, "x": 16, "X": 16}
_PERCENT: Final = re.compile(r"%(?:(?P<flags>[-+ #0]*)(?P<width>\d+)?(?:\.(?P<precision>\d+))?(?P<kind>[diuxXocs])|%)")


def is_made_of_known(value: Any) -> bool:
    """Whether the text of a value is known when the program is built."""
    shown = value.args if isinstance(value, BaseException) and _is_shown_by_arguments(type(value)) else value
    return not any(map(is_tracer, jax.tree.leaves(boxed(shown, ()))))


def _is_shown_by_arguments(kind: type[BaseException]) -> bool:
    """Whether the text of an exception is that of its arguments."""
    return not any(is_users_class(one) and ("__str__" in vars(one) or "__repr__" in vars(one)) for one in kind.__mro__)


def shown(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """``str``, ``repr``, ``ascii`` or ``format`` of values, which may differ between lanes."""
    if all(map(is_made_of_known, (*args, *kwargs.values()))):
        return function(*args, **kwargs)
    if lane_failures.leaves_out_texts():
        return str(lane_failures.LEFT_OUT)
    if kwargs or not args or (len(args) > 1 and function is not format):
        raise _no_text(args)
    conversion = {repr: "r", ascii: "a"}.get(function, "")
    return formatted(args[0], conversion, *args[1:])


def formatted(value: Any, conversion: str = "", spec: Any = "") -> Any:
    """A part of an f-string: ``{value!conversion:spec}``."""
    if type(spec) is not str:
        raise BatchTypeError(
            "the format of a text differs between lanes",
            help="use `rjust`, `ljust` or `zfill`, whose width may differ.",
        )
    if is_made_of_known(value):
        return format(_CONVERSIONS[conversion](value) if conversion else value, spec)
    if lane_failures.leaves_out_texts():
        return str(lane_failures.LEFT_OUT)
    if is_several(value):
        return for_each(lambda one: formatted(one, conversion, spec), value)
    if isinstance(value, LaneText) and conversion in ("", "s"):
        return _of_text(value, spec)
    if not is_tracer(value) or value.shape != () or jnp.issubdtype(value.dtype, jax.dtypes.extended):
        raise _no_text(value)
    number_classes.ask()
    if conversion == "r":
        number_classes.ask_for_member()
    if value.dtype == jnp.bool_ and (not spec or conversion):
        text = of_flag(value)
        return text if not spec else each(text, lambda one: format(one, spec))
    if not jnp.issubdtype(value.dtype, jnp.integer) and value.dtype != jnp.bool_:
        raise BatchTypeError(
            "this code makes a text of a float that differs between lanes, whose digits are known to the host alone",
            help=INSTEAD_OF_A_TEXT,
        )
    if not spec:
        return of_integer(value)
    return _of_text(of_integer(value), spec) if conversion else _of_number(value, spec)


def _no_text(value: Any) -> BatchTypeError:
    del value
    return BatchTypeError(
        "this code makes a text of a value that differs between lanes, and is no integer or text",
        help=INSTEAD_OF_A_TEXT,
    )


def joined(*parts: Any) -> Any:
    """An f-string of its parts."""
    if all(type(part) is str for part in parts):
        return "".join(parts)
    are_known = not any(isinstance(part, LaneText) for part in parts)
    if are_known and math.prod(len(objects_of(part)) for part in parts) <= MOST_CHOICES:
        return for_each(lambda *own: "".join(own), *parts)
    result: Any = ""
    for part in parts:
        whole = LaneText.of(part) if isinstance(part, Choice) else part
        result = result + whole if type(whole) is not str or whole else result
    return result


def _parsed(spec: str, example: Any) -> Mapping[str, Any]:
    """The parts of a format, which Python would accept.

    Raises:
        ValueError: Python refuses it.
        BatchTypeError: Lanes do not have it.
    """
    format(example, spec)
    found = _FORMAT.fullmatch(spec)
    if found is None:
        raise BatchTypeError(
            f"the format {spec!r} of a value that differs between lanes is not implemented",
            help="lanes format integers by `b`, `c`, `d`, `o`, `x` and `X`, and texts, in a width that is known.",
        )
    return found.groupdict()


def _of_text(text: LaneText, spec: str) -> Any:
    parts = _parsed(spec, "")
    if parts["precision"] is not None:
        text = text.item(slice(None, int(parts["precision"])))
    return _aligned(text, parts, "<")


def _of_number(value: Any, spec: str) -> Any:
    parts = _parsed(spec, 0)
    kind = parts["kind"]
    if kind == "c":
        return _aligned(character(value), parts, "<")
    base = _BASES.get(kind, 10)
    prefix = PREFIXES[base] if parts["alternate"] and base != 10 else ""
    prefix = prefix.upper() if kind == "X" else prefix
    sign = parts["sign"] if parts["sign"] in ("+", " ") else ""
    text = of_integer(value, base, prefix, plus=sign, group=parts["group"] or "", large=kind == "X")
    is_inside = parts["align"] == "=" or (parts["zero"] and not parts["align"])
    if parts["group"] and is_inside and parts["width"]:
        raise BatchTypeError(
            f"the format {spec!r} fills up groups of digits of a number that differs between lanes",
            help="leave out the comma, or the zero.",
        )
    lead = jnp.where(jnp.asarray(value) < 0, 1, len(sign)) + len(prefix)
    return _aligned(text, parts, ">", lead)


def _aligned(text: Any, parts: Mapping[str, Any], usual: str, lead: Any = 0) -> Any:
    """A text in the width of a format."""
    if parts["width"] is None:
        return text
    fill = parts["fill"] or ("0" if parts["zero"] else " ")
    align = parts["align"] or ("=" if parts["zero"] and usual == ">" else usual)
    if align == "^":
        return text.filled(int(parts["width"]), fill, lambda more: more // 2)
    if align == "<":
        return text.ljust(int(parts["width"]), fill)
    return text.filled(int(parts["width"]), fill, lambda more: more, lead if align == "=" else 0)


def percent(template: str, values: Any) -> Any:
    """``template % values``."""
    if is_made_of_known(values):
        return template % values
    if lane_failures.leaves_out_texts():
        return str(lane_failures.LEFT_OUT)
    given = iter(values if isinstance(values, tuple) else (values,))
    template % tuple(_example(value) for value in (values if isinstance(values, tuple) else (values,)))
    parts, end = list[Any](), 0
    for found in _PERCENT.finditer(template):
        parts.append(template[end : found.start()])
        end = found.end()
        parts.append("%" if found["kind"] is None else _by_percent(found, next(given)))
    parts.append(template[end:])
    if "%" in "".join(part for part in parts[::2]):
        raise BatchTypeError(
            "a `%` of this text is not implemented for values that differ between lanes",
            help="write an f-string.",
        )
    return joined(*parts)


def _example(value: Any) -> Any:
    """A known value of the class of another one."""
    if isinstance(value, LaneText):
        return "a"
    if isinstance(value, Choice):
        return value.hb_objects[0]
    return value.dtype.type(1).item() if is_tracer(value) and value.shape == () else value


def _by_percent(found: re.Match[str], value: Any) -> Any:
    if is_made_of_known(value):
        return found.group() % (value,)
    if is_several(value):
        return for_each(partial(_by_percent, found), value)
    flags, kind = found["flags"], found["kind"]
    is_number = kind not in "cs"
    if is_number and not (is_tracer(value) and value.shape == ()):
        raise TypeError(f"%{kind} format: an integer is required, not str")
    if is_number and jnp.issubdtype(value.dtype, jnp.floating):
        value = as_int(value)
    if found["precision"] is not None and is_number:
        raise BatchTypeError(
            "a least number of digits, as in `%.3d`, is not implemented for lanes", help="write `%03d`."
        )
    align = "<" if "-" in flags else ">" if not is_number else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    sign = sign if kind in "diu" else ""
    zero = "0" if "0" in flags and "-" not in flags and is_number else ""
    precision = f".{found['precision']}" if found["precision"] is not None else ""
    alternate = "#" if "#" in flags and kind in "oxX" else ""
    spec = f"{align}{sign if is_number else ''}{alternate}{zero}{found['width'] or ''}{precision}"
    if kind == "c":
        return formatted(value if is_text(value) else character(value), "", spec)
    return formatted(value, "s" if kind == "s" else "", spec + {"d": "d", "i": "d", "u": "d", "s": ""}.get(kind, kind))


def by_format(template: str, /, *args: Any, **kwargs: Any) -> Any:
    """``template.format(*args, **kwargs)``."""
    if is_made_of_known((args, kwargs)):
        return template.format(*args, **kwargs)
    if lane_failures.leaves_out_texts():
        return str(lane_failures.LEFT_OUT)
    formatter, parts, turn = string.Formatter(), list[Any](), 0
    for literal, field, spec, conversion in formatter.parse(template):
        parts.append(literal)
        if field is None:
            continue
        name = field
        if not field or field[0] in ".[":
            name, turn = f"{turn}{field}", turn + 1
        value, _ = formatter.get_field(name, args, kwargs)
        if "{" in (spec or ""):
            raise BatchTypeError("a format in a format is not implemented for lanes", help="write an f-string.")
        parts.append(formatted(value, conversion or "", spec or ""))
    return joined(*parts)


def character(value: Any, /) -> Any:
    """``chr``."""
    code = jnp.asarray(as_index(value, "chr"))
    fails(ValueError, "chr() arg not in range(0x110000)", (code < 0) | (code > 0x10FFFF))
    return LaneText.letter(jnp.clip(code, 0, 0x10FFFF).astype(jnp.int32))
