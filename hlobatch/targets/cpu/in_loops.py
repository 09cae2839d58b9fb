"""A module -> the same, in which operations that XLA emits badly into a kernel are calls of functions with loops.

::

    %c = stablehlo.dot_general %a, %b           %c = call @dot_general(%a, %b)
    %r = stablehlo.reduce %x, %b         ==>    %r = call @reduce(%x, %b)
    %y = stablehlo.scatter %x, %i, %u           %y = call @scatter(%x, %i, %u)

A kernel calls no library. XLA's own code for a contraction, a reduction, a scatter or a sine works on one number at a
time there, and a few of them it cannot emit at all. Each kind of operation has a module that says how it is computed
in loops that LLVM vectorizes: ``contractions.py``, ``reductions.py``, ``scatters.py``, ``trigonometry.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from hlobatch._jax import ir
from hlobatch.analysis.machine_flow import reachable
from hlobatch.lowering.module.splice import CALL, Spliced, Splicer, aval_of, callee, name_of
from hlobatch.lowering.module.while_loop import WHILE
from hlobatch.targets.cpu.contractions import any_contraction_of, contraction_of
from hlobatch.targets.cpu.one_kernel import is_marked
from hlobatch.targets.cpu.outermost import outermost
from hlobatch.targets.cpu.reductions import reduction_of
from hlobatch.targets.cpu.scatters import scatter_of
from hlobatch.targets.cpu.trigonometry import COSINES, SINES, is_little_once, trigonometric_of

DOT: Final = "stablehlo.dot_general"
SCATTER: Final = "stablehlo.scatter"
_FUNCTION: Final = "func.func"
LOOPS: Final[Mapping[str, Callable[[Any], Callable[..., Any] | None]]] = {
    DOT: contraction_of,
    "stablehlo.reduce": reduction_of,
    SCATTER: scatter_of,
    **dict.fromkeys((SINES, COSINES), trigonometric_of),
}
"""By the name of an operation, what makes of it a function of its operands, or None if the operation may stay. Equal
operations get equal functions, which are added to the module once."""


def put_in_loops(module: Any, splicer: Splicer, *, with_scatters: bool) -> None:
    """Replace operations by calls of functions that loop; the module, whose sizes are known, is changed.

    With ``with_scatters``, scatters are replaced, too. They need not be where XLA is asked to expand them to loops
    itself, which are faster. A sine or cosine that runs once on few numbers stays a call of the library: polynomials
    take longer to compile than they save.
    """
    runs_once = _Once(module)
    wanted = LOOPS if with_scatters else LOOPS.keys() - {SCATTER}
    operations = [o for o in outermost(module.operation, wanted) if not (is_little_once(o) and runs_once(o))]
    _replace([(operation, LOOPS[operation.name](operation)) for operation in operations], splicer)


def put_dots_in_loops(module: Any, splicer: Splicer) -> None:
    """Replace all contractions in kernels by calls of functions that loop; the module is changed.

    XLA's CPU backend hands some contractions to a library, even small ones of some shapes. In a kernel it cannot, and
    fails to compile. An option of the compiler forbids libraries, but a run inside a user's ``jit`` is compiled with
    the user's options, so there no contraction may be left in a kernel.
    """
    called = _called(module)
    kernels = [callee(call) for call in outermost(module.operation, (CALL,)) if is_marked(call)]
    functions = ir.SymbolTable(module.operation)
    inside = [o for name in reachable(called, kernels) for o in outermost(functions[name].operation, (DOT,))]
    _replace([(operation, any_contraction_of(operation)) for operation in inside], splicer)


def _replace(loops: Iterable[tuple[Any, Callable[..., Any] | None]], splicer: Splicer) -> None:
    """Replace operations by calls of functions of their operands, where these are given."""
    functions: dict[Any, Spliced] = {}
    for operation, run in loops:
        if run is None:
            continue
        given = [aval_of(value) for value in operation.operands]
        key = (run, *((aval.shape, aval.dtype) for aval in given))
        if key not in functions:
            functions[key] = splicer.add(
                lambda *a, run=run: [run(*a)], given, operation.name.removeprefix("stablehlo.")
            )
        with ir.InsertionPoint(operation):
            (result,) = splicer.call(functions[key], list(operation.operands))
        operation.results[0].replace_all_uses_with(result)
        operation.erase()
    splicer.finish()


@dataclass(frozen=True)
class _Once:
    """Whether an operation of a module runs once at most."""

    module: Any

    def __call__(self, operation: Any) -> bool:
        while operation.name != _FUNCTION:
            if operation.name == WHILE:
                return False
            operation = operation.parent.operation
        return name_of(operation) not in self._in_loops

    @cached_property
    def _in_loops(self) -> frozenset[str]:
        """The functions that are called in a loop, and those that they call."""
        loops = outermost(self.module.operation, (WHILE,))
        return frozenset(reachable(_called(self.module), (name for loop in loops for name in _called_in(loop))))


def _called(module: Any) -> dict[str, list[str]]:
    """The functions that each function of a module calls."""
    return {name_of(f): _called_in(f) for f in outermost(module.operation, (_FUNCTION,))}


def _called_in(operation: Any) -> list[str]:
    return [callee(call) for call in outermost(operation, (CALL,))]
