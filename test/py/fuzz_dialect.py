"""Mutated texts of the dialect through the parser and the verifier: ``python test/py/fuzz_dialect.py COUNT [SEED]``.

Each text is accepted, and then survives the round trip through a program, or is refused with an error that has a
location. The text is first written to a file, since it may crash the process or take longer than a minute, which ends
the process. Prints how many were accepted and refused.
"""

import random
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from hlobatch._jax import make_context
from hlobatch.diagnostics import HloBatchError
from hlobatch.dialect.from_program import from_program
from hlobatch.dialect.text import as_text, parse
from hlobatch.dialect.to_program import to_program

CORPUS = Path(__file__).parents[1] / "lit" / "dialect"
FILE = "fuzz.mlir"
SECONDS = 60
TOKEN = re.compile(r'"[^"\n]*"|[@^%!#]?[\w.$]+|\s+|.', re.DOTALL)


def corpus() -> list[str]:
    """The modules of the lit tests, without their comments."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*/*.mlir"))]
    chunks = [re.sub(r"^\s*//.*\n", "", chunk, flags=re.MULTILINE) for t in texts for chunk in t.split("// -----")]
    return [chunk for chunk in chunks if "autobatch." in chunk]


def kind_of(token: str) -> str:
    """The kind of a token, which may be replaced by others of its kind.

    Symbols, blocks, strings, numbers, words, marks.
    """
    first = token[:1]
    if first in '@^%!#"':
        return first
    return "0" if first.isdecimal() else "a" if first.isalpha() else " " if first.isspace() else "."


class Mutator:
    """Makes texts from others."""

    def __init__(self, texts: list[str], seed: int) -> None:
        self.texts = texts
        self.random = random.Random(seed)
        words = sorted({token for text in texts for token in TOKEN.findall(text) if not token.isspace()})
        self.words = [*words, "", "-1", "99999999999999999999", '"', "\\", "\0", "é", r'"\FF"', r'"\00"']
        self.words += ['loc("f":1:2 to 1:1)', r'loc("\00":1:1)', "loc(unknown)"]
        self.alike = {
            kind: [word for word in words if kind_of(word) == kind] for kind in set(map(kind_of, words)) - {"."}
        }

    def text(self) -> str:
        text = self.random.choice(self.texts)
        changes = (*[self._similar] * 8, self._line, self._line, self._swap, self._token)
        for _ in range(self.random.choice((1, 1, 1, 1, 2, 2, 3, 6))):
            text = self.random.choice((*changes, self._graft, self._character))(text)
        return text

    def _similar(self, text: str) -> str:
        """The text with one word replaced by another of its kind."""
        tokens = TOKEN.findall(text)
        places = [i for i, token in enumerate(tokens) if kind_of(token) in self.alike]
        if places:
            at = self.random.choice(places)
            tokens[at] = self.random.choice(self.alike[kind_of(tokens[at])])
        return "".join(tokens)

    def _token(self, text: str) -> str:
        """The text with one token replaced by any other."""
        tokens = TOKEN.findall(text) or [""]
        tokens[self.random.randrange(len(tokens))] = self.random.choice(self.words)
        return "".join(tokens)

    def _swap(self, text: str) -> str:
        """The text with two tokens exchanged."""
        tokens = TOKEN.findall(text) or [""]
        i, j = self.random.randrange(len(tokens)), self.random.randrange(len(tokens))
        tokens[i], tokens[j] = tokens[j], tokens[i]
        return "".join(tokens)

    def _line(self, text: str) -> str:
        """The text with a line removed, repeated or moved."""
        lines = text.splitlines(keepends=True) or [""]
        line = lines.pop(self.random.randrange(len(lines)))
        for _ in range(self.random.choice((0, 1, 2))):
            lines.insert(self.random.randint(0, len(lines)), line)
        return "".join(lines)

    def _graft(self, text: str) -> str:
        """The text with some lines of another text inserted."""
        lines, other = text.splitlines(keepends=True), self.random.choice(self.texts).splitlines(keepends=True)
        start = self.random.randrange(len(other))
        at = self.random.randint(0, len(lines))
        return "".join([*lines[:at], *other[start : start + self.random.randint(1, 4)], *lines[at:]])

    def _character(self, text: str) -> str:
        """The text with one character removed, inserted or changed."""
        at = self.random.randrange(len(text) + 1)
        return text[:at] + self.random.choice(("", "}", "(", "@", "^", "x", "\n")) + text[at + 1 :]


def is_accepted(source: str | bytes, context: object, when_read: Callable[[], None] = lambda: None) -> bool:
    """Whether a text or bytecode is a valid program; if so, its round trip is checked."""
    try:
        module = parse(source, FILE, context)
        when_read()
        program = to_program(module, FILE)
    except HloBatchError as error:
        if error.location.line < 1:
            raise ValueError("the error has no place") from error
        return False
    module = from_program(program, context)
    again = to_program(module, FILE)
    assert again == program
    assert as_text(from_program(again, context), debug_info=True) == as_text(module, debug_info=True)
    return True


def main(count: int, seed: int) -> None:
    mutator = Mutator(corpus(), seed)
    last = Path(tempfile.gettempdir()) / f"hlobatch-fuzz-{seed}.mlir"
    accepted, context = 0, make_context()
    for number in range(count):
        if number % 500 == 0:
            context = make_context()
        text = mutator.text()
        last.write_text(text, encoding="utf-8")
        signal.alarm(SECONDS)
        try:
            accepted += is_accepted(text, context)
        except Exception:
            print(f"text {number} of seed {seed}:\n{text}", file=sys.stderr)
            raise
    last.unlink(missing_ok=True)
    print(f"{accepted} accepted, {count - accepted} refused")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
