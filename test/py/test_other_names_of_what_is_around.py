"""A name for a part, while the part is moved by another name of what it is a part of: right or refused."""

import textwrap

import pytest
from feature_pairs import made, right_or_refused

NUMBERS = [1, 3, 5]
PARTS = {
    "an item": "grid[0]",
    "an attribute": "box.rows[0]",
    "an item of an item": "grids[0][0]",
    "one of two": "grid[0] if n > 2 else grid[1]",
    "an item that a dict surely has": "d.setdefault(0, [7])",
}
AROUND = {"grid": "grid", "box": "box.rows", "grids": "grids[0]", "d": "d"}
"""For each variable in a part, the container of the part."""
NAMES = {
    "a name": "g = AROUND; MOVE",
    "one of two targets": "g, k = AROUND, 1; MOVE",
    "two names": "f = g = AROUND; MOVE",
    "a name of a name": "f = AROUND; g = f; MOVE",
    "a name in a branch": """
        if n > 2:
            g = AROUND
            MOVE
    """,
    "one of two containers": "g = AROUND if n > 2 else other; MOVE",
    "a new container": "hands = [AROUND]; g = hands[0]; MOVE",
    "a part of a new container": "hands = {'k': (AROUND, 1)}; hands['k'][0][0] = [8]",
    "a loop over containers": """
        for g in grids:
            MOVE
    """,
    "a numbered loop": """
        for i, g in enumerate(grids):
            MOVE
    """,
    "a loop over a display": """
        for g in (AROUND, other):
            MOVE
    """,
    "an assignment in an expression": "(g := AROUND)[0]; MOVE",
    "a capture": """
        match AROUND:
            case g:
                MOVE
    """,
    "a with": """
        with contextlib.nullcontext(AROUND) as g:
            MOVE
    """,
    "turns of a loop": """
        for k in range(n):
            g = AROUND
            row.append(k)
            MOVE
    """,
    "a conditional expression": "(AROUND if n > 2 else other).pop(0)",
    "an item of a conditional expression": "(AROUND if n > 2 else other)[0] = [8]",
    "an argument": "moved(AROUND if n > 2 else other)",
    "a container as an argument": "moved_in([AROUND])",
    "an object as an argument": "b = box; b.rows.pop(0); setattr(b, 'rows', [[8], [9]])",
    "an equal key": "i = n - n; AROUND[i] = [8]; grids[i].pop(0)",
    "what holds the container": "b = box; b.rows = [[8], [9]]",
}
MOVES = {"an item that is assigned": "g[0] = [8, n]", "one that is taken out": "g.pop(0)", "an order": "g.reverse()"}
TEXT = """import contextlib

class Box:
    def __init__(self, rows): self.rows = rows

def moved(rows): rows[0] = [7]

def moved_in(all): all[0][0] = [7]

def folded(rows):
    t = 0
    for items in rows:
        for x in items:
            t = (t * 5 + x) % 1009
    return t

def main(n):
    grid, grids, d = [[n, 2], [3]], [[[n], [4]], [[1], [5]]], {0: [n], 1: [6]}
    box, other = Box([[n, 1], [2]]), [[0], [7]]
    row = PART
STATEMENTS
    row.append(6)
    t = folded(grid) * 7 + folded(grids[0]) * 5 + folded(box.rows) * 3
    return t * 20 + len(d) + sum(d.get(0, [n]))
"""


def table():
    for i, part in enumerate(PARTS):
        for j, name in enumerate(NAMES):
            for k, move in enumerate(MOVES):
                is_quick = i == j % len(PARTS) and k == j % len(MOVES)
                yield pytest.param(part, name, move, marks=[] if is_quick else pytest.mark.slow)


@pytest.mark.parametrize(("part", "name", "move"), [*table()])
def test_it_is_right_or_refused(part, name, move):
    part, move = PARTS[part], MOVES[move]
    around = next(path for variable, path in AROUND.items() if part.startswith((f"{variable}.", f"{variable}[")))
    if around == "d":
        move = move.replace("g.pop(0)", "g.pop(0, [])").replace("g.reverse()", "g.clear()")
    statements = textwrap.dedent(NAMES[name]).strip("\n").replace("AROUND", around).replace("MOVE", move)
    right_or_refused(
        made(TEXT.replace("PART", part).replace("STATEMENTS", textwrap.indent(statements, " " * 4))), NUMBERS
    )


@pytest.mark.parametrize(
    "statements",
    [
        "for one in grid: one.append(1)",
        "g = grid; g[0].append(1)",
        "hands = [grid, other]; hands[0][0].append(1)",
        "for g in (other, box.rows): g.pop(0)",
        "k = grid[0][0]; other.append([k])",
    ],
)
def test_changes_of_the_part_itself_and_of_others_run(statements):
    assert (
        right_or_refused(made(TEXT.replace("PART", "grid[0]").replace("STATEMENTS", "    " + statements)), NUMBERS)
        is None
    )


@pytest.mark.parametrize(
    "statement",
    [
        "match [[7, n], 1]:\n        case (row, 1): pass",
        "match {'k': [n]}:\n        case {'k': [*row]}: pass",
        "match {'k': n, 'l': n}:\n        case {'k': _, **row}: row = [*row.values()]",
        "row = [(row := other[0]), row][1]",
        "try:\n        row.append(d[n][0])\n    except KeyError as row:\n        pass\n    row = [n]",
    ],
)
def test_a_name_that_a_pattern_or_an_expression_binds_is_right_or_refused(statement):
    right_or_refused(made(TEXT.replace("PART", "grid[0]").replace("STATEMENTS", "    " + statement)), NUMBERS)
