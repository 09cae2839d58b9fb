"""Rewrites the checks of tests that hold whole functions: ``python test/lit/update_checks.py [FILE…]``.

A test asks for it with a line ``# Checks of f, g, made by update_checks.py`` per RUN line, which is followed by what that
command prints of these functions; a module of the dialect with a line ``// Checks, made by update_checks.py``, followed by
what is printed but the code of primitives. Without arguments all tests are rewritten; read the diff before you keep it.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
MARK = re.compile(r"^# Checks of ([\w, ]+), made by update_checks\.py\n(?:# [A-Z]+-(?:LABEL|NEXT):.*\n)*", re.MULTILINE)
RUN = re.compile(
    r"^# RUN: hlobatch (?P<command>.*?) \| filecheck %s(?: --check-prefix=(?P<prefix>\w+))?$", re.MULTILINE
)


def printed(command: str, file: Path) -> dict[str, list[str]]:
    """The lines of each function that a command prints."""
    arguments = [argument.replace("%s", str(file)) for argument in shlex.split(command)]
    run = subprocess.run([sys.executable, "-m", "hlobatch.cli", *arguments], capture_output=True, text=True, check=True)
    parts = [part.splitlines() for part in run.stdout.strip("\n").split("\n\n")]
    return {part[0].removeprefix("def ").split("(")[0]: part for part in parts if part[0].startswith("def ")}


def checks(names: str, functions: dict[str, list[str]], prefix: str) -> str:
    """The mark and the lines that go with it."""
    lines = [f"# Checks of {names}, made by update_checks.py"]
    for name in names.split(", "):
        first, *rest = functions[name]
        lines += [f"# {prefix}-LABEL: {first}", *(f"# {prefix}-NEXT: {line}" for line in rest)]
    return "\n".join(lines) + "\n"


MODULE_MARK = re.compile(r"^// Checks, made by update_checks\.py\n(?:// [A-Z]+(?:-NEXT)?: .*\n)*", re.MULTILINE)
MODULE_RUN = re.compile(
    r"^// RUN: hlobatch-opt (?P<command>.*?) \| filecheck %s(?: --check-prefix=(?P<prefix>\w+))?$", re.MULTILINE
)


def module_checks(command: str, file: Path, prefix: str) -> str:
    """The mark and the lines that a command prints before the code of primitives."""
    arguments = [argument.replace("%s", str(file)) for argument in shlex.split(command)]
    run = subprocess.run([sys.executable, "-m", "hlobatch.opt", *arguments], capture_output=True, text=True, check=True)
    lines = [line for line in run.stdout.split("  func.func ")[0].splitlines() if line]
    first, *rest = [line.replace("[[", "{{\\[\\[}}") for line in lines]
    words = [f"// {prefix}: {first}", *(f"// {prefix}-NEXT: {line}" for line in rest)]
    return "\n".join(["// Checks, made by update_checks.py", *words]) + "\n"


def update(file: Path) -> None:
    """Rewrite one test, if it asks for it."""
    text = file.read_text(encoding="utf-8")
    for mark, run in reversed(list(zip(MODULE_MARK.finditer(text), MODULE_RUN.finditer(text), strict=False))):
        block = module_checks(run["command"], file, run["prefix"] or "CHECK")
        text = text[: mark.start()] + block + text[mark.end() :]
    for mark, run in reversed(list(zip(MARK.finditer(text), RUN.finditer(text), strict=False))):
        block = checks(mark[1], printed(run["command"], file), run["prefix"] or "CHECK")
        text = text[: mark.start()] + block + text[mark.end() :]
    file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]) if sys.argv[1:] else sorted([*HERE.glob("*/*.py"), *HERE.glob("**/*.mlir")]):
        update(path)
