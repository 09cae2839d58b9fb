"""The lit suite: every file pairs a source with the text that the compiler makes of it.

Runs on PyPI's `lit` and `filecheck`, without LLVM. `lit -Dfilecheck=llvm` takes LLVM's FileCheck
instead; a test that needs it says `REQUIRES: llvm-filecheck`. `lit -Dnative_tools=build/bin` also
runs the tests of the native tools, which say `REQUIRES: native`. Where processes fork, commands run in
forks of one interpreter that has imported them; `lit -Dinterpreters=own` starts one for each command.
"""

import os
import shutil
import sys
from pathlib import Path

import lit.formats

here = Path(__file__).parent
root = here.parent.parent
sys.path.insert(0, str(here))
from forked import server  # noqa: E402

MODULES = {"hlobatch-opt": "hlobatch.opt", "hlobatch": "hlobatch.cli", "filecheck": "filecheck.__main__"}
"""Tools, and what Python runs for each."""


def tool(name: str) -> str:
    """Returns a pattern for `name` as a word of its own, and not as a part of a path or an option."""
    return rf"(?<![\w./-]){name}(?![\w./-])"


def python_tools() -> dict[str, str]:
    """Returns the command line that stands for each of the tools that are Python."""
    wanted = lit_config.params.get("interpreters", "forked")
    if wanted == "forked" and sys.platform == "linux":
        lines = server.start([*MODULES.values()], config.environment)
        return {name: lines[module] for name, module in MODULES.items()}
    if wanted in ("forked", "own"):
        return {name: f"{sys.executable} -m {module}" for name, module in MODULES.items()}
    lit_config.fatal(f"interpreters={wanted} was asked for, and there are: forked, own")


def filecheck() -> str:
    """Returns the command that stands for `filecheck` and `FileCheck`."""
    if lit_config.params.get("filecheck", "pypi") == "pypi":
        return tools["filecheck"]
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/lib/llvm-22/bin"])
    found = shutil.which("FileCheck", path=path)
    if found is None:
        lit_config.fatal(f"filecheck=llvm was asked for, and no FileCheck is on {path}")
    config.available_features.add("llvm-filecheck")
    return found


def native_tools() -> Path | None:
    """Returns the folder of the native tools if they have been built; says that they are not tested if not."""
    given = lit_config.params.get("native_tools", "")
    folder = Path(given).resolve()
    if given and (folder / "hlobatch-opt-native").exists():
        config.available_features.add("native")
        return folder
    reason = f"there is no hlobatch-opt-native in {folder}" if given else "no -Dnative_tools=FOLDER was given"
    lit_config.note(f"native tools are not tested: {reason} (cmake -B build && cmake --build build makes build/bin)")
    return None


config.name = "hlobatch"
config.test_format = lit.formats.ShTest(execute_external=False)  # lit's own shell: no bash needed
config.suffixes = [".mlir", ".py", ".test"]
config.excludes = ["lit.cfg.py", "update_checks.py", "forked", "Inputs"]
config.test_source_root = str(here)
config.test_exec_root = str(here / "Output")

config.environment["JAX_PLATFORMS"] = "cpu"
config.environment["PYTHONPATH"] = str(root)
config.environment["FILECHECK_OPTS"] = "-enable-var-scope -dump-input=fail"  # LLVM's reads it

tools = python_tools()
config.substitutions += [
    (tool("hlobatch-opt"), tools["hlobatch-opt"]),
    (tool("hlobatch"), tools["hlobatch"]),
    (tool("(filecheck|FileCheck)"), filecheck()),
    ("%python", sys.executable),
]
native = native_tools()
if native is not None:
    config.substitutions += [
        (tool(name), str(native / name)) for name in ("hlobatch-opt-native", "hlobatch-lsp-server")
    ]
