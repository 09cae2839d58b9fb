"""``match`` -> tests and assignments, as with ``if`` and ``elif``.

::

    match shape:                      if is_instance(shape, Circle):
        case Circle(radius=r):    ==>     $1 = shape.radius
            area = 3.14 * r * r           r = $1
        case (w, h):                      area = 3.14 * r * r
            area = w * h              elif is_sequence(shape, 2, False): …

The structure of a subject is the same in every lane: tests of it are decided when the program is built, and cases that
do not fit are not even traced. Names are bound once the whole pattern fits, before its guard is evaluated.

Reference: PEP 634.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from hlobatch.frontend.expressions import ExpressionLowering
from hlobatch.frontend.nodes import located
from hlobatch.frontend.scopes import bound_by_match
from hlobatch.frontend.syntax import helper, literal, load
from hlobatch.ir.ops import GotoOp


class MatchLowering:
    """Lowers one ``match`` statement."""

    def __init__(self, lowering: ExpressionLowering, node: ast.Match) -> None:
        self.lowering = lowering
        self.node = node

    def lower(self) -> None:
        """Emit the statement; control goes on after it if any case lets it."""
        blocks, node = self.lowering.blocks, self.node
        subject = self._subject()
        after = blocks.name("after_match")
        reached = False
        for case in node.cases:
            following = blocks.name("case")
            self._pattern(case.pattern, subject, following)
            for capture in _captures(case.pattern):
                self.lowering.assign(capture, load(_capture(capture), case.pattern), case.pattern)
            if case.guard is not None:
                body = blocks.name("body")
                self.lowering.conditions.branch(case.guard, body, following)
                blocks.start(body, self.lowering.location(case.body[0]))
            self.lowering.statements(case.body)
            reached |= blocks.is_open
            blocks.end(GotoOp(after, location=self.lowering.location(node)))
            if not blocks.is_reached(following):
                break
            blocks.start(following, self.lowering.location(case.pattern))
        else:
            reached = True
        if reached:
            blocks.start(after, self.lowering.location(node))

    def _subject(self) -> ast.expr:
        """The subject, evaluated once, in a variable that no pattern or guard assigns."""
        value = self.lowering.simple(self.node.subject)
        name = self.lowering.as_variable(value, self.node.subject)
        if isinstance(value, ast.Name) and name == value.id and name in bound_by_match(self.node):
            name = self.lowering.temporary()
            self.lowering.assign(name, value, self.node.subject)
        return load(name, self.node.subject)

    # Patterns: each emits code that binds its captures, and a branch to ``otherwise`` if it does not fit.

    def _pattern(self, pattern: ast.pattern, subject: ast.expr, otherwise: str) -> None:
        match pattern:
            case ast.MatchValue(value):
                self._test(_compare(subject, ast.Eq(), value, pattern), otherwise, pattern)
            case ast.MatchSingleton(None):
                self._test(_compare(subject, ast.Is(), literal(None, pattern), pattern), otherwise, pattern)
            case ast.MatchSingleton(value):
                self._test(helper("__hb_is_singleton", [subject, literal(value, pattern)], pattern), otherwise, pattern)
            case ast.MatchAs(None, None):
                pass
            case ast.MatchAs(inner, name):
                if inner is not None:
                    self._pattern(inner, subject, otherwise)
                self.lowering.assign(_capture(name), subject, pattern)
            case ast.MatchOr(alternatives):
                self._alternatives(alternatives, subject, otherwise)
            case ast.MatchSequence(parts):
                self._sequence(pattern, parts, subject, otherwise)
            case ast.MatchMapping(keys, parts, rest):
                self._mapping(pattern, keys, parts, rest, subject, otherwise)
            case ast.MatchClass(kind, positional, names, named):
                self._class(pattern, kind, positional, dict(zip(names, named, strict=True)), subject, otherwise)

    def _test(self, test: ast.expr, otherwise: str, pattern: ast.pattern) -> None:
        fits = self.lowering.blocks.name("fits")
        self.lowering.conditions.branch(test, fits, otherwise)
        self.lowering.blocks.start(fits, self.lowering.location(pattern))

    def _part(self, pattern: ast.pattern, value: ast.expr, otherwise: str) -> None:
        """Match a part of the subject, evaluated once."""
        if isinstance(pattern, ast.MatchAs) and pattern.name is None:
            return
        name = self.lowering.as_variable(value, pattern)
        self._pattern(pattern, load(name, pattern), otherwise)

    def _alternatives(self, alternatives: Sequence[ast.pattern], subject: ast.expr, otherwise: str) -> None:
        blocks = self.lowering.blocks
        matched = blocks.name("matched")
        for alternative in alternatives[:-1]:
            following = blocks.name("or")
            self._pattern(alternative, subject, following)
            blocks.end(GotoOp(matched, location=self.lowering.location(alternative)))
            blocks.start(following, self.lowering.location(alternative))
        self._pattern(alternatives[-1], subject, otherwise)
        blocks.start(matched, self.lowering.location(alternatives[-1]))

    def _sequence(self, pattern: ast.pattern, parts: Sequence[ast.pattern], subject: ast.expr, otherwise: str) -> None:
        star = next((i for i, part in enumerate(parts) if isinstance(part, ast.MatchStar)), None)
        least = len(parts) - (star is not None)
        counted = [literal(value, pattern) for value in (least, star is not None)]
        self._test(helper("__hb_is_sequence", [subject, *counted], pattern), otherwise, pattern)
        for index, part in enumerate(parts):
            from_end = index - len(parts) if star is not None and index >= star else None
            if isinstance(part, ast.MatchStar):
                if part.name is not None:
                    bounds = [literal(value, part) for value in (index, (from_end or 0) + 1)]
                    rest = helper("__hb_middle", [subject, *bounds], part)
                    self.lowering.assign(_capture(part.name), rest, part)
                continue
            place = literal(index if from_end is None else from_end, part)
            item = located(ast.Subscript(subject, place, ast.Load()), part)
            self._part(part, item, otherwise)

    def _mapping(
        self,
        pattern: ast.pattern,
        keys: Sequence[ast.expr],
        parts: Sequence[ast.pattern],
        rest: str | None,
        subject: ast.expr,
        otherwise: str,
    ) -> None:
        self._test(helper("__hb_is_mapping", [subject, *keys], pattern), otherwise, pattern)
        for key, part in zip(keys, parts, strict=True):
            self._part(part, located(ast.Subscript(subject, key, ast.Load()), part), otherwise)
        if rest is not None:
            self.lowering.assign(_capture(rest), helper("__hb_remaining", [subject, *keys], pattern), pattern)

    def _class(
        self,
        pattern: ast.pattern,
        kind: ast.expr,
        positional: Sequence[ast.pattern],
        named: dict[str, ast.pattern],
        subject: ast.expr,
        otherwise: str,
    ) -> None:
        places = [literal(index, pattern) for index in range(len(positional))]
        attributes: list[ast.expr] = [*places, *(literal(name, pattern) for name in named)]
        self._test(helper("__hb_is_of_class", [subject, kind, *attributes], pattern), otherwise, pattern)
        for attribute, part in zip(attributes, (*positional, *named.values()), strict=True):
            self._part(part, helper("__hb_attribute", [subject, kind, attribute], part), otherwise)


def _captures(pattern: ast.pattern) -> list[str]:
    """The names that a pattern binds, each once."""
    found = dict[str, None]()
    for part in ast.walk(pattern):
        name = part.rest if isinstance(part, ast.MatchMapping) else getattr(part, "name", None)
        if name is not None and isinstance(part, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
            found[name] = None
    return list(found)


def _capture(name: str | None) -> str:
    """The temporary that holds a capture until the whole pattern fits."""
    return f"_hb_capture_{name}"


def _compare(left: ast.expr, operator: ast.cmpop, right: ast.expr, node: ast.AST) -> ast.expr:
    return located(ast.Compare(left, [operator], [right]), node)
