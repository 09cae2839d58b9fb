"""The ``hlobatch-opt`` command: a module of the dialect in, passes, a module out.

::

    hlobatch-opt prog.mlir --simplify-cfg --lower-calls
    hlobatch-opt prog.mlir --pass-pipeline="lower-calls,to-stablehlo{dispatch=chain depth=8}"
    hlobatch-opt prog.mlir --split-input-file --verify-diagnostics

Exit status: 0; 1 for a module that does not parse, does not verify or does not pass; 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import jax

from hlobatch._jax import make_context
from hlobatch.console import UsageError, say_bytes
from hlobatch.diagnostics import HloBatchError
from hlobatch.dialect.bytecode import is_bytecode
from hlobatch.dialect.expected import Diagnostic, mismatches
from hlobatch.dialect.from_program import from_program
from hlobatch.dialect.passes import PASSES, Annotate
from hlobatch.dialect.pipelines import Known, Step, split_arguments
from hlobatch.dialect.text import as_bytecode, as_text, decoded, parse
from hlobatch.dialect.to_program import to_program
from hlobatch.ir import verifier
from hlobatch.ir.program import Program
from hlobatch.lowering.to_stablehlo import to_stablehlo
from hlobatch.lowering.turns.dispatch import FORMS
from hlobatch.modules import plan_of
from hlobatch.strategy.options import Options

SEPARATOR: Final = "// -----"
TO_STABLEHLO: Final = "to-stablehlo"
_DISPATCHES: Final = ("auto", *FORMS)
SUMMARIES: Final = {name: found.summary for name, found in PASSES.items()} | {
    TO_STABLEHLO: f"build the StableHLO module: {{dispatch={'|'.join(_DISPATCHES)} lanes=N depth=N batch=N}}; "
    "nothing runs after it"
}
NOT_HERE: Final = """\
A module is typed from the start: split-live-ranges and specialize, by which the compiler infers the types of programs
that are still Python, are no passes here. infer-types does not change types: it says what would be inferred. Nor are
those that look into what JAX has traced, which code in a module is not, and ask-ahead, for whose programs the dialect
has no words."""


def _is_count(text: str) -> bool:
    return text.isdecimal() and int(text) > 0


OPTIONS: Final[Known] = {name: {} for name in PASSES} | {
    TO_STABLEHLO: {"dispatch": _DISPATCHES.__contains__, "lanes": _is_count, "depth": _is_count, "batch": _is_count}
}
"""For each pass, its options and a check of each option's value."""


# Running


@dataclass(frozen=True)
class State:
    """The state between passes: the module that was read, its program, or the module made by the last pass."""

    module: Any
    program: Program | None = None
    annotations: tuple[Annotate, ...] = ()

    def as_module(self, context: Any) -> Any:
        """The module to print."""
        if self.program is None:
            return self.module
        module = from_program(self.program, context)
        for annotate in self.annotations:
            annotate(self.program, module)
        return module


def run_step(state: State, now: Step, *, verify: bool) -> State:
    """Run one pass.

    Raises:
        HloBatchError: The pass refuses the program, or makes one that breaks a rule.
    """
    if state.program is None:
        raise HloBatchError(f"nothing runs after {TO_STABLEHLO}")
    if now.name == TO_STABLEHLO:
        return State(stablehlo(state.program, dict(now.options)))
    found = PASSES[now.name]
    program = found.transform(state.program)
    if verify:
        verifier.verify(program)
    said = (*(state.annotations if program is state.program else ()), *([found.annotate] if found.annotate else []))
    return replace(state, program=program, annotations=said)


def stablehlo(program: Program, options: dict[str, str]) -> Any:
    """The StableHLO module of a lowered program, for a batch of any size unless one is given."""
    if program.functions:
        raise HloBatchError("calls are left in this program", program.location, help="run lower-calls first.")
    depth, lanes = int(options.get("depth", "32")), options.get("lanes")
    dispatch = options.get("dispatch", "auto")
    chosen = Options(max_stack_depth=depth, lanes=int(lanes) if lanes else None, dispatch=dispatch)
    plan = plan_of("module", program, chosen)
    batch = int(options["batch"]) if "batch" in options else jax.export.symbolic_shape("b")[0]
    strategy = plan.strategy(batch)
    return to_stablehlo(plan.request(strategy, plan.layout(strategy, depth, grows=False), keep_state=False))


@dataclass(frozen=True)
class Tool:
    """One run of the command.

    Attributes:
        steps: The passes, in order.
        file: The name of the input in messages.
        options: The command line's options.
    """

    steps: Sequence[Step]
    file: str
    options: argparse.Namespace

    def process(self, source: str | bytes) -> Any:
        """The module that the passes make of a text."""
        context = make_context()
        module = parse(source, self.file, context)
        program = to_program(module, self.file)
        state = State(module, program if self.steps else None)
        for now in self.steps:
            state = run_step(state, now, verify=self.options.verify_each)
            if self.options.mlir_print_ir_after_all:
                print(f"// -----// IR Dump After {now.name} //----- //", file=sys.stderr)
                print(self._text(state.as_module(context)), file=sys.stderr)
        return state.as_module(context)

    def _text(self, module: Any) -> str:
        options = self.options
        return as_text(module, debug_info=options.mlir_print_debuginfo, generic=options.mlir_print_op_generic)

    def run(self, source: bytes) -> int:
        """Process the whole input; returns the exit status."""
        if not self.options.split_input_file:
            chunks: list[str | bytes] = [source if is_bytecode(source) else decoded(source, self.file)]
        else:
            chunks = list(split(decoded(source, self.file)))
        results = [
            self._checked(chunk) if self.options.verify_diagnostics else self._printed(chunk) for chunk in chunks
        ]
        outputs = [text for text, _ in results if text is not None]
        if outputs and not self.options.verify_diagnostics:
            self._write(outputs)
        return max(status for _, status in results)

    def _printed(self, source: str | bytes) -> tuple[str | bytes | None, int]:
        """The output for one module; if there is an error, None, with the error on stderr."""
        try:
            module = self.process(source)
        except HloBatchError as error:
            print(error.render(), file=sys.stderr)
            return None, 1
        if self.options.emit_bytecode:
            return as_bytecode(module, generic=self.options.mlir_print_op_generic), 0
        return self._text(module), 0

    def _checked(self, source: str | bytes) -> tuple[None, int]:
        """Compare the diagnostics of one module with those that comments in its text announce."""
        found: list[Diagnostic] = []
        try:
            self.process(source)
        except HloBatchError as error:
            found.append(self._diagnostic("error", error.message, error.location))
            found += [self._diagnostic("note", note.message, note.location) for note in error.notes]
        wrong = mismatches(source if isinstance(source, str) else "", found)
        for diagnostic in wrong:
            print(f"{self.file}:{diagnostic.line}:1: error: {diagnostic.message}", file=sys.stderr)
        return None, 1 if wrong else 0

    def _diagnostic(self, kind: str, message: str, location: Any) -> Diagnostic:
        return Diagnostic(kind, location.line if location.file == self.file else 0, message)

    def _write(self, outputs: Sequence[str | bytes]) -> None:
        data = f"\n{SEPARATOR}\n".encode().join(o.encode() if isinstance(o, str) else o for o in outputs)
        if self.options.output == "-":
            say_bytes(data)
        else:
            Path(self.options.output).write_bytes(data)


def split(text: str) -> Iterator[str]:
    """The modules of a text, each with empty lines in front that keep its line numbers."""
    start = 0
    for chunk in re.split(rf"(?m)^{SEPARATOR}.*$", text):
        yield "\n" * start + chunk
        start += chunk.count("\n")


# The command line


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    try:
        steps, rest = split_arguments(arguments, OPTIONS)
        options = parser.parse_args(rest)
        source = sys.stdin.buffer.read() if options.input == "-" else Path(options.input).read_bytes()
        return Tool(steps, "<stdin>" if options.input == "-" else options.input, options).run(source)
    except BrokenPipeError:  # the reader has closed the pipe
        return 1
    except (UsageError, OSError) as error:
        parser.error(str(error))
    except HloBatchError as error:
        print(error.render(), file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, SUMMARIES)) + 2
    passes = "\n".join(f"  --{name:{width}}{summary}" for name, summary in sorted(SUMMARIES.items()))
    parser = argparse.ArgumentParser(
        prog="hlobatch-opt",
        description="Read a module of the autobatch dialect, run passes, print what it has become.",
        epilog=f"passes, run in the order given:\n{passes}\n\n{NOT_HERE}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("input", nargs="?", default="-", metavar="FILE", help="text or bytecode; default: stdin")
    parser.add_argument("-o", dest="output", default="-", metavar="FILE", help="where to write; default: stdout")
    parser.add_argument("--pass-pipeline", metavar="PASSES", help='as in "lower-calls,to-stablehlo{depth=8}"')
    flags: dict[str, str] = {
        "--emit-bytecode": "write bytecode",
        "--split-input-file": f"read a module between every two lines {SEPARATOR}",
        "--verify-diagnostics": "compare errors with the comments // expected-error {{…}} instead of printing them",
        "--mlir-print-ir-after-all": "print the module after each pass on stderr",
        "--mlir-print-debuginfo": "print places in the source",
        "--mlir-print-op-generic": "write code in generic form too, as tools without StableHLO read it",
    }
    for flag, text in flags.items():
        parser.add_argument(flag, action="store_true", help=text)
    each: Callable[[str], bool] = lambda text: text not in ("0", "false")  # noqa: E731
    parser.add_argument(
        "--verify-each",
        type=each,
        nargs="?",
        const=True,
        default=True,
        metavar="0|1",
        help="after each pass; default: 1",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
