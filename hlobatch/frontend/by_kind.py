"""A statement that uses an object whose class differs between lanes -> the statement once for each class.

::

    area = shape.area()        branch "is of kind 0" (%shape), kind, other_kind
                          ==>  kind:        %circle = prim "of kind 0" (%shape); %area = …; %shape = %circle
                               other_kind:  %square = prim "of kind 1" (%shape); %area = …; %shape = %square

Each copy is lowered by itself, so that it finds its own methods, and may change its object. An ``if`` or a ``match`` is
copied with its body: in it, the variable holds an object of the class alone, and tests of the class are decided while
the program is built. What stands behind the statement sees the classes with which control gets there.

An object that stands in no variable, as in ``shapes[i].area()``, is put into one first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hlobatch.diagnostics import HloBatchError, UnsupportedSyntaxError
from hlobatch.frontend.failing_statements import FailingLowering
from hlobatch.frontend.nodes import all_arguments, children, is_in, located, walk, with_fields
from hlobatch.frontend.places import as_target
from hlobatch.frontend.scopes import TEMPORARY, all_parameters, bound_by_match, leave_the_loop, root_of, with_parts
from hlobatch.frontend.straight_line import WHOLE
from hlobatch.frontend.syntax import assigned, helper, literal, load
from hlobatch.ir.names import of_one_kind
from hlobatch.values.facts import holds
from hlobatch.values.kinds import HELP, OfKinds, Span, Way

MOST_COPIES: Final = 64
"""Most copies of one statement, for the kinds of all the objects that it uses."""
_LOOPS: Final = (ast.For, ast.While)
_COMPOUND: Final = (ast.If, ast.For, ast.While, ast.Match, ast.With, ast.Try)
_LEAVES: Final = (ast.Break, ast.Continue)
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def for_each_kind(lowering: FailingLowering, node: ast.stmt) -> bool:
    """Lower a statement for each kind of object that it uses; False if it uses none, and is still to be lowered.

    Raises:
        HloBatchError: It cannot be lowered so.
    """
    if isinstance(node, _Handover):
        _hand_over(lowering, node)
        return True
    if not lowering.callees.facts.has(OfKinds) or isinstance(node, _DEFINITIONS):
        return False
    headers = list(_headers(node))
    places = [lowering.location(header) for header in headers]
    about = lowering.callees.facts.about_code(OfKinds)
    own = places[0].function if places else ""
    facts = [fact for place, fact in about if place.function == own and any(holds(outer, place) for outer in places)]
    return bool(facts) and _Copies(lowering, node, headers).lowered(facts)


def _headers(node: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that are evaluated as such, and not as statements in it."""
    match node:
        case ast.If(test, _, orelse):
            yield test
            if len(orelse) == 1 and isinstance(orelse[0], ast.If):
                yield from _headers(orelse[0])
        case ast.While(test):
            yield test
        case ast.For(target, iterable):
            yield target
            yield iterable
        case ast.Match(subject, cases):
            yield subject
            for case in cases:
                yield case.pattern
                if case.guard is not None:
                    yield case.guard
        case ast.With(items):
            yield from (item.context_expr for item in items)
        case _ if not isinstance(node, _COMPOUND):
            yield node


class _Handover(ast.Assign):
    """The assignment of one name's value to another, for which no copies are made."""


def _hand_over(lowering: FailingLowering, node: _Handover) -> None:
    """Lower the assignment, behind which a value that was changed in place is the other name's."""
    (target,), value = node.targets, node.value
    assert isinstance(target, ast.Name)
    assert isinstance(value, ast.Name)
    lowering.primitive([node], [target.id], node, lowering.source.text(value), tests=True)
    if value.id in lowering.changed_in_place and target.id != value.id:
        lowering.changes_own(target.id)


def _handover(name: str, value: str, node: ast.AST) -> _Handover:
    """``name = value``, located at ``node``."""
    return located(_Handover([located(ast.Name(name, ast.Store()), node)], load(value, node)), node)


class _Copies:
    """Lowers the copies of one statement.

    Attributes:
        lowering: The lowering of the function.
        node: The statement.
        headers: The parts of it that are evaluated, as in ``_headers``.
    """

    def __init__(self, lowering: FailingLowering, node: ast.stmt, headers: Sequence[ast.AST]) -> None:
        self.lowering, self.node, self.headers = lowering, node, headers

    def lowered(self, facts: Sequence[OfKinds]) -> bool:
        """Lower the statement with what is known of it; False if nothing concerns it."""
        found = {node.id: node for header in self.headers for node in walk(header) if isinstance(node, ast.Name)}
        match self.node:
            case ast.Assign([ast.Name(name)], value) if not any(_is_of(name, node) for node in walk(value)):
                found.pop(name, None)  # it has no value yet; facts at this place are of code that uses it
        kinds = dict[tuple[str, Way], tuple[tuple[Any, ...], HloBatchError]]()
        for fact in facts:
            for variable, way, own in fact.variables:
                name = f"{TEMPORARY}{variable[1:]}" if variable.startswith("$") else variable  # as code has it
                before = kinds[name, way][0] if (name, way) in kinds else ()
                kinds[name, way] = tuple(dict.fromkeys((*before, *own))), fact.error
        known = [(found[name], way, *one) for (name, way), one in kinds.items() if name in found]
        held = [(operands, fact.error) for fact in facts if (operands := self._held(fact))]
        if not known and not held:
            return False
        match self.node:
            case ast.While():
                self.lowering.statements([self._with_test_inside(self.node)])
            case ast.Match(subject) if not isinstance(subject, ast.Name) or subject.id in bound_by_match(self.node):
                self._with_variables([subject])
            case _ if known:
                self._split(*known[0])
            case _:
                self._put_into_variables(*held[0])
        return True

    def _with_test_inside(self, node: ast.While) -> ast.While:
        """``while test: …`` as ``while True: if test: … else: break``."""
        if leave_the_loop(node.orelse):
            raise self._refused("a `while` with such a test has a `break` or a `continue` in its `else`", node.test)
        otherwise = [*node.orelse, located(ast.Break(), node.test)]
        inside = located(ast.If(node.test, node.body, otherwise), node)
        return located(ast.While(literal(True, node.test), [inside], []), node)

    # Objects in variables

    def _split(self, name: ast.Name, way: Way, kinds: tuple[Any, ...], error: HloBatchError) -> None:
        """Emit a copy for each kind of the object to which ``way`` leads from a variable."""
        lowering, blocks = self.lowering, self.lowering.blocks
        self._check(name, error)
        around, after, is_left = lowering.path, blocks.name("after_kinds"), False
        copies = lowering.copies
        lowering.copies = copies * len(kinds)
        if lowering.copies > MOST_COPIES:
            raise error
        known = [load(name.id, name), *(located(lowering.constant(value), name) for value in (way, kinds))]
        for kind in range(len(kinds)):
            is_last = kind == len(kinds) - 1
            other = blocks.name("other_kind")
            if not is_last:
                own = blocks.name("kind")
                test = helper("__hb_is_of_kind", [*known, literal(kind, name)], name)
                lowering.branch_on(test, own, other, name, f"{name.id} is of kind {kind}", tests=True)
                blocks.start(own, lowering.location(name))
            alone = _of_kind(name.id, name, kind)
            value = helper("__hb_of_kind", [*known, literal(kind, name)], name)
            lowering.primitive([assigned(alone, value, name)], [alone], name, lowering.source.text(name), tests=True)
            lowering.path = (*around, -1 - kind)
            lowering.statements(_Copy(name.id, alone, kind, bool(lowering.tries)).of(self.node))
            is_left |= blocks.is_open
            lowering.go(after, name)
            if not is_last:
                blocks.start(other, lowering.location(name))
        lowering.path, lowering.copies = around, copies
        if is_left:
            blocks.start(after, lowering.location(self.node))

    def _check(self, name: ast.Name, error: HloBatchError) -> None:
        """Refuse a statement that mentions functions defined inside that use the variable, too."""
        mentioned = {part.id for part in walk(self.node) if isinstance(part, ast.Name)}
        scope = self.lowering.scope
        if any(name.id in scope[function].captured for function in mentioned.intersection(scope)):
            raise self._refused(
                f"{name.id!r} holds objects of several classes, and a function that is defined inside uses it, too",
                name,
                "pass it to that function as an argument.",
            ) from error

    def _refused(self, what: str, node: ast.AST, instead: str = HELP) -> UnsupportedSyntaxError:
        return UnsupportedSyntaxError(what, self.lowering.location(node), help=instead)

    # Objects that are in no variable

    def _held(self, fact: OfKinds) -> list[ast.expr]:
        """The expressions, in the statement, whose values hold objects of several kinds and are in no variable."""
        nodes = [node for header in self.headers for node in walk(header) if isinstance(node, ast.expr)]
        own = self.node.value if isinstance(self.node, ast.Assign) else None  # it is put into a variable here
        places = (n for n in nodes if not isinstance(n, ast.Name) and n is not own)
        found = [n for n in places if self.lowering.location(n) in fact.places]
        asking = [node for node in nodes if _span_of(node) in fact.spans]
        found += filter(self._is_changed, asking)
        found += [one for n in asking for one in _operands(n) if not isinstance(one, (ast.Name, ast.Constant, *WHOLE))]
        return found

    def _put_into_variables(self, operands: Sequence[ast.expr], error: HloBatchError) -> None:
        """Lower the statement with some operands computed before it, and before those the calls to their left.

        Raises:
            HloBatchError: Python may not evaluate one of them.
        """
        header = next(header for header in self.headers if is_in(operands[0], header))
        if header is not self.headers[0] or isinstance(self.node, ast.While):
            raise error
        found = dict[int, ast.expr]()
        for operand in operands:
            found |= {id(node): node for node in (*_calls_before(header, operand), operand)}
        if any(_is_conditional(header, operand) for operand in found.values()):
            raise error
        self._with_variables(list(found.values()))

    def _with_variables(self, operands: Sequence[ast.expr]) -> None:
        """Lower the statement with a variable in place of each of some operands.

        An item whose method is a statement of its own may be changed by that. So the variable has another object, which
        the item is from then on.
        """
        names, behind = dict[int, ast.expr](), list[ast.stmt]()
        for operand in operands:
            name = self.lowering.temporary_at(operand)
            if self._is_changed(operand):
                place = self._with_known_steps(operand)
                self.lowering.statements([assigned(name, helper("__hb_fresh", [place], operand), operand)])
                behind.append(located(ast.Assign([as_target(place)], load(name, operand)), operand))
            else:
                self.lowering.statements([assigned(name, operand, operand)])
            names[id(operand)] = load(name, operand)

        def changed(node: Any) -> Any:
            return names[id(node)] if id(node) in names else with_parts(node, changed)

        self.lowering.statements([changed(self.node), *behind])

    def _is_changed(self, operand: ast.expr) -> bool:
        """Whether an operand is an item of a variable, and the statement a call of its method, which may change it."""
        match self.node:
            case ast.Expr(ast.Call(ast.Attribute(value))) if value is operand and isinstance(value, ast.Subscript):
                root = root_of(value)
                return isinstance(root, ast.Name) and self.lowering.is_own(root.id)
        return False

    def _with_known_steps(self, place: ast.expr) -> Any:
        """An item, with variables for the indices that are computed on the way to it."""
        if isinstance(place, ast.Subscript) and not isinstance(place.slice, (ast.Name, ast.Constant)):
            name = self.lowering.temporary_at(place.slice)
            self.lowering.statements([assigned(name, place.slice, place.slice)])
            place = with_fields(place, slice=load(name, place.slice))
        if isinstance(place, (ast.Subscript, ast.Attribute)):
            return with_fields(place, value=self._with_known_steps(place.value))
        return place


def _is_of(name: str, node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _of_kind(name: str, node: ast.stmt | ast.expr, kind: int) -> str:
    """The name that a variable has, from a node on, in the lanes of a kind."""
    return f"{TEMPORARY}{of_one_kind(name.removeprefix(TEMPORARY), node.lineno, node.col_offset, kind)}"


def _span_of(node: ast.expr) -> Span | None:
    if node.end_lineno is None or node.end_col_offset is None:
        return None
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


def _operands(node: ast.expr) -> list[ast.expr]:
    """The operands of an expression that it may ask for something."""
    match node:
        case ast.Attribute(value) | ast.UnaryOp(_, value):
            return [value]
        case ast.Subscript(value, index):
            return [value, index]
        case ast.Call(function):
            own = [function.value] if isinstance(function, ast.Attribute) else []
            return [*own, *all_arguments(node)]
        case ast.BinOp(left, _, right):
            return [left, right]
        case ast.Compare(left, [_], [right]):
            return [left, right]
    return []


def _calls_before(header: ast.AST, operand: ast.expr) -> Iterator[ast.expr]:
    """The outermost calls that Python evaluates before an operand."""
    pending: list[ast.AST] = [header]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Call, ast.NamedExpr)) and not is_in(operand, node):
            if (node.lineno, node.col_offset) < (operand.lineno, operand.col_offset):
                yield node
        elif node is not operand:
            pending.extend(children(node)[::-1])


def _is_conditional(header: ast.AST, operand: ast.expr) -> bool:
    """Whether Python evaluates an operand perhaps, or several times, or as it assigns a name."""
    around = (node for node in walk(header) if node is not operand and is_in(operand, node))
    return isinstance(operand, ast.NamedExpr) or not all(
        any(is_in(operand, part) for part in _surely_evaluated(node)) for node in around
    )


def _surely_evaluated(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that Python evaluates in any case, and once."""
    match node:
        case ast.IfExp(test):
            return [test]
        case ast.BoolOp(_, [first, *_]):
            return [first]
        case ast.Compare(left, _, [first, *_]):
            return [left, first]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            return [node.generators[0].iter]
        case ast.Lambda():
            return []
    return [node]


class _Copy:
    """The copy of a statement in which a variable has the name that it has in the lanes of one kind.

    ::

        if test(shape):                       if test(circle):
            shape = Square(shape.r)    ==>        circle2 = circle; circle2 = Square(circle2.r); shape = circle2
                                              else:
                                                  shape = circle

    In each body the variable has a name of its own, so that a value given to it there is not that in the test. At the
    end of the copy, and where control leaves it early, the variable itself has its value.

    Attributes:
        name: The variable.
        new: The other name.
        kind: The number of the kind.
        is_seen: Whether the variable may be read where an exception leaves the copy.
    """

    def __init__(self, name: str, new: str, kind: int, is_seen: bool) -> None:
        self.name, self.new, self.kind, self.is_seen = name, new, kind, is_seen

    def of(self, node: ast.stmt) -> list[ast.stmt]:
        """The copy."""
        match node:
            case ast.If():
                return [self._conditional(node)]
            case ast.Match():
                cases = [
                    ast.match_case(self._renamed(case.pattern), self._renamed(case.guard), self._body(case.body))
                    for case in node.cases
                ]
                rest = located(ast.MatchAs(None, None), node.cases[-1].pattern)
                cases.append(ast.match_case(rest, None, [self._given_back(self.new, node)]))
                return [located(ast.Match(self._renamed(node.subject), cases), node)]
            case ast.For() if self._is_bound_in(node.body):
                header = ast.For(self._renamed(node.target), self._renamed(node.iter), node.body, node.orelse)
                return [self._given_back(self.new, node), located(header, node)]
        return [self._renamed(node), self._given_back(self.new, node)]

    def _conditional(self, node: ast.If) -> ast.If:
        test, then = self._renamed(node.test), self._body(node.body)
        match node.orelse:
            case [ast.If() as inner]:
                return located(ast.If(test, then, [self._conditional(inner)]), node)
            case []:
                return located(ast.If(test, then, [self._given_back(self.new, node.test)]), node)
        return located(ast.If(test, then, self._body(node.orelse)), node)

    def _body(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The copy of a body, in which the variable has a name of its own."""
        first = body[0]
        own = _of_kind(self.new, first, self.kind)
        inside = _Copy(self.name, own, self.kind, self.is_seen)
        begin = _handover(own, self.new, first)
        end = [] if isinstance(body[-1], (*_LEAVES, ast.Return, ast.Raise)) else [self._given_back(own, body[-1])]
        return [begin, *inside._statements(body, in_loop=False), *end]

    def _statements(self, body: Sequence[ast.stmt], *, in_loop: bool) -> list[ast.stmt]:
        """Statements with the other name; before those that leave the copy, the variable gets its value."""
        found = list[ast.stmt]()
        for statement in body:
            if isinstance(statement, _LEAVES) and not in_loop:
                found.append(self._given_back(self.new, statement))
            found.append(self._statement(statement, in_loop=in_loop))
            if self.is_seen and not isinstance(statement, _COMPOUND) and self._is_bound_in([statement]):
                found.append(self._given_back(self.new, statement))
        return found

    def _statement(self, node: Any, *, in_loop: bool) -> Any:
        if not isinstance(node, (*_COMPOUND, ast.match_case, ast.ExceptHandler)):
            return self._renamed(node)
        fields = dict[str, Any]()
        for field, value in ast.iter_fields(node):
            match value:
                case [ast.stmt(), *_]:
                    is_turn = isinstance(node, _LOOPS) and field == "body"
                    fields[field] = self._statements(value, in_loop=in_loop or is_turn)
                case [ast.match_case() | ast.ExceptHandler(), *_]:
                    fields[field] = [self._statement(part, in_loop=in_loop) for part in value]
                case list():
                    fields[field] = [self._renamed(part) for part in value]
                case _:
                    fields[field] = self._renamed(value)
        return with_fields(node, **fields)

    def _given_back(self, value: str, node: ast.AST) -> ast.stmt:
        return _handover(self.name, value, node)

    def _is_bound_in(self, body: Sequence[ast.stmt]) -> bool:
        """Whether statements bind the variable."""
        names = (part for node in body for part in walk(node) if isinstance(part, ast.Name) and part.id == self.name)
        return any(not isinstance(name.ctx, ast.Load) for name in names)

    def _renamed(self, node: Any) -> Any:
        """A part of code with the other name."""
        if isinstance(node, ast.Name):
            return located(ast.Name(self.new, node.ctx), node) if node.id == self.name else node
        if not isinstance(node, ast.AST) or (isinstance(node, ast.Lambda) and self.name in all_parameters(node)):
            return node
        if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name == self.name:
            node = with_fields(node, name=self.new)
        return with_parts(node, self._renamed)
