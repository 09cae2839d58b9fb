"""hlobatch: ordinary single-example Python as one batched StableHLO program.

Branches, loops, early returns and recursion are kept per example: every member of the batch has its own program
counter, and one step runs one basic block for all members that wait there.
"""

from hlobatch import debug, instructions, stackless, virtual_machine
from hlobatch.analysis.surroundings import Surroundings
from hlobatch.api import BatchedFunction, batch, disable_batching, sync, truthy
from hlobatch.console import Progress
from hlobatch.context import Context
from hlobatch.diagnostics import (
    ArtifactError,
    BatchTypeError,
    CapacityError,
    DerivativeError,
    HloBatchError,
    IntegerOverflowError,
    Interrupted,
    KernelError,
    LaneError,
    LetterError,
    LimitError,
    MemoryLimitError,
    MissingValueError,
    ParseError,
    ProfileError,
    StackOverflowError,
    StateError,
    StepLimitError,
    TimeLimitError,
    UndefinedVariableError,
    UnsupportedSyntaxError,
    VerificationError,
)
from hlobatch.export import Artifact, export, load
from hlobatch.frontend.checkpoints import checkpoint
from hlobatch.frontend.growing_items import capacity
from hlobatch.instructions import Program, TensorType, Type, VariableAllocation
from hlobatch.prelude import stands_for
from hlobatch.profiling.profile import Profile, profile
from hlobatch.runtime.callers import at_the_call
from hlobatch.runtime.long_runs import RunState
from hlobatch.runtime.stats import BlockStats, RunStats
from hlobatch.stages import Compiled, Lowered, Traced
from hlobatch.streaming import Stream, stream
from hlobatch.transforms.optimizations import Optimizations
from hlobatch.value_and_grad import value_and_grad
from hlobatch.values.ragged import Ragged

__version__ = "0.1.0.dev0"

__all__ = [
    "Artifact",
    "ArtifactError",
    "BatchTypeError",
    "BatchedFunction",
    "BlockStats",
    "CapacityError",
    "Compiled",
    "Context",
    "DerivativeError",
    "HloBatchError",
    "IntegerOverflowError",
    "Interrupted",
    "KernelError",
    "LaneError",
    "LetterError",
    "LimitError",
    "Lowered",
    "MemoryLimitError",
    "MissingValueError",
    "Optimizations",
    "ParseError",
    "Profile",
    "ProfileError",
    "Program",
    "Progress",
    "Ragged",
    "RunState",
    "RunStats",
    "StackOverflowError",
    "StateError",
    "StepLimitError",
    "Stream",
    "Surroundings",
    "TensorType",
    "TimeLimitError",
    "Traced",
    "Type",
    "UndefinedVariableError",
    "UnsupportedSyntaxError",
    "VariableAllocation",
    "VerificationError",
    "at_the_call",
    "batch",
    "capacity",
    "checkpoint",
    "debug",
    "disable_batching",
    "export",
    "instructions",
    "load",
    "profile",
    "stackless",
    "stands_for",
    "stream",
    "sync",
    "truthy",
    "value_and_grad",
    "virtual_machine",
]
