"""A call of a function of the program -> a ``FunctionCallOp``, which also returns arguments that the callee changes.

::

    k = partition(a, lo, hi)        ==>       %k, %a = call @partition(%a, %lo, %hi)       if it changes ``a`` in place
    sort(rows[i])                             %$1 = …rows[i]; %$2, %$3 = call @sort(%$1); rows[i] = %$3
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from hlobatch.analysis.reach import may_change
from hlobatch.diagnostics import BatchTypeError, Note, UnsupportedSyntaxError
from hlobatch.frontend import builtins as batched_builtins
from hlobatch.frontend.callees import Called, Callee, changed_default
from hlobatch.frontend.changes import GivesBack, rebinding
from hlobatch.frontend.following import MAKE, Calls
from hlobatch.frontend.guesses import Expected, tried
from hlobatch.frontend.held_objects import is_initializer
from hlobatch.frontend.in_turn import reads, used_up
from hlobatch.frontend.in_turn.lazy import AT_ONCE, ItemsRaise
from hlobatch.frontend.library import changes_around
from hlobatch.frontend.nested import Default, by_another_name
from hlobatch.frontend.nodes import located, with_fields
from hlobatch.frontend.operands import operands_of, with_operands
from hlobatch.frontend.places import as_target, put_back
from hlobatch.frontend.scopes import TEMPORARY, positional, root_of, stored_names
from hlobatch.frontend.source import Source
from hlobatch.frontend.steps import is_given
from hlobatch.frontend.syntax import helper, literal, load, spread
from hlobatch.frontend.whole_function import WholeLowering
from hlobatch.frontend.written import written
from hlobatch.ir.ops import FunctionCallOp
from hlobatch.values.facts import Copy, Learned, of_function
from hlobatch.values.held_classes import MADE

_PARTS: Final = (ast.Subscript, ast.Attribute)


class CallLowering:
    """Lowers calls of functions of the program."""

    def __init__(self, function: WholeLowering) -> None:
        self.function = function

    def lower(self, node: ast.Call, called: Called, result: str) -> str:
        """Emit a call of a function of the program; return the name of the variable that receives its result."""
        if called.receiver in MAKE:
            return self._make(node, called, result)
        callee, site = self._copy(called.callee, node), self.function.site(node)
        location = self.function.location(node)
        self.function.callees.is_called(callee, location)
        bound = self._bind(node, called)
        self._check_defaults(callee, bound, node)
        captured = dict(zip(callee.captured, self._captured(node, called), strict=True))
        bound = {name: captured[value.name] if isinstance(value, Default) else value for name, value in bound.items()}
        bound = self._apart(callee, bound, node)
        arguments = self._evaluated(callee, bound, list(captured.values()), node, called.expected)
        self._check_method(called, arguments, node)
        self._check_there(called, arguments, node)
        changed = self._taken_back(callee, arguments, node)
        names = [self.function.variable(self.function.as_variable(value, node)) for value in arguments.values()]
        received = self._received(callee, result, [name for name, _ in changed])
        results = (received, *callee.changed, *(name for name, _ in changed), *self.function.told(callee))
        places = tuple(map(self.function.location, arguments.values()))
        outputs = tuple(map(self.function.variable, results))
        self.function.blocks.add(
            FunctionCallOp(callee.name, tuple(names), outputs, site, called.is_again, location=location, read_at=places)
        )
        for name, place in changed:
            if place is not None:
                self._put_back(place, name, node)
        self._check_used_up(callee, node)
        if callee.raises:
            self.function.after_call(node, callee)
        if received != result:
            self.function.assign(result, load(received, node), node)
        return result

    def _check_method(self, called: Called, arguments: Mapping[str, ast.expr], node: ast.Call) -> None:
        """Emit a check that the object whose method is called is of the class that it was of when this was learned."""
        fact = self.function.callees.facts.of(Calls, self.function.site(node))
        if fact is None or called.receiver not in ("__self__", "itself") or not self.function.callees.has_kinds:
            return
        name = node.func.attr if called.receiver == "__self__" and isinstance(node.func, ast.Attribute) else None
        if called.receiver == "__self__" and (name is None or is_of_base(node.func)):
            return
        given = [self.function.constant(value) for value in (self.function.site(node), fact, name)]
        check = helper("__hb_check_method", [*given, self._receiver_of(called, arguments)], node)
        self.function.primitive(
            [located(ast.Expr(check), node)], [], node, self.function.source.text(node.func), tests=True
        )

    def _receiver_of(self, called: Called, arguments: Mapping[str, ast.expr]) -> ast.expr:
        """The argument that is the object whose method is called: the first that is no closure variable."""
        return next(value for name, value in arguments.items() if name not in called.callee.captured)

    def _check_there(self, called: Called, arguments: Mapping[str, ast.expr], node: ast.Call) -> None:
        """Emit a test that the object whose method is called is none that refers to others and is None."""
        if not called.callee.columns or called.receiver != "__self__" or not isinstance(node.func, ast.Attribute):
            return
        if is_of_base(node.func):
            return
        receiver = self._receiver_of(called, arguments)
        own = next(iter(positional(self.function.source.node)), "")
        if isinstance(receiver, ast.Name) and receiver.id == own and own not in stored_names(self.function.source.node):
            return  # the caller has tested it
        check = helper("__hb_owner", [receiver, literal(node.func.attr, node)], node)
        self.function.primitive([located(ast.Expr(check), node)], [], node, self.function.source.text(node.func))

    def _make(self, node: ast.Call, called: Called, result: str) -> str:
        """Emit the call of a class: of its ``__init__`` or ``__post_init__`` on a new object, which is the result."""
        made = self.function.temporary()
        arguments, keywords = [load(made, node), *node.args], node.keywords
        new: ast.expr = helper("__hb_new", [node.func], node)
        if called.callee.columns and is_initializer(called.callee.source.function):
            self.function.changes_own(MADE)
            self.function.statements(written("MADE[0] += 1", node, MADE=MADE))
            new = helper("__hb_made", [node.func, load(MADE, node)], node)
        if called.receiver == "filled":
            call = ast.Call(load("__hb_filled", node), [node.func, *node.args], keywords)
            new, arguments, keywords = self.function.simple(located(call, node)), arguments[:1], []
        self.function.assign(made, new, node)
        inner = located(ast.Call(node.func, arguments, keywords), node)
        self.lower(inner, replace(called, receiver=""), self.function.temporary())
        self.function.assign(result, load(made, node), node)
        return result

    def _check_used_up(self, callee: Callee, node: ast.Call) -> None:
        """Refuse an iterator whose items are computed at once and may raise, if not all of them may be used.

        Raises:
            Learned: The call is one of these items.
        """
        own, facts = self.function.callee, self.function.callees.facts
        if callee.raises and not callee.source.is_of_prelude and own.source.function in AT_ONCE:
            if facts.of(ItemsRaise, of_function(own.key)) is None:
                raise Learned(of_function(own.key), ItemsRaise())
        elif callee.source.function in AT_ONCE and facts.of(ItemsRaise, of_function(callee.key)) is not None:
            if self.function.site(node) in self.function.used_up:
                return
            raise UnsupportedSyntaxError(
                f"{self.function.source.text(node.func)!r} calls what may raise, for items that may not be used",
                self.function.location(node),
                help="make a list of all items, as in `list(…)`, or write a `for` that makes the calls.",
            )

    def _put_back(self, place: ast.expr, name: str, node: ast.Call) -> None:
        """Store the callee's new value of an item or attribute that was an argument."""
        body = put_back(place, load(name, node))
        whole = located(ast.Expr(node), node)
        outputs, text = self.function.bound(body), self.function.source.text(place)
        self.function.primitive(body, outputs, whole, text, puts_back=True)

    def _evaluated(
        self,
        callee: Callee,
        bound: Mapping[str, Any],
        captured: Sequence[ast.expr],
        node: ast.Call,
        expected: Expected | None,
    ) -> dict[str, ast.expr]:
        """The arguments of a call, with control flow lowered, by parameter; closure variables come first.

        Python evaluates arguments in the order of the source; a closure variable has its value at the time of the call.
        A call that is made by a guess is also traced with these arguments, to test the guess.
        """
        values = {name: self._argument(value, node) for name, value in bound.items()}
        if callee.source.is_of_prelude:
            values = {name: self._holdable(value) for name, value in values.items()}
        else:
            values = {name: self.function.handed_on(value) for name, value in values.items()}
        written = sorted(values, key=lambda name: (values[name].lineno, values[name].col_offset))
        places = [values[name] for name in written if name in callee.changes]
        evaluated = self.function.evaluated_in_order([*(values[name] for name in written), *captured], changed=places)
        for name, value in zip(written, evaluated, strict=False):
            if self._is_used_up(values[name], name, callee):
                self.function.check_once(self.function.as_variable(value, node), name, values[name])
            if name not in callee.changes or not isinstance(root_of(value), ast.Name):
                value = load(self.function.as_variable(value, node), value)
            values[name] = self._place(value, callee) if isinstance(value, _PARTS) else value
        if expected is not None:
            known = {name: value for name, value in zip(written, evaluated, strict=False) if is_given(value)}
            given = {**values, **known}  # variables hold arguments that may raise, since no test follows a trial
            self.function.expect(expected, tried(node, expected.calls, callee.source.signature, given), node)
        return {**dict(zip(callee.captured, evaluated[len(values) :], strict=True)), **values}

    def _is_used_up(self, value: ast.expr, name: str, callee: Callee) -> bool:
        """Whether an argument is an iterator in Python, and the callee may go over it twice."""
        is_iterator = used_up.is_iterator(value, self.function.source, self.function.local)
        return is_iterator and not callee.source.is_of_prelude and reads.is_read_again(name, callee.source.node)

    def _place(self, value: ast.expr, callee: Callee) -> ast.expr:
        """An argument that is a part of a variable, with keys that do not change until it is stored back."""
        place = as_target(value)
        keys = [part for part in operands_of(place)[1:] if not isinstance(part, ast.Constant)]
        fixed = (
            key
            if isinstance(key, ast.Name) and key.id not in callee.bound
            else load(self.function.as_variable(key, key), key)
            for key in keys
        )
        return with_operands(value, dict(zip(map(id, keys), fixed, strict=True)))

    def _received(self, callee: Callee, result: str, changed: Sequence[str]) -> str:
        """The variable that receives the result: a temporary if the target keeps its value when the call raises."""
        is_kept = callee.raises and self.function.outlives_failure(result)
        is_changed = result in changed or result in callee.changed
        return self.function.temporary() if is_kept or is_changed else result

    def _taken_back(
        self, callee: Callee, arguments: Mapping[str, ast.expr], node: ast.Call
    ) -> list[tuple[str, ast.expr | None]]:
        """For each parameter that a callee changes, the variable that receives it, and the place to store it, or None.

        Raises:
            Learned: The callee does not return it yet.
            UnsupportedSyntaxError: It cannot be stored back.
        """
        if callee.changes and not callee.gives_back:
            raise Learned(of_function(callee.key), GivesBack())
        found: list[tuple[str, ast.expr | None]] = []
        for parameter in callee.changes:
            argument = load(parameter, node) if parameter in callee.captured else arguments[parameter]
            root = root_of(argument)
            other = None if parameter in callee.captured else rebinding(callee.source.node, parameter)
            if other is not None:
                raise self._rebound(callee, parameter, other, node)
            if not isinstance(root, ast.Name):  # the value has no name by which it could be read after the call
                found.append((self.function.temporary(), None))
                continue
            if root.id not in self.function.local and not root.id.startswith(TEMPORARY):
                raise self._outside(callee, parameter, root, node)
            self.function.changes_own(root.id)
            found.append((root.id, None) if argument is root else (self.function.temporary(), argument))
        return found

    def _apart(self, callee: Callee, bound: Mapping[str, Any], node: ast.Call) -> dict[str, Any]:
        """Arguments, with a check on those that are parts of one that the callee changes: they have to be numbers."""
        given = (bound.get(name) for name in callee.changes)
        changed = {value.id for value in given if isinstance(value, ast.Name)}
        found = dict(bound)
        for parameter, value in bound.items():
            if not isinstance(value, ast.expr) or (parameter in callee.changes and isinstance(value, ast.Name)):
                continue
            root = root_of(value)
            if isinstance(root, ast.Name) and root.id in changed:
                found[parameter] = helper("__hb_apart", [value, self.function.constant(root.id)], value)
        names = [value.id for value in bound.values() if isinstance(value, ast.Name)]
        if twice := next((name for name in changed if names.count(name) > 1), None):
            raise batched_builtins.given_twice(twice).at(self.function.location(node))
        return found

    def _rebound(self, callee: Callee, parameter: str, other: ast.AST, node: ast.Call) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(
            f"{callee.source.node.name!r} changes its argument {parameter!r}, and gives the name to another value, too",
            self.function.location(node),
            notes=[Note("here", callee.source.location(other))],
            help=f"give the other value a name of its own, or begin with a copy, `{parameter} = {parameter}.copy()`.",
        )

    def _check_defaults(self, callee: Callee, bound: Mapping[str, Any], node: ast.Call) -> None:
        """Refuse a call of a function that changes the default of a parameter, which all its calls share."""
        for name in callee.changes:
            value = bound.get(name)
            if isinstance(value, Default) or (not isinstance(value, ast.expr) and may_change(value)):
                error = changed_default(callee, name).at(self.function.location(node))
                raise error.with_note(Note("it is defined here", callee.source.definition))

    def _outside(self, callee: Callee, parameter: str, root: ast.Name, node: ast.Call) -> UnsupportedSyntaxError:
        source = self.function.source
        if source.is_of_prelude:
            error = changes_around(callee.source.node.name, root.id, source.node.name)
            return error.at(self.function.location(node))
        return UnsupportedSyntaxError(
            f"{callee.source.node.name!r} changes its argument {parameter!r} in place, which is {root.id!r}, "
            "outside of the function, once for all lanes and turns",
            self.function.location(node),
            help=f"work on a copy, as in `own = {root.id}.copy()`.",
        )

    def _captured(self, node: ast.Call, called: Called) -> list[ast.expr]:
        """The closure variables of a callee: variables as they are now, or those of a ``Closure`` that is called."""
        callee = called.callee
        own = callee.template.captured if callee.template else ()
        everywhere = [load(name, node) for name in callee.columns]
        if not own or (isinstance(node.func, ast.Name) and node.func.id in self.function.scope):
            return [*(load(name, node) for name in own), *everywhere]
        if callee.changed:
            raise by_another_name(callee.source.node.name).at(self.function.location(node))
        function = load(self.function.as_variable(self.function.simple(node.func), node), node)
        indices = (literal(i, node) for i in range(len(own)))
        return [*(helper("__hb_captured", [function, index], node) for index in indices), *everywhere]

    def _argument(self, value: Any, node: ast.Call) -> ast.expr:
        """An argument as an expression; defaults and lambdas become variables and constants."""
        if isinstance(value, Default):
            return load(value.name, node)
        if not isinstance(value, ast.expr):
            return located(self.function.constant(value), node)
        if isinstance(value, ast.Lambda) and self.function.name_of(value) is None:
            return self.function.closure_of(value)
        return value

    def _holdable(self, value: ast.expr) -> ast.expr:
        """An argument of a library function: a list in place of a view or an iterator, which no variable can hold."""
        match value:
            case ast.Call(ast.Attribute(_, "items" | "keys" | "values"), [], []):
                is_view = True
            case ast.Call():
                is_view = used_up.is_iterator(value, self.function.source, self.function.local)
                is_view = is_view and not self.function.called(value) and not self.function.draws(value)
            case ast.Tuple(parts, ast.Load()):
                return located(ast.Tuple([self._holdable(part) for part in parts], ast.Load()), value)
            case _:
                is_view = False
        return helper("__hb_listed", [self.function.constant((True,)), value], value) if is_view else value

    def _copy(self, callee: Callee, node: ast.Call) -> Callee:
        """The copy of a function that a call needs; a recursive call stays in its copy unless a fact says otherwise."""
        fact = self.function.callees.facts.of(Copy, self.function.site(node))
        if fact is not None:
            return self.function.callees.copy(callee, fact)
        return self.function.callee if callee.source is self.function.callee.source else callee

    def _bind(self, node: ast.Call, called: Called) -> dict[str, Any]:
        """Arguments by parameter, in the callee's order; defaults are Python objects."""
        callee = called.callee
        if is_starred(node) or called.receiver == "bound":
            if called.receiver == "__self__" and not isinstance(node.func, ast.Attribute):
                self._check_receiver(callee, node)
            return self._bound_by_tracing(node, callee)
        arguments = list(node.args)
        for i in called.contents:  # objects of classes that are derived from containers
            arguments[i] = located(ast.Attribute(arguments[i], "hb_content", ast.Load()), arguments[i])
        return self._bound(with_fields(node, args=arguments), callee.name, callee.source, called.receiver)

    def _check_receiver(self, callee: Callee, node: ast.Call) -> None:
        """Refuse a method in a variable that changes its object, which has no place in the caller."""
        own = next(iter(positional(callee.source.node)), None)
        if own in callee.changes:
            raise UnsupportedSyntaxError(
                f"{callee.source.node.name!r} changes its object, and is called by another name",
                self.function.location(node),
                help="call it by its object, as in `counter.add(*pair)`.",
            )

    def arguments(self, node: ast.Call, source: Source, receiver: str) -> dict[str, ast.expr]:
        """The arguments of a call of a function without stars, by parameter; the receiver is as in ``Calls``."""
        bound = self._bound(node, source.node.name, source, receiver)
        return {name: self._argument(value, node) for name, value in bound.items()}

    def _bound(self, node: ast.Call, name: str, source: Source, receiver: str) -> dict[str, Any]:
        """Arguments by parameter, where the syntax tells which is which."""
        keywords = {k.arg: k.value for k in node.keywords if k.arg is not None}
        try:
            bound = source.signature.bind(*_receiver(node.func, receiver), *node.args, **keywords)
        except TypeError as error:
            raise BatchTypeError(
                f"{name}() is called wrongly: {error}",
                self.function.location(node),
                notes=[Note(f"{name} is defined here", source.definition)],
                help=f"its parameters are {source.signature}.",
            ) from None
        bound.apply_defaults()
        return {name: _collected(value, node) for name, value in bound.arguments.items()}

    def _bound_by_tracing(self, node: ast.Call, callee: Callee) -> dict[str, Any]:
        """Arguments by parameter, where only tracing can match them to parameters."""
        signature = callee.source.signature
        parts = [self.function.constant(signature), node.func, *spread(node.args)]
        call = located(ast.Call(ast.Name("__hb_bound", ast.Load()), parts, node.keywords), node)
        found = load(self.function.as_variable(self.function.with_simple_children(call), node), node)
        indices = (literal(i, node) for i in range(len(signature.parameters)))
        items = (located(ast.Subscript(found, index, ast.Load()), node) for index in indices)
        return dict(zip(signature.parameters, items, strict=True))


def is_of_base(function: ast.expr) -> bool:
    """Whether a method is that of a base class, as in ``super().method``."""
    match function:
        case ast.Attribute(ast.Call(ast.Name("super"))):
            return True
    return False


def is_starred(node: ast.Call) -> bool:
    """Whether a call has arguments with a star, so that the syntax does not match them to parameters."""
    return any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)


def _collected(value: Any, node: ast.Call) -> Any:
    """The tuple or dict of a parameter with stars, as an expression; any other argument unchanged."""
    if isinstance(value, tuple) and value and all(isinstance(item, ast.expr) for item in value):
        return located(ast.Tuple(list(value), ast.Load()), node)
    if isinstance(value, dict) and value and all(isinstance(item, ast.expr) for item in value.values()):
        keys: list[ast.expr | None] = [literal(key, node) for key in value]
        return located(ast.Dict(keys, list(value.values())), node)
    return value


def _receiver(function: ast.expr, how: str) -> list[ast.expr]:
    """The first argument of a call, if it follows from the called object; ``how`` is a receiver as in ``Calls``."""
    match function:
        case _ if how in ("", "values"):
            return []
        case _ if how == "itself":
            return [function]
        case _ if how == "differentiated":
            return [helper("__hb_differentiated", [function], function)]
        case ast.Attribute(ast.Call(ast.Name("super"), [_, value])) | ast.Attribute(value):
            return [value]
    return [located(ast.Attribute(function, how, ast.Load()), function)]
