"""The pages of errors: each class with its remedy and a printed example, and a table of all messages.

The remedies are those of the classes' docstrings, and the examples are run when `docs/errors.md` is made. The table has
the cases of ``errors/*.test``, which ``test_errors`` makes one by one, and is a page of the site alone.
"""

import inspect
import itertools
import linecache
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
from marked import Mistake, mistakes

import hlobatch as hb
from hlobatch import mcmc

EXAMPLES: dict[type[BaseException], str] = {
    hb.UnsupportedSyntaxError: """\
    TABLE = [1, 2, 3]

    @hb.batch
    def f(n):
        TABLE.append(n)
        return len(TABLE)

    f(jnp.arange(4))
    """,
    hb.UndefinedVariableError: """\
    @hb.batch
    def f(n):
        if n > 1:
            y = n
        return y

    f(jnp.arange(4))
    """,
    hb.BatchTypeError: """\
    @hb.batch
    def f(x, n):
        while n > 0:
            x = jnp.stack([x, x])
            n -= 1
        return x

    f(jnp.ones(4), jnp.arange(4))
    """,
    hb.LaneError: """\
    @hb.batch
    def f(n):
        if n == 2:
            raise ValueError(f"{n} is not a prime above 2")
        return n

    f(jnp.arange(4))
    """,
    hb.StackOverflowError: """\
    @hb.batch(max_stack_depth=8, max_stack_bytes=1_000)
    def f(n):
        return 1 if n == 0 else 2 + f(n - 1)

    f(jnp.array([3, 100]))
    """,
    hb.StepLimitError: """\
    @hb.batch(max_steps=100)
    def f(n):
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
        return n

    f(jnp.array([6, 0, 9]))
    """,
    hb.StateError: """\
    @hb.batch
    def f(n):
        while n > 0:
            n -= 1
        return n

    state = f.start(jnp.arange(4))
    f.start(jnp.arange(5)).with_arrays(state.arrays)
    """,
    hb.KernelError: """\
    @hb.batch(dispatch="kernel")
    def f(x):
        while x[0] < 9:
            x = 2 * jnp.fft.fft(x).real
        return x

    f(jnp.ones((4, 2)))
    """,
    hb.DerivativeError: """\
    @hb.batch
    def f(x):
        if x > 1:
            x = jax.lax.while_loop(lambda y: y < 9, lambda y: y * x, x)
        return x

    jax.grad(lambda x: f(x).sum())(jnp.arange(4.0))
    """,
    hb.ArtifactError: """\
    @hb.batch
    def f(x):
        print(x)
        return x

    hb.export(f, jnp.ones(4))
    """,
    hb.CapacityError: """\
    @hb.batch
    def f(n):
        items = hb.capacity([], 3)
        for i in range(n):
            items.append(i)
        return sum(items)

    f(jnp.array([2, 5]))
    """,
}
"""For each class that a few lines of code can raise, such code."""

FOLDER = Path(__file__).parent / "errors"
NAME = "example.py"


def page_text() -> str:
    """The page of all classes, those with an example first."""
    return "\n".join("\n".join(_section(kind)) for kind in kinds())


def messages_text() -> str:
    """A page with the messages of the errors in the tests, by class."""
    cases = [mistake for file in sorted(FOLDER.glob("*.test")) for mistake in mistakes(file)]
    parts = [_table(kind.__name__, [case for case in cases if case.error is kind]) for kind in kinds()]
    return "\n".join([MESSAGES, *(line for part in parts for line in part)]) + "\n"


MESSAGES = """\
# All messages

The messages of all errors that the tests provoke: a part of each message, the underlined code, and a part of the
help. [Another page](errors.md) describes the classes.
"""


def kinds() -> list[type[BaseException]]:
    """The classes of errors of the public interface, those with an example first."""
    public = [getattr(module, name) for module in (hb, mcmc) for name in module.__all__]
    errors = [kind for kind in public if isinstance(kind, type) and issubclass(kind, BaseException)]
    return [*EXAMPLES, *(kind for kind in errors if kind not in EXAMPLES)]


def _section(kind: type[BaseException]) -> Iterator[str]:
    yield f"## {kind.__name__}"
    yield ""
    yield from _described(kind)
    if kind in EXAMPLES:
        code = textwrap.dedent(EXAMPLES[kind])
        yield from ("```python", code.rstrip("\n"), "```", "", "```text", printed(kind, code), "```", "")


def _table(name: str, cases: list[Mistake]) -> Iterator[str]:
    if cases:
        yield from (f"## {name}", "", "| Message | Underlined code | Help |", "|---|---|---|")
        yield from (_row(case) for case in _without_likes(cases))
        yield ""


def _without_likes(cases: list[Mistake]) -> list[Mistake]:
    """The cases, without those whose message and help differ from an earlier case at most in names."""
    found: dict[str, list[Mistake]] = {}
    for case in cases:
        likes = found.setdefault(re.sub(r"'[^']*'", "", case.message), [])
        if not likes or (case.help and case.help not in [like.help for like in likes]):
            likes.append(case)
    return [case for likes in found.values() for case in likes]


def _described(kind: type[BaseException]) -> Iterator[str]:
    """The docstring of a class, without its attributes, and with the remedy set off."""
    text = inspect.cleandoc(kind.__doc__ or "").partition("\nAttributes:")[0].strip().replace("``", "`")
    text = re.sub("`docs/([a-z]+.md)`", r"[\1](\1)", text)
    for paragraph in text.split("\n\n"):
        yield " ".join(paragraph.split()).replace("Fix: ", "**What to do:** ")
        yield ""


def _row(case: Mistake) -> str:
    assert case.source.error is not None
    line, column, end_line, end_column = case.source.error
    source = case.source.text.splitlines()[line - 1]
    shown = source[column - 1 : end_column - 1 if end_line == line else None]
    return f"| {_cell(case.message)} | {_code(shown)} | {_cell(case.help)} |"


def _cell(text: str) -> str:
    """Text for a cell of a table, in which text in backquotes stays code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a part of a message may begin or end within code
        return _code(text) if text else ""
    return "".join(_code(part) if odd else _plain(part) for part, odd in zip(parts, itertools.cycle([0, 1])))


def _plain(text: str) -> str:
    return re.sub(r"([|*_<\[\]])", r"\\\1", text)


def _code(text: str) -> str:
    quotes = "``" if "`" in text else "`"
    return f"{quotes}{text}{quotes}".replace("|", "\\|")


def printed(kind: type[BaseException], code: str) -> str:
    """The text that an example prints.

    Raises:
        AssertionError: The example raises nothing, or another class.
    """
    linecache.cache[NAME] = len(code), None, code.splitlines(keepends=True), NAME
    names = {"jax": jax, "jnp": jnp, "hb": hb, "__name__": "example"}
    try:
        exec(compile(code, NAME, "exec"), names)
    except kind as error:
        return str(error)
    finally:
        del linecache.cache[NAME]
    raise AssertionError(f"the example of {kind.__name__} raises nothing")
