"""A kernel -> how XLA calls it within other computations: a handler of XLA's foreign function interface, as LLVM IR.

One handler serves all kernels. A call names its kernel by a key, a hash of the kernel's code, so that what XLA compiled
is valid in other processes, too, which may get it from JAX's persistent cache. The handler looks up the key among the
kernels that this process has made, and refuses a call of any other.

XLA calls the handler without Python's interpreter. The handler starts threads of the operating system beside the one
that calls it.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any, Final

import numpy as np

from hlobatch.kernels.interface import Call

HANDLER: Final = "handler"
_POINTER: Final = ctypes.c_void_p


def _struct(*begin: tuple[str, Any], **fields: Any) -> Any:
    """A struct of C, of its fields' names and types."""
    return type("Struct", (ctypes.Structure,), {"_fields_": [*begin, *fields.items()]})


_PART: Final = (("struct_size", ctypes.c_size_t), ("extension_start", _POINTER))
"""What most parts of a frame begin with."""
_SIZED: Final = ("struct_size", ctypes.c_size_t)

_Args: Final = _struct(*_PART, size=ctypes.c_int64, types=_POINTER, args=_POINTER)
_Rets: Final = _struct(*_PART, size=ctypes.c_int64, types=_POINTER, rets=_POINTER)
_Attrs: Final = _struct(*_PART, size=ctypes.c_int64, types=_POINTER, names=_POINTER, attrs=_POINTER)
_CallFrame: Final = _struct(
    *_PART, api=_POINTER, ctx=_POINTER, stage=ctypes.c_int32, args=_Args, rets=_Rets, attrs=_Attrs, future=_POINTER
)
_Buffer: Final = _struct(*_PART, dtype=ctypes.c_int32, data=_POINTER, rank=ctypes.c_int64, dims=_POINTER)
_Version: Final = _struct(*_PART, major_version=ctypes.c_int32, minor_version=ctypes.c_int32)
_Metadata: Final = _struct(_SIZED, api_version=_Version, traits=ctypes.c_uint32)
_ExtensionBase: Final = _struct(_SIZED, type=ctypes.c_int32, next=_POINTER)
_MetadataExtension: Final = _struct(extension_base=_ExtensionBase, metadata=_POINTER)
_Scalar: Final = _struct(dtype=ctypes.c_int32, value=_POINTER)
_Api: Final = _struct(*_PART, api_version=_Version, internal_api=_POINTER, XLA_FFI_Error_Create=_POINTER)
_ErrorArgs: Final = _struct(*_PART, message=_POINTER, errc=ctypes.c_int32)

_STRUCTS: Final[dict[str, Any]] = {
    "XLA_FFI_Args": _Args,
    "XLA_FFI_Rets": _Rets,
    "XLA_FFI_Attrs": _Attrs,
    "XLA_FFI_CallFrame": _CallFrame,
    "XLA_FFI_Buffer": _Buffer,
    "XLA_FFI_Api_Version": _Version,
    "XLA_FFI_Metadata": _Metadata,
    "XLA_FFI_(?:Extension_Base|InternalExtension)": _ExtensionBase,  # its name until JAX 0.11, and since
    "XLA_FFI_Metadata_Extension": _MetadataExtension,
    "XLA_FFI_Scalar": _Scalar,
    "XLA_FFI_Api": _Api,
    "XLA_FFI_Error_Create_Args": _ErrorArgs,
}
_METADATA: Final = 1
_EXECUTE: Final = 3
_INVALID: Final = 3
_NO_MEMORY: Final = 8


def version(header: str) -> tuple[int, int] | None:
    """The version that a header of XLA's declares; None where it lays out calls in another way than is known here."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", header, flags=re.DOTALL)
    if not all(_declared(text, name) == _names(struct) for name, struct in _STRUCTS.items()):
        return None
    numbers = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    return (int(numbers[0][1]), int(numbers[1][1])) if numbers[0] and numbers[1] else None


def _names(struct: Any) -> list[str]:
    return [name for name, _ in struct._fields_]


def _declared(text: str, name: str) -> list[str]:
    """The first fields of a struct that a header declares, as many as are known."""
    found = re.search(rf"struct {name} \{{(.*?)\}}", text, re.DOTALL)
    body = re.sub(r"_XLA_FFI_API_STRUCT_FIELD\((\w+)\)", r"void* \1", found[1]) if found else ""
    fields = [line.split()[-1].lstrip("*") for line in body.split(";") if line.split()]
    return fields[: len(_names(_STRUCTS[name]))]


class Directory:
    """The kernels of this process by their keys: a table with open addressing, which the handler reads.

    A handler that reads it looks for a key that has been there since before XLA compiled the call. What is added later
    fills places that were empty, or is in a table of its own, and the handler finds one or the other.

    Attributes:
        address: Where the table's address is.
    """

    def __init__(self) -> None:
        self._cell = np.zeros(1, np.int64)
        self._records: dict[int, int] = {}
        self._tables: list[np.ndarray[Any, Any]] = []  # none goes: a handler may be reading it
        self.address: int = self._cell.ctypes.data
        self._make(2)

    def add(self, key: int, record: int) -> None:
        """Let calls that name a key, which is not 0, find the record at an address."""
        self._records[key] = record
        if 4 * len(self._records) > len(self._tables[-1]):
            self._make(len(self._tables[-1]) - 1)  # twice as many
        else:
            self._place(self._tables[-1], key, record)

    def _make(self, places: int) -> None:
        """Make a larger table; of its numbers, the first is how many places there are, less one."""
        table = np.zeros(1 + 2 * places, np.int64)
        table[0] = places - 1
        for key, record in self._records.items():
            self._place(table, key, record)
        self._tables.append(table)
        self._cell[0] = table.ctypes.data

    @staticmethod
    def _place(table: np.ndarray[Any, Any], key: int, record: int) -> None:
        place = key & int(table[0])
        while table[1 + 2 * place] not in (0, key):
            place = (place + 1) & int(table[0])
        table[2 + 2 * place] = record
        table[1 + 2 * place] = key


class Record:
    """What a call's key stands for: numbers of 64 bits, by their positions."""

    RUN: Final = 0
    """``@run`` of a kernel."""
    FRAMES: Final = 1
    """What it is told of frames."""
    MEMORY: Final = 2
    """Bytes of memory that a thread takes, for its arrays and behind them its stacks."""
    LOCAL: Final = 3
    """Bytes of a thread's arrays."""
    THREADS: Final = 4
    CHUNKS: Final = 5
    """Times that each thread takes inputs, at least."""
    FIELDS: Final = 6


def handler(directory: Directory, api: tuple[int, int]) -> str:
    """The handler in LLVM IR.

    Its operands are a kernel's arrays, its results those of the kernel and what became of each input. A call has the
    attribute ``kernel``, which is its key.

    Args:
        directory: Where keys are found.
        api: The version of XLA's interface.
    """
    frame, buffer = _CallFrame, _Buffer
    metadata = _Metadata.api_version.offset

    def load(name: str, of: str, offset: int, kind: str = "ptr") -> str:
        return f"  %{name}.at = getelementptr i8, ptr {of}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}.at\n"

    def part(name: str, which: str, field: str, kind: str = "ptr") -> str:
        struct = {"args": _Args, "rets": _Rets, "attrs": _Attrs}[which]
        return load(name, "%frame", getattr(frame, which).offset + getattr(struct, field).offset, kind)

    def field(position: int, value: str) -> str:
        return f"  %f{position} = getelementptr i64, ptr %call, i64 {position}\n  store i64 {value}, ptr %f{position}\n"

    job = 3 + Call.FIELDS
    return f"""
@of_other = private constant [65 x i8] c"hlobatch has not made this kernel in this process: trace it anew\\00"
@no_memory = private constant [39 x i8] c"there is no memory for a kernel's call\\00"
declare ptr @calloc(i64, i64)
declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

define internal ptr @failed(ptr %frame, ptr %message, i32 %code) {{
  %args = alloca [{ctypes.sizeof(_ErrorArgs)} x i8], align 8
  store i64 {_ErrorArgs.errc.offset + 4}, ptr %args
  %e.at = getelementptr i8, ptr %args, i64 {_ErrorArgs.extension_start.offset}
  store ptr null, ptr %e.at
  %m.at = getelementptr i8, ptr %args, i64 {_ErrorArgs.message.offset}
  store ptr %message, ptr %m.at
  %c.at = getelementptr i8, ptr %args, i64 {_ErrorArgs.errc.offset}
  store i32 %code, ptr %c.at
{load("api", "%frame", frame.api.offset)}{load("create", "%api", _Api.XLA_FFI_Error_Create.offset)}\
  %error = call ptr %create(ptr %args)
  ret ptr %error
}}

define internal ptr @thread(ptr %job) {{
{load("table", "%job", 0)}{load("run", "%job", 8)}  %call = getelementptr i64, ptr %job, i64 3
  call i32 %run(ptr %table, ptr %call)
  ret ptr null
}}

define ptr @{HANDLER}(ptr %frame) {{
top:
{load("extension", "%frame", frame.extension_start.offset)}  %none = icmp eq ptr %extension, null
  br i1 %none, label %go, label %extended
extended:
{load("type", "%extension", _ExtensionBase.type.offset, "i32")}  %is_metadata = icmp eq i32 %type, {_METADATA}
  br i1 %is_metadata, label %tell, label %go
tell:
{load("metadata", "%extension", _MetadataExtension.metadata.offset)}\
  %major = getelementptr i8, ptr %metadata, i64 {metadata + _Version.major_version.offset}
  store i32 {api[0]}, ptr %major
  %minor = getelementptr i8, ptr %metadata, i64 {metadata + _Version.minor_version.offset}
  store i32 {api[1]}, ptr %minor
  %traits = getelementptr i8, ptr %metadata, i64 {_Metadata.traits.offset}
  store i32 0, ptr %traits
  ret ptr null
go:
{load("stage", "%frame", frame.stage.offset, "i32")}  %is_run = icmp eq i32 %stage, {_EXECUTE}
  br i1 %is_run, label %check, label %nothing
nothing:
  ret ptr null
check:
{part("attrs", "attrs", "attrs")}{load("first", "%attrs", 0)}{load("key.p", "%first", _Scalar.value.offset)}\
  %key = load i64, ptr %key.p
  %cell = inttoptr i64 {directory.address} to ptr
  %directory = load atomic ptr, ptr %cell acquire, align 8
  %mask = load i64, ptr %directory
  %first.place = and i64 %key, %mask
  br label %look
look:
  %place = phi i64 [ %first.place, %check ], [ %place.next, %further ]
  %place.key = shl i64 %place, 1
  %place.at = getelementptr i64, ptr %directory, i64 %place.key
  %entry.key = getelementptr i64, ptr %place.at, i64 1
  %there = load atomic i64, ptr %entry.key acquire, align 8
  %is_ours = icmp eq i64 %there, %key
  br i1 %is_ours, label %begin, label %other
other:
  %is_end = icmp eq i64 %there, 0
  br i1 %is_end, label %refuse, label %further
further:
  %place.up = add i64 %place, 1
  %place.next = and i64 %place.up, %mask
  br label %look
refuse:
  %refused = call ptr @failed(ptr %frame, ptr @of_other, i32 {_INVALID})
  ret ptr %refused
begin:
  %entry.record = getelementptr i64, ptr %place.at, i64 2
  %record = load ptr, ptr %entry.record
{load("run", "%record", 8 * Record.RUN)}{load("frames", "%record", 8 * Record.FRAMES, "i64")}\
{load("memory", "%record", 8 * Record.MEMORY, "i64")}{load("local", "%record", 8 * Record.LOCAL, "i64")}\
{load("threads", "%record", 8 * Record.THREADS, "i64")}{load("chunks", "%record", 8 * Record.CHUNKS, "i64")}\
{part("n.args", "args", "size", "i64")}{part("n.rets", "rets", "size", "i64")}\
{part("args", "args", "args")}{part("rets", "rets", "rets")}\
  %shared = alloca [2 x i64], align 64
  store i64 0, ptr %shared
  %stop = getelementptr i64, ptr %shared, i64 1
  store i64 0, ptr %stop
  %n.results = sub i64 %n.rets, 1
  %n = add i64 %n.args, %n.results
  %table = alloca ptr, i64 %n
  br label %fill
fill:
  %k = phi i64 [ 0, %begin ], [ %k.next, %filled ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %which, label %sized
which:
  %is_arg = icmp slt i64 %k, %n.args
  %k.ret = sub i64 %k, %n.args
  %from = select i1 %is_arg, ptr %args, ptr %rets
  %k.own = select i1 %is_arg, i64 %k, i64 %k.ret
  %buffer.p = getelementptr ptr, ptr %from, i64 %k.own
  %buffer = load ptr, ptr %buffer.p
  br label %filled
filled:
{load("data", "%buffer", buffer.data.offset)}  %entry = getelementptr ptr, ptr %table, i64 %k
  store ptr %data, ptr %entry
  %k.next = add i64 %k, 1
  br label %fill
sized:
  %status.p = getelementptr ptr, ptr %rets, i64 %n.results
  %status.b = load ptr, ptr %status.p
{load("status", "%status.b", buffer.data.offset)}{load("dims", "%status.b", buffer.dims.offset)}\
  %count = load i64, ptr %dims
  %status.n = ptrtoint ptr %status to i64
  %shared.n = ptrtoint ptr %shared to i64
  %stop.n = ptrtoint ptr %stop to i64
  %parts = mul i64 %threads, %chunks
  %chunk.any = sdiv i64 %count, %parts
  %chunk.low = call i64 @llvm.smax.i64(i64 %chunk.any, i64 1)
  %chunk = call i64 @llvm.smin.i64(i64 %chunk.low, i64 64)
  %jobs = call ptr @calloc(i64 %threads, i64 {8 * job})
  %no_jobs = icmp eq ptr %jobs, null
  br i1 %no_jobs, label %short, label %prepare
prepare:
  %t = phi i64 [ 0, %sized ], [ %t.next, %prepared ]
  %is_all = icmp eq i64 %t, %threads
  br i1 %is_all, label %start, label %prepare.one
prepare.one:
  %job.place = mul i64 %t, {job}
  %job = getelementptr i64, ptr %jobs, i64 %job.place
  store ptr %table, ptr %job
  %job.run = getelementptr i64, ptr %job, i64 1
  store ptr %run, ptr %job.run
  %call = getelementptr i64, ptr %job, i64 3
  %room = add i64 %memory, 64
  %own = call ptr @malloc(i64 %room)
  %own.n = ptrtoint ptr %own to i64
{field(Call.STATUS, "%status.n")}{field(Call.NEXT, "%shared.n")}{field(Call.STOP, "%stop.n")}\
{field(Call.COUNT, "%count")}{field(Call.CHUNK, "%chunk")}{field(Call.FRAMES, "%frames")}\
  %aligned.up = add i64 %own.n, 63
  %aligned = and i64 %aligned.up, -64
  %stacks = add i64 %aligned, %local
{field(Call.LOCAL, "%aligned")}{field(Call.STACKS, "%stacks")}{field(Call.COUNTS, "%own.n")}\
{field(Call.FUEL, str(1 << 40))}{field(Call.REFILL, str(1 << 40))}\
  %no_own = icmp eq ptr %own, null
  br i1 %no_own, label %start, label %prepared
prepared:
  %t.next = add i64 %t, 1
  br label %prepare
start:
  %ready = phi i64 [ %t, %prepare ], [ %t, %prepare.one ]
  %is_none = icmp eq i64 %ready, 0
  br i1 %is_none, label %clean.short, label %spawn
spawn:
  %s = phi i64 [ 1, %start ], [ %s.next, %spawned ]
  %s.more = icmp slt i64 %s, %ready
  br i1 %s.more, label %spawn.one, label %self
spawn.one:
  %s.place = mul i64 %s, {job}
  %s.job = getelementptr i64, ptr %jobs, i64 %s.place
  %s.id = getelementptr i64, ptr %s.job, i64 2
  %s.code = call i32 @pthread_create(ptr %s.id, ptr null, ptr @thread, ptr %s.job)
  %s.failed = icmp ne i32 %s.code, 0
  br i1 %s.failed, label %self, label %spawned
spawned:
  %s.next = add i64 %s, 1
  br label %spawn
self:
  %running = phi i64 [ %s, %spawn ], [ %s, %spawn.one ]
  call ptr @thread(ptr %jobs)
  br label %join
join:
  %j = phi i64 [ 1, %self ], [ %j.next, %join.one ]
  %j.more = icmp slt i64 %j, %running
  br i1 %j.more, label %join.one, label %clean
join.one:
  %j.place = mul i64 %j, {job}
  %j.job = getelementptr i64, ptr %jobs, i64 %j.place
  %j.id.at = getelementptr i64, ptr %j.job, i64 2
  %j.id = load i64, ptr %j.id.at
  call i32 @pthread_join(i64 %j.id, ptr null)
  %j.next = add i64 %j, 1
  br label %join
clean:
  %c = phi i64 [ 0, %join ], [ %c.next, %clean.one ]
  %c.more = icmp slt i64 %c, %ready
  br i1 %c.more, label %clean.one, label %end
clean.one:
  %c.place = mul i64 %c, {job}
  %c.job = getelementptr i64, ptr %jobs, i64 %c.place
  %c.own.at = getelementptr i64, ptr %c.job, i64 {3 + Call.COUNTS}
  %c.own = load ptr, ptr %c.own.at
  call void @free(ptr %c.own)
  %c.next = add i64 %c, 1
  br label %clean
end:
  call void @free(ptr %jobs)
  ret ptr null
clean.short:
  call void @free(ptr %jobs)
  br label %short
short:
  %shorted = call ptr @failed(ptr %frame, ptr @no_memory, i32 {_NO_MEMORY})
  ret ptr %shorted
}}
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
"""
