"""All that a machine with a GPU is to show, in a quarter of an hour: `python -m benchmarks.on_a_card [FOLDER]`.

Commands run one after the other, the most important first, each until it ends or its time is over; it is then ended
with all that it started. What a command prints goes to a file of the folder (`card` by default), and after each command
`card.json` and `summary.txt` there are written anew, so that nothing is lost if the machine is taken away. The summary
is one page, with a line for each thing that is to be shown. If the first command fails (JAX finds no GPU, a library is
missing, or the card does not take a kernel), the others would waste the time and are not run; its output says why, and
`--only NAME` runs others all the same. The program needs JAX for the GPU,
NumPy, `llvmlite`, `pytest`, `pytest-xdist` and `hypothesis`; numba is used if it is there.

    python -m benchmarks.on_a_card --rehearse     a small part of each command, on a CPU
    python -m benchmarks.on_a_card --list         the commands and their times
    python -m benchmarks.on_a_card --minutes 9    less time, where commands are ended after ten minutes
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.must_show import page, tests_in

TESTS: Final = ("-m", "pytest", "-c", "test/py/accelerator.ini", "-v", "--dist", "loadgroup")
LEAST_SECONDS: Final = 5.0
"""Seconds below which a command is not begun."""
LAST_LINES: Final = 40
"""Lines of a command's output that are part of the JSON."""


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes:
        name: Its name, and that of the file with its output.
        arguments: Arguments of Python.
        seconds: The time that it has.
        rehearsal: Its arguments for a small part of it.
        environment: Environment variables.
    """

    name: str
    arguments: tuple[str, ...]
    seconds: int
    rehearsal: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


def _bench(seconds: int, *arguments: str) -> tuple[str, ...]:
    return ("-m", "benchmarks.gpu", "--json", "{figures}", "--seconds", str(seconds), *arguments)


_FEW: Final = ("--inputs", "8", "--processes", "1")
_CACHE: Final = (("JAX_COMPILATION_CACHE_DIR", "{folder}/cache"),)
COMMANDS: Final = (
    Command("devices", ("-m", "benchmarks.check_card"), 90, ("-m", "benchmarks.check_card")),
    Command(
        "tests_of_kernels",
        (*TESTS, "-n", "auto", "-k", "kernel and not by_ and not in_turn", "test/py/accelerator.py"),
        150,
        (*TESTS, "-n", "0", "-k", "test_zoo and gcd and inside_jit", "test/py/accelerator.py"),
    ),
    Command("times", _bench(270), 280, _bench(60, *_FEW, "collatz")),
    Command(
        "forms",
        _bench(75, "--forms", "meeting,crowded,warp", "eight_schools", "funnel", "stiff"),
        80,
        _bench(60, *_FEW, "--forms", "meeting", "stiff"),
    ),
    Command("tests_of_forms", (*TESTS, "-n", "auto", "-k", "by_ or in_turn", "test/py/accelerator.py"), 130,
            (*TESTS, "-n", "0", "-k", "test_zoo and gcd and default", "test/py/accelerator.py")),
    Command("first_call", _bench(25, "fibonacci"), 30, _bench(30, *_FEW, "fibonacci"), _CACHE),
    Command("first_call_from_cache", _bench(25, "fibonacci"), 30, _bench(30, *_FEW, "fibonacci"), _CACHE),
    Command(
        "tests_of_loops",
        (*TESTS, "-n", "auto", "-k", "not kernel", "test/py/accelerator.py", "test/py/accelerator_generated.py"),
        110,
        (*TESTS, "-n", "0", "-k", "test_zoo and gcd and sweep", "test/py/accelerator.py"),
    ),
)  # fmt: skip
"""The commands of docs/running.md, by what they tell: whether kernels are right, how fast they are, and the rest."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns the number of commands that failed."""
    parser = argparse.ArgumentParser("python -m benchmarks.on_a_card", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("card"))
    parser.add_argument("--minutes", type=float, default=15, help="after which everything has ended")
    parser.add_argument("--only", nargs="*", help=f"some of {', '.join(c.name for c in COMMANDS)}")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args(arguments)
    wanted = [command for command in COMMANDS if not args.only or command.name in args.only]
    if args.list:
        for command in wanted:
            print(f"{command.seconds:4d} s  python {' '.join(command.arguments)}")
        return 0
    args.folder.mkdir(parents=True, exist_ok=True)
    end, found = time.monotonic() + 60 * args.minutes, list[dict[str, Any]]()
    for command in wanted:
        if (left := end - time.monotonic()) < LEAST_SECONDS:
            print(f"{command.name}: not begun, since the time is over", flush=True)
            continue
        found.append(run(command, args.folder, left, is_rehearsal=args.rehearse))
        (args.folder / "card.json").write_text(json.dumps(found, indent=1) + "\n")
        (args.folder / "summary.txt").write_text(page(found))
        print(f"{found[-1]['name']}: {found[-1]['ended']} after {found[-1]['seconds']:.0f} s", flush=True)
        if command.name == "devices" and found[-1]["ended"] != "well":
            print(*found[-1]["printed"], "Nothing else is run; `--only NAME` runs others all the same.", sep="\n")
            break
    print(f"\n{page(found)}", end="", flush=True)
    return sum(each["ended"] != "well" for each in found)


def run(command: Command, folder: Path, left: float, *, is_rehearsal: bool) -> dict[str, Any]:
    """What a command printed and how it ended, within the seconds that are left."""
    figures, printed = folder / f"{command.name}.figures.json", folder / f"{command.name}.txt"
    names = {"figures": str(figures), "folder": str(folder.resolve())}
    arguments = command.rehearsal if is_rehearsal else command.arguments
    arguments = tuple(names["figures"] if each == "{figures}" else each for each in arguments)
    environment = {name: value.format(**names) for name, value in command.environment}
    environment |= {"JAX_PLATFORMS": "cpu"} if is_rehearsal else {}
    began = time.monotonic()
    with printed.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=os.environ | environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(max(1.0, min(command.seconds, left)))
            ended = "well" if status == 0 else f"with status {status}"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            ended = "not in time"
    found = {"name": command.name, "ended": ended, "seconds": time.monotonic() - began, "arguments": arguments}
    text = printed.read_text(errors="replace")
    found["printed"] = text.splitlines()[-LAST_LINES:]
    if "pytest" in arguments:
        found |= tests_in(text)
    with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):  # it may be ended while it writes
        found["figures"] = json.loads(figures.read_text())
    return found


if __name__ == "__main__":
    sys.exit(main())
