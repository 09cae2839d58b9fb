"""The parts of the documentation that are made from the code: ``python test/py/generated_docs.py`` writes them anew.

Two kinds: sections between ``<!-- generated: name -->`` and ``<!-- end -->``, and blocks marked ``console``, whose
first line is a command and whose other lines are what it prints. In a block ``…`` stands for anything: within a line,
or as a line of its own.
"""

import ast
import contextlib
import dataclasses
import io
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import error_pages

import hlobatch as hb
from benchmarks import plots, registry
from hlobatch import cli
from hlobatch.frontend.calls import known_functions
from hlobatch.frontend.support import SUPPORTED, UNSUPPORTED
from hlobatch.ir import verifier

ROOT = Path(__file__).parents[2]
DOCUMENTS = tuple(
    ROOT / name
    for name in ("docs/architecture.md", "docs/language.md", "docs/design.md", "README.md", "docs/errors.md")
)

SECTION = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
CONSOLE = re.compile(r"(```console\n\$ hlobatch ([^\n]*)\n)(.*?)(```)", re.DOTALL)
GAP = "…"


def first_line(module: Path) -> str:
    """The first line of a module's docstring, as Markdown."""
    text = (ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or "").splitlines()[0]
    return text.rstrip(".").replace("``", "`").replace("|", "\\|")


def folders() -> Iterator[Path]:
    """The package, then its folders in the order of their layers, the lowest first, each with its subfolders."""
    package = ROOT / "hlobatch"
    yield package
    names = [name for layer in reversed(layers()) for name in layer]
    for folder in (package / name for name in names if (package / name).is_dir()):
        yield folder
        yield from sorted(inner.parent for inner in folder.glob("*/__init__.py"))


def folder_table() -> str:
    """A table of the folders of the package."""
    rows = [(folder, first_line(folder / "__init__.py").removeprefix("hlobatch: ")) for folder in folders()]
    lines = [f"| `{folder.relative_to(ROOT)}/` | {title} |" for folder, title in rows]
    return "\n".join(["| Folder | |", "|---|---|", *lines]) + "\n"


def layers() -> list[list[str]]:
    """The layers that `make layers` checks, from the top."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    found = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name.strip(" ()") for name in layer.split(":")] for layer in found]


def numbered_layers() -> str:
    """The layers that exist, as a list."""
    package = ROOT / "hlobatch"
    existing = [[n for n in layer if (package / n).is_dir() or (package / f"{n}.py").is_file()] for layer in layers()]
    lines = [", ".join(f"`{name}`" for name in layer) for layer in existing if layer]
    return "".join(f"{number}. {line}\n" for number, line in enumerate(lines, 1))


def rules() -> str:
    """The verifier's own table."""
    table = [line for line in (verifier.__doc__ or "").splitlines() if line.startswith("|")]
    return "\n".join(table).replace("``", "`") + "\n"


def supported() -> str:
    """The table of what is supported."""
    rows = [f"| {text} | `ast.{node.__name__}` |" for node, text in SUPPORTED.items()]
    return "\n".join(["| Supported | Node |", "|---|---|", *rows]) + "\n"


def unsupported() -> str:
    """The table of what is refused."""
    rows = [f"| {what} | {instead} |" for what, instead in dict.fromkeys(UNSUPPORTED.values())]
    return "\n".join(["| Not supported | Instead |", "|---|---|", *rows]) + "\n"


def functions() -> str:
    """The functions that are supported on a lane's values, by module."""
    rows = [f"| {module} | {', '.join(f'`{name}`' for name in names)} |" for module, names in known_functions().items()]
    rows.append("| `operator`, `cmath` | all functions of numbers and of containers |")
    rows.append(
        "| `functools`, `itertools` | `reduce`, `partial`; all iterators over a number of items that all lanes share |"
    )
    rows.append(
        "| `numpy` | functions that `jax.numpy` has by the same name, also of `np.linalg` and `np.fft`; "
        "dtypes; `np.add.reduce` |"
    )
    return "\n".join(["| Module | Functions |", "|---|---|", *rows]) + "\n"


def switched_off(contender: str) -> frozenset[str]:
    """The optimizations that a contender's name turns off: `hlobatch, without kernels and in_place`."""
    names = contender.partition("without ")[2]
    return frozenset(names.split(" and ")) if names else frozenset()


def figures() -> str:
    """Three figures of speed, and the workloads of the smallest gains, from `benchmarks/results`."""
    rows = json.loads((ROOT / "benchmarks/results/cpu.json").read_text(encoding="utf-8"))["rows"]
    found = {row["workload"]: row for row in plots.summary_rows(rows)}

    def times(name: str) -> str:
        return f"{found[name]['slower']:.2g} times as fast as {PEERS[found[name]['contender']]}"

    own = [r for r in rows if r["workload"] == "own_table" and r["contender"] in plots.PEERS]
    tables = max(own, key=lambda row: row["lanes"])
    cores = found["queens"]["environment"]["cores"]
    return (
        f"For 1,000 examples on {cores} cores of a server, without the time to compile:\n\n"
        f"- all ways to place 10 queens, by recursion: **{times('queens')}**\n"
        f"- an ODE with a stiff window, by adaptive steps: **{times('stiff')}**\n"
        f"- a draw of NUTS from a 100-dimensional Gaussian: **{times('nuts_gaussian')}**\n\n"
        "There is little to gain where one step is much work, or where all examples take the same steps:\n\n"
        f"- NUTS on a logistic regression of 10,000 points: {times('nuts_logistic')}\n"
        f"- a loop with the same number of iterations for all: {times('fixed_count')}\n"
        f"- a binary search in a table for each of {tables['lanes']:,} examples: "
        f"{tables['slower']:.2g} times as fast as {PEERS[tables['contender']]}\n"
    )


PEERS = {"lockstep vmap": "`jax.vmap` of `lax.while_loop`", "blackjax": "blackjax"}


def optimizations() -> str:
    """The gain of each optimization on the workload where it is largest, from `benchmarks/results`.

    A row without it is compared with the one that differs in nothing else: without kernels, too, or with all of them.
    """
    rows = json.loads((ROOT / "benchmarks/results/cpu.json").read_text(encoding="utf-8"))["rows"]
    rows = [row for row in rows if row.get("slower") and re.match("hlobatch$|(hlobatch, )?without ", row["contender"])]
    found = {(row["workload"], row["lanes"], row["inputs"], switched_off(row["contender"])): row for row in rows}

    def worth(name: str) -> list[tuple[float, dict[str, object]]]:
        """For each row without the optimization that has a counterpart with it, the ratio of their times."""
        pairs = [
            (row, found.get((workload, lanes, inputs, off - {name})))
            for (workload, lanes, inputs, off), row in found.items()
            if name in off
        ]
        return [(row["slower"] / base["slower"], row) for row, base in pairs if base]

    lines = ["| Optimization | Without it | Measured by |", "|---|---:|---|"]
    parts = [name.removeprefix("ablation_") for name in registry.MECHANISMS]
    for name in [*(field.name for field in dataclasses.fields(hb.Optimizations)), "all of them", *parts]:
        measured = worth(name)
        title = name if " " in name else name.replace("_", " ") if name in parts else f"`{name}`"
        if not measured:
            lines.append(f"| {title} | | not measured yet |")
            continue
        slower, row = max(measured, key=lambda pair: pair[0])
        size = f"{row['lanes']:,} lanes, {row['inputs']:,} inputs"
        lines.append(f"| {title} | {slower:.2f} | `python -m benchmarks {row['workload']}`, {size} |")
    return "\n".join(lines) + "\n"


SECTIONS: dict[str, Callable[[], str]] = {
    "folders": folder_table,
    "layers": numbered_layers,
    "rules": rules,
    "supported": supported,
    "unsupported": unsupported,
    "functions": functions,
    "optimizations": optimizations,
    "figures": figures,
    "errors": error_pages.page_text,
}


def printed(command: str) -> str:
    """The output of a command that is run in the root of the repository."""
    output = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(output):
        assert cli.main(shlex.split(command)) == 0
    return output.getvalue().rstrip("\n") + "\n"


def matches(shown: str, output: str) -> bool:
    """Whether an excerpt shows an output: line by line, but for its gaps."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == GAP else re.escape(line).replace(GAP, ".*?") + r"\n"
        for line in shown.splitlines()
    )
    return re.fullmatch(pattern, output) is not None


def regenerated(text: str) -> str:
    """A document with its generated parts made anew; excerpts have to be right as they are."""

    def block(match: re.Match[str]) -> str:
        output = printed(match[2])
        if GAP not in match[3]:
            return f"{match[1]}{output}{match[4]}"
        assert matches(match[3], output), f"`hlobatch {match[2]}` no longer prints what is shown of it"
        return match[0]

    text = SECTION.sub(lambda match: f"{match[1]}{SECTIONS[match[2]]()}{match[4]}", text)
    return CONSOLE.sub(block, text)


if __name__ == "__main__":
    for document in DOCUMENTS:
        document.write_text(regenerated(document.read_text(encoding="utf-8")), encoding="utf-8")
