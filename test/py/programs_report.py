"""How the corpus fares: ``python test/py/programs_report.py [SUBJECT | PROGRAM]...``.

For each program one line: it runs, its result is wrong, or it is refused, and then the first line of the message. The
totals follow. ``--refused`` prints the table of ``programs/refused.py`` instead.
"""

import argparse
from collections import Counter
from collections.abc import Sequence

from programs import PROGRAMS
from programs.table import Program, WrongResultError, check
from zoo import optimizing_little

import hlobatch as hb

STEPS = 1_000_000
"""Blocks of one lane after which a run is taken for endless."""


def verdict(program: Program) -> tuple[str, str, str]:
    """``runs``, ``rewritten``, ``wrong`` or ``refused``; the class of the error and its message."""
    try:
        with program.precision(), optimizing_little():
            batched = program.variant(max_steps=STEPS)
            check(program, program.finishing, program.call(batched, program.finishing))
    except (WrongResultError, hb.StepLimitError) as error:
        return "wrong", type(error).__name__, str(error)
    except Exception as error:  # noqa: BLE001  # a foreign exception is a refusal too, and a worse one
        return "refused", type(error).__name__, str(error)
    return "rewritten" if program.rewrite else "runs", "", ""


def first_line(message: str) -> str:
    lines = [line for line in message.splitlines() if line.strip()]
    return lines[0][:200] if lines else ""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="subjects or programs; all by default")
    parser.add_argument("--refused", action="store_true", help="print the table of programs/refused.py")
    parser.add_argument("--full", action="store_true", help="print messages whole")
    given = parser.parse_args(arguments)
    chosen = [p for p in PROGRAMS if not given.names or {p.name, p.subject} & set(given.names)]
    totals: Counter[str] = Counter()
    for program in chosen:
        kind, error, message = verdict(program)
        totals[kind] += 1
        if given.refused:
            if kind == "refused":
                print(f'    "{program.name}": "{error}",', flush=True)
            continue
        print(f"{program.subject}.{program.name}: {kind}{error and f' ({error})'}", flush=True)
        if message:
            print("    " + (message.replace("\n", "\n    ") if given.full else first_line(message)), flush=True)
    if not given.refused:
        print(f"{len(chosen)} programs: " + ", ".join(f"{count} {kind}" for kind, count in totals.most_common()))


if __name__ == "__main__":
    main()
