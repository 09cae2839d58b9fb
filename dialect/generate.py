"""Generates ``dialect/ops.py`` and ``docs/dialect.md`` from ``Autobatch.td``; run with ``python -m``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from hlobatch.dialect.op_base import KINDS
from hlobatch.dialect.tablegen import SOURCE, Argument, Definition, Record, definition

ROOT: Final = SOURCE.resolve().parents[1]
OUTPUTS: Final = (ROOT / "dialect" / "ops.py", ROOT / "docs" / "dialect.md")
WIDTH: Final = 120

_PYTHON_TYPES: Final = {
    "Anything": "Any",
    "Flag": "bool",
    "OptionalText": "str | None",
    "Symbol": "str",
    "Symbols": "Sequence[str]",
    "Text": "str",
}
_DEFAULTS: Final = {"Flag": " = False", "OptionalText": " = None"}


_OPERATIONS: Final = {"FuncOp": "autobatch.func", "ModuleOp": "builtin.module"}
"""Names of the operations that contain others, by their C++ classes."""


def snake(name: str) -> str:
    """A camel-case name such as ``trueDest`` in snake case."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


# Classes


def python(source: Definition) -> str:
    """The text of the module of operation classes."""
    kinds = sorted({_kind(argument) for op in source.ops for argument in op.dag("arguments")})
    head = f'''\
"""The operations of the dialect as classes; generated from ``Autobatch.td`` by ``hlobatch.dialect.generate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from hlobatch.dialect.op_base import {", ".join([*sorted(["Op", *kinds]), "registered"])}
'''
    labels = "\n".join(f"    {_quoted(label)}," for label in source.constraints)
    tail = (
        f'CONSTRAINTS: Final = (\n{labels}\n)\n"""The labels of all constraints, in the order of the definition."""\n'
    )
    return "\n\n".join([head, *map(_class, source.ops), tail])


def _class(op: Record) -> str:
    return "\n".join(_class_lines(op)) + "\n"


def _class_lines(op: Record) -> Iterator[str]:
    yield from ("@final", "@registered", f"class {op.class_name}(Op):", f'    """{op.summary.capitalize()}."""', "")
    yield f'    OPERATION_NAME = "autobatch.{op.mnemonic}"'
    if op.constraints:
        yield f"    CONSTRAINTS = ({', '.join(map(_quoted, op.constraints))}{',' if len(op.constraints) == 1 else ''})"
    if op.parent:
        yield f"    PARENT = {_quoted(_OPERATIONS[op.parent])}"
    if "Terminator" in op.traits:
        yield "    IS_TERMINATOR = True"
    successors = [snake(s.name) for s in op.dag("successors")]
    if successors:
        yield f"    SUCCESSORS = ({', '.join(map(_quoted, successors))}{',' if len(successors) == 1 else ''})"
    if op.dag("regions"):
        yield f"    _ODS_REGIONS = ({len(op.dag('regions'))}, True)"
    arguments = op.dag("arguments")
    yield from (f"    {snake(a.name)} = {_kind(a)}()" for a in arguments)
    parameters = [f"{snake(a.name)}: {_PYTHON_TYPES[_kind(a)]}{_DEFAULTS.get(_kind(a), '')}" for a in arguments]
    parameters = (
        [p for p in parameters if "=" not in p]
        + [f"{s}: Any" for s in successors]
        + [p for p in parameters if "=" in p]
    )
    yield ""
    yield from _call("    def __init__(", ["self", *parameters, "*", "loc: Any = None", "ip: Any = None"], ") -> None:")
    passed = [f"{snake(a.name)}={snake(a.name)}" for a in arguments]
    yield from _call("        self._build(", [f"[{', '.join(successors)}]", "loc", "ip", *passed], ")")


def _call(start: str, items: list[str], end: str) -> list[str]:
    """A bracketed list, with line breaks like the formatter's."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= WIDTH:
        return [line]
    indent = " " * (len(start) - len(start.lstrip()))
    inner = f"{indent}    {', '.join(items)}"
    if len(inner) <= WIDTH:
        return [start, inner, f"{indent}{end}"]
    return [start, *(f"{indent}    {item}," for item in items), f"{indent}{end}"]


def _kind(argument: Argument) -> str:
    return KINDS[argument.kind].__name__


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# Documentation


_PREFACE: Final = """\
Generated from [Autobatch.td](../dialect/Autobatch.td) by `python -m hlobatch.dialect.generate`. Examples are in the
custom assembly of the native tool; the Python tools read and print the generic form of the same operations."""

_EXAMPLE: Final = """\
A loop that doubles a number until it reaches a bound. `hlobatch run` takes it in generic form, as in
[loop.mlir](../test/lit/dialect/run/loop.mlir)."""


def markdown(source: Definition) -> str:
    """The text of the reference documentation."""
    parts = [
        "# The `autobatch` dialect",
        _PREFACE,
        source.dialect.description,
        _constraints(source.dialect, "##"),
        f"## Example\n\n{_EXAMPLE}\n\n```mlir\n{source.dialect.example}\n```",
        "## Operations",
        *map(_operation, source.ops),
        "## Types",
        *(_section(f"!autobatch.{t.mnemonic}", t, _parameters(t.dag("parameters"))) for t in source.types),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _operation(op: Record) -> str:
    rows = [(a.name, a.kind) for a in op.dag("arguments")]
    rows += [(s.name, "a block") for s in op.dag("successors")] + [(r.name, "a region") for r in op.dag("regions")]
    return _section(f"autobatch.{op.mnemonic}", op, [(name, _WORDS.get(kind, kind)) for name, kind in rows])


_WORDS: Final = {
    "AnyAttr": "an attribute",
    "Autobatch_Vars": "names of variables",
    "FlatSymbolRefAttr": "a symbol",
    "OptionalAttr<StrAttr>": "a string, optional",
    "StrAttr": "a string",
    "SymbolNameAttr": "a string: the name it declares",
    "UnitAttr": "a flag",
    "::mlir::Type": "a type",
}


def _parameters(arguments: Iterable[Argument]) -> list[tuple[str, str]]:
    return [(a.name, _WORDS.get(a.kind, "a string")) for a in arguments]


def _section(title: str, record: Record, rows: list[tuple[str, str]]) -> str:
    table = (
        "\n".join(["| Part | Kind |", "|---|---|", *(f"| `{name}` | {kind} |" for name, kind in rows)]) if rows else ""
    )
    example = f"```mlir\n{record.example}\n```"
    head = f"### `{title}`: {record.summary}"
    parts = [head, record.description, table, _constraints(record, "####"), example]
    return "\n\n".join(part for part in parts if part)


def _constraints(record: Record, level: str) -> str:
    if not record.constraints:
        return ""
    items = [
        textwrap.fill(f"- `{k}`: {v}", WIDTH, subsequent_indent="  ", break_long_words=False)
        for k, v in record.constraints.items()
    ]
    return "\n".join([f"{level} Constraints", "", *items])


def outputs() -> dict[Path, str]:
    """The content of each generated file."""
    source = definition()
    return dict(zip(OUTPUTS, (python(source), markdown(source)), strict=True))


if __name__ == "__main__":
    for path, text in outputs().items():
        path.write_text(text, encoding="utf-8")
