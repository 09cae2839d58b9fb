"""Parses passes and their options, such as ``"lower-calls,to-stablehlo{depth=8}"``, from a command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hlobatch.console import UsageError

Known = Mapping[str, Mapping[str, Callable[[str], bool]]]
"""For each pass, its options and a check of each option's value."""


@dataclass(frozen=True)
class Step:
    """A pass to run, with its options."""

    name: str
    options: tuple[tuple[str, str], ...] = ()


_STEP: Final = re.compile(r"\s*(?P<name>[\w-]+)\s*(?:\{(?P<options>[^{}]*)\})?\s*(?:,|$)")
_FLAG: Final = re.compile(r"--?(?P<name>[\w-]+)(?:\{(?P<braced>.*)\}|=(?P<value>.*))?", re.DOTALL)


def parse_pipeline(text: str, known: Known) -> list[Step]:
    """The steps of a pipeline, with or without ``builtin.module(…)`` around it.

    Raises:
        UsageError: It has another form, or names a pass or an option that does not exist.
    """
    inner = re.sub(r"^\s*builtin\.module\s*\((.*)\)\s*$", r"\1", text, flags=re.DOTALL)
    steps, position = [], 0
    while position < len(inner):
        match = _STEP.match(inner, position)
        if match is None:
            raise UsageError(f"this is no pipeline: {inner[position:]!r}")
        steps.append(parse_step(match["name"], match["options"] or "", known))
        position = match.end()
    return steps


def parse_step(name: str, options: str, known: Known) -> Step:
    """One pass with its options, such as ``"dispatch=chain depth=8"``."""
    if name not in known:
        raise UsageError(f"there is no pass {name!r}; --help lists them")
    pairs = [word.partition("=")[::2] for word in options.split()]
    for key, value in pairs:
        if key not in known[name] or not known[name][key](value):
            raise UsageError(f"{name} has no option {key}={value}")
    return Step(name, tuple((key, value) for key, value in pairs))


def split_arguments(arguments: Sequence[str], known: Known) -> tuple[list[Step], list[str]]:
    """The passes in a command line, in order, and its other arguments."""
    steps: list[Step] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        match = _FLAG.fullmatch(argument)
        name = match["name"] if match else ""
        if match is not None and name == "pass-pipeline":
            value = match["value"]
            steps += parse_pipeline(next(waiting, "") if value is None else value, known)
        elif match is not None and name in known:
            steps.append(parse_step(name, (match["braced"] or match["value"] or "").strip('"'), known))
        else:
            rest.append(argument)
    return steps, rest
