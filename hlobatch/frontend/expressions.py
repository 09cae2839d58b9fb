"""Expressions -> operations, and what is left of them as straight-line code.

Batched calls, conditional expressions and short-circuit operators are taken out of an expression, in the order Python
evaluates them, into variables of their own; the rest is one ``PrimOp``.

    fibonacci(n - 2) + fibonacci(n - 1)
    ==>
    %$1 = prim "n - 2" (%n); %$2 = call @fibonacci(%$1); …; prim "$2 + $4" (%$2, %$4)
"""

from __future__ import annotations

import ast
import copy
import functools
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard, TypeVar

from hlobatch.analysis.definedness import user_name
from hlobatch.analysis.facts import Changes, Copy, GoesOver, Learned, MayBeNone, Site, of_code, of_function
from hlobatch.analysis.lane_failures import PROGRAM, CanFail, Careful
from hlobatch.analysis.optional import narrow
from hlobatch.diagnostics import (
    BatchTypeError,
    Location,
    Note,
    UndefinedVariableError,
    UnsupportedSyntaxError,
)
from hlobatch.frontend import builtins as batched_builtins
from hlobatch.frontend import heaps
from hlobatch.frontend.blocks import BlockBuilder
from hlobatch.frontend.callees import Called, Callee, Callees, static_value
from hlobatch.frontend.changes import ChangesByCalls, GivesBack, changed_by_methods, is_change, rebinding
from hlobatch.frontend.comprehensions import as_loop, renamed
from hlobatch.frontend.following import Calls, called
from hlobatch.frontend.meanings import Meanings
from hlobatch.frontend.nested import Default, Template, nested_functions, unnamed_function
from hlobatch.frontend.primitives import HELPERS, compile_primitive, helper, watched
from hlobatch.frontend.printing import PrintLowering
from hlobatch.frontend.reductions import REDUCERS, Looped, arguments_of, as_reduction
from hlobatch.frontend.scopes import HELPER, assigned_in_expressions, local_names, names_before, read_names, root_of
from hlobatch.frontend.source import MISSING, Source
from hlobatch.frontend.support import refusal
from hlobatch.ir.ops import BranchOp, FunctionCallOp, GotoOp, PrimOp

Tree = TypeVar("Tree", bound=ast.AST)
TEMPORARY: Final = "_hb_"
"""How variables begin that no user can have written."""
_SITE = re.compile(rf"{HELPER}constant\d+, ")
"""Where a call stands, as the first argument of what the frontend puts in its place."""
_LITERAL = (bool, int, float, complex, str, types.NoneType)
_TRACE_TIME = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class _Asked:
    """A test for None.

    Attributes:
        name: The variable.
        condition: The test, as an expression without control.
        if_true: Whether there is a value where the test holds.
        is_known: Whether the variable is None in some lanes, so that it matters.
    """

    name: str
    condition: ast.expr
    if_true: bool
    is_known: bool


class ExpressionLowering:
    """Lowers the expressions of one function into the blocks it builds."""

    __hash__ = None  # type: ignore[assignment]  # Python 3.13.0 keeps what singledispatchmethod can put in a dict

    def __init__(self, callee: Callee, callees: Callees) -> None:
        self.callee = callee
        self.source: Source = callee.source
        self.callees = callees
        self.local = local_names(self.source.node).union(callee.captured)
        around = callee.template.scope if callee.template else {}
        self.scope = nested_functions(self.source, callee.key, self.local, around)
        self.meanings = Meanings(self.source, self.local, callees.facts.of(Careful, PROGRAM) is not None)
        self.blocks = BlockBuilder()
        self.path: tuple[int, ...] = ()
        self.constants: dict[str, Any] = {}
        self._temporaries = 0

    # Names

    def variable(self, name: str) -> str:
        """The program's name of a local variable or a temporary."""
        short = f"${name.removeprefix(TEMPORARY)}" if name.startswith(TEMPORARY) else name
        return f"{self.callee.name}.{short}"

    def temporary(self, stem: str = "") -> str:
        """A fresh name that no user can have written."""
        self._temporaries += 1
        return f"{TEMPORARY}{stem}{self._temporaries}"

    def constant(self, value: Any) -> ast.expr:
        """An expression for a Python object."""
        if type(value) in _LITERAL:
            return ast.Constant(value)
        name = f"{HELPER}constant{len(self.constants)}"
        self.constants[name] = value
        return ast.Name(name, ast.Load())

    def location(self, node: ast.AST) -> Location:
        return self.source.location(node)

    def site(self, node: ast.expr | ast.stmt) -> Site:
        """A place that facts are about."""
        span = (node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return Site(self.callee.key, self.path, span)

    def unsupported(self, node: ast.AST) -> UnsupportedSyntaxError:
        """The error for a node that is not supported."""
        what, instead = refusal(node)
        return UnsupportedSyntaxError(
            f"{what} is not supported in a batched function", self.location(node), help=instead
        )

    # Straight-line code

    def primitive(
        self, body: Sequence[ast.stmt], outputs: Sequence[str], node: ast.AST, text: str, *, tests: bool = False
    ) -> None:
        """Emit one ``PrimOp`` for straight-line statements, and a test behind it if they fail in some lanes.

        Args:
            body: The statements.
            outputs: The names that they give values to.
            node: What stands in the source.
            text: What the program shows of it.
            tests: Whether this is such a test.
        """
        written = body
        body = self.meanings.of([self._with_sites(statement) for statement in written])
        reads = names_before(body)
        inputs = [name for name in reads if name in self.local or name.startswith(TEMPORARY)]
        for name, where in reads.items():
            if name not in inputs and name not in HELPERS and name not in self.constants:
                self._check_global(name, where)
        changed = self._changed_in_place(changed_by_methods(written), inputs, outputs, node)
        failing = self.callees.facts.of(CanFail, of_code(self.location(node)))
        status, held = "", dict[str, str]()
        outputs = [*outputs, *changed]
        if failing is not None and not tests:
            status, held = self.temporary("status"), self.held_back(outputs, changed, failing, node)
            body = [*body, *(assigned(new, ast.Name(name, ast.Load()), node) for name, new in held.items())]
            outputs = [*(held.get(name, name) for name in outputs), status]
            body = watched(body, self.constant(failing.failures), status)
            reads = names_before(body)
        constants = {name: value for name, value in self.constants.items() if name in reads}
        function = compile_primitive(self.source, body, inputs, outputs, constants)
        self.blocks.add(
            PrimOp(
                tuple(map(self.variable, inputs)),
                tuple(map(self.variable, outputs)),
                function,
                _SITE.sub("", text).replace(HELPER, "").replace(TEMPORARY, "$"),
                self.location(node),
                tuple(self.location(reads[name]) for name in inputs),
            )
        )
        if failing is not None and status:
            self.test_after(status, failing, node)
            for name, new in held.items():
                self.primitive([assigned(name, ast.Name(new, ast.Load()), node)], [name], node, new, tests=True)

    def held_back(
        self, outputs: Sequence[str], changed: Sequence[str], failing: CanFail, node: ast.AST
    ) -> dict[str, str]:
        """What straight-line code gives values to only if it does not fail, and the variables that keep it until then.

        Args:
            outputs: What it gives values to.
            changed: Those of them of whose values it changes something in place.
            failing: How it may fail.
            node: Where it stands.
        """
        raise NotImplementedError

    def test_after(self, status: str, failing: CanFail, node: ast.AST) -> None:
        """Behind straight-line code that fails in some lanes: on, or to where failures go."""
        raise NotImplementedError

    def _changed_in_place(
        self, by_methods: frozenset[str], inputs: Sequence[str], outputs: Sequence[str], node: ast.AST
    ) -> list[str]:
        """Variables that code reads, and of whose values it changes something by a method or by what it calls."""
        changes = self.callees.facts.of(Changes, of_code(self.location(node)))
        known = changes.names if changes else frozenset[str]()
        found = [n for n in inputs if n not in outputs and (n in by_methods or user_name(self.variable(n)) in known)]
        for name in found:
            self.changes_own(name)
        return found

    def _with_sites(self, node: Any) -> Any:
        """Straight-line code whose calls of what may be a function of the user's know where they stand."""
        if not any(isinstance(part, ast.Call) and self.may_be_followed(part) for part in ast.walk(node)):
            return node
        return _Sites(self).visit(copy.deepcopy(node))

    def may_be_followed(self, node: ast.Call) -> bool:
        if isinstance(node.func, ast.Name) and node.func.id.startswith(HELPER):
            return False
        value = static_value(node.func, self.source, self.local)
        return value is MISSING or value is functools.partial or called(value) is not None

    def _check_global(self, name: str, node: ast.AST) -> None:
        if self.source.resolve(name) is MISSING:
            raise UndefinedVariableError(
                f"{name!r} is not defined", self.location(node), help="define it before the first call."
            )

    def assign(self, name: str, value: ast.expr, node: ast.AST) -> None:
        """Emit ``name = value`` for straight-line code."""
        target = ast.copy_location(ast.Name(name, ast.Store()), node)
        statement = ast.copy_location(ast.Assign([target], value), node)
        self.primitive([statement], [name], node, self.source.text(value))

    def as_variable(self, value: ast.expr, node: ast.AST) -> str:
        """A variable that holds the value of straight-line code (the code itself where it is a local name)."""
        if isinstance(value, ast.Name) and (value.id in self.local or value.id.startswith(TEMPORARY)):
            return value.id
        name = self.temporary()
        self.assign(name, value, node)
        return name

    # Expressions

    def simple(self, node: ast.expr) -> ast.expr:
        """Lower the control in an expression; what comes back is straight-line code."""
        if self.is_simple(node):
            return node
        match node:
            case ast.Name(name):
                return self.closure(self.scope[name], node)
            case ast.Call() if called := self.called(node):
                return self.load(self.call(node, called, self.temporary()), node)
            case ast.IfExp():
                return self.load(self._choose(node), node)
            case ast.BoolOp():
                return self.load(self._short_circuit(node), node)
            case ast.UnaryOp(op=ast.Not()):
                return helper("__hb_not", [self.simple(node.operand)], node)
            case ast.Compare() if self._is_conditional(node):
                return self.simple(self._as_conjunction(node))
            case ast.Compare() if len(node.ops) > 1:
                return self._chained(node)
            case ast.NamedExpr(target, value):
                self.store(target.id, value, node)
                return self.load(target.id, node)
            case ast.Await() | ast.Yield() | ast.YieldFrom():
                raise self.unsupported(node)
            case _ if isinstance(node, _TRACE_TIME):
                return self._trace_time(node)
            case ast.Call(_, [ast.GeneratorExp() | ast.ListComp() as items, *_]):
                return self._reduction(node, items)
        return self.with_simple_children(node)

    def prints(self, node: ast.AST) -> TypeGuard[ast.Call]:
        """Whether an expression is a call of ``print``."""
        return isinstance(node, ast.Call) and static_value(node.func, self.source, self.local) is print

    def _reduction(self, node: ast.Call, items: ast.GeneratorExp | ast.ListComp) -> ast.expr:
        """A call on a comprehension: a loop, if it has to be one and may."""
        function = static_value(node.func, self.source, self.local)
        name = next((name for reducer, name in REDUCERS.items() if reducer is function), None)
        given = None if name is None else arguments_of(node, name)
        if name is None or given is None or any(assigned_in_expressions(node)):
            return self.with_simple_children(node)
        site = self.site(items)
        calls = any(self.called(part) for part in ast.walk(items))
        differs = self.callees.facts.of(Looped, site) is not None
        if not calls and not differs:
            return self.with_simple_children(self._with_known_ranges(node, items, site))
        result = self.temporary()
        may_be_empty = differs or any(generator.ifs for generator in items.generators)
        self.statements(as_reduction(name, items, given, result, self.temporary, may_be_empty=may_be_empty))
        return self.load(result, node)

    def _with_known_ranges(self, node: ast.Call, items: ast.GeneratorExp | ast.ListComp, site: Site) -> ast.Call:
        """A call on a comprehension whose ranges, if they differ between lanes, say that it has to be a loop."""
        generators = []
        if self.callees.facts.all_of(GoesOver):
            items = self._marked(items, site)
        for generator in items.generators:
            goes_over, known = generator.iter, generator
            if isinstance(goes_over, ast.Call) and static_value(goes_over.func, self.source, self.local) is range:
                where = ast.copy_location(self.constant(site), goes_over)
                counted = helper("__hb_range", [where, *goes_over.args], goes_over)
                known = ast.comprehension(generator.target, counted, generator.ifs, generator.is_async)
            generators.append(known)
        marked = ast.copy_location(type(items)(items.elt, generators), items)
        return ast.copy_location(ast.Call(node.func, [marked, *node.args[1:]], node.keywords), node)

    def _goes_over_others(self, node: ast.Call) -> bool:
        """Whether a call gives the items of its arguments."""
        function = static_value(node.func, self.source, self.local)
        starred = any(isinstance(part, ast.Starred) for part in node.args)
        return any(function is known for known in (enumerate, zip, reversed)) and not starred

    def _marked(self, items: Any, site: Site) -> Any:
        """A comprehension that has to be a loop if what it goes over has another length in each lane."""
        generators = []
        for generator in items.generators:
            where = ast.copy_location(self.constant(site), generator.iter)
            goes_over: ast.expr = generator.iter
            parts = (
                goes_over.args if isinstance(goes_over, ast.Call) and self._goes_over_others(goes_over) else [goes_over]
            )
            marked = [helper("__hb_gone_over", [where, part], part) for part in parts]
            if isinstance(goes_over, ast.Call) and parts is goes_over.args:
                new = ast.Call(goes_over.func, list(marked), goes_over.keywords)
                goes_over = ast.copy_location(new, goes_over)
            else:
                goes_over = marked[0]
            generators.append(ast.comprehension(generator.target, goes_over, generator.ifs, generator.is_async))
        return ast.copy_location(type(items)(**{**dict(ast.iter_fields(items)), "generators": generators}), items)

    def is_simple(self, node: ast.expr) -> bool:
        """Whether an expression is straight-line code as it stands."""
        control = (ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, *_TRACE_TIME)
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and child.id in self.scope:
                return False
            if isinstance(child, control) or self.called(child) or self.prints(child):
                return False
            if isinstance(child, ast.UnaryOp) and isinstance(child.op, ast.Not):
                return False
            if isinstance(child, ast.Compare) and len(child.ops) > 1:
                return False
        return True

    def with_simple_children(self, node: ast.expr) -> ast.expr:
        if self.prints(node):
            return PrintLowering(self, node).lower()
        copy = type(node)(**dict(ast.iter_fields(node)))
        ast.copy_location(copy, node)
        fields = list(ast.iter_fields(node))
        parts = [part for _, value in fields for part in (value if isinstance(value, list) else [value])]
        parts = [part.value if isinstance(part, ast.keyword) else part for part in parts]
        operands = iter(self.in_order([part for part in parts if isinstance(part, ast.expr)]))

        def simple(part: Any) -> Any:
            if isinstance(part, ast.keyword):
                return ast.copy_location(ast.keyword(part.arg, next(operands)), part)
            return next(operands) if isinstance(part, ast.expr) else part

        for name, value in fields:
            setattr(copy, name, [simple(part) for part in value] if isinstance(value, list) else simple(value))
        return copy

    def in_order(self, operands: Sequence[ast.expr]) -> list[ast.expr]:
        """Operands without their control, as they are when Python evaluates them: before what is assigned later.

        In an expression, ``:=`` assigns, and so do calls of functions that have ``nonlocal`` variables.
        """
        found: list[ast.expr] = []
        for index, operand in enumerate(operands):
            value = self.simple(operand)
            later = {name for other in operands[index + 1 :] for name in assigned_in_expressions(other)}
            before_the_rest = [other for other in operands[index + 1 :] if not self.is_simple(other)]
            later |= self._changed_by(before_the_rest)
            if (before_the_rest and self._changes(value)) or later.intersection(read_names(value)):
                name = self.temporary()
                self.assign(name, value, operand)
                value = self.load(name, operand)
            found.append(value)
        return found

    def _changes(self, value: ast.expr) -> bool:
        """Whether straight-line code changes something in place."""
        return any(is_change(part) or self.changes_argument(part) for part in ast.walk(value))

    def changes_argument(self, node: ast.AST) -> bool:
        """Whether an expression is a call of a function of Python's that changes what it is given."""
        if not isinstance(node, ast.Call):
            return False
        function = static_value(node.func, self.source, self.local)
        return any(function is known for known in heaps.CHANGES)

    def _changed_by(self, parts: Sequence[ast.expr]) -> frozenset[str]:
        """Variables that calls of functions in some expressions assign."""
        found = set[str]()
        for node in (node for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)):
            if is_change(node) or self.changes_argument(node):
                found.update(root.id for root in _roots(node) if isinstance(root, ast.Name))
            if (one := self.called(node)) is None:
                continue
            found.update(one.callee.changed)
            if one.callee.changes:  # of its arguments, whichever that is
                found.update(root.id for root in _roots(node) if isinstance(root, ast.Name))
        return frozenset(found)

    def _trace_time(self, node: ast.expr) -> ast.expr:
        """Lambdas and comprehensions run as ordinary Python while JAX traces; batched calls cannot."""
        assigned = list(assigned_in_expressions(node))
        if assigned:
            return self._assigning(node, assigned)
        for child in ast.walk(node):
            if self.prints(child) and not isinstance(node, ast.Lambda):
                return self._written_out(node)
            if isinstance(child, ast.Call) and self.called(child):
                if not isinstance(node, ast.Lambda):
                    return self._written_out(node)
                raise UnsupportedSyntaxError(
                    "a function with branches of its own is called inside a lambda",
                    self.location(child),
                    help="give the lambda a name, or call it in a loop or in a statement of its own.",
                )
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and self.callees.facts.all_of(GoesOver):
            site = self.site(node)
            if self.callees.facts.of(Looped, site) is not None:
                return self._written_out(node, grows=True)
            node = self._marked(node, site)
        reads = [name for name in read_names(node) if name in self.scope]
        if not reads:
            return node
        kept = {name: self.as_variable(self.closure(self.scope[name], node), node) for name in reads}
        return renamed(node, kept)

    def _written_out(self, node: ast.expr, *, grows: bool = False) -> ast.expr:
        """A comprehension with a call that the program carries out: a loop. All items are computed, at once.

        Args:
            node: The comprehension.
            grows: Whether how many items there are differs between lanes.
        """
        assert isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
        result = self.temporary()
        self.statements(as_loop(node, result, self.temporary, grows=grows))
        items = self.load(result, node)
        if isinstance(node, ast.SetComp):
            return ast.copy_location(ast.Set([ast.copy_location(ast.Starred(items, ast.Load()), node)]), node)
        return items

    def statements(self, body: list[ast.stmt]) -> None:
        """Lower statements up to the first that control cannot pass."""
        raise NotImplementedError

    def name_of(self, function: ast.Lambda) -> str | None:
        """The name of a lambda that has one once and for all."""
        lambdas = (t for t in self.scope.items() if t[1].source.node.name == "<lambda>")
        found = (name for name, template in lambdas if _returned(template.source.node) is function.body)
        return next(found, None)

    def closure(self, template: Template, node: ast.AST) -> ast.expr:
        """A function that is defined inside of this one, or around it, with what it captures, as a value."""
        captured = [self.load(name, node) for name in template.captured]
        return helper("__hb_closure", [ast.copy_location(self.constant(template), node), *captured], node)

    def _assigning(self, node: ast.expr, names: Sequence[str]) -> ast.expr:
        """A comprehension that assigns names of the function by ``:=``, as it goes over its items."""
        conditional = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.GeneratorExp)
        for part in (part for part in ast.walk(node) if isinstance(part, conditional)):
            for child in ast.walk(part):
                if isinstance(child, ast.NamedExpr):
                    raise UnsupportedSyntaxError(
                        "`:=` stands where it may not be reached inside a comprehension",
                        self.location(child),
                        help=f"write a `for`, and assign {child.target.id!r} in a statement of its own.",
                    )
        result = self.temporary()
        target = ast.copy_location(ast.Name(result, ast.Store()), node)
        statement = ast.copy_location(ast.Assign([target], node), node)
        self.primitive([statement], [result, *dict.fromkeys(names)], node, self.source.text(node))
        return self.load(result, node)

    def load(self, name: str, node: ast.AST) -> ast.expr:
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _chained(self, node: ast.Compare) -> ast.expr:
        """``a < b < c`` with ``b`` evaluated once."""
        values = self.in_order([node.left, *node.comparators])
        middle = [self.load(self.as_variable(value, node), node) for value in values[1:-1]]
        values = [values[0], *middle, values[-1]]
        links: list[ast.expr] = [
            ast.copy_location(ast.Compare(left, [op], [right]), node)
            for left, op, right in zip(values, node.ops, values[1:], strict=False)
        ]
        return helper("__hb_and", links, node)

    def _is_conditional(self, node: ast.expr) -> bool:
        """Whether a chained comparison has an operand with control of its own that may not be reached."""
        if not isinstance(node, ast.Compare):
            return False
        others = node.comparators[1:]
        may_fail = bool(others) and bool(self.callees.facts.all_of(CanFail))
        return not all(map(self.is_simple, others)) or (may_fail and any(map(_is_looked_up, others)))

    def _as_conjunction(self, node: ast.Compare) -> ast.BoolOp:
        """``a < b < f(c)`` as ``a < b and b < f(c)``, with ``b`` evaluated once."""
        left, middle = self.in_order([node.left, node.comparators[0]])
        middle = self.load(self.as_variable(middle, node), node)
        first = ast.Compare(left, node.ops[:1], [middle])
        rest = ast.Compare(middle, node.ops[1:], node.comparators[1:])
        links: list[ast.expr] = [ast.copy_location(link, node) for link in (first, rest)]
        return ast.copy_location(ast.BoolOp(ast.And(), links), node)

    def _choose(self, node: ast.IfExp) -> str:
        """``a if c else b`` as two blocks that write one variable."""
        result = self.temporary()
        names = [self.blocks.name(stem) for stem in ("choose", "otherwise", "chosen")]
        self.branch(node.test, names[0], names[1])
        for name, value in zip(names, (node.body, node.orelse), strict=False):
            self.blocks.start(name, self.location(value))
            self.store(result, value, value)
            self.blocks.end(GotoOp(names[2], location=self.location(node)))
        self.blocks.start(names[2], self.location(node))
        return result

    def _short_circuit(self, node: ast.BoolOp) -> str:
        """``a and b`` as Python means it: the value of the operand that decided."""
        result = self.temporary()
        done = self.blocks.name("decided")
        for value in node.values[:-1]:
            self.store(result, value, value)
            rest = self.blocks.name("and" if isinstance(node.op, ast.And) else "or")
            targets = (rest, done) if isinstance(node.op, ast.And) else (done, rest)
            self.branch(self.load(result, value), *targets)
            self.blocks.start(rest, self.location(value))
        self.store(result, node.values[-1], node.values[-1])
        self.blocks.start(done, self.location(node))
        return result

    def store(self, name: str, value: ast.expr, node: ast.AST) -> None:
        """Emit ``name = value`` for any expression; a call writes its result there directly."""
        if isinstance(value, ast.Call) and (called := self.called(value)):
            self.call(value, called, name)
            return
        late = next(self._late_names(value), None)
        if late is None:
            self.assign(name, self.simple(value), node)
            return
        kept, read, assigned = late
        if isinstance(value, ast.Lambda):
            error = batched_builtins.kept_error(kept).at(self.location(read))
            raise error.with_note(Note("here", self.location(assigned)))
        self.assign(name, helper("__hb_kept", [self.simple(value), self.constant(kept)], value), node)

    def _late_names(self, value: ast.expr) -> Iterator[tuple[str, ast.Name, ast.Name]]:
        """What lambdas in an expression read that is assigned again later, where it is read and where assigned.

        Where the lambda is kept, Python would see the later value in it. So it would in a function defined inside.
        """
        for node in ast.walk(value):
            if isinstance(node, ast.Lambda):
                reads = read_names(node)
            elif isinstance(node, ast.Name) and node.id in self.scope:
                reads = dict.fromkeys(self.scope[node.id].captured, node)
            else:
                continue
            for other in ast.walk(self.source.node):
                if not (isinstance(other, ast.Name) and isinstance(other.ctx, ast.Store) and other.id in reads):
                    continue
                if self._is_after(other, node):
                    yield other.id, reads[other.id], other

    def _is_after(self, other: ast.expr, node: ast.expr) -> bool:
        """Whether code may run after some other: it stands behind it, or in a loop that both are in."""
        if (other.lineno, other.col_offset) > (node.lineno, node.col_offset):
            return True
        loops = (loop for loop in ast.walk(self.source.node) if isinstance(loop, (ast.For, ast.While)))
        return any({id(node), id(other)} <= {id(part) for part in ast.walk(loop)} for loop in loops)

    # Control

    def branch(self, test: ast.expr, true: str, false: str) -> None:
        """End the open block by a branch on any expression, short-circuiting."""
        match test:
            case ast.BoolOp():
                for value in test.values[:-1]:
                    rest = self.blocks.name("and" if isinstance(test.op, ast.And) else "or")
                    targets = (rest, false) if isinstance(test.op, ast.And) else (true, rest)
                    self.branch(value, *targets)
                    self.blocks.start(rest, self.location(value))
                self.branch(test.values[-1], true, false)
            case ast.UnaryOp(op=ast.Not()):
                self.branch(test.operand, false, true)
            case ast.Compare() if self._is_conditional(test):
                self.branch(self._as_conjunction(test), true, false)
            case _:
                asked = self._asked_for_none(test)
                condition = helper("__hb_truth", [self.simple(test) if asked is None else asked.condition], test)
                name = self.temporary("if")
                target = ast.copy_location(ast.Name(name, ast.Store()), test)
                statement = ast.copy_location(ast.Assign([target], condition), test)
                self.primitive([statement], [name], test, self.source.text(test))
                if asked is None or not asked.is_known:
                    self.blocks.end(BranchOp(self.variable(name), true, false, location=self.location(test)))
                    return
                there = self.blocks.name("there")
                sides, onward = ((there, false), true) if asked.if_true else ((true, there), false)
                self.blocks.end(BranchOp(self.variable(name), *sides, location=self.location(test)))
                self.blocks.start(there, self.location(test))
                asked_for = (self.variable(asked.name),)
                self.blocks.add(PrimOp(asked_for, asked_for, narrow, f"{asked.name} is there", self.location(test)))
                self.blocks.end(GotoOp(onward, location=self.location(test)))

    def _asked_for_none(self, test: ast.expr) -> _Asked | None:
        """What a test asks of a variable that may be None in some lanes, if that is what it asks."""
        match test:
            case ast.Compare(ast.Name(name) as read, [operator], [ast.Constant(None)]) if self._is_variable(name):
                if not isinstance(operator, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
                    return None
                if_true = isinstance(operator, (ast.IsNot, ast.NotEq))
            case ast.Name(name) as read if self._is_variable(name):
                if_true = True
            case _:
                return None
        variable = self.variable(name)
        is_known = self.callees.facts.of(MayBeNone, MayBeNone(variable).site) is not None
        unknown = [] if is_known else [ast.copy_location(ast.Constant(variable), test)]
        if isinstance(test, ast.Name):
            asked = test if is_known else helper("__hb_asked", [read, *unknown], test)
            return _Asked(name, asked, True, is_known)
        condition = helper("__hb_is_none", [read if is_known else helper("__hb_asked", [read, *unknown], test)], test)
        return _Asked(name, helper("__hb_not", [condition], test) if if_true else condition, if_true, is_known)

    def _is_variable(self, name: str) -> bool:
        return name in self.local or name.startswith(TEMPORARY)

    # Calls

    def called(self, node: ast.AST) -> Called | None:
        """What an expression calls, if it is a call of a function of the program."""
        if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Name) and node.func.id.startswith(HELPER)):
            return None
        if found := self.callees.of_call(node, self.source, self.local):
            return found
        template = self.scope.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if template is not None and template.is_followed:
            return Called(self.callees.of_template(template))
        fact = self.callees.facts.of(Calls, self.site(node)) if self.callees.facts else None
        return None if fact is None else self.callees.of_fact(fact)

    def call(self, node: ast.Call, called: Called, result: str) -> str:
        """Emit a call of a function of the program; returns the name of the variable that receives its result."""
        callee, site = self._copy(called.callee, node), self.site(node)
        location = self.location(node)
        callee.called_from = callee.called_from or location
        bound = self._apart(callee, self._bind(node, called), node)
        changed = self._taken_back(callee, bound, node)
        values = (self._argument(value, node) for value in bound.values())
        arguments = self.in_order([*self._captured(node, called), *values])
        names = [self.variable(self.as_variable(argument, node)) for argument in arguments]
        results = (result, *callee.changed, *(name for name, _ in changed), *self.told(callee))
        places = tuple(map(self.location, arguments))
        outputs = tuple(map(self.variable, results))
        self.blocks.add(FunctionCallOp(callee.name, tuple(names), outputs, location, places, site))
        for name, place in changed:
            if place is not None:
                self.put_back(place, name, node)
        if callee.raises:
            self.after_call(node)
        return result

    def _taken_back(
        self, callee: Callee, bound: Mapping[str, Any], node: ast.Call
    ) -> list[tuple[str, ast.expr | None]]:
        """For each parameter that a callee changes: the variable that takes it back, and the place it belongs to.

        Raises:
            Learned: The callee does not give it back yet, or this function changes a parameter of its own by that.
            UnsupportedSyntaxError: It cannot be given back.
        """
        if callee.changes and not callee.gives_back:
            raise Learned(of_function(callee.key), GivesBack())
        found: list[tuple[str, ast.expr | None]] = []
        for parameter in callee.changes:
            argument = bound.get(parameter)
            if parameter in callee.captured:
                argument = ast.copy_location(ast.Name(parameter, ast.Load()), node)
            root = root_of(argument) if isinstance(argument, ast.expr) else ast.Constant(None)
            other = None if parameter in callee.captured else rebinding(callee.source.node, parameter)
            if other is not None:
                raise self._lost(callee, parameter, other, node)
            if not isinstance(root, ast.Name):  # what has no name is nobody's
                found.append((self.temporary(), None))
                continue
            if root.id not in self.local and not root.id.startswith(TEMPORARY):
                raise self._outside(callee, parameter, root, node)
            self.changes_own(root.id)
            found.append((root.id, None) if argument is root else (self.temporary(), argument))
        return found

    def _apart(self, callee: Callee, bound: Mapping[str, Any], node: ast.Call) -> dict[str, Any]:
        """Arguments of which none is a part of another one that the callee changes, which it would not see."""
        given = (bound.get(name) for name in callee.changes)
        changed = {value.id for value in given if isinstance(value, ast.Name)}
        found = dict(bound)
        for parameter, value in bound.items():
            if not isinstance(value, ast.expr) or (parameter in callee.changes and isinstance(value, ast.Name)):
                continue
            root = root_of(value)
            if isinstance(root, ast.Name) and root.id in changed:
                found[parameter] = helper("__hb_apart", [value, self.constant(root.id)], value)
        names = [value.id for value in bound.values() if isinstance(value, ast.Name)]
        if twice := next((name for name in changed if names.count(name) > 1), None):
            raise batched_builtins.given_twice(twice).at(self.location(node))
        return found

    def changes_own(self, name: str) -> None:
        """Note that a function changes what a parameter stands for, or a variable around it, by a call."""
        callee = self.callee
        parameters = callee.source.signature.parameters
        if name in callee.given_back or name in callee.changes:
            return
        if name in callee.captured or (name in parameters and rebinding(callee.source.node, name) is None):
            raise Learned(of_function(callee.key), ChangesByCalls((*callee.changes, name)))

    def _lost(self, callee: Callee, parameter: str, other: ast.AST, node: ast.Call) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(
            f"{callee.source.node.name!r} changes its argument {parameter!r}, and gives the name to another value, too",
            self.location(node),
            notes=[Note("here", callee.source.location(other))],
            help=f"give the other value a name of its own, or begin with a copy, `{parameter} = {parameter}.copy()`.",
        )

    def _outside(self, callee: Callee, parameter: str, root: ast.Name, node: ast.Call) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(
            f"{callee.source.node.name!r} changes its argument {parameter!r} in place, which is {root.id!r}, "
            "outside of the function, once for all lanes and turns",
            self.location(node),
            help=f"work on a copy, as in `own = {root.id}.copy()`.",
        )

    def put_back(self, place: ast.expr, name: str, node: ast.Call) -> None:
        """Let an item or an attribute be what a callee made of it."""
        raise NotImplementedError

    def told(self, callee: Callee) -> tuple[str, ...]:
        """Variables that a call's failure goes to."""
        raise NotImplementedError

    def after_call(self, node: ast.Call) -> None:
        """Behind a call of a function that may raise."""
        raise NotImplementedError

    def _captured(self, node: ast.Call, called: Called) -> list[ast.expr]:
        """What a function that is defined inside another captures: variables as they are now, or what a value holds."""
        callee = called.callee
        if not callee.captured or (isinstance(node.func, ast.Name) and node.func.id in self.scope):
            return [self.load(name, node) for name in callee.captured]
        if callee.changed:
            raise UnsupportedSyntaxError(
                f"{callee.source.node.name!r} assigns variables around it, and is called by another name",
                self.location(node),
                help="call it by its own name, or let it return what it assigns.",
            )
        function = self.load(self.as_variable(self.simple(node.func), node), node)
        indices = (ast.copy_location(ast.Constant(i), node) for i in range(len(callee.captured)))
        return [helper("__hb_captured", [function, index], node) for index in indices]

    def _argument(self, value: Any, node: ast.Call) -> ast.expr:
        """An argument of a call of a function of the program."""
        if isinstance(value, Default):
            return self.load(value.name, node)
        if not isinstance(value, ast.expr):
            return ast.copy_location(self.constant(value), node)
        if isinstance(value, ast.Lambda) and self.name_of(value) is None:
            template = unnamed_function(self.source, self.callee.key, self.local, self.scope, value)
            for kept, default in template.defaults.items():
                self.store(kept, default, node)
            return self.closure(template, value)
        return value

    def _copy(self, callee: Callee, node: ast.Call) -> Callee:
        """The copy of a function that a call calls; a recursion stays in its own, unless types say otherwise."""
        fact = self.callees.facts.of(Copy, self.site(node))
        if fact is not None:
            return self.callees.copy(callee, fact)
        return self.callee if callee.source is self.source else callee

    def _bind(self, node: ast.Call, called: Called) -> dict[str, Any]:
        """Arguments by parameter, in the callee's order; defaults as Python objects."""
        callee = called.callee
        starred = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
        if starred or called.receiver == "bound":
            return self._bound_by_tracing(node, callee)
        keywords = {k.arg: k.value for k in node.keywords if k.arg is not None}
        try:
            bound = callee.source.signature.bind(*_receiver(node.func, called.receiver), *node.args, **keywords)
        except TypeError as error:
            raise BatchTypeError(
                f"{callee.name}() is called wrongly: {error}",
                self.location(node),
                notes=[Note(f"{callee.name} is defined here", callee.source.definition)],
                help=f"its parameters are {callee.source.signature}.",
            ) from None
        bound.apply_defaults()
        return {name: _collected(value, node) for name, value in bound.arguments.items()}

    def _bound_by_tracing(self, node: ast.Call, callee: Callee) -> dict[str, Any]:
        """Arguments by parameter, where only tracing knows which is which."""
        signature = callee.source.signature
        if callee.captured:
            raise UnsupportedSyntaxError(
                "a function defined inside is called with * or **",
                self.location(node),
                help="write the arguments out; pass a tuple or a dict as one argument.",
            )
        parts = [self.constant(signature), node.func, *node.args]
        call = ast.copy_location(ast.Call(ast.Name("__hb_bound", ast.Load()), parts, node.keywords), node)
        found = self.load(self.as_variable(self.with_simple_children(call), node), node)
        indices = (ast.copy_location(ast.Constant(i), node) for i in range(len(signature.parameters)))
        items = (ast.copy_location(ast.Subscript(found, index, ast.Load()), node) for index in indices)
        return dict(zip(signature.parameters, items, strict=True))


def assigned(name: str, value: ast.expr, node: ast.AST) -> ast.stmt:
    """``name = value``, in the place of a node."""
    return placed(ast.Assign([ast.Name(name, ast.Store())], value), node)


def placed(tree: Tree, node: ast.AST) -> Tree:
    """A tree all of which stands in the place of a node."""
    for part in ast.walk(tree):
        if isinstance(part, (ast.expr, ast.stmt)):
            ast.copy_location(part, node)
    return tree


class _Sites(ast.NodeTransformer):
    """Lets calls of what may be a function of the user's go through ``following.follow``."""

    def __init__(self, lowering: ExpressionLowering) -> None:
        self.lowering = lowering

    def visit_Call(self, node: ast.Call) -> ast.Call:
        site = ast.copy_location(self.lowering.constant(self.lowering.site(node)), node)
        is_one = self.lowering.may_be_followed(node)
        new = self.generic_visit(node)
        assert isinstance(new, ast.Call)
        if not is_one:
            return new
        name = "__hb_follow" if self.lowering.callees.follows else "__hb_see"
        function = ast.copy_location(ast.Name(name, ast.Load()), node)
        return ast.copy_location(ast.Call(function, [site, new.func, *new.args], new.keywords), node)


def _roots(node: ast.Call) -> Iterator[ast.expr]:
    """What the arguments of a call, and what is called, are parts of."""
    return (root_of(part) for part in (*node.args, *(k.value for k in node.keywords), node.func))


def _is_looked_up(node: ast.expr) -> bool:
    """Whether an expression may fail by itself."""
    return any(isinstance(part, (ast.Subscript, ast.Call)) for part in ast.walk(node))


def _returned(node: ast.FunctionDef) -> ast.expr | None:
    """What a lambda returns, seen as a definition."""
    (statement,) = node.body
    return statement.value if isinstance(statement, ast.Return) else None


def _collected(value: Any, node: ast.Call) -> Any:
    """What a parameter with a star or two holds, as an expression; anything else as it is."""
    if isinstance(value, tuple) and value and all(isinstance(item, ast.expr) for item in value):
        return ast.copy_location(ast.Tuple(list(value), ast.Load()), node)
    if isinstance(value, dict) and value and all(isinstance(item, ast.expr) for item in value.values()):
        keys: list[ast.expr | None] = [ast.copy_location(ast.Constant(key), node) for key in value]
        return ast.copy_location(ast.Dict(keys, list(value.values())), node)
    return value


def _receiver(function: ast.expr, how: str) -> list[ast.expr]:
    """The first argument of a call, where what is called gives it."""
    match function:
        case _ if how in ("", "values"):
            return []
        case _ if how == "itself":
            return [function]
        case ast.Attribute(value):
            return [value]
    return [ast.copy_location(ast.Attribute(function, how, ast.Load()), function)]


def parameter_names(source: Source) -> tuple[str, ...]:
    """Parameters in order."""
    return tuple(source.signature.parameters)
