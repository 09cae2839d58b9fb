"""Mutated bytecode through the parser and the verifier: ``python test/py/fuzz_bytecode.py COUNT SEED``.

Each input is accepted, and then survives the round trip through a program, or is refused with an error that has a
location, unless MLIR's own reader ends the process: it trusts numbers and references in the file, and so may loop, use
all memory, or corrupt it. Corrupted memory may only show later, so an input during which a process ends is tried again
in its own process. Prints how many were accepted and refused, and for how many MLIR's reader ended the process.
"""

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback

from fuzz_dialect import corpus, is_accepted

from hlobatch._jax import make_context
from hlobatch.diagnostics import HloBatchError
from hlobatch.dialect.bytecode import MAGIC
from hlobatch.dialect.text import as_bytecode, parse
from hlobatch.dialect.to_program import to_program

READING_SECONDS, SECONDS = 5, 60
MEMORY = 4 << 30
"""Bytes that one process may take: damaged numbers ask for any amount."""
READING, READ, ACCEPTED, REFUSED = "<", ">", "a", "r"
"""Marks printed for an input, in this order; a refusal may come from the reader."""


def modules() -> list[bytes]:
    """The valid modules of the corpus, as bytecode."""
    found, context = [], make_context()
    for text in corpus():
        try:
            module = parse(text, context=context)
            to_program(module)
        except HloBatchError:
            continue
        found.append(as_bytecode(module))
    return found


def mutated(chance: random.Random, data: bytearray) -> bytes:
    """Bytecode changed in one to three places, behind its magic number."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randint(len(MAGIC), len(data))
        match chance.choice(("flip", "set", "insert", "remove", "truncate")):
            case "flip" if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case "set":
                data[at : at + 1] = chance.randbytes(1)
            case "insert":
                data[at:at] = chance.randbytes(chance.randint(1, 4))
            case "remove":
                del data[at : at + chance.randint(1, 4)]
            case "truncate":
                del data[at:]
    return bytes(data)


def work(start: int, count: int, seed: int) -> None:
    """Try inputs from number ``start`` on."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    found, context = modules(), make_context()
    for number in range(start, count):
        chance = random.Random(f"{seed} {number}")
        data = mutated(chance, bytearray(chance.choice(found)))
        if number % 500 == 0:
            context = make_context()
        say(READING)
        signal.alarm(READING_SECONDS)
        say(ACCEPTED if is_accepted(data, context, when_read) else REFUSED)
        signal.alarm(0)  # to give back the memory that a reader asked for may take as long


def when_read() -> None:
    say(READ)
    signal.alarm(SECONDS)


def say(word: str) -> None:
    print(word, end="", flush=True)


def run(start: int, count: int, seed: int) -> subprocess.CompletedProcess[str]:
    """What a process says that tries inputs from number ``start`` on: a fork, which has imported everything."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        if not (child := os.fork()):
            os.dup2(out.fileno(), sys.stdout.fileno())
            os.dup2(errors.fileno(), sys.stderr.fileno())
            try:
                work(start, count, seed)
                os._exit(0)
            except BaseException:  # noqa: BLE001  # as an interpreter ends
                traceback.print_exc()
            finally:
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return subprocess.CompletedProcess([], status, *(file.seek(0) or file.read() for file in (out, errors)))


def main(count: int, seed: int) -> None:
    said, ended = "", 0

    def tried() -> int:
        return said.count(ACCEPTED) + said.count(REFUSED) + ended

    while (number := tried()) < count:
        many = run(number, count, seed)
        said += many.stdout
        if many.returncode and (number := tried()) < count:
            alone = run(number, number + 1, seed)
            said += alone.stdout
            if alone.returncode > 0 or (alone.returncode and not alone.stdout.endswith(READING)):
                sys.exit(f"input {number} of seed {seed}: {alone.returncode}\n{alone.stderr}")
            ended += alone.returncode != 0
    print(f"{said.count(ACCEPTED)} accepted, {said.count(REFUSED)} refused, {ended} ended the process")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
