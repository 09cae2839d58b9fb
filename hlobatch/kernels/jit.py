"""A module of LLVM IR -> machine code, by ``llvmlite``: for this processor, ready to call, or for another, as assembly.

``llvmlite`` is imported in this module only, and only when there is something to compile.
"""

from __future__ import annotations

import ctypes
import platform
from dataclasses import dataclass
from functools import cache
from typing import Any

from hlobatch.kernels.grid import RUN
from hlobatch.kernels.types import NoKernelError


@cache
def _llvm() -> Any:
    """The module ``llvmlite.binding``, initialized.

    Raises:
        NoKernelError: It cannot be imported.
    """
    try:
        import llvmlite.binding as llvm  # noqa: PLC0415  # slow to import, and optional
    except Exception as error:  # noqa: BLE001  # a library that does not load raises anything
        raise NoKernelError(f"`llvmlite` cannot be imported ({type(error).__name__}: {error})") from None
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


@cache
def vector_bits() -> int:
    """Bits of the widest vectors of this processor."""
    known = _llvm().get_host_cpu_features()
    return 512 if known.get("avx512f") else 256 if known.get("avx2") else 128


def check_there() -> None:
    """Raise ``NoKernelError`` if there is no LLVM."""
    _llvm()


@dataclass(frozen=True, eq=False)
class Code:
    """Machine code for this processor.

    Attributes:
        run: ``run(arrays, call)``, given two pointers; it releases Python's global lock while it runs.
        address: The address of ``run``.
        engine: The LLVM engine that owns the code.
        text: The LLVM IR that it was made of.
        level: LLVM's optimization level.
    """

    run: Any
    address: int
    engine: Any
    text: str
    level: int

    @property
    def assembly(self) -> str:
        """The machine code as text."""
        target = _host(self.level)
        return str(target.emit_assembly(_optimized(self.text, target, self.level)))


def compiled(text: str, level: int = 3) -> Code:
    """The machine code of a module with ``@run``.

    Args:
        text: LLVM IR.
        level: LLVM's optimization level, 0 to 3.

    Raises:
        NoKernelError: LLVM does not take it.
    """
    engine = _loaded(text, level)
    address = engine.get_function_address(RUN)
    signature = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
    return Code(signature(address), address, engine, text, level)


def loaded(text: str) -> Any:
    """The LLVM engine that owns the machine code of a module.

    Raises:
        NoKernelError: LLVM does not take it.
    """
    return _loaded(text, 3)


def _loaded(text: str, level: int) -> Any:
    llvm, target = _llvm(), _host(level)
    module = _optimized(text, target, level)
    _check_resolved(module)
    engine = llvm.create_mcjit_compiler(module, target)
    engine.enable_jit_events()
    engine.finalize_object()
    return engine


def assembly(text: str, triple: str, processor: str, features: str = "", library: bytes = b"", kept: str = "") -> str:
    """The code of a module for another processor, as text.

    Args:
        text: LLVM IR.
        triple: LLVM's target triple.
        processor: LLVM's name of the processor.
        features: Its features, as LLVM names them.
        library: Functions that the module calls, as LLVM's bitcode.
        kept: If there is a library, the function that is called from outside; all others become internal.

    Raises:
        NoKernelError: LLVM does not take it.
    """
    target = _llvm().Target.from_triple(triple).create_target_machine(cpu=processor, features=features, opt=3)
    return str(target.emit_assembly(_optimized(text, target, 3, library, kept)))


def _host(level: int = 3) -> Any:
    """A target machine for this processor, made anew for each engine, since an engine takes ownership of it."""
    llvm = _llvm()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=level
    )


def _check_resolved(module: Any) -> None:
    """Raise ``NoKernelError`` if a module calls a function that this process lacks, since the call would crash it."""
    names = (f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm."))
    missing = [name for name in names if not _is_here(name)]
    if missing:
        raise NoKernelError(f"this process has no function `{missing[0]}`")
    if " half " in str(module) and platform.machine() == "x86_64" and not _llvm().get_host_cpu_features().get("f16c"):
        raise NoKernelError("this processor does not convert floats of 16 bits")


@cache
def _is_here(name: str) -> bool:
    """Whether this process has a function of that name, by the same look-up that LLVM's engine uses."""
    try:
        return hasattr(ctypes.CDLL(None), name)
    except (OSError, TypeError):  # a system without a global table of symbols
        return False


def check(text: str) -> None:
    """Raise ``NoKernelError`` if LLVM does not take a module, for whatever processor."""
    _parsed(text)


def _parsed(text: str, library: bytes = b"", kept: str = "") -> Any:
    """The parsed module, linked with a library if there is one."""
    llvm = _llvm()
    try:
        module = llvm.parse_assembly(text)
        if library:
            functions = llvm.parse_bitcode(library)
            functions.triple, functions.data_layout = module.triple, module.data_layout
            module.link_in(functions)
            for function in module.functions:
                if not function.is_declaration and function.name != kept:
                    function.linkage = "internal"
        module.verify()
    except RuntimeError as error:
        raise NoKernelError(f"LLVM does not take its code ({str(error).strip()[:200]})") from None
    return module


def _optimized(text: str, target: Any, level: int, library: bytes = b"", kept: str = "") -> Any:
    """A module after LLVM's own passes."""
    llvm, module = _llvm(), _parsed(text, library, kept)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    return module
