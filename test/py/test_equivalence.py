"""Every program of the zoo, through every executor, equals the plain Python function example by example.

By day every program is interpreted and run as a kernel, and all other forms, with passes off one by one among them, are
divided between the programs, so that each form meets all features of programs. ``"chosen"`` is the form without any
option; other names that do not contain a form mean XLA's loop over all lanes. At night each program runs in all forms,
and many programs with all batches.
"""

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shares
from compiling_little import optimizing_kernels
from neighbors import share_operations
from on_threads import (
    CROWDED,
    FEW_AT_HAND,
    IN_A_LOOP,
    IN_TURN,
    MEETING,
    WARPS,
    WARPS_IN_TURN,
    WARPS_WITH_LITTLE,
    handing_everything_over,
    on_threads,
)
from own_code import HAS_LLVM, WITHOUT, checking
from shares import covering, features
from typed_once import typed_once  # noqa: F401  # a fixture
from zoo import (
    LOOP,
    PASSES,
    ROWS,
    UNOPTIMIZED,
    ZOO,
    ZooProgram,
    optimizing_in_full,
    optimizing_little,
)

import hlobatch as hb
from hlobatch import stackless, virtual_machine
from hlobatch.kernels.processors import Processor

BATCHES = (0, 1, 2, ROWS)
DEPTH = 64
"""Enough for every program of the zoo: the virtual machine's stacks do not grow."""

Run = Callable[[ZooProgram, int], Any]
"""Runs a program on a batch; its result has a batch axis."""


# Executors


@functools.cache
def variant(program: ZooProgram, **options: Any) -> hb.BatchedFunction:
    """The program in a loop over all lanes, if the options do not say otherwise."""
    return program.variant(**{"optimizations": LOOP, **options})


def chosen(program: ZooProgram, batch: int) -> Any:
    """The program with default options."""
    with optimizing_little():
        return program.function(*program.inputs(batch))


def compiled(program: ZooProgram, batch: int) -> Any:
    with optimizing_little():
        return variant(program)(*program.inputs(batch))


def compiled_in_full(program: ZooProgram, batch: int) -> Any:
    with optimizing_in_full():
        return variant(program)(*program.inputs(batch))


def compiled_with(**options: Any) -> Run:
    def run(program: ZooProgram, batch: int) -> Any:
        with optimizing_little():
            return variant(program, **options)(*program.inputs(batch))

    return run


def compacted(**options: Any) -> Run:
    """Every block computed on arrays of one lane, of two, or of all, whether it pays or not."""
    run = compiled_with(**options)

    def everywhere(program: ZooProgram, batch: int) -> Any:
        with mock.patch(
            "hlobatch.runtime.plan.widths",
            lambda layout, _: dict.fromkeys(range(len(layout.program.graph.blocks)), (1, 2)),
        ):
            return run(program, batch)

    return everywhere


def as_on_accelerator(**options: Any) -> Run:
    """Lowered as for a platform that is no CPU, and run on one."""
    run = compiled_with(max_stack_depth=20, **options)  # a depth of its own, and so nothing that others have compiled

    def elsewhere(program: ZooProgram, batch: int) -> Any:
        with (
            mock.patch("jax.default_backend", return_value="tpu"),
            mock.patch("hlobatch.runtime.primitive.lowering_platforms", return_value=("tpu",)),
            mock.patch("hlobatch.runtime.primitive.is_for_one_cpu", return_value=False),
        ):
            return run(program, batch)

    return elsewhere


def by_kernel(*, dispatch: str = "kernel", checked: bool = False, in_jit: bool = False, **options: Any) -> Run:
    """The program as a kernel or as gangs; for a program without one, check the error, and run XLA's loop."""

    def run(program: ZooProgram, batch: int) -> Any:
        alone = program.variant(dispatch=dispatch, **options)
        with checking() if checked else contextlib.nullcontext(), optimizing_little():
            if program.name in WITHOUT and batch:
                with pytest.raises(hb.KernelError, match=WITHOUT[program.name]):
                    alone(*program.inputs(batch))
                return variant(program)(*program.inputs(batch))
            return within_jit(alone, program.inputs(batch)) if in_jit else alone(*program.inputs(batch))

    return run


def by_grid(*processors: Processor, in_jit: bool = False, checked: bool = False, **options: Any) -> Run:
    """The program as a kernel for a GPU, whose threads a CPU runs one after the other.

    Args:
        *processors: The GPU, and the one on which accesses are checked.
        in_jit: Whether it runs inside of a `jax.jit`.
        checked: Whether each access to memory is checked.
        **options: Options of `hb.batch`.
    """
    usual, little = processors or (IN_A_LOOP, FEW_AT_HAND)
    run = by_kernel(in_jit=in_jit, checked=checked, **options)

    def there(program: ZooProgram, batch: int) -> Any:
        with on_threads(little if checked else usual):
            return run(program, batch)

    return there


def in_turn(processor: Processor) -> Run:
    """The program as a kernel for a GPU, with every primitive computed by XLA in turn with it."""
    run = by_grid(processor, processor, max_stack_depth=24, checked=True)

    def there(program: ZooProgram, batch: int) -> Any:
        with handing_everything_over():
            return run(program, batch)

    return there


def within_jit(function: Callable[..., Any], arguments: Any) -> Any:
    """A call inside of ``jax.jit``, on its arguments."""
    leaves, structure = jax.tree.flatten(arguments)
    arrays = {i: x for i, x in enumerate(leaves) if isinstance(x, (np.ndarray, jax.Array))}
    return jax.jit(lambda given: function(*structure.unflatten([given.get(i, x) for i, x in enumerate(leaves)])))(
        arrays
    )


def inside_jit(*, constants: bool) -> Run:
    """The program inside of a ``jax.jit``, with its inputs as arguments or as constants."""

    def run(program: ZooProgram, batch: int) -> Any:
        leaves, structure = jax.tree.flatten(program.inputs(batch))
        arrays = {i: x for i, x in enumerate(leaves) if not constants and isinstance(x, (np.ndarray, jax.Array))}

        def call(given: dict[int, Any]) -> Any:
            return variant(program)(*structure.unflatten([given.get(i, x) for i, x in enumerate(leaves)]))

        with optimizing_little():
            return jax.jit(call)(arrays)

    return run


@functools.cache
def block_code_cache(program: ZooProgram) -> dict[Any, Any]:
    """One cache for all eager executors of a program."""
    return {}


@functools.lru_cache(maxsize=1)
def forget_others(program: ZooProgram) -> None:
    """Drop what was compiled for other programs: that of some hundred tests takes gigabytes."""
    variant.cache_clear()
    block_code_cache.cache_clear()
    share_operations(program, ZOO)


def run_stackless(backend: stackless.Backend) -> Run:
    def run(program: ZooProgram, batch: int) -> Any:
        cache = block_code_cache(program)
        with optimizing_little():
            (result,) = stackless.execute(program.traced.program, backend, cache, *program.batch_first(batch))
        return result

    return run


def run_virtual_machine(backend: virtual_machine.Backend) -> Run:
    def run(program: ZooProgram, batch: int) -> Any:
        lowered, cache = program.traced.lowered_program, block_code_cache(program)
        with optimizing_little():
            (result,) = virtual_machine.execute(lowered, program.batch_first(batch), DEPTH, backend, cache)
        return result

    return run


def interpreted(select: Callable[[hb.Traced], hb.Program]) -> Run:
    """The definitional interpreter, example by example."""

    def run(program: ZooProgram, batch: int) -> Any:
        code = select(program.traced)
        return stacked([hb.instructions.interpret(code, *program.example(row)) for row in range(batch)])

    return run


KERNELS: dict[str, Run] = {
    "kernel": by_kernel(),
    "kernel_checked": by_kernel(checked=True, max_stack_depth=1),
    "kernel_threads": by_kernel(threads=3),
    "kernel_queue": by_kernel(lanes=1),
    "kernel_inside_jit": by_kernel(in_jit=True, max_stack_depth=DEPTH),
    "kernel_unoptimized": by_kernel(optimizations=UNOPTIMIZED),
    "grid": by_grid(max_stack_depth=21, checked=True),
    "grid_inside_jit": by_grid(in_jit=True, max_stack_depth=DEPTH),
    "warps": by_grid(WARPS, WARPS_WITH_LITTLE, max_stack_depth=22, checked=True),
    "warps_inside_jit": by_grid(WARPS, WARPS, in_jit=True, max_stack_depth=DEPTH),
    "meeting": by_grid(MEETING, MEETING, max_stack_depth=23, checked=True),
    "in_turn": in_turn(IN_TURN),
    "warps_in_turn": in_turn(WARPS_IN_TURN),
    "crowded": by_grid(CROWDED, CROWDED, max_stack_depth=23, checked=True),
    "gang": by_kernel(dispatch="gang"),
    "gang_checked": by_kernel(dispatch="gang", checked=True, max_stack_depth=1),
    "gang_threads": by_kernel(dispatch="gang", threads=3),
    "gang_inside_jit": by_kernel(dispatch="gang", in_jit=True, max_stack_depth=DEPTH),
    "gang_unoptimized": by_kernel(dispatch="gang", optimizations=UNOPTIMIZED),
}

EXECUTORS: dict[str, Run] = {
    "chosen": chosen,
    "compiled": compiled,
    "compiled_in_full": compiled_in_full,
    "interpret": interpreted(lambda traced: traced.program),
    "interpret_lowered": interpreted(lambda traced: traced.lowered_program),
    "stackless_numpy": run_stackless(stackless.NumpyBackend()),
    "stackless_jax": run_stackless(stackless.JaxBackend()),
    "stackless_xla": run_stackless(stackless.XlaBackend()),
    "vm_numpy": run_virtual_machine(virtual_machine.NumpyBackend()),
    "vm_jax": run_virtual_machine(virtual_machine.JaxBackend()),
    "vm_xla": run_virtual_machine(virtual_machine.XlaBackend()),
    "case": compiled_with(dispatch="case", schedule="earliest"),
    "chain": compiled_with(dispatch="chain", schedule="earliest"),
    "guarded": compiled_with(dispatch="guarded"),
    "sweep": compiled_with(dispatch="sweep"),
    "cost": compiled_with(dispatch="case", schedule="cost"),
    "cost_chain": compiled_with(dispatch="chain", schedule="cost"),
    "most_lanes": compiled_with(dispatch="chain", schedule="most_lanes"),
    "queue": compiled_with(lanes=3),
    "queue_cost": compiled_with(lanes=3, dispatch="chain", schedule="cost"),
    "queue_case": compiled_with(lanes=3, dispatch="case"),
    "queue_guarded": compiled_with(lanes=3, dispatch="guarded"),
    "queue_sweep": compiled_with(lanes=3, dispatch="sweep"),
    "threads": compiled_with(threads=3),
    "threads_queue": compiled_with(threads=2, lanes=6, dispatch="chain", schedule="cost"),
    "compacted": compacted(dispatch="chain", schedule="earliest", max_stack_depth=16),
    "compacted_queue": compacted(lanes=4, dispatch="guarded"),
    "accelerator_sweep": as_on_accelerator(dispatch="sweep"),
    "accelerator_chain": as_on_accelerator(dispatch="chain", schedule="cost"),
    "accelerator_queue": as_on_accelerator(lanes=4),
    "inside_jit": inside_jit(constants=False),
    "constants_inside_jit": inside_jit(constants=True),
    **(KERNELS if HAS_LLVM else {}),
    "unoptimized": compiled_with(optimizations=UNOPTIMIZED),
    **{f"without_{name}": compiled_with(optimizations=replace(LOOP, **{name: False})) for name in PASSES},
}

EACH: tuple[tuple[str, int], ...] = (
    ("interpret", 2),
    ("kernel_checked" if HAS_LLVM else "compiled", ROWS),
)
"""What every program has in the usual run: executors with their batches."""

SMALL: tuple[tuple[str, int], ...] = tuple(
    (executor, batch)
    for executor in ("compiled", "vm_numpy", *(("kernel", "gang") if HAS_LLVM else ()))
    for batch in BATCHES[:-1]
)
"""Executors that have the other batches, too, in the usual run."""

LEFT_TO_THE_NIGHT = (
    "interpret",
    "interpret_lowered",
    "compiled_in_full",
    "stackless_jax",
    "vm_jax",
    "vm_xla",
    "crowded",
    "in_turn",
    "warps_in_turn",
)
"""Executors that do not run all rows in the usual run."""

WITHOUT_A_PASS: tuple[tuple[str, int], ...] = tuple((f"without_{name}", ROWS) for name in PASSES)
"""Executors with one optimization off, which every third program divides with the others in the usual run."""

DIVIDED: tuple[tuple[str, int], ...] = (
    ("interpret_lowered", 2),
    *SMALL,
    *(
        (name, ROWS)
        for name in EXECUTORS
        if name not in LEFT_TO_THE_NIGHT and (name, ROWS) not in (*EACH, *WITHOUT_A_PASS)
    ),
)
"""All other executors that programs divide between each other in the usual run, each program having one."""

FEATURES = {program.name: features(program.function.function) for program in ZOO}
EACH_THIRD = dict([*FEATURES.items()][::3])
DIVISIONS = (covering(FEATURES, DIVIDED, 1), covering(EACH_THIRD, WITHOUT_A_PASS, 1))
BY_DAY = {name: [form for division in DIVISIONS for form in division.get(name, ())] for name in FEATURES}

AS_FOR_USERS = ("chosen", *(name for name in KERNELS if name.startswith(("kernel", "gang")) and "checked" not in name))
"""Executors whose kernels LLVM optimizes as for users, by day as well."""

IN_EVERY_BATCH = (
    "compiled", "vm_numpy", "interpret", "interpret_lowered", "kernel_checked", "stackless_numpy", "stackless_xla",
    "stackless_jax", "case", "chain", "guarded", "sweep", "most_lanes", "queue_cost", "queue_guarded", "threads",
    "accelerator_sweep", "constants_inside_jit", "chosen", "unoptimized", "kernel",
    "kernel_inside_jit", "gang", "gang_checked", "grid",
)  # fmt: skip
"""Executors that have every batch at night."""


def grid() -> Iterator[Any]:
    """Cases program by program: neighbors share what is cached. An empty batch has no example to interpret."""
    for program in ZOO:
        usual = {*EACH, *BY_DAY[program.name]}
        for executor in EXECUTORS:
            for batch in BATCHES if executor in IN_EVERY_BATCH else (ROWS,):
                is_usual = (executor, batch) in usual
                if (is_usual or shares.by_night) and (batch or not executor.startswith("interpret")):
                    marks = () if is_usual else (pytest.mark.slow,)
                    yield pytest.param(program, executor, batch, id=f"{program.name}-{executor}-{batch}", marks=marks)


def test_by_day_forms_meet_features() -> None:
    """Each form runs on a program, and with whatever most programs are written with."""
    often = Counter(feature for has in FEATURES.values() for feature in has)
    met = Counter((form, feature) for name, has in FEATURES.items() for form in BY_DAY[name] for feature in {*has, ""})
    for form in (*DIVIDED, *WITHOUT_A_PASS):
        assert met[form, ""] >= 1
        assert [feature for feature, count in often.items() if count > 90 and not met[form, feature]] == []


# Comparison


def array(leaf: Any) -> np.ndarray[Any, Any]:
    """A leaf of a result as NumPy has it: keys as their words, Python numbers in JAX's default types."""
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(jnp.asarray(leaf))


def stacked(results: list[Any]) -> Any:
    """Results of examples as one result with a batch axis."""
    return jax.tree.map(lambda *leaves: np.stack([array(leaf) for leaf in leaves]), *results)


def strong_types(results: list[Any]) -> list[set[Any]]:
    """For each leaf, the types of its arrays: those of Python numbers adopt them."""

    def types(*leaves: Any) -> set[Any]:
        return {array(x).dtype for x in leaves if isinstance(x, jax.Array) and not getattr(x, "weak_type", False)}

    return jax.tree.leaves(jax.tree.map(types, *results), is_leaf=lambda x: isinstance(x, set))


def assert_close(got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], ulps: int) -> None:
    """Equal; floats to within some steps of their precision."""
    if not jnp.issubdtype(got.dtype, jnp.inexact) or not ulps:
        np.testing.assert_array_equal(got, wanted)
        return
    wanted = wanted.astype(got.dtype)
    difference = np.abs(got - wanted)
    allowed = ulps * float(jnp.finfo(got.dtype).eps) * np.abs(wanted)
    assert (difference <= allowed).all(), f"off by {(difference / np.abs(wanted)).max():.3g}: {got} against {wanted}"


def assert_is_expected(program: ZooProgram, batch: int, result: Any) -> None:
    """The result of a batch equals the results of its examples: structure, shapes, types, values."""
    wanted = stacked(program.expected)
    assert jax.tree.structure(result) == jax.tree.structure(wanted)
    triples = zip(jax.tree.leaves(result), jax.tree.leaves(wanted), strong_types(program.expected), strict=True)
    for got, rows, types in triples:
        got, rows = array(got), rows[:batch]
        assert got.shape == rows.shape
        assert types <= {got.dtype}
        assert_close(got, rows, program.ulps)


@pytest.mark.usefixtures("typed_once")
@pytest.mark.parametrize(("program", "executor", "batch"), list(grid()))
def test_zoo(program: ZooProgram, executor: str, batch: int, capsys: pytest.CaptureFixture[str]) -> None:
    forget_others(program)
    with optimizing_kernels() if executor in AS_FOR_USERS else contextlib.nullcontext():
        result = EXECUTORS[executor](program, batch)
    assert_is_expected(program, batch, result)
    jax.effects_barrier()
    assert_printed(program, batch, capsys.readouterr().out, alone=executor.startswith("interpret"))


def assert_printed(program: ZooProgram, batch: int, text: str, *, alone: bool) -> None:
    """Each lane printed what its example prints; in any order, unless examples were run one by one."""
    if alone:
        assert text == "".join(program.printed[:batch])
        return
    lanes: list[list[str]] = [[] for _ in range(batch)]
    for line in text.splitlines():
        lane, _, rest = line.removeprefix("lane ").partition(": ")
        lanes[int(lane)].append(rest)
    assert lanes == [printed.splitlines() for printed in program.printed[:batch]]


@pytest.mark.parametrize("program", shares.by_day(ZOO, 12), ids=lambda program: program.name)
def test_only_recursion_needs_a_stack(program: ZooProgram) -> None:
    allocations = program.traced.lowered_program.var_alloc.values()
    assert (hb.VariableAllocation.FULL in allocations) == program.recursive
