"""Python integers that take all 32 bits, or more, beside a lane's numbers: checksums, hashes, generators."""

import zlib

import numpy as np
import pytest

import hlobatch as hb

POLYNOMIAL = 0xEDB88320
MASK = 2**32 - 1
DATA = np.random.default_rng(0).integers(0, 256, (17, 9))
NUMBERS = np.array([0, 1, 5, -7, 2**31 - 1, -(2**31)], np.int32)


def crc32(data):
    c = 0xFFFFFFFF
    for b in data:
        c ^= b
        for _ in range(8):
            c = (c >> 1) ^ POLYNOMIAL if c & 1 else c >> 1
    return c ^ 0xFFFFFFFF


def fnv(data):
    h = 2166136261
    for b in data:
        h = ((h ^ b) * 16777619) & MASK
    return h


def djb2(data):
    h = 5381
    for b in data:
        h = (h * 33 + b) % 2**32
    return h


def adler(data):
    a, b = 1, 0
    for byte in data:
        a = (a + byte) % 65521
        b = (b + a) % 65521
    return b * 65536 + a & 0xFFFFFFFF


CASES = [(c, d) for c in (crc32, fnv, djb2, adler) for d in (np.uint8, np.int32, np.uint32)]


@pytest.mark.parametrize(("checksum", "dtype"), [case for case in CASES if case != (adler, np.uint8)])
def test_checksums(checksum, dtype):
    """Bytes would be added up as bytes, as NumPy does."""
    found = hb.batch(checksum)(DATA.astype(dtype))
    assert found.dtype == np.uint32
    assert found.tolist() == [checksum(row) for row in DATA.tolist()]
    if checksum in (crc32, adler):
        known = zlib.crc32 if checksum is crc32 else zlib.adler32
        assert found.tolist() == [known(bytes(row)) for row in DATA.tolist()]


def test_generators():
    @hb.batch
    def lcg(state, turns):
        for _ in range(turns):
            state = (1664525 * state + 1013904223) & MASK
        return state, state / 2**32, state >> 16

    def xorshift(state):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        return state

    seeds, turns = np.array([1, 2, 2**32 - 1], np.uint32), np.array([3, 0, 7], np.int32)
    with hb.disable_batching():
        expected = [lcg(int(seed), int(turn)) for seed, turn in zip(seeds, turns, strict=True)]
    for found, column in zip(lcg(seeds, turns), zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(found, column, rtol=1e-6)
    assert hb.batch(xorshift)(seeds).tolist() == [xorshift(int(seed)) for seed in seeds]


def operations(n, x):
    low = 0xFFFF0000
    return (
        n & 0xFFFFFFFF,
        n % 2**31,
        n % 3_000_000_000,
        n % 2**32,
        (n * 7) & low,
        n & 0xFFFFFFFFFF & 0xFFFFFFFF,
        x * 10**10,
        10**12 - x,
        n / 2**33,
        3_000_000_000,
        x < 10**12,
        min(x, 10**12),
    )


def test_operations():
    x = NUMBERS.astype(np.float32)
    found = hb.batch(operations)(NUMBERS, x)
    for row, (a, b) in enumerate(zip(NUMBERS.tolist(), x.tolist(), strict=True)):
        for value, expected in zip(found, operations(a, b), strict=True):
            np.testing.assert_allclose(np.asarray(value)[row], expected, rtol=1e-6)


def test_unsigned_numbers():
    @hb.batch
    def f(n):
        return (
            n ^ 0xFFFFFFFF,
            n + 0x80000000,
            0xFFFFFFFF - n,
            n | 0xF0000000,
            n * 0x9E3779B1,
            n // 0x80000000,
            n < 2**32,
        )

    numbers = np.array([0, 1, 2**31, 2**32 - 1], np.uint32)
    columns = [np.asarray(column).tolist() for column in f(numbers)]
    for row, n in enumerate(numbers.tolist()):
        with hb.disable_batching():
            expected = [value % 2**32 for value in f(n)]
        assert [column[row] for column in columns] == expected


def test_a_large_number_beside_floats():
    @hb.batch
    def f(x):
        best = 3_000_000_000
        if x > 1:
            best = x
        return best

    assert f(np.array([0.5, 2.0], np.float32)).tolist() == [3e9, 2.0]
