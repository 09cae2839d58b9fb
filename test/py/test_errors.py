"""Every error a user can meet: its class, the exact span it underlines, what it says, and what it advises.

The mistakes stand in ``errors/*.test``, each a user's file with its spans marked (see ``marked``). The file's ``go`` is
called, or else ``f(jnp.arange(4))``; a correct call that has to work afterwards is the file's ``after``.
"""

import ast
import builtins
import keyword
import re
import traceback
import types
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marked import Marked, Mistake, check, marked, mistakes, span
from shares import by_day

import hlobatch as hb
from hlobatch import mcmc
from hlobatch.diagnostics import UNKNOWN, Location, Note, name_lanes
from hlobatch.frontend.support import UNSUPPORTED

MISTAKES = {m.name: m for file in sorted(Path(__file__).parent.glob("errors/*.test")) for m in mistakes(file)}


def go(module: types.ModuleType) -> None:
    """Make the mistake."""
    if hasattr(module, "go"):
        module.go()
    else:
        module.f(jnp.arange(4))


@pytest.mark.parametrize("name", MISTAKES)
def test_error(name: str, tmp_path: Path) -> None:
    mistake = MISTAKES[name]
    module = mistake.source.module(tmp_path)
    with pytest.raises(hb.HloBatchError) as caught:
        go(module)
    error = caught.value
    assert isinstance(error, mistake.error)
    assert type(error).__name__ == mistake.error.__name__  # it may also be one of the class of what the user raised
    check(error, mistake.source, module.__file__)
    assert mistake.message in error.message
    assert mistake.help in error.help
    _check_nothing_is_left(mistake, module, str(error))


@pytest.mark.parametrize("name", by_day([*MISTAKES], 100))
def test_what_is_advised_works(name: str, tmp_path: Path) -> None:
    """The rewrite that an error prints is applied: the program runs then, as Python runs it and the one before."""
    mistake = MISTAKES[name]
    with pytest.raises(hb.HloBatchError) as caught:
        go(mistake.source.module(tmp_path))
    printed = [code for code in re.findall(r"`([^`]+)`", caught.value.help) if not code.isidentifier()]
    if mistake.rewritten is None:
        assert not printed or mistake.no_rewrite, f"no rewrite is tried, and one is printed: {caught.value.help}"
        return
    written = "\n".join(mistake.written)
    assert not printed or any(re.search(_like(code), written) or _is_left_out(code, mistake) for code in printed), (
        printed,
        written,
    )
    found = values_of(mistake.rewritten.module(tmp_path, "rewritten"))
    _assert_equal(found, values_of(_in_plain_python(mistake.rewritten).module(tmp_path, "plain")))
    if not mistake.other_values:
        _assert_equal(found, values_of(_in_plain_python(mistake.source).module(tmp_path, "before")))


def _in_plain_python(source: Marked) -> Marked:
    """A file whose functions Python runs, lane by lane."""
    return replace(source, text=source.text.replace("import hlobatch as hb", "import lane_by_lane as hb"))


def _is_left_out(code: str, mistake: Mistake) -> bool:
    """Whether a rewrite leaves some code out."""
    assert mistake.rewritten is not None
    return code in mistake.source.text and code not in mistake.rewritten.text


def _like(code: str) -> str:
    """A pattern of code that is like some other: with other variables, numbers, and anything in place of ``…``."""
    tokens = re.findall(r"[\w.]+|…|\s+|[^\w\s]+?", code)
    pattern = ""
    for token in tokens:
        root, dot, attribute = token.partition(".")
        if token.isspace():
            pattern += r"\s*"
        elif token in "\"'":
            pattern += "[\"']"
        elif token == "…" or token[0].isdigit():
            pattern += r".+?"
        elif root in ("jnp", "np", "jax", "hb", "") or keyword.iskeyword(token) or hasattr(builtins, token):
            pattern += re.escape(token)
        elif re.match(r"\w", token):
            pattern += r".+?" + re.escape(dot + attribute)
        else:
            pattern += re.escape(token)
    return pattern


def values_of(module: types.ModuleType) -> Any:
    """The values of a file's function for four lanes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module.go() if hasattr(module, "go") else module.f(jnp.arange(4))


def _assert_equal(found: Any, expected: Any) -> None:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5)


def _check_nothing_is_left(mistake: Mistake, module: types.ModuleType, text: str) -> None:
    """Assert that the same mistake gives the same error again, no plan was kept, and a correct call works."""
    with pytest.raises(mistake.error) as again:
        go(module)
    assert str(again.value) == text
    if not hasattr(module, "compiled"):
        assert not any(
            value._kept.latest.plans for value in vars(module).values() if isinstance(value, hb.BatchedFunction)
        )
    if hasattr(module, "after"):
        assert len(module.after()) == 4


# Every unsupported node


NODES = {
    ast.AsyncFunctionDef: "«async def g(x):\n        return x»",
    ast.ClassDef: "if n > 1:\n      «class C:\n        pass»",
    ast.Delete: "«del n.a»",
    ast.With: "«with jax.named_scope('a'):\n        m = n»",
    ast.TryStar: "«try:\n        m = n\n    except* ValueError:\n        m = 1»",
    ast.Global: "global g\n    «g» = n",
    ast.Yield: "m = «yield n»",
    ast.YieldFrom: "m = «yield from [n]»",
}
"""An example of every node that is refused where it stands."""

ASYNC = {
    ast.AsyncFor: "async for i in n:\n        m = 1",
    ast.AsyncWith: "async with n:\n        m = 1",
    ast.Await: "m = await n",
}
"""Those that only an ``async def`` can hold; it is refused first."""


def in_function(statements: str) -> str:
    """A batched function with some statements in it; ``k`` is a variable around it."""
    return f"def make():\n  k = 1\n  @hb.batch\n  def f(n):\n    {statements}\n    return n\n  return f\nf = make()\n"


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.__name__)
def test_unsupported_node(node: type[ast.AST], tmp_path: Path) -> None:
    what, instead = UNSUPPORTED[node]
    source = marked(in_function(NODES[node]))
    module = source.module(tmp_path)
    with pytest.raises(hb.UnsupportedSyntaxError) as caught:
        go(module)
    check(caught.value, source, module.__file__)
    assert caught.value.message == f"{what} is not supported in a batched function"
    assert caught.value.help == instead


@pytest.mark.parametrize("node", ASYNC, ids=lambda node: node.__name__)
def test_unsupported_coroutine(node: type[ast.AST], tmp_path: Path) -> None:
    source = marked(f"@hb.batch\n«async def f(n):\n    {ASYNC[node]}\n    return n»\n")
    module = source.module(tmp_path)
    with pytest.raises(hb.UnsupportedSyntaxError, match="`async def` is not supported") as caught:
        go(module)
    check(caught.value, source, module.__file__)


def test_every_unsupported_node_has_an_example() -> None:
    assert {*NODES, *ASYNC} == {*UNSUPPORTED}


# What a mistake leaves behind


def test_a_correct_call_works_after_a_wrong_one(tmp_path: Path) -> None:
    source = "@hb.batch\ndef f(n):\n    if n > 1:\n        return n * 2\n    return n + nowhere\n"
    module = marked(source).module(tmp_path)
    with pytest.raises(hb.UndefinedVariableError):
        module.f(jnp.arange(4))
    module.nowhere = 10
    assert module.f(jnp.arange(4)).tolist() == [10, 11, 4, 6]


def test_other_types_work_after_types_that_do_not(tmp_path: Path) -> None:
    source = "@hb.batch\ndef f(x):\n    while x.sum() > 1:\n        x = x / 2\n    return x\n"
    module = marked(source).module(tmp_path)
    with pytest.raises(hb.BatchTypeError):
        module.f(jnp.arange(4).reshape(2, 2))
    assert module.f(jnp.arange(4.0).reshape(2, 2)).tolist() == [[0, 1], [0.25, 0.375]]


def test_callers_of_a_broken_function_recover(tmp_path: Path) -> None:
    source = """
@hb.batch
def broken(n):
    m = yield n
    return m

@hb.batch
def good(n):
    if n > 1:
        return good(n - 1) + 1
    return n

@hb.batch
def f(n):
    return good(n) + broken(n)
"""
    module = marked(source).module(tmp_path)
    with pytest.raises(hb.UnsupportedSyntaxError):
        module.f(jnp.arange(4))
    assert module.good(jnp.arange(4)).tolist() == [0, 1, 2, 3]


# Errors while running


STEPS = """
@hb.batch(max_steps=20, lanes=LANES)
«def f(n):»
    while n % 2 == 1:
        n += 2
    return n * 10
"""


@pytest.mark.parametrize("lanes", [None, 2])
def test_step_limit_names_the_lanes_and_keeps_the_others(lanes: int | None, tmp_path: Path) -> None:
    source = marked(STEPS.replace("LANES", str(lanes)))
    module = source.module(tmp_path)
    with pytest.raises(hb.StepLimitError) as caught:
        module.f(jnp.array([2, 1, 4, 6, 3, 8]))
    error = caught.value
    check(error, source, module.__file__)
    assert error.lanes == (1, 4)
    assert "lanes 1, 4 of 'f' had not finished after 20 blocks" in error.message
    assert [int(error.outputs[lane]) for lane in (0, 2, 3)] == [20, 40, 60]
    assert "raise max_steps" in error.help
    assert module.f(jnp.array([2, 4])).tolist() == [20, 40]


DEEP = """
@hb.batch(max_stack_depth=4)
«def f(n):»
    if n == 0:
        return 0
    return 1 + f(n - 1)
"""


def test_endless_recursion_names_the_lanes_and_keeps_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hlobatch.config.STACK_DEPTH_LIMIT", 16)
    source = marked(DEEP)
    module = source.module(tmp_path)
    with pytest.raises(hb.StackOverflowError) as caught:
        module.f(jnp.array([2, -1, 5, -3]))
    error = caught.value
    check(error, source, module.__file__)
    assert error.lanes == (1, 3)
    assert error.message == "lanes 1, 3 of 'f' needed more than 16 stack frames"
    assert [int(error.outputs[lane]) for lane in (0, 2)] == [2, 5]
    assert "every path reaches a base case" in error.help
    assert module.f(jnp.array([2, 3])).tolist() == [2, 3]


def test_overflow_inside_jit_is_reported(tmp_path: Path) -> None:
    source = marked(DEEP)
    module = source.module(tmp_path)
    assert source.error is not None
    place = f"{module.__file__}:{source.error[0]}:1: error: lane 1 of 'f' needed more than 4 stack frames"
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.block_until_ready(jax.jit(module.f)(jnp.array([2, 9])))
    assert place in str(caught.value)
    assert "raise max_stack_depth" in str(caught.value)
    assert jax.jit(module.f)(jnp.array([2, 3])).tolist() == [2, 3]


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"schedule": "fastest"},
            "schedule is one of 'auto', 'earliest', 'most_lanes', 'cost', 'sweep', not 'fastest'",
        ),
        ({"dispatch": "goto"}, "dispatch is one of"),
        ({"max_stack_depth": 0}, "max_stack_depth is a positive int, not 0"),
        ({"max_steps": -1}, "max_steps is a positive int, not -1"),
        ({"lanes": 2.5}, "lanes is a positive int, not 2.5"),
        ({"max_stack_depth": None}, "max_stack_depth is a positive int, not None"),
        ({"max_steps": 2**31}, "max_steps is at most 2147483647, not 2147483648"),
        ({"optimizations": None}, "optimizations is an hb.debug.Optimizations, not None"),
        ({"max_steps": True}, "max_steps is a positive int, not True"),
        ({"in_axes": "a"}, "in_axes is an int, None, or a pytree of them, not 'a'"),
        ({"in_axes": (1.5,)}, "in_axes is an int, None, or a pytree of them"),
        ({"in_axes": (0, {"a": True})}, "in_axes is an int, None, or a pytree of them"),
        ({"schedule": "sweep", "dispatch": "case"}, "cannot be dispatched by 'case'"),
    ],
)
def test_options_are_checked_at_once(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hb.batch(lambda x: x, **options)


# The classes


CLASSES = [
    hb.UnsupportedSyntaxError,
    hb.UndefinedVariableError,
    hb.BatchTypeError,
    hb.DerivativeError,
    hb.LaneError,
    hb.MemoryLimitError,
    hb.StackOverflowError,
    hb.StepLimitError,
    hb.ArtifactError,
    hb.KernelError,
    hb.ParseError,
    hb.ProfileError,
    hb.StateError,
    hb.TimeLimitError,
    hb.VerificationError,
    mcmc.ArgumentError,
    mcmc.InitialValueError,
]


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_is_one_of_ours_and_says_what_it_is_for(error: type[hb.HloBatchError]) -> None:
    assert issubclass(error, hb.HloBatchError)
    assert error.__doc__


def test_no_error_class_is_forgotten() -> None:
    def below(error: type[hb.HloBatchError]) -> set[type[hb.HloBatchError]]:
        return {error}.union(*(below(child) for child in error.__subclasses__()))

    assert {*CLASSES, hb.HloBatchError} == {
        error
        for error in below(hb.HloBatchError)
        if "hlobatch" in error.__module__ and not hasattr(error, "_made_of")  # a class that is one of the user's, too
    }


def test_type_errors_are_type_errors() -> None:
    assert issubclass(hb.BatchTypeError, TypeError)


def test_artifact_error(tmp_path: Path) -> None:
    path = tmp_path / "junk.hlobatch"
    path.write_bytes(b"not an artifact")
    with pytest.raises(hb.ArtifactError):
        hb.load(path)


def here(line: int = 3) -> Location:
    return Location("/nowhere/user.py", line, 5, line, 9, "f")


def test_render_without_a_source() -> None:
    error = hb.HloBatchError("it broke", here(), notes=[Note("called from here", here(7))], help="mend it.")
    assert str(error).splitlines() == [
        "/nowhere/user.py:3:5: error: it broke",
        "  in f",
        "/nowhere/user.py:7:5: note: called from here",
        "help: mend it.",
    ]


def test_render_without_a_place() -> None:
    assert str(hb.HloBatchError("it broke", notes=[Note("oddly")])) == "error: it broke\nnote: oddly"


def test_a_place_is_added_only_where_there_is_none() -> None:
    error = hb.LaneError("it broke", lanes=[2])
    placed = error.at(here())
    assert (placed.location, placed.lanes, error.location) == (here(), (2,), UNKNOWN)
    assert str(placed).startswith("/nowhere/user.py:3:5: error: it broke")
    assert placed.at(here(9)) is placed


def test_notes_are_added_to_a_copy() -> None:
    error = hb.StepLimitError("it broke", here(), lanes=[1, 2])
    noted = error.with_note(Note("called from here", here(8)))
    assert type(noted) is hb.StepLimitError
    assert (noted.lanes, len(noted.notes), len(error.notes)) == ((1, 2), 1, 0)
    assert "/nowhere/user.py:8:5: note: called from here" in str(noted)


@pytest.mark.parametrize(
    ("lanes", "text"),
    [
        ([3], "lane 3"),
        ([1, 4, 7], "lanes 1, 4, 7"),
        (np.arange(9), "lanes 0, 1, 2, 3, 4, 5, 6, 7, … (9 in all)"),
    ],
)
def test_name_lanes(lanes: list[int], text: str) -> None:
    assert name_lanes(lanes) == text


def frames(error: BaseException) -> list[str]:
    """Names of the functions in a traceback."""
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


BROKEN = """
def helper(a):
    return jnp.dot(a, jnp.ones(2))

@hb.batch
def f(n):
    return helper(jnp.ones(3) * n)

def go():
    f(X)
"""


def test_tracebacks_show_the_users_frames(tmp_path: Path) -> None:
    module = marked(BROKEN).module(tmp_path)
    with pytest.raises(hb.BatchTypeError) as caught:
        module.go()
    assert frames(caught.value) == ["test_tracebacks_show_the_users_frames", "go", "__call__"]
    cause = caught.value.__cause__
    assert isinstance(cause, TypeError)
    assert frames(cause) == ["f", "helper"]


def test_tracebacks_show_all_frames_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLOBATCH_INTERNAL_FRAMES", "1")
    module = marked(BROKEN).module(tmp_path)
    with pytest.raises(hb.BatchTypeError) as caught:
        module.go()
    assert "specialize" in frames(caught.value)


def test_location_from_byte_offsets(tmp_path: Path) -> None:
    path = tmp_path / "user.py"
    path.write_text('é = "ü"; y = 1\n', encoding="utf-8")
    location = Location.from_offsets(str(path), 1, len('é = "ü"; '.encode()), 1, len('é = "ü"; y'.encode()))
    assert span(location) == (1, 10, 1, 11)
    assert location.text == "y"
