"""Reverse mode: makes a typed program run forward, leaving a tape, and take cotangents back along it.

::

    def main(%main.x):                def main(%main.x, %main.$result:bar0):
      a:                                a: …; %$lane.came = 0; jump b              forward
        …; jump b                       b: push %$lane.came
      b:                                   %$lane.tape0 = %f.y; push %$lane.tape0
        %c = prim "y > 1" (%f.y)           %c = prim "y > 1" (%f.y)
        branch %c, d, e          ==>       branch %c, d, e
      d:                                d: …; %$lane.came = 1; jump b
        …; jump b                       …
      e:                                back.d: …; jump back.b                       and back
        halt                            back.b: pop %$lane.tape0; %f.y:bar0 = prim (%$lane.tape0, …)
                                           pop %$lane.came; branch came == 0, back.a, back.d

Each block has a counterpart that goes back through it: it takes what it needs from a tape, and turns the cotangents of
the variables live after the block into those of the variables live before it. If a block has several predecessors, a
tape records from which one the lane came. Each function has a counterpart, too, which takes the cotangents of its
results and returns those of its parameters; a call becomes a call of the counterpart, in reverse order. So lanes go
back at their own pace, as they went forward, and with a queue of inputs only the lanes in flight need tapes.

An input of main never changes (see ``prepared.py``): it is read directly, without a tape, and its cotangent is a sum of
the lane, to which every block adds.

Tapes are shared: a block takes the next free tape of the type it needs, since a tape is read in the reverse order.

Reference: Griewank and Walther, "Evaluating Derivatives", second edition, 2008, chapters 3 and 12. The tape of
    control flow is a stack of blocks, like the return addresses in Radul et al. (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlobatch.diagnostics import DerivativeError
from hlobatch.gradients.activity import active_arrays
from hlobatch.gradients.arrays import Array
from hlobatch.gradients.prepared import prepared
from hlobatch.gradients.recomputed import plain_copies, printing_once, recomputed, silent
from hlobatch.gradients.stretches import in_stretches
from hlobatch.gradients.variables import Variables
from hlobatch.gradients.ways import Ways
from hlobatch.ir.ops import PopOp, PushOp
from hlobatch.ir.program import MAIN, Program
from hlobatch.transforms.optimizations import ALL, Optimizations
from hlobatch.transforms.pipeline import with_few_blocks


@dataclass(frozen=True)
class WithCotangents:
    """A program that computes cotangents.

    Attributes:
        program: The program. Its first result is a pair of the result and a tuple of cotangents.
        inputs: The arrays of main's parameters whose cotangents it returns, in order; all other cotangents are
            zero.
        outputs: The arrays of the result whose cotangents it takes, in the order of main's last parameters.
    """

    program: Program
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def with_cotangents(
    program: Program,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    optimizations: Optimizations = ALL,
    *,
    checkpoint_loops: bool = False,
) -> WithCotangents:
    """The program with cotangents.

    Args:
        program: The program, typed, with calls.
        inputs: The arrays of main's parameters with respect to which derivatives are taken.
        outputs: The arrays of main's result whose cotangents are given.
        optimizations: Which passes run. Cheap branches become selects first: a lane keeps a tape for each block that it
            runs, and goes back through each.
        checkpoint_loops: Whether the way back computes loops again, stretch by stretch.

    Raises:
        DerivativeError: A primitive has no derivative, or the program keeps a tape already.
    """
    program = prepared(program)
    if any(isinstance(op, (PushOp, PopOp)) for op in program.ops):
        raise DerivativeError(
            "this reverse-mode derivative of a reverse-mode derivative cannot be taken",
            program.location,
            help="take one of the two in forward mode: jax.hessian(f), or jax.jvp of jax.grad(f).",
        )
    program = with_few_blocks(program, optimizations)
    program = printing_once(in_stretches(program) if checkpoint_loops else program)
    active = active_arrays(program, inputs, outputs)
    inputs = tuple(array for array in inputs if array in active)
    outputs = tuple(array for array in outputs if array in active)
    variables = Variables(program, active)
    main, *others = (Ways(variables, function) for function in program.all_functions)
    again = recomputed(program)
    forward = [ways.forward() for ways in others]
    if program.effects:  # the functions without derivatives have had these effects
        forward = [silent(function) if function.name in again else function for function in forward]
    functions = (*forward, *(ways.backward() for ways in others), *plain_copies(variables, again))
    made = program.replace(functions=functions).with_functions({MAIN: main.both(inputs, outputs)})
    mentioned = {v for f in made.all_functions for v in (*f.vars_in, *f.vars_out)}
    mentioned |= {v for op in made.ops for v in (*op.uses, *op.defs)}
    types = {v: type_ for v, type_ in variables.types.items() if v in mentioned}
    return WithCotangents(made.replace(var_defs=types), inputs, outputs)
