"""The variables that the way back through a program needs: cotangents, sums, and tapes.

::

    %f.x:bar0                the cotangent of the first array of %f.x
    %$lane.sum:main.x:0      the sum of the cotangents of an input of main, to which every block adds
    %$lane.tape0             a tape; it is read in the reverse order, so that all blocks may share it
    %$lane.came              the number of the predecessor that a lane came from, with its own tape
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import numpy as np

from hlobatch.gradients.arrays import Array, arrays_of, own_type, tensor_of
from hlobatch.gradients.certain import Used
from hlobatch.ir.names import OF_A_LANE, SUM, NewNames
from hlobatch.ir.program import Program
from hlobatch.ir.types import TensorType, Type, tensor

CAME: Final = f"{OF_A_LANE}came"


class Variables:
    """Names and types of new variables.

    Attributes:
        program: The program, prepared for derivatives.
        active: The arrays that have cotangents.
        used: The arrays that are used on every path.
        types: Types of all variables; those of new variables are added.
    """

    def __init__(self, program: Program, active: Collection[Array]) -> None:
        self.program, self.active, self.used = program, active, Used(program)
        self.types: dict[str, Type] = {**program.var_defs, CAME: tensor(np.int32)}
        self._new_name = NewNames(self.types)
        self._tapes: dict[TensorType, list[str]] = collections.defaultdict(list)
        self._bars = {a: self.like(a, f"{a.variable}:bar{a.place}") for a in sorted(active) if not self.is_input(a)}
        self._sums = {a: self.like(a, f"{SUM}{a.variable}:{a.place}") for a in sorted(active) if self.is_input(a)}

    def new(self, name: str, type_: Type) -> str:
        """A new variable of a type, with that name or a similar one."""
        name = self._new_name(name)
        self.types[name] = type_
        return name

    def like(self, array: Array, name: str) -> str:
        """A new variable for an array like this one, with that name or a similar one."""
        return self.new(name, own_type(tensor_of(array, self.types)))

    def is_input(self, array: Array) -> bool:
        """Whether an array belongs to one of main's inputs, which never change."""
        return array.variable in self.program.vars_in

    def bar(self, array: Array) -> str:
        """The variable of an array's cotangent."""
        return self._bars[array]

    def sum_of(self, array: Array) -> str:
        """The variable in which a lane sums the cotangent of an array of main's inputs."""
        return self._sums[array]

    def has_bar(self, array: Array) -> bool:
        """Whether an array's cotangent has a variable, and is not a lane's sum."""
        return array in self._bars

    def with_bars(self, variables: Iterable[str]) -> list[Array]:
        """The arrays of some variables whose cotangents have variables."""
        return [array for v in variables for array in arrays_of(v, self.types) if array in self._bars]

    def tapes_for(self, arrays: Sequence[Array]) -> list[str]:
        """A tape of the right type for each array, all of them different."""
        taken: collections.Counter[TensorType] = collections.Counter()
        found = []
        for array in arrays:
            type_ = own_type(tensor_of(array, self.types))
            tapes = self._tapes[type_.tensor_leaves[0]]
            place = taken[type_.tensor_leaves[0]]
            if place == len(tapes):
                tapes.append(self.new(f"{OF_A_LANE}tape{sum(map(len, self._tapes.values()))}", type_))
            found.append(tapes[place])
            taken[type_.tensor_leaves[0]] += 1
        return found
