"""The state of the corpus: ``python test/py/programs_report.py [SUBJECT | PROGRAM]...``.

It prints a line for each program: it runs, its result is wrong, or it is refused with the first line of the message.
The totals follow. ``--write`` updates the table of ``programs/refused.py`` for these programs, and prints the
changes.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from programs import PROGRAMS, refused
from programs.table import Program, WrongResultError, check
from zoo import optimizing_little

import hlobatch as hb

STEPS = 1_000_000
"""Number of blocks of one lane after which a run counts as endless."""


class Verdict(NamedTuple):
    """The outcome of a program: ``runs``, ``rewritten``, ``wrong`` or ``refused``.

    For an error its class and message.
    """

    kind: str
    error: str = ""
    message: str = ""

    def lines(self, *, in_full: bool) -> list[str]:
        """The message, indented: all lines, or the first one that is not blank."""
        lines = [f"    {line}" for line in self.message.splitlines() if line.strip()]
        return lines if in_full else [line[:200] for line in lines[:1]]


def verdict(program: Program) -> Verdict:
    try:
        with program.precision(), optimizing_little():
            batched = program.variant(max_steps=STEPS)
            check(program, program.finishing, program.call(batched, program.finishing))
    except (WrongResultError, hb.StepLimitError) as error:
        return Verdict("wrong", type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001  # a foreign exception is a refusal too, and a worse one
        return Verdict("refused", type(error).__name__, str(error))
    return Verdict("rewritten" if program.rewrite else "runs")


def write_refused(verdicts: dict[str, Verdict]) -> None:
    """Write ``programs/refused.py`` anew, in the order of the programs, and print the lines that come and go."""
    before = refused.REFUSED
    now = {name: found.error for name, found in verdicts.items() if found.error}
    after = {p.name: now.get(p.name) if p.name in verdicts else before.get(p.name) for p in PROGRAMS}
    for name, error in after.items():
        if error != before.get(name):
            print(f"{name}: {before.get(name, 'not listed')} -> {error or 'runs'}")
    entries = "".join(f'    "{name}": "{error}",\n' for name, error in after.items() if error)
    path = Path(refused.__file__)
    head, _, _ = path.read_text(encoding="utf-8").partition("{")
    path.write_text(f"{head}{{\n{entries}}}\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="How the corpus fares.")
    parser.add_argument("names", nargs="*", help="subjects or programs; all by default")
    parser.add_argument("--write", action="store_true", help="bring programs/refused.py up to date")
    parser.add_argument("--full", action="store_true", help="print messages whole")
    given = parser.parse_args(arguments)
    verdicts: dict[str, Verdict] = {}
    for program in PROGRAMS:
        if given.names and not {program.name, program.subject} & set(given.names):
            continue
        verdicts[program.name] = found = verdict(program)
        if not given.write:
            print(f"{program.subject}.{program.name}: {found.kind}{found.error and f' ({found.error})'}")
            print(*found.lines(in_full=given.full), sep="\n", end="\n" if found.message else "", flush=True)
    if given.write:
        write_refused(verdicts)
    totals = Counter(found.kind for found in verdicts.values())
    print(f"{len(verdicts)} programs: " + ", ".join(f"{count} {kind}" for kind, count in totals.most_common()))


if __name__ == "__main__":
    main()
