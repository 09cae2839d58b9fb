"""The strategies of all benchmark workloads on two machines: ``python test/py/strategies.py`` writes them to a file.

A strategy is a value, so that code which decides it can be moved, and be shown to decide the same. There is a line for
each size of a workload and each machine: a processor and a GPU. The number of operations of a program
is left out, since releases of JAX differ in it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import benchmarks.compile as ready
import hlobatch as hb
from benchmarks.registry import MODULES, find
from hlobatch.runtime.plan import Plan
from hlobatch.strategy.plan_run import Policies, plan_run
from hlobatch.strategy.strategy import Strategy
from hlobatch.targets.registry import target_of
from hlobatch.targets.target import Target

COUNTED = re.compile(r"[\d,]+ operations")
GOLDEN = Path(__file__).with_name("strategies.txt")


class _Caught(BaseException):
    """Raised in place of the compilation of a workload, with its function and arguments."""


def _catch(function: hb.BatchedFunction, args: Any, **options: Any) -> Any:
    for name in ("work", "comparable", "inside_jit"):
        options.pop(name, None)
    raise _Caught(hb.batch(function.function, in_axes=function.in_axes, **options), args)


def targets() -> dict[str, Target]:
    """Machines, by name."""
    return {"cpu": replace(target_of("cpu"), threads=2), "gpu": target_of("gpu")}


def plan_of(name: str, size: Any) -> tuple[Plan, int]:
    """The plan of a workload, and its batch."""
    with mock.patch.object(ready, "batched", _catch):
        try:
            find(name).contenders["hlobatch"](size)
        except _Caught as caught:
            function, args = caught.args
    traced = function.trace(*args)
    return traced.plan, traced.call.size


def _told(strategy: Strategy) -> dict[str, Any]:
    """The fields of a strategy, by name."""
    of_batch = {name: getattr(strategy, name) for name in ("inputs", "lanes", "has_queue")}
    of_all = {name: getattr(strategy.policy, name) for name in ("form", "schedule", "rounds", "share")}
    why = {"reason": strategy.policy.reason, "why_so_many": strategy.policy.why_so_many if strategy.has_queue else ""}
    undivided = strategy.policy.undivided
    return of_batch | of_all | why | {"undivided": undivided}


def lines(name: str) -> Iterator[str]:
    """The lines of a workload: its strategy for each size and machine."""
    for size in find(name).sizes:
        plan, inputs = plan_of(name, size)
        for machine, target in targets().items():
            policies = Policies.of(plan.programs.in_program_order, plan.options, target)
            threads = policies.policy.threads_for(inputs)
            strategy = plan_run(policies, -(-inputs // threads))
            verdict = target.judge(plan.programs.of_a_lane)
            said = ", ".join(f"{name}={value}" for name, value in _told(strategy).items())
            said = COUNTED.sub("N operations", re.sub(r"up to [\d,]+ lanes", "up to N lanes", said))
            verdict = verdict.of_batch(inputs)
            form = "in gangs" if verdict.is_gang else f"by themselves {verdict.by_themselves}"
            yield f"{name}, {size}, {machine}: {form}, {threads} threads, {said}\n"


if __name__ == "__main__":
    GOLDEN.write_text("".join(line for name in MODULES for line in lines(name)))
