"""Lanes' code in its forms, against XLA's loop, lockstep `vmap` and numba.cuda on a GPU.

    python -m benchmarks.gpu [--seconds S] [--processes N] [--forms thread,warp] [--json FILE] [workload …]

The forms are a thread to each lane; the same with threads of a warp that meet before dear blocks, of which the earliest
runs next, or the one with most lanes (`crowded`); a warp to each lane; and a thread or a warp in turn with XLA's
operations, which compute long products (`hlobatch/targets/gpu/forms.py`). A workload
runs in the form that is chosen for it and in those that are not hopeless; `--forms` names other forms to run.

It takes less than eight minutes: first everything is compiled, in concurrent processes that share JAX's persistent
cache; then one workload after the other is timed, each in its own process, with interleaved runs, by the median. If a
form never ends, its process is ended, and the figures of the forms before it stay. A row shows the time of the chosen
form in bold, its speed relative to XLA's loop, and the share of numbers that are bitwise equal; a form that fails has
its error in place of a time. If kernels are faster on the workloads that they are chosen for, `chooses_own_code` in
`hlobatch/targets/gpu/target.py` may be turned on; if another form than the chosen one is fastest, the constants `Forms`
in `forms.py` have to change.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from unittest import mock

SIZES: Final = {
    "fibonacci": 100_000,
    "takeuchi": 10_000,
    "queens": 10_000,
    "interpreter": 10_000,
    "quicksort": 10_000,
    "kd_tree": 10_000,
    "collatz": 100_000,
    "mandelbrot": 1_000_000,
    "continuation": 1_000,
    "eight_schools": 10_000,
    "funnel": 10_000,
    "stiff": 10_000,
    "quadrature": 1_000,
    "tree_network": 1_000,
    "tree_search": 1_000,
    "neural_ode": 1_000,
    "gaussian": 1_000,
    "logistic": 1_000,
}
"""Workloads and numbers of inputs of the first measurement, which docs/running.md shows; those faster as kernels come
first."""
SAMPLED: Final = {"gaussian": 4, "eight_schools": 10, "funnel": 10, "logistic": 2}
"""The workloads that are samplers, and the number of draws of each chain."""
RUNS: Final = 5
MOST_SECONDS_OF_RUNS: Final = 4.0
MOST_SECONDS_OF_ONE: Final = 200.0
"""Seconds after which a process is ended, in case a form never ends."""
FORMS: Final = ("thread", "meeting", "crowded", "warp", "in_turn")
"""The forms of lanes' code, by their names in `HLOBATCH_OWN_CODE`."""
HOPELESS: Final = 8.0
"""The ratio of sequential operations of a thread to those of a warp from which one thread per lane is left out, since
it would take seconds."""
USELESS: Final = 1.2
"""The same ratio up to which a warp per lane is left out, since all its threads would do the same."""
PEERS: Final = ("lockstep", "numba")
"""Contenders that are not hlobatch's."""
HEAD: Final = f"""\
| workload, inputs | {", ms | ".join(FORMS)}, ms | XLA's loop, ms | times as fast | lockstep `vmap`, ms \
| numba.cuda, ms | same bits | first calls, s |
|{"---|" * (len(FORMS) + 7)}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SIZES)}; all if none is named")
    parser.add_argument("--seconds", type=float, default=450, help="after which no workload is begun")
    parser.add_argument("--processes", type=int, default=9, help="that compile side by side")
    parser.add_argument("--forms", type=lambda text: text.split(","), help=f"some of {', '.join(FORMS)}")
    parser.add_argument("--inputs", type=int, help="in place of each workload's own number")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    names = args.names or list(SIZES)
    if args.one:
        for found in figures(names[0], args.inputs or SIZES[names[0]], args.forms):
            print(json.dumps(found), flush=True)  # if a later form never ends, what was found stays
        return 0
    rows = measured(names, args)
    return int(any("failed" in row or any(isinstance(row.get(form), str) for form in FORMS) for row in rows))


def measured(names: Sequence[str], args: argparse.Namespace) -> list[dict[str, Any]]:
    """The figures of workloads, each of which is printed as soon as it is measured."""
    end, rows = time.monotonic() + args.seconds, list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "JAX_COMPILATION_CACHE_DIR": os.environ.get("JAX_COMPILATION_CACHE_DIR", folder),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        }

        def run(name: str, end: float) -> dict[str, Any]:
            options = ["--inputs", str(args.inputs)] if args.inputs else []
            options += ["--forms", ",".join(args.forms)] if args.forms else []
            command = [sys.executable, "-m", "benchmarks.gpu", "--one", name, *options]
            left = min(MOST_SECONDS_OF_ONE, max(1.0, end - time.monotonic()))
            try:
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, timeout=left, check=False
                )
            except subprocess.TimeoutExpired as error:
                over = {"failed": f"not over after {left:.0f} s", "hangs": left > MOST_SECONDS_OF_ONE / 4}
                return {"workload": name} | last_of(error.stdout) | over
            failed = (done.stderr.strip().splitlines() or ["nothing was printed"])[-1]
            found = {"workload": name} | last_of(done.stdout)
            return found | {"failed": failed} if done.returncode else found

        with ThreadPoolExecutor(args.processes) as pool:
            soon = end - args.seconds / 2
            firsts = dict(zip(names, pool.map(lambda name: run(name, soon), names), strict=True))
        print(f"compiled; {end - time.monotonic():.0f} s are left\n\n{HEAD}", flush=True)
        for name in names:
            late = time.monotonic() > end - 10 or firsts[name].get("hangs", False)
            rows.append(firsts[name] | {"side by side": True} if late else run(name, end))
            rows[-1]["first"] = firsts[name].get("first", {})
            print(line(rows[-1]), flush=True)
            if args.json:  # after each workload, so that nothing is lost if the process is ended
                args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return rows


def last_of(printed: str | bytes | None) -> dict[str, Any]:
    """The figures that a process printed last."""
    text = printed.decode() if isinstance(printed, bytes) else printed or ""
    found: dict[str, Any] = json.loads(next((line for line in text.splitlines()[::-1] if line.endswith("}")), "{}"))
    return found


def figures(name: str, inputs: int, asked: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """The times of all forms of a workload, and the share of numbers that are equal between two of them.

    Yields all figures so far whenever there are more.
    """
    import hlobatch as hb
    from benchmarks.kernels import agreement, timed

    function, arguments = of_sampler(name, inputs) if name in SAMPLED else of_workload(name, inputs)
    static = tuple(function.static)

    def made(**options: Any) -> Callable[[], Any]:
        batched = hb.batch(function.function, in_axes=function.in_axes, static_argnames=static, **options)
        return lambda: batched(*arguments)

    chosen, worth = forms_of(hb.batch(function.function, in_axes=function.in_axes, static_argnames=static), arguments)
    runs = {form: in_form(form, made(dispatch="kernel")) for form in asked or worth}
    runs["loop"] = made(optimizations=hb.Optimizations(kernels=False))
    peers = {"lockstep": lockstep(name, inputs), "numba": by_numba(name, arguments)}
    runs |= {peer: run for peer, run in peers.items() if run is not None}
    found: dict[str, Any] = {"workload": name, "inputs": inputs, "chosen": chosen, "first": {}}
    for form, run in list(runs.items()):
        try:
            found["first"][form] = timed(run)[0]
        except Exception as error:  # noqa: BLE001  # any failure is recorded, and the other forms are measured
            found[form] = f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"
            del runs[form]
        yield found
    if {chosen, "loop"} <= runs.keys():
        found["same"] = agreement(runs[chosen](), runs["loop"]())
    began, times = time.perf_counter(), {form: list[float]() for form in runs}
    for _ in range(RUNS):
        for form, run in runs.items():
            times[form].append(timed(run)[0])
        yield found | {form: statistics.median(each) for form, each in times.items()}
        if time.perf_counter() - began > MOST_SECONDS_OF_RUNS:
            break


def in_form(form: str, run: Callable[[], Any]) -> Callable[[], Any]:
    """A run with `HLOBATCH_OWN_CODE` set to a form."""

    def there() -> Any:
        with mock.patch.dict(os.environ, HLOBATCH_OWN_CODE=form):
            return run()

    return there


def forms_of(batched: Any, arguments: Sequence[Any]) -> tuple[str, list[str]]:
    """The form that is chosen for a workload, and all forms that are worth measuring."""
    from hlobatch.targets.gpu.errands import is_errand
    from hlobatch.targets.gpu.forms import NAMES, Forms

    program, rules = batched.trace(*arguments).plan.programs.of_a_lane, Forms()
    chosen = next(name for name, processor in NAMES.items() if processor == rules.of(program).processor)
    gain, worth = rules.gain_of_warps(program), {chosen}
    if gain < HOPELESS:
        worth |= {"thread", *(["meeting", "crowded"] if rules.lanes_wait(program) else [])}
    if gain > USELESS:
        worth.add("warp")
    if any(is_errand(op) for block in program.graph for op in program.primitives_in_loop(block)):
        worth.add("in_turn")
    return chosen, [form for form in FORMS if form in worth]


def of_workload(name: str, inputs: int) -> tuple[Any, tuple[Any, ...]]:
    """The function of a workload, and a batch for it."""
    from benchmarks.kernels import CASES

    function, made, _ = CASES[name]
    module = importlib.import_module(f"benchmarks.workloads.{name}")
    return getattr(module, function), getattr(module, made)(inputs)


def of_sampler(name: str, inputs: int) -> tuple[Any, tuple[Any, ...]]:
    """The No-U-Turn Sampler for a problem, and chains before their first draw."""
    from benchmarks.nuts import ours, problems

    problem = getattr(problems, name)(inputs, SAMPLED[name])
    return ours.sampler(problem), (ours.start(problem),)


def lockstep(name: str, inputs: int) -> Callable[[], Any] | None:
    """A run of the workload under `jax.vmap`; None if it has no such contender."""
    if name in SAMPLED:
        return None
    from benchmarks.workload import Size

    module = importlib.import_module(f"benchmarks.workloads.{name}")
    contenders = module.WORKLOAD.contenders if hasattr(module, "WORKLOAD") else {}
    made = contenders.get("lockstep vmap")
    return None if made is None else made(Size(inputs, inputs)).run  # type: ignore[no-any-return]


def by_numba(name: str, arguments: Sequence[Any]) -> Callable[[], Any] | None:
    """A run of the workload as a kernel of numba.cuda; None if there is none, or numba or CUDA is not there."""
    try:
        from benchmarks.cuda_peers import peer
    except ImportError:
        return None
    return peer(name, arguments)


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    chosen = row.get("chosen")
    own, loop = row.get(chosen), row.get("loop")
    ratio = f"{loop / own:.2f}" if isinstance(own, float) and isinstance(loop, float) else "–"
    same = f"{row['same']:.1%}" if "same" in row else "–"
    firsts = ", ".join(f"{form} {seconds:.1f}" for form, seconds in row.get("first", {}).items())
    note = " (side by side)" if row.get("side by side") else ""
    forms = [f"**{_ms(row[form])}**" if form == chosen and form in row else _ms(row.get(form)) for form in FORMS]
    head = f"{row['workload']}, {row.get('inputs', 0):,}{note}"
    peers = (_ms(row.get(peer)) for peer in PEERS)
    cells = (head, *forms, _ms(row.get("failed", loop)), ratio, *peers, same, firsts)
    return f"| {' | '.join(cells)} |"


def _ms(value: Any) -> str:
    return f"{1e3 * value:.2f}" if isinstance(value, float) else str(value or "–").replace("|", "/")


if __name__ == "__main__":
    sys.exit(main())
