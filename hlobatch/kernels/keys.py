"""JAX's primitives of random keys -> LLVM IR: Threefry-2x32, JAX's default generator, whose keys are two words."""

from __future__ import annotations

from functools import partial

from hlobatch.kernels.arrays import Params, Values, as_number
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.rules import Out, on_arrays, on_read_together
from hlobatch.kernels.text import Index
from hlobatch.kernels.values import Value, roots_of


def _rotated(e: Emitter, x: str, by: int) -> str:
    name = e.external("llvm.fshl.i32", "i32", "i32", "i32", "i32")
    return e.op(f"call i32 @{name}(i32 {x}, i32 {x}, i32 {by})")


def _threefry(e: Emitter, k0: str, k1: str, x0: str, x1: str) -> tuple[str, str]:
    """Threefry-2x32 with twenty rounds.

    Reference: Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3".
    """
    keys = [k0, k1, e.op(f"xor i32 {e.op(f'xor i32 {k0}, {k1}')}, {0x1BD11BDA}")]
    x0, x1 = e.op(f"add i32 {x0}, {k0}"), e.op(f"add i32 {x1}, {k1}")
    for group in range(5):
        for by in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x0 = e.op(f"add i32 {x0}, {x1}")
            x1 = e.op(f"xor i32 {x0}, {_rotated(e, x1, by)}")
        x0 = e.op(f"add i32 {x0}, {keys[(group + 1) % 3]}")
        x1 = e.op(f"add i32 {e.op(f'add i32 {x1}, {keys[(group + 2) % 3]}')}, {group + 1}")
    return x0, x1


@on_arrays("threefry2x32", uses_once=True)
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    dtype, shape = out[0]
    if not shape:
        return [Value(dtype, (), x) for x in _block(e, values, 0)]
    news = [e.fresh(dtype, shape) for _ in range(2)]

    def one(index: list[Index]) -> None:
        place = e.position(index, shape)
        for new, x in zip(news, _block(e, values, place), strict=True):
            e.put(x, new, place)

    e.each(shape, one, *(new.ref for new in news))
    return news


def _block(e: Emitter, values: Values, place: Index) -> tuple[str, str]:
    """The two words of the block at a position."""
    return _threefry(e, *[e.element(v, place if v.shape else 0) for v in values])


@on_read_together("threefry2x32")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    known: dict[tuple[Index, int], tuple[str, str]] = {}

    def word(k: int, place: Index) -> str:
        key = place, e.labels
        if key not in known:
            known.clear()
            known[key] = _block(e, values, place)
        return known[key][k]

    dtype, shape = out[0]
    return [Value(dtype, shape, "", None, partial(word, k), roots_of(values)) for k in range(2)]


@on_arrays("iota_2x32_shape")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    (dtype, shape), _ = out
    return [
        Value(dtype, shape, "", None, lambda _: "0", is_cheap=True),
        Value(dtype, shape, "", None, lambda i: as_number(e, i, dtype), is_cheap=True),
    ]


@on_arrays("random_wrap", "random_unwrap")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    return values
