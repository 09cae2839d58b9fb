"""Assignments, augmented assignments and ``del`` -> primitives that give names their values.

::

    a, b = b, a + b          %a, %b = prim "a, b = (b, a + b)" (%b, %a)
    grid[y].x = v            %grid = prim "grid[y].x = v" (%grid, %v, %y)
    total += x               %total = prim "total + x" (%total, %x)

An assignment to an item or an attribute gives the root variable another value (``places.py``, ``stores.py``).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard

from hlobatch.analysis.aliases import TAKEN
from hlobatch.analysis.overloads import Overloaded, of_statement
from hlobatch.diagnostics import Note, UnsupportedSyntaxError
from hlobatch.frontend import special_methods
from hlobatch.frontend.failing_statements import FailingLowering
from hlobatch.frontend.harm_of_code import may_raise
from hlobatch.frontend.in_turn import kept_iterators, read_late, reads, used_up
from hlobatch.frontend.in_turn.moments import effects_of
from hlobatch.frontend.nodes import located
from hlobatch.frontend.places import assignments, augmented, key_of, unpacked
from hlobatch.frontend.scopes import places_in, root_of, target_names
from hlobatch.frontend.syntax import assigned, helper, literal, load
from hlobatch.ir.code import DELETION
from hlobatch.ir.ops import PrimOp


def outside(name: str) -> str:
    """The error message for a change of an object from outside of the function."""
    return f"this changes {name!r}, which stands outside of the function, once for all lanes and turns"


def _are_several(targets: Sequence[ast.expr]) -> bool:
    """Whether a statement assigns to more than one variable, item or attribute."""
    return len(targets) > 1 or isinstance(targets[0], (ast.Tuple, ast.List))


class AssignmentLowering:
    """Lowers assignments and deletions of one function."""

    def __init__(self, function: FailingLowering) -> None:
        self.function = function

    def define(self, name: str, node: ast.stmt) -> None:
        """Lower the definition of an inner function: only its defaults are computed here."""
        for kept, default in self.function.scope[name].defaults.items():
            self.function.store(kept, default, node)

    def assign_statement(self, node: ast.Assign) -> None:
        """Lower ``a = b = …``."""
        if len(node.targets) == 1 and self._is_overloaded(node.targets[0], "__setitem__", node):
            self._set_item(node.targets[0], node.value, node)
            return
        if len(node.targets) == 1 and self._is_by_method(node.targets[0], node):
            self._set_attribute(node.targets[0], node.value, node)
            return
        if any(True for target in node.targets for _ in places_in(target)):
            self._assign_places(node.targets, node.value, node)
            return
        if isinstance(node.value, ast.Lambda) and (name := self.function.name_of(node.value)) is not None:
            self.define(name, node)
            return
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._assign_name(node.targets[0].id, node.value, node)
            return
        value = self.function.as_list(node.value) or self.function.handed_on(node.value)  # to be unpacked
        statement = located(ast.Assign(node.targets, self.function.simple(value)), node)
        names = [name for target in node.targets for name in target_names(target)]
        self.function.primitive([statement], list(dict.fromkeys(names)), node, self.function.source.text(statement))

    def _is_overloaded(self, target: ast.expr, name: str, node: ast.stmt) -> TypeGuard[ast.Subscript]:
        """Whether a statement on an item is a call of a method of the user's."""
        facts, site = self.function.callees.facts, of_statement(self.function.location(node), name)
        return isinstance(target, ast.Subscript) and facts.of(Overloaded, site) is not None

    def _set_item(self, target: ast.Subscript, value: ast.expr, node: ast.stmt) -> None:
        """Lower ``a[i] = …`` as ``a.__setitem__(i, …)``; Python evaluates the value first."""
        given = load(self.function.as_variable(self.function.simple(value), value), value)
        self._call_method(target, "__setitem__", [target.slice, given], node)

    def _is_by_method(self, target: ast.expr, node: ast.stmt) -> TypeGuard[ast.Attribute]:
        """Whether an assignment to an attribute calls a method of the user's, the setter of a property."""
        return isinstance(target, ast.Attribute) and self.function.is_overloaded((target.attr,), node)

    def _set_attribute(self, target: ast.Attribute, value: ast.expr, node: ast.stmt) -> None:
        """Lower ``a.x = …`` as a call of the setter of a property; Python evaluates the value first."""
        given = load(self.function.as_variable(self.function.simple(value), value), value)
        setter = helper("__hb_method", [literal(f".{target.attr}=", target), target.value], target)
        call = located(ast.Call(setter, [target.value, given], []), node)
        self.function.statement(located(ast.Expr(call), node))

    def _call_method(self, target: ast.Subscript, name: str, arguments: list[ast.expr], node: ast.stmt) -> None:
        """Lower a statement on an item as a call of a method of its object."""
        method = located(ast.Attribute(target.value, name, ast.Load()), target)
        call = located(ast.Call(method, arguments, []), node)
        self.function.statement(located(ast.Expr(call), node))

    def _assign_name(self, name: str, value: ast.expr, node: ast.Assign | ast.AnnAssign) -> None:
        """Assign to a variable, which must not be an iterator of a lane's length that is used again."""
        function, whole = self.function, self.function.source.node
        if isinstance(value, (ast.Tuple, ast.List, ast.Dict)):
            value = function.handed_on(value)
        is_iterator = used_up.is_iterator(value, function.source, function.local)
        is_used_again = is_iterator and reads.is_used_again(name, node, whole)
        own = value
        if is_used_again or (is_iterator and kept_iterators.is_kept(name, whole, function.static_value)):
            own = kept_iterators.made(value, function.static_value, function.constant)
        if own is value and isinstance(value, ast.GeneratorExp):
            self._check_at_once(name, value, is_used_again=is_used_again)
        function.store(name, own, node)
        changed = read_late.change_before_use(name, node, function, is_object=own is not value) if is_iterator else None
        if changed is not None:
            raise UnsupportedSyntaxError(
                f"this changes {changed[0]!r}, from which {name!r} computes its items as they are used",
                function.location(changed[1]),
                notes=[Note("it became an iterator here", function.location(value))],
                help="make it a list, as in `list(…)`, which does not change, or write it where it is used.",
            )
        if is_used_again and own is value:
            function.check_once(name, name, value)

    def _check_at_once(self, name: str, items: ast.GeneratorExp, *, is_used_again: bool) -> None:
        """Refuse to make the items of a generator expression where it is given a name, if that shows."""
        effects = effects_of(items, self.function)
        if effects.calls and (is_used_again or effects.show):
            what = "is used up by the first code that reads it" if is_used_again else "makes its items as they are used"
            raise UnsupportedSyntaxError(
                f"{name!r} is an iterator, which {what}",
                self.function.location(items),
                help="make it a list, as in `list(…)`, or write it where it is used.",
            )

    def _assign_places(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        """Assign to targets among which are items and attributes."""
        for target in targets:
            self._check_places(target)
        if isinstance(value, ast.GeneratorExp) and effects_of(value, self.function).show:
            value = kept_iterators.made(value, self.function.static_value, self.function.constant)
        value = self.function.handed_on(value)
        given = self.function.simple(value)
        if not all(map(self.function.is_simple, targets)) or (self.function.shows_failures and _are_several(targets)):
            self._assign_one_by_one(targets, given, node)
            return
        text = self.function.source.text(located(ast.Assign(targets, given), node))
        body = list[ast.stmt]()
        if len(targets) > 1:
            name = self.function.temporary()
            body = [assigned(name, given, node)]
            given = load(name, node)
        body += [statement for target in targets for statement in assignments(target, given, self.function.temporary)]
        self.function.primitive(body, self.function.bound(body), node, text)

    def _assign_one_by_one(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        """Assign to targets one by one: one has control flow of its own, which runs when Python reaches it, or raises.

        What stands before a target that raises has been assigned to.
        """
        given = self.function.temporary()
        self.function.assign(given, value, node)
        for target in targets:
            pattern, parts = unpacked(target, self.function.temporary)
            unpacking = located(ast.Assign([pattern], load(given, node)), node)
            self.function.primitive([unpacking], [name for _, name in parts], node, self.function.source.text(value))
            for part, name in parts:
                body = assignments(self._simple_place(part), load(name, part), self.function.temporary)
                self.function.primitive(body, self.function.bound(body), part, self.function.source.text(part))

    def annotated_assignment(self, node: ast.AnnAssign) -> None:
        """Lower ``a: annotation = …``."""
        if node.value is None:
            return
        if isinstance(node.target, ast.Name):
            self._assign_name(node.target.id, node.value, node)
        else:
            self._assign_places([node.target], node.value, node)

    def augmented_assignment(self, node: ast.AugAssign) -> None:
        """Lower ``a += …`` and the like."""
        if self._is_overloaded(node.target, "__setitem__", node):
            self._augment_item(node.target, node)
            return
        if self._is_by_method(node.target, node):
            before = located(ast.Attribute(node.target.value, node.target.attr, ast.Load()), node.target)
            self._set_attribute(node.target, located(ast.BinOp(before, node.op, node.value), node), node)
            return
        if isinstance(node.target, ast.Name) and (special := special_methods.augmented(node)):
            names, operation = special
            if self.function.is_overloaded(names, node):
                operand = load(node.target.id, node)
                self.function.assign(
                    node.target.id, self.function.as_method_call(node, operation, [operand, node.value]), node
                )
                return
        if isinstance(node.target, ast.Name):
            self._augment_name(node.target, node)
        else:
            self._augment_place(node)

    def _augment_item(self, target: ast.Subscript, node: ast.AugAssign) -> None:
        """Lower ``a[i] += …`` as ``a.__setitem__(i, a[i] + …)``."""
        index = load(self.function.as_variable(self.function.simple(target.slice), node), target.slice)
        item = located(ast.Subscript(target.value, index, ast.Load()), target)
        value = located(ast.BinOp(item, node.op, node.value), node)
        self._set_item(located(ast.Subscript(target.value, index, ast.Store()), target), value, node)

    def _augment_name(self, target: ast.Name, node: ast.AugAssign) -> None:
        before, value = self.function.evaluated_in_order([load(target.id, target), node.value])
        assert isinstance(before, ast.Name)
        is_iterator = isinstance(value, (ast.GeneratorExp, ast.Call))  # or may be one, whose items are added in turn
        if self.function.has_try and not is_iterator and may_raise(value, self.function):
            value = load(self.function.as_variable(value, node.value), node.value)  # if it raises, nothing is changed
        own = located(ast.Name(before.id, ast.Store()), target)
        body: list[ast.stmt] = [located(ast.AugAssign(own, node.op, value), node)]
        if before.id != target.id:
            body.append(assigned(target.id, before, node))
        self.function.primitive(body, [target.id], node, self.function.source.text(ast.BinOp(before, node.op, value)))

    def _augment_place(self, node: ast.AugAssign) -> None:
        """Lower ``a[i] += …``: the item is read before the right side is evaluated."""
        self._check_places(node.target)
        target = self._simple_place(node.target, [node.value])
        assert isinstance(target, (ast.Subscript, ast.Attribute))
        statement = located(ast.AugAssign(target, node.op, node.value), node)
        *read, change, write = augmented(statement, lambda: self.function.temporary(TAKEN))
        assert isinstance(change, ast.AugAssign)
        if not self.function.is_simple(node.value):
            names = [name for part in read if isinstance(part, ast.Assign) for name in target_names(part.targets[0])]
            self.function.primitive(read, names, node.target, self.function.source.text(target))
            read, change.value = [], self.function.simple(node.value)
        body = [*read, change, write]
        statement = located(ast.AugAssign(target, node.op, change.value), node)
        self.function.primitive(body, self.function.bound(body), node, self.function.source.text(statement))

    def _simple_place(self, target: ast.expr, later: Sequence[ast.expr] = ()) -> ast.expr:
        """An item or attribute of a variable, with any control flow on the way to it lowered.

        Args:
            target: The item or attribute.
            later: Expressions that are evaluated before the assignment.
        """
        place = self.function.with_simple_children(target, later) if later else self.function.simple(target)
        for part in places_in(place):
            if not isinstance(root_of(part), ast.Name):
                raise UnsupportedSyntaxError(
                    "this changes an attribute of a function",
                    self.function.location(target),
                    help="keep the value in a variable of its own.",
                )
        return place

    def _check_places(self, target: ast.expr) -> None:
        """Refuse an assignment to a part of an object that is no variable of the function."""
        for part in places_in(target):
            root = root_of(part)
            if isinstance(root, ast.Name) and self.function.is_own(root.id):
                continue
            if isinstance(root, ast.Name):
                is_nested = part.value is not root
                copied = f"copy.deepcopy({root.id})" if is_nested else f"{root.id}.copy()"
                raise UnsupportedSyntaxError(
                    outside(root.id),
                    self.function.location(part),
                    help=f"work on a copy, as in `own = {copied}`, and return what it is to be.",
                )
            raise UnsupportedSyntaxError(
                "this changes a part of what a call gives, which no variable holds",
                self.function.location(part),
                help="give the value a name first, and assign to a part of that; what stands outside of the function "
                "cannot be changed.",
            )

    def delete_statement(self, node: ast.Delete) -> None:
        """Lower ``del``."""
        for target in node.targets:
            for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                if self._is_overloaded(part, "__delitem__", node):
                    self._call_method(part, "__delitem__", [part.slice], node)
                    continue
                if isinstance(part, ast.Subscript):
                    taken = located(ast.Attribute(part.value, "__delitem__", ast.Load()), part)
                    call = located(ast.Call(taken, [key_of(part.slice)], []), part)
                    if self.function.changes_growing_part(call):
                        self.function.change_growing_part(call, node)
                        continue
                if isinstance(part, ast.Subscript):
                    self._check_places(located(ast.Subscript(part.value, part.slice, ast.Store()), part))
                    statement = located(ast.Delete([self.function.simple(part)]), node)
                    self.function.primitive([statement], [], node, self.function.source.text(statement))
                    continue
                if not isinstance(part, ast.Name):
                    raise self.function.unsupported(node)
                place = self.function.location(part)
                self.function.blocks.add(
                    PrimOp((), (self.function.variable(part.id),), DELETION, f"del {part.id}", location=place)
                )
