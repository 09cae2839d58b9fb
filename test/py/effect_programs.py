"""A seed -> a program of expressions with effects, in every place of a statement where Python evaluates one.

The programs are those of one feature, ``features_of_effects.py``, in one or two statements: what they find is seldom
found among other features, and is small.

    python test/py/effect_programs.py 17            one program: its text, and its outcome
    python test/py/effect_programs.py 0 1000        some programs: how many ran, were refused, differ
"""

from __future__ import annotations

import random
import sys
import textwrap

from feature_pairs import IMPORTS, main
from feature_writer import Writer, indented
from features_of_code import with_outer_names
from features_of_effects import END, Effects


def program(seed: int) -> str:
    """The text of a program; the same for each seed."""
    w = Writer(random.Random(seed))
    effects = Effects()
    w.features = [effects]
    begin = [line for text in effects.begin(w) for line in text.splitlines()]
    body = [line for _ in range(w.draw.randint(1, 2)) for line in effects.statement(w)]
    lines = ["t = 0", *begin, *body, w.seen(END), "return t"]
    return with_outer_names(
        "\n".join([*IMPORTS, textwrap.dedent(effects.helpers), "def main(a, b):", *indented(lines), ""])
    )


if __name__ == "__main__":
    main(sys.argv[1:], program)
