"""The native tool refuses the modules of `../invalid` as the Python tool does: same label, same words, same line.

Each file of that folder is given to the native tool with the flags that it has for the Python tool. Where the native tool
cannot read a file or speaks in MLIR's words, `invalid/` has one of the same name, which both tools are given.
"""

# REQUIRES: native
# RUN: %python %s hlobatch-opt-native | filecheck %s
# CHECK-NOT: error
# CHECK: {{[1-9][0-9]+}} files are refused alike
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ("--split-input-file", "--verify-diagnostics")


def complaints(tool, file):
    """What the native tool says that a file does not announce, or the other way round."""
    done = subprocess.run([tool, file, *FLAGS], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


if __name__ == "__main__":
    own = {file.name for file in (HERE / "invalid").glob("*.mlir")}
    files = sorted(file for file in (HERE.parent / "invalid").glob("*.mlir") if file.name not in own)
    for file in files:
        said = complaints(sys.argv[1], file)
        print(re.sub("(?m)^(?!.*error).*\n", "", said) if said else f"{file.name} is refused alike")
    print(len(files), "files are refused alike")
