"""Code whose derivatives are taken by rules of this package where JAX's rules may give a NaN.

::

    jaxpr    ==>    a function of arrays, of which jax.vjp or jax.jvp takes these rules: ``extremes.py``, ``zeros.py``
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hlobatch._jax import ClosedJaxpr, Equation, Jaxpr, Literal, called_by, in_place_of
from hlobatch.gradients.extremes import is_extreme, of_extreme
from hlobatch.gradients.zeros import Rule, is_called
from hlobatch.ir.evaluation import as_it_is, known_at_first, values_of
from hlobatch.typing import ArrayLike


@dataclass(frozen=True)
class Rules:
    """The rules for one primitive's code.

    Attributes:
        varied: The positions of the arrays with respect to which derivatives will be taken.
        steep: The identities of the equations that keep zeros, as ``certain.py`` finds them.
        of_steep: Their rule of ``zeros.py``, for the mode in which derivatives will be taken.
    """

    varied: Collection[int] = ()
    steep: Collection[int] = ()
    of_steep: Rule = as_it_is

    def concern(self, closed: ClosedJaxpr) -> bool:
        """Whether an equation of a jaxpr has such a rule, also in jaxprs that it calls."""
        return any(
            is_extreme(e) or id(e) in self.steep or (is_called(e) and self.concern(called_by(e)))
            for e in closed.jaxpr.eqns
        )

    def applied(self, closed: ClosedJaxpr) -> Callable[..., list[Any]]:
        """The jaxpr as a function of arrays that has these derivatives."""
        jaxpr: Jaxpr = closed.jaxpr

        def run(*arrays: ArrayLike) -> list[Any]:
            known = known_at_first(closed, arrays)
            varied = {jaxpr.invars[place] for place in self.varied}
            for equation in jaxpr.eqns:
                places = [i for i, v in enumerate(equation.invars) if not isinstance(v, Literal) and v in varied]
                varied.update(equation.outvars if places else ())
                with in_place_of(equation):
                    results = replace(self, varied=places)._results(equation, values_of(equation.invars, known))
                known.update(zip(equation.outvars, results, strict=True))
            return values_of(jaxpr.outvars, known)

        return run

    def _results(self, equation: Equation, given: Sequence[Any]) -> Sequence[Any]:
        if not self.varied:
            return as_it_is(equation, given)
        if is_extreme(equation):
            return of_extreme(equation, given)
        if id(equation) in self.steep:
            return self.of_steep(equation, given)
        if is_called(equation) and self.concern(called := called_by(equation)):
            return self.applied(called)(*given)
        return as_it_is(equation, given)


NO_RULES: Final = Rules()
