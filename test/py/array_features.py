"""Features that generated programs on arrays combine: what each needs before, its values, its arrays, its changes.

In a text, ``#`` stands for a number, ``;`` for a small integer that is not negative, ``$`` for an array of three
numbers, ``?`` for one of four integers, and ````` for a matrix of three by three. ``xp`` is NumPy or JAX's NumPy.
"""

from __future__ import annotations

import re
import textwrap
from typing import ClassVar

from feature_writer import Feature, Lines, Writer, filled

BOTH = ("np", "jnp")


def items(text: str) -> tuple[str, ...]:
    """The items of a text: those with spaces between them, ``&&`` for the end of a line, and those behind ``---``."""
    some, *others = re.split(r"^ *---\n", text, flags=re.MULTILINE)
    short = (item.replace(" && ", "\n") for item in re.split(r"\n|   ", some))
    return tuple(item for item in [*map(str.strip, short), *(textwrap.dedent(item).strip() for item in others)] if item)


class ArrayFeature(Feature):
    """A feature of programs on arrays.

    Attributes:
        libraries: The libraries that it is written with.
        vector, whole, matrix: Expressions for arrays of three numbers, four integers, and three by three numbers.
        returned: The names of its arrays, which the program returns.
    """

    libraries: ClassVar[tuple[str, ...]] = BOTH
    vector: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    matrix: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    conditions = ("x > 0.5",)

    def begin(self, w: Writer) -> Lines:
        return [line for text in super().begin(w) for line in text.splitlines()]

    def array(self, w: Writer, kind: str) -> str:
        return filled(w.draw.choice(getattr(self, kind)), w)


class Elements(ArrayFeature):
    """An array of numbers, read."""

    begins = items("""
    r = xp.zeros(3)   r = v * x   r = xp.array([x, 1.0, t])   r = xp.linspace(0.0, 1.0, 3)   r = v
    r = xp.full_like(v, x)   r = xp.stack([x * 1.0, t * 1.0, x + t])   r = xp.arange(3) * x   r = -v[::-1]
    r = xp.ones(3) / (2 + n)   r = xp.asarray([x] * 3)   r = xp.array([v[i] * i for i in range(3)])
    """)
    returned = ("r",)
    vector = items("""
    r   (r + $)   xp.sin(r * $)   xp.abs($)   (r / (1 + $ ** 2))   ($ - #)   xp.tanh($ * #)
    """)
    values = items("""
    r[; % 3]   r[-1]   r[k % 3]   r.sum()   xp.dot(r, $)   xp.max(r)   r[::-1][0]   r.mean()   len(r) * x
    r[; % 2 - 2]   (r @ $)   float(r[; % 3])   r[1:].sum()   sum(r)   max(r)   min($)   sum(e * e for e in r)
    r.shape[0] * #   r.size * 0.1   r[-2:][; % 2]   float(abs(r[1]))   r[int(abs(#)) % 3]   xp.median(r)
    """)
    conditions = items("""
    r[0] > #   r.sum() < #   (r > #).any()   xp.all(r < 1)   r[; % 3] < r[2] <= 1   xp.allclose(r, $)
    """)
    changes = items("""
    r = r * 0.5 + $   r = xp.where(r > #, r, $)   r = xp.sin(r) + v   r = r[::-1]   r = $
    r = xp.concatenate([r[1:], r[:1]])   r = xp.roll(r, ;)   r, v = v, r
    ---
    for e in r:
        t = 0.5 * t + e
    ---
    for i, e in enumerate(r):
        if e > #:
            t = 0.5 * t + i * e
    ---
    for e, f in zip(r, v):
        t = 0.5 * t + e * f
    ---
    for i in range(1, len(r)):
        t = 0.5 * t + r[i] - r[i - 1]
    ---
    i = 0
    while i < 3 and r[i] < #:
        i += 1
    t += i
    """)


class InPlace(ArrayFeature):
    """An array of numbers that is changed in place."""

    libraries = ("np",)
    begins = items("""
    q = np.zeros(3)   q = v.copy()   q = np.array([x, 1.0, -x])   q = np.empty(3) && q[:] = x   q = np.ones(3)
    q = np.array(v)   q = v + 1   q = v[::-1].copy()   q = np.full(3, x)   q = np.zeros_like(v)
    """)
    returned = ("q",)
    vector = items("""
    q   q[::-1]   q.copy()
    """)
    values = items("""
    q[; % 3]   q.sum()   q[0] * q[1]   q[k % 3]   q.max()   np.dot(q, q)   q[-1]   q[1:].prod()
    """)
    conditions = items("""
    q[0] > #   q.any()   (q > 0).all()   q.argmax() == ;   q[; % 3] == q[0]
    """)
    changes = items("""
    q[; % 3] = #   q[1] += #   q[0], q[1] = q[1], q[0]   q *= 0.5   q[1:] = v[:2]   q += $   q[:] = #
    q[; % 3], q[2] = q[2], q[; % 3]   q[::-1] = $   q[q > #] = #   q[q < 0] *= -0.5   q[::2] = #   q[-1] -= #
    q[k % 3] += q[; % 3]   q[1:] += q[:-1]   q[:-1] = q[1:]   q[1:] = q[:-1]   q[[0, 2]] = #   q[:] = q[::-1]
    q[np.argsort(q)] = $   q[[2, 0]] += #   q.fill(#)   q.sort()   q[...] = $   q[; % 3 :] = #   q[: ; % 4] += 1
    q /= 1 + q[0] ** 2   q -= q.mean()   q[; % 3 : 3] = #   q[0] = q[0] if q[0] > # else #   q **= 2 && q %= 3
    ---
    for i in range(3):
        q[i] = q[i - 1] * 0.5 + #
    ---
    for i in range(len(q) - 1, 0, -1):
        q[i] -= q[i - 1]
    ---
    for i, e in enumerate(v):
        if e > q[i]:
            q[i] = e
            continue
        q[i] *= 0.5
    ---
    for e in q:
        q[0] += 0.5 * e
    ---
    i = 0
    while i < 3:
        if q[i] > #:
            break
        q[i] = #
        i += 1
    else:
        q[0] = 2
    """)


class Views(ArrayFeature):
    """Two names of one array or of a part of it, of which one is changed."""

    libraries = ("np",)
    begins = items("""
    p, g = v.copy(), m.copy()   p, g = np.zeros(3), np.zeros((3, 3))   p, g = np.arange(3) * x, np.eye(3)
    """)
    returned = ("p", "g")
    vector = items("""
    p   g[; % 3]   g[:, 1]   g.diagonal()
    """)
    matrix = items("""
    g   g.T
    """)
    values = items("""
    p[0]   g[0, ; % 3]   g.sum()   p[; % 3]   g[1].max()   g[; % 3][0]
    """)
    conditions = items("""
    p[0] > #   g[0, 0] == p[0]   g[1, ; % 3] > #
    """)
    changes = items("""
    a = p && a[; % 3] = #   a = g[; % 3] && a[0] = #   a = g[:, 1] && a += #   a = g.T && a[0, 1] = #
    a = p[1:] && a[0] = #   a = p[::-1] && a[0] += #   a = g.reshape(-1) && a[; % 9] = #   a = g.ravel() && a[3] = #
    a = p && a += $ && t += p[0]   a = p.copy() && a[0] = # && t += a[0]   a = g[1:] && a[0, 0] = #
    a = g[1] && b = a[1:] && b[0] = #   a = p && p = p + 1 && a[0] = #   a, b = g[0], g[1] && a[0] = b[1] + #
    (p if x > # else g[1])[0] = #   g[0] = p && p[0] = #   p = g[; % 3] && p[1] = #   p = g[0].copy() && p[1] = #
    g[0], g[1] = g[1], g[0]   a = g && a[1, 1] = #   g[[0, 1]] = g[[1, 0]]   g[0], g[2] = g[2].copy(), g[0].copy()
    g[:, [0, 1]] = g[:, [1, 0]]   a = g[[0, 2]] && a[0] = #   a = g[g[:, 0] > #] && t += a.sum()
    a = np.asarray(p) && a[0] = #   a = np.array(p) && a[0] = #   a = g.diagonal() && t += a[1]
    a = p[:] && a[; % 3] += #   a = g[; % 3, :] && a *= 0.5   a = g[:2, 1:] && a[0, 0] = # && a[1] = #
    a = p[None] && a[0, 1] = #   a = g.flatten() && a[0] = # && t += a[0]   g.T[0] = $   g[1][; % 3] = #
    g.reshape(-1)[4] = #   g[::-1][0] = $   a = b = p && b[0] = #   a = g.swapaxes(0, 1) && a[0] = $
    a, b = p, p && a[0] = # && t += b[0]   a = np.squeeze(p[:, None]) && a[0] = #   a = abs(p) && a[0] = #
    a = p.astype(p.dtype) && a[0] = #   a = p.view() && a[0] = #   a = +p && a[0] = # && t += a[0]
    a = np.atleast_2d(p) && a[0, 0] = #   a = np.where(x > 0, p, v) && a[0] = #   a = np.transpose(g) && a[1, 0] = #
    a = np.broadcast_to(p, (2, 3)) && t += a[1, 0]   a = max(p, v, key=lambda z: z[0]) && t += a[0]
    a = [p, g[0]] && a[0][0] = #   a = (p, 1) && a[0][1] = #   a = {'p': p} && a['p'][2] = #
    ---
    a = p
    if x > 0.5:
        a = p.copy()
    a[1] = #
    ---
    for row in g:
        row[; % 3] = #
    ---
    for row in g:
        row += #
    ---
    for row in g[1:]:
        row[:] = $
    ---
    for i, row in enumerate(g):
        row[i] *= #
    ---
    a = p
    for i in range(3):
        a[i] = #
    t += p.sum()
    ---
    for a in (p, g[0]):
        a[0] = #
    """)


class Updates(ArrayFeature):
    """Functional updates of JAX's arrays."""

    libraries = ("jnp",)
    begins = items("""
    q = jnp.zeros(3)   q = v   q = jnp.arange(3.0)   q = jnp.array([x, 1.0, -x])   q = jnp.ones_like(v)
    """)
    returned = ("q",)
    vector = items("""
    q   q.at[; % 3].set(#)   q.at[::2].add($[:2])   q.at[0].get()[None] * $
    """)
    values = items("""
    q[; % 3]   q.sum()   q.at[; % 3].get()   q[k]   q.at[; + 1].get(mode='fill', fill_value=7)   q.take(; % 3)
    """)
    conditions = items("""
    q[0] > #   q.any()   (q > 0).all()
    """)
    changes = items("""
    q = q.at[; % 3].set(#)   q = q.at[; % 3].add(#)   q = q.at[k % 3].multiply(#)   q = q.at[1:].set(v[:2] * #)
    q = q.at[; % 3].min(#)   q = q.at[; % 3].max(#)   q = q.at[jnp.array([0, 0, 2])].add($)   q = q.at[::-1].set($)
    q = q.at[;].set(#, mode='drop')   q = q.at[;].set(#, mode='clip')   q = q.at[jnp.argsort(q)].set($)
    q = q.at[k].add(#)   q = q.at[jnp.array([; % 3, 1])].set(jnp.array([t, x]))   q = q.at[; % 3].apply(jnp.sin)
    q = q.at[q > #].set(#)   q = q.at[; % 3].divide(2)   q = q.at[-1].power(2)   q = q.at[:].set(#)
    q = q.at[; % 3].set(q[0]).at[0].set(q[; % 3])   q = q.at[jnp.where(q > #, 0, 1)].add(0.5)
    q = q.at[...].mul(0.5)   q = lax.dynamic_update_slice(q, v[:2], (; % 3,))
    old = q && q = q.at[1].set(#) && t += old[1]   q = lax.dynamic_update_index_in_dim(q, #, ; % 3, 0)
    q = jnp.put(q, ; % 3, #, inplace=False)
    ---
    for i in range(3):
        q = q.at[i].set(q[i - 1] * 0.5 + #)
    ---
    for i in range(n):
        if q[i % 3] > #:
            q = q.at[i % 3].add(-1)
        else:
            q = q.at[i % 3].set(0.5 * x)
    ---
    i = 0
    while i < 3:
        if q[i] > #:
            break
        q = q.at[i].set(#)
        i += 1
    """)


class Wholes(ArrayFeature):
    """Integers: quotients, remainders, shifts and bits of arrays, with negative numbers."""

    begins = items("""
    w = u * 2   w = xp.arange(4)   w = xp.array([n, k, 2, -3])   w = u[::-1]   w = xp.zeros(4, dtype=int)
    w = u % 5   w = xp.zeros_like(u)   w = xp.array([1, 2, 3, 4]) * n   w = xp.full(4, k)
    w = xp.ones(4, dtype=xp.int32)
    """)
    returned = ("w",)
    whole = items("""
    w   (? // 3)   (? % 3)   (w + ?) % 11   (w >> 1)   (? << 1) % 9   (w & 3)   (? | 1)   (w ^ ?)   ~w   -?
    xp.abs(w)   xp.minimum(w, ?)   (? // (abs(w) + 1))   (? % -(abs(w) + 2))   xp.sign(w)   xp.clip(?, -2, 3)
    (w > ;) * 2   xp.where(w > ?, w, 1)   xp.cumsum(w) % 7   xp.floor_divide(?, 2)   xp.mod(w, 4)   xp.gcd(w, ?)
    xp.bitwise_and(w, 5)   xp.left_shift(w % 4, 1)   xp.sort(w)   xp.roll(?, 1)   w[::-1]   xp.repeat(w[:2], 2)
    xp.fmod(w, 3)   xp.remainder(?, -3)   divmod(w, 3)[0]   (w ** 2 % 13)   xp.invert(w)   (w // -2)
    xp.diff(w, append=1)
    """)
    values = items("""
    w[; % 4]   w.sum()   w[k % 4] * x   w[1] // 2   w[0] % 3 * 0.5   int(w[; % 4]) * 0.3   w.prod()   w.max() / 4
    (w[0] // -3)   w[0] / 3   w.mean()   (w[2] % -4)   (w == ;).sum()   xp.count_nonzero(w)   int(w.argmin())
    (w > 1).mean()   w.tolist()[1]   (w[0] << 2)   w.std()   len(w)   w[w[; % 4] % 4]   sum(int(e) % 3 for e in w)
    v[w[; % 4] % 3]   xp.dot(w, ?)   (w / 2)[1]   w.sum() / w.size   w.var()
    """)
    conditions = items("""
    w[0] > ;   (w > ;).all()   xp.any(w == ;)   w[1] % 2 == 0   w[0] < w[1] <= w[2]   not w[; % 4]   w[0] & 1
    w.sum() % 2
    """)
    changes = items("""
    w = w + 1   w = (w * 3 + ?) % 11   w = ?   w = xp.where(w % 2 == 0, w // 2, 3 * w + 1) % 17   w = -w
    w = w // 2
    ---
    for e in w:
        t = 0.5 * t + e % 3
    ---
    for e in w:
        if e < 0:
            continue
        if e > 3:
            break
        t = 0.5 * t + e
    ---
    for i in w:
        t = 0.5 * t + v[i % 3]
    ---
    for i in range(w[0] % 5):
        t = 0.5 * t + i
    ---
    c = w[; % 4] % 6
    while c > 0:
        c -= 1
        t = 0.7 * t + c
    ---
    c = 0
    for e in w:
        c = (c * 3 + e) % 101
    t += c
    """)


class WholesInPlace(ArrayFeature):
    """Integers in an array that is changed in place: tables, counts, swaps."""

    libraries = ("np",)
    begins = items("""
    h = u.copy()   h = np.zeros(4, int)   h = np.array([n, k, 2, 7])   h = np.arange(4)
    h = np.zeros(4, dtype=np.int32)
    """)
    returned = ("h",)
    whole = items("""
    h   h.copy()   h[::-1]   h[u % 4]
    """)
    values = items("""
    h[; % 4]   h.sum()   h.max()   h[k % 4]   (h > ;).sum()   h.argmax()   int(h[1]) // 2
    """)
    conditions = items("""
    h[0] == ;   h[; % 4] > h[0]   (h == 0).any()   h[1] % 2
    """)
    changes = items("""
    h[; % 4] = ;   h[; % 4] += 1   h[k % 4] -= ;   h[0], h[; % 4] = h[; % 4], h[0]   h //= 2   h %= 5   h[1:] = ;
    h[h > ;] = 0   h[::2] += 1   h += ?   h[u % 4] = 1   h[u % 4] += 1   np.add.at(h, u % 4, 1)
    h[[0, 3]] = h[[3, 0]]   h *= 2 && h %= 11   h <<= 1 && h &= 15   h >>= 1   h |= 1   h ^= ?   h[0] = #
    h[1:3] = h[:2]   h.sort()   h[~(h > 1)] = 2   h[(h > 0) & (h < 5)] = ;   h -= h[0]   h[u > 1] = ?[u > 1]
    h[-1] //= -2   h[1] %= -3   h[np.argmax(h)] = 0   h[:] = ?[::-1]   np.maximum(h, ?, out=h)   np.add(h, 1, out=h)
    h[np.nonzero(h > 2)] = 1   h = np.sort(h)[::-1]   h[np.arange(2)] = ;
    ---
    for e in u:
        h[e % 4] += 1
    ---
    for i in range(3):
        for j in range(3 - i):
            if h[j] > h[j + 1]:
                h[j], h[j + 1] = h[j + 1], h[j]
    ---
    for i in range(1, 4):
        j = i
        while j > 0 and h[j - 1] > h[j]:
            h[j - 1], h[j] = h[j], h[j - 1]
            j -= 1
    ---
    lo, hi = 0, 3
    while lo < hi:
        h[lo], h[hi] = h[hi], h[lo]
        lo, hi = lo + 1, hi - 1
    ---
    for i in range(1, 4):
        h[i] = (h[i] + h[i - 1]) % 9
    ---
    for i, e in enumerate(h):
        h[i] = e * 2 if e < 3 else 0
    """)


class Windows(ArrayFeature):
    """Slices with bounds of the lane, which may lie beyond the ends of the array."""

    libraries = ("np",)
    begins = items("f6, g4 = np.zeros(6), np.zeros((4, 4))   f6, g4 = np.arange(6) * x, np.ones((4, 4))")
    returned = ("f6", "g4")
    vector = items("f6[:3]   f6[::2]   g4[1, 1:]   g4[1:, ; % 4]")
    values = items("f6[;]   f6.sum()   g4[; % 4].sum()   g4[k % 4, ; % 4]   f6[-1]   f6.max()   g4[:, 1].sum()")
    conditions = items("f6[;] > #   (g4 > #).any()   g4[; % 4, 0] == f6[0]")
    changes = items("""
    f6[; : ; + 2] = #   f6[n : n + 3] = #   f6[k : k + 2] = #   f6[k : k + 2] += #   f6[n - 1 : n + 2] *= 0.5
    f6[k:] = #   f6[:k] = #   f6[n:k] -= #   f6[k:n] = #   f6[; : ; + 1] = #   f6[-n:] += #
    f6[n :: 2] = #   f6[: ; : 2] += #
    g4[n : n + 2, k : k + 2] = #   g4[n - 1 : n + 2, n - 1 : n + 2] += #   g4[;, : n] = #   g4[k : k + 2, ; % 4] = #
    g4[; % 4, n : n + 2] -= #   g4[:n, :k] = #   g4[n:, 1] *= 0.5   g4[n : n + 1] = f6[:4]   g4[k : k + 1, 1:3] += #
    f6[n % 4 : n % 4 + 3] = $   f6[n % 4 : n % 4 + 3] += $   g4[n % 2 : n % 2 + 3, 0] = $   f6[k : k + 2] = f6[0]
    ---
    for i in range(3):
        f6[i : i + n] += #
    ---
    for i in range(4):
        for j in range(4):
            g4[i - 1 : i + 2, j] += f6[j] * 0.1
    """)


class Picked(ArrayFeature):
    """Elements at arrays of indices, sorts, rolls, searches."""

    begins = items("""
    o = xp.argsort(v)   o = xp.array([2, 0, 1])   o = xp.array([n, 0, 2]) % 3   o = u[:3] % 3
    """)
    returned = ("o",)
    vector = items("""
    v[o]   $[o[::-1]]   xp.take($, o)   xp.roll($, 1)   xp.flip($)   xp.sort($)   $[::-1]   xp.roll($, n)   m[o, o]
    xp.take($, o, axis=0)   xp.cumsum($)   xp.sort($)[::-1]   m[; % 3][o]   m[:, ; % 3]   m[o[0]]   $[[1, 2, 0]]
    m[0, o]   xp.take_along_axis($, o, axis=0)   xp.flip($, 0)   xp.minimum($, v[o])   xp.choose(o, [$, v, v])
    xp.select([o > 1], [$], 0.5)
    """)
    whole = items("""
    ?[xp.argsort(?)]   xp.searchsorted(xp.sort(v), xp.array([x, t, 0.0, 0.5]))   xp.digitize(?, xp.array([0, 2]))
    """)
    matrix = items("""
    m[o]   m[:, o]   m[::-1]   xp.roll(m, 1, axis=0)   m[xp.ix_(o, o)]   xp.sort(m, axis=0)   xp.flip(m, 1)
    m[o][:, o]
    """)
    values = items("""
    v[o[; % 3]]   o[0]   v[o].sum()   m[o[0], o[1]]   xp.searchsorted(xp.sort(v), #)   xp.argmax(v)   v.argmin()
    m[; % 3, o[0]]   xp.take(v, k % 3)   v[o][; % 3]   xp.argsort(v)[0]   m.argmax() % 4   xp.nanmax(v)
    o.argsort()[; % 3]   xp.partition(v, 1)[1]   xp.interp(#, xp.array([0.0, 1.0, 2.0]), v)   xp.quantile(v, 0.5)
    xp.argwhere(v > 5).shape[0]   (v[o] @ v)   xp.sum(v, where=v > 0.1)   xp.max(v, initial=0.1)
    xp.unravel_index(;, (3, 2))[0]
    """)
    conditions = items("""
    o[0] == ;   (o == 1).any()   v[o[0]] < #   xp.array_equal(o, xp.sort(o))   xp.isin(;, o)
    """)
    changes = items("""
    o = xp.argsort($)   o = o[::-1]   o = xp.roll(o, 1)   v = v[o]   o = (o + 1) % 3   o = xp.argsort(-v)
    o = xp.argsort(o)   i = xp.argmax(v) && t += v[i] + m[i, i]
    ---
    for i in o:
        t = 0.5 * t + v[i]
    ---
    for i, j in enumerate(o):
        t = 0.5 * t + m[i, j]
    """)


class Masks(ArrayFeature):
    """Arrays of truth values."""

    begins = items("""
    b = v > 0   b = xp.array([n > 1, True, x > 0])   b = xp.ones(3, dtype=bool)   b = ~(v > x)
    b = xp.zeros(3, bool)   b = u[:3] > 1
    """)
    returned = ("b",)
    vector = items("""
    xp.where(b, $, #)   ($ * b)   xp.where(~b, $, v)   xp.where(b, 1.0, $)   (b + $)   b.astype(float)
    xp.where(b & ($ > 0), #, v)
    """)
    values = items("""
    b.sum()   b[; % 3]   b.any()   b.mean()   xp.count_nonzero(b)   (b & (v > #)).sum()   int(b[0])   b.argmax()
    float(b[1])   (b * 2).sum()   xp.where(b, v, 0).max()   v[b].sum()   len(b)   (b ^ ~b)[0]   sum(b)
    b.astype(int)[1]   -b.astype(int)[0]   (b[0] | b[1])   v[b].size   max(b)
    xp.logical_xor(b, v > 0).sum()   b.cumsum()[-1]
    """)
    conditions = items("""
    b[; % 3]   b.all()   b.any() and not b[0]   xp.any(b)   (b == (v > 0)).all()   not b[1]   b[0] or b[2]   any(b)
    all(b)   b[0] == True
    """)
    changes = items("""
    b = ~b   b = b & (v < #)   b = b | (v > #)   b = xp.logical_not(b)   b = (v > #) & (v < 1)   b = v != 0
    b = b[::-1]   b = xp.isfinite($) ^ b
    ---
    for e in b:
        if e:
            t += 1
        else:
            t *= 0.5
    ---
    if b[; % 3]:
        b = xp.where(b, v > #, False)
    ---
    c = 0
    while c < 3 and not b[c]:
        c += 1
    t += c
    """)


class MasksInPlace(ArrayFeature):
    """An array of truth values that is changed in place, as a sieve is."""

    libraries = ("np",)
    begins = items("""
    z = np.ones(8, dtype=bool)   z = np.zeros(8, bool)   z = np.arange(8) % 2 == 0   z = np.full(8, False)
    """)
    returned = ("z",)
    values = items("""
    z.sum()   z[;]   z[n:].sum()   np.flatnonzero(z).size   z[;:].any()   z.argmax()   np.nonzero(z)[0].sum()
    """)
    conditions = items("""
    z[;]   z[; + 1] and x > 0   z[:;].any()   z.all()   not z[k % 8]
    """)
    changes = items("""
    z[;] = True   z[; :: 2] = False   z[; + 2 :: ; + 1] = False   z[: ;] = True   z = ~z   z[1::2] ^= True
    z &= np.arange(8) > ;   z[u % 8] = True   z[;] = not z[;]   z[; : ; + 2] = x > 0   z[-1] = z[0]   z |= z[::-1]
    z[;] |= x > 0   z[z] = False
    ---
    p = 2
    while p * p < 8:
        if z[p]:
            z[p * p :: p] = False
        p += 1
    ---
    for i in range(8):
        if z[i] and i > ;:
            z[i] = False
            break
    """)


class Matrices(ArrayFeature):
    """A matrix: rows, columns, products, reductions along an axis."""

    begins = items("""
    a = m * 1   a = xp.eye(3)   a = xp.zeros((3, 3))   a = xp.outer(v, v)   a = m.T   a = xp.diag(v)
    a = xp.stack([v, v * x, v + 1])   a = xp.arange(9.0).reshape(3, 3) / 9
    a = xp.array([[1, x, 0], [0, 1, x], [x, 0, 1]])   a = xp.vstack([v, v, xp.ones(3)])   a = xp.ones((3, 3)) * x
    a = xp.identity(3) + m   a = xp.tile(v, (3, 1))   a = v[:, None] * v[None, :]   a = xp.tri(3)   a = xp.triu(m)
    """)
    returned = ("a",)
    vector = items("""
    a[; % 3]   a[:, ; % 3]   (a @ $)   a.sum(axis=0)   a.mean(axis=1)   xp.max(a, axis=0)   a.diagonal()
    xp.diag(a)   a.T[0]   xp.einsum('ij,j->i', a, $)   xp.dot($, a)   a.prod(1)   xp.linalg.norm(a, axis=1)
    a.min(axis=-1)   a[k % 3]   a.sum(1, keepdims=True)[:, 0]   xp.squeeze(a[:, :1])   xp.cross(a[0], $)
    xp.matmul(a, $)   a.reshape(-1)[:3]   xp.tensordot(a, $, axes=1)   xp.linalg.solve(a + 5 * xp.eye(3), $)
    xp.std(a, axis=0)   xp.average(a, axis=0)   a.cumsum(axis=1)[2]   a.ravel()[::4]   a[-1, ::-1]
    a[[0, 1, 2], [2, 1, 0]]   a[1:, 1:].sum() * $
    """)
    matrix = items("""
    a   (a @ `)   a.T   (a * `)   (a + $)   (a - $[:, None])   xp.outer($, $)   a[::-1]   a.transpose()
    xp.sort(a, axis=1)   xp.where(a > #, a, `)   xp.einsum('ij,jk->ik', a, `)   xp.cumsum(a, axis=0)
    xp.linalg.inv(a + 5 * xp.eye(3))   a / (1 + xp.abs(a).sum(axis=1, keepdims=True))   xp.tanh(`)   xp.triu(`)
    xp.tril(a, -1)   xp.concatenate([a[1:], a[:1]])   xp.broadcast_to($, (3, 3))   xp.maximum(a, 0)
    xp.hstack([a[:, 1:], a[:, :1]])   xp.swapaxes(a, 0, 1)   xp.rot90(a)   xp.kron(a[:1], $[:, None])
    xp.column_stack([$, $, $])   a.reshape(9).reshape(3, 3)   xp.linalg.cholesky(a @ a.T + 2 * xp.eye(3))
    """)
    values = items("""
    a[; % 3, ; % 3]   a.sum()   a[; % 3].sum()   xp.trace(a)   a[0] @ v   a.max()   a[k % 3, -1]   xp.linalg.norm(a)
    a.shape[1] * x   a[:, 1].sum()   xp.linalg.det(a)   len(a)   a.ndim   (a > #).sum()   v @ a @ v
    a.argmax(axis=1)[; % 3]   xp.sum(a, axis=(0, 1))   a[1, 1:].mean()   sum(row[0] for row in a)
    sum(row.sum() for row in a)   max(row[1] for row in a)   a[; % 3][; % 3]   a.T[; % 3, 0]
    sum(a[i, i] for i in range(3))   xp.einsum('ii', a)   xp.vdot(a, a)   a[; % 3, :2].sum()   a.flatten()[;]
    xp.linalg.norm(a[0] - v, ord=1)   xp.inner(v, a[0])
    """)
    conditions = items("""
    a[0, 0] > #   (a[1] > #).any()   a[0].sum() < a[1].sum()   xp.all(a > #, axis=0)[; % 3]   xp.allclose(a, a.T)
    (a == a.T).all()
    """)
    changes = items("""
    a = a @ m   a = a.T   a = a * 0.5 + `   a = xp.tanh(a)   v = xp.tanh(a @ v)   a = a - a.mean(axis=0)   a = `
    a = a[::-1]
    ---
    for row in a:
        t = 0.5 * t + row.sum()
    ---
    for i, row in enumerate(a):
        for j, e in enumerate(row):
            if i != j and e > #:
                t += e
    ---
    for i in range(3):
        for j in range(i):
            t = 0.5 * t + a[i, j] * a[j, i]
    ---
    for p, q in zip(a, a.T):
        t = 0.5 * t + p @ q
    ---
    for i in range(3):
        s = 0.0
        for j in range(3):
            s += a[i, j] * v[j]
        t = 0.5 * t + s
    """)


class MatricesInPlace(ArrayFeature):
    """A matrix that is changed in place: rows, columns, elimination, grids."""

    libraries = ("np",)
    helpers = """
    def lu(a):
        a = a.copy()
        for i in range(3):
            for j in range(i + 1, 3):
                a[j, i] /= a[i, i]
                a[j, i + 1:] -= a[j, i] * a[i, i + 1:]
        return a

    def gauss_seidel(a, b, tolerance):
        z = np.zeros(3)
        for count in range(20):
            old = z.copy()
            for i in range(3):
                s = b[i]
                for j in range(3):
                    if j != i:
                        s -= a[i, j] * z[j]
                z[i] = s / a[i, i]
            if np.abs(z - old).max() < tolerance:
                break
        return z

    def pivoted(a, b):
        a, b = a.copy(), b.copy()
        for i in range(3):
            p = i + np.argmax(np.abs(a[i:, i]))
            if p != i:
                a[[i, p]] = a[[p, i]]
                b[i], b[p] = b[p], b[i]
            for j in range(i + 1, 3):
                f = a[j, i] / a[i, i]
                a[j] -= f * a[i]
                b[j] -= f * b[i]
        for i in range(2, -1, -1):
            b[i] = (b[i] - a[i, i + 1:] @ b[i + 1:]) / a[i, i]
        return b
    """
    begins = items("""
    s = m.copy()   s = np.zeros((3, 3))   s = np.eye(3)   s = np.outer(v, v)
    s = np.array([[x, 1, 2], [0, x, 1], [1, 1, 1]])   s = np.empty((3, 3)) && s[:] = v
    """)
    returned = ("s",)
    vector = items("""
    s[0]   s[:, 1]   gauss_seidel(m + 4 * np.eye(3), $, 1e-3)   pivoted(m + 3 * np.eye(3), $)   s.sum(0)
    """)
    matrix = items("""
    s   s.T   lu(` + 5 * np.eye(3))   s.copy()
    """)
    values = items("""
    s[; % 3, ; % 3]   s.sum()   s[1].max()   s[:, k % 3].sum()   s[-1, -1]   lu(s + 9 * np.eye(3))[2, 1]
    """)
    conditions = items("""
    s[0, 0] > #   (s[1] > 0).any()   s[; % 3, 0] < s[0, ; % 3]
    """)
    changes = items("""
    s[; % 3, ; % 3] = #   s[1] += #   s[:, 0] = $   s[; % 3] = s[0] + 1   s[s > #] = #   s[:, ; % 3] *= 0.5   s += `
    s[1:, :2] = 0   s[[0, 1]] = s[[1, 0]]   s[; % 3, :] = $   s[np.diag_indices(3)] = #   s[k % 3] -= s[0]
    s *= 0.5   s[::2, ::2] = #   s[-1] = s[0] * s[1]   s[:, 1] = s[:, 0] + #   s[0, :] = s[:, 0]   s[:] = s.T
    s[...] = #   np.fill_diagonal(s, #)   s[[0, 1], [1, 2]] = #   s[:, ::-1] += s   s -= s.mean(axis=0)
    s /= 1 + np.abs(s).max()   s[; % 3, s[0] > 0] = #   s[:, [0, 2]] = s[:, [2, 0]]   s[s[:, 0] > #] *= 0.5
    s[0][1] = #   s[range(3), range(3)] = #   s[; % 3, 1:] -= 0.5 * s[0, 1:]   s[1, 1], s[0, 0] = s[0, 0], s[1, 1]
    s[n % 3, k % 3] += #   s[np.tril_indices(3)] = 0
    ---
    for i in range(3):
        for j in range(3):
            s[i, j] = s[j, i] + #
    ---
    for i in range(1, 3):
        for j in range(1, 3):
            s[i, j] = max(s[i - 1, j], s[i, j - 1]) * 0.5 + v[j]
    ---
    for i in range(3):
        s[i, i:] *= 0.5
        s[i] /= 1 + s[i] @ s[i]
    ---
    g = np.zeros_like(s)
    for i in range(3):
        for j in range(3):
            g[i, j] = s[i - 1, j] + s[(i + 1) % 3, j]
    s = g * 0.5
    """)


class Shapes(ArrayFeature):
    """Reshaped, stacked, split, broadcast arrays."""

    vector = items("""
    xp.concatenate([$[:1], $[1:]])   xp.stack([$[0], #, #])   xp.append($[:2], #)   xp.ravel($[:, None])
    xp.split(m.reshape(-1), 3)[1]   xp.stack([$, $]).sum(0)   xp.hstack([$[2:], $[:2]])   xp.expand_dims($, 0)[0]
    xp.broadcast_to(#, (3,))   xp.pad($[:1], (1, 1))   xp.tile($[:1], 3)   xp.atleast_1d($)   xp.repeat(#, 3)
    xp.delete(xp.append($, #), 0)   xp.insert($[:2], 1, #)   xp.moveaxis(m, 0, 1)[0]   xp.array([*$])
    xp.array($.tolist())   xp.diff(xp.append($, 0.5))   xp.convolve($, xp.array([0.5, 0.5]))[:3]
    xp.asarray([e * 2 for e in $])   xp.array([$[0], x, 1])   $.reshape(3, 1)[:, 0]   xp.array((x, t, 1.5))
    xp.meshgrid($, $)[0][0]   xp.trapezoid(m, axis=1)   xp.array(list(map(float, range(3))))   xp.zeros(3) + #
    xp.polyval(xp.array([1.0, 0.5]), $)   xp.concatenate((xp.array([x]), $[1:]))
    xp.array_split(xp.append($, #), 2)[0][:1] + $   xp.full((3,), #)   xp.ones_like($)   xp.nan_to_num($)
    xp.gradient($)
    """)
    whole = items("""
    xp.stack([?[0], n, k, 1])   xp.concatenate([?[2:], ?[:2]])   xp.array([n, 2, k, 1])   (xp.arange(4) + n)
    xp.array([len(v), n, 0, k % 3])   xp.arange(8)[::2]   xp.arange(1, 9, 2)
    """)
    matrix = items("""
    xp.stack([$, $, $])   xp.stack([$, $, $], axis=1)   xp.vstack([`[:2], $])   xp.array([$, v, v])
    xp.block([[`[:1]], [`[1:]]])   xp.array([[x, 0, 1], [t, 1, 0], [0, 0, x]])   xp.dstack([$, $, $])[0]
    xp.array([[i * j * x for j in range(3)] for i in range(3)])
    """)
    values = items("""
    m.reshape(-1)[;]   xp.stack([v, v * 2])[; % 2, ; % 3]   m.ravel().sum()   xp.concatenate([v, v])[;]
    xp.append(v, x)[-1]   m.reshape(9, 1).shape[0]   (v[:, None] * v).sum()   (v[:, None] > v[None]).sum()
    u.reshape(2, 2)[; % 2].sum()   m.size   xp.shape(m)[0]   m.T.shape[0]   xp.size(v)   u.reshape(2, -1).T[0, 1]
    xp.squeeze(v[:1])   v[None, :, None][0, ; % 3, 0]   v[..., 0]   m[..., 1].sum()   m[None].ndim
    xp.linspace(x, 1, 4)[; % 4]   xp.arange(0.0, 1.0, 0.25)[; % 4]   xp.ndim(m)
    """)
    changes = items("""
    y, z, e = v && t += y * z - e   y, *z = v && t += y + sum(z)   c, d = m.shape && t += c * d
    (y, z, _), *e = m && t += y * z
    ---
    for y, z in zip(v[1:], v):
        t = 0.5 * t + y - z
    ---
    for e in m.ravel()[::2]:
        t = 0.5 * t + e
    ---
    for e in reversed(v):
        t = 0.5 * t + e
    ---
    for y, z, e in m:
        t = 0.5 * t + y * z - e
    ---
    for e in m.T:
        t = 0.5 * t + e[0]
    ---
    for i, j in itertools.product(range(3), range(2)):
        t = 0.5 * t + m[i, j]
    ---
    for e in v[::-1]:
        t = 0.5 * t + e
    ---
    for e in v[1:]:
        t = 0.5 * t + e
    ---
    for i in np.ndindex(2, 2):
        t = 0.5 * t + m[i]
    ---
    for e in xp.linspace(0, 1, 4):
        t = 0.5 * t + e
    ---
    for i in xp.arange(3):
        t = 0.5 * t + v[i] * i
    """)


class Dtypes(ArrayFeature):
    """Arrays of several dtypes beside numbers and each other."""

    begins = items("""
    y8 = xp.array([1, 2, 3], dtype=xp.int8)   y8 = xp.arange(3, dtype=xp.uint8)   y8 = xp.ones(3, xp.int16)
    y8 = (u[:3] % 7).astype(xp.uint8)   y8 = xp.zeros(3, dtype=xp.float32)
    y8 = xp.zeros(3, xp.uint32) + 5   y8 = u[:3].astype(xp.int8)
    y8 = xp.array([1 + 2j, 0, 1j], xp.complex64)   y8 = v.astype(xp.float32)   y8 = xp.array([True, False, True])
    y8 = v.astype(xp.int32)
    """)
    returned = ("y8",)
    vector = items("""
    (y8.real * $)   ($ + y8.real)   y8.real.astype(v.dtype)   abs(y8) * $   xp.asarray(y8.real, dtype=v.dtype)
    """)
    whole = items("""
    ?.astype(xp.int8).astype(int)   ?.astype(bool).astype(int)   ?.astype(float).astype(int)
    (? % 256).astype(xp.uint8) // 2
    """)
    values = items("""
    y8[; % 3].real   y8.sum().real   abs(y8[0])   (y8 * 2)[1].real   (y8 + x)[0].real   (y8 / 2)[1].real
    (y8 * x).real.sum()   y8.mean().real   int(y8[0].real)   float(y8[1].real)   (y8 == 1).sum()   y8.dtype.itemsize
    (y8 + y8)[0].real   (y8.real > 0.5).any()   xp.float32(x) * 2   xp.int8(n) + 1   (y8 * xp.float32(2))[0].real
    (y8 + xp.int32(1))[0].real   xp.real(y8)[1]   xp.conj(y8)[0].imag   (y8 ** 2)[1].real   y8.imag.sum()
    xp.abs(y8).max()   (1 + y8)[0].real
    """)
    conditions = items("""
    y8[0] == 1   (y8 == y8[1]).all()   y8.real[0] > #   y8.dtype == xp.float32   xp.issubdtype(y8.dtype, xp.integer)
    abs(y8[1]) < 2
    """)
    changes = items("""
    y8 = y8 * 2 - y8   y8 = y8 + 1   y8 = +y8   y8 = y8[::-1]   y8 = y8 * y8   y8 = xp.where(x > 0, y8, y8 * 0)
    y8 = y8.astype(y8.dtype)   y8 = y8 / 2   y8 = y8 + x   y8 = y8 * n   y8 = y8 + u[:3]   y8 = y8 * v
    y8 = xp.conj(y8 + 0)   y8 = y8 + xp.float32(0.5)   y8 = y8 > 1   y8 = y8.astype(float)
    y8 = y8.astype(xp.complex64) * 1j   y8 = xp.sqrt(abs(y8))
    ---
    for e in y8:
        t = 0.5 * t + e.real
    """)


class Scalars(ArrayFeature):
    """Elements as numbers of Python, and numbers as arrays without axes."""

    begins = items("""
    y = xp.float32(x)   y = v[0]   y = float(v[1])   y = xp.array(x)   y = v.sum()   y = m[0, 0].item()
    y = xp.asarray(0.5)   y = xp.zeros(())
    """)
    returned = ("y",)
    vector = items("""
    (y * $)   ($ + y)   xp.array([y, y, #])   xp.full(3, y)   xp.where(y > #, $, v)   xp.broadcast_to(y, (3,))
    """)
    values = items("""
    y   float(y)   abs(y)   int(y * 3)   round(float(y), 1)   y ** 2   max(y, #)   min(y, v[0])   xp.maximum(y, #)
    v[0].item()   u[1].item() % 3   xp.asarray(y).item()   math.floor(v[; % 3] * 4)   math.sqrt(abs(v[0]))
    int(v[0] * 5)   bool(u[0] > 1)   float(u[; % 4])   xp.sqrt(abs(y))   xp.round(y, 1)   u[1].astype(float)
    v.tolist()[1]   round(v[0] * 3)   divmod(u[0], 3)[1]   divmod(v[0], 0.25)[0]   xp.sum(y)   xp.ndim(y)
    u.max().item() + 1   complex(v[0], 1).imag   math.hypot(v[0], v[1])   (v[0] // 0.25)   (v[0] % 0.25)
    (u[0] // 2)   (-u[0] // 2)   (u[0] % -3)   pow(v[0], 2)   u[0] ** 2   (u[0] % 3) ** 2   2 ** (u[0] % 4)
    u[0] / 2   v[0].round(1)   xp.sign(v[0])
    """)
    conditions = items("""
    y > #   bool(y > 0)   0 < y < 1   y   not y   y == v[0]   xp.isnan(y)   isinstance(v, (np.ndarray, jax.Array))
    v.ndim == 1   xp.isscalar(1)   math.isfinite(y)   u[0] in (1, 4)   u[0] in u[1:]
    """)
    changes = items("""
    y = y * 0.5 + #   y = v[; % 3]   y += #   y = float(#)   y = max(y, #)   y, t = t, y   y = u[; % 4] * 0.5
    y = abs(y)   y *= v[0]   y = xp.asarray(#)   y = m.sum()
    ---
    if y > #:
        y = 0.5 * x
    """)


class Helpers(ArrayFeature):
    """Functions that change their argument, return early, recur on parts of arrays."""

    libraries = ("np",)
    helpers = """
    def swap(z, i, j):
        z[i], z[j] = z[j], z[i]

    def fill(z, e, count):
        for i in range(len(z)):
            if i >= count:
                return i
            z[i] = e
        return -1

    def scaled(z, e):
        z *= e
        return z

    def shifted(z):
        z = z + 1
        z[0] = 0
        return z

    def first_above(z, e):
        for i, one in enumerate(z):
            if one > e:
                return i
        return -1

    def total(z):
        if len(z) == 1:
            return z[0]
        half = len(z) // 2
        left, right = total(z[:half]), total(z[half:])
        return left + right if left < right else left - right

    def merge_sort(z):
        if len(z) < 2:
            return z
        left, right = merge_sort(z[: len(z) // 2]), merge_sort(z[len(z) // 2 :])
        out, i, j = np.zeros(len(z)), 0, 0
        for p in range(len(z)):
            if j >= len(right) or i < len(left) and left[i] <= right[j]:
                out[p] = left[i]
                i += 1
            else:
                out[p] = right[j]
                j += 1
        return out

    def quicksort(z, lo, hi):
        if lo >= hi:
            return
        p = lo
        for i in range(lo, hi):
            if z[i] < z[hi]:
                z[i], z[p] = z[p], z[i]
                p += 1
        z[p], z[hi] = z[hi], z[p]
        quicksort(z, lo, p - 1)
        quicksort(z, p + 1, hi)

    def normalised(z):
        n = np.linalg.norm(z)
        if n == 0:
            return z
        return z / n

    def bisect(z, e):
        lo, hi = 0, len(z)
        while lo < hi:
            mid = (lo + hi) // 2
            if z[mid] < e:
                lo = mid + 1
            else:
                hi = mid
        return lo

    def row_changed(a, i):
        row = a[i]
        row[0] += 1
        return row.sum()
    """
    begins = items("""
    d = v.copy()   d = np.array([x, 0.5, -1.0])   d = np.zeros(3)   d = m[1].copy()
    """)
    returned = ("d",)
    vector = items("""
    shifted($)   merge_sort($)   normalised($)   scaled($.copy(), #)   d   normalised(d)
    """)
    values = items("""
    first_above(d, #)   total($)   fill(d, #, ;)   bisect(np.sort($), #)   merge_sort(d)[; % 3]   d[; % 3]
    scaled(d, 0.5)[0]   normalised($)[1]   row_changed(m.copy(), ; % 3)   total(u)   first_above(u, ;)
    shifted(d)[1]
    """)
    conditions = items("""
    first_above($, #) > 0   d[0] > #   total(d) > 0   fill(d, #, 2) < 0
    """)
    changes = items("""
    swap(d, 0, ; % 3)   fill(d, #, ;)   scaled(d, #)   d = shifted(d)   quicksort(d, 0, 2)   d = merge_sort($)
    t += first_above(d, #)   scaled(d[1:], 0.5)   fill(d[::-1], #, 2)   g = d.copy() && swap(g, 0, 1) && t += g[0]
    d = normalised(d)   g = m.copy() && t += row_changed(g, ; % 3) && t += g[; % 3, 0]
    g = m.copy() && scaled(g[1], 0.5) && t += g.sum()   g = m.copy() && swap(g[0], 0, 1) && t += g[0, 0]
    g = scaled(d, 2) && g[0] = #   g = m.copy() && fill(g[:, 1], #, 2) && t += g.sum()
    e = [d, v.copy()] && fill(e[0], #, 1) && swap(e[1], 0, 2) && t += e[1][0]
    ---
    g = m.copy()
    for row in g:
        scaled(row, 0.5)
    t += g.sum()
    """)


class Functions(ArrayFeature):
    """Functions on arrays without changes in place: recursion, early returns, loops to convergence."""

    helpers = """
    def newton(f, z):
        for i in range(10):
            step = f(z) / (2 * z + 0.1)
            z = z - 0.5 * step
            if abs(step) < 1e-2:
                return z
        return z

    def power(a, z, tolerance):
        count, last = 0, xp.inf
        z = z / (0.1 + xp.linalg.norm(z))
        while count < 8:
            w = a @ z
            norm = xp.linalg.norm(w) + 0.1
            z = w / norm
            if abs(norm - last) < tolerance:
                break
            last = norm
            count += 1
        return z, count

    def bisected(f, lo, hi):
        while hi - lo > 0.1:
            mid = 0.5 * (lo + hi)
            if f(mid) > 0:
                hi = mid
            else:
                lo = mid
        return lo

    def fft(z):
        if len(z) == 1:
            return z
        even, odd = fft(z[::2]), fft(z[1::2])
        f = xp.exp(-2j * xp.pi * xp.arange(len(z) // 2) / len(z)) * odd
        return xp.concatenate([even + f, even - f])

    def spread(z, depth):
        if depth == 0 or z[0] > 1.5:
            return z.sum()
        if z[1] < 0:
            return spread(z + 0.5, depth - 1)
        return spread(z * 0.5, depth - 1) + spread(z[::-1], depth - 2) if depth > 1 else z[2]

    def euler(f, z, steps):
        for _ in range(steps):
            z = z + 0.1 * f(z)
            if xp.any(xp.abs(z) > 3):
                break
        return z

    def nearest(points, z):
        best, found = float("inf"), 0
        for i, p in enumerate(points):
            d = ((p - z) ** 2).sum()
            if d < best:
                best, found = d, i
        return found

    def count_runs(z):
        runs, last = 0, None
        for e in z:
            if last is None or e != last:
                runs += 1
            last = e
        return runs

    def horner(z, e):
        s = 0.0
        for c in z[::-1]:
            s = s * e + c
        return s

    def partitioned(z, e):
        return xp.where(z < e, z, 0).sum(), xp.where(z < e, 0, z).sum()
    """
    vector = items("""
    power(m, $, 1e-2)[0]   euler(lambda z: m @ z, $, n)   euler(lambda z: -z, $, 3)
    xp.array(partitioned($, #))[0] * v   xp.append(xp.stack(partitioned($, #)), x)
    """)
    values = items("""
    newton(lambda z: z * z - 0.5, #)   power(m, $, 1e-2)[1]   bisected(lambda z: z * z * z - x, -1.0, 2.0)
    abs(fft(u))[; % 4]   fft(u).real.sum()   spread($, n % 4)   euler(lambda z: m @ z, $, n)[0]   nearest(m, $)
    count_runs(?)   horner($, #)   partitioned($, #)[0]   nearest(m, v)   sum(partitioned($, 0.1))
    m[nearest(m, $)][0]
    """)
    conditions = items("""
    nearest(m, $) == ; % 3   count_runs(?) > 2   horner(v, #) > 0   spread(v, 2) > 0.5
    """)
    changes = items("""
    z, c = power(m, v, 1e-2) && t += z[0] + c   v = euler(lambda z: 0.5 * z - v, v, ;)
    ---
    lo, hi = 0.0, 1.0
    while hi - lo > 0.05:
        mid = (lo + hi) / 2
        if mid * mid < abs(v[0]):
            lo = mid
        else:
            hi = mid
    t += lo
    ---
    for p in m:
        t = 0.5 * t + nearest(m, p + #)
    ---
    e = 1.0
    c = 0
    while e > 0.2 and c < n:
        v = xp.tanh(m @ v)
        e = xp.abs(v).max()
        c += 1
    """)


class Held(ArrayFeature):
    """Arrays in lists, dicts, tuples and objects."""

    helpers = """
    @dataclass
    class State:
        z: object
        count: int = 0

        def moved(self, by):
            return State(self.z + by, self.count + 1)

        def norm(self):
            return (self.z ** 2).sum()

    class Walker:
        def __init__(self, z):
            self.z, self.path = z, [z]

        def step(self, by):
            if self.z[0] > 1:
                return 0.5
            self.z = self.z + by
            self.path.append(self.z)
            return self.z[0]

    class Pair(NamedTuple):
        z: object
        e: float
    """
    begins = items("""
    l, d, s = [v, v * 2], {'a': v, 'b': v + x}, State(v)   l, d, s = [v], {'a': xp.zeros(3), 'b': v}, Walker(v)
    l, d, s = [v * i for i in range(3)], dict(a=v, b=xp.ones(3)), Pair(v, x)
    """)
    returned = ("s.z", "d['a']")
    vector = items("""
    l[0]   d['a']   s.z   l[-1]   sum(l)   xp.stack(l).sum(0)   (d['a'] + l[0])   xp.array(l).mean(axis=0)
    max(l, key=lambda z: z[0])   d.get('b')   s.z * 2
    """)
    values = items("""
    l[0][; % 3]   len(l)   d['a'].sum()   s.z[1]   sum(z[0] for z in l)   sum(z.sum() for z in d.values())
    l[; % len(l)][0]   max(z[1] for z in l)   sum(e * f for e, f in zip(l[0], d['b']))   [z.sum() for z in l][0]
    xp.stack([z for z in l]).max()   sorted(l, key=lambda z: z[0])[0][1]   xp.dot(*[l[0], l[-1]])
    """)
    conditions = items("""
    l[0][0] > #   len(l) > ;   (l[0] > 0).any()   s.z.sum() > #   all((z > #).any() for z in l)
    """)
    changes = items("""
    l.append($)   l[0] = $   d['a'] = $   l = [z * 0.5 for z in l]   l[; % len(l)] = $   l = l[::-1]
    l.insert(0, $)   d = {c: z + 1 for c, z in d.items()}   l += [$]   l = [*l, $]   l = l + [$]
    e, f = l[0], d['b'] && t += e @ f
    ---
    if len(l) > 1:
        l.pop()
    ---
    for z in l:
        t = 0.5 * t + z[; % 3]
    ---
    for c, z in d.items():
        t = 0.5 * t + z[0] * len(c)
    ---
    for z in l:
        if z[0] > #:
            t += z[1]
            break
    ---
    for i in range(len(l)):
        l[i] = l[i] + i
    ---
    if isinstance(s, Walker):
        for _ in range(n):
            t += s.step($)
        t += len(s.path) + s.path[-1][0]
    ---
    if isinstance(s, State):
        s = s.moved($)
        t += s.norm()
    ---
    if isinstance(s, State):
        s.z = $
        s.count += 1
    ---
    if isinstance(s, Pair):
        s = s._replace(z=$)
        t += s.e
    """)


class HeldInPlace(ArrayFeature):
    """Arrays in lists, dicts and objects that are changed in place."""

    libraries = ("np",)
    helpers = """
    class Grid:
        def __init__(self, size):
            self.cells, self.count = np.zeros((size, size)), np.zeros(size, int)

        def put(self, i, j, e):
            if self.cells[i, j] > 1:
                return False
            self.cells[i, j] += e
            self.count[i] += 1
            return True

        def row(self, i):
            return self.cells[i]

        def __getitem__(self, where):
            return self.cells[where]

        def __setitem__(self, where, e):
            self.cells[where] = e
    """
    begins = items("""
    l, d, s = [v.copy(), np.zeros(3)], {'a': v.copy(), 'b': np.ones(3)}, Grid(3)
    """)
    returned = ("s.cells", "d['a']", "l[0]", "s.count")
    vector = items("""
    l[0]   d['a']   s.cells[1]   s.row(; % 3)   s[0]
    """)
    matrix = items("""
    s.cells   np.stack([l[0], l[1], d['b']])
    """)
    values = items("""
    l[0][0]   d['a'][; % 3]   s.cells.sum()   s.put(; % 3, 1, #)   s.count[; % 3]   s.row(1)[0]   s[; % 3, 1]
    s[0].sum()
    """)
    conditions = items("""
    l[0][0] > #   s.put(1, ; % 3, #)   s.count.any()   d['a'][1] < #
    """)
    changes = items("""
    l[0][; % 3] = #   d['a'][1] += #   s.cells[; % 3, 0] = #   s.put(; % 3, 0, #)   l[; % 2][0] = #
    s.count[; % 3] += 1   s.row(1)[0] = #   s[1, ; % 3] = #   l[0], l[1] = l[1], l[0]   z = l[0] && z[1] = #
    z = s.cells[; % 3] && z[0] += #   s.cells += `   s.cells *= 0.5   d['a'] = d['b'] && d['a'][0] = #
    l[0] = l[1] && l[0][0] = #   l.append(l[0]) && l[0][1] = #   l.append(l[0].copy()) && l[-1][1] = #
    z = [l[0]] && z[0][0] = #   s.cells[0] = l[0] && l[0][0] = #   d['a'][d['a'] > #] = 0   d['a'] += l[0]
    l[0] += $   l[1] -= l[0]   s.cells[:, ; % 3] = l[0]   z = s.row(; % 3) && z[1] = #
    ---
    for z in l:
        z[0] = #
    ---
    for z in d.values():
        z += #
    ---
    for i in range(3):
        s.cells[i] = l[i % 2]
    ---
    for i in range(n):
        if not s.put(i % 3, ; % 3, #):
            break
    ---
    with np.errstate(all='ignore'):
        d['a'] /= 1 + abs(d['b'])
    """)


class Out(ArrayFeature):
    """NumPy's functions that write to an argument, and methods of its functions."""

    libraries = ("np",)
    begins = items("""
    f = np.zeros(3)   f = v.copy()   f = np.empty_like(v) && f[:] = 0.5
    """)
    returned = ("f",)
    vector = items("""
    f   np.add.accumulate($)   np.multiply(f, $)   np.subtract.outer($, $)[0]   np.maximum.reduce([f, $])
    np.add.reduce(`, axis=0)
    """)
    values = items("""
    f[; % 3]   f.sum()   np.add.reduce(f)   np.maximum.reduce($)   np.multiply.reduce(f)
    np.logical_or.reduce(f > #)
    """)
    conditions = items("""
    f[0] > #   np.logical_and.reduce(f > -1)
    """)
    changes = items("""
    np.add(f, $, out=f)   np.sin($, out=f)   np.multiply(f, 0.5, out=f)   np.copyto(f, $)   np.clip(f, -1, #, out=f)
    np.dot(m, $, out=f)   np.matmul(`, $, out=f)   np.add.at(f, [0, 0, 2], #)   np.put(f, [0, 1], #)
    np.putmask(f, f > #, 0.5)   np.place(f, f > #, [0.25])   f.put(; % 3, #)   np.cumsum($, out=f)
    np.subtract.at(f, u % 3, 0.5)   np.negative(f, f)   np.exp(-abs(f), out=f)   np.where(f > 0, f, 0)
    np.sum(`, axis=0, out=f)   np.maximum($, 0, f)   np.sqrt(abs(f), out=f)   np.add(f, 1, out=f, where=f > #)
    f.clip(0, 1, out=f)   np.add(f[1:], #, out=f[1:])   f.resize(3)   np.random.default_rng(0).normal()
    f[0] = np.float64(#)   np.take(v, [2, 1, 0], out=f)   f = np.add(f, $, dtype=float)
    """)


class Inside(ArrayFeature):
    """Control flow of JAX and its transformations inside of the function."""

    libraries = ("jnp",)
    helpers = """
    def grown(z):
        return lax.while_loop(lambda s: (s[0].sum() < 2) & (s[1] < 5), lambda s: (s[0] + 0.5, s[1] + 1), (z, 0))

    def energy(z, a):
        return jnp.sum(jnp.sin(z) * (a @ z))
    """
    vector = items("""
    lax.fori_loop(0, 3, lambda i, z: z.at[i].add(0.5), $)   lax.fori_loop(0, n, lambda i, z: z * 0.5 + v, $)
    lax.cond(x > 0, lambda z: z, lambda z: -z, $)   grown($)[0]
    lax.switch(; % 3, [jnp.sin, jnp.cos, lambda z: z], $)   lax.scan(lambda c, e: (c + e, c * e), x, $)[1]
    jax.vmap(lambda e: e * x)($)   jax.grad(energy)($, m)   jax.jit(jnp.sin)($)   jax.vmap(lambda row: row @ $)(m)
    jax.jacfwd(lambda z: z * z)($)[0]   lax.map(lambda e: e + 1, $)   lax.select($ > 0, $, v)
    jax.vmap(jnp.dot, (0, None))(m, $)   lax.cumsum($)   lax.dynamic_slice(jnp.append($, $), (; % 3,), (3,))
    jax.nn.softmax($)   jax.nn.relu($)   lax.associative_scan(jnp.add, $)   jax.lax.stop_gradient($)
    lax.rev($, (0,))   jax.hessian(lambda z: jnp.sum(z ** 3))($)[0]   jax.jvp(jnp.sin, ($,), (v,))[1]
    jax.value_and_grad(energy)($, m)[1]   jnp.vectorize(lambda e: e * 2)($)   jax.checkpoint(jnp.cos)($)
    """)
    whole = items("""
    lax.sort(?)   lax.scan(lambda c, e: (c + e, c), 0, ?)[1]
    lax.fori_loop(0, n, lambda i, z: z.at[i % 4].add(1), ?)   lax.cummax(?)
    jax.vmap(lambda e: jnp.where(e > 1, e, 0))(?)   lax.clamp(0, ?, 5)
    """)
    values = items("""
    lax.fori_loop(0, ;, lambda i, s: s * 0.5 + i, x)   grown($)[1]   energy($, m)
    lax.cond(n > 1, lambda: 1.0, lambda: 0.5)   jax.grad(lambda e: e ** 3)(x)
    lax.scan(lambda c, e: (c * 0.5 + e, None), 0.0, $)[0]   lax.while_loop(lambda s: s < n, lambda s: s + 2, 0)
    lax.reduce_max($, (0,))   lax.top_k($, 2)[0][1]   jax.nn.logsumexp($)
    lax.dynamic_index_in_dim($, ; % 3, keepdims=False)   jax.nn.one_hot(; % 3, 3) @ $
    lax.population_count(u[0] & 7)   lax.clamp(0.0, x, 1.0)   jax.scipy.special.expit(x)   jax.nn.sigmoid(#)
    lax.rsqrt(1 + x * x)   lax.argmax($, 0, jnp.int32)   jax.numpy.linalg.norm($)
    """)
    conditions = items("""
    grown($)[1] > ;   energy(v, m) > #   lax.gt(x, 0.5)   lax.eq(n, 2)
    """)
    changes = items("""
    v = lax.fori_loop(0, 2, lambda i, z: jnp.tanh(m @ z), v)
    c, ys = lax.scan(lambda c, e: (c * 0.5 + e, c), x, v) && t += c + ys[1]
    m = jax.vmap(lambda row: row - row.mean())(m)   m = jax.jacfwd(lambda z: jnp.tanh(m @ z))(v)
    ---
    def body(c):
        return c[0] + 1, jnp.tanh(m @ c[1])
    c, v = lax.while_loop(lambda c: (c[0] < n) & (c[1].sum() < 1), body, (0, v))
    t += c
    ---
    e, g = jax.value_and_grad(energy)(v, m)
    if e > #:
        v = v - 0.1 * g
    ---
    for i in range(3):
        v = lax.cond(v[i] > 0, lambda z: z * 0.5, lambda z: z + 0.5, v)
    """)


class Keys(ArrayFeature):
    """Random numbers from keys, in loops."""

    libraries = ("jnp",)
    helpers = """
    def walked(key, steps):
        z = jnp.zeros(3)
        for i in range(steps):
            key, own = jax.random.split(key)
            z = z + 0.1 * jax.random.normal(own, (3,))
            if z[0] > 0.3:
                break
        return z, key
    """
    returned = ("key",)
    vector = items("""
    jax.random.uniform(key, (3,))   walked(key, n)[0]   jax.random.permutation(key, $)   jax.random.normal(key, 3)
    jax.random.choice(key, $, (3,))
    """)
    whole = items("""
    jax.random.randint(key, (4,), 0, 9)   jax.random.permutation(key, 4)
    jax.random.bernoulli(key, 0.5, (4,)).astype(int)
    """)
    values = items("""
    jax.random.uniform(key)   walked(key, ;)[0][1]   jax.random.randint(key, (), 0, 5)
    jax.random.bernoulli(key, 0.3)   jax.random.exponential(key) * 0.1   jax.random.categorical(key, $)
    """)
    conditions = items("""
    jax.random.uniform(key) < 0.5   jax.random.bernoulli(key)
    """)
    changes = items("""
    key, own = jax.random.split(key) && t += jax.random.uniform(own)   key = jax.random.fold_in(key, ;)
    keys = jax.random.split(key, 3) && t += jax.random.uniform(keys[; % 3]) && key = keys[0]
    z, key = walked(key, ;) && v = v + z
    ---
    for i in range(n):
        key, own = jax.random.split(key)
        if jax.random.uniform(own) < 0.3:
            break
        t = 0.5 * t + i
    ---
    for own in jax.random.split(key, 3):
        t = 0.5 * t + jax.random.uniform(own)
    ---
    if jax.random.uniform(key) < 0.5:
        key = jax.random.split(key)[1]
    """)


class Raising(ArrayFeature):
    """Exceptions of operations on arrays that the program catches, and of its own."""

    libraries = ("np",)
    is_compound = True
    helpers = """
    def checked(z):
        if (z > 0.9).any():
            raise ValueError("large")
        return z.sum()

    def at(z, i):
        return z[i]
    """
    values = items("""
    checked(-abs($))   at($, ; % 3)
    """)
    risky = items("""
    t = checked($)   t += v[;]   t += at(v, ;)   t = m[;, 0]   t += u[n + 1]   t += at(u, -n)   t = checked(m)
    raise KeyError(1)   t += m[0][;]   t += u[k]   t += v[2 * ; - 3]   assert v[0] > 0
    assert (v > -0.5).all(), 'small'   t += [1, 2][;]   t = 1 / len(v) + 1 // ;   t += m[; % 3, n]
    """)
    caught = items("""
    ValueError   IndexError   (ValueError, IndexError)   Exception   LookupError   AssertionError
    """)

    def statement(self, w: Writer) -> Lines:
        risky = filled(w.draw.choice(self.risky), w).splitlines()
        others = w.statements(0)
        body = [*risky, *others] if w.draw.random() < 0.5 else [*others, *risky]
        last = ["finally:", *_indented(w.statements(0))] if w.draw.random() < 0.3 else []
        return ["try:", *_indented(body), f"except {w.draw.choice(self.caught)}:", *_indented(w.statements(0)), *last]


class RaisingOwn(Raising):
    """Exceptions of the program's own: an array of JAX's has an item at each index."""

    libraries = ("jnp",)
    values = items("checked(-abs($))   at($, ; % 3)")
    risky = items("""
    t = checked($)   t += at(v, ; % 3)   raise KeyError(1)   t += [1, 2][;]   t = 1 / len(v) + 1 // ;
    assert v[0] > 0   assert (v > -0.5).all(), 'small'   t = checked(m)   t = checked(u)
    """)


class Closures(ArrayFeature):
    """Functions defined inside that use or change arrays around them."""

    begins = items("""
    ---
    z = v * 1
    def bump(e):
        nonlocal z
        z = z * 0.5 + e
        return z[0]
    ---
    z = v * 1
    def bump(e):
        nonlocal z
        if z[1] > 0.3:
            z = z - e
            return 0.5
        z = xp.sin(z)
        return z.sum()
    """)
    returned = ("z",)
    vector = items("""
    z
    """)
    values = items("""
    bump(#)   z[; % 3]   bump(x)   (lambda e: (z * e).sum())(#)   sum((lambda e: e * x)(e) for e in z)
    functools.reduce(lambda s, e: s * 0.5 + e, $, x)
    """)
    conditions = items("""
    z[0] > #   bump(0.1) > 0
    """)
    changes = items("""
    bump(#)   t += bump(#)   z = $   z = xp.array([e * x for e in z])   z = xp.array([e if e > # else x for e in z])
    z = xp.stack([row.sum() for row in m])
    """)


class Tables(ArrayFeature):
    """Arrays outside of the function."""

    helpers = """
    TABLE = np.array([0.5, 1.5, -1.0, 2.0, 0.25])
    PRIMES = np.array([2, 3, 5, 7, 11])
    GRID = np.arange(12).reshape(3, 4) % 5
    MOVES = [np.array([1, 0, 0.0]), np.array([0, 1.0, 0])]
    """
    vector = items("""
    TABLE[:3]   (TABLE[1:4] * $)   MOVES[0]   (GRID[:, 1] * $)   TABLE[u[:3] % 5]   MOVES[; % 2]   TABLE[::2]
    """)
    whole = items("""
    GRID[; % 3]   PRIMES[:4]   (PRIMES[1:] % (abs(?) + 1))   PRIMES[? % 5]   GRID[1]
    """)
    values = items("""
    TABLE[; % 5]   PRIMES[; % 5]   GRID[; % 3, ; % 4]   TABLE.sum()   GRID[n % 3].sum()
    sum(int(p) for p in PRIMES if n % p)   (TABLE > #).sum()   len(TABLE)   TABLE[PRIMES[; % 3] % 5]
    np.searchsorted(PRIMES, ;)   GRID.max()   PRIMES[-1] // 2
    """)
    conditions = items("""
    TABLE[; % 5] > #   ; in PRIMES   GRID[0, ; % 4] == n   (GRID == ;).any()
    """)
    changes = items("""
    ---
    for p in PRIMES:
        if n % p == 0:
            break
        t = 0.5 * t + p
    ---
    for d in MOVES:
        v = v + d * #
    ---
    for row in GRID:
        t = 0.5 * t + row[; % 4]
    ---
    for i, row in enumerate(GRID):
        for e in row:
            if e > i + n:
                t += 0.25
    ---
    for e, p in zip(TABLE, PRIMES):
        t = 0.5 * t + e * p
    """)


class Truths(ArrayFeature):
    """Comparisons of arrays, also where Python refuses their truth."""

    values = items("""
    (v < $).sum()   xp.sum((0 < v) & (v < 1))   (v == $).all()   xp.array_equal(v, $)   (u != ?).any()
    int((v >= #).sum())   (v.max() > #) + 1   xp.isclose(v, $).sum()   (m > $).any(axis=1)[; % 3]
    v[(v > #).argmax()]
    """)
    conditions = items("""
    (v > #).any()   xp.all(v == $)   v.sum() > # and (u > ;).any()   (u == ?).all() or x > 0   (v > 0)[; % 3]
    xp.any(u > ;) and not xp.all(u > 0)   v.any()   u.all()   len(v) == 3   v is not None   xp.allclose(v, $)
    """)
    changes = items("""
    t = 1.5 if (v > #).any() else t   t += sum(1 for e in v if e > #)   t += sum(e for e in u if e % 2 and e > 0)
    t += max((e for e in v if e > #), default=0.5)   t += len([e for e in u if e > ;])
    t += next((i for i, e in enumerate(u) if e > ;), -1)   t += any(e > # for e in v) + all(e < 5 for e in u)
    ---
    if (v > #).all() or (v < #).all():
        t = 0.5
    ---
    while (v > 0.5).any() and t < 5:
        v = v - 0.25
        t += 0.5
    ---
    c = 0
    while not (u[c % 4] > ;) and c < 4:
        c += 1
    t += c
    """)


def _indented(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


FEATURES: tuple[type[ArrayFeature], ...] = (*ArrayFeature.__subclasses__(), RaisingOwn)
