"""The measurements of a machine -> the cost of each kind of work in a lane by itself, in a gang and in XLA's loop.

``benchmarks.calibrate`` measures each kind of work alone, in a loop that does nothing else. A program's blocks do many
kinds at once: there most lanes wait while a few of them read an element, and operations share what they load. So the
costs below were fitted to whole workloads, on one machine. On another machine, each is multiplied by the ratio of its
measured time to the time on that machine.

The unit is an operation on one number in a lane by itself.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hlobatch.targets.profile import FORMS, Profile, server
from hlobatch.targets.work import Work


class Rates(NamedTuple):
    """The cost of each kind of work of one lane, in one form.

    Attributes:
        number: An operation on one number.
        function: A library function, such as ``exp``, of one number.
        wide: An operation on an element of an array.
        wide_function: A library function of an element of an array.
        polynomial: A function of an element of an array that code of lanes computes in vectors.
        product: A multiplication in a contraction with an array that all lanes share; a library, and a gang, do many at
            a time.
        own_product: A multiplication in a contraction with a matrix of the lane's own.
        read: A read by index; in XLA's loop, for a row, of each of its elements.
        update: An update by index.
        saved: Pushing or popping an element.
        call: A factorization, besides its multiplications.
        factored: A multiplication in a factorization.
    """

    number: float
    function: float
    wide: float
    wide_function: float
    polynomial: float
    product: float
    own_product: float
    read: float
    update: float
    saved: float
    call: float
    factored: float

    def of_computed(self, work: Work) -> float:
        """The cost of what is computed, without contractions."""
        cost = self.number * (work.whole + work.floats) + self.function * (work.functions - work.wide_functions)
        cost += self.wide * work.wide + self.wide_function * work.wide_functions + self.polynomial * work.polynomials
        return cost + self.call * work.calls + self.factored * work.factored

    def of_moved(self, work: Work) -> float:
        """The cost of contractions, and of the elements that are read, updated, pushed and popped."""
        products = self.product * (work.products - work.own_products) + self.own_product * work.own_products
        return products + self.read * work.reads + self.update * work.updates + self.saved * (work.saved + work.taped)

    def of(self, work: Work) -> float:
        """The cost of work whose lanes are all busy."""
        return self.of_computed(work) + self.of_moved(work)


FITTED: Final = {
    "lane": Rates(1, 20, 1 / 8, 20, 20 / 8, 0.09, 0.05, 1, 1, 2, 130, 1),
    "gang": Rates(0.2, 4, 0.1, 4, 4, 0.03, 0.03, 10, 40, 2, 0, 0.5),
    "loop": Rates(1 / 2.25, 20 / 2.25, 1 / 8, 20 / 8, 20 / 8, 0.06, 0.06, 10, 40, 7, 330, 1),
}
"""The costs in each form on the server of ``profiles/server.json``. Fitted in 2026-11 to the workloads of
``benchmarks.kernels`` (``lane``, ``loop``), those and NUTS that gangs are chosen for (``gang``), and the
factorizations of ``benchmarks.factorizations`` (``call``, ``factored``)."""
IN_VECTORS: Final = 1 / 8
"""The cost of an operation on one number in XLA's loop if operands and results stay in registers."""
MEASURED_BY: Final = {"wide_function": "function", "polynomial": "function", "own_product": "product"}
"""Kinds of work that no program of ``benchmarks.calibrate`` does alone, and those they are taken to change with."""
OF_FACTORIZATIONS: Final = ("call", "factored")
"""Kinds that both change with the time of a small factorization."""


def rates(form: str, profile: Profile) -> Rates:
    """The costs in a form on a machine.

    Args:
        form: One of ``FORMS``.
        profile: The measurements of the machine.
    """
    assert form in FORMS
    fitted = FITTED[form]._asdict().items()
    return Rates(**{kind: cost * _slower(form, _measured_by(kind), profile) for kind, cost in fitted})


def _measured_by(kind: str) -> str:
    return "factorization" if kind in OF_FACTORIZATIONS else MEASURED_BY.get(kind, kind)


def _slower(form: str, kind: str, profile: Profile) -> float:
    """The ratio of a kind's relative time on a machine to that on the server; 1 if it was not measured on both."""
    here, there = (each.relative(form, kind) for each in (profile, server()))
    return 1.0 if here is None or there is None else here / there
