"""Straight-line code -> the Python function of a ``PrimOp``, from the variables it reads to a tuple of those it writes.

::

    y = x * 2         ==>       def f(x): y = x * 2; return (y,)

The function is compiled from the user's own syntax nodes, under the user's file name and lines, so a traceback or a
profiler shows the user's source.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from hlobatch.analysis import tracing
from hlobatch.frontend import builtins as batched_builtins
from hlobatch.frontend import (
    calls,
    choices,
    container_methods,
    differentiated,
    effects,
    failures,
    following,
    growing_items,
    guesses,
    in_place_calls,
    items,
    iteration,
    members,
    nested,
    possible_items,
    python_numbers,
    ranges,
    results,
    sequences,
    special_methods,
    starred,
    stores,
    structure,
    text_formats,
    traced_functions,
)
from hlobatch.frontend.compiling import ONE_AT_A_TIME
from hlobatch.frontend.dict_order import in_known_order
from hlobatch.frontend.in_turn import drawn, kept_iterators, read_by_turns, reductions, used_up
from hlobatch.frontend.lane_numbers import as_number
from hlobatch.frontend.lane_slices import slice_of
from hlobatch.frontend.nodes import located, walk_all
from hlobatch.frontend.rewriting.memoized import memoized
from hlobatch.frontend.scopes import MISSING
from hlobatch.frontend.source import Source
from hlobatch.frontend.syntax import assigned, helper
from hlobatch.ir.effects import lane_print
from hlobatch.values import columns, lane_failures, narrowing, optional, own_containers
from hlobatch.values.holders import HOLDERS
from hlobatch.values.identity import fresh

HELPERS: Final = {
    "__hb_truth": batched_builtins.truth,
    "__hb_filled": following.filled,
    "__hb_new": own_containers.new,
    "__hb_row": columns.row,
    "__hb_made": columns.made,
    "__hb_not": batched_builtins.logical_not,
    "__hb_and": batched_builtins.logical_and,
    "__hb_operate": python_numbers.operate,
    "__hb_power": python_numbers.power,
    "__hb_number": as_number,
    "__hb_closure": nested.closure,
    "__hb_captured": nested.captured_value,
    "__hb_set": growing_items.displayed_set,
    "__hb_starred_set": growing_items.starred_set,
    "__hb_set_of": growing_items.as_set,
    "__hb_dict": growing_items.displayed_dict,
    "__hb_dict_of": growing_items.as_dict,
    "__hb_unpacked": growing_items.UNPACKED,
    "__hb_unpack": growing_items.unpacked,
    "__hb_listed": growing_items.listed,
    "__hb_tupled": growing_items.tupled,
    "__hb_in_any_order": growing_items.in_any_order,
    "__hb_first_item": growing_items.first_item,
    "__hb_in_known_order": in_known_order,
    "__hb_watch": lane_failures.watch,
    "__hb_seen": lane_failures.seen,
    "__hb_AssertionError": AssertionError,
    "__hb_apart": batched_builtins.apart,
    "__hb_bound": following.bound,
    "__hb_refuse": batched_builtins.refuse,
    "__hb_caught": failures.Failures.caught,
    "__hb_has_failed": failures.has_failed,
    "__hb_has_failed_by_itself": failures.has_failed_by_itself,
    "__hb_wants": lane_failures.wants,
    "__hb_leave_out_texts": lane_failures.leave_out_texts,
    "__hb_looked_at": failures.looked_at,
    "__hb_no_details": failures.no_details,
    "__hb_doubt": tracing.doubt,
    "__hb_stays": tracing.stays,
    "__hb_differentiated": differentiated.differentiated,
    "__hb_follow_in_turns": drawn.follow_in_turns,
    "__hb_iterated": drawn.iterated,
    "__hb_check_part": kept_iterators.check_part,
    "__hb_check_filled": container_methods.check_filled,
    "__hb_check_method": following.check_method,
    "__hb_follow": following.follow,
    "__hb_spread": starred.spread,
    "__hb_memoized": memoized,
    "__hb_expect": guesses.expect,
    "__hb_see": following.see,
    "__hb_printed": effects.printed,
    "__hb_lane_print": lane_print,
    "__hb_augment": python_numbers.augment,
    "__hb_augment_in_place": python_numbers.augment_in_place,
    "__hb_changed_in_place": python_numbers.changed_in_place,
    "__hb_changed_in_function": python_numbers.changed_in_function,
    "__hb_check_no_array": in_place_calls.check_no_array,
    "__hb_are_known": in_place_calls.are_known,
    "__hb_as_out": in_place_calls.as_out,
    "__hb_fresh": fresh,
    "__hb_slice": slice_of,
    "__hb_own": stores.own,
    "__hb_numbered": iteration.numbered,
    "__hb_stored": stores.stored,
    "__hb_part": stores.part,
    "__hb_part_to_change": stores.part_to_change,
    "__hb_put": stores.put,
    "__hb_put_back": stores.put_back,
    "__hb_is_of_kind": narrowing.is_of_kind,
    "__hb_of_kind": narrowing.of_kind,
    "__hb_kept": batched_builtins.kept,
    "__hb_shown": text_formats.shown,
    "__hb_formatted": text_formats.formatted,
    "__hb_joined": text_formats.joined,
    "__hb_isinstance": python_numbers.is_instance,
    "__hb_type": python_numbers.type_of,
    "__hb_hasattr": python_numbers.has_attribute,
    "__hb_is_singleton": structure.is_singleton,
    "__hb_is_sequence": structure.is_sequence,
    "__hb_middle": structure.middle,
    "__hb_is_mapping": structure.is_mapping,
    "__hb_remaining": structure.remaining,
    "__hb_is_of_class": structure.is_of_class,
    "__hb_attribute": structure.attribute,
    "__hb_is_none": optional.is_none,
    "__hb_equals_none": sequences.compare_with_none,
    "__hb_asked": optional.asked,
    "__hb_has_to_return": results.has_to_return,
    "__hb_turns": iteration.turns,
    "__hb_once": used_up.once,
    "__hb_items": iteration.held,
    "__hb_length": iteration.length,
    "__hb_item_of": iteration.item_of,
    "__hb_made_before": read_by_turns.made_before,
    "__hb_live": iteration.live,
    "__hb_keyed": iteration.keyed,
    "__hb_key_at": iteration.key_at,
    "__hb_check_same_key": iteration.check_same_key,
    "__hb_goes_on": iteration.goes_on,
    "__hb_written_turn": iteration.written_turn,
    "__hb_fewest": iteration.fewest,
    "__hb_from_end": iteration.from_end,
    "__hb_call": calls.call,
    "__hb_decided": bool,
    "__hb_is_traced_alone": traced_functions.is_traced_alone,
    "__hb_matched": traced_functions.matched,
    "__hb_item": items.item,
    "__hb_take_out": container_methods.take_out,
    "__hb_owner": members.owner,
    "__hb_member": members.member,
    "__hb_property_of_base": special_methods.property_of_base,
    "__hb_method": special_methods.method,
    "__hb_sides": special_methods.sides,
    "__hb_check_operands": special_methods.check_operands,
    "__hb_result": special_methods.as_result,
    "__hb_gone_over": reductions.gone_over,
    "__hb_range": reductions.range_of,
    "__hb_first": possible_items.first,
    "__hb_compare": sequences.compare,
    "__hb_chain": choices.chain,
    "__hb_choose": choices.choose,
    "__hb_conjunction": choices.conjunction,
    "__hb_disjunction": choices.disjunction,
    "__hb_possible": possible_items.possible,
    "__hb_possible_now": possible_items.possible_now,
    "__hb_whole": possible_items.whole,
    "__hb_all_there": possible_items.all_there,
    "__hb_range_count": ranges.range_count,
    "__hb_range_goes_on": ranges.range_goes_on,
    "__hb_range_item": ranges.range_item,
}
"""Names by which compiled code reaches the frontend's own functions."""


def watched(body: Sequence[ast.stmt], can_fail: ast.expr, status: str) -> list[ast.stmt]:
    """Statements that also compute, in the variable ``status``, which of the failures in ``can_fail`` came first."""
    first, last = body[0], body[-1]
    watch = located(ast.Expr(helper("__hb_watch", [located(can_fail, first)], first)), first)
    return [watch, *body, assigned(status, helper("__hb_seen", [], last), last)]


def compile_primitive(
    source: Source,
    body: Sequence[ast.stmt],
    inputs: Sequence[str],
    outputs: Sequence[str],
    constants: Mapping[str, Any],
) -> Callable[..., tuple[Any, ...]]:
    """The function ``(*inputs) -> (*outputs)`` that runs ``body``.

    Args:
        source: The function the code stands in: its globals and closure are those of the result.
        body: Statements without control flow.
        inputs: Names of the parameters.
        outputs: Names returned.
        constants: Objects bound to names that appear in ``body``.
    """
    nodes = walk_all(body)
    named = {node.id for node in nodes if isinstance(node, ast.Name)}.difference(inputs)
    around = {name: source.resolve(name) for name in source.free_names if name in named}
    bound = {name: value for name, value in around.items() if value is not MISSING}
    bound |= {name: known[name] for known in (HELPERS, HOLDERS, constants) for name in sorted(named & known.keys())}
    _place(nodes, body[0])
    factory = _factory(body, inputs, outputs, tuple(bound))
    namespace: dict[str, Any] = {}
    with ONE_AT_A_TIME:
        code = compile(ast.Module([factory], type_ignores=[]), source.file, "exec")
    exec(code, source.function.__globals__, namespace)
    function: types.FunctionType = namespace["__hb_factory"](*bound.values())
    # If it had the user's name from the start, it would hide that name from its own code.
    function.__code__ = function.__code__.replace(co_name=source.node.name)
    return function


def _factory(
    body: Sequence[ast.stmt], inputs: Sequence[str], outputs: Sequence[str], bound: Sequence[str]
) -> ast.FunctionDef:
    """The definition of a function of the objects bound to names, which makes the function that runs ``body``."""
    first: Any = body[0]
    place = (first.lineno, first.col_offset, first.end_lineno, first.end_col_offset)
    at = dict(zip(_PLACE, place, strict=True))  # given to each node when it is made: the nodes are made very often

    def definition(name: str, parameters: Sequence[str], body: list[ast.stmt]) -> ast.FunctionDef:
        arguments = ast.arguments(
            posonlyargs=[], args=[ast.arg(p, **at) for p in parameters], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        more: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
        return ast.FunctionDef(name, arguments, body, decorator_list=[], **more, **at)

    load = ast.Load()
    result = ast.Return(ast.Tuple([ast.Name(n, load, **at) for n in outputs], load, **at), **at)
    inner = definition("__hb_code", inputs, [*body, result])
    return definition("__hb_factory", bound, [inner, ast.Return(ast.Name(inner.name, load, **at), **at)])


_PLACE: Final = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def _place(nodes: Iterable[ast.AST], where: ast.AST) -> None:
    """Give nodes without a source location that of ``where``."""
    for node in nodes:
        if isinstance(node, (ast.expr, ast.stmt, ast.arg)) and not hasattr(node, "lineno"):
            located(node, where)
