"""A lowered program -> a StableHLO module with one loop.

The module's ``main`` takes the captured arrays, the inputs, the shared values if they are given, the state to resume a
run that was stopped and, of a run in stretches, how many turns its loop may make; it gives back the results, a code
that says what stopped the run, and the fate of each input, or the state, from which fates follow::

    %shared = call @shared(…)                   or what is given
    %state = call @start(…)                     or  call @resume(%state…)
    %end = stablehlo.while(%state) cond { earliest < done } do { one turn }      or, where no lane goes back, one turn
    %results, %stopped, %status = call @finish(%end, %shared)      or, without the status, %end
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from hlobatch._jax import func, ir, mlir
from hlobatch.analysis.block_groups import Groups
from hlobatch.analysis.machine_flow import never_goes_back
from hlobatch.lowering.blocks.block import block_functions
from hlobatch.lowering.blocks.compaction import Widths
from hlobatch.lowering.module.functions import new_function
from hlobatch.lowering.module.scalars import scalar_aval
from hlobatch.lowering.module.splice import Splicer, type_of
from hlobatch.lowering.module.while_loop import loop
from hlobatch.lowering.state import ending
from hlobatch.lowering.state.captures import Captures, captures
from hlobatch.lowering.state.layout import LOG, LOGGED, Layout
from hlobatch.lowering.turns.dispatch import EachInOrder, turn_of
from hlobatch.lowering.turns.lanes import Lanes
from hlobatch.lowering.turns.schedule import Schedule
from hlobatch.transforms.pipeline import dump
from hlobatch.typing import ArrayLike, Arrays


@dataclass(frozen=True)
class Request:
    """What a module is built from.

    Attributes:
        layout: The state of the run.
        form: How blocks are dispatched; one of ``dispatch.FORMS``.
        groups: The blocks that run in one step.
        schedule: Finds the next group.
        rounds: Times that all blocks are dispatched between two tests of whether a lane has something left to do.
        share: Lanes that are done take new inputs when at least one in ``share`` lanes is done.
        widths: By block, the widths of narrower arrays that its primitives run on where few lanes wait.
        in_place: Whether arrays of which a primitive changes a part are updated where they are.
        light_ties: Whether only the slots that have to be tied to a block's loop are tied; see ``module/tie.py``.
        shared_given: Whether the shared values are operands instead of being computed.
        resume: Whether the run goes on from a given state instead of starting.
        keep_state: Whether the state is among the results, in place of the fate of each input.
        platforms: What the module is compiled for.
        embed_captures: Whether captured arrays are constants of the module instead of operands.
        marks_stopped: Whether results of stopped inputs are NaN or the least integer, since a caller may not look
            at fates.
    """

    layout: Layout
    form: str
    groups: Groups
    schedule: Schedule
    rounds: int
    share: int
    widths: Widths
    in_place: bool = True
    light_ties: bool = True
    shared_given: bool = False
    resume: bool = False
    keep_state: bool = True
    platforms: tuple[str, ...] = ("cpu",)
    embed_captures: bool = False
    marks_stopped: bool = False


def to_stablehlo(request: Request, context: Any = None) -> Any:
    """Build the module.

    Args:
        request: What to build.
        context: The MLIR context to build in; a new one if None.

    Returns:
        An MLIR module whose ``main`` has the operands ``[sizes…, captured…, inputs…, shared…, state…, turns]`` (shared
        values only where they are given, the state only to resume, turns only in stretches) and the results
        ``[results…, stopped, status]``, and behind it the logs, or ``[results…, stopped, state…]``.
    """
    context = context or mlir.make_ir_context()
    with context, ir.Location.name("hlobatch"):
        module = ir.Module.create()
        module.operation.attributes["sym_name"] = ir.StringAttr.get("hlobatch")
        _Builder(request, module).build()
        module.operation.verify()
        dump("to-stablehlo", module, suffix=".mlir")
    return module


def start_of(request: Request) -> Callable[..., list[Any]]:
    """A function of captured arrays, inputs, and shared values if they are given, to the state before the first turn.

    JAX can trace it apart from the module; a module that resumes then goes on from its state.
    """
    reads = captures(request.layout.program)
    lanes, count = Lanes(request.layout, request.share), len(reads.arrays)
    last = count + len(request.layout.input_avals)

    def start(*operands: ArrayLike) -> list[Any]:
        captured, inputs = operands[:count], operands[count:last]
        shared = operands[last:] or lanes.inputs.shared(reads, captured, inputs)
        given = lanes.inputs.named(captured, inputs, shared)
        return lanes.start(*(given[slot] for slot in lanes.inputs.slots))

    return start


class _Builder:
    def __init__(self, request: Request, module: Any) -> None:
        self.request = request
        self.layout = request.layout
        self.module = module
        self.captures: Captures = captures(self.layout.program)
        self.lanes = Lanes(request.layout, request.share)
        self.inputs = self.lanes.inputs
        self.splicer = Splicer(module, request.platforms)

    def build(self) -> None:
        layout, request = self.layout, self.request
        operands = [] if request.embed_captures else list(self.captures.avals)
        operands += layout.input_avals
        operands += layout.shared_slots.values() if request.shared_given else ()
        operands += layout.slots.values() if request.resume else ()
        operands += [scalar_aval()] if layout.stretches else ()
        size = _symbol_of(layout.inputs)
        types = [_scalar_type()] if size else []
        types += map(type_of, operands)
        with ir.InsertionPoint(self.module.body):
            main, entry = new_function("main", types, [], is_public=True)
        arguments = list(entry.arguments)
        if size:
            self.splicer.sizes = [arguments.pop(0)]
            marks = [
                ir.DictAttr.get({"jax.global_constant": ir.StringAttr.get(size)}),
                *[ir.DictAttr.get({})] * len(operands),
            ]
            main.attributes["arg_attrs"] = ir.ArrayAttr.get(marks)
        with ir.InsertionPoint(entry):
            results = self._main(arguments)
            func.ReturnOp(results)
        kind = ir.FunctionType.get(types, [value.type for value in results])
        main.attributes["function_type"] = ir.TypeAttr.get(kind)
        self.splicer.finish()

    def _main(self, arguments: Sequence[Any]) -> list[Any]:
        layout, call, add = self.layout, self.splicer.call, self.splicer.add
        supply = iter(arguments)
        captured = self._constants() or list(islice(supply, len(self.captures.arrays)))
        inputs = list(islice(supply, len(layout.input_avals)))
        given, count = self.request.shared_given, len(layout.shared_slots)
        shared = list(islice(supply, count)) if given else self._shared(captured, inputs)
        fixed = self.inputs.named(captured, inputs, shared)
        slots = list(layout.slots.values())
        if self.request.resume:
            state = call(add(self.lanes.resume, slots, "resume"), list(islice(supply, len(slots))))
        else:
            reads, avals = self.inputs.slots, self._avals
            start = add(self.lanes.start, [avals[slot] for slot in reads], "start")
            state = call(start, [fixed[slot] for slot in reads])
        state = self._loop(state, fixed, list(supply))
        finished = call(add(self._finish, [*slots, *layout.shared_slots.values()], "finish"), [*state, *shared])
        return [*finished, *(state if self.request.keep_state else ())]

    def _finish(self, *arrays: ArrayLike) -> list[Any]:
        """The results, what stopped the run and, unless the state is given back, the fates of inputs and the logs."""
        layout, count = self.layout, len(self.layout.slots)
        state, shared = arrays[:count], arrays[count:]
        results, stopped = ending.results(layout, state, shared), ending.stopped(layout, state)
        if self.request.keep_state:
            return [*results, stopped]
        status = ending.status(layout, state)
        if self.request.marks_stopped and layout.may_stop:
            results = results[:-1] if layout.failure is not None else results  # an exported file makes no exceptions
            results = ending.marked(results, status)
        logs = dict(zip(layout.slots, state, strict=True))
        return [*results, stopped, status, *(logs[slot] for slot in (LOG, LOGGED) if slot in logs)]

    # Shapes and dtypes

    @cached_property
    def _avals(self) -> dict[str, Any]:
        """Shapes and dtypes of the state, and of the values that do not change, by slot."""
        fixed = self.inputs.named(self.captures.avals, self.layout.input_avals, list(self.layout.shared_slots.values()))
        return {**self.layout.slots, **fixed}

    # What is computed before the loop

    def _shared(self, captured: Sequence[Any], inputs: Arrays) -> list[Any]:
        """The shared values, computed in the module."""
        if not self.layout.shared:
            return []
        count = len(captured)
        function: Callable[..., Any] = lambda *a: self.inputs.shared(self.captures, a[:count], a[count:])  # noqa: E731
        avals = [*self.captures.avals, *self.layout.input_avals]
        return self.splicer.call(self.splicer.add(function, avals, "shared"), [*captured, *inputs])

    def _constants(self) -> list[Any]:
        """The captured arrays as constants of the module; empty if they are operands."""
        if not self.request.embed_captures or not self.captures.arrays:
            return []
        operands = self.captures.operands()
        return self.splicer.call(self.splicer.add(lambda: operands, [], "captured"), [])

    def _loop(self, state: list[Any], fixed: dict[str, Any], turns: list[Any]) -> list[Any]:
        """The state when all lanes are done, or when the given number of turns has been made."""
        layout = self.layout
        blocks = block_functions(layout, self.captures, self.request.widths, in_place=self.request.in_place)
        request = self.request
        groups = [[blocks[i] for i in group] for group in request.groups]
        make = turn_of(request.form, layout)
        how = request.schedule, request.rounds, request.light_ties
        turn = make(layout, self.lanes, self.splicer, groups, fixed, self._avals, *how)
        entering = dict(zip(layout.slots, state, strict=True))
        if isinstance(turn, EachInOrder) and not (layout.queue or layout.logs) and never_goes_back(layout.program):
            after = turn.once(entering)
            return [after[slot] for slot in layout.slots]
        carried = turn.entering(entering, turns)
        names = list(carried)

        def body(values: Sequence[Any]) -> list[Any]:
            after = turn.body(dict(zip(names, values, strict=True)))
            return [after[name] for name in names]

        end = loop(list(carried.values()), lambda values: turn.condition(dict(zip(names, values, strict=True))), body)
        return end[: len(layout.slots)]


def _symbol_of(size: Any) -> str | None:
    """The name of a symbolic size; None if the size is a number."""
    return None if isinstance(size, int) else str(size)


def _scalar_type() -> Any:
    return ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
