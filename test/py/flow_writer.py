"""Draws nested statements that leave blocks in every way, and that bind names in every scope.

A ``Flow`` draws statements for a ``Block``, which says what a statement there may do. The texts are those of
``features_of_flow.py``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from feature_writer import Lines, indented
from features_of_flow import (
    AGAIN,
    AGAIN_BY_NAME,
    CASES,
    CAUGHT,
    CONDITIONS,
    DEFINES,
    IRREFUTABLE,
    ITERATED,
    KNOWN_CONDITIONS,
    MANAGERS,
    RAISES,
    RISKY,
    RISKY_CONDITIONS,
    SCOPES,
    UNBOUND,
    USES,
)

Parts = tuple[Lines, Lines, Lines]
"""Lines before ``main``, definitions in it, and statements that use them."""


@dataclass(frozen=True)
class Block:
    """What statements may do in a block.

    Attributes:
        depth: How deep statements may be nested.
        marks: Statements that show that they are reached, with a number in place of ``@``.
        names: The integer variables that have values.
        returns: The value of a ``return``; none if there is none.
        in_loop: Whether ``break`` and ``continue`` may stand in the block.
        caught: Whether an exception is being handled, and under which name.
        scoped: Whether names of other scopes may be bound in the block.
    """

    depth: int
    marks: tuple[str, ...]
    names: tuple[str, ...]
    returns: str = ""
    in_loop: bool = False
    caught: str | None = None
    scoped: bool = True


class Flow:
    """Draws the statements of one program."""

    def __init__(self, draw: random.Random, most: int, leaves_unbound: bool):
        self.draw, self.left, self.leaves_unbound, self.made, self.marked = draw, most, leaves_unbound, 0, 0

    def in_main(self) -> Parts:
        marks = ("t = (t * 31 + @) % 1009", "seen.append(@)")
        block = Block(3, marks, ("a", "b", "u", "t"), "(t * 5 + folded(seen) + @) % 1009")
        return [], [], self.statements(block, self.draw.choice((1, 2, 3)))

    def in_inner(self) -> Parts:
        marks = ("u = (u * 31 + @) % 1009", "seen.append(@)")
        block = Block(2, marks, ("a", "x", "y", "u"), "@", scoped=False)
        body = ["nonlocal u", *self.statements(block), f"return {self.number(block)}"]
        return [], ["def local(x, y):", *indented(body)], self.use("inner")

    def in_function(self) -> Parts:
        block = Block(3, ("seen.append(@)", "u = (u * 31 + @) % 1009"), ("x", "y", "u"), "@")
        body = ["u, xs, gate = y, [x, 2, y], Gate(1)", *self.statements(block), "return (u + gate.k) % 50"]
        lines = ["def part(x, y, seen):", *indented(self.without_examples(body))]
        return lines, [], self.use("function")

    def in_method(self) -> Parts:
        block = Block(2, ("self.t = (self.t * 31 + @) % 1009", "seen.append(@)"), ("x", "y", "u", "self.t"), "@")
        body = ["u, xs, gate = y, [x, 2, y], Gate(2)", *self.statements(block), "return (u + gate.k) % 50"]
        body = [line.replace("seen", "self.seen") for line in self.without_examples(body)]
        init = ["def __init__(self):", "    self.t, self.seen = 1, []"]
        run = ["def run(self, x, y):", *indented(body)]
        return ["class Part:", *indented([*init, *run])], [], self.use("method")

    def in_generator(self) -> Parts:
        block = Block(2, ("yield @", "seen.append(@)"), ("x", "y", "u"), " ")
        body = ["u, xs, gate = y, [x, 2, y], Gate(1)", *self.statements(block), "yield (u + gate.k) % 50"]
        return ["def parts(x, y, seen):", *indented(self.without_examples(body))], [], self.use("generator")

    def in_recursive(self) -> Parts:
        block = Block(2, ("seen.append(@)", "u = (u * 31 + again(n - 1, x, seen)) % 1009"), ("n", "x", "u"), "@")
        body = ["u, xs, gate = x, [n, 2, x], Gate(x)", "if n <= 0:", "    return x", *self.statements(block)]
        body = ["again(n - 1, x + 1, seen)" if line == "risky(n)" else line for line in body]
        tail = f"return (again(n - 1, {self.number(block)}, seen) + u + gate.k) % 50"
        return ["def again(n, x, seen):", *indented(self.without_examples([*body, tail]))], [], self.use("recursive")

    def use(self, place: str) -> Lines:
        return self.draw.choice(USES[place]).replace("CAUGHT", self.draw.choice(CAUGHT[:-1])).splitlines()

    def without_examples(self, lines: Lines) -> Lines:
        """Lines of a function that has ``x`` and ``y`` in place of the examples ``a`` and ``b``."""
        return [line.replace("(1, a, b)", "(1, x, u)").replace("(a, 2)", "(x, 2)") for line in lines]

    def number(self, block: Block) -> str:
        return self.draw.choice([*block.names, str(self.draw.randint(0, 5))])

    def condition(self, block: Block) -> str:
        kind = self.draw.random()
        texts = KNOWN_CONDITIONS if kind < 0.1 else RISKY_CONDITIONS if kind < 0.2 else CONDITIONS
        return self.filled(self.draw.choice(texts), block)

    def mark(self, block: Block) -> str:
        self.marked += 1
        number = self.number(block) if self.draw.random() < 0.3 else str(self.marked)
        return self.filled(self.draw.choice(block.marks).replace("@", number), block)

    def filled(self, text: str, block: Block) -> str:
        """A text with its signs replaced."""
        while "%%" in text:
            text = text.replace("%%", self.mark(block), 1)
        parts = [self.condition(block) if letter == "?" else letter for letter in text]
        return "".join(self.number(block) if letter == "@" else letter for letter in "".join(parts))

    def named(self, text: str, block: Block) -> tuple[str, Block]:
        """A text with its variables ``I`` and ``J`` named anew, and a block in which the first has a value."""
        self.made += 1
        one, other = f"i{self.made}", f"j{self.made}"
        letters = [one if letter == "I" else other if letter == "J" else letter for letter in text]
        is_used = "I" in text
        return "".join(letters), replace(block, names=(*block.names, one)) if is_used else block

    def statements(self, block: Block, count: int = 0) -> Lines:
        found = [line for _ in range(count or self.draw.choice((1, 1, 2))) for line in self.statement(block)]
        return [*found, *self.leave(block)] if self.draw.random() < 0.12 else found

    def statement(self, block: Block) -> Lines:
        kind = self.draw.random()
        self.left -= 1
        if self.left < 0:
            return [self.mark(block)]
        if block.depth == 0 or kind < 0.3:
            return self.simple(block)
        inner = replace(block, depth=block.depth - 1)
        if kind < 0.44:
            return self.if_(inner)
        if kind < 0.58:
            return self.loop(inner)
        if kind < 0.84:
            return self.try_(inner)
        return self.with_(inner) if kind < 0.92 else self.match(inner)

    def simple(self, block: Block) -> Lines:
        kind = self.draw.random()
        if kind < 0.3:
            return [self.mark(block)]
        if kind < 0.5:
            return self.filled(self.draw.choice(RISKY), block).splitlines()
        if kind < 0.65:
            return [f"if {self.condition(block)}:", *indented(self.leave(block))]
        if kind < 0.67:
            return self.leave(block)
        if self.leaves_unbound and kind < 0.85:
            return self.filled(self.draw.choice(UNBOUND), block).splitlines()
        if not block.scoped:
            return [self.mark(block)]
        is_generator = any("yield" in text for text in block.marks)
        texts = [text for text in SCOPES if not any(word in text for word in DEFINES)] if is_generator else SCOPES
        return self.filled(self.draw.choice(texts), block).splitlines()

    def leave(self, block: Block) -> Lines:
        """A statement that leaves the block."""
        choices = [self.draw.choice(RAISES)]
        if block.returns:
            choices.append(f"return {block.returns}")
        if block.in_loop:
            choices += ["break", "continue"]
        if block.caught is not None:
            choices += [*AGAIN, *(AGAIN_BY_NAME if block.caught else ())]
        return self.filled(self.draw.choice(choices), block).splitlines()

    def if_(self, block: Block) -> Lines:
        lines = [f"if {self.condition(block)}:", *indented(self.statements(block))]
        while self.draw.random() < 0.25:
            lines += [f"elif {self.condition(block)}:", *indented(self.statements(block))]
        return [*lines, *self.maybe("else:", block, 0.4)]

    def maybe(self, head: str, block: Block, share: float) -> Lines:
        return [head, *indented(self.statements(block))] if self.draw.random() < share else []

    def loop(self, block: Block) -> Lines:
        inside = replace(block, in_loop=True)
        other = self.maybe("else:", block, 0.3)
        if self.draw.random() < 0.6:
            head, inside = self.named(self.draw.choice(ITERATED), inside)
            return [f"for {self.filled(head, block)}:", *indented(self.statements(inside)), *other]
        self.made += 1
        count = f"c{self.made}"
        test = self.draw.choice((f"{count} < {self.number(block)}", "True", f"{count} < 3 and {self.condition(block)}"))
        body = [f"{count} += 1", f"if {count} > 4:", "    break", *self.statements(inside)]
        return [f"{count} = 0", f"while {test}:", *indented(body), *other]

    def try_(self, block: Block) -> Lines:
        risky = self.filled(self.draw.choice(RISKY), block).splitlines() if self.draw.random() < 0.7 else []
        others = self.statements(block)
        lines = ["try:", *indented([*risky, *others] if self.draw.random() < 0.5 else [*others, *risky])]
        kinds = self.draw.sample(CAUGHT, self.draw.choice((0, 1, 1, 1, 2, 2, 3)))
        for kind in sorted(kinds, key=lambda kind: not kind):
            lines += self.handler(kind, block)
        if kinds:
            lines += self.maybe("else:", block, 0.25)
        quiet = tuple(text for text in block.marks if "yield" not in text)
        last = self.maybe("finally:", replace(block, marks=quiet), 0.3 if kinds else 1)
        return [*lines, *last]

    def handler(self, kind: str, block: Block) -> Lines:
        name = "e" if kind and self.draw.random() < 0.4 else ""
        body = self.statements(replace(block, caught=name))
        if kind in ("Own", "Inner", "(Inner, Own)") and name and self.draw.random() < 0.5:
            body = ["seen.append(e.code * 2 + e.more)", *body]
        return [f"except {kind} as {name}:" if name else f"except {kind}:" if kind else "except:", *indented(body)]

    def with_(self, block: Block) -> Lines:
        return [f"with {self.filled(self.draw.choice(MANAGERS), block)}:", *indented(self.statements(block))]

    def match(self, block: Block) -> Lines:
        subject, patterns = self.draw.choice(CASES)
        chosen = self.draw.sample(patterns, self.draw.randint(1, min(3, len(patterns))))
        chosen = [pattern for pattern in chosen if pattern not in IRREFUTABLE or pattern is chosen[-1]]
        lines = [f"match {self.filled(subject, block)}:"]
        for pattern in chosen:
            head, inside = self.named(pattern, block)
            lines += [f"    case {self.filled(head, inside)}:", *indented(indented(self.statements(inside)))]
        return lines
