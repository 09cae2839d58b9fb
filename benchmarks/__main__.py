"""`python -m benchmarks`: measure, print, and write JSON."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

import jax

from benchmarks import registry, results
from benchmarks.measure import DisagreementError, Effort, measure
from benchmarks.workload import Size, Workload

QUICK = Effort(repetitions=5, seconds=2.0)
QUICK_SIZE = Size(lanes=100, inputs=100)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit status."""
    args = _parse(arguments)
    if args.list:
        for name in registry.MODULES:
            print(f"{name:14s} {registry.find(name).title}")
        return 0
    unknown = sorted(set(args.names) - set(registry.MODULES))
    if unknown:
        print(f"no such workload: {', '.join(unknown)}; --list names them", file=sys.stderr)
        return 2
    effort = Effort(args.repetitions or QUICK.repetitions, args.seconds or QUICK.seconds) if args.quick else Effort()
    effort = Effort(args.repetitions or effort.repetitions, args.seconds or effort.seconds)
    environment = results.environment()
    path = None if args.json is None else results.file_of(args.json, environment)
    failed = False
    for name in args.names or registry.MODULES:
        workload = registry.find(name)
        for size in sizes(workload, args.lanes, args.inputs, args.quick):
            try:
                rows = measure(workload, size, effort, only=args.contenders)
            except DisagreementError as error:
                print(f"{name}, {size}: {error}", file=sys.stderr)
                failed = True
                continue
            if path is not None:
                new = [row | {"environment": environment} for row in rows]
                results.save(path, results.merge(results.load(path), new, list(registry.MODULES)))
            jax.clear_caches()
            gc.collect()
    return int(failed)


def sizes(workload: Workload, lanes: list[int] | None, inputs: int | None, quick: bool) -> tuple[Size, ...]:
    """The sizes to run: those asked for, else the workload's own."""
    if lanes is not None:
        return tuple(Size(count, inputs or count) for count in lanes)
    if inputs is not None:
        return tuple(dict.fromkeys(Size(min(size.lanes, inputs), inputs) for size in workload.sizes))
    return (QUICK_SIZE,) if quick else workload.sizes


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="workloads; all if none is named")
    parser.add_argument("--lanes", type=_numbers, metavar="N,N…", help="examples in flight at once")
    parser.add_argument("--inputs", type=int, metavar="N", help="examples in all; as many as lanes if not given")
    parser.add_argument("--repetitions", type=int, metavar="N", help="rounds at most")
    parser.add_argument("--seconds", type=float, metavar="S", help="of timed runs per size")
    parser.add_argument("--contenders", nargs="+", metavar="NAME", help="besides hlobatch; all if not given")
    parser.add_argument("--json", type=Path, metavar="FILE", help="update this file, or the platform's in this folder")
    parser.add_argument("--quick", action="store_true", help="one small size each, few repetitions")
    parser.add_argument("--list", action="store_true", help="list the workloads")
    return parser.parse_args(arguments)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
