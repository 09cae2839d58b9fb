"""Straight-line code of a function -> ``PrimOp``s in the blocks that are being built.

::

    y = x * 2         ==>       %f.y = prim "x * 2" (%f.x)

The class is the base of those that lower expressions and statements. It knows which names are local, and emits
primitives, jumps and branches. A primitive that fails in some lanes is followed by a test (``failing_statements.py``).
"""

from __future__ import annotations

import abc
import ast
import functools
import re
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from hlobatch.analysis.definedness import user_name
from hlobatch.diagnostics import Location, UndefinedVariableError, UnsupportedSyntaxError
from hlobatch.frontend.asked import Asking
from hlobatch.frontend.blocks import BlockBuilder
from hlobatch.frontend.callees import Callee, static_value
from hlobatch.frontend.changes import ChangesByCalls, changed_by_methods, rebinding
from hlobatch.frontend.differentiated import differentiates
from hlobatch.frontend.following import called
from hlobatch.frontend.in_turn.kept_iterators import handed_on
from hlobatch.frontend.library import is_built_in
from hlobatch.frontend.meanings import Meanings
from hlobatch.frontend.nested import Template, nested_functions
from hlobatch.frontend.nodes import FIELDS, Comprehension, located
from hlobatch.frontend.primitives import HELPERS, compile_primitive, watched
from hlobatch.frontend.rewriting.memoized import is_memoized
from hlobatch.frontend.scopes import HELPER, MISSING, TEMPORARY, local_names, names_before, with_parts
from hlobatch.frontend.source import Source
from hlobatch.frontend.steps import is_only_stored
from hlobatch.frontend.support import refusal
from hlobatch.frontend.syntax import assigned, helper, load, spread
from hlobatch.ir.names import AT_PLACE
from hlobatch.ir.ops import BranchOp, GotoOp, PrimOp
from hlobatch.values.facts import WHOLE_PROGRAM, Changes, Site, of_code, of_function
from hlobatch.values.lane_failures import CanFail, Careful, Caught
from hlobatch.values.own_containers import is_method_of_base

_SITE = re.compile(rf"{HELPER}constant\d+, ")
"""The site of a call in the text of code, as the first argument of the call that replaces it."""
_AT_A_PLACE: Final = f"{TEMPORARY}{AT_PLACE}"
WHOLE: Final = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
"""Code that runs as a whole while it is traced, unless the program itself carries out a call in it."""
_LITERAL = (bool, int, float, complex, str, types.NoneType)


class StraightLineLowering(abc.ABC):
    """Lowers straight-line code of one function, and knows the names and places in it."""

    __hash__ = None  # type: ignore[assignment]  # Python 3.13.0 caches what singledispatchmethod can hash

    def __init__(self, callee: Callee, callees: Asking) -> None:
        self.callee = callee
        self.source: Source = callee.source
        self.callees = callees
        self.local = local_names(self.source.node).union(callee.captured)
        around = callee.template.scope if callee.template else {}
        self.scope = nested_functions(self.source, callee.key, self.local, around)
        self.meanings = Meanings(
            self.source,
            self.local,
            is_careful=callees.facts.of(Careful, WHOLE_PROGRAM) is not None,
            asks_items=any(issubclass(kind, LookupError) for kind in self.caught.kinds) if self.caught else False,
        )
        self.blocks = BlockBuilder()
        self.path: tuple[int, ...] = ()
        self.drawn: tuple[Any, ...] = ()  # the generators whose statements are being lowered, the innermost last
        self.used_up = set[Site]()  # iterators that are gone over to their ends where they are made
        self.in_turns = set[Site]()  # calls of generators whose loops may change what the generator reads
        self.changed_in_place = set[str]()
        self.copies = 1  # of the statement that is being lowered, for kinds of objects
        self.constants: dict[str, Any] = {}
        self._temporaries = 0
        self._functions: dict[int, ast.expr] = {}  # called functions by id: an attribute among them reads no property

    @property
    def caught(self) -> Caught | None:
        """The exceptions that operations of the program raise where JAX would give a value; None if there are none."""
        return self.callees.facts.of(Caught, WHOLE_PROGRAM)

    @property
    def has_try(self) -> bool:
        """Whether code of the program may read variables after an exception."""
        return self.caught is not None and self.caught.has_try

    # Names

    def variable(self, name: str) -> str:
        """The program's name of a local variable or a temporary."""
        short = f"${name.removeprefix(TEMPORARY)}" if name.startswith(TEMPORARY) else name
        return f"{self.callee.name}.{short}"

    def temporary(self, stem: str = "") -> str:
        """A fresh name that no user can have written."""
        self._temporaries += 1
        return f"{TEMPORARY}{stem}{self._temporaries}"

    def temporary_at(self, node: ast.expr) -> str:
        """A name for the value at a place, which facts may be about; it is the same when the program is built again."""
        return f"{_AT_A_PLACE}{node.lineno}_{node.col_offset}"

    def is_own(self, name: str) -> bool:
        """Whether a name is a variable of the function, or a result of ``temporary_at``."""
        return name in self.local or name.startswith(_AT_A_PLACE)

    def constant(self, value: Any) -> ast.expr:
        """An expression for a Python object."""
        if type(value) in _LITERAL:
            return ast.Constant(value)
        name = f"{HELPER}constant{len(self.constants)}"
        self.constants[name] = value
        return ast.Name(name, ast.Load())

    def static_value(self, node: ast.expr) -> Any:
        """The value of an expression that is known from outside of the function, as ``callees.static_value``."""
        return static_value(node, self.source, self.local)

    def handed_on(self, value: ast.expr) -> ast.expr:
        """A value that an object or another function keeps, as ``kept_iterators.handed_on``."""
        return handed_on(value, self.static_value, self.constant)

    def location(self, node: ast.AST) -> Location:
        return self.source.location(node)

    def site(self, node: ast.expr | ast.stmt) -> Site:
        """The place of a node, for facts about it."""
        span = (node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return Site(self.callee.key, self.path, span)

    def unsupported(self, node: ast.AST) -> UnsupportedSyntaxError:
        """The error for a node that is not supported."""
        what, instead = refusal(node)
        return UnsupportedSyntaxError(
            f"{what} is not supported in a batched function", self.location(node), help=instead
        )

    def closure(self, template: Template, node: ast.AST) -> ast.expr:
        """A function that is defined inside this one, or around it, as a value with its closure variables."""
        captured = [load(name, node) for name in template.captured]
        return helper("__hb_closure", [located(self.constant(template), node), *captured], node)

    # Code

    def primitive(
        self,
        body: Sequence[ast.stmt],
        outputs: Sequence[str],
        node: ast.AST,
        text: str,
        *,
        tests: bool = False,
        puts_back: bool = False,
    ) -> None:
        """Emit one ``PrimOp`` for straight-line statements, and a test after it if they fail in some lanes.

        Args:
            body: The statements.
            outputs: The names that they assign.
            node: The node of the user's that they come from.
            text: Their text in the program.
            tests: Whether they are such a test themselves.
            puts_back: Whether they put a value back from where it was read. In Python there is no such operation, so
                that it does not fail, even if another operation at the same place in the source does.
        """
        code = self.meanings.of([self._with_sites(statement) for statement in body])
        inputs = self._inputs(code)
        changed = self._changed_in_place(changed_by_methods(body), inputs, outputs, node)
        written = [*outputs, *changed]
        failing = None if tests else self.callees.facts.of(CanFail, of_code(self.location(node)))
        if failing is None:
            self._emit(code, inputs, written, node, text)
            return
        status = self.temporary("status")
        if puts_back:
            self._emit(watched(code, self.constant(failing), status), inputs, [*written, status], node, text)
            return
        by_methods = changed_by_methods(body).intersection(self.local)
        changed += [name for name in outputs if self._is_changed(name, node) and not is_only_stored(body, name)]
        self.check_steps(body, by_methods.union(changed), failing, node)
        held = self.held_back(written, changed)
        code = [*code, *(assigned(new, load(name, node), node) for name, new in held.items())]
        code = watched(code, self.constant(failing), status)
        self._emit(code, inputs, [*(held.get(name, name) for name in written), status], node, text)
        self.test_after(status, failing, node)
        for name, new in held.items():
            self.primitive([assigned(name, load(new, node), node)], [name], node, new, tests=True)

    def _inputs(self, code: Sequence[ast.stmt]) -> dict[str, ast.Name]:
        """The variables that code reads before it assigns them, each with its first read.

        Raises:
            UndefinedVariableError: It reads a name that is not defined.
        """
        inputs = dict[str, ast.Name]()
        for name, where in names_before(code).items():
            if name in self.local or name.startswith(TEMPORARY):
                inputs[name] = where
            elif name not in HELPERS and name not in self.constants:
                self._check_global(name, where)
        return inputs

    def _emit(
        self,
        code: Sequence[ast.stmt],
        inputs: Mapping[str, ast.Name],
        outputs: Sequence[str],
        node: ast.AST,
        text: str,
    ) -> None:
        """Emit one ``PrimOp`` for code that has been rewritten to its meaning; ``inputs`` are as in ``_inputs``."""
        self.blocks.add(
            PrimOp(
                tuple(map(self.variable, inputs)),
                tuple(map(self.variable, outputs)),
                compile_primitive(self.source, code, tuple(inputs), outputs, self.constants),
                _SITE.sub("", text).replace(HELPER, "").replace(TEMPORARY, "$"),
                location=self.location(node),
                read_at=tuple(map(self.location, inputs.values())),
            )
        )

    @abc.abstractmethod
    def held_back(self, outputs: Sequence[str], changed: Sequence[str]) -> dict[str, str]:
        """Temporaries for variables that keep their values if straight-line code fails.

        Args:
            outputs: The variables that it assigns.
            changed: Those of them whose values it changes in place.
        """

    @abc.abstractmethod
    def check_steps(self, body: Sequence[ast.stmt], names: frozenset[str], failing: CanFail, node: ast.AST) -> None:
        """Learn that straight-line code that changes variables in place, and may fail, has to be lowered step by step.

        Args:
            body: The code.
            names: The variables.
            failing: The ways in which it may fail.
            node: The node of the user's that it comes from.
        """

    @abc.abstractmethod
    def test_after(self, status: str, failing: CanFail, node: ast.AST) -> None:
        """Note that straight-line code fails in some lanes, and has to be followed by a test."""

    def _changed_in_place(
        self, by_methods: frozenset[str], inputs: Iterable[str], outputs: Sequence[str], node: ast.AST
    ) -> list[str]:
        """Variables that code reads, does not assign, and changes in place by a method or through a callee."""
        found = [n for n in inputs if n not in outputs and (n in by_methods or self._is_changed(n, node))]
        for name in found:
            self.changes_own(name)
        return found

    def _is_changed(self, name: str, node: ast.AST) -> bool:
        """Whether tracing has learned that code changes the value of a variable in place."""
        changes = self.callees.facts.of(Changes, of_code(self.location(node)))
        return changes is not None and user_name(self.variable(name)) in changes.names

    def _with_sites(self, node: Any, is_whole: bool = False) -> Any:
        """Straight-line code in which calls that may be of the user's functions are given their sites.

        Such calls go through ``following.follow``. Python's built-in functions do not if they are called for each item,
        or later, as in a lambda: there they are traced, unless they are given a function of the user's.
        """
        if not FIELDS[type(node)]:
            return node  # a name or a constant
        is_whole = is_whole or isinstance(node, WHOLE)
        new = with_parts(node, functools.partial(self._with_sites, is_whole=is_whole))
        if not isinstance(node, ast.Call):
            return new
        if isinstance(node.func, ast.Name) and is_memoized(self.static_value(node.func), self.source):
            function = load("__hb_memoized", node)
            return located(ast.Call(function, [new.func, *new.args], new.keywords), node)
        if not self.may_be_followed(node):
            return new
        goes_over = any(isinstance(argument, Comprehension) for argument in node.args)
        is_traced = goes_over or (is_whole and not self._gives_function(node))
        if is_traced and is_built_in(self.static_value(node.func)):
            return new
        site = located(self.constant(self.site(node)), node)
        name = "__hb_follow" if self.callees.follows else "__hb_see"
        name = "__hb_follow_in_turns" if self.callees.follows and self.site(node) in self.in_turns else name
        function = load(name, node)
        return located(ast.Call(function, [site, new.func, *spread(new.args)], new.keywords), node)

    def _gives_function(self, node: ast.Call) -> bool:
        """Whether an argument of a call is a function of the user's."""
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            match value:
                case ast.Lambda() | ast.Call(ast.Name("__hb_closure")):
                    return True
                case ast.Name(name) if name in self.scope:
                    return True
            known = self.static_value(value)
            if isinstance(known, types.FunctionType) and called(known) is not None:
                return True
            if isinstance(value, ast.Attribute) and known is MISSING:
                return True  # it may be a method of an object
        return False

    def may_be_followed(self, node: ast.Call) -> bool:
        if isinstance(node.func, ast.Name) and node.func.id.startswith(HELPER):
            return False
        value = self.static_value(node.func)
        gives_function = value is functools.partial or differentiates(value)
        return value is MISSING or gives_function or called(value) is not None or is_method_of_base(value)

    def _check_global(self, name: str, node: ast.AST) -> None:
        if self.source.resolve(name) is MISSING:
            raise UndefinedVariableError(
                f"{name!r} is not defined", self.location(node), help="define it before the first call."
            )

    def assign(self, name: str, value: ast.expr, node: ast.AST) -> None:
        """Emit ``name = value`` for straight-line code."""
        self.primitive([assigned(name, value, node)], [name], node, self.source.text(value))

    def check_once(self, variable: str, name: str, node: ast.expr) -> None:
        """Check that a variable holds no iterator of a lane's length; ``name`` is its name in the error."""
        check = helper("__hb_once", [load(variable, node), self.constant(name)], node)
        self.primitive([located(ast.Expr(check), node)], [], node, self.source.text(node))

    def as_variable(self, value: ast.expr, node: ast.AST) -> str:
        """A variable that holds the value of straight-line code; the name itself if the code is a local name."""
        if isinstance(value, ast.Name) and (value.id in self.local or value.id.startswith(TEMPORARY)):
            return value.id
        name = self.temporary()
        self.assign(name, value, node)
        return name

    def changes_own(self, name: str) -> None:
        """Note that a function changes a parameter or a closure variable in place through a call."""
        callee = self.callee
        self.changed_in_place.add(name)
        parameters = callee.source.signature.parameters
        if name in callee.given_back or name in callee.changes:
            return
        if name in callee.captured or (name in parameters and rebinding(callee.source.node, name) is None):
            self.callees.begin_anew(of_function(callee.key), ChangesByCalls((*callee.changes, name)))

    # Blocks

    def go(self, block: str, node: ast.AST) -> None:
        """End the open block, if there is one, by a jump."""
        self.blocks.end(GotoOp(block, location=self.location(node)))

    def branch_on(
        self, test: ast.expr, true: str, false: str, node: ast.AST, text: str, *, tests: bool = False
    ) -> None:
        """End the open block by a branch on straight-line code.

        Args:
            test: The code.
            true: The block for lanes in which it is true.
            false: The block for the others.
            node: The node of the user's that it comes from.
            text: Its text in the program.
            tests: Whether it is a test behind a statement that fails in some lanes.
        """
        name = self.temporary("if")
        self.primitive([assigned(name, test, node)], [name], node, text, tests=tests)
        self.blocks.end(BranchOp(self.variable(name), true, false, location=self.location(node)))
