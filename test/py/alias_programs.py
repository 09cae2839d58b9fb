"""A seed -> a program in which objects have several names, are changed by one of them, and are read by all.

A change by one name must be seen by every other name of the object, and by no name of a copy. Python judges, as for
other generated programs; ``features_of_aliases.py`` has the tables of which the programs are made. Many are refused,
since lanes hold values and no references.

    python test/py/alias_programs.py 17             one program: its text, and its outcome
    python test/py/alias_programs.py 0 1000         some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import ast
import random
import re
import sys
from dataclasses import dataclass, field
from typing import Final

from feature_pairs import IMPORTS, main
from feature_writer import Lines, Writer, indented
from features_of_aliases import ANY_COPIES, ANY_PARTS, BINDINGS, HELPERS, KINDS

NAMES: Final = ("p", "q", "r", "s", "u", "v", "w", "xs", "ys")
MARK: Final = re.compile(r"<(\w+)>|[@?]")
MOST_DEPTH: Final = 1
"""Largest depth of expressions in expressions."""
MOST_KINDS: Final = 2


@dataclass
class _Names:
    """Draws the parts of one program.

    Attributes:
        w: Draws integers.
        kinds: The kind of the object that each variable holds.
        drawn: The kinds of which the program has objects.
        depth: The depth of the expression that is being drawn.
    """

    w: Writer
    kinds: dict[str, str] = field(default_factory=dict)
    depth: int = 0

    def named(self, kind: str) -> list[str]:
        return [name for name, one in self.kinds.items() if one == kind]

    def filled(self, text: str, kind: str = "", x: str = "") -> str:
        """A text with expressions in place of its marks: ``x`` for each ``<X>``, or some object of a kind."""

        def part(mark: re.Match[str]) -> str:
            if mark[0] == "@":
                return self.w.number(0)
            if mark[0] == "?":
                return f"{self.w.number(0)} {self.w.draw.choice(['<', '==', '>'])} {self.w.number(0)}"
            return (x or self.object(kind)) if mark[1] == "X" else self.object(mark[1])

        self.depth += 1
        found = MARK.sub(part, text)
        self.depth -= 1
        return found

    def object(self, kind: str) -> str:
        """An expression for an object of a kind: a name, a part of another object, a copy, or a new one."""
        names, draw, table = self.named(kind), self.w.draw, KINDS[kind]
        how = draw.random()
        if names and (how < 0.65 or self.depth > MOST_DEPTH):
            return draw.choice(names)
        if self.depth > MOST_DEPTH:
            return self._operand(draw.choice([text for text in table.made if "<" not in text]))
        if not names and how < 0.85:
            return self._operand(draw.choice(table.made))
        if how < 0.8:
            parts = [text for text in table.parts if self._is_at_hand(text)]
            text = draw.choice(parts if parts and draw.random() < 0.7 else ANY_PARTS)
        else:
            text = draw.choice([*table.copies, *table.copies, *ANY_COPIES])
        return self._operand(text, kind)

    def _operand(self, text: str, kind: str = "") -> str:
        """A text with its marks replaced, in parentheses if it is an operation."""
        found = self.filled(text, kind)
        return f"({found})" if isinstance(ast.parse(found, mode="eval").body, ast.BinOp) else found

    def _is_at_hand(self, text: str) -> bool:
        """Whether variables hold objects of all kinds that an expression names."""
        return all(kind == "X" or self.named(kind) for kind in re.findall(r"<(\w+)>", text))

    def change(self) -> Lines:
        kind = self.w.draw.choice([*self.kinds.values()])
        text = self.w.draw.choice(KINDS[kind].changes)
        is_rebound = re.search(r"<X> \W*= |while", text) is not None
        x = self.w.draw.choice(self.named(kind)) if is_rebound or self.w.draw.random() < 0.7 else self.object(kind)
        if not re.fullmatch(r"[\w.\[\]% ]+", x) and re.search(r"<X>( \W?=|\[.*\] \W?=)|def|^del", text):
            x = self.w.draw.choice(self.named(kind))
        return self.filled(text, kind, x).splitlines()

    def binding(self) -> Lines:
        draw = self.w.draw
        reached = [kind for kind in KINDS if self.named(kind) or any(map(self._is_at_hand, KINDS[kind].parts))]
        kind = draw.choice(reached)
        text = draw.choice(BINDINGS[:4] if draw.random() < 0.6 else BINDINGS)
        one, other = draw.sample([name for name in NAMES if self.kinds.get(name, kind) == kind] or NAMES, 2)
        named = draw.choice(self.named(kind) or [one])
        if "NAME" in text and not self.named(kind):
            text = "N = <X>"
        if "NAME" in text and one == named:
            one = next(name for name in NAMES if name != named)
        lines = self.filled(text, kind).replace("NAME", named)
        lines = re.sub(r"\bN\b", one, re.sub(r"\bM\b", other, lines))
        changed = self.filled(draw.choice([c for c in KINDS[kind].changes if "\n" not in c]), kind, one)
        lines = lines.replace("CHANGE", changed)
        self.kinds[one] = kind
        if re.search(r"\bM\b", text):
            self.kinds[other] = kind
        return lines.splitlines()

    def statement(self, depth: int = 1) -> Lines:
        how = self.w.draw.random()
        if depth and how < 0.2:
            inside = self._inside()
            otherwise = ["else:", *indented(self._inside())] if self.w.draw.random() < 0.4 else []
            return [f"if {self.filled('?')}:", *indented(inside), *otherwise]
        if depth and how < 0.35:
            i = f"i{self.w.draw.randint(0, 9)}"
            return [f"for {i} in range({self.w.draw.choice(['2', 'a', 'b'])}):", *indented(self._inside())]
        if how < 0.5:
            return self.binding()
        return self.change() if how < 0.94 else [self.seen(self.w.draw.choice([*self.kinds]))]

    def _inside(self) -> Lines:
        """Statements of a branch or a loop; the names that they bind first may have no value behind it."""
        before = dict(self.kinds)
        lines = [line for _ in range(self.w.draw.randint(1, 2)) for line in self.statement(0)]
        self.kinds = {name: kind for name, kind in self.kinds.items() if before.get(name) == kind}
        return lines if self.kinds.keys() >= before.keys() else ["pass"]

    def seen(self, name: str) -> str:
        kind = self.kinds[name]
        return f"t = folded(t, {self.filled(self.w.draw.choice(KINDS[kind].seen), kind, name)})"


def program(seed: int) -> str:
    """The text of a program; the same for each seed."""
    w = Writer(random.Random(seed), names=["a", "b"])
    names = _Names(w)
    lines = ["t = 0"]
    for kind in w.draw.sample([*KINDS], w.draw.randint(1, MOST_KINDS)):
        name = w.draw.choice([name for name in NAMES if name not in names.kinds])
        lines.append(f"{name} = {names.filled(w.draw.choice(KINDS[kind].made))}")
        names.kinds[name] = kind
    lines += [line for _ in range(w.draw.randint(1, 2)) for line in names.binding()]
    lines += [line for _ in range(w.draw.randint(1, 3)) for line in names.statement()]
    lines += names.change()
    read = [name for name in names.kinds if w.draw.random() < 0.8] or [*names.kinds][:1]
    lines += [*(names.seen(name) for name in read), "return int(t)"]
    head = [*IMPORTS, "import copy", HELPERS]
    return "\n".join([*head, "def main(a, b):", *indented(lines), ""])


if __name__ == "__main__":
    main(sys.argv[1:], program)
