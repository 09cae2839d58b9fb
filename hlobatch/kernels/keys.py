"""JAX's primitives of random keys -> LLVM IR: Threefry-2x32, JAX's default generator, whose keys are two words."""

from __future__ import annotations

from hlobatch.kernels.arrays import Params, Values, as_number
from hlobatch.kernels.emitter import Emitter
from hlobatch.kernels.rules import Out, on_arrays
from hlobatch.kernels.text import Index
from hlobatch.kernels.values import Value


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


@on_arrays("threefry2x32")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    dtype, shape = out[0]
    if not shape:
        first, second = _threefry(e, *[e.element(v, 0) for v in values])
        return [Value(dtype, (), first), Value(dtype, (), second)]
    news = [e.fresh(dtype, shape) for _ in range(2)]

    def one(index: list[Index]) -> None:
        place = e.position(index, shape)
        words = [e.element(v, place if v.shape else 0) for v in values]
        for new, x in zip(news, _threefry(e, *words), strict=True):
            e.put(x, new, place)

    e.each(shape, one, *(new.ref for new in news))
    return news


@on_arrays("iota_2x32_shape")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    (dtype, shape), _ = out
    low = e.built(dtype, shape, lambda index: as_number(e, e.position(index, shape), dtype))
    return [e.built(dtype, shape, lambda _: "0"), low]


@on_arrays("random_wrap", "random_unwrap")
def _(e: Emitter, p: Params, values: Values, out: Out) -> Values:
    return values
