"""A function and the types of its inputs -> typed program, made anew as often as tracing finds out what its blocks are.

::

    def total(rule, n): …  rule(n) …          rule is a Python function with branches of its own:
    %$1 = prim "rule(n)" (%rule, %n)     ==>  %$1 = call @trapezoid(%n)

The first program is made with no facts, which is all that most functions need. Code that is the same in the next one is
not traced again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from hlobatch.analysis.facts import Facts, Learned
from hlobatch.analysis.tracing import remembered
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.ir.program import Program
from hlobatch.ir.types import Type
from hlobatch.transforms.pipeline import specialized_program

MOST_FACTS: Final = 2_000
"""Facts after which a program is given up: functions that make ever new functions would go on for ever."""


def learned_program(make: Callable[[Facts], Program], in_types: Mapping[str, Type]) -> Program:
    """The typed program.

    Args:
        make: From facts to the untyped program; with more facts it may differ.
        in_types: Types of the program's inputs.

    Raises:
        HloBatchError: Whatever is wrong with the program.
    """
    facts = Facts()
    with remembered():
        while True:
            program = make(facts)
            try:
                return specialized_program(program, in_types)
            except Learned as learned:
                facts = facts.and_also(learned)
            if len(facts.known) > MOST_FACTS:
                raise UnsupportedSyntaxError(
                    f"this function makes ever more of a program: {MOST_FACTS} calls and loops so far",
                    program.location,
                    help="a recursion whose depth is known when the program is built is written out: let its depth "
                    "differ between lanes, or write a loop.",
                )
