"""Damaged and forged artifacts through ``hb.load`` and a call: ``python test/py/fuzz_artifacts.py COUNT SEED``.

Damaged files have changed bytes and unchanged checksums: each is refused with ``ArtifactError``, or gives the values of
the original. Forged files have a changed part and matching checksums: they are refused, or are another program, which
may give any value or an error of hlobatch. A forged module may crash the process when MLIR reads it; then ``untrusted``
has to refuse it. Such a module may also run endlessly or use all memory.

Each process has limits of time and memory. Prints the number of inputs of each kind and outcome.
"""

import collections
import contextlib
import hashlib
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import hlobatch as hb

SECONDS = 60
MEMORY = 8 << 30
"""Bytes that one process may take."""
OLD = Path(__file__).parent / "artifacts"
Parts = dict[str, bytes]


@hb.batch(max_steps=1000)
def fibonacci(n):
    if n <= 1:
        return 1
    return fibonacci(n - 2) + fibonacci(n - 1)


@hb.batch(in_axes=({"x": 1}, None, None), static_argnames="mode")
def shrink(arrays, data, mode):
    y = data @ arrays["x"]
    while jnp.sum(y) > 1.0:
        y = y / 2 if mode == "half" else y / 3
    return [y, {"none": None, "sum": jnp.sum(y)}]


@hb.batch
def walk(key):
    x, steps = 0.0, 0
    while jnp.abs(x) < 2.0:
        key, now = jax.random.split(key)
        x, steps = x + jax.random.normal(now), steps + 1
    return steps, x


def samples() -> list[tuple[bytes, tuple[Any, ...]]]:
    """Artifact files, each with arguments of a call."""
    n, key = np.array([0, 1, 5, 7], np.int32), jax.random.split(jax.random.key(0), 4)
    arrays, data = {"x": jnp.ones((3, 4))}, jnp.ones((7, 3))
    made = [
        (hb.export(fibonacci, n), (n,)),
        (hb.export(fibonacci, n[:0]), (n,)),
        (hb.export(shrink, arrays, data, mode="half"), (arrays, data)),
        (hb.export(walk, key), (key,)),
        (
            hb.export(hb.batch(lambda a: (jnp.linalg.cholesky(a), a)), jnp.stack([jnp.eye(3)] * 4)),
            (jnp.ones((4, 3, 3)),),
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        found = [(artifact.save(Path(folder) / "f").read_bytes(), args) for artifact, args in made]
    return [*found, ((OLD / "format_2.hlob").read_bytes(), (n,))]


# Changes


def changed_bytes(chance: random.Random, content: bytes) -> bytes:
    """Bytes changed in one to three places."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(data) + 1)
        match chance.choice(("flip", "set", "insert", "remove", "truncate", "repeat", "zero")):
            case "flip" if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case "set":
                data[at : at + 1] = chance.randbytes(1)
            case "insert":
                data[at:at] = chance.randbytes(chance.randint(1, 4))
            case "remove":
                del data[at : at + chance.randint(1, 4)]
            case "truncate" if chance.random() < 0.2:
                del data[at:]
            case "repeat":
                data[at:at] = data[at : at + chance.randint(1, 64)]
            case "zero":
                data[at : at + 8] = bytes(len(data[at : at + 8]))
    return bytes(data)


ODD = (None, True, 0, -1, 1, 2.5, 1 << 40, 1 << 70, "", "x", "float64", "tuple", [], [0], {}, {"kind": "none"}, "cpu")


def changed_json(chance: random.Random, content: bytes) -> bytes:
    """A manifest with one or two of its values replaced, removed, doubled or exchanged."""
    manifest = json.loads(content)
    for _ in range(chance.choice((1, 1, 2))):
        places = list(_places(manifest))
        where, key = chance.choice(places)
        other, at = chance.choice(places)
        with contextlib.suppress(IndexError, KeyError):  # a change before took it away
            match chance.choice(("odd", "odd", "remove", "copy", "more")):
                case "odd":
                    where[key] = chance.choice(ODD)
                case "remove":
                    del where[key]
                case "copy":
                    where[key] = json.loads(json.dumps(other[at]))
                case "more" if isinstance(where, list):
                    where.insert(key, chance.choice(ODD))
                case "more":
                    where[chance.choice(("x", "kind", "more"))] = chance.choice(ODD)
    return json.dumps(manifest).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def changed_part(name: str, change: Callable[[random.Random, bytes], bytes]) -> Callable[..., Parts]:
    def changed(chance: random.Random, parts: Parts, _: Parts) -> Parts:
        found = next(part for part in parts if part.startswith(name))
        return {**parts, found: change(chance, parts[found])}

    return changed


def exchanged(chance: random.Random, parts: Parts, others: Parts) -> Parts:
    """Parts of two artifacts together, or a part missing."""
    name = chance.choice(list(parts))
    rest = {other: part for other, part in parts.items() if other != name}
    return {**rest, name: others[name]} if name in others and chance.random() < 0.8 else rest


FORGERIES = {
    "manifest": changed_part("manifest", changed_json),
    "text": changed_part("manifest", changed_bytes),
    "module": changed_part("module", changed_bytes),
    "parts": exchanged,
}
DAMAGED = "damaged"
KINDS = (*[DAMAGED] * 4, "manifest", *FORGERIES)
LOADED = "<"
"""Printed when a file is loaded, before it is called."""


def unpacked(content: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(parts: Parts) -> bytes:
    """A file of parts, with matching checksums."""
    if "SHA256SUMS" in parts:
        others = {name: part for name, part in parts.items() if name != "SHA256SUMS"}
        sums = "".join(f"{hashlib.sha256(part).hexdigest()}  {name}\n" for name, part in others.items())
        parts = {**others, "SHA256SUMS": sums.encode()}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for name, part in parts.items():
            file.writestr(name, part)
    return content.getvalue()


# Trying


def tried(path: Path, args: Any, wanted: Any, *, untrusted: bool) -> str:
    """The outcome of loading and calling a file, as a word."""
    try:
        artifact = hb.load(path, untrusted=untrusted)
    except hb.ArtifactError:
        return "refused"
    say(LOADED)
    try:
        found = artifact.call(*args)
    except hb.HloBatchError:
        return "other"
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return "other"
    same = jax.tree.structure(found) == jax.tree.structure(wanted) and all(
        a.dtype == b.dtype and np.asarray(a).tobytes() == np.asarray(b).tobytes()
        for a, b in zip(*map(jax.tree.leaves, (found, wanted)), strict=True)
    )
    return "same" if same else "other"


def work(start: int, count: int, seed: int, *, untrusted: bool) -> None:
    """Try inputs from number ``start`` on, and print the outcome of each."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    found = samples()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.hlob"
        results = []
        for content, args in found:
            path.write_bytes(content)
            results.append(hb.load(path).call(*args))
        for number in range(start, count):
            chance = random.Random(f"{seed} {number}")
            kind, at = chance.choice(KINDS), chance.randrange(len(found))
            content, args = found[at]
            if kind == DAMAGED:
                content = changed_bytes(chance, content)
            else:
                others = unpacked(chance.choice(found)[0])
                content = packed(FORGERIES[kind](chance, unpacked(content), others))
            path.write_bytes(content)
            say(f"\n{number} {kind} ")
            signal.alarm(SECONDS)
            became = tried(path, args, results[at], untrusted=untrusted)
            signal.alarm(0)
            if kind == DAMAGED and became == "other":
                sys.exit(f"input {number} of seed {seed}: a damaged file gives other values")
            say(became)
            if number % 200 == 199:
                jax.clear_caches()


def say(words: str) -> None:
    print(words, end="", flush=True)


def run(start: int, count: int, seed: int, *how: str) -> tuple[list[list[str]], int, str]:
    """The words that a process prints for each input, its exit status, and its errors."""
    command = [sys.executable, __file__, str(count), str(seed), str(start), *how]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return [line.split() for line in done.stdout.split("\n")[1:]], done.returncode, done.stderr[-2000:]


def main(count: int, seed: int) -> collections.Counter[str]:
    tally: collections.Counter[str] = collections.Counter()
    start = 0
    while start < count:
        said, status, errors = run(start, count, seed)
        if not said:
            sys.exit(f"nothing was tried: {status}\n{errors}")
        if status:
            number, kind, *_ = said.pop()
            tally[f"{kind} {when_alone(int(number), seed, errors)}"] += 1
            start = int(number) + 1
        tally.update(f"{kind} {became.removeprefix(LOADED)}" for _, kind, became in said)
        if not status:
            return tally
    return tally


def when_alone(number: int, seed: int, errors: str) -> str:
    """The outcome, in a process that does not trust it, of an input during which a process ended."""
    [[_, kind, *said]], status, more = run(number, number + 1, seed, "untrusted")
    if kind == "module" and said:
        refused = said == ["refused"] and not status
        return "ends the process, and is refused where it is not trusted" if refused else "runs without end"
    return sys.exit(f"input {number} of seed {seed} ends the process: {status}\n{errors}\n{more}")


if __name__ == "__main__":
    count, seed, *start = map(int, sys.argv[1:4])
    if start:
        work(*start, count, seed, untrusted=len(sys.argv) > 4)
    else:
        for kind, many in sorted(main(count, seed).items()):
            print(f"{many:6} {kind}")
