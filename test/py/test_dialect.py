"""The dialect: what is generated is up to date, every constraint and pass is tested, programs survive the way to text.

``Program -> module -> Program`` keeps everything but the form of the primitives' functions, which come back as
StableHLO; from then on, programs and texts are fixed points. Both sides run to equal results.
"""

import dataclasses
import functools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, note, settings
from shares import by_day
from test_equivalence import DEPTH, assert_is_expected, forget_others, interpreted
from test_generated import ROWS as ARGUMENTS
from test_generated import SHARED, expected, load, modules
from zoo import ROWS, ZOO, ZooProgram, optimizing_little

import hlobatch as hb
from hlobatch import opt, stackless, virtual_machine
from hlobatch.dialect import generate, ops, tablegen
from hlobatch.dialect.bytecode import fault
from hlobatch.dialect.code import Code, CodeFunction
from hlobatch.dialect.from_program import from_program
from hlobatch.dialect.op_base import OPS
from hlobatch.dialect.text import as_bytecode, as_text, parse
from hlobatch.dialect.to_program import to_program
from hlobatch.instructions import Op, PrimOp, Program
from hlobatch.ir.code import MOVE
from hlobatch.ir.verifier import RULES
from hlobatch.modules import plan_of
from hlobatch.runtime.execute import execute
from hlobatch.strategy.options import Options
from hlobatch.transforms.pipeline import optimized_program
from hlobatch.values.user_values import user_value

LIT = Path(__file__).parents[1] / "lit"
NIGHT = settings.get_profile(settings.get_current_profile_name()).max_examples > 100
LEVELS = ("program", "lowered_program")
SILENT = [program for program in ZOO if not program.prints]
"""What prints has Python do something, for which the dialect has no operation; see test_printing.py."""
names = pytest.mark.parametrize("program", by_day(SILENT, 8), ids=lambda program: program.name)


# What is generated


@pytest.mark.parametrize("path", generate.OUTPUTS, ids=lambda path: path.name)
def test_generated_files_are_up_to_date(path: Path) -> None:
    text = generate.outputs()[path]
    assert path.read_text(encoding="utf-8") == text, "run `python -m hlobatch.dialect.generate` and read the diff"


def test_the_reader_of_the_definition_refuses_what_it_does_not_know() -> None:
    with pytest.raises(tablegen.TableGenError, match=r"Autobatch\.td:1: this is not read: multiclass"):
        tablegen.definition("multiclass M {\n")
    with pytest.raises(tablegen.TableGenError, match=r"Autobatch\.td:2: this is not read: defvar"):
        tablegen.definition("def A : Dialect {\n  defvar x = 1;\n}\n")


# What is tested


@pytest.mark.parametrize("label", ops.CONSTRAINTS)
def test_every_constraint_is_broken_by_a_test(label: str) -> None:
    text = (LIT / "dialect" / "invalid" / f"{label}.mlir").read_text(encoding="utf-8")
    assert text.startswith(f"// {label}: ")
    by_mlir = ("program_c3", "program_c4")  # whose messages are MLIR's own
    assert ("expected-error" in text) if label in by_mlir else (f"{{{{[{label}] " in text)


def test_rules_of_programs_are_constraints_of_the_dialect() -> None:
    """But for one on variables that the frontend alone makes: which failure a call had."""
    assert set(RULES) - set(ops.CONSTRAINTS) == {"failure_c1"}
    assert [label for op in OPS.values() for label in op.CONSTRAINTS if label not in ops.CONSTRAINTS] == []


@functools.cache
def run_lines() -> str:
    files = [*LIT.glob("**/*.mlir"), *LIT.glob("**/*.py")]
    return "\n".join(re.findall(r"(?:#|//) RUN: (.*)", "\n".join(f.read_text(encoding="utf-8") for f in files)))


@pytest.mark.parametrize("name", sorted(opt.SUMMARIES))
def test_every_pass_is_named_by_a_test(name: str) -> None:
    assert re.search(rf"--{name}\b", run_lines())


# There and back


def without_functions(program: Program) -> Program:
    """The program but for what primitives compute, what the host makes of failures, and the user's word on types."""

    def stripped(op: Op) -> Op:
        return op.replace(function=MOVE) if isinstance(op, PrimOp) else op

    def block(b: hb.instructions.Block) -> hb.instructions.Block:
        return b.replace(instructions=tuple(map(stripped, b.instructions)))

    bare = program.map_graphs(lambda graph: graph.map_blocks(block)).replace(failures=())
    return bare.replace(functions=tuple(f.replace(type_inference=None) for f in bare.functions))


def places(program: Program) -> list[Any]:
    """Everything that comparison of programs leaves out: where things are in the source."""
    found: list[Any] = [program.location]
    for function in program.all_functions:
        found.append(function.location)
        for block in function.graph:
            found += [block.location, *((op.location, getattr(op, "read_at", ())) for op in block.ops)]
    return found


def assert_same(there: Program, back: Program) -> None:
    """All of a program but the form of its functions."""
    assert without_functions(back) == without_functions(there)
    assert list(back.var_defs.items()) == list(there.var_defs.items())
    assert back.var_alloc == there.var_alloc
    assert places(back) == places(there)


def there_and_back(program: Program) -> Program:
    """The program from its text; texts, bytecode and programs are fixed points from then on."""
    text = as_text(from_program(program), debug_info=True)
    back = to_program(parse(text))
    assert_same(program, back)
    assert all(op.code.is_copy or isinstance(op.code, CodeFunction) for op in back.ops if isinstance(op, PrimOp))
    again = from_program(back)
    assert as_text(again, debug_info=True) == text
    assert to_program(again) == back
    from_bytes = to_program(parse(as_bytecode(again)))
    assert from_bytes == back
    assert places(from_bytes) == places(back)
    return back


@pytest.mark.parametrize("level", LEVELS)
@names
def test_zoo_there_and_back(program: ZooProgram, level: str) -> None:
    there_and_back(getattr(program.traced, level))


@names
def test_passes_do_the_same_to_what_was_read(program: ZooProgram) -> None:
    """Costs, loops and copies are all they look at in a primitive, but for those that split it, run it or repeat it."""
    plan = program.traced.plan
    read = to_program(parse(as_text(from_program(plan.specialized), debug_info=True)))
    without = dict.fromkeys(("merge_lists", "split_shared", "fold_constants", "uniform_loops"), False)
    whole = dataclasses.replace(plan.options.optimizations, **without)
    there, back = (optimized_program(code, plan.shared, whole) for code in (plan.specialized, read))
    assert_same(there, back)


@jax.jit
def halvings(n: Any) -> Any:
    return jax.lax.while_loop(lambda s: jnp.any(s[0] != 1), lambda s: (s[0] // 2, s[1] + 1), (n, 0))[1]


@hb.batch(in_axes=(0, None))
def guarded(x, n):
    if x > 0:
        steps = halvings(n)
        x = x + steps
    return x


def test_what_may_not_end_stays_where_it_was_read() -> None:
    """With zeros in ``n`` it does not end, and no lane need want it."""
    plan = guarded.trace(jnp.zeros(8, jnp.int32), jnp.ones(100, jnp.int32)).plan
    read = to_program(parse(as_text(from_program(plan.specialized))))
    for code in (plan.specialized, read):
        assert not [v for v in optimized_program(code, plan.shared).var_defs if "$shared" in v]


@functools.lru_cache(maxsize=4)
def from_text(program: ZooProgram, level: str) -> Program:
    return to_program(parse(as_text(from_program(getattr(program.traced, level)))))


def compiled(program: ZooProgram, code: Program) -> Any:
    plan = plan_of(program.name, code, Options())
    call = program.traced.bind(program.inputs(ROWS), {})
    with optimizing_little():
        found = user_value(execute(plan, call.physical()).results, plan.out_type)
    return found if len(code.vars_out) == 1 else found[0]  # the others say which lanes failed


def by_machine(program: ZooProgram, code: Program) -> Any:
    with optimizing_little():
        return virtual_machine.execute(code, program.batch_first(ROWS), DEPTH, virtual_machine.NumpyBackend())[0]


def by_masks(program: ZooProgram, code: Program) -> Any:
    with optimizing_little():
        return stackless.execute(code, stackless.XlaBackend(), None, *program.batch_first(ROWS))[0]


EXECUTORS = {
    "compiled": (compiled, "program"),
    "compiled_lowered": (compiled, "lowered_program"),
    "virtual_machine": (by_machine, "lowered_program"),
    "stackless": (by_masks, "program"),
}
QUICK = ("fibonacci", "several_results", "computed_once", "closure", "pytrees", "branching_process", "python_numbers")
"""Programs run in the usual tests: recursion, shared values, captured arrays, containers, keys, numbers."""


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    "program",
    [pytest.param(p, id=p.name, marks=() if p.name in QUICK else pytest.mark.slow) for p in SILENT],
)
def test_zoo_runs_from_text(program: ZooProgram, executor: str) -> None:
    forget_others(program)
    run, level = EXECUTORS[executor]
    assert_is_expected(program, ROWS, run(program, from_text(program, level)))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("program", [p for p in ZOO if p.name in QUICK], ids=lambda p: p.name)
def test_zoo_is_interpreted_from_text(program: ZooProgram, level: str) -> None:
    assert_is_expected(program, 2, interpreted(lambda _: from_text(program, level))(program, 2))


@pytest.mark.parametrize("part", range(8) if NIGHT else [0])  # one test of 1,000 would run into its time limit
@settings(max_examples=125 if NIGHT else 5)
@given(source=modules())
def test_generated_there_and_back(part: int, source: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    note(source)
    module = load(source, tmp_path_factory.getbasetemp())
    traced = module.entry.trace(*ARGUMENTS.T, SHARED)
    there_and_back(traced.program)
    code = there_and_back(traced.lowered_program)
    columns = [*ARGUMENTS.T, [SHARED] * len(ARGUMENTS)]
    with optimizing_little():
        (result,) = virtual_machine.execute(code, columns, 16, virtual_machine.NumpyBackend())
    assert result.tolist() == expected(module)


@jax.jit
def pick(condition, x, y):
    return jnp.where(condition, x, y)


@hb.batch(in_axes=(0, None))
def picks(n, c):
    return pick(np.False_, n, jnp.int32(1)) + pick(c > 0, n, jnp.int32(2)) * pick(np.True_, n, jnp.int32(3))


@pytest.mark.parametrize("size", [1, 3])
def test_functions_that_are_called_with_other_constants(size: int) -> None:
    """Where shapes are refined, constants are part of what a function is called with, and one function has one such."""
    program, columns = picks.trace(np.arange(size), 1).lowered_program, [np.arange(size, dtype=np.int32), [1] * size]
    (result,) = virtual_machine.execute(there_and_back(program), columns, 4, virtual_machine.NumpyBackend())
    assert result.tolist() == [1 + n * n for n in range(size)]


UNKNOWN = """
"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "n", pattern = !autobatch.weak<tensor<i32>>, allocation = "register"} : () -> ()
"autobatch.func"() ({
  "autobatch.label"() {name = "top", sync} : () -> ()
  "autobatch.prim"() {callee = @double, ins = [@n], outs = [@n], text = "n + n"} : () -> ()
  "autobatch.return"() : () -> ()
}) {sym_name = "main", ins = [@n], outs = [@n]} : () -> ()
func.func private @double(%a: tensor<?xi32>) -> tensor<?xi32> {
  %0 = "yes"(%a, %a) : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32>
}
"""


def test_operations_that_nobody_knows_are_written_as_they_were_read_and_not_run() -> None:
    program = to_program(parse(UNKNOWN))
    assert to_program(parse(as_text(from_program(program)))) == program
    with pytest.raises(hb.HloBatchError, match="the code of a primitive cannot be lowered"):
        virtual_machine.execute(program, [np.arange(2, dtype=np.int32)], 4, virtual_machine.NumpyBackend())


def test_untyped_programs_are_refused() -> None:
    untyped = hb.instructions.Program(ZOO[0].traced.program.graph, (), {}, (), (), {})
    with pytest.raises(hb.HloBatchError, match="still Python: its variables have no types"):
        from_program(untyped)


def test_what_jax_lowers_for_known_sizes_only_is_refused_at_its_place() -> None:
    def convolve(kernels: Any) -> Any:
        return jnp.convolve(kernels[0], kernels[1])

    program = hb.batch(convolve).trace(jnp.ones((4, 2, 3))).program
    with pytest.raises(hb.HloBatchError, match="for a number of lanes that is not known: Convolutions") as caught:
        from_program(program)
    assert caught.value.location.file == __file__


# Code


PLUS = Code("""
func.func @main(%n: tensor<?xi32>, %k: tensor<i32>) -> tensor<?xi32> {
  %lanes = stablehlo.get_dimension_size %n, dim = 0 : (tensor<?xi32>) -> tensor<i32>
  %shape = stablehlo.reshape %lanes : (tensor<i32>) -> tensor<1xi32>
  %ks = stablehlo.dynamic_broadcast_in_dim %k, %shape, dims = [] : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
  %0 = stablehlo.add %n, %ks : tensor<?xi32>
  return %0 : tensor<?xi32>
}
""")
INT = hb.instructions.tensor(np.int32)


def plus(n: Any, k: Any) -> Any:
    (result,) = CodeFunction.of(PLUS, (INT, INT), (INT,)).flat(n, k)
    return result


def test_code_under_vmap_is_more_lanes() -> None:
    grid, five = jnp.arange(6, dtype=jnp.int32).reshape(2, 3), jnp.int32(5)
    inner = jax.vmap(plus, in_axes=(0, None))
    assert jax.vmap(inner, in_axes=(0, None))(grid, five).tolist() == (grid + 5).tolist()
    across = jax.vmap(inner, in_axes=(1, None), out_axes=1)
    assert across(grid, five).tolist() == (grid + 5).tolist()
    assert jax.jit(across)(grid, five).tolist() == (grid + 5).tolist()


def test_code_runs_lane_by_lane_where_what_it_takes_for_shared_differs() -> None:
    n = jnp.arange(4, dtype=jnp.int32)
    assert jax.vmap(plus)(n, 10 * n).tolist() == [0, 11, 22, 33]
    assert jax.vmap(plus, in_axes=(None, 0))(n[3], n).tolist() == [3, 4, 5, 6]


def test_code_for_any_number_of_lanes_stays_so() -> None:
    (lanes,) = jax.export.symbolic_shape("b")
    avals = jax.ShapeDtypeStruct((lanes,), np.int32), jax.ShapeDtypeStruct((), np.int32)
    lowered = jax.jit(jax.vmap(plus, in_axes=(0, None))).trace(*avals).lower(lowering_platforms=("cpu",)).as_text()
    assert "func.func private @code(%arg0: tensor<?xi32>, %arg1: tensor<i32>) -> tensor<?xi32>" in lowered


def test_code_is_not_differentiated() -> None:
    real = hb.instructions.tensor(np.float32)
    negate = "%0 = stablehlo.negate %x : tensor<?xf32> return %0 : tensor<?xf32>"
    code = Code(f"func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {{ {negate} }}")
    negated = CodeFunction.of(code, (real,), (real,))
    with pytest.raises(hb.HloBatchError, match="cannot be differentiated"):
        jax.grad(lambda x: negated.flat(x)[0])(1.0)


def test_code_that_is_no_stablehlo_is_refused_where_it_is_lowered() -> None:
    operation = '%0 = "my.op"(%x) : (tensor<?xi32>) -> tensor<?xi32>'
    strange = Code(f"func.func @main(%x: tensor<?xi32>) -> tensor<?xi32> {{ {operation} return %0 : tensor<?xi32> }}")
    with pytest.raises(hb.HloBatchError, match="the code of a primitive cannot be lowered"):
        jax.vmap(CodeFunction.of(strange, (INT,), (INT,)).flat)(jnp.arange(3, dtype=jnp.int32))


# Fuzz


def fuzzed(script: str, count: int, seed: int) -> list[int]:
    """The numbers that a script prints, run in a process of its own."""
    arguments = [str(Path(__file__).with_name(script)), str(count), str(seed)]
    run = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return [int(number) for number in re.findall(r"\d+", run.stdout)]


@pytest.mark.parametrize("seed", range(8) if NIGHT else [0])
def test_mutated_texts(seed: int) -> None:
    """In a process of its own, so that a crash is a failure of this test alone."""
    count = 12_500 if NIGHT else 200
    accepted, refused = fuzzed("fuzz_dialect.py", count, seed)
    assert accepted > 0
    assert accepted + refused == count


@pytest.mark.parametrize("seed", range(8) if NIGHT else [0])
def test_mutated_bytecode(seed: int) -> None:
    """MLIR's own reader may end the process (docs/dialect.md); no error but an ``HloBatchError`` leaves ours."""
    count = 5_000 if NIGHT else 200
    accepted, refused, ended = fuzzed("fuzz_bytecode.py", count, seed)
    assert accepted > 0
    assert accepted + refused + ended == count
    assert ended < count / 50


MODULE = """
"autobatch.program"() {entry = @main} : () -> ()
"autobatch.var"() {sym_name = "number", pattern = !autobatch.weak<tensor<f32>>} : () -> ()
"autobatch.func"() ({ "autobatch.return"() : () -> () }) {sym_name = "main", ins = [], outs = []} : () -> ()
"""


@pytest.mark.parametrize("word", ["MLIR", "number", "weak<"], ids=["producer", "string", "type"])
def test_strings_of_bytecode_are_utf8(word: str) -> None:
    """In the header, in the section of strings, in a type that is written as text."""
    data = as_bytecode(parse(MODULE))
    parse(data)
    assert word.encode() in data
    with pytest.raises(hb.HloBatchError, match="a string is not UTF-8"):
        parse(data.replace(word.encode(), b"\xff" * len(word)))


def test_bytecode_with_more_types_than_it_says_is_refused() -> None:
    data = as_bytecode(parse(MODULE))
    refused = 0
    for at in range(len(b"ML\xefR"), len(data)):
        refused += fault(data[:at] + bytes([max(data[at] - 2, 0)]) + data[at + 1 :]) is not None  # one less
    assert fault(data) is None
    assert refused > 0


def test_bytecode_that_ends_too_soon_is_refused() -> None:
    data = as_bytecode(parse(MODULE))
    for end in range(len(b"ML\xefR"), len(data)):
        with pytest.raises(hb.HloBatchError):
            parse(data[:end])


def test_a_place_in_a_file_of_no_name_has_no_source() -> None:
    text = MODULE.replace("@main}", "@f}").replace("() -> ()\n", '() -> () loc("a\\00b":3:1)\n', 1)
    with pytest.raises(hb.HloBatchError, match="there is no function @f to start at") as caught:
        to_program(parse(text))
    assert caught.value.location.line == 3
