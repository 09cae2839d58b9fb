"""The ``hlobatch`` command: what became of a function, stage by stage, what it computes, and a file of it.

::

    hlobatch trace fib.py:fibonacci --args "i32[8]" --stage lowered
    hlobatch lower fib.py:fibonacci --args "i32[b]" --dialect stablehlo
    hlobatch run   fib.py:fibonacci --inputs x.npz --stats
    hlobatch run   prog.mlir --inputs x.npz
    hlobatch export fib.py:fibonacci --args "i32[b]" --output fib.hlob

Without a command, it prints its help.

Exit status: 0; 1 for an error in the user's program (a plain diagnostic on stderr); 2 for a wrong command line.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import inspect
import json
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from hlobatch._jax import is_key
from hlobatch.api import BatchedFunction, batch
from hlobatch.console import UsageError, say
from hlobatch.context import ContextFunction
from hlobatch.diagnostics import UNKNOWN, HloBatchError
from hlobatch.dialect.from_program import from_program
from hlobatch.dialect.text import as_text
from hlobatch.export import export
from hlobatch.frontend.to_program import to_program
from hlobatch.ir.physical import key_dtypes
from hlobatch.ir.program import Program
from hlobatch.ir.types import TensorType
from hlobatch.modules import Module
from hlobatch.stages import DIALECTS, Traced
from hlobatch.strategy.options import DISPATCHES, SCHEDULES, Options
from hlobatch.transforms.optimizations import Optimizations
from hlobatch.transforms.pipeline import observed
from hlobatch.transforms.registry import passes

MODULES: Final = (".mlir", ".mlirbc")
"""Suffixes of files that hold modules of the dialect."""
STAGES: Final = ("frontend", "typed", "lowered", "machine")
OF_DIALECT: Final = ("typed", "lowered")
"""Stages whose programs can be written in the dialect."""
PASSES: Final = tuple(field.name.replace("_", "-") for field in fields(Optimizations))

ARGS_HELP: Final = """\
arguments, as in a call:
  Arrays are written as the printed IR writes types, with the batch axis first:
      "i32[8], f32[8,3]"               two arrays of a batch of 8
      "i32[b], f32[b,3]"               a batch of any size
      "{'x': f32[8,3], 'n': i32[8]}"   pytrees, in Python's notation
      "f32[8], data=f32[100,3]"        by keyword; where in_axes is None, without a batch axis
      "key<fry>[8], mode='fast'"       typed keys; static arguments as Python literals
  Element types: bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128, key<fry>, key<rbg>, or NumPy's names.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.command is None:
        parser.print_help()
        return 0
    try:
        options.command(options)
    except UsageError as error:
        options.parser.error(str(error))
    except HloBatchError as error:
        print(_without_own_frame(error).render(), file=sys.stderr)
        return 1
    except SyntaxError as error:  # in the user's file
        print(*traceback.format_exception_only(error), sep="", end="", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader has closed the pipe
        return 1
    return 0


def _without_own_frame(error: HloBatchError) -> HloBatchError:
    """The error without a location in this command itself: what was wrong is on the command line."""
    if Path(error.location.file).resolve() in (Path(sys.argv[0]).resolve(), Path(__file__).resolve()):
        error.location = UNKNOWN
    return error


# Commands


def trace_command(options: argparse.Namespace) -> None:
    """Print the program at one stage, or after a pass."""
    function = load(options.target)
    if options.mlir and (options.stage not in OF_DIALECT or options.print_after is not None):
        raise UsageError("--mlir needs a typed program: it goes with --stage typed or lowered")
    if options.print_after is not None:
        _print_after(_with_options(function, options), options)
        return
    if options.stage == "frontend":
        say(to_program(function.function, function.type_inference), end="")
        return
    traced = _traced(_with_options(function, options), options)
    stages = {"typed": "program", "lowered": "lowered_program", "machine": "machine_program"}
    program = getattr(traced, stages[options.stage])
    say(as_text(from_program(program), debug_info=options.debug_info) if options.mlir else program, end="")


def lower_command(options: argparse.Namespace) -> None:
    """Print the module that the program is lowered to."""
    traced = _traced(_with_options(load(options.target), options), options)
    say(traced.lower().as_text(options.dialect, debug_info=options.debug_info))


def run_command(options: argparse.Namespace) -> None:
    """Run on arrays from a file and print the results.

    FILE.mlir in place of a function is a module of the autobatch dialect, as text or bytecode.
    """
    if options.target.endswith(MODULES):
        _run_module(options)
        return
    function = _with_options(load(options.target), options)
    inputs = _inputs(options)
    numbered = [inputs.pop(f"arr_{i}") for i in range(len(inputs)) if f"arr_{i}" in inputs]
    if options.stats:
        result, stats = function.with_stats(*numbered, **inputs)
        say(as_json(result), stats, sep="\n")
    else:
        say(as_json(function(*numbered, **inputs)))


def export_command(options: argparse.Namespace) -> None:
    """Write a function to a file that runs without its code, and print what its modules take and return.

    A batch of size 0 or of a size with a name, as in "i32[b]", stands for batches of any size.
    """
    arguments = _arguments(options)
    how = {"platforms": options.platforms and options.platforms.split(","), "target_version": options.target_version}
    function = _with_options(load(options.target), options)
    try:
        artifact = export(function, *arguments.positional, **how, **arguments.keyword)
        path = artifact.save(options.output)
        if options.stablehlo is not None and artifact.stablehlo is not None:
            Path(options.stablehlo).write_bytes(artifact.stablehlo)
        if options.jax is not None:
            Path(options.jax).write_bytes(artifact.exported.serialize())
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{options.output} cannot be written: {error.strerror}") from None
    if options.stablehlo is not None and artifact.stablehlo is None:
        raise HloBatchError(
            f"{artifact.name!r} has no module of StableHLO alone: an operation of it has no form there",
            help=f"{path} has the module for JAX.",
        )
    say(f"{path}: {artifact}")


def _inputs(options: argparse.Namespace) -> dict[str, Any]:
    """The arrays in the input file."""
    try:
        with Path(options.inputs).open("rb") as file:  # NumPy does not close a damaged file
            arrays = np.load(file)
            return {"arr_0": arrays} if isinstance(arrays, np.ndarray) else dict(arrays)
    except FileNotFoundError:
        raise UsageError(f"there is no file {options.inputs!r}") from None
    except Exception as error:  # noqa: BLE001  # NumPy passes on errors of at least eight kinds
        raise HloBatchError(
            f"{options.inputs} cannot be read as .npz: {str(error) or type(error).__name__}",
            help="write it with numpy.savez, as arrays of numbers.",
        ) from None


def _run_module(options: argparse.Namespace) -> None:
    """Run a module from a file, written by hand or by ``trace --mlir``."""
    path = Path(options.target)
    if not path.is_file():
        raise UsageError(f"there is no file {options.target!r}")
    disabled = {name.replace("-", "_"): False for name in options.disable}
    given = {"max_steps": options.max_steps, "lanes": options.lanes, "threads": options.threads}
    given["optimizations"] = Optimizations(**disabled)
    named = {"max_stack_depth": options.depth, "schedule": options.schedule, "dispatch": options.dispatch}
    given |= {name: value for name, value in named.items() if value is not None}
    try:
        how = Options(**given)
    except ValueError as error:
        raise UsageError(str(error)) from None
    result, stats = Module.load(path, how).run(_inputs(options), stats=options.stats)
    say(as_json(result), *([stats] if options.stats else []), sep="\n")


def _arguments(options: argparse.Namespace) -> Arguments:
    if options.args is None:
        raise UsageError('this needs the types of the arguments, as in --args "i32[8]"')
    return parse_arguments(options.args)


def _traced(function: BatchedFunction[..., Any], options: argparse.Namespace) -> Traced:
    arguments = _arguments(options)
    return function.trace(*arguments.positional, **arguments.keyword)


def _print_after(function: BatchedFunction[..., Any], options: argparse.Namespace) -> None:
    """Print the program as each named pass leaves it."""
    seen: list[str] = []

    def observe(name: str, program: Program) -> None:
        seen.append(name)
        if options.print_after in (name, "all"):
            say(f"// after {name}\n{program}")

    with observed(observe):
        traced = _traced(function, options)
        _ = traced.program, traced.lowered_program, traced.machine_program
    if options.print_after not in (*seen, "all"):
        raise UsageError(f"{options.print_after!r} did not run; those that did: {', '.join(seen)}")


# Functions


_MODULE: Final = "__hlobatch_main__"
"""Module name of the user's file while it runs, like ``__main__`` for a script."""


def load(target: str) -> BatchedFunction[..., Any]:
    """The batched function that ``FILE.py:FUNCTION``, or ``MODULE:FUNCTION``, names.

    A file is run as a script would be, its folder first on the path; a module is imported, from the working directory
    as well. A plain function is batched.

    Raises:
        UsageError: There is no such file, module or function.
    """
    file, colon, name = target.rpartition(":")
    if not colon:
        raise UsageError(f"{target!r} does not name a function; write FILE.py:FUNCTION or MODULE:FUNCTION")
    module = _imported(file) if all(map(str.isidentifier, file.split("."))) and not file.endswith(".py") else _run(file)
    function = getattr(module, name, None)
    if isinstance(function, ContextFunction):
        return function.batched
    if isinstance(function, BatchedFunction):
        return function
    if not callable(function):
        found = [key for key, value in vars(module).items() if isinstance(value, BatchedFunction)]
        raise UsageError(f"{file} has no function {name!r}; batched functions there: {', '.join(found) or 'none'}")
    return batch(function)


def _imported(name: str) -> ModuleType:
    """The module with a dotted name."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):  # a module that it imports is missing
            raise
        raise UsageError(f"there is no Python module {name!r}") from None


def _run(file: str) -> ModuleType:
    """The module that running a file makes."""
    path = Path(file)
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UsageError(f"there is no Python file {file!r}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    return module


def _with_options(function: BatchedFunction[..., Any], options: argparse.Namespace) -> BatchedFunction[..., Any]:
    """The function with options from the command line in place of its own."""
    changed = {
        "max_stack_depth": options.depth,
        "max_steps": options.max_steps,
        "lanes": options.lanes,
        "threads": options.threads,
        "schedule": options.schedule,
        "dispatch": options.dispatch,
    }
    disabled = {name.replace("-", "_"): False for name in options.disable}
    old = function.options
    chosen = {name: getattr(old, name) if value is None else value for name, value in changed.items()}
    try:
        return batch(
            function.function,
            in_axes=function.in_axes,
            static_argnames=function.static,
            type_inference=function.type_inference,
            follow=function.follow,
            optimizations=Optimizations(**asdict(old.optimizations) | disabled),
            **chosen,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


# Arguments


@dataclass(frozen=True)
class Arguments:
    """Arguments of a call, arrays as ``jax.ShapeDtypeStruct``."""

    positional: tuple[Any, ...]
    keyword: dict[str, Any]


_ARRAY: Final = re.compile(r"(?P<dtype>[a-z][a-z0-9_]*(?:<[a-z0-9]+>)?)\[(?P<shape>[^\[\]]*)\]")


def parse_arguments(text: str) -> Arguments:
    """Parse arguments such as ``"i32[b], f32[b,3]"``; see ``ARGS_HELP``.

    Raises:
        UsageError: The text has another form.
    """
    return _ArgumentParser(text).arguments()


class _ArgumentParser:
    """Reads arguments as a Python call whose arrays are replaced by names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.scope = jax.export.SymbolicScope()
        self.arrays: dict[str, Any] = {}

    def arguments(self) -> Arguments:
        source = f"f({_ARRAY.sub(self._name, self.text)})"
        try:
            call = ast.parse(source, mode="eval").body
        except SyntaxError as error:
            raise self._error(str(error.msg)) from None
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "f":
            raise self._error("the parentheses do not match")
        names = [keyword.arg for keyword in call.keywords]
        if None in names or len(set(names)) < len(names):
            raise self._error("a keyword is missing, or there twice")
        keyword = {str(k.arg): self._value(k.value) for k in call.keywords}
        return Arguments(tuple(map(self._value, call.args)), keyword)

    def _name(self, match: re.Match[str]) -> str:
        """The name that stands for an array while the text is parsed."""
        name = f"_{len(self.arrays)}"
        try:
            shape = jax.export.symbolic_shape(match["shape"], scope=self.scope) if match["shape"].strip() else ()
        except ValueError as error:
            raise self._error(f"{match[0]}: {error}") from None
        if any(isinstance(dim, int) and dim < 0 for dim in shape):
            raise self._error(f"{match[0]}: a size is negative")
        self.arrays[name] = jax.ShapeDtypeStruct(shape, self._dtype(match["dtype"]))
        return name

    def _dtype(self, name: str) -> Any:
        for dtype in (*map(jnp.dtype, _NUMBERS), *key_dtypes()):
            if name == str(dtype) or f"{name}[]" == str(TensorType(dtype)):
                return dtype
        raise self._error(f"there is no element type {name!r}")

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name() if node.id in self.arrays:
                return self.arrays[node.id]
            case ast.Tuple():
                return tuple(map(self._value, node.elts))
            case ast.List():
                return list(map(self._value, node.elts))
            case ast.Dict() if all(node.keys):
                return {ast.literal_eval(k): self._value(v) for k, v in zip(node.keys, node.values, strict=True) if k}
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise self._error(f"{ast.unparse(node)} is neither an array such as i32[8] nor a literal") from None

    def _error(self, message: str) -> UsageError:
        return UsageError(f"--args {self.text!r}: {message}")


_NUMBERS: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)


# Results


def as_json(result: Any) -> str:
    """A result on one line: arrays as nested lists, keys as their words, complex numbers and other objects as text."""

    def plain(leaf: Any) -> Any:
        if isinstance(leaf, jax.Array) and is_key(leaf):
            leaf = jax.random.key_data(leaf)
        return np.asarray(leaf).tolist() if isinstance(leaf, (jax.Array, np.ndarray, np.generic)) else leaf

    return json.dumps(jax.tree.map(plain, result), default=_leaves)


def _leaves(value: Any) -> Any:
    """A form of an object that JSON has: the leaves of a pytree, or the object as text."""
    leaves = jax.tree.leaves(value)
    return str(value) if leaves == [value] else leaves


# The command line


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hlobatch",
        description="See what a batched function becomes, run it, and write it to a file.",
        epilog="`hlobatch COMMAND --help` tells more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version('hlobatch')}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    trace = _command(commands, "trace", trace_command, "print the program: its blocks, variables and their storage")
    trace.add_argument(
        "--stage",
        choices=STAGES,
        default="typed",
        help="frontend: as written, without types (needs no --args); typed: with calls, typed and allocated (the "
        "default); lowered: with explicit stacks; machine: as it runs, where a block asks what the next one would",
    )
    trace.add_argument(
        "--print-after",
        choices=("all", *(found.name for found in passes())),
        metavar="PASS",
        help="print the program as this pass leaves it, or 'all'",
    )
    trace.add_argument("--mlir", action="store_true", help="as a module of the autobatch dialect, for hlobatch-opt")
    trace.add_argument("--debug-info", action="store_true", help="with places in the source (--mlir only)")
    lower = _command(commands, "lower", lower_command, "print the module that XLA is given")
    lower.add_argument(
        "--dialect",
        choices=DIALECTS,
        default="stablehlo",
        help="autobatch: the program with explicit stacks; stablehlo: the module that is compiled here, for a part of "
        "the batch if that is divided (default); hlo: the same as XLA reads it; portable: StableHLO for any platform",
    )
    lower.add_argument("--debug-info", action="store_true", help="with places in the source (StableHLO only)")
    run = _command(commands, "run", run_command, "run on arrays from a file and print the results as nested lists")
    run.add_argument("--stats", action="store_true", help="also print how often each block ran, and for how many lanes")
    exported = _command(commands, "export", export_command, "write a file that runs without the code")
    exported.add_argument(
        "--output", required=True, metavar="FILE.hlob", help="the file; one that is there is replaced"
    )
    exported.add_argument("--platforms", metavar="NAME,…", help="what it is for: cpu, cuda, rocm, tpu (default: JAX's)")
    exported.add_argument("--stablehlo", metavar="FILE", help="also write the bare StableHLO module by itself")
    exported.add_argument("--jax", metavar="FILE", help="also write what jax.export.deserialize reads")
    exported.add_argument("--target-version", metavar="N.N.N", help="the version of StableHLO that module is for")
    for command in (trace, lower, exported):
        command.add_argument("--args", help="types of the arguments, batch axis first; see below")
    run.add_argument(
        "--inputs",
        required=True,
        metavar="FILE.npz",
        help="arrays with the batch axis first, named after the parameters, or in order as numpy.savez names them",
    )
    return parser


def _command(commands: Any, name: str, function: Callable[[argparse.Namespace], None], summary: str) -> Any:
    """A command with the options that all commands have."""
    needed = "--inputs FILE.npz" if name == "run" else "--args ARGS" + " --output FILE.hlob" * (name == "export")
    command = commands.add_parser(
        name,
        help=summary,
        usage=f"hlobatch {name} FILE.py:FUNCTION {needed} [options]",
        description=inspect.getdoc(function),
        epilog=None if name == "run" else ARGS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(command=function, parser=command)
    also = "; or FILE.mlir, a module of the autobatch dialect" if name == "run" else ""
    command.add_argument(
        "target", metavar="FILE.py:FUNCTION", help=f"a function, batched or plain, or MODULE:FUNCTION{also}"
    )
    group = command.add_argument_group("how it runs (default: as the function's decorator says)")
    group.add_argument("--depth", type=int, metavar="N", help="frames each stack holds to begin with")
    group.add_argument("--lanes", type=int, metavar="N", help="inputs in flight at once; the rest wait in a queue")
    group.add_argument("--threads", type=int, metavar="N", help="parts of the batch that run side by side")
    group.add_argument("--max-steps", type=int, metavar="N", help="blocks that one input may run")
    group.add_argument("--schedule", choices=SCHEDULES, help="which block runs next")
    group.add_argument("--dispatch", choices=DISPATCHES, help="how the loop picks blocks")
    group.add_argument(
        "--disable",
        choices=PASSES,
        action="append",
        default=[],
        metavar="NAME",
        help=f"leave out an optimization: {', '.join(PASSES)}",
    )
    return command


if __name__ == "__main__":
    sys.exit(main())
