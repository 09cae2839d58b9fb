"""The structs of XLA's foreign function interface that a handler reads, and a check of them against XLA's header.

Another version of XLA may lay out a call differently. ``version`` compares the fields that the header declares with
those known here, and returns None if any differs; then XLA calls no kernel.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any, Final

_POINTER: Final = ctypes.c_void_p


def _struct(*begin: tuple[str, Any], **fields: Any) -> Any:
    """A C struct, from the names and types of its fields."""
    return type("Struct", (ctypes.Structure,), {"_fields_": [*begin, *fields.items()]})


_PART: Final = (("struct_size", ctypes.c_size_t), ("extension_start", _POINTER))
"""The first fields of most structs."""
_SIZED: Final = ("struct_size", ctypes.c_size_t)

Args: Final = _struct(*_PART, size=ctypes.c_int64, types=_POINTER, args=_POINTER)
Rets: Final = _struct(*_PART, size=ctypes.c_int64, types=_POINTER, rets=_POINTER)
Attrs: Final = _struct(*_PART, size=ctypes.c_int64, types=_POINTER, names=_POINTER, attrs=_POINTER)
CallFrame: Final = _struct(
    *_PART, api=_POINTER, ctx=_POINTER, stage=ctypes.c_int32, args=Args, rets=Rets, attrs=Attrs, future=_POINTER
)
Buffer: Final = _struct(*_PART, dtype=ctypes.c_int32, data=_POINTER, rank=ctypes.c_int64, dims=_POINTER)
Version: Final = _struct(*_PART, major_version=ctypes.c_int32, minor_version=ctypes.c_int32)
Metadata: Final = _struct(_SIZED, api_version=Version, traits=ctypes.c_uint32)
ExtensionBase: Final = _struct(_SIZED, type=ctypes.c_int32, next=_POINTER)
MetadataExtension: Final = _struct(extension_base=ExtensionBase, metadata=_POINTER)
Scalar: Final = _struct(dtype=ctypes.c_int32, value=_POINTER)
Api: Final = _struct(*_PART, api_version=Version, internal_api=_POINTER, XLA_FFI_Error_Create=_POINTER)
ErrorArgs: Final = _struct(*_PART, message=_POINTER, errc=ctypes.c_int32)

_STRUCTS: Final[dict[str, Any]] = {
    "XLA_FFI_Args": Args,
    "XLA_FFI_Rets": Rets,
    "XLA_FFI_Attrs": Attrs,
    "XLA_FFI_CallFrame": CallFrame,
    "XLA_FFI_Buffer": Buffer,
    "XLA_FFI_Api_Version": Version,
    "XLA_FFI_Metadata": Metadata,
    "XLA_FFI_(?:Extension_Base|InternalExtension)": ExtensionBase,  # two names: until JAX 0.11, and from then on
    "XLA_FFI_Metadata_Extension": MetadataExtension,
    "XLA_FFI_Scalar": Scalar,
    "XLA_FFI_Api": Api,
    "XLA_FFI_Error_Create_Args": ErrorArgs,
}


def version(header: str) -> tuple[int, int] | None:
    """The version of the interface that XLA's header declares; None if its structs differ from those known here."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.DOTALL)
    if not all(_declared(text, name) == _names(struct) for name, struct in _STRUCTS.items()):
        return None
    numbers = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    return (int(numbers[0][1]), int(numbers[1][1])) if numbers[0] and numbers[1] else None


def _names(struct: Any) -> list[str]:
    return [name for name, _ in struct._fields_]


def _declared(text: str, name: str) -> list[str]:
    """Names of the first fields of a struct in a header, as many as are known here."""
    found = re.search(rf"struct {name} \{{(.*?)\}}", text, re.DOTALL)
    body = re.sub(r"_XLA_FFI_API_STRUCT_FIELD\((\w+)\)", r"void* \1", found[1]) if found else ""
    fields = [line.split()[-1].lstrip("*") for line in body.split(";") if line.split()]
    return fields[: len(_names(_STRUCTS[name]))]
