"""Arrays that have several names, or are changed in place by a call: NumPy's meaning, or a refusal.

NumPy's arrays are objects, of which ``row = m[i]``, ``max(m, key=…)`` and ``np.split`` give views, and which a function
may change for its caller by ``x += y``, ``x.sort()`` and ``out=``. A program that would show that hlobatch has values
instead is refused.
"""

import pytest
from array_programs import outcome, text_of

RUNS = {
    "methods": (
        "",
        """
        a, b, c = v.copy(), m.copy(), u.copy()
        a.sort()
        b.sort(axis=0)
        b[1].sort()
        c.fill(x)
        d = {"a": v.copy()}
        for i in range(n):
            if i % 2:
                d["a"].sort()
            else:
                d["a"].put(i % 3, x)
        return a, b, c, d
        """,
    ),
    "functions": (
        "",
        """
        a, b, c, d = v.copy(), m.copy(), u.copy(), np.zeros(3)
        np.add(a, 1, out=a)
        np.multiply(a[::-1], x, out=b[1])
        np.maximum(v, 0.1, d)
        np.add(d, x, out=d, where=d > 0.2)
        np.add.at(c, u % 4, 1)
        np.fill_diagonal(b, x)
        np.copyto(b[0], v)
        np.put(a, [0, 1], n)
        np.putmask(d, d > 0.5, -1)
        np.place(a, a > 2, [0.25])
        np.cumsum(v, out=v)
        return a, b, c, d, v
        """,
    ),
    "in functions": (
        """
def least(z):
    z.sort()
    return z[0]

def added(z, e):
    np.add(z, e, out=z)
    np.fill_diagonal(z, 1)
    return z.sum()

def total(z):
    s = np.zeros(3)
    for row in z:
        s += row
    s **= 2
    return s

class Held:
    def __init__(self, z):
        self.z = z

    def step(self, e):
        self.z += e
        self.z.sort()
        if self.z[0] > 1:
            self.z.fill(0)
        return self.z[0]
""",
        """
        a, b, h = v.copy(), m.copy(), Held(u * x)
        t = least(a) + added(b, x) + h.step(1) + h.step(x)
        return t, a, b, total(b), h.z
        """,
    ),
    "by another name": (
        "",
        """
        a = v.copy()
        b = a
        np.add(a, 1, out=a)
        c = d = v.copy()
        d.sort()
        e = b if n > 1 else c
        e[0] = x
        return b, c
        """,
    ),
    "sorted lists": (
        """
def first(items):
    items.sort()
    return items[0]
""",
        """
        l, rows = [n, 3, k], [[3, n], [k, 1]]
        t = first(l)
        for r in rows:
            r.sort()
        l.sort(key=lambda e: -e)
        return t, l, rows
        """,
    ),
}
"""Changes in place that run, by what makes them: definitions, and the body of a function."""

REFUSED = {
    "an item by max": ("", "a = m.copy(); r = max(a, key=lambda z: z[0]); r[1] = x; return a"),
    "items in order": ("", "a = m.copy(); r = sorted(a, key=lambda z: z[0]); r[0][0] = x; return a"),
    "items that are filtered": ("", "a = m.copy(); r = list(filter(lambda z: z[0] > 0, a)); r[0][0] = x; return a"),
    "the next item": ("", "a = m.copy(); r = next(z for z in a if z[0] > -5); r[0] = x; return a"),
    "items of a list that grows": ("", "a = m.copy(); r = [a[i] for i in range(n % 2 + 1)]; r[0][0] = x; return a"),
    "parts of a split": ("", "a = v.copy(); b, c = np.array_split(a, 2); b[0] = x; return a"),
    "an imaginary part": ("", "a = np.array([1 + 2j, 3j]); b = a.imag; b[1] = x; return a"),
    "a diagonal": ("", "a = m.copy(); b = np.diag(a); a[0, 0] = x; return b"),
    "the diagonal by a method": ("", "a = m.copy(); b = a.diagonal(); a[0, 0] = x; return b"),
    "a power": ("", "a = v.copy(); b = a; b **= 2; return a"),
    "an argument that the statement reads": ("def f(z):\n    z -= z.mean()\n    return z\n", "return f(v), v"),
    "two parameters": ("def f(z, y):\n    z += 1\n    return y.sum()\n", "a = v.copy(); t = f(a, a); return t"),
    "two parameters of a function with branches": (
        "def f(z, y):\n    if y[0] > 0:\n        z += 1\n    return y.sum()\n",
        "a = v.copy(); t = f(a, a); return t",
    ),
    "rows of a parameter": (
        "def f(z):\n    for row in z:\n        row /= 1 + abs(row).sum()\n    return z\n",
        "return f(m)",
    ),
    "another name in a function": (
        "def f(z):\n    y = np.zeros(3)\n    w = y[1:]\n    y += z\n    return w\n",
        "return f(v)",
    ),
    "an attribute": (
        "class C:\n    def __init__(self, z):\n        self.z = z\n    def step(self):\n        self.z += 1\n",
        "a = v.copy(); c = C(a); c.step(); return a",
    ),
    "a copy that is none": (
        "",
        "a = v.copy(); b = np.nan_to_num(a, copy=False); return a",
    ),
}
"""What another name would show: definitions, and statements."""


@pytest.mark.parametrize("what", RUNS)
def test_a_change_in_place_is_numpys(what: str) -> None:
    helpers, body = RUNS[what]
    text = text_of([line.removeprefix(8 * " ") for line in body.strip("\n").splitlines()], helpers)
    found = outcome(text, dispatch="kernel")
    assert found.kind == "ran", found.what


@pytest.mark.parametrize("what", REFUSED)
def test_what_another_name_would_show_is_refused(what: str) -> None:
    helpers, body = REFUSED[what]
    found = outcome(text_of(body.split("; "), helpers))
    assert found.kind == "refused", found
    assert "in place" in found.what or "writes into" in found.what or "twice" in found.what, found.what


def test_the_place_of_a_change_in_a_function_is_shown() -> None:
    helpers, body = REFUSED["an argument that the statement reads"]
    found = outcome(text_of(body.split("; "), helpers))
    assert "an array changes in place, which is still read as it was" in found.what
    assert "z -= z.mean()" in found.what
    assert "it changes here, in f" in found.what
