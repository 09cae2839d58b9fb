"""The operations of the dialect as classes; generated from ``Autobatch.td`` by ``hlobatch.dialect.generate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from hlobatch.dialect.op_base import Anything, Flag, Op, OptionalText, Symbol, Symbols, Text, registered


@final
@registered
class ProgramOp(Op):
    """Marks a module as a program, and names its entry function."""

    OPERATION_NAME = "autobatch.program"
    CONSTRAINTS = ("program_c1", "program_c2", "program_c3", "program_c4", "program_c5", "program_c6", "program_c7")
    PARENT = "builtin.module"
    entry = Symbol()

    def __init__(self, entry: str, *, loc: Any = None, ip: Any = None) -> None:
        self._build([], loc, ip, entry=entry)


@final
@registered
class FuncOp(Op):
    """A function: basic blocks, parameters, results."""

    OPERATION_NAME = "autobatch.func"
    CONSTRAINTS = ("func_c1", "func_c2", "func_c3", "func_c4")
    PARENT = "builtin.module"
    _ODS_REGIONS = (1, True)
    sym_name = Text()
    ins = Symbols()
    outs = Symbols()

    def __init__(
        self, sym_name: str, ins: Sequence[str], outs: Sequence[str], *, loc: Any = None, ip: Any = None
    ) -> None:
        self._build([], loc, ip, sym_name=sym_name, ins=ins, outs=outs)


@final
@registered
class VarOp(Op):
    """Declares a variable: what one lane holds in it, and how it is stored."""

    OPERATION_NAME = "autobatch.var"
    CONSTRAINTS = ("var_c1", "var_c2", "alloc_c1", "alloc_c2", "alloc_c3", "alloc_c4")
    PARENT = "builtin.module"
    sym_name = Text()
    pattern = Anything()
    allocation = OptionalText()

    def __init__(
        self, sym_name: str, pattern: Any, allocation: str | None = None, *, loc: Any = None, ip: Any = None
    ) -> None:
        self._build([], loc, ip, sym_name=sym_name, pattern=pattern, allocation=allocation)


@final
@registered
class LabelOp(Op):
    """Names its block."""

    OPERATION_NAME = "autobatch.label"
    CONSTRAINTS = ("label_c1",)
    PARENT = "autobatch.func"
    name = Text()
    sync = Flag()

    def __init__(self, name: str, sync: bool = False, *, loc: Any = None, ip: Any = None) -> None:
        self._build([], loc, ip, name=name, sync=sync)


@final
@registered
class PrimOp(Op):
    """Runs straight-line code: `y = f(x)`."""

    OPERATION_NAME = "autobatch.prim"
    CONSTRAINTS = ("prim_c1", "prim_c2", "prim_c3", "prim_c4")
    PARENT = "autobatch.func"
    callee = Symbol()
    ins = Symbols()
    outs = Symbols()
    text = OptionalText()

    def __init__(
        self,
        callee: str,
        ins: Sequence[str],
        outs: Sequence[str],
        text: str | None = None,
        *,
        loc: Any = None,
        ip: Any = None,
    ) -> None:
        self._build([], loc, ip, callee=callee, ins=ins, outs=outs, text=text)


@final
@registered
class MoveOp(Op):
    """Copies variables, all at once."""

    OPERATION_NAME = "autobatch.move"
    CONSTRAINTS = ("prim_c1", "move_c1", "move_c2")
    PARENT = "autobatch.func"
    ins = Symbols()
    outs = Symbols()
    text = OptionalText()

    def __init__(
        self, ins: Sequence[str], outs: Sequence[str], text: str | None = None, *, loc: Any = None, ip: Any = None
    ) -> None:
        self._build([], loc, ip, ins=ins, outs=outs, text=text)


@final
@registered
class CallOp(Op):
    """Calls a function of the program: `y = f(x)`."""

    OPERATION_NAME = "autobatch.call"
    CONSTRAINTS = ("call_c1", "call_c2", "call_c3", "call_c4", "call_c5")
    PARENT = "autobatch.func"
    callee = Symbol()
    ins = Symbols()
    outs = Symbols()

    def __init__(
        self, callee: str, ins: Sequence[str], outs: Sequence[str], *, loc: Any = None, ip: Any = None
    ) -> None:
        self._build([], loc, ip, callee=callee, ins=ins, outs=outs)


@final
@registered
class PushOp(Op):
    """Saves the current values of variables."""

    OPERATION_NAME = "autobatch.push"
    CONSTRAINTS = ("push_c1",)
    PARENT = "autobatch.func"
    variables = Symbols()

    def __init__(self, variables: Sequence[str], *, loc: Any = None, ip: Any = None) -> None:
        self._build([], loc, ip, variables=variables)


@final
@registered
class PopOp(Op):
    """Restores the values of variables that were saved last."""

    OPERATION_NAME = "autobatch.pop"
    CONSTRAINTS = ("push_c1",)
    PARENT = "autobatch.func"
    variables = Symbols()

    def __init__(self, variables: Sequence[str], *, loc: Any = None, ip: Any = None) -> None:
        self._build([], loc, ip, variables=variables)


@final
@registered
class BranchOp(Op):
    """Branches on a condition."""

    OPERATION_NAME = "autobatch.branch"
    CONSTRAINTS = ("branch_c1",)
    PARENT = "autobatch.func"
    IS_TERMINATOR = True
    SUCCESSORS = ("true_dest", "false_dest")
    condition = Symbol()

    def __init__(self, condition: str, true_dest: Any, false_dest: Any, *, loc: Any = None, ip: Any = None) -> None:
        self._build([true_dest, false_dest], loc, ip, condition=condition)


@final
@registered
class JumpOp(Op):
    """Goes to a block."""

    OPERATION_NAME = "autobatch.jump"
    PARENT = "autobatch.func"
    IS_TERMINATOR = True
    SUCCESSORS = ("dest",)

    def __init__(self, dest: Any, *, loc: Any = None, ip: Any = None) -> None:
        self._build([dest], loc, ip)


@final
@registered
class PushJumpOp(Op):
    """A lowered call: saves the return address, and jumps."""

    OPERATION_NAME = "autobatch.push_jump"
    CONSTRAINTS = ("push_jump_c1", "push_jump_c2", "push_jump_c3")
    PARENT = "autobatch.func"
    IS_TERMINATOR = True
    SUCCESSORS = ("dest", "return_dest")
    counter = Symbol()

    def __init__(self, counter: str, dest: Any, return_dest: Any, *, loc: Any = None, ip: Any = None) -> None:
        self._build([dest, return_dest], loc, ip, counter=counter)


@final
@registered
class IndirectJumpOp(Op):
    """A lowered return: jumps to the return address."""

    OPERATION_NAME = "autobatch.indirect_jump"
    CONSTRAINTS = ("push_jump_c3",)
    PARENT = "autobatch.func"
    IS_TERMINATOR = True
    counter = Symbol()

    def __init__(self, counter: str, *, loc: Any = None, ip: Any = None) -> None:
        self._build([], loc, ip, counter=counter)


@final
@registered
class ReturnOp(Op):
    """Leaves the function."""

    OPERATION_NAME = "autobatch.return"
    PARENT = "autobatch.func"
    IS_TERMINATOR = True

    def __init__(self, *, loc: Any = None, ip: Any = None) -> None:
        self._build([], loc, ip)


CONSTRAINTS: Final = (
    "ods_c1",
    "program_c1",
    "program_c2",
    "program_c3",
    "program_c4",
    "program_c5",
    "program_c6",
    "program_c7",
    "func_c1",
    "func_c2",
    "func_c3",
    "func_c4",
    "var_c1",
    "var_c2",
    "alloc_c1",
    "alloc_c2",
    "alloc_c3",
    "alloc_c4",
    "label_c1",
    "prim_c1",
    "prim_c2",
    "prim_c3",
    "prim_c4",
    "move_c1",
    "move_c2",
    "call_c1",
    "call_c2",
    "call_c3",
    "call_c4",
    "call_c5",
    "push_c1",
    "branch_c1",
    "push_jump_c1",
    "push_jump_c2",
    "push_jump_c3",
)
"""The labels of all constraints, in the order of the definition."""
