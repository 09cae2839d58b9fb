"""A seed -> a program that combines two or three features of Python, and whether hlobatch gives what Python gives.

A program is a function ``main(a, b)`` of two small integers, and its helpers. Each feature (a list, a dict, an object,
an exception, a recursion, …) brings what it needs before, statements, and values that are integers; control flow mixes
them. The effects of all statements reach ``t``, which the program returns. Python judges: each example has the
same value, or raises the same exception; or hlobatch refuses the program, in words that name nothing of its own.

    python test/py/feature_pairs.py 17              one program: its text, and its outcome
    python test/py/feature_pairs.py 0 1000          some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import ast
import collections
import contextlib
import linecache
import random
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import features  # noqa: F401  # defines features, as do the other modules of that name
import features_of_library  # noqa: F401
import numpy as np
from feature_writer import Feature, Writer, indented
from features_of_code import with_outer_names

import hlobatch as hb

A = (0, 1, 2, 3, 5, 4)
B = (1, 2, 0, 4, 3, 0)
"""The examples: one row of ``A`` and ``B`` each."""
MOST_DEPTH = 2
"""Largest depth of nested statements."""
SMALL = 0.7
"""The share of programs of two features and one or two statements: they find most for the time that they take."""


FEATURES: tuple[type[Feature], ...] = tuple(Feature.__subclasses__())


IMPORTS = (
    "import bisect",
    "import contextlib",
    "import dataclasses",
    "import enum",
    "import functools",
    "import heapq",
    "import itertools",
    "import math",
    "import operator",
    "from collections import Counter, OrderedDict, defaultdict, deque, namedtuple",
    "from typing import NamedTuple",
    "import numpy as np",
)


def program(seed: int) -> str:
    """The text of a program; the same for each seed."""
    w = Writer(random.Random(seed))
    is_small = w.draw.random() < SMALL
    w.features = [kind() for kind in w.draw.sample(FEATURES, 2 if is_small else w.draw.choice((2, 3, 3)))]
    helpers = [textwrap.dedent(feature.helpers) for feature in w.features]
    begin = [line for feature in w.features for text in feature.begin(w) for line in text.splitlines()]
    count, depth = (w.draw.randint(1, 2), w.draw.randint(1, 2)) if is_small else (w.draw.randint(2, 4), MOST_DEPTH)
    body = [line for _ in range(count) for line in w.statement(depth)]
    values = [w.seen(feature.value(w)) for feature in w.features]
    lines = ["t = 0", *begin, *body, *values, "return t"]
    if w.draw.random() < 0.3 and "bump" not in "".join(begin):
        lines = ["t = 0", *begin, *body, f"if {w.condition()}:", "    return t", *values, "return t"]
    return with_outer_names("\n".join([*IMPORTS, *helpers, "def main(a, b):", *indented(lines), ""]))


def made(text: str, **known: Any) -> Callable[..., Any]:
    """The function ``main`` of a program, which may use these names beside its own."""
    name = f"<feature pairs {hash(text)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space: dict[str, Any] = {"__name__": __name__, **known}  # a module, which dataclasses ask for
    exec(compile(text, name, "exec"), space)
    return space["main"]  # type: ignore[no-any-return]


def raises(text: str) -> bool:
    """Whether a program raises in plain Python for one of the examples."""
    run = made(text)
    for a, b in zip(A, B, strict=True):
        try:
            run(a, b)
        except Exception:  # noqa: BLE001  # whatever the program raises
            return True
    return False


def in_python(function: Callable[[int], Any], numbers: Sequence[int]) -> list[Any]:
    """What plain Python gives for each number, or the class of the exception that it raises."""

    def of(number: int) -> Any:
        try:
            return function(number)
        except Exception as error:  # noqa: BLE001  # whatever it raises
            return type(error)

    return [of(number) for number in numbers]


def in_lanes(function: Callable[[Any], Any], numbers: Sequence[int], **options: Any) -> list[Any]:
    """What a batched function gives for each number, or the class of the exception that it raises."""
    try:
        return hb.batch(function, **options)(np.array(numbers, np.int32)).tolist()  # type: ignore[no-any-return]
    except hb.LaneError as error:
        found = [None] * len(numbers) if error.outputs is None else np.asarray(error.outputs).tolist()
        for lane, raised in error.errors.items():
            found[lane] = type(raised)
        return found


def right_or_refused(main: Callable[..., Any], numbers: Sequence[int]) -> hb.HloBatchError | None:
    """Fail unless each lane gives or raises what Python does, or the program is refused at a place in it.

    Returns:
        The refusal; None if the program ran.
    """
    refusal, got = None, []
    try:
        got = in_lanes(main, numbers)
    except (hb.UnsupportedSyntaxError, hb.BatchTypeError) as error:
        refusal = error
    if refusal is None:
        assert got == in_python(main, numbers)
    else:
        assert refusal.location.file == main.__code__.co_filename
    return refusal


SKIPPED = (NameError, RecursionError, AttributeError, SyntaxError, RuntimeError)
"""Exceptions of plain Python for programs that make no sense; such programs are skipped."""
OF_MATH = (OverflowError, ValueError)
"""Exceptions of functions of ``math``, which a program that does not catch them raises with ``checked=True``."""
OWN_WORDS = (
    "Tracer",
    "Growing",
    "Choice(",
    "Maybe",
    "LaneRange",
    "LaneText",
    "Stretch",
    "Boxed",
    "__hb_",
    "_hb_",
    "hlobatch/",
)
"""Internal names that no message to a user may contain."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program: ``ran``, ``refused``, ``skipped`` or ``wrong``, with a description."""

    kind: str
    what: str = ""


Judge = Callable[[str], Outcome]


def outcome(text: str, **options: Any) -> Outcome:
    """The outcome of a program with some options of ``hb.batch``, judged by plain Python."""
    try:
        main = made(text)
    except Exception as error:  # noqa: BLE001  # what is left of a program that is reduced
        return Outcome("skipped", repr(error))
    expected: list[Any] = []
    for a, b in zip(A, B, strict=True):
        try:
            expected.append(main(a, b))
        except SKIPPED as error:
            return Outcome("skipped", repr(error))
        except Exception as error:  # noqa: BLE001  # whatever the program raises
            expected.append(_builtin(error))
    if any(not isinstance(value, type) and (type(value) is not int or abs(value) > 1 << 30) for value in expected):
        return Outcome("skipped", str(expected))
    lanes = np.array([i for i in range(len(A)) if options.get("checked") or _is_asked_for(expected[i], text)], np.int64)
    if not lanes.size:
        return Outcome("skipped", "every lane raises")
    wanted = [expected[i] for i in lanes]

    def compared() -> Outcome:
        got = _run(main, lanes, options)
        other = [lane for lane, (one, two) in enumerate(zip(got, wanted, strict=True)) if one != two]
        if other and not options.get("checked"):  # is it what every operation would raise, were it tested?
            asked = _run(main, lanes[other], {**options, "checked": True})
            for lane, found in zip(other, asked, strict=True):
                is_asked = (wanted[lane] in OF_MATH and found == wanted[lane]) or found is hb.IntegerOverflowError
                got[lane] = wanted[lane] if is_asked else got[lane]
        return Outcome("ran") if got == wanted else Outcome("wrong", f"got    {got}\npython {wanted}")

    return tried(compared)


def tried(run: Callable[[], Outcome]) -> Outcome:
    """What a function gives that runs a program and compares its results, or the outcome of the error it raises."""
    try:
        return run()
    except hb.VerificationError as error:
        return Outcome("wrong", str(error))
    except hb.HloBatchError as error:
        said = next((word for word in OWN_WORDS if word in str(error)), None)
        return Outcome("refused" if said is None else "wrong", f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001  # whatever comes out of the compiler
        return Outcome("wrong", repr(error))


def _is_asked_for(value: Any, text: str) -> bool:
    """Whether an outcome has to equal Python's: an exception that operations raise only if the program catches it."""
    catching = {
        ZeroDivisionError: ("except Exception", "ZeroDivisionError", "ArithmeticError"),
        IndexError: ("except Exception", "IndexError", "LookupError"),
    }
    return value not in catching or any(handler in text for handler in catching[value])


def _run(main: Callable[..., Any], lanes: Any, options: dict[str, Any]) -> list[Any]:
    """The results of a run, and in lanes that raised the classes of their exceptions."""
    a, b = np.array(A, np.int32)[lanes], np.array(B, np.int32)[lanes]
    try:
        try:
            found = hb.batch(main, max_steps=100_000, **{"dispatch": "kernel", **options})(a, b)  # compiled sooner
        except hb.KernelError:
            found = hb.batch(main, max_steps=100_000, **options)(a, b)
        return np.asarray(found).tolist()  # type: ignore[no-any-return]
    except hb.LaneError as error:
        if not getattr(error, "errors", None):
            raise
        outputs = [None] * len(a) if error.outputs is None else np.asarray(error.outputs).tolist()
        for lane, raised in error.errors.items():
            outputs[lane] = _builtin(raised)
        return outputs


def _builtin(error: Exception) -> type[Exception]:
    """The class of an exception, or the one of Python's that it is derived from; of an overflow its own."""
    if isinstance(error, hb.IntegerOverflowError):
        return hb.IntegerOverflowError
    return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def reduced(text: str, is_as_bad: Callable[[str], bool]) -> str:
    """A smaller program for which a predicate still holds, without the statements that do not matter."""
    shrinks = True
    while shrinks:
        shrinks = False
        for smaller in list(_smaller(ast.parse(text))):
            with contextlib.suppress(SyntaxError):
                if is_as_bad(smaller):
                    text, shrinks = smaller, True
                    break
    return text


def _smaller(tree: ast.Module) -> Iterator[str]:
    """The program without one of its statements, or with a statement's body in its place."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody") if not isinstance(node, ast.Module) else ():
            body = getattr(node, name, None)
            for i, statement in enumerate(body if isinstance(body, list) else ()):
                if isinstance(node, ast.While) and i == 0:  # it counts
                    continue
                for others in ([], getattr(statement, "body", [])):
                    setattr(node, name, [*body[:i], *others, *body[i + 1 :]] or [ast.Pass()])
                    yield ast.unparse(tree)
                setattr(node, name, body)


def check(
    seeds: Iterable[int],
    made_of: Callable[[int], str] = program,
    judge: Judge = outcome,
    closely: Judge | None = None,
    at_least: float = 1 / 2,
) -> None:
    """Fail at a program whose outcome is wrong, with the program reduced; also fail unless a share of them runs.

    Args:
        seeds: The seeds of the programs.
        made_of: Makes the text of a program from a seed.
        judge: Gives the outcome of a program's text.
        closely: Gives the outcome of reduced programs, if they need another judge.
        at_least: The share of programs that run.
    """
    closely = closely or judge
    kinds = []
    for seed in seeds:
        text = made_of(seed)
        kinds.append(judge(text).kind)
        if kinds[-1] == "wrong":
            small = reduced(text, lambda smaller: closely(smaller).kind == "wrong")
            raise AssertionError(f"seed {seed}:\n{small}\n{closely(small).what}")
    assert kinds.count("ran") >= len(kinds) * at_least


def main(arguments: Sequence[str], made_of: Callable[[int], str] = program, judge: Judge = outcome) -> None:
    """Run the commands in the module's docstring.

    Args:
        arguments: The command's arguments.
        made_of: Makes the text of a program from a seed.
        judge: Gives the outcome of a program's text.
    """
    if len(arguments) == 1:
        text = made_of(int(arguments[0]))
        found = judge(text)
        if found.kind == "wrong":
            text = reduced(text, lambda smaller: judge(smaller).kind == "wrong")
            found = judge(text)
        print(text, found.kind, found.what, sep="\n")
        return
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(*map(int, arguments)):
        found = judge(made_of(seed))
        counts[found.kind] += 1
        if found.kind == "wrong":
            print(seed, found.what.splitlines()[0][:200], flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main(sys.argv[1:])
