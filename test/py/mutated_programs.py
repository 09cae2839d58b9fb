"""A seed -> a program of the corpus with a few changes, and whether hlobatch gives what Python gives.

Programs that a generator writes from parts look alike. Those of ``programs/`` look like what people write, and a change
in one of them (a loop that ends early, a variable kept in a dict, a part moved into a function of its own, a call
inside ``try``) brings features together that nobody has thought of. Python judges, so a change need not keep the
program's meaning.

    python test/py/mutated_programs.py 17              one program: its text, and its outcome
    python test/py/mutated_programs.py 0 1000          some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import ast
import contextlib
import copy
import inspect
import io
import linecache
import random
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from feature_pairs import Outcome, main, tried
from programs import PROGRAMS
from programs.table import Program, own_part

import hlobatch as hb

MOST_CHANGES = 3
SECONDS = 1.0
"""How long plain Python may take for one example: a change can make a loop endless."""
MOST_ROWS = 6
LARGEST = 1 << 40
"""Integers beyond it may have overflowed on the way."""
LEFT_ALONE = (SyntaxError, NameError, RecursionError, AttributeError, TypeError, MemoryError, OverflowError)
"""Exceptions of plain Python for programs that make no sense; such programs are skipped."""
BODIES = ("body", "orelse", "finalbody")
HELPERS = """
class Held:
    pass

def passed_on(value):
    return value

def asked(value, other, holds):
    if holds:
        return value
    return other
"""


class NotPossibleError(Exception):
    """A change that can't be made in a program."""


@dataclass
class Change:
    """A place in a function where a change may be made, and what it is drawn with.

    Attributes:
        draw: The source of random choices.
        function: The function that is changed.
    """

    draw: random.Random
    function: ast.FunctionDef

    def names(self) -> list[str]:
        """Variables that the function assigns, its parameters among them."""
        args = self.function.args
        given = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
        stored = [n.id for n in ast.walk(self.function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        return list(dict.fromkeys([*given, *stored]))

    def bodies(self) -> list[list[ast.stmt]]:
        """The lists of statements in the function."""
        found = [getattr(node, name, None) for node in ast.walk(self.function) for name in BODIES]
        return [body for body in found if isinstance(body, list) and body and isinstance(body[0], ast.stmt)]

    def statement(self, *kinds: type[ast.stmt]) -> tuple[list[ast.stmt], int]:
        """A place of a statement of some kinds: the list that it stands in, and its index."""
        kinds = kinds or (ast.stmt,)
        found: tuple[list[ast.stmt], int] = self.one(
            [(body, i) for body in self.bodies() for i, s in enumerate(body) if isinstance(s, kinds)]
        )
        return found

    def one(self, choices: Sequence[Any]) -> Any:
        if not choices:
            raise NotPossibleError
        return self.draw.choice(choices)

    def condition(self) -> ast.expr:
        """A condition of the function, or one on a variable that looks like a number."""
        asked = [n for n in ast.walk(self.function) if isinstance(n, ast.Compare)]
        numbers = [
            side.id
            for n in ast.walk(self.function)
            if isinstance(n, ast.BinOp | ast.Compare)
            for side in ast.iter_child_nodes(n)
            if isinstance(side, ast.Name)
        ]
        if asked and self.draw.random() < 0.5:
            return copy.deepcopy(self.draw.choice(asked))
        name, rest = self.one(numbers), self.draw.choice(("% 2 == 0", "> 2", "% 3 != 1", "< 4", "== 1"))
        return expression(f"{name} {rest}")

    def expressions(self, wanted: Callable[[ast.expr], bool] = lambda _: True) -> list[tuple[ast.AST, str, int | None]]:
        """Places of expressions that are read: the node they belong to, the field, and the index in a list."""
        found: list[tuple[ast.AST, str, int | None]] = []
        for node in ast.walk(self.function):
            if isinstance(node, ast.JoinedStr | ast.FormattedValue | ast.arguments | ast.AnnAssign):
                continue
            for name, value in ast.iter_fields(node):
                if name in ("decorator_list", "returns", "annotation", "targets", "type", "bases", "func"):
                    continue
                for i, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
                    if isinstance(part, ast.expr) and is_value(part) and wanted(part):
                        found.append((node, name, i))
        return found

    def replace(self, wanted: Callable[[ast.expr], bool], made: Callable[[ast.expr], ast.expr]) -> None:
        """Replace an expression for which a predicate holds."""
        node, name, i = self.one(self.expressions(wanted))
        if i is None:
            setattr(node, name, made(getattr(node, name)))
        else:
            getattr(node, name)[i] = made(getattr(node, name)[i])


def is_value(part: ast.expr) -> bool:
    """Whether an expression is read, and has a value of its own."""
    return isinstance(getattr(part, "ctx", ast.Load()), ast.Load) and not isinstance(part, ast.Starred | ast.Slice)


def expression(text: str, **parts: ast.expr) -> ast.expr:
    """An expression with other expressions in the places of names."""
    return Filled(parts).visit(ast.parse(text, mode="eval").body)  # type: ignore[no-any-return]


def statements(text: str, **parts: ast.expr | list[ast.stmt]) -> list[ast.stmt]:
    """Statements with other statements in the places of lone names, and expressions in the places of the others."""
    return Filled(parts).visit(ast.parse(text)).body  # type: ignore[no-any-return]


class Filled(ast.NodeTransformer):
    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Name) and isinstance(self.parts.get(node.value.id), list):
            return copy.deepcopy(self.parts[node.value.id])
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        return copy.deepcopy(self.parts[node.id]) if node.id in self.parts else node


# Changes that keep the meaning

VALUES = (
    "(E, 0)[0]",
    "[E][-1]",
    "[0, E].pop()",
    "{'k': E}['k']",
    "{1: E}.get(1)",
    "(lambda: E)()",
    "(lambda v: v)(E)",
    "passed_on(E)",
    "passed_on(value=E)",
    "passed_on(*[E])",
    "passed_on(**{'value': E})",
    "asked(E, E, C)",
    "asked(E, None, True)",
    "(E if C else E)",
    "next(v for v in (E,))",
    "next(iter([E]))",
    "[v for v in (E,)][0]",
    "max([E], key=lambda v: 0)",
    "(held := E)",
    "dict(k=E)['k']",
    "list(map(passed_on, [E]))[0]",
    "sorted([E])[0]",
    "functools.partial(passed_on, E)()",
    "copy.copy(E)",
)
SEQUENCES = (
    "list(E)",
    "tuple(E)",
    "[*E]",
    "iter(E)",
    "(v for v in E)",
    "[v for v in E]",
    "(v for _, v in enumerate(E))",
    "map(passed_on, E)",
    "filter(lambda v: True, E)",
    "reversed(list(E)[::-1])",
    "itertools.chain(E, [])",
    "itertools.islice(E, 100)",
    "[v for v, _ in zip(E, itertools.count())]",
    "deque(E)",
    "sorted(E)",
    "dict.fromkeys(E)",
)
LOOPS = (
    "for X in E:\n    if C:\n        continue\n    B",
    "for X in E:\n    B\n    if C:\n        break",
    "for X in E:\n    if C:\n        break\n    B\nelse:\n    S",
    "for X in E:\n    try:\n        B\n    finally:\n        kept = 1",
    "for X in E:\n    try:\n        if C:\n            raise KeyError\n        B\n    except KeyError:\n        pass",
    "items = iter(E)\nfor X in items:\n    B",
    "items = list(E)\nk = 0\nwhile k < len(items):\n    X_ = items[k]\n    k += 1\n    B",
    "items = list(E)\nwhile items:\n    X_ = items.pop(0)\n    B",
    "items = deque(E)\nwhile items:\n    X_ = items.popleft()\n    B",
    "items = iter(E)\nwhile True:\n    try:\n        X_ = next(items)\n    except StopIteration:\n        break\n    B",
    "for place, X in enumerate(E):\n    if C and place > 2:\n        break\n    B",
)
GUARDS = (
    "if C:\n    S",
    "if C:\n    S\nelse:\n    S",
    "try:\n    S\nexcept ValueError:\n    pass",
    "try:\n    S\nexcept (LookupError, ZeroDivisionError) as error:\n    failed = str(error)",
    "try:\n    S\nfinally:\n    done = 1",
    "try:\n    S\n    if C:\n        raise KeyError(2)\nexcept KeyError as e:\n    code = e.args[0]",
    "for _ in range(1):\n    S",
    "for _ in range(2):\n    if C:\n        break\n    S",
    "while True:\n    S\n    break",
    "with contextlib.suppress(ValueError):\n    S",
    "with contextlib.suppress(LookupError):\n    S\n    if C:\n        raise KeyError",
    "match C:\n    case True:\n        S\n    case _:\n        S",
    "if not C:\n    pass\nelse:\n    S",
    "S\nS",
    "assert C, 'not so'\nS",
    "pass",
)
BOXES = {
    "kept = {'V': None}": "kept['V']",
    "kept = [None]": "kept[0]",
    "kept = [0, None]": "kept[-1]",
    "kept = Held()": "kept.V",
    "kept = {}": "kept[1]",
    "kept = deque([None])": "kept[0]",
}


def wrap_a_value(change: Change) -> None:
    text = change.draw.choice(VALUES)
    condition = change.condition() if "C" in text else expression("True")
    change.replace(lambda _: True, lambda e: expression(text, E=e, C=condition))


def wrap_a_sequence(change: Change) -> None:
    text = change.draw.choice(SEQUENCES)
    loops = [n for n in ast.walk(change.function) if isinstance(n, ast.For | ast.comprehension)]
    loop = change.one(loops)
    loop.iter = expression(text, E=loop.iter)


def change_a_loop(change: Change) -> None:
    body, i = change.statement(ast.For)
    loop = body[i]
    assert isinstance(loop, ast.For)
    text, condition = change.draw.choice(LOOPS), change.condition()
    target = copy.deepcopy(loop.target)
    made = statements(
        text.replace("X_", "X"), E=loop.iter, C=condition, B=loop.body, S=ast.parse("pass").body, X=target
    )
    for node in made[-1:]:
        if isinstance(node, ast.For | ast.While) and loop.orelse and not node.orelse:
            node.orelse = loop.orelse
    body[i : i + 1] = made


def guard_a_statement(change: Change) -> None:
    body, i = change.statement()
    text = change.draw.choice(GUARDS)
    body[i : i + 1] = statements(text, S=[body[i]], C=change.condition() if "C" in text else expression("True"))


def box_a_variable(change: Change) -> None:
    """Keep a variable in a container or an object."""
    args = change.function.args
    own = {arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
    inner = [
        n
        for n in ast.walk(change.function)
        if isinstance(n, ast.Lambda | ast.FunctionDef | ast.comprehension | ast.ClassDef)
    ]
    bound = {
        n.arg if isinstance(n, ast.arg) else n.id
        for scope in inner
        if scope is not change.function
        for n in ast.walk(scope)
        if isinstance(n, ast.arg) or (isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    }
    for node in ast.walk(change.function):
        if isinstance(node, ast.Global | ast.Nonlocal):
            bound |= set(node.names)
        elif isinstance(node, ast.Delete):
            bound |= {t.id for t in node.targets if isinstance(t, ast.Name)}
        elif isinstance(node, ast.NamedExpr):
            bound.add(node.target.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.FunctionDef) and node.name:
            bound.add(node.name)
    name = change.one([v for v in change.names() if v not in bound and v != change.function.name])
    start, text = change.one(list(BOXES.items()))
    begin, kept = start.replace("V", name), text.replace("V", name)

    class Boxed(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            if node.id != name:
                return node
            made = ast.parse(kept, mode="eval").body
            made.ctx = node.ctx
            return made

    body = [Boxed().visit(s) for s in change.function.body]
    first = [*statements(begin), *(statements(f"{kept} = {name}") if name in own else [])]
    change.function.body[:] = [*first, *body]


def extract_a_function(change: Change) -> None:
    """Move statements into an inner function, which assigns the variables of the outer one."""
    body, i = change.statement()
    some = body[i : i + change.draw.randint(1, 2)]
    if any(
        isinstance(
            n,
            ast.Return
            | ast.Break
            | ast.Continue
            | ast.Yield
            | ast.YieldFrom
            | ast.FunctionDef
            | ast.Nonlocal
            | ast.Global,
        )
        for s in some
        for n in ast.walk(s)
    ):
        raise NotPossibleError
    stored = {n.id for s in some for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    outer = f"    nonlocal {', '.join(sorted(stored))}\n" if stored else ""
    before = [f"{name} = None" for name in sorted(stored)] if change.draw.random() < 0.3 else []
    text = f"def part():\n{outer}    S\npart()"
    body[i : i + len(some)] = [*statements("\n".join(before)), *statements(text, S=some)]


def leave_early(change: Change) -> None:
    """Return at another place as well."""
    returns = [n for n in ast.walk(change.function) if isinstance(n, ast.Return) and n.value is not None]
    value = change.one(returns).value
    body, i = change.statement()
    body[i:i] = statements("if C:\n    return E", C=change.condition(), E=value)


def return_more(change: Change) -> None:
    """Return another variable too, if the function's result goes nowhere else."""
    returns = [n for n in ast.walk(change.function) if isinstance(n, ast.Return) and n.value is not None]
    name = change.one(change.names())
    for node in returns:
        assert node.value is not None
        node.value = expression(f"(E, {name})", E=node.value)


def use_another_operator(change: Change) -> None:
    swaps: dict[type[ast.AST], Any] = {
        ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
        ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv,
        ast.Div: ast.FloorDiv, ast.And: ast.Or, ast.Or: ast.And, ast.BitXor: ast.BitOr, ast.In: ast.NotIn,
    }  # fmt: skip
    nodes = [
        n for n in ast.walk(change.function) if isinstance(n, ast.Compare | ast.BinOp | ast.BoolOp | ast.AugAssign)
    ]
    node = change.one(nodes)
    if isinstance(node, ast.Compare):
        node.ops[0] = swaps.get(type(node.ops[0]), type(node.ops[0]))()
    else:
        node.op = swaps.get(type(node.op), type(node.op))()


def use_another_number(change: Change) -> None:
    def other(e: ast.expr) -> ast.expr:
        assert isinstance(e, ast.Constant)
        return ast.Constant(e.value + change.draw.choice((-1, 1, 2)))  # type: ignore[operator]

    change.replace(lambda e: isinstance(e, ast.Constant) and type(e.value) is int, other)


def move_a_statement(change: Change) -> None:
    body, i = change.statement()
    if i + 1 == len(body):
        raise NotPossibleError
    body[i], body[i + 1] = body[i + 1], body[i]


def call_otherwise(change: Change) -> None:
    """Call a function through a variable, with its arguments in a tuple, or through a function of the call."""
    calls = [
        n for n in ast.walk(change.function)
        if isinstance(n, ast.Call) and not n.keywords and not any(isinstance(a, ast.Starred) for a in n.args) and n.args
    ]  # fmt: skip
    call = change.one(calls)
    way = change.draw.randrange(4)
    if way == 0:
        call.args = [ast.Starred(ast.Tuple(call.args, ast.Load()), ast.Load())]
    elif way == 1:
        call.func = expression("(F if C else F)", F=call.func, C=change.condition())
    elif way == 2:
        call.func = expression("(lambda *given: F(*given))", F=call.func)
    else:
        call.func = expression("[F][0]", F=call.func)


CHANGES: dict[Callable[[Change], None], int] = {
    wrap_a_value: 3,
    wrap_a_sequence: 3,
    change_a_loop: 4,
    guard_a_statement: 5,
    box_a_variable: 3,
    extract_a_function: 3,
    leave_early: 2,
    return_more: 1,
    use_another_operator: 1,
    use_another_number: 1,
    move_a_statement: 1,
    call_otherwise: 2,
}


def program_of(seed: int) -> Program:
    """The program of the corpus that a seed changes."""
    return PROGRAMS[random.Random(seed).randrange(len(PROGRAMS))]


def program(seed: int) -> str:
    """The text of a changed program, which begins with its function's name; the same for each seed and corpus."""
    origin = program_of(seed)
    draw = random.Random(seed)
    draw.random()
    tree = ast.parse(inspect.getsource(sys.modules[origin.function.__module__]))
    tree.body = [s for s in tree.body if not _is_table(s)]
    tree = _needed(tree, origin.name)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    made, wanted = 0, draw.choice((1, 2, 2, MOST_CHANGES))
    for _ in range(30):
        if made == wanted:
            break
        way = draw.choices(list(CHANGES), list(CHANGES.values()))[0]
        with contextlib.suppress(NotPossibleError):
            way(Change(draw, draw.choice(functions)))
            made += 1
    imports = "import copy, contextlib, functools, itertools\nfrom collections import deque\n"
    return f"ORIGIN = {origin.name!r}\n" + imports + HELPERS + ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _is_table(statement: ast.stmt) -> bool:
    """Whether a statement makes or imports the table of programs."""
    return any(
        (isinstance(n, ast.Name) and n.id in ("PROGRAMS", "Program"))
        or (isinstance(n, ast.ImportFrom) and n.module == "programs.table")
        for n in ast.walk(statement)
    )


def _needed(tree: ast.Module, name: str) -> ast.Module:
    """The module without the definitions that a function does not need."""
    gives = {n: s for s in tree.body for n in _given(s)}
    wanted, todo = set[int](), [gives[name]]
    while todo:
        statement = todo.pop()
        if id(statement) not in wanted:
            wanted.add(id(statement))
            todo += [gives[n.id] for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id in gives]
    kept = [s for s in tree.body if id(s) in wanted or isinstance(s, ast.Import | ast.ImportFrom)]
    return ast.Module(kept, [])


def _given(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
    else:
        yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


# What becomes of a changed program


def outcome(text: str, **options: Any) -> Outcome:
    """The outcome of a changed program with some options of ``hb.batch``, judged by plain Python."""
    name = text.partition("\n")[0].removeprefix("ORIGIN = ").strip("'")
    origin = next(p for p in PROGRAMS if p.name == name)
    with jax.enable_x64(True), contextlib.redirect_stdout(io.StringIO()):
        try:
            function = _made(text, name)
            rows = list(range(min(origin.rows, MOST_ROWS)))
            expected = [_plain(function, origin, row) for row in rows]
        except Exception as error:  # noqa: BLE001  # what is left of a program that is reduced
            return Outcome("skipped", repr(error))
        asked = [row for row in rows if _is_asked_for(expected[row], text)]
        if not asked or all(isinstance(expected[row], Exception) for row in asked):
            return Outcome("skipped", str(expected))
        return tried(lambda: _compared(function, origin, asked, [expected[row] for row in asked], options))


def _compared(
    function: Callable[..., Any], origin: Program, rows: list[int], expected: list[Any], options: dict[str, Any]
) -> Outcome:
    got = _run(function, origin, rows, options)
    if limited := [one for one in got if isinstance(one, hb.LimitError)]:
        return Outcome("refused", str(limited[0]))
    wanted, found = list(map(_comparable, expected)), list(map(_comparable, got))
    is_right = all(map(_equal, found, wanted))
    return Outcome("ran") if is_right else Outcome("wrong", f"got    {found}\npython {wanted}")


def _made(text: str, name: str) -> Callable[..., Any]:
    file = f"<changed program {hash(text)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    module = ModuleType("changed")
    sys.modules["changed"] = module  # dataclasses ask for it
    exec(compile(text, file, "exec"), module.__dict__)
    return module.__dict__[name]  # type: ignore[no-any-return]


class TooLong(BaseException):
    """Plain Python takes too long."""


def _plain(function: Callable[..., Any], origin: Program, row: int) -> Any:
    """What the plain function gives for an example, or the exception that it raises."""

    def stop(*_: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        found = function(*origin.plain(row), **origin.static)
    except TooLong:
        raise RuntimeError("it takes too long") from None
    except LEFT_ALONE as error:
        raise RuntimeError("it makes no sense") from error
    except Exception as error:  # noqa: BLE001  # what the program raises is its outcome
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for leaf in jax.tree.leaves(found):
        if isinstance(leaf, int) and abs(leaf) > LARGEST:
            raise RuntimeError("its numbers are too large")
    return found


def _is_asked_for(value: Any, text: str) -> bool:
    """Whether an outcome has to equal Python's: an exception of operations is only raised if the program catches it."""
    if not isinstance(value, Exception):
        return True
    kind = type(value)
    catching = text.partition("def asked")[2]
    if kind in (ZeroDivisionError, IndexError, AssertionError) or "math" in str(value):
        return any(base.__name__ in catching for base in kind.__mro__[:-2])
    return True


def _run(function: Callable[..., Any], origin: Program, rows: list[int], options: dict[str, Any]) -> list[Any]:
    """The results of a run, or what its lanes raise."""
    given = {"max_steps": 1_000_000, **options}
    batched = hb.batch(function, static_argnames=tuple(origin.static), **given)
    error = None
    try:
        result = batched(*origin.arrays(rows), **origin.static)
    except hb.LaneError as raised:
        if not getattr(raised, "errors", None):
            raise
        result, error = raised.outputs, raised
    errors = error.errors if error is not None else {}
    return [errors[lane] if lane in errors else own_part(result, lane) for lane in range(len(rows))]


def _comparable(value: Any) -> Any:
    """A value as tuples of numbers, texts and None."""
    match value:
        case Exception():
            return next(kind.__name__ for kind in type(value).__mro__ if kind.__module__ == "builtins")
        case dict():
            return ["dict", *((_comparable(k), _comparable(v)) for k, v in value.items())]
        case set() | frozenset():
            return ["set", *sorted(map(_comparable, value))]
        case str() | None:
            return value
        case list() | tuple():
            return [_comparable(v) for v in value]
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(value)).tolist()
    if isinstance(value, bool | int | float | complex | np.ndarray | np.generic | jax.Array):
        return np.asarray(value).tolist()
    if hasattr(value, "__iter__"):
        return [_comparable(v) for v in value]
    return [type(value).__name__, *map(_comparable, jax.tree.leaves(value))]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, int | float | complex) and isinstance(other, int | float | complex):
        return bool(np.isclose(one, other, rtol=1e-5, atol=1e-5, equal_nan=True))
    return type(one) is type(other) and one == other


if __name__ == "__main__":
    main(sys.argv[1:], program, outcome)
