"""An LLVM instruction on numbers of one lane -> the instruction on vectors that does the same for all lanes of a gang.

::

    fadd float %a, %b            ==>   fadd <64 x float> %a, %b
    icmp eq i32 %a, 3            ==>   icmp eq <64 x i32> %a, %threes
    call float @llvm.sqrt.f32    ==>   call <64 x float> @llvm.sqrt.v64f32
    fadd <2 x float> %a, %b      ==>   fadd <128 x float> %a, %b

A complex number, whose type is ``<2 x float>`` or ``<2 x double>``, becomes the real parts of all lanes and then all
imaginary parts, so that both halves are vectors of lanes.

A register has either one number for each lane (it varies) or one that is the same for all of them (it is uniform), as
in ISPC. An instruction whose operands are all uniform stays scalar.

Reference: Pharr and Mark (2012), "ispc: a SPMD compiler for high-performance CPU programming".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hlobatch.kernels.types import NoKernelError, part_of

_TYPE: Final = r"(i\d+|float|double|half|ptr|<2 x (?:float|double)>)"
_OPERAND: Final = r"(<[^>]*>|[^\s,]+)"
_WORDS: Final = r"([a-z]+(?: [a-z]+)*)"
_SUFFIX: Final = re.compile(r"[if]\d+")


@dataclass(frozen=True)
class Form:
    """The syntax of a kind of instructions.

    Attributes:
        pattern: Matches their text, with a group for each part.
        operands: For each operand, its group and the group of its type.
        types: Groups that are types of numbers.
    """

    pattern: re.Pattern[str]
    operands: Sequence[tuple[int, int]]
    types: Sequence[int]


FORMS: Final = (
    Form(
        re.compile(rf"select (i1) (\S+), {_TYPE} {_OPERAND}, {_TYPE} {_OPERAND}"),
        ((2, 1), (4, 3), (6, 5)),
        (1, 3, 5),
    ),
    Form(re.compile(rf"{_WORDS} {_TYPE} (\S+) to {_TYPE}"), ((3, 2),), (2, 4)),
    Form(re.compile(rf"{_WORDS} {_TYPE} {_OPERAND}, {_OPERAND}"), ((3, 2), (4, 2)), (2,)),
    Form(re.compile(rf"{_WORDS} {_TYPE} {_OPERAND}"), ((3, 2),), (2,)),
    Form(re.compile(rf"getelementptr (?:{_TYPE}), (ptr) (\S+), (i64) (\S+)"), ((3, 2), (5, 4)), (2, 4)),
)
"""Selects, conversions, instructions with two operands and with one, and addresses."""

_STORE: Final = re.compile(rf"store {_TYPE} {_OPERAND}, ptr (\S+)")
_LOAD: Final = re.compile(rf"load {_TYPE}, ptr ([^\s,]+)(?:, align \d+)?")
_SELECT_OF_COMPLEX: Final = re.compile(
    rf"select i1 (\S+), <2 x (float|double)> {_OPERAND}, <2 x (?:float|double)> {_OPERAND}"
)
_CALL: Final = re.compile(rf"call {_TYPE} @(\S+?)\((.*)\)")


@dataclass(frozen=True)
class Called:
    """A call of a function of numbers.

    Attributes:
        result: The type of its result.
        name: The function.
        operands: Each with its type.
    """

    result: str
    name: str
    operands: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, text: str) -> Called | None:
        """The call in an instruction's text; None if it is no call."""
        if (found := _CALL.fullmatch(text)) is None:
            return None
        operands = tuple((kind, x) for kind, x in (given.split(" ") for given in found[3].split(", ") if given))
        return cls(found[1], found[2], operands)

    @property
    def is_intrinsic(self) -> bool:
        """Whether the function is an intrinsic of LLVM, which has a vector form."""
        return self.name.startswith("llvm.")

    def of_vectors(self, width: int) -> str:
        """The name of the intrinsic's vector form."""
        return ".".join(f"v{width}{part}" if _SUFFIX.fullmatch(part) else part for part in self.name.split("."))


def widened(text: str, width: int, operand: Callable[[str, str], str]) -> str:
    """The vector form of an instruction other than a call.

    Args:
        text: The instruction for one lane.
        width: Lanes in a gang.
        operand: Gives the vector of an operand, from its type and text.

    Raises:
        NoKernelError: The instruction has an unknown syntax.
    """
    form, found = _form_of(text)
    changes = {found.span(group): operand(found[kind], found[group]) for group, kind in form.operands}
    changes |= {found.span(group): vector(found[group], width) for group in form.types}
    for (begin, end), new in sorted(changes.items(), reverse=True):
        text = text[:begin] + new + text[end:]
    return text


def operands_of(text: str) -> list[str]:
    """The operands of an instruction; empty if it has an unknown syntax."""
    if (call := Called.read(text)) is not None:
        return [x for _, x in call.operands]
    for form in FORMS:
        if found := form.pattern.fullmatch(text):
            return [found[group] for group, _ in form.operands]
    return []


def vector(kind: str, width: int) -> str:
    """The vector type with an element for each lane; two elements for each lane if the type is of complex numbers."""
    part = part_of(kind)
    return f"<{width} x {kind}>" if part is None else f"<{2 * width} x {part}>"


def loaded(text: str) -> tuple[str, str] | None:
    """The type and the pointer of a load; None if the instruction is none."""
    found = _LOAD.fullmatch(text)
    return None if found is None else (found[1], found[2])


def stored_to(text: str) -> tuple[str, str, str] | None:
    """The type, the value and the pointer of a store; None if the instruction is none."""
    found = _STORE.fullmatch(text)
    return None if found is None else (found[1], found[2], found[3])


def complex_select(text: str) -> tuple[str, str, str, str] | None:
    """The condition, the type of the parts and both operands of a select of complex numbers; None if it is none."""
    found = _SELECT_OF_COMPLEX.fullmatch(text)
    return None if found is None else (found[1], found[2], found[3], found[4])


def _form_of(text: str) -> tuple[Form, re.Match[str]]:
    for form in FORMS:
        if found := form.pattern.fullmatch(text):
            return form, found
    raise NoKernelError(f"`{text}` has no form for several lanes")
