"""The handler of XLA's foreign function interface by which XLA calls kernels within other computations, as LLVM IR.

One handler serves all kernels. A call has the attribute ``kernel``, a key, by which the handler finds the kernel among
those that this process has made (``ffi.py``); it refuses a call of any other. Its operands are a kernel's arrays, its
results those of the kernel and what became of each input.

XLA calls the handler without Python's interpreter. The handler starts threads of the operating system beside the one
that calls it.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from hlobatch.kernels.ffi import Directory, Record
from hlobatch.kernels.ffi_structs import (
    Api,
    Args,
    Attrs,
    Buffer,
    CallFrame,
    ErrorArgs,
    ExtensionBase,
    Metadata,
    MetadataExtension,
    Rets,
    Scalar,
    Version,
)
from hlobatch.kernels.interface import STACK_BYTES, Call

HANDLER: Final = "handler"
_METADATA: Final = 1
_EXECUTE: Final = 3
_INVALID: Final = 3
_NO_MEMORY: Final = 8
_ATTRIBUTE_BYTES: Final = 128
"""Bytes for the attributes of a thread, with room to spare: 56 in glibc, 64 on macOS."""
_JOB: Final = 3 + Call.FIELDS
"""Words of 64 bits that a job has: the table of arrays, the kernel, the thread, and the record of ``Call``."""


def handler(directory: Directory, api: tuple[int, int]) -> str:
    """The handler in LLVM IR.

    Args:
        directory: Where keys are found.
        api: The version of XLA's interface.
    """
    before = [_failure(), _thread(), _stages(api), _look_up(directory)]
    return "".join([*before, _arrays(), _sizes(), _jobs(), _threads(), _end()])


def _load(name: str, of: str, offset: int, kind: str = "ptr") -> str:
    """A field of a struct, by its offset in bytes."""
    return f"  %{name}.at = getelementptr i8, ptr {of}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}.at\n"


def _part(name: str, which: str, field: str, kind: str = "ptr") -> str:
    """A field of the operands, the results or the attributes of a call."""
    structs: dict[str, Any] = {"args": Args, "rets": Rets, "attrs": Attrs}
    offset = getattr(CallFrame, which).offset + getattr(structs[which], field).offset
    return _load(name, "%frame", offset, kind)


def _field(position: int, value: str) -> str:
    """Give a field of the record of ``Call`` its value."""
    return f"  %f{position} = getelementptr i64, ptr %call, i64 {position}\n  store i64 {value}, ptr %f{position}\n"


def _failure() -> str:
    """What a failed call gives back, and what is declared."""
    return f"""
@of_other = private constant [65 x i8] c"hlobatch has not made this kernel in this process: trace it anew\\00"
@no_memory = private constant [39 x i8] c"there is no memory for a kernel's call\\00"
declare ptr @calloc(i64, i64)
declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)

define internal ptr @failed(ptr %frame, ptr %message, i32 %code) {{
  %args = alloca [{ctypes.sizeof(ErrorArgs)} x i8], align 8
  store i64 {ErrorArgs.errc.offset + 4}, ptr %args
  %e.at = getelementptr i8, ptr %args, i64 {ErrorArgs.extension_start.offset}
  store ptr null, ptr %e.at
  %m.at = getelementptr i8, ptr %args, i64 {ErrorArgs.message.offset}
  store ptr %message, ptr %m.at
  %c.at = getelementptr i8, ptr %args, i64 {ErrorArgs.errc.offset}
  store i32 %code, ptr %c.at
{_load("api", "%frame", CallFrame.api.offset)}{_load("create", "%api", Api.XLA_FFI_Error_Create.offset)}\
  %error = call ptr %create(ptr %args)
  ret ptr %error
}}
"""


def _thread() -> str:
    """What each thread does: run the kernel on its job."""
    return f"""
define internal ptr @thread(ptr %job) {{
{_load("table", "%job", 0)}{_load("run", "%job", 8)}  %call = getelementptr i64, ptr %job, i64 3
  call i32 %run(ptr %table, ptr %call)
  ret ptr null
}}
"""


def _stages(api: tuple[int, int]) -> str:
    """The handler up to a run: XLA asks for the version of the interface first."""
    return f"""
define ptr @{HANDLER}(ptr %frame) {{
top:
{_load("extension", "%frame", CallFrame.extension_start.offset)}  %none = icmp eq ptr %extension, null
  br i1 %none, label %go, label %extended
extended:
{_load("type", "%extension", ExtensionBase.type.offset, "i32")}  %is_metadata = icmp eq i32 %type, {_METADATA}
  br i1 %is_metadata, label %tell, label %go
tell:
{_load("metadata", "%extension", MetadataExtension.metadata.offset)}\
  %major = getelementptr i8, ptr %metadata, i64 {Metadata.api_version.offset + Version.major_version.offset}
  store i32 {api[0]}, ptr %major
  %minor = getelementptr i8, ptr %metadata, i64 {Metadata.api_version.offset + Version.minor_version.offset}
  store i32 {api[1]}, ptr %minor
  %traits = getelementptr i8, ptr %metadata, i64 {Metadata.traits.offset}
  store i32 0, ptr %traits
  ret ptr null
go:
{_load("stage", "%frame", CallFrame.stage.offset, "i32")}  %is_run = icmp eq i32 %stage, {_EXECUTE}
  br i1 %is_run, label %check, label %nothing
nothing:
  ret ptr null
"""


def _look_up(directory: Directory) -> str:
    """Find the record of the key that the call names, or refuse the call."""
    return f"""\
check:
{_part("attrs", "attrs", "attrs")}{_load("first", "%attrs", 0)}{_load("key.p", "%first", Scalar.value.offset)}\
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
"""


def _arrays() -> str:
    """Put the pointers to all operands and results into one table."""
    return f"""\
begin:
  %entry.record = getelementptr i64, ptr %place.at, i64 2
  %record = load ptr, ptr %entry.record
{_load("run", "%record", 8 * Record.RUN)}{_load("frames", "%record", 8 * Record.FRAMES, "i64")}\
{_load("memory", "%record", 8 * Record.MEMORY, "i64")}{_load("local", "%record", 8 * Record.LOCAL, "i64")}\
{_load("threads", "%record", 8 * Record.THREADS, "i64")}{_load("chunks", "%record", 8 * Record.CHUNKS, "i64")}\
{_load("first.job", "%record", 8 * Record.FIRST, "i64")}\
{_part("n.args", "args", "size", "i64")}{_part("n.rets", "rets", "size", "i64")}\
{_part("args", "args", "args")}{_part("rets", "rets", "rets")}\
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
{_load("data", "%buffer", Buffer.data.offset)}  %entry = getelementptr ptr, ptr %table, i64 %k
  store ptr %data, ptr %entry
  %k.next = add i64 %k, 1
  br label %fill
"""


def _sizes() -> str:
    """Find how many inputs there are, and how many of them a thread takes at a time."""
    return f"""\
sized:
  %status.p = getelementptr ptr, ptr %rets, i64 %n.results
  %status.b = load ptr, ptr %status.p
{_load("status", "%status.b", Buffer.data.offset)}{_load("dims", "%status.b", Buffer.dims.offset)}\
  %count = load i64, ptr %dims
  %status.n = ptrtoint ptr %status to i64
  %shared.n = ptrtoint ptr %shared to i64
  %stop.n = ptrtoint ptr %stop to i64
  %parts = mul i64 %threads, %chunks
  %chunk.any = sdiv i64 %count, %parts
  %chunk.low = call i64 @llvm.smax.i64(i64 %chunk.any, i64 1)
  %chunk = call i64 @llvm.smin.i64(i64 %chunk.low, i64 64)
  %jobs = call ptr @calloc(i64 %threads, i64 {8 * _JOB})
  %no_jobs = icmp eq ptr %jobs, null
  br i1 %no_jobs, label %short, label %prepare
"""


def _jobs() -> str:
    """Make a job for each thread, with memory of its own; threads for which there is none are left out."""
    return f"""\
prepare:
  %t = phi i64 [ 0, %sized ], [ %t.next, %prepared ]
  %is_all = icmp eq i64 %t, %threads
  br i1 %is_all, label %start, label %prepare.one
prepare.one:
  %job.place = mul i64 %t, {_JOB}
  %job = getelementptr i64, ptr %jobs, i64 %job.place
  store ptr %table, ptr %job
  %job.run = getelementptr i64, ptr %job, i64 1
  store ptr %run, ptr %job.run
  %call = getelementptr i64, ptr %job, i64 3
  %room = add i64 %memory, 64
  %own = call ptr @malloc(i64 %room)
  %own.n = ptrtoint ptr %own to i64
{_field(Call.STATUS, "%status.n")}{_field(Call.NEXT, "%shared.n")}{_field(Call.STOP, "%stop.n")}\
{_field(Call.COUNT, "%count")}{_field(Call.CHUNK, "%chunk")}{_field(Call.FRAMES, "%frames")}\
  %aligned.up = add i64 %own.n, 63
  %aligned = and i64 %aligned.up, -64
  %stacks = add i64 %aligned, %local
{_field(Call.LOCAL, "%aligned")}{_field(Call.STACKS, "%stacks")}{_field(Call.COUNTS, "%own.n")}\
{_field(Call.ROW, "%t")}{_field(Call.FUEL, str(1 << 40))}{_field(Call.REFILL, str(1 << 40))}\
  %no_own = icmp eq ptr %own, null
  br i1 %no_own, label %start, label %prepared
prepared:
  %t.next = add i64 %t, 1
  br label %prepare
"""


def _threads() -> str:
    """Start the other threads, do the first job if no thread was started for it, and wait for them."""
    return f"""\
start:
  %ready = phi i64 [ %t, %prepare ], [ %t, %prepare.one ]
  %is_none = icmp eq i64 %ready, 0
  br i1 %is_none, label %clean.short, label %size
size:
  %how = alloca [{_ATTRIBUTE_BYTES} x i8], align 16
  call i32 @pthread_attr_init(ptr %how)
  call i32 @pthread_attr_setstacksize(ptr %how, i64 {STACK_BYTES})
  br label %spawn
spawn:
  %s = phi i64 [ %first.job, %size ], [ %s.next, %spawned ]
  %s.more = icmp slt i64 %s, %ready
  br i1 %s.more, label %spawn.one, label %self
spawn.one:
  %s.place = mul i64 %s, {_JOB}
  %s.job = getelementptr i64, ptr %jobs, i64 %s.place
  %s.id = getelementptr i64, ptr %s.job, i64 2
  %s.code = call i32 @pthread_create(ptr %s.id, ptr %how, ptr @thread, ptr %s.job)
  %s.failed = icmp ne i32 %s.code, 0
  br i1 %s.failed, label %self, label %spawned
spawned:
  %s.next = add i64 %s, 1
  br label %spawn
self:
  %running = phi i64 [ %s, %spawn ], [ %s, %spawn.one ]
  call i32 @pthread_attr_destroy(ptr %how)
  %is_mine = icmp eq i64 %first.job, 1
  br i1 %is_mine, label %self.one, label %join
self.one:
  call ptr @thread(ptr %jobs)
  br label %join
join:
  %j = phi i64 [ %first.job, %self ], [ %first.job, %self.one ], [ %j.next, %join.one ]
  %j.more = icmp slt i64 %j, %running
  br i1 %j.more, label %join.one, label %clean
join.one:
  %j.place = mul i64 %j, {_JOB}
  %j.job = getelementptr i64, ptr %jobs, i64 %j.place
  %j.id.at = getelementptr i64, ptr %j.job, i64 2
  %j.id = load i64, ptr %j.id.at
  call i32 @pthread_join(i64 %j.id, ptr null)
  %j.next = add i64 %j, 1
  br label %join
"""


def _end() -> str:
    """Free all memory; without memory, or a thread, for even one job, the call fails."""
    return f"""\
clean:
  %c = phi i64 [ 0, %join ], [ %c.next, %clean.one ]
  %c.more = icmp slt i64 %c, %ready
  br i1 %c.more, label %clean.one, label %end
clean.one:
  %c.place = mul i64 %c, {_JOB}
  %c.job = getelementptr i64, ptr %jobs, i64 %c.place
  %c.own.at = getelementptr i64, ptr %c.job, i64 {3 + Call.COUNTS}
  %c.own = load ptr, ptr %c.own.at
  call void @free(ptr %c.own)
  %c.next = add i64 %c, 1
  br label %clean
end:
  call void @free(ptr %jobs)
  %has_run = icmp sgt i64 %running, 0
  br i1 %has_run, label %done, label %short
done:
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
