"""Endless runs of each kind -> Ctrl-C ends each, and finished results are kept; a line prints how long that took.

A process of its own, which `test_interrupts.py` starts: `python ctrl_c.py loop,1 kernel,2`.
The signal is sent when none but the endless inputs are left.
"""

import os
import signal
import sys
import threading
import time
from unittest import mock

import jax.numpy as jnp
import numpy as np
import pytest
from test_interrupts import down, fibonacci

import hlobatch as hb
from hlobatch.ir.fate import Fate
from hlobatch.runtime.course import Course
from hlobatch.runtime.kernel import Run

ENDLESS = [3, 4, 50]
STRETCHES = 3
"""The number of stretches of a run before the signal; after the first one only endless inputs are left."""

sent: list[float] = []
stretches: list[float] = []
note, finish = Course.note, Run.finish


def send() -> None:
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)


def noting(course: Course, seconds: float, starts: object) -> None:
    note(course, seconds, starts)
    stretches.append(seconds)
    if len(stretches) == STRETCHES:
        threading.Timer(0.05, send).start()


def send_when_others_are_finished(run: Run) -> None:
    while (run.status == Fate.UNSTARTED).sum() > len(ENDLESS):
        time.sleep(0.01)
    time.sleep(0.2)
    send()


def finishing(run: Run) -> None:
    threading.Thread(target=send_when_others_are_finished, args=(run,)).start()
    finish(run)


def interrupt(kind: str, threads: int) -> float:
    """The seconds from the signal to the error."""
    function, endless = {"loop": (down, -1), "recursion": (fibonacci, 45), "kernel": (fibonacci, 70)}[kind]
    batched = hb.batch(function, threads=threads, optimizations=hb.Optimizations(kernels=kind == "kernel"))
    n = np.arange(64, dtype=np.int32) % 7
    n[ENDLESS] = endless
    short = np.delete(n, ENDLESS)
    wanted = np.asarray(batched(short))
    batched(np.where(n == endless, 16, n))
    stretches.clear()
    with mock.patch.object(Course, "note", noting), mock.patch.object(Run, "finish", finishing):
        with pytest.raises(hb.Interrupted) as caught:
            batched(n)
        late = time.perf_counter() - sent[-1]
    assert caught.value.unfinished == tuple(ENDLESS)
    assert (np.delete(np.asarray(caught.value.outputs), ENDLESS) == wanted).all()
    assert jnp.arange(4).sum() == 6
    assert (np.asarray(batched(short)) == wanted).all()
    return late


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
    for way in sys.argv[1:]:
        kind, threads = way.split(",")
        print(f"{way} threads: {interrupt(kind, int(threads)):.3f}")
