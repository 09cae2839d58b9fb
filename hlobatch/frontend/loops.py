"""``for`` -> blocks: a loop that counts its turns, or its turns written out.

::

    for i, x in enumerate(xs):        %$turns = prim "turns_of(xs)" (%xs); %$turn = prim "0" (); jump for
        …                         ==> for: %$if = prim "$turn < $turns" …; branch %$if, body, after_for
                                      body: %i, %x = prim "i, x = $turn, item(xs, $turn)" (%xs, %$turn); …; jump next
                                      next: %$turn = prim "$turn + 1" (%$turn); jump for

The items are counted before the first turn, and each turn takes one by its number. If tracing has learned (``Turns``)
that items have to be Python objects, or differ in type or shape, the turns are written out, each with its own item.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hlobatch.analysis.overloads import of_operations
from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend.failing_statements import FailingLowering
from hlobatch.frontend.following import MAKE, called
from hlobatch.frontend.in_turn.comprehensions import Gathering
from hlobatch.frontend.in_turn.generator_loops import takes_turns
from hlobatch.frontend.in_turn.moments import effects_of
from hlobatch.frontend.in_turn.read_by_turns import Read, read_in_turn, refused
from hlobatch.frontend.live_items import Seen, how_seen, may_change, may_take_out, view_of
from hlobatch.frontend.nodes import located, walk, walk_all
from hlobatch.frontend.own_methods import NEXT
from hlobatch.frontend.scopes import HELPER, MISSING, target_names, with_parts
from hlobatch.frontend.syntax import assigned, helper, literal, load
from hlobatch.frontend.whole_function import Loop
from hlobatch.ir.ops import BranchOp, GotoOp
from hlobatch.values.facts import BoundAnew, LoopSite, Turns

_WRAPPERS: Final = (list, tuple, iter)
"""Functions whose result has the same items as their argument."""


@dataclass(frozen=True)
class Bound:
    """The number of items of one iterable of a loop.

    Attributes:
        turns: The variable with the number of items before the first turn.
        items: The iterable as it is in a turn, if the number may change; else None.
        is_backwards: Whether it is iterated over from the end.
        attribute: The attribute that holds the iterable, if a callee could assign another object to it; else empty.
        takes_out: Whether the body may remove keys, if the iterable is a dict.
    """

    turns: str
    items: ast.expr | None = None
    is_backwards: bool = False
    attribute: str = ""
    takes_out: bool = False


@dataclass(frozen=True)
class Iteration:
    """The iterable of a loop, evaluated.

    Attributes:
        turns: The variable with the number of items.
        item: A function from the number of a turn to an expression for its item.
        bounds: The number of items of each iterable, of which a ``zip`` has several.
    """

    turns: str
    item: Callable[[ast.expr], ast.expr]
    bounds: tuple[Bound, ...]

    @property
    def may_change(self) -> bool:
        """Whether the number of items may change during the loop."""
        return any(bound.items is not None for bound in self.bounds)


class ForLowering:
    """Lowers one ``for`` statement."""

    def __init__(self, lowering: FailingLowering, node: ast.For) -> None:
        self.lowering = lowering
        self.blocks = lowering.blocks
        self.node = node
        site, statements = lowering.site(node), sum(isinstance(part, ast.stmt) for part in walk(node))
        file = lowering.source.file
        self.site = LoopSite(site.function, site.path, site.span, file, statements, self._is_plain())
        known = lowering.callees.facts.of(Turns, self.site)
        self.written_out = None if known is None else known.count
        self.turns_made = self.written_out if known is None or not known.is_trial else min(known.count or 0, 2)
        self.changes = known is not None and known.changes
        self.may_be_written_out = known is None or known.count is not None
        self.location = lowering.location(node)
        self.after = ""
        self.otherwise = ""

    def lower(self) -> None:
        """Emit the loop."""
        iteration = self._over(self.node.iter, counts=True)
        if self.turns_made is None:
            self._counted(iteration)
        else:
            self._written_out(iteration, self.turns_made)

    def _is_plain(self) -> bool:
        """Whether the turns, written out, are few blocks."""
        lowering = self.lowering
        inside = len(lowering.loops) > len(lowering.path)
        leaves: tuple[type[ast.stmt], ...] = (ast.While, ast.For, ast.Try, ast.With)
        leaves = (*leaves, ast.Break, ast.Continue, ast.Return, ast.Raise) if inside else leaves
        for part in walk_all(self.node.body):
            if isinstance(part, leaves) or (isinstance(part, ast.Call) and self._may_be_users(part.func)):
                return False
        return True

    def _may_be_users(self, function: ast.expr) -> bool:
        value = self.lowering.static_value(function)
        calls = None if value is MISSING else called(value)
        return isinstance(function, ast.Name) if value is MISSING else calls is not None and calls.receiver not in MAKE

    # The loop, counted or written out

    def _counted(self, iteration: Iteration) -> None:
        node, blocks, lowering = self.node, self.blocks, self.lowering
        turn = lowering.temporary("turn")
        lowering.assign(turn, self._constant(0), node.iter)
        head, body, latch = (blocks.name(stem) for stem in ("for", "body", "next"))
        self._name_ends()
        if self._surely_turns(node.iter):
            blocks.end(GotoOp(body, location=self.location))
        blocks.start(head, lowering.location(node.target))
        condition = self._goes_on(turn, iteration)
        false = self.otherwise if node.orelse else self.after
        blocks.end(BranchOp(condition, body, false, location=lowering.location(node.iter)))
        blocks.start(body, lowering.location(node.body[0]))
        self._bind(iteration.item(self._load(turn)))
        keys = self._keys(iteration, self._load(turn))
        lowering.loop_body(node.body, Loop(latch, self.after))
        if self._reaches(latch):
            blocks.start(latch, self.location)
            self._check_keys(iteration, self._load(turn), keys)
            one = located(ast.BinOp(self._load(turn), ast.Add(), self._constant(1)), node)
            lowering.assign(turn, one, node.target)
        blocks.end(GotoOp(head, location=self.location))
        lowering.loop_end(node, self.otherwise, self.after)

    def _written_out(self, iteration: Iteration, turns: int) -> None:
        node, blocks, lowering = self.node, self.blocks, self.lowering
        self._name_ends()
        around = lowering.path
        for turn in range(turns):
            self._check_turn(iteration, turn, is_last=False)
            if not blocks.is_open:
                break
            lowering.path = (*around, turn)
            latch = blocks.name("next")
            self._bind(iteration.item(self._constant(turn)))
            keys = self._keys(iteration, self._constant(turn))
            lowering.loop_body(node.body, Loop(latch, self.after))
            if self._reaches(latch):
                blocks.start(latch, self.location)
                self._check_keys(iteration, self._constant(turn), keys)
        lowering.path = around
        if turns == self.written_out:
            self._check_turn(iteration, turns, is_last=True)
        lowering.loop_end(node, self.otherwise, self.after)

    def _check_turn(self, iteration: Iteration, turn: int, *, is_last: bool) -> None:
        """Emit a check that a turn that is written out takes place, or that none follows the last of them."""
        if self.blocks.is_open and iteration.may_change:
            parts = [self._constant(turn), self._site(), self._constant(is_last), *self._bounds(iteration)]
            check = helper("__hb_written_turn", parts, self.node.iter)
            self.lowering.assign(self.lowering.temporary("turn"), check, self.node.iter)

    def _keys(self, iteration: Iteration, turn: ast.expr) -> list[tuple[Bound, str]]:
        """Variables for the keys of a turn, for dicts from which the body may remove keys."""
        lowering, keys = self.lowering, list[tuple[Bound, str]]()
        for bound in iteration.bounds:
            if bound.items is not None and bound.takes_out and not bound.is_backwards:
                keys.append((bound, name := lowering.temporary("key")))
                lowering.assign(name, helper("__hb_key_at", [bound.items, turn], self.node.iter), self.node.iter)
        return keys

    def _check_keys(self, iteration: Iteration, turn: ast.expr, keys: Sequence[tuple[Bound, str]]) -> None:
        """Emit checks, at the end of a turn, that its key is where it was, and that the dict is the same object."""
        for attribute in {bound.attribute: None for bound in iteration.bounds if bound.attribute}:
            check = helper("__hb_stays", [self._site(), literal(attribute, self.node.iter)], self.node.iter)
            self.lowering.assign(self.lowering.temporary("key"), check, self.node.iter)
        for bound, name in keys:
            assert bound.items is not None
            parts = [bound.items, turn, self._load(bound.turns), self._load(name)]
            check = helper("__hb_check_same_key", parts, self.node.iter)
            self.lowering.assign(self.lowering.temporary("key"), check, self.node.iter)

    def _bounds(self, iteration: Iteration) -> list[ast.expr]:
        """The bounds of the loop, as arguments of ``iteration.goes_on``."""
        return [
            located(
                ast.Tuple(
                    [self._load(bound.turns), bound.items or self._constant(None), self._constant(bound.is_backwards)],
                    ast.Load(),
                ),
                self.node.iter,
            )
            for bound in iteration.bounds
        ]

    def _name_ends(self) -> None:
        self.otherwise, self.after = self.blocks.name("else"), self.blocks.name("after_for")

    def _bind(self, item: ast.expr) -> None:
        """Assign an item to the loop's target."""
        target, lowering = self.node.target, self.lowering
        statement = located(ast.Assign([target], item), target)
        if any(isinstance(part, (ast.Subscript, ast.Attribute)) for part in walk(target)):
            lowering.statement(statement)
            return
        shown = item if isinstance(target, ast.Name) else statement
        text = re.sub(rf", {HELPER}constant\d+", "", lowering.source.text(shown))
        lowering.primitive([statement], target_names(target), target, text)

    def _goes_on(self, turn: str, iteration: Iteration) -> str:
        """The variable that holds whether there is a further turn."""
        node, turns = self.node.iter, iteration.turns
        name = f"{turn}_if"
        if iteration.may_change:
            test = helper("__hb_goes_on", [self._load(turn), *self._bounds(iteration)], node)
        else:
            test = helper("__hb_range_goes_on", [self._load(turn), self._load(turns)], node)
        self.lowering.primitive([assigned(name, test, node)], [name], node, f"{turn} < {turns}")
        return self.lowering.variable(name)

    def _reaches(self, block: str) -> bool:
        """Whether control can reach ``block``: it falls through to it from here, or a block so far jumps to it."""
        return self.blocks.is_open or self.blocks.is_reached(block)

    def _surely_turns(self, node: ast.expr) -> bool:
        """Whether a range surely has an item, so that the test before the first turn is not needed."""
        if not isinstance(node, ast.Call) or self._called(node) is not builtins.range:
            return False
        bounds = [self._known_int(argument) for argument in node.args]
        known = [bound for bound in bounds if bound is not None]
        return len(known) == len(bounds) and (len(known) < 3 or known[2] != 0) and len(range(*known)) > 0

    def _known_int(self, node: ast.expr) -> int | None:
        """The value of an integer literal, or of a name outside of the function that is an integer; else None."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._known_int(node.operand)
            return None if inner is None else -inner
        lowering = self.lowering
        value = node.value if isinstance(node, ast.Constant) else lowering.static_value(node)
        return value if type(value) is int else None

    # The iterable of a loop

    def _over(self, node: ast.expr, *, counts: bool) -> Iteration:
        """The iterable, evaluated and counted.

        Args:
            node: The expression.
            counts: Whether the loop has as many turns as it has items.
        """
        match self._called(node), node:
            case builtins.range, ast.Call():
                return self._range(node, counts)
            case builtins.enumerate, ast.Call(_, [inner, *start], keywords) if len(start) + len(keywords) <= 1:
                given = [*start, *(k.value for k in keywords if k.arg == "start")]
                inner, *given = self._evaluated([inner, *given])
                return self._enumerate(node, inner, given, counts)
            case builtins.zip, ast.Call(_, [_, *_] as inner, keywords) if {k.arg for k in keywords} <= {"strict"}:
                return self._zip(node, self._evaluated(inner), keywords, counts)
            case builtins.reversed, ast.Call(_, [inner], []) if self._called(inner) not in (enumerate, zip):
                return self._reversed(node, inner, counts)
            case called, ast.Call(_, [inner], []) if called in _WRAPPERS and self._called(inner) in _LAZY:
                if called is iter or not self._may_change(inner):  # else the copy is of the items as they are before
                    return self._over(inner, counts=counts)
        return self._items(node, counts)

    def _evaluated(self, arguments: Sequence[ast.expr]) -> list[ast.expr]:
        """The arguments of ``zip`` or ``enumerate``, evaluated if one has an effect: it shows in what is counted."""
        lowering = self.lowering
        parts = [part for argument in arguments for part in self._parts(argument)]
        effects = [i for i, part in enumerate(parts) if not lowering.is_simple(part) or effects_of(part, lowering).show]
        before = parts[: max(effects, default=0)]
        backwards = [part for argument in arguments for part in self._parts(argument, backwards=True)]
        are_counted = [any(part is one for one in backwards) for part in before]
        if all(are_counted):  # as Python does, which takes the number of the last item at once
            return list(arguments)
        if any(are_counted):
            raise UnsupportedSyntaxError(
                "an iterable of the loop has an effect, behind `reversed(…)` and another iterable",
                lowering.location(parts[effects[-1]]),
                help="write the iterable with an effect as a statement before the loop, `items = …`.",
            )
        values = [
            value if isinstance(value, ast.Name) else load(lowering.as_variable(value, part), part)
            for part, value in zip(parts, lowering.evaluated_in_order(parts), strict=True)
        ]
        others = dict(zip(map(id, parts), values, strict=True))

        def other(part: Any) -> Any:
            return others[id(part)] if id(part) in others else with_parts(part, other)

        return [other(argument) for argument in arguments]

    def _parts(self, iterable: ast.expr, *, backwards: bool = False) -> Iterator[ast.expr]:
        """The arguments of functions that make iterators, in an iterable, which Python evaluates at once.

        Items that are made in turn with those of other iterables are not among them.

        Args:
            iterable: The iterable.
            backwards: Whether to give the arguments of ``reversed`` alone.
        """
        called = self._called(iterable)
        if called in _LAZY and isinstance(iterable, ast.Call):
            for argument in iterable.args:
                yield from self._parts(argument, backwards=backwards and called is not reversed)
        elif backwards:
            return
        elif not isinstance(iterable, ast.GeneratorExp) and self.lowering.draws(iterable) is None:
            yield iterable

    def _read_in_turn(self, iterable: ast.expr) -> Read | None:
        """What an iterable reads for each item; None if it does not make its items one by one."""
        lowering = self.lowering
        return read_in_turn(iterable, lowering.static_value, lowering.scope)

    def _may_change(self, iterable: ast.expr) -> bool:
        """Whether the body of the loop may change what an iterable reads for each item."""
        read, loop, scope = self._read_in_turn(iterable), self.node, self.lowering.scope
        if read is None:
            return False
        is_given = read.is_named(loop, scope) and takes_turns(self.lowering, loop, iterable)
        return is_given or read.changed(loop, scope) is not None

    def _called(self, node: ast.expr) -> Any:
        """The function among ``_LAZY`` and ``_WRAPPERS`` that an expression calls; None if it calls none of them."""
        if not isinstance(node, ast.Call):
            return None
        value = self.lowering.static_value(node.func)
        if any(isinstance(a, ast.Starred) for a in node.args) and value is not builtins.range:
            return None
        return next((known for known in (*_LAZY, *_WRAPPERS) if value is known), None)

    def _range(self, node: ast.Call, counts: bool) -> Iteration:
        if not 1 <= len(node.args) <= 3 or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise UnsupportedSyntaxError(
                "`range` takes one to three positional arguments",
                self.lowering.location(node),
                help="write the bounds out.",
            )
        lowering = self.lowering
        values = lowering.evaluated_in_order(node.args)
        zero, one = (literal(c, node) for c in (0, 1))
        start, stop, step = {1: (zero, *values, one), 2: (*values, one), 3: tuple(values)}[len(values)]
        bounds = [lowering.as_variable(value, node) for value in (start, stop, step)]
        bounds = [self._frozen(name, node) for name in bounds]
        turns = self._turns(helper("__hb_range_count", [self._load(b) for b in bounds], node), node, counts)

        def item(turn: ast.expr) -> ast.expr:
            start, stop, step = map(self._load, bounds)
            return helper("__hb_range_item", [turn, start, step, stop], self.node.target)

        return Iteration(turns, item, (Bound(turns),))

    def _enumerate(self, node: ast.Call, inner: ast.expr, start: Sequence[ast.expr], counts: bool) -> Iteration:
        items = self._over(inner, counts=counts)
        first = self.lowering.simple(start[0]) if start else self._constant(0)
        begin = self._frozen(self.lowering.as_variable(first, node), node) if start else None

        def item(turn: ast.expr) -> ast.expr:
            number = turn
            if begin is not None:
                one = self._constant(1)
                number = helper("__hb_range_item", [turn, self._load(begin), one, self._load(begin)], node)
            return located(ast.Tuple([number, items.item(turn)], ast.Load()), node)

        return Iteration(items.turns, item, items.bounds)

    def _zip(
        self, node: ast.Call, inner: Sequence[ast.expr], keywords: Sequence[ast.keyword], counts: bool
    ) -> Iteration:
        parts = [self._over(part, counts=False) for part in inner]
        strict = [self.lowering.simple(k.value) for k in keywords] or [self._constant(False)]
        lengths = [self._load(part.turns) for part in parts]
        turns = self._turns(helper("__hb_fewest", [*strict, *lengths], node), node, counts)

        def item(turn: ast.expr) -> ast.expr:
            return located(ast.Tuple([part.item(turn) for part in parts], ast.Load()), node)

        may_change = any(part.may_change for part in parts)
        bounds = [bound for part in parts for bound in part.bounds] if may_change else [Bound(turns)]
        return Iteration(turns, item, tuple(bounds))

    def _reversed(self, node: ast.Call, inner: ast.expr, counts: bool) -> Iteration:
        items = self._over(inner, counts=counts)

        def item(turn: ast.expr) -> ast.expr:
            return items.item(helper("__hb_from_end", [self._load(items.turns), turn], node))

        bounds = (replace(bound, is_backwards=not bound.is_backwards) for bound in items.bounds)
        return Iteration(items.turns, item, tuple(bounds))

    def _items(self, node: ast.expr, counts: bool) -> Iteration:
        """The items of a value; each turn reads anew what the body may change in place."""
        lowering = self.lowering
        read = self._read_in_turn(node)
        changed = None if read is None else read.changed(self.node, lowering.scope)
        if read is not None and changed and not read.may_take_turns:
            raise refused(changed, lowering.location(node))
        kept = [] if read is None else self._kept(read, node)
        view = None if lowering.called(node) else view_of(node)
        place, method = view or (node, "")
        seen = self._seen(place, by_calls=bool(method))
        if is_by_name := seen is Seen.BY_NAME and not method:
            first = now = place
            counted = self._iterated(place, node)
        else:
            self._note_turns(node)
            items = self._iterated(lowering.simple(node), node)
            if changed:  # tracing has learned before whether the items are those of a generator
                items = helper("__hb_made_before", [items, literal(changed, node)], node)
            first = now = counted = self._held(helper("__hb_items", [items, literal(bool(method), node)], node))
        by_calls = self._seen(place, by_calls=True)
        live = place if by_calls is Seen.BY_NAME else None
        if by_calls is Seen.KEPT:
            live = self._held(place)
        if live is not None and not is_by_name:
            now = helper("__hb_live", [first, live, literal(method or "keys", node)], node)
        turns = self._turns(helper("__hb_length", [counted], node), node, counts)

        def item(turn: ast.expr) -> ast.expr:
            site = self._site() if self.may_be_written_out else self._constant(None)
            return helper("__hb_item_of", [now, turn, site, *kept], self.node.target)

        if live is None or not may_change(live, self.node, lowering.scope):
            return Iteration(turns, item, (Bound(turns),))
        seen_now = live if is_by_name or method else helper("__hb_keyed", [live], node)
        takes_out = may_take_out(place, self.node, lowering.scope)
        attribute = live.attr if isinstance(live, ast.Attribute) and not is_by_name else ""
        return Iteration(turns, item, (Bound(turns, seen_now, attribute=attribute, takes_out=takes_out),))

    def _kept(self, read: Read, node: ast.expr) -> list[ast.expr]:
        """Other names for what an iterable has read, if the loop may change it: each turn reads them.

        So a change of one of these containers is one that another name sees later, and is refused as such.
        """
        lowering = self.lowering
        if not takes_turns(lowering, self.node, node):
            return []
        names = sorted((read.late | read.containers) & lowering.local - lowering.scope.keys())
        return [self._held(self._load(name)) for name in names]

    def _note_turns(self, node: ast.expr) -> None:
        """Note a call whose generator, if it is one, has to take turns with the loop."""
        if isinstance(node, ast.Call) and takes_turns(self.lowering, self.node, node):
            self.lowering.in_turns.add(self.lowering.site(node))

    def _iterated(self, value: ast.expr, node: ast.expr) -> ast.expr:
        """The expression of the iterable; for an object of the user's, that of its generator, if it has one."""
        if node is not self.node.iter:
            return self._checked_part(value, node)
        site = located(self.lowering.constant(self.lowering.site(node)), node)
        turns = self._constant(takes_turns(self.lowering, self.node, node))
        return helper("__hb_iterated", [site, value, turns], node)

    def _checked_part(self, value: ast.expr, node: ast.expr) -> ast.expr:
        """The expression of a part of the iterable, of which tracing finds out whether its items are made in turn."""
        leaves = any(isinstance(part, (ast.Break, ast.Return)) for part in walk_all(self.node.body))
        is_beside = self._called(self.node.iter) is zip  # which ends with the shortest
        if not isinstance(node, ast.Call) or not (leaves or is_beside or takes_turns(self.lowering, self.node, node)):
            return value
        site = self.lowering.constant(of_operations(self.lowering.location(node), NEXT))
        is_known = self._constant(self.lowering.is_overloaded((NEXT,), node))
        return helper("__hb_check_part", [located(site, node), value, is_known], node)

    def _seen(self, place: ast.expr, *, by_calls: bool) -> Seen:
        """How the loop sees changes of its iterable by its body."""
        lowering = self.lowering
        is_bound_anew = lowering.callees.facts.of(BoundAnew, self.site) is not None

        def assigns(attribute: str) -> bool:
            return is_bound_anew or lowering.callees.assigns(attribute)

        return how_seen(place, self.node, lowering.local, lowering.scope, assigns, by_calls=by_calls)

    def _held(self, value: ast.expr) -> ast.expr:
        """A variable that keeps a value from before the first turn."""
        name = self.lowering.temporary("items")
        self.lowering.assign(name, value, value)
        return self._load(name)

    def _turns(self, count: ast.expr, node: ast.expr, counts: bool) -> str:
        """A variable for a number of items; with ``counts``, tracing records it as the trip count."""
        lowering = self.lowering
        name = lowering.temporary("turns")
        value = count
        if counts:
            gathers = isinstance(self.node, Gathering) and self.may_be_written_out and not self.changes
            known = [self._constant(None if self.changes else self.written_out), self._constant(gathers)]
            value = helper("__hb_turns", [count, self._site(), *known], node)
        lowering.primitive([assigned(name, value, node)], [name], node, lowering.source.text(count))
        return name

    def _site(self) -> ast.expr:
        return located(self.lowering.constant(self.site), self.node)

    def _frozen(self, name: str, node: ast.AST) -> str:
        """A copy of a user's variable, so that the body can assign to that without a change of the bounds."""
        if name.startswith("_hb_"):
            return name
        copy = self.lowering.temporary()
        self.lowering.assign(copy, self._load(name), node)
        return copy

    def _load(self, name: str) -> ast.expr:
        return load(name, self.node.iter)

    def _constant(self, value: Any) -> ast.expr:
        return literal(value, self.node.iter)


_LAZY: Final = (range, enumerate, zip, reversed)
