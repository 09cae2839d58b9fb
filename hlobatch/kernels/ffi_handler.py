"""The handler of XLA's foreign function interface by which XLA calls kernels, as LLVM IR.

One handler serves all kernels. A call has the attribute ``kernel``, a key by which the handler finds the kernel among
those that this process has compiled (``ffi.py``); it fails a call with an unknown key. The call's operands are the
kernel's arrays; its results are the kernel's results and ``i32[1 + inputs]``: the fates of all inputs, combined by
``or``, and then the fate of each.

XLA calls the handler without Python's interpreter. The calling thread runs lanes. It reads the clock from time to time,
and starts further threads of the operating system once the work that is left pays for them, so a small batch starts
none. A kernel with a time limit stops when that is over, and its caller sees from the fates which inputs are left. A
call in which an input is left or failed also adds one to a number of the process, which is cheaper to read.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any, Final

from hlobatch.ir.fate import NUMBER, Fate
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
_TEAM: Final = 3 + Call.FIELDS
"""The word of a job with the pointer to its team."""
_JOB: Final = _TEAM + 1
"""Words of 64 bits of a job: the table of arrays, the kernel, the thread, the record of ``Call``, the team."""
_CLOCK: Final = getattr(time, "CLOCK_MONOTONIC", 1)
NANOSECONDS_BETWEEN_LOOKS: Final = 20_000
"""About how long the first thread works between two readings of the clock."""
FIRST_TURNS: Final = 16
"""Turns that the first thread makes before its first reading of the clock; the number doubles until they take that
long."""
MOST_TURNS: Final = 1 << 20
TURNS_BETWEEN_LOOKS: Final = 1 << 10
"""Turns of the other threads between two checks whether they are to stop."""
WORTH_NANOSECONDS: Final = 150_000
"""Estimated nanoseconds of remaining work for each further thread that is started."""


class _Team:
    """The first thread's record of all threads of a call: words of 64 bits, by their positions."""

    MOST: Final = 0
    """The largest number of threads besides the first one."""
    JOBS: Final = 1
    """The jobs of these threads; null while there are none."""
    STARTED: Final = 2
    """The number of these threads that were started."""
    BEGAN: Final = 3
    """When the call began, in nanoseconds."""
    LOOKED: Final = 4
    """When the clock was read last, in nanoseconds."""
    PATIENCE: Final = 5
    MEMORY: Final = 6
    LOCAL: Final = 7
    FIELDS: Final = 8


def handler(directory: Directory, api: tuple[int, int]) -> str:
    """The handler in LLVM IR.

    Args:
        directory: The table of keys and kernels.
        api: The version of XLA's interface.
    """
    before = [_failure(), _thread(), _prepared(), _started(), _helped(), _looked(), _stages(api), _look_up(directory)]
    return "".join([*before, _arrays(), _sizes(), _first(), _end(directory)])


def _load(name: str, of: str, offset: int, kind: str = "ptr") -> str:
    """Code that loads a field of a struct, by its offset in bytes."""
    return f"  %{name}.at = getelementptr i8, ptr {of}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}.at\n"


def _part(name: str, which: str, field: str, kind: str = "ptr") -> str:
    """Code that loads a field of the operands, the results or the attributes of a call."""
    structs: dict[str, Any] = {"args": Args, "rets": Rets, "attrs": Attrs}
    offset = getattr(CallFrame, which).offset + getattr(structs[which], field).offset
    return _load(name, "%frame", offset, kind)


def _field(position: int, value: str) -> str:
    """Code that sets a field of the ``Call`` record."""
    return f"  %f{position} = getelementptr i64, ptr %call, i64 {position}\n  store i64 {value}, ptr %f{position}\n"


def _of_team(name: str, position: int) -> str:
    """Code that loads a word of the team."""
    return _load(name, "%team", 8 * position, "i64")


def _failure() -> str:
    """Declarations; ``@now``, which reads the clock; and ``@failed``, which makes the error of a failed call."""
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
declare i32 @clock_gettime(i32, ptr)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal i64 @now() {{
  %time = alloca [2 x i64], align 8
  call i32 @clock_gettime(i32 {_CLOCK}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %rest
  ret i64 %all
}}

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
    """The function of each thread: it runs the kernel on the thread's job."""
    return f"""
define internal ptr @thread(ptr %job) {{
{_load("table", "%job", 0)}{_load("run", "%job", 8)}  %call = getelementptr i64, ptr %job, i64 3
  call i32 %run(ptr %table, ptr %call)
  ret ptr null
}}
"""


def _prepared() -> str:
    """The function that allocates a job's memory; it returns false if there is none."""
    return f"""
define internal i1 @prepared(ptr %job) {{
{_load("team", "%job", 8 * _TEAM)}{_of_team("memory", _Team.MEMORY)}{_of_team("local", _Team.LOCAL)}\
  %call = getelementptr i64, ptr %job, i64 3
  %room = add i64 %memory, 64
  %own = call ptr @malloc(i64 %room)
  %own.n = ptrtoint ptr %own to i64
  %aligned.up = add i64 %own.n, 63
  %aligned = and i64 %aligned.up, -64
  %stacks = add i64 %aligned, %local
{_field(Call.LOCAL, "%aligned")}{_field(Call.STACKS, "%stacks")}{_field(Call.COUNTS, "%own.n")}\
  %is_there = icmp ne ptr %own, null
  ret i1 %is_there
}}
"""


def _started() -> str:
    """The function that allocates a job's memory and starts its thread; it returns false if either fails."""
    return f"""
define internal i1 @started(ptr %job) {{
  %has_memory = call i1 @prepared(ptr %job)
  br i1 %has_memory, label %start, label %fail
start:
  %how = alloca [{_ATTRIBUTE_BYTES} x i8], align 16
  call i32 @pthread_attr_init(ptr %how)
  call i32 @pthread_attr_setstacksize(ptr %how, i64 {STACK_BYTES})
  %id = getelementptr i64, ptr %job, i64 2
  %code = call i32 @pthread_create(ptr %id, ptr %how, ptr @thread, ptr %job)
  call i32 @pthread_attr_destroy(ptr %how)
  %is_running = icmp eq i32 %code, 0
  br i1 %is_running, label %done, label %free
done:
  ret i1 1
free:
{_load("own", "%job", 8 * (3 + Call.COUNTS))}  call void @free(ptr %own)
  br label %fail
fail:
  ret i1 0
}}
"""


def _looked() -> str:
    """The function that the first thread calls from time to time; it returns 1 if the thread is to stop.

    It adapts the number of turns until its next call, so that these take some microseconds.
    """
    return f"""
define internal i32 @looked(ptr %call) {{
top:
  %job = getelementptr i64, ptr %call, i64 -3
{_load("team", "%job", 8 * _TEAM)}{_of_team("began", _Team.BEGAN)}{_of_team("looked", _Team.LOOKED)}\
  %now = call i64 @now()
  store i64 %now, ptr %looked.at
  %since = sub i64 %now, %looked
  %spent = sub i64 %now, %began
{_load("turns", "%call", 8 * Call.REFILL, "i64")}\
  %twice = shl i64 %turns, 1
  %more = call i64 @llvm.smin.i64(i64 %twice, i64 {MOST_TURNS})
  %half = lshr i64 %turns, 1
  %fewer = call i64 @llvm.smax.i64(i64 %half, i64 1)
  %is_early = icmp slt i64 %since, {NANOSECONDS_BETWEEN_LOOKS}
  %is_late = icmp sgt i64 %since, {2 * NANOSECONDS_BETWEEN_LOOKS}
  %not_more = select i1 %is_late, i64 %fewer, i64 %turns
  %next.turns = select i1 %is_early, i64 %more, i64 %not_more
  store i64 %next.turns, ptr %turns.at
{_of_team("patience", _Team.PATIENCE)}\
  %has_limit = icmp sgt i64 %patience, 0
  %is_over = icmp sgt i64 %spent, %patience
  %gives_up = and i1 %has_limit, %is_over
  br i1 %gives_up, label %stop, label %weigh
stop:
{_load("word", "%call", 8 * Call.STOP)}  store atomic i32 1, ptr %word monotonic, align 4
  ret i32 1
weigh:
  call void @helped(ptr %job, i64 %spent)
  ret i32 0
}}
"""


def _helped() -> str:
    """The function that starts further threads, if the time of the inputs so far predicts enough remaining work."""
    return f"""
define internal void @helped(ptr %job, i64 %spent) {{
top:
  %call = getelementptr i64, ptr %job, i64 3
{_load("team", "%job", 8 * _TEAM)}{_of_team("most", _Team.MOST)}{_load("next.p", "%call", 8 * Call.NEXT)}\
{_load("count", "%call", 8 * Call.COUNT, "i64")}\
  %next = load atomic i64, ptr %next.p monotonic, align 8
  %taken = call i64 @llvm.smax.i64(i64 %next, i64 1)
  %left = sub i64 %count, %next
  %each = sdiv i64 %spent, %taken
  %rest = mul i64 %each, %left
  %worth.all = sdiv i64 %rest, {WORTH_NANOSECONDS}
  %worth = call i64 @llvm.smin.i64(i64 %worth.all, i64 %most)
{_of_team("so_far", _Team.STARTED)}  %are_few = icmp slt i64 %so_far, %worth
  br i1 %are_few, label %begin, label %go_on
begin:
{_load("jobs.before", "%team", 8 * _Team.JOBS)}  %is_first = icmp eq ptr %jobs.before, null
  br i1 %is_first, label %make, label %each.job
make:
  %jobs.made = call ptr @calloc(i64 %most, i64 {8 * _JOB})
  store ptr %jobs.made, ptr %jobs.before.at
  %are_none = icmp eq ptr %jobs.made, null
  br i1 %are_none, label %never, label %each.job
each.job:
  %jobs = phi ptr [ %jobs.before, %begin ], [ %jobs.made, %make ], [ %jobs, %counted ]
  %k = phi i64 [ %so_far, %begin ], [ %so_far, %make ], [ %k.next, %counted ]
  %is_next = icmp slt i64 %k, %worth
  br i1 %is_next, label %one, label %go_on
one:
  %k.words = mul i64 %k, {_JOB}
  %other = getelementptr i64, ptr %jobs, i64 %k.words
  call void @llvm.memcpy.p0.p0.i64(ptr %other, ptr %job, i64 {8 * _JOB}, i1 0)
  %k.next = add i64 %k, 1
{_of_other(Call.ROW, "%k.next")}{_of_other(Call.LOOK, "0")}\
{_of_other(Call.FUEL, str(TURNS_BETWEEN_LOOKS))}{_of_other(Call.REFILL, str(TURNS_BETWEEN_LOOKS))}\
  %runs = call i1 @started(ptr %other)
  br i1 %runs, label %counted, label %never
counted:
  store i64 %k.next, ptr %so_far.at
  br label %each.job
never:
  store i64 0, ptr %most.at
  br label %go_on
go_on:
  ret void
}}
"""


def _of_other(position: int, value: str) -> str:
    """Code that sets a field of the ``Call`` record of another job."""
    at = f"%o{position}"
    return f"  {at} = getelementptr i64, ptr %other, i64 {3 + position}\n  store i64 {value}, ptr {at}\n"


def _stages(api: tuple[int, int]) -> str:
    """The beginning of the handler.

    It tells XLA the version of the interface, and returns at stages other than a run.
    """
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
    """Code that finds the record of the call's key, or fails the call."""
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
    """Code that loads the record, and puts the pointers to all operands and results into one table."""
    return f"""\
begin:
  %entry.record = getelementptr i64, ptr %place.at, i64 2
  %record = load ptr, ptr %entry.record
{_load("run", "%record", 8 * Record.RUN)}{_load("frames", "%record", 8 * Record.FRAMES, "i64")}\
{_load("memory", "%record", 8 * Record.MEMORY, "i64")}{_load("local", "%record", 8 * Record.LOCAL, "i64")}\
{_load("threads", "%record", 8 * Record.THREADS, "i64")}{_load("chunks", "%record", 8 * Record.CHUNKS, "i64")}\
{_load("first.job", "%record", 8 * Record.FIRST, "i64")}{_load("patience", "%record", 8 * Record.PATIENCE, "i64")}\
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
    """Code that finds the number of inputs and of those that a thread takes at a time, and marks all as unstarted."""
    return f"""\
sized:
  %told.p = getelementptr ptr, ptr %rets, i64 %n.results
  %told.b = load ptr, ptr %told.p
{_load("told", "%told.b", Buffer.data.offset)}{_load("dims", "%told.b", Buffer.dims.offset)}\
  %status = getelementptr i32, ptr %told, i64 1
  %words = load i64, ptr %dims
  %count = sub i64 %words, 1
  %parts = mul i64 %threads, %chunks
  %chunk.any = sdiv i64 %count, %parts
  %chunk.low = call i64 @llvm.smax.i64(i64 %chunk.any, i64 1)
  %chunk = call i64 @llvm.smin.i64(i64 %chunk.low, i64 64)
  br label %each
each:
  %i = phi i64 [ 0, %sized ], [ %i.next, %unstarted ]
  %is_input = icmp slt i64 %i, %count
  br i1 %is_input, label %unstarted, label %prepare
unstarted:
  %i.at = getelementptr i32, ptr %status, i64 %i
  store i32 {int(Fate.UNSTARTED)}, ptr %i.at
  %i.next = add i64 %i, 1
  br label %each
"""


def _first() -> str:
    """Code that runs the first job, here or in a thread with a larger stack, and joins all started threads."""
    return f"""\
prepare:
  %team = alloca [{_Team.FIELDS} x i64], align 8
  %others.most = sub i64 %threads, 1
{_in_team(_Team.MOST, "%others.most")}{_in_team(_Team.JOBS, "0")}{_in_team(_Team.STARTED, "0")}\
{_in_team(_Team.PATIENCE, "%patience")}{_in_team(_Team.MEMORY, "%memory")}{_in_team(_Team.LOCAL, "%local")}\
  %job = alloca [{_JOB} x i64], align 8
  store ptr %table, ptr %job
  %job.run = getelementptr i64, ptr %job, i64 1
  store ptr %run, ptr %job.run
  %job.team = getelementptr i64, ptr %job, i64 {_TEAM}
  store ptr %team, ptr %job.team
  %call = getelementptr i64, ptr %job, i64 3
  %status.n = ptrtoint ptr %status to i64
  %shared.n = ptrtoint ptr %shared to i64
  %stop.n = ptrtoint ptr %stop to i64
{_field(Call.STATUS, "%status.n")}{_field(Call.NEXT, "%shared.n")}{_field(Call.STOP, "%stop.n")}\
{_field(Call.TODO, "0")}{_field(Call.COUNT, "%count")}{_field(Call.CHUNK, "%chunk")}{_field(Call.FRAMES, "%frames")}\
{_field(Call.IS_LAST, "0")}{_field(Call.FUEL, str(FIRST_TURNS))}{_field(Call.REFILL, str(FIRST_TURNS))}\
{_field(Call.ROW, "0")}{_field(Call.LOOK, "ptrtoint (ptr @looked to i64)")}\
  %began = call i64 @now()
{_in_team(_Team.BEGAN, "%began")}{_in_team(_Team.LOOKED, "%began")}\
  %is_mine = icmp eq i64 %first.job, 1
  br i1 %is_mine, label %do.here, label %do.there
do.here:
  %has_memory = call i1 @prepared(ptr %job)
  br i1 %has_memory, label %do, label %short
do:
  call ptr @thread(ptr %job)
  br label %join
do.there:
  %is_running = call i1 @started(ptr %job)
  br i1 %is_running, label %wait, label %short
wait:
{_load("id", "%job", 16, "i64")}  call i32 @pthread_join(i64 %id, ptr null)
  br label %join
join:
{_load("own", "%job", 8 * (3 + Call.COUNTS))}  call void @free(ptr %own)
{_of_team("started", _Team.STARTED)}{_load("jobs", "%team", 8 * _Team.JOBS)}  br label %others
others:
  %j = phi i64 [ 0, %join ], [ %j.next, %other.one ]
  %j.more = icmp slt i64 %j, %started
  br i1 %j.more, label %other.one, label %end
other.one:
  %j.place = mul i64 %j, {_JOB}
  %j.job = getelementptr i64, ptr %jobs, i64 %j.place
{_load("j.id", "%j.job", 16, "i64")}  call i32 @pthread_join(i64 %j.id, ptr null)
{_load("j.own", "%j.job", 8 * (3 + Call.COUNTS))}  call void @free(ptr %j.own)
  %j.next = add i64 %j, 1
  br label %others
"""


def _in_team(position: int, value: str) -> str:
    """Code that sets a word of the team."""
    return f"  %t{position} = getelementptr i64, ptr %team, i64 {position}\n  store i64 {value}, ptr %t{position}\n"


def _end(directory: Directory) -> str:
    """Code that combines the fates of all inputs by ``or``, and counts calls in which some input has no result.

    The call fails if not even one job got memory or a thread.
    """
    return f"""\
end:
  call void @free(ptr %jobs)
  br label %ask
ask:
  %m = phi i64 [ 0, %end ], [ %m.next, %asked ]
  %so_far = phi i32 [ 0, %end ], [ %fates, %asked ]
  %m.more = icmp slt i64 %m, %count
  br i1 %m.more, label %asked, label %done
asked:
  %m.at = getelementptr i32, ptr %status, i64 %m
  %said = load i32, ptr %m.at
  %fate = and i32 %said, {(1 << NUMBER) - 1}
  %fates = or i32 %so_far, %fate
  %m.next = add i64 %m, 1
  br label %ask
done:
  store i32 %so_far, ptr %told
  %is_stopped = icmp ne i32 %so_far, 0
  br i1 %is_stopped, label %stopped, label %leave
stopped:
  %stops = inttoptr i64 {directory.stops.ctypes.data} to ptr
  %stops.before = atomicrmw add ptr %stops, i64 1 seq_cst
  br label %leave
leave:
  ret ptr null
short:
  %shorted = call ptr @failed(ptr %frame, ptr @no_memory, i32 {_NO_MEMORY})
  ret ptr %shorted
}}
"""
