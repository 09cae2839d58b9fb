"""How a run is built for XLA's CPU backend -> the passes that its module goes through once it has been built, in order.

::

    put-in-loops      in a run that is one kernel: loops in place of operations that would call a library
    hold              in a run that is one kernel: values that XLA would compute at each use are computed once
    in-one-kernel     in a run that is one kernel: ``main`` becomes a call of that kernel
    in-small-kernels  in a run of several kernels: operations on little data that follow each other become one kernel
    dots-in-loops     loops in place of all contractions in kernels, unless XLA is asked to call no library for them
    reduce-twofold    reductions over many numbers are written so that XLA makes no trees of them
"""

from __future__ import annotations

from functools import partial
from typing import Any

from hlobatch.lowering.idiom import Ahead
from hlobatch.lowering.module.passes import ModulePass
from hlobatch.lowering.module.splice import Splicer
from hlobatch.targets.cpu.held import hold
from hlobatch.targets.cpu.in_loops import put_dots_in_loops, put_in_loops
from hlobatch.targets.cpu.one_kernel import in_one_kernel
from hlobatch.targets.cpu.small_kernels import in_small_kernels
from hlobatch.targets.cpu.twofold import reduce_twofold


def of_one_kernel(
    module: Any, splicer: Splicer, ahead: Ahead | None, *, scatters_in_loops: bool, passes_left_out: bool
) -> dict[str, ModulePass]:
    """Passes for a run that is one kernel.

    Args:
        module: The module, whose sizes are known.
        splicer: That built it, and adds functions to it.
        ahead: What is computed before the kernel is called.
        scatters_in_loops: Whether scatters are loops of ours.
        passes_left_out: Whether XLA is asked to call no library, and to make no trees of reductions.
    """
    passes: dict[str, ModulePass] = {
        "put-in-loops": partial(put_in_loops, module, splicer, with_scatters=scatters_in_loops),
        "hold": partial(hold, module),
        "in-one-kernel": partial(in_one_kernel, module, ahead),
    }
    if not passes_left_out:
        passes["dots-in-loops"] = partial(put_dots_in_loops, module, splicer)
        passes["reduce-twofold"] = partial(reduce_twofold, module, sums_stay=False)
    return passes


def of_several_kernels(module: Any, splicer: Splicer, *, small: bool) -> dict[str, ModulePass]:
    """Passes for a run of several kernels on one CPU.

    Args:
        module: The module, whose sizes are known.
        splicer: That built it, and adds functions to it.
        small: Whether what works on little is in kernels of its own.
    """
    passes: dict[str, ModulePass] = {}
    if small:
        passes["in-small-kernels"] = partial(in_small_kernels, module)
        passes["dots-in-loops"] = partial(put_dots_in_loops, module, splicer)
    passes["reduce-twofold"] = partial(reduce_twofold, module, sums_stay=True)
    return passes
