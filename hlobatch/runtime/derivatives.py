"""Derivative rules of a run, for ``jax.jvp``, ``jax.linearize``, ``jax.vjp`` and ``jax.grad`` of a batched function.

``run_p`` is the primitive of a run. Forward mode replaces it by a run of the program with tangents. Reverse mode runs
the program itself, and leaves ``tangents_p`` behind, which is linear in tangents; when JAX transposes that, the program
with cotangents is run: forward once more, with a tape, and back. Each of these programs is run by a plan, so that it
can be batched, exported and differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from hlobatch._jax import (
    Half,
    Primitive,
    ShapedArray,
    batching,
    is_linear_operand,
    is_tracer,
    is_zero,
    lower_as_jax,
    mlir,
    register_derivatives,
    register_halves,
    register_transpose,
    varying_alike,
    zero_like,
)
from hlobatch.diagnostics import HloBatchError, Interrupted, LaneError
from hlobatch.gradients.arrays import Array, is_differentiable
from hlobatch.gradients.cotangents import with_cotangents
from hlobatch.gradients.tangents import with_tangents
from hlobatch.runtime.as_function import batched, jvp_of
from hlobatch.runtime.execute import at_once, execute, results_of
from hlobatch.runtime.opened import derived, opened_at, quiet, split, with_captured
from hlobatch.runtime.plan import Plan, Reverse
from hlobatch.runtime.primitive import guard_p, log_avals, run_p, run_within
from hlobatch.runtime.sums import results_with_sums
from hlobatch.typing import ArrayLike, Arrays

Stopped = LaneError | Interrupted

tangents_p = Primitive("hlobatch_tangents")
tangents_p.multiple_results = True


class Tangents(NamedTuple):
    """The plan that runs a program with tangents.

    Attributes:
        plan: The plan, which takes the tangents after the inputs.
        results: The positions of the results that have tangents; these tangents come after all results.
    """

    plan: Plan
    results: tuple[int, ...]


class Cotangents(NamedTuple):
    """The plan that runs a program with cotangents.

    Attributes:
        plan: The plan, which takes the cotangents of results after the inputs.
        inputs: The positions of the inputs whose cotangents it returns, after all results.
        results: The positions of the results whose cotangents it takes.
    """

    plan: Plan
    inputs: tuple[int, ...]
    results: tuple[int, ...]


def _input_arrays(plan: Plan) -> list[Array]:
    """The arrays of the inputs, in order."""
    pairs = zip(plan.specialized.vars_in, plan.in_types, strict=True)
    return [Array(v, place) for v, type_ in pairs for place in range(len(type_.tensor_leaves))]


def _tangents(plan: Plan, inputs: tuple[int, ...]) -> Tangents:
    """The plan with tangents of the inputs at these positions."""

    def made() -> Tangents:
        arrays = _input_arrays(plan)
        with plan.as_typed():
            found = with_tangents(plan.specialized, [arrays[i] for i in inputs])
        count = len(plan.specialized.vars_in)
        names = zip(inputs, found.program.vars_in[count:], strict=True)
        shared = plan.shared.union(name for i, name in names if plan.input_shared[i])
        made = derived(plan, found.program, shared, inputs)
        return Tangents(made, tuple(array.place for array in found.outputs))

    found: Tangents = plan.derived(("tangents", inputs), made)
    return found


def _cotangents(plan: Plan, inputs: tuple[int, ...], results: tuple[int, ...]) -> Cotangents:
    """The plan with cotangents of the inputs at some positions, given the cotangents of some results."""

    def made() -> Cotangents:
        arrays, result = _input_arrays(plan), plan.specialized.vars_out[0]
        with plan.as_typed():
            wanted = [Array(result, i) for i in results]
            of, options = [arrays[i] for i in inputs], plan.options
            how = {"checkpoint_loops": options.checkpoint_loops}
            found = with_cotangents(plan.specialized, of, wanted, options.optimizations, **how)
        given, taken = tuple(arrays.index(array) for array in found.inputs), tuple(a.place for a in found.outputs)
        known, count = tuple(range(len(arrays))), len(arrays)
        reverse = Reverse(plan, given, taken, known, tuple(range(count, count + len(taken))))
        return Cotangents(replace(derived(plan, found.program, plan.shared), cotangents_of=reverse), given, taken)

    found: Cotangents = plan.derived(("cotangents", inputs, results), made)
    return found


def run(plan: Plan, captured: Arrays, inputs: Arrays, like: Plan) -> list[Any]:
    """The results of a run, the code of what stopped it, and the status of its inputs.

    It runs now unless an operand is a tracer; then stacks grow, and errors are raised.

    Args:
        plan: The plan to run.
        captured: Values of the arrays that the plan ``like`` captures, in its order.
        inputs: The input arrays.
        like: The plan that ``captured`` belongs to.
    """
    if any(map(is_tracer, (*captured, *inputs))):
        return run_within(plan, inputs, with_captured(plan, like, captured))
    size = plan.batch_size(inputs)
    # Empty logs, since the run carries out its effects itself.
    avals = log_avals(plan, size) if plan.has_effects else []
    logs = [np.zeros(a.shape, a.dtype) for a in avals]
    return [*at_once(plan, inputs), np.int32(0), np.zeros(size, np.int32), *logs]


def _results(plan: Plan, captured: Arrays, inputs: Arrays, like: Plan) -> list[Any]:
    """The results of a run; raises an error if it is stopped."""
    return results_of(plan, with_captured(plan, like, captured), inputs)


def _varied(plan: Plan, has_tangent: Sequence[bool]) -> tuple[int, ...]:
    """The positions of the inputs that have tangents and are differentiable."""
    arrays = [leaf for type_ in plan.in_types for leaf in type_.tensor_leaves]
    return tuple(
        i for i, (leaf, given) in enumerate(zip(arrays, has_tangent, strict=True)) if given and is_differentiable(leaf)
    )


def _check_whole(params: dict[str, Any]) -> None:
    if params["keep_state"] or params["resume"] or params["shared_given"] or params["stats"]:
        raise HloBatchError("a part of a run has no derivative", help="differentiate the function itself.")


def _run_jvp(primals: Arrays, tangents: Arrays, *, plan: Plan, **params: Any) -> Any:
    """Forward mode: results and tangents together."""
    _check_whole(params)
    captured, inputs = split(plan, primals)
    dots_captured, dots = split(plan, tangents)
    if moving := tuple(i for i, t in enumerate(dots_captured) if not is_zero(t)):
        opened = opened_at(plan, moving)
        given = opened.operands(plan, primals), opened.belonging(plan, tangents, zero_like(np.float32(0)))
        return _run_jvp(*given, plan=opened.plan, **params)
    varied = _varied(plan, [not is_zero(t) for t in dots])
    if not varied:
        outputs = run(plan, captured, inputs, plan)
        return outputs, list(map(zero_like, outputs))
    made = _tangents(plan, varied)
    outputs = run(made.plan, captured, [*inputs, *(dots[i] for i in varied)], plan)
    count = len(plan.out_type.tensor_leaves)
    after = count + len(made.results)
    results = [*outputs[:count], *outputs[after:]]
    found: list[Any] = list(map(zero_like, results))
    for place, tangent in zip(made.results, outputs[count:after], strict=True):
        found[place] = tangent
    return results, found


def _run_linearize(has_tangent: Sequence[bool], *primals: Any, plan: Plan, **params: Any) -> Any:
    """The results, and the function that is linear in tangents, with the inputs it keeps."""
    _check_whole(params)
    captured, inputs = split(plan, primals)
    of_captured, of_inputs = split(plan, has_tangent)
    if moving := tuple(i for i, t in enumerate(of_captured) if t):
        opened = opened_at(plan, moving)
        given = opened.operands(plan, primals)
        of_given = opened.belonging(plan, has_tangent, False)
        outputs, nonzero, kept, of_all = _run_linearize(of_given, *given, plan=opened.plan, **params)
        return outputs, nonzero, kept, lambda kept, *t: of_all(kept, *opened.belonging(plan, t, None))
    varied = _varied(plan, of_inputs)
    outputs = run(plan, captured, inputs, plan)
    if not varied:
        return outputs, [False] * len(outputs), [], lambda *_: list(map(zero_like, outputs))
    results = _tangents(plan, varied).results
    zeros = list(map(zero_like, outputs))
    silent = quiet(plan)  # the run above has had its effects on the host already
    known = [*with_captured(silent, plan, captured), *inputs]

    def linear(kept: Sequence[Any], *tangents: Any) -> list[Any]:
        given = [tangents[len(captured) + i] for i in varied]
        dots = tangents_p.bind(*varying_alike((*kept, *given)), plan=silent, inputs=varied)
        found = list(zeros)
        for place, tangent in zip(results, dots, strict=True):
            found[place] = tangent
        return found

    return outputs, [i in results for i in range(len(outputs))], known, linear


def _run_halves(unknown: Sequence[bool], *, plan: Plan, **params: Any) -> tuple[Half, Half] | None:
    """A run with tangents split into a run without and ``tangents_p``, if only tangents are unknown; else None."""
    if plan.tangents_of is None or any(unknown[: len(unknown) - len(plan.tangents_of[1])]):
        return None
    without, inputs = plan.tangents_of
    if list(map(id, plan.captures.arrays)) != list(map(id, without.captures.arrays)):
        return None
    values, count = len(unknown) - len(inputs), len(without.out_type.tensor_leaves)
    after = count + len(_tangents(without, inputs).results)
    others = range(after, after + without.result_arrays - count + 2)
    alike = (*without.input_shared, *(without.input_shared[i] for i in inputs)) == plan.input_shared
    if plan.has_effects or not alike:  # a shared input may have another tangent in each lane, if tangents are mapped
        return None
    first = Half(run_p, {"plan": without, **params}, range(values), [*range(count), *others])
    later = Half(tangents_p, {"plan": without, "inputs": inputs}, range(len(unknown)), range(count, after))
    return first, later


register_derivatives(run_p, _run_jvp, _run_linearize)
register_halves(run_p, _run_halves)


# The run that is linear in tangents


def _tangents_function(plan: Plan, inputs: tuple[int, ...]) -> Callable[..., list[Any]]:
    """The function of captured arrays, inputs and tangents to the tangents of the results that have one."""
    made, count = _tangents(plan, inputs), len(plan.out_type.tensor_leaves)

    def linear(*operands: ArrayLike) -> list[Any]:
        captured, given = split(plan, operands)
        return _results(made.plan, captured, given, plan)[count : count + len(made.results)]

    return linear


def _tangents_abstract(*operands: ArrayLike, plan: Plan, inputs: tuple[int, ...]) -> list[Any]:
    size = plan.batch_size(split(plan, operands)[1])
    avals = plan.result_avals(size)
    return [ShapedArray(avals[i].shape, avals[i].dtype, operands) for i in _tangents(plan, inputs).results]


def _tangents_impl(*operands: ArrayLike, plan: Plan, inputs: tuple[int, ...]) -> list[Any]:
    return _tangents_function(plan, inputs)(*operands)


def _tangents_lowering(ctx: Any, *operands: ArrayLike, plan: Plan, inputs: tuple[int, ...]) -> Any:
    return lower_as_jax(ctx, _tangents_function(plan, inputs), operands)


def _tangents_jvp(primals: Any, tangents: Any, *, plan: Plan, inputs: tuple[int, ...]) -> Any:
    """The derivative of a derivative: that of the program with tangents."""
    return jvp_of(_tangents_function(plan, inputs), primals, tangents)


def _tangents_transpose(cotangents: Arrays, *operands: ArrayLike, plan: Plan, inputs: tuple[int, ...]) -> list[Any]:
    """Reverse mode: runs the program with cotangents."""
    captured, given = split(plan, operands)
    known = given[: len(plan.input_shared)]
    outputs = _tangents(plan, inputs).results
    wanted = tuple(place for place, ct in zip(outputs, cotangents, strict=True) if not is_zero(ct))
    linear = [is_linear_operand(x) for x in operands]
    bars = dict[int, Any]()
    if wanted:
        given_back = dict(zip(outputs, cotangents, strict=True))
        _, bars = cotangents_of(plan, captured, known, inputs, given_back)
    places = dict(enumerate(inputs, len(captured) + len(known)))
    return [
        (bars[places[i]] if places[i] in bars else _zeros_of(operands[i])) if is_linear else None
        for i, is_linear in enumerate(linear)
    ]


def _zeros_of(operand: Any) -> Any:
    return jnp.zeros(operand.aval.shape, operand.aval.dtype)


def cotangents_of(
    plan: Plan, captured: Arrays, inputs: Arrays, varied: tuple[int, ...], cotangents: dict[int, Any]
) -> tuple[list[Any], dict[int, Any]]:
    """The results of a run, and the cotangents of its inputs.

    Args:
        plan: The plan to run.
        captured: The captured arrays.
        inputs: The input arrays.
        varied: The positions of the inputs whose cotangents are wanted.
        cotangents: The cotangents of results, by position.

    Raises:
        LaneError: Some lanes are stopped; ``outputs`` is a pair of the result and the cotangents, zero for those lanes,
            or None if the batch runs in parts.
        Interrupted: The user interrupted it; ``outputs`` as above, if there are any.
    """
    given = {i: ct for i, ct in cotangents.items() if not is_zero(ct)}
    if plan.cotangents_of is not None:
        return [], _of_cotangents(plan, captured, inputs, varied, given)
    made = _cotangents(plan, varied, tuple(given))
    operands = [*inputs, *(given[i] for i in made.results)]
    count = len(plan.out_type.tensor_leaves)
    summed = tuple(count + k for k, i in enumerate(made.inputs) if plan.input_shared[i])
    try:
        if summed:
            outputs = results_with_sums(made.plan, with_captured(made.plan, plan, captured), operands, summed)
        else:
            outputs = _results(made.plan, captured, operands, plan)
    except (LaneError, Interrupted) as error:
        if (found := _with_cotangents(error, plan, made, inputs)) is error:
            raise
        raise found from None
    return outputs[:count], dict(zip(made.inputs, outputs[count:], strict=False))


def _of_cotangents(
    plan: Plan, captured: Arrays, inputs: Arrays, varied: tuple[int, ...], cotangents: dict[int, Any]
) -> dict[int, Any]:
    """The cotangents of the inputs of a run that computes cotangents itself: reverse mode of reverse mode.

    The run computes ``J(x)^T b``, for inputs ``x`` and cotangents ``b``. Given a cotangent ``v`` of its result, the
    cotangent of ``x`` is the derivative of ``v^T J(x)^T b = b^T (J(x) v)`` by ``x``, that is, reverse mode of the
    program with tangents, which computes ``J(x) v``, for the cotangent ``b``. The cotangent of ``b`` is ``J(x) v``. So
    no tape is needed for a tape.
    """
    assert plan.cotangents_of is not None
    without, of_inputs, of_results, places, of_given = plan.cotangents_of
    count, own = len(without.out_type.tensor_leaves), list(without.input_shared)
    without = without.unsharing([i for i, place in enumerate(places) if own[i] and not plan.input_shared[place]])
    known, taken = [inputs[i] for i in places], dict(zip(of_results, (inputs[i] for i in of_given), strict=True))
    tangents = {i: cotangents[k] for k, i in enumerate(of_inputs, count) if k in cotangents}
    run, results, wanted = without, tuple[int, ...](), {i: ct for i, ct in cotangents.items() if i < count}
    moving = tuple(tangents)
    if moving:
        made = _tangents(without, moving)
        shared = [len(places) + k for k, i in enumerate(moving) if without.input_shared[i]]
        run, results = made.plan.unsharing(shared), made.results  # shared inputs have a cotangent per lane here
        wanted |= {count + k: taken[i] for k, i in enumerate(results) if i in taken}
    operands, of_run = [*known, *tangents.values()], with_captured(run, plan, captured)
    back = {i: place for i, place in enumerate(places) if place in varied}
    forth = {k: place for k, i in enumerate(results) for j, place in zip(of_results, of_given, strict=True) if i == j}
    outputs, bars = list[Any](), dict[int, Any]()
    if wanted and back:
        outputs, bars = cotangents_of(run, of_run, operands, tuple(back), wanted)
    if not outputs and any(place in varied for place in forth.values()):
        outputs = _results(run, of_run, operands, run)
    found = {back[i]: bar for i, bar in bars.items()}
    return found | {place: outputs[count + k] for k, place in forth.items() if place in varied}


def _with_cotangents(error: Stopped, plan: Plan, made: Cotangents, inputs: Arrays) -> Stopped:
    """The error of a stopped run, with the result and the cotangents by position as its outputs."""
    if error.outputs is None:
        return _of_the_whole(error, plan, inputs)
    result, bars = error.outputs
    if made.inputs and len(bars[0]) < plan.batch_size(inputs):  # the error is about one part of the batch
        return _of_the_whole(error, plan, inputs)
    rows = np.asarray(error.unfinished, int)
    finished = [jnp.asarray(x).at[rows].set(0) for x in bars]
    found = {i: jnp.sum(x, 0) if plan.input_shared[i] else x for i, x in zip(made.inputs, finished, strict=True)}
    error.outputs = result, found
    return error


def _of_the_whole(error: Stopped, plan: Plan, inputs: Arrays) -> Stopped:
    """The error of a whole batch in place of that of one part, from a run without cotangents."""
    error.outputs = None
    if not isinstance(error, LaneError):
        return error
    try:
        execute(plan, inputs)
    except LaneError as whole:
        whole.outputs = whole.outputs, None
        return whole
    return error


def _tangents_batching(operands: Arrays, dims: Sequence[Any], *, plan: Plan, inputs: tuple[int, ...]) -> Any:
    """Batching rule of ``tangents_p``."""
    return batched(_tangents_function(plan, inputs), operands, dims)


tangents_p.def_impl(_tangents_impl)
tangents_p.def_abstract_eval(_tangents_abstract)
mlir.register_lowering(tangents_p, _tangents_lowering)
register_derivatives(tangents_p, _tangents_jvp)
register_transpose(tangents_p, _tangents_transpose)
batching.primitive_batchers[tangents_p] = _tangents_batching


# Derivatives of ``guard_p``, which passes tangents on


def _guard_jvp(primals: Arrays, tangents: Arrays, *, plan: Plan) -> Any:
    return list(guard_p.bind(*primals, plan=plan)), list(tangents[:-2])


def _guard_linearize(has_tangent: Sequence[bool], *primals: Any, plan: Plan) -> Any:
    outputs = list(guard_p.bind(*primals, plan=plan))
    return outputs, list(has_tangent[:-2]), [], lambda _, *tangents: list(tangents[:-2])


register_derivatives(guard_p, _guard_jvp, _guard_linearize)
