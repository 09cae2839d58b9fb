"""One step of Bogacki and Shampine's method of order 3 with an error estimate, shared by the ODE workloads.

Reference:
    Bogacki and Shampine, "A 3(2) pair of Runge-Kutta formulas", Applied Mathematics Letters 2, 1989.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

RELATIVE = 1e-4
ABSOLUTE = 1e-4
FIRST_STEP = 0.05

Field = Callable[[Array, Array], Array]
"""The vector field of an ODE: time and state -> slope."""


def step(field: Field, t: Array, y: Array, slope: Array, h: Array) -> tuple[Array, Array, Array]:
    """The state after `h`, the slope there, and the error in units of the tolerance."""
    second = field(t + h / 2, y + h / 2 * slope)
    third = field(t + 3 * h / 4, y + 3 * h / 4 * second)
    proposal = y + h * (2 * slope + 3 * second + 4 * third) / 9
    last = field(t + h, proposal)
    difference = h * (-5 * slope + 6 * second + 8 * third - 9 * last) / 72
    scale = ABSOLUTE + RELATIVE * jnp.maximum(jnp.abs(y), jnp.abs(proposal))
    return proposal, last, jnp.sqrt(jnp.mean((difference / scale) ** 2))


def growth(error: Array) -> Array:
    """The factor between the lengths of the next step and of this one."""
    return jnp.clip(0.9 * jnp.maximum(error, 1e-10) ** (-1 / 3), 0.2, 10.0)
