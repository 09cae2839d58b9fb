"""Lambdas and comprehensions -> straight-line code that Python runs during tracing, or loops if they call functions.

::

    [x * 2 for x in xs]          stays a comprehension, in the code of one primitive
    [f(x) for x in xs]           a loop, if ``f`` is a function of the program (``comprehensions.py``)
    max(xs, key=lambda x: f(x))  the lambda is a function of the program, too
    any(f(x) for x in xs)        a loop that is left early (``reductions.py``)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, Final

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.in_turn.comprehensions import as_loop, with_names_apart
from hlobatch.frontend.in_turn.counts import is_count
from hlobatch.frontend.in_turn.moments import Moment, effects_of, moment
from hlobatch.frontend.in_turn.read_to_the_end import place_of, read_to_their_ends
from hlobatch.frontend.in_turn.reductions import Looped, arguments_of, as_reduction, has_many, reducer
from hlobatch.frontend.library import is_built_in
from hlobatch.frontend.nodes import Comprehension, located, with_fields, with_iterables
from hlobatch.frontend.scopes import assigned_in_expressions, read_names, with_parts
from hlobatch.frontend.syntax import helper, load
from hlobatch.frontend.whole_function import WholeLowering
from hlobatch.values.facts import GoesOver, Site

_END_EARLY: Final = ("any", "all", "next")
"""Reducers that leave the items behind the one that decides."""


class TraceTimeLowering:
    """Lowers lambdas and comprehensions."""

    def __init__(self, function: WholeLowering) -> None:
        self.function = function

    def reduction(self, node: ast.Call, items: ast.GeneratorExp | ast.ListComp) -> ast.expr:
        """A call of a reducer on a comprehension: lowered as a loop if that is needed and possible."""
        name = reducer(self.function.static_value(node.func), items)
        given = None if name is None else arguments_of(node, name)
        assigns = frozenset(assigned_in_expressions(items))
        if name is None or given is None or any(not assigns.isdisjoint(read_names(part)) for part in given.values()):
            return self.function.with_simple_children(node)
        takes_turns = any(effects_of(part, self.function).show for part in given.values())  # a key is computed for each
        if takes_turns and isinstance(items, ast.ListComp):
            return self.function.with_simple_children(node)
        site = self.function.site(items)
        when = moment(effects_of(items, self.function), in_turn=False, ends_early=name in _END_EARLY)
        differs = self.function.callees.facts.of(Looped, site) is not None
        is_many = any(self._goes_over_many(generator.iter) for generator in items.generators)
        if when is Moment.AT_ONCE and not (takes_turns or differs or is_many or assigns):
            return self.function.with_simple_children(self._with_known_ranges(node, items, site))
        if differs and name in ("any", "all"):
            items = self._in_any_order(items)
        result = self.function.temporary()
        may_be_empty = any(generator.ifs or not self._has_an_item(generator.iter) for generator in items.generators)
        self.function.statements(
            as_reduction(name, items, given, result, self.function.temporary, may_be_empty=may_be_empty)
        )
        return load(result, node)

    def membership(self, node: ast.Compare) -> ast.expr:
        """``x in (f(y) for y in ys)``: a loop that ends at the first equal item, if the program makes a call in it."""
        [items], [operator] = node.comparators, node.ops
        assert isinstance(items, ast.GeneratorExp)
        when = moment(effects_of(items, self.function), in_turn=False, ends_early=True)
        if when is Moment.AT_ONCE or any(assigned_in_expressions(items)):
            return self.function.with_simple_children(node)
        value = load(self.function.as_variable(self.function.simple(node.left), node.left), node.left)
        is_equal = located(ast.Compare(value, [ast.Eq()], [items.elt]), items.elt)
        equal = located(ast.GeneratorExp(is_equal, items.generators), items)
        found = self.function.temporary()
        self.function.statements(as_reduction("any", equal, {}, found, self.function.temporary, may_be_empty=True))
        return helper("__hb_not", [load(found, node)], node) if isinstance(operator, ast.NotIn) else load(found, node)

    def _with_known_ranges(self, node: ast.Call, items: ast.GeneratorExp | ast.ListComp, site: Site) -> ast.Call:
        """A call on a comprehension, in which ranges whose bounds differ between lanes tell that it must be a loop."""

        def counted(goes_over: ast.expr) -> ast.expr:
            if not isinstance(goes_over, ast.Call) or self.function.static_value(goes_over.func) is not range:
                return goes_over
            where = located(self.function.constant(site), goes_over)
            return helper("__hb_range", [where, *goes_over.args], goes_over)

        if self.function.callees.facts.has(GoesOver):
            items = self._marked(self._with_rows_computed(items), site)
        return with_fields(node, args=[with_iterables(items, counted), *node.args[1:]])

    def _goes_over_others(self, node: ast.Call) -> bool:
        """Whether a call iterates over the items of its arguments, as ``zip`` does."""
        function = self.function.static_value(node.func)
        starred = any(isinstance(part, ast.Starred) for part in node.args)
        return any(function is known for known in (enumerate, zip, reversed)) and not starred

    def _goes_over_arguments(self, node: ast.Call) -> bool:
        """Whether a call returns items made from those of its arguments, which may be growing containers."""
        is_ours = is_built_in(self.function.static_value(node.func))
        return self._goes_over_others(node) or (is_ours and not any(isinstance(a, ast.Starred) for a in node.args))

    def _goes_over_many(self, items: ast.expr) -> bool:
        """Whether a comprehension iterates over very many numbers from outside of the function, or without an end."""
        if is_count(items, self.function.static_value):
            return True
        parts = items.args if isinstance(items, ast.Call) and self._goes_over_others(items) else [items]
        return any(has_many(self.function.static_value(part)) for part in parts)

    def _has_an_item(self, items: ast.expr) -> bool:
        """Whether an iterable is known to have an item before anything is traced."""
        match items:
            case ast.List(elts) | ast.Tuple(elts):
                return any(not isinstance(part, ast.Starred) for part in elts)
            case ast.Call(function, [*bounds], []) if self.function.static_value(function) is range:
                values = [bound.value for bound in bounds if isinstance(bound, ast.Constant)]
                whole = [value for value in values if isinstance(value, int)]
                return len(whole) == len(bounds) and bool(range(*whole))
        known = self.function.static_value(items)
        return isinstance(known, (list, tuple, str, range)) and bool(known)

    def _marked(self, node: Any, site: Site) -> Any:
        """A comprehension that has to be a loop if the length of an iterable in it differs between lanes.

        Iterables of it, and of comprehensions inside of it, tell that. The latter are then loops as well, if need be.
        """
        if isinstance(node, ast.Lambda):
            return node
        new = with_parts(node, lambda part: self._marked(part, site))
        return self._with_marked_iterables(new, site) if isinstance(node, Comprehension) else new

    def _with_marked_iterables(self, items: Any, site: Site) -> Any:
        """A comprehension whose iterables, not those inside of them, tell that their length differs between lanes."""

        def marked(goes_over: ast.expr) -> ast.expr:
            where = located(self.function.constant(site), goes_over)
            if isinstance(goes_over, ast.Call) and self._goes_over_arguments(goes_over):
                return with_fields(goes_over, args=[told(where, part) for part in goes_over.args])
            return told(where, goes_over)

        def told(where: ast.expr, part: ast.expr) -> ast.expr:
            return helper("__hb_gone_over", [where, part], part)

        return with_iterables(items, marked)

    def lower(self, node: ast.expr) -> ast.expr:
        """Lower a lambda or a comprehension: Python runs it during tracing, unless the program makes a call in it."""
        if any(assigned_in_expressions(node)):
            return self._assigning(node)
        grows = isinstance(node, ast.DictComp) and any(generator.ifs for generator in node.generators)
        effects = effects_of(node, self.function)
        if isinstance(node, ast.Lambda) and effects.calls:
            return self.function.closure_of(node)
        if not isinstance(node, ast.Lambda) and moment(effects, in_turn=False) is Moment.BY_A_LOOP:
            if isinstance(node, ast.GeneratorExp) and effects.show and not self._is_read_to_its_end(node):
                raise UnsupportedSyntaxError(
                    "a generator expression changes what is around it, or may raise, and may not be read to its end",
                    self.function.location(node),
                    help="write a list, as in `[… for …]`, or a `for`.",
                )
            return self._written_out(node, grows=grows or effects.draws)
        if not isinstance(node, ast.Lambda) and self.function.callees.facts.has(GoesOver):
            node, site = self._with_rows_computed(node), self.function.site(node)
            if self.function.callees.facts.of(Looped, site) is not None:
                found = self._in_any_order(node) if isinstance(node, ast.SetComp) else node
                return self._written_out(found, grows=True)
            node = self._marked(node, site)
        return self._with_functions(node)

    def _with_functions(self, node: ast.expr) -> ast.expr:
        """A lambda or a comprehension in which inner functions that it names are values.

        Each stands where it is named, so that what it changes around it is what the code reads. Variables of the lambda
        or the comprehension that have names of variables around it are given others.
        """
        reads = {name: self.function.scope[name] for name in read_names(node) if name in self.function.scope}
        if not reads:
            return node
        values = {name: self.function.closure(template, node) for name, template in reads.items()}
        captured = frozenset(name for template in reads.values() for name in template.captured)
        apart: ast.expr = _with_values(with_names_apart(node, captured, self.function.temporary), values)
        return apart

    def _is_read_to_its_end(self, node: ast.expr) -> bool:
        """Whether Python makes all items of a generator expression where it stands."""
        return place_of(node) in read_to_their_ends(self.function.source.node, self.function.static_value)

    def _in_any_order(self, node: Any) -> Any:
        """A comprehension whose result does not depend on the order of its items, so that it may go over a set.

        It is unchanged if it calls a function, which may have an effect.
        """
        calls = (part for part in ast.walk(node) if isinstance(part, (ast.Call, ast.NamedExpr)))
        if any(self._may_have_effect(part) for part in calls):
            return node
        return with_iterables(node, lambda items: helper("__hb_in_any_order", [items], items))

    def _may_have_effect(self, node: ast.Call | ast.NamedExpr) -> bool:
        if isinstance(node, ast.NamedExpr):
            return True
        value = self.function.static_value(node.func)
        return not any(value is known for known in (abs, divmod, int, len, max, min, range))

    def _with_rows_computed(self, node: Any) -> Any:
        """A comprehension over ``zip(*rows)`` and the like, with a variable in place of the call, which runs first."""
        first, *others = node.generators
        if not isinstance(first.iter, ast.Call) or not any(isinstance(part, ast.Starred) for part in first.iter.args):
            return node
        as_list = located(ast.Call(self.function.constant(list), [first.iter], []), first.iter)
        rows = load(self.function.as_variable(self.function.simple(as_list), first.iter), first.iter)
        return with_fields(node, generators=[with_fields(first, iter=rows), *others])

    def _written_out(self, node: ast.expr, *, grows: bool = False) -> ast.expr:
        """A comprehension lowered as a loop, since the program carries out a call in it. All items are computed first.

        Args:
            node: The comprehension.
            grows: Whether the number of items differs between lanes.
        """
        assert isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
        result = self.function.temporary_at(node)
        self.function.statements(as_loop(node, result, self.function.temporary, grows=grows))
        items = load(result, node)
        if isinstance(node, ast.SetComp):
            return located(ast.Set([located(ast.Starred(items, ast.Load()), node)]), node)
        return items

    def _assigning(self, node: ast.expr) -> ast.expr:
        """A comprehension that assigns variables of the function by ``:=``: a loop, whose statements assign them."""
        assert isinstance(node, Comprehension)
        if isinstance(node, ast.GeneratorExp):
            raise UnsupportedSyntaxError(
                "a generator expression assigns a variable by `:=`, and may not be read to its end",
                self.function.location(node),
                help="write a list, as in `[… for …]`, or a `for`.",
            )
        return self._written_out(node, grows=any(generator.ifs for generator in node.generators))


def _with_values(node: Any, values: Mapping[str, ast.expr]) -> Any:
    """Code with other expressions in place of some of the names that it reads."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in values:
        return values[node.id]
    return with_parts(node, lambda part: _with_values(part, values))
