"""A graph of blocks and a dataflow problem -> its solution at each block's borders, by one worklist for all problems.

An analysis is a record: a direction, the value at the boundary, how values merge where paths meet, and the effect of a
block. Values are compared with ``==`` and have to form a lattice of finite height.

Reference: Kildall (1973); the shape of the record is that of textbook frameworks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from hlobatch.ir.ops import HALT
from hlobatch.ir.program import Block, ControlFlowGraph

T = TypeVar("T")


@dataclass(frozen=True)
class Dataflow(Generic[T]):
    """A dataflow problem.

    Attributes:
        forward: Whether facts flow along control (else against it).
        boundary: The value at the entry (forward) or at ``HALT`` (backward).
        initial: The value assumed where nothing is known yet: the neutral element of ``merge``.
        merge: Joins the values of several paths.
        transfer: The value on the far side of a block, given that on the near side.
    """

    forward: bool
    boundary: T
    initial: T
    merge: Callable[[Iterable[T]], T]
    transfer: Callable[[Block, T], T]


@dataclass(frozen=True)
class Solution(Generic[T]):
    """Values at the edges of each block, by name: ``before`` its first operation and ``after`` its last."""

    before: Mapping[str, T]
    after: Mapping[str, T]


def solve(graph: ControlFlowGraph, problem: Dataflow[T]) -> Solution[T]:
    """The least solution of a dataflow problem."""
    near: dict[str, T] = {block.name: problem.initial for block in graph}
    far: dict[str, T] = {block.name: problem.initial for block in graph}
    successors = {block.name: tuple(dict.fromkeys(block.successors)) for block in graph}
    sources, targets = (graph.predecessors, successors) if problem.forward else (successors, graph.predecessors)
    entry = graph.enter_block().name
    order = [block.name for block in graph.blocks]
    work = OrderedDict.fromkeys(order if problem.forward else reversed(order))
    while work:
        name, _ = work.popitem(last=False)
        values = [problem.boundary if source == HALT else far[source] for source in sources[name]]
        if problem.forward and name == entry:
            values.append(problem.boundary)
        near[name] = problem.merge(values)
        result = problem.transfer(graph.block(name), near[name])
        if result != far[name]:
            far[name] = result
            work.update(dict.fromkeys(t for t in targets[name] if t != HALT))
    return Solution(near, far) if problem.forward else Solution(far, near)
