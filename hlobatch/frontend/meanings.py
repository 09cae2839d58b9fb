"""Straight-line code as the user wrote it -> code that means on traced values what the user's means in Python.

::

    votes = first + second                    votes = __hb_operate("add", first, second)
    small = byte < 300                        small = __hb_compare("lt", byte, 300)
    scale = 10 ** -places             ==>     scale = __hb_power(10, -places, True)
    size = len(f"{n:>4}")                     size = len(__hb_joined(__hb_formatted(n, "", ">4")))
    if isinstance(i, int): …                  if __hb_isinstance(i, int): …
    best = max(best, PRICES[i])               best = __hb_call(max, best, __hb_item(PRICES, i))
    if (a, b) < (c, d): …                     if __hb_compare("lt", (a, b), (c, d)): …

JAX's arrays stand for Python's numbers, and almost everything means the same on both. The exceptions are: functions
that need a number, such as ``max`` and ``math.sqrt``; an index into a list; comparisons of tuples, and ``in``; control
flow inside lambdas and comprehensions; addition of bools, comparisons of integers of two dtypes, negative powers of
integers, texts, and questions about types.
"""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeGuard

from hlobatch.diagnostics import UnsupportedSyntaxError
from hlobatch.frontend import members
from hlobatch.frontend.callees import static_value
from hlobatch.frontend.calls import has_meaning
from hlobatch.frontend.nodes import Comprehension, located, with_fields, with_iterables
from hlobatch.frontend.operators import BINARY, COMPARISONS, UNARY
from hlobatch.frontend.scopes import HELPER, MISSING, target_names, with_parts
from hlobatch.frontend.source import Source
from hlobatch.frontend.syntax import helper, is_none, literal, load

_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    **COMPARISONS,
    ast.In: "in",
    ast.NotIn: "not_in",
    ast.Is: "is_",
    ast.IsNot: "is_not",
}
"""Comparisons, named as in ``operator``, ``in`` and ``not_in`` excepted."""
_GO_OVER_POSSIBLE: Final = (
    *(sum, any, all, min, max, len, sorted, list, tuple, set, collections.deque, collections.Counter),
    *(math.fsum, math.prod),
)
"""Functions that leave out the items of a comprehension that do not exist in a lane."""
_TAKE_ITEMS: Final = frozenset(
    ("extend", "join", "update", "union", "intersection", "difference", "issuperset", "isdisjoint")
)
"""Methods of containers that go over a comprehension at once."""
_NEW_OBJECTS: Final = frozenset({"astype", "deepcopy", "flatten"})
"""Functions that always copy in Python, while JAX may return its argument."""
_TEXTS: Final = frozenset({"str", "repr", "ascii", "format"})
_QUESTIONS: Final = frozenset({"isinstance", "type", "hasattr"})
_SCOPES: Final = frozenset({"locals", "vars", "dir", "eval", "exec"})


def _called_name(node: ast.Call) -> str:
    """The name of the function or attribute that is called, also through ``following.follow``."""
    match node:
        case ast.Call(
            ast.Name("__hb_follow" | "__hb_follow_in_turns" | "__hb_see"),
            [_, ast.Attribute(_, name) | ast.Name(name), *_],
        ):
            return name
        case ast.Call(ast.Attribute(_, name) | ast.Name(name)):
            return name
    return ""


def _is_negated(node: ast.AST) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


@dataclass(frozen=True)
class Meanings:
    """Rewrites the code of a function to its meaning.

    Attributes:
        source: The function.
        local: Its variables.
        is_careful: Whether operations test their operands for None.
        asks_items: Whether an index out of range raises even if it is a literal.
    """

    source: Source
    local: frozenset[str]
    is_careful: bool = False
    asks_items: bool = False

    def of(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Statements without control flow, rewritten to their meaning; nodes that stay the same are shared.

        Raises:
            UnsupportedSyntaxError: They use the variables of the function as objects, as ``locals()`` does.
        """
        return list(map(self._statement, body))

    @cached_property
    def _negative(self) -> frozenset[str]:
        """Variables that are assigned a negated expression."""
        nodes = ast.walk(self.source.node)
        assigned = (node for node in nodes if isinstance(node, ast.Assign) and _is_negated(node.value))
        return frozenset(t.id for node in assigned for t in node.targets if isinstance(t, ast.Name))

    def _statement(self, node: ast.stmt) -> ast.stmt:
        return self._augmented(node) if isinstance(node, ast.AugAssign) else self._rewritten(node)

    def _augmented(
        self, node: ast.AugAssign, augment: str = "__hb_augment", change: str = "__hb_changed_in_place"
    ) -> ast.stmt:
        target = _loaded(node.target)
        value: ast.expr = self._rewritten(node.value)
        if isinstance(node.op, ast.Pow):
            new = helper(change, [target, self._power(target, value, node.value, node)], node)
            return located(ast.Assign([node.target], new), node)
        operation = located(ast.Constant(BINARY[type(node.op)]), node)
        result = helper(augment, [operation, target, value], node)
        return located(ast.Assign([node.target], result), node)

    def _within(self, node: Any) -> Meanings:
        """The rewriting inside a lambda or a comprehension, which has variables of its own."""
        if isinstance(node, ast.Lambda):
            names = [a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)]
        elif isinstance(node, Comprehension):
            names = [name for generator in node.generators for name in target_names(generator.target)]
        else:
            return self
        return replace(self, local=self.local.union(names))

    def _rewritten(self, node: Any) -> Any:
        """A node with all its parts rewritten; the node itself if nothing changes."""
        inner = self._within(node)
        copy = with_parts(node, inner._rewritten)
        if isinstance(node, Comprehension):
            copy = copy if isinstance(node, ast.SetComp) else comprehension_in_known_order(copy)
            has_ifs = any(generator.ifs for generator in node.generators)
            if isinstance(node, (ast.SetComp, ast.DictComp)):
                items = _as_list(copy)
                name = "__hb_set_of" if isinstance(node, ast.SetComp) else "__hb_dict_of"
                return helper(name, [_with_possible_items(items) if has_ifs else items], node)
            if has_ifs:
                return helper("__hb_whole", [_with_possible_items(copy)], node)
        return self._as_meant(copy, node)

    def _as_meant(self, node: Any, written: Any) -> Any:
        """A node, whose parts have been rewritten, rewritten itself."""
        node = self._with_method(node)
        match node:
            case ast.Compare(left, [ast.Is() | ast.IsNot() | ast.Eq() | ast.NotEq() as operator], [ast.Constant(None)]):
                return is_none(operator, left, node)
            case ast.BinOp(left, ast.Pow(), right):
                return self._power(left, right, written.right, node)
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                return self._operate(BINARY[type(op)], [left, right], node)
            case ast.UnaryOp(op, operand) if type(op) in UNARY and not isinstance(operand, ast.Constant):
                return self._operate(UNARY[type(op)], [operand], node)
            case ast.FormattedValue(value, conversion, spec):
                letter = literal(chr(conversion) if conversion > 0 else "", node)
                return helper("__hb_formatted", [value, letter, *([spec] if spec else [])], value)
            case ast.JoinedStr(values):
                return helper("__hb_joined", values, node)
            case ast.Call() if _called_name(node) in _NEW_OBJECTS:
                return helper("__hb_fresh", [self._call(node, written)], node)
            case ast.Call():
                return self._call(node, written)
            case ast.Subscript(value, index, ast.Load()) if (
                self.asks_items or self.is_careful or not _is_written_out(index)
            ):
                return _item(value, index, node)
            case ast.Attribute(value, name, ast.Load()) if static_value(node, self.source, self.local) is MISSING:
                return helper("__hb_member", [value, literal(name, node)], node)
            case ast.Compare():
                return self._comparison(node)
        return self._trace_time(node)

    def _with_method(self, node: Any) -> Any:
        """A method call with a plain attribute in place of a call of ``__hb_member``; any other node unchanged."""
        match node:
            case ast.Call(ast.Name("__hb_follow" | "__hb_see"), [site, function, *arguments]) if method := self._method(
                function
            ):
                return located(ast.Call(node.func, [site, method, *arguments], node.keywords), node)
            case ast.Call(function) if method := self._method(function):
                return located(ast.Call(method, node.args, node.keywords), node)
        return node

    def _method(self, function: ast.expr) -> ast.expr | None:
        match function:
            case ast.Call(ast.Name("__hb_member"), [value, ast.Constant(str() as name)]) if name not in members.NAMES:
                owner = helper("__hb_owner", [value, literal(name, value)], value) if self.is_careful else value
                return located(ast.Attribute(owner, name, ast.Load()), function)
        return None

    def _trace_time(self, node: Any) -> Any:
        """Control flow inside a lambda or a comprehension rewritten to calls; displays and unpacking, too."""
        match node:
            case ast.IfExp(test, body, otherwise):
                return helper("__hb_choose", [test, _later(body), _later(otherwise)], node)
            case ast.BoolOp(op, values):
                name = "__hb_conjunction" if isinstance(op, ast.And) else "__hb_disjunction"
                return helper(name, [values[0], *map(_later, values[1:])], node)
            case ast.UnaryOp(ast.Not(), operand):
                return helper("__hb_not", [operand], node)
            case ast.Set([ast.Starred(value)]):
                return helper("__hb_set_of", [value], node)
            case ast.Set(parts) if not any(map(_is_starred, parts)):
                return helper("__hb_set", parts, node)
            case ast.Dict(keys, values) if not all(isinstance(key, ast.Constant) for key in keys):
                pairs = zip(keys, values, strict=True)
                parts = [part for key, value in pairs for part in (key or load("__hb_unpacked", node), value)]
                return helper("__hb_dict", parts, node)
            case ast.Delete([ast.Subscript(value, index)]):
                return located(ast.Expr(helper("__hb_take_out", [value, index], node)), node)
            case ast.Assign([ast.Tuple(parts) | ast.List(parts)], value) if not isinstance(
                value, (ast.Tuple, ast.List)
            ):
                star = next((i for i, part in enumerate(parts) if isinstance(part, ast.Starred)), None)
                plain = [part.value if isinstance(part, ast.Starred) else part for part in parts]
                target = located(ast.Tuple(plain, ast.Store()), node.targets[0])
                unpacked = helper("__hb_unpack", [value, literal(star, node), literal(len(parts), node)], value)
                return located(ast.Assign([target], unpacked), node)
            case ast.List(parts) | ast.Tuple(parts) | ast.Set(parts) if _is_read(node) and any(map(_is_starred, parts)):
                starred = literal(tuple(map(_is_starred, parts)), node)
                values = [part.value if isinstance(part, ast.Starred) else part for part in parts]
                return helper(_WITH_STARS[type(node)], [starred, *values], node)
        return node

    def _call(self, node: ast.Call, written: ast.Call) -> ast.expr:
        """A call, rewritten if the function may have another meaning than JAX would give it."""
        node = _with_items_there(node)
        if isinstance(node.func, ast.Name) and node.func.id.startswith(HELPER):
            return node
        if isinstance(node.func, ast.Name) and self._is_builtin(node.func.id):
            if node.func.id == "pow" and len(node.args) == 2 and not node.keywords:
                base, exponent = (helper("__hb_number", [operand], operand) for operand in node.args)
                return self._power(base, exponent, written.args[1], node)
            node = self._of_builtin(node, node.func.id)
            if isinstance(node.func, ast.Name) and node.func.id.startswith(HELPER):
                return node
        function = self._called(node)
        if function is not MISSING and function is not next and not (self.is_careful or has_meaning(function)):
            return node
        arguments = node.args
        if function is next and arguments and _is_whole(arguments[0]):
            return helper("__hb_first", [arguments[0].args[0], *arguments[1:]], node)
        if function is next and arguments and (items := self._iterated(arguments[0])) is not None:
            return helper("__hb_first_item", [items, *arguments[1:]], node)
        if any(function is known for known in _GO_OVER_POSSIBLE) and arguments and _is_whole(arguments[0]):
            arguments = [arguments[0].args[0], *arguments[1:]]
        called = load("__hb_call", node.func)
        return located(ast.Call(called, [node.func, *arguments], node.keywords), node)

    def _iterated(self, node: ast.expr) -> ast.expr | None:
        """The items of which a call of ``iter`` or ``reversed`` makes an iterator; None for any other expression."""
        match node:
            case ast.Call(ast.Name("__hb_call"), [function, items], []) | ast.Call(function, [items], []):
                made_by = static_value(function, self.source, self.local)
                return items if made_by is iter else node if made_by is reversed else None
        return None

    def _called(self, node: ast.Call) -> Any:
        """The function that a call means, or ``MISSING``."""
        return static_value(node.func, self.source, self.local)

    def _comparison(self, node: ast.Compare) -> ast.expr:
        names = [_COMPARISONS[type(op)] for op in node.ops]
        if len(names) > 1:
            operations = located(ast.Tuple([literal(n, node) for n in names], ast.Load()), node)
            return helper("__hb_chain", [operations, node.left, *map(_later, node.comparators)], node)
        return helper("__hb_compare", [literal(names[0], node), node.left, node.comparators[0]], node)

    def _of_builtin(self, node: ast.Call, name: str) -> ast.Call:
        arguments, keywords = node.args, node.keywords
        if name in _TEXTS:
            return located(ast.Call(load("__hb_shown", node), [node.func, *arguments], keywords), node)
        if name in _QUESTIONS and not keywords and (name != "type" or len(arguments) == 1):
            return helper(f"__hb_{name}", arguments, node)
        if name in _SCOPES and (name in ("eval", "exec") or not arguments):
            raise UnsupportedSyntaxError(
                f"`{name}` is not supported in a batched function",
                self.source.location(node),
                help="its variables are no Python objects: name those that are meant.",
            )
        return node

    def _is_builtin(self, name: str) -> bool:
        return name not in self.local and self.source.resolve(name) is getattr(builtins, name, self)

    def _operate(self, operation: str, operands: Sequence[ast.expr], node: ast.AST) -> ast.expr:
        """A call of ``__hb_operate``, since operands may be bools or need methods of their own."""
        return helper("__hb_operate", [literal(operation, node), *operands], node)

    def _power(self, base: ast.expr, exponent: ast.expr, written: ast.expr, node: ast.AST) -> ast.expr:
        names = isinstance(written, ast.Name) and written.id in self._negative
        negated = located(ast.Constant(names or _is_negated(written)), exponent)
        return helper("__hb_power", [base, exponent, negated], node)


def _with_items_there(node: ast.Call) -> ast.Call:
    """A call; of a method that goes over a comprehension at once, with the items that exist in a lane."""
    match node:
        case ast.Call(ast.Name("__hb_follow" | "__hb_see"), [_, ast.Attribute(_, name), *_]):
            pass
        case ast.Call(ast.Attribute(_, name)):
            pass
        case _:
            return node
    if name not in _TAKE_ITEMS or not any(map(_is_whole, node.args)):
        return node
    arguments = [helper("__hb_all_there", part.args, part) if _is_whole(part) else part for part in node.args]
    return located(ast.Call(node.func, arguments, node.keywords), node)


_WITH_STARS: Final[Mapping[type, str]] = {
    ast.List: "__hb_listed",
    ast.Set: "__hb_starred_set",
    ast.Tuple: "__hb_tupled",
}


def _is_read(node: ast.List | ast.Tuple | ast.Set) -> bool:
    return isinstance(node, ast.Set) or isinstance(node.ctx, ast.Load)


def _is_starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


def _later(value: ast.expr) -> ast.expr:
    """An expression as a lambda, to be evaluated when its value is needed."""
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return located(ast.Lambda(nothing, value), value)


def _is_written_out(index: ast.expr | None) -> bool:
    """Whether an index consists of literals."""
    match index:
        case ast.Slice(lower, upper, step):
            return all(map(_is_written_out, (lower, upper, step)))
        case ast.Tuple(parts):
            return all(map(_is_written_out, parts))
        case ast.UnaryOp(ast.USub(), operand):
            return _is_written_out(operand)
    return index is None or isinstance(index, ast.Constant)


def _item(value: ast.expr, index: ast.expr, node: ast.AST) -> ast.expr:
    """``value[index]``; the indices of an item of an item become one call."""
    match value:
        case ast.Call(ast.Name("__hb_item"), [container, *indices], []):
            return helper("__hb_item", [container, *indices, index], node)
    return helper("__hb_item", [value, index], node)


def comprehension_in_known_order(node: Any) -> Any:
    """A comprehension that refuses to go over a dict whose keys are in no known order."""
    return with_iterables(node, lambda items: helper("__hb_in_known_order", [items], items))


def _as_list(node: Any) -> ast.ListComp:
    """A set or dict comprehension as a list comprehension, of members or of pairs."""
    item = node.elt if isinstance(node, ast.SetComp) else ast.Tuple([node.key, node.value], ast.Load())
    return located(ast.ListComp(located(item, node), node.generators), node)


def _is_whole(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "__hb_whole"


def _with_possible_items(node: Any) -> Any:
    """A comprehension whose conditions may differ between lanes: its items carry the condition under which they exist.

    ::

        [f(x) for x in items if c(x)]
        ==>
        [__hb_possible((there,), lambda: f(x)) for x in items for there in (__hb_truth(c(x)),) if there is not False]
    """
    generators, names = [], list[ast.expr]()
    for generator in node.generators:
        generators.append(ast.comprehension(generator.target, generator.iter, [], generator.is_async))
        for condition in generator.ifs:
            name = f"{HELPER}there{len(names)}"
            target = located(ast.Name(name, ast.Store()), condition)
            read = load(name, condition)
            test = ast.Compare(read, [ast.IsNot()], [literal(False, condition)])
            known = ast.Tuple([helper("__hb_truth", [condition], condition)], ast.Load())
            generators.append(ast.comprehension(target, located(known, condition), [located(test, condition)], 0))
            names.append(read)
    there = located(ast.Tuple(names, ast.Load()), node)
    value = node.elt
    if any(isinstance(child, ast.NamedExpr) for child in ast.walk(value)):  # the name would be local to the lambda
        item = helper("__hb_possible_now", [there, value], value)
    else:
        item = helper("__hb_possible", [there, _later(value)], value)
    return with_fields(node, generators=generators, elt=item)


def _loaded(target: ast.expr) -> ast.expr:
    """The target of an assignment, a variable or an attribute, as an expression for its value."""
    assert isinstance(target, (ast.Name, ast.Attribute))
    new = copy.copy(target)
    new.ctx = ast.Load()
    return new
