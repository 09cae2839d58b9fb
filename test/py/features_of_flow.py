"""The texts of statements that leave blocks in every way, and of scopes in which names have values or not.

In a text, ``@`` stands for a plain integer, ``?`` for a condition, ``%%`` for a statement that shows that it is
reached, ``I`` and ``J`` for variables that get a value.
"""

HELPERS = """
DEBUG, LIMIT = False, 3

class Own(ValueError):
    def __init__(self, code, more=0):
        super().__init__(code)
        self.code, self.more = code, more

class Inner(Own):
    pass

class Apart(Exception):
    pass

class Gate:
    def __init__(self, k):
        self.k = k

    def __enter__(self):
        self.k += 1
        return self.k

    def __exit__(self, kind, error, traceback):
        self.k = self.k * 2 % 23

class Quiet:
    def __init__(self):
        self.left = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.left += 1
        return True

class Strict(Gate):
    def __enter__(self):
        if self.k > 3:
            raise Own(self.k)
        return self

@contextlib.contextmanager
def kept(log, k):
    log.append(k)
    try:
        yield k + 1
    finally:
        log.append(k * 2)

@contextlib.contextmanager
def handled(log):
    try:
        yield
    except ValueError:
        log.append(7)
    except Apart as e:
        raise KeyError from e

@contextlib.contextmanager
def logged(log, k):
    log.append(k)
    yield log
    log.append(k * 3)
    if k == 2:
        raise Apart(k)

class Closing(Gate):
    def __exit__(self, *error):
        self.k += 2
        if self.k > 5:
            raise Own(self.k)

class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

def folded(items):
    r = 0
    for x in items:
        r = (r * 31 + x) % 1009
    return r

def risky(x):
    if x == 1:
        raise Own(x, 5)
    if x == 3:
        raise KeyError(x)
    if x > 4:
        raise Inner(x)
    return x * 2

def noted(seen, x):
    seen.append(x)
    if x > 3:
        raise Apart(x)
    return x % 2

def early(x):
    for i in range(x):
        if i * i > 4:
            return i
    else:
        return -1

def ups(x):
    while x < 4:
        yield x
        x += 1
    if x == 4:
        return
    yield x * 2

def quotient(items, k):
    try:
        return items[k] // k
    except (IndexError, ZeroDivisionError):
        return 7

def sinking(n):
    if n <= 0:
        raise Inner(n + 7)
    if n == 3:
        return n
    try:
        return sinking(n - 2) + 1
    except Own as e:
        if n == 2:
            raise
        return e.code
"""

CONDITIONS = (
    *("@ > 2", "@ % 2", "@ == @", "@ < @", "not @", "@ in (1, 3)", "@ > 1 and @ < 3", "@ == 2 or @ > 3", "@ != @"),
    *("len(seen) % 2", "(w := @) > 2", "early(@) > 0", "3 in seen", "xs[0] > @", "1 < @ < 4", "len(seen) > 3"),
)
"""Conditions that differ between lanes."""
RISKY_CONDITIONS = ("risky(@) > 3", "noted(seen, @)", "10 // (@ - 2) > 4", "{0: 1, 2: 3}[@] > 1", "xs[@] > 1")
KNOWN_CONDITIONS = ("DEBUG", "LIMIT > 2", "True", "not DEBUG and LIMIT == 3", "LIMIT > 5", "len(xs) == 9")
CAUGHT = (
    *("ValueError", "Own", "Inner", "KeyError", "LookupError", "IndexError", "ZeroDivisionError", "Apart"),
    *("(Own, KeyError)", "(ValueError, LookupError)", "ArithmeticError", "Exception", "(Inner, Apart)"),
    *("AssertionError", ""),
)
RISKY = (
    *("u = risky(@)", "u = xs[@]", "u = 10 // (@ - 2)", "u = {1: 2, 0: 4}[@]", "risky(@)", "noted(seen, @)"),
    *("assert @ != 2", "u = sinking(@)", "xs.remove(@)", "u = xs.index(@)", "u, xs[@] = risky(@), 4", "u += risky(@)"),
    *("seen.append(risky(@))", "xs[noted(seen, @)] = risky(@)", "u = [risky(x) for x in (0, @)][1]", "assert ?, @"),
    *("u = risky(@) + noted(seen, @)", "u = risky(@) if ? else noted(seen, @)", "u = next(x for x in xs if x > @)"),
)
RAISES = (
    *(
        "raise Own(@)",
        "raise Inner(@, 2)",
        "raise KeyError",
        "raise ValueError(@)",
        "raise Apart",
        "raise IndexError(@)",
    ),
    *("raise Own(@) from None", "raise Apart(risky(@))"),
)
AGAIN = ("raise", "raise", "raise Apart(@)", "raise Inner(@)")
AGAIN_BY_NAME = ("raise e", "raise Own(@) from e", "raise Apart(@) from e", "kept = e\nraise kept")
MANAGERS = (
    *("gate", "gate as u", "Quiet()", "Quiet() as q", "Strict(@)", "Strict(@) as g"),
    *("contextlib.suppress(ValueError)", "contextlib.suppress(LookupError, Apart)", "contextlib.nullcontext(@) as u"),
    *("kept(seen, @) as u", "handled(seen)", "logged(seen, @)", "kept(seen, @), Quiet()", "handled(seen), gate"),
    *("Closing(@)", "Quiet(), Closing(@) as u", "logged(seen, risky(@)) as log"),
    *("gate, Quiet()", "Quiet(), gate as u", "Gate(risky(@)) as u", "Quiet() as q, Strict(@)"),
)
ITERATED = (
    *("I in range(@)", "I in range(3)", "I in xs", "I in (1, a, b)", "I in ups(@)", "I in reversed(xs)", "I in [@, @]"),
    *(
        "J, I in enumerate(xs)",
        "J, I in enumerate((a, 2), 1)",
        "I, J in zip(xs, range(4))",
        "I, J in {1: @, 2: 3}.items()",
    ),
    *(
        "I in ()",
        "I in range(0)",
        "I in range(@, @ + 2)",
        "I in [x for x in xs if x > 1]",
        "I in (x for x in xs if x != @)",
    ),
    *(
        "I, J in enumerate(ups(@))",
        "I in {@: 1, 3: 2}",
        "I in map(early, xs)",
        "I in sorted(xs)",
        "I, (J, _) in enumerate([(@, 1), (2, 2)])",
    ),
)
CASES = (
    ("@ % 3", ("0", "1 | 2", "I", "I if I > @", "_", "_ if ?")),
    ("@", ("0", "1 | 3", "2 if ?", "I if ?", "-1", "int(I)", "_")),
    ("(@, @)", ("(0, I)", "(I, 2)", "(I, J) if I > J", "(1, _)", "_", "(I, J)")),
    ("xs", ("[]", "[1, *_]", "[I, 3, J] if ?", "[I, *J]", "_")),
    ("{'k': @, 'n': 1}", ("{'k': 1}", "{'k': I, 'n': 1} if I > 2", "{'m': I}", "{'n': I, **rest}", "_")),
    ("Point(@, @)", ("Point(x=0)", "Point(x=I, y=2)", "Point(x=I, y=J) if I > J", "Point()")),
)
IRREFUTABLE = ("_", "I", "(I, J)")
"""Patterns that may only stand last."""
SCOPES = (
    "u = @\nseen.append(u)",
    "u += @",
    "u, v = @, @\nseen.append(u * 3 + v)",
    "seen.append(sum(u for u in range(@)) + u)",
    "seen.append(len([u for x in xs if (u := x) > @]))\nseen.append(u)",
    "seen.append(any((u := x) > @ for x in xs) + u * 1)",
    "def d1(x=u):\n    return x + u\nu += @\nseen.append(d1() + d1(@))",
    "c1 = lambda: u * 2\nu = @\nseen.append(c1())",
    "c2 = [lambda i=k: i + 1 for k in (@, 2)]\nseen.append(c2[0]())",
    "class K1:\n    z = 3\n    w = [z, z + 1][1]\nseen.append(K1.w + K1.z)",
    "for u in range(3):\n    if u == @:\n        break\nseen.append(u)",
    "for u in (1, 2):\n    for u in range(2):\n        seen.append(u)\n    seen.append(u * 5)",
    "for xs[0] in range(2):\n    %%",
    "v = @\ndel v\nv = u\nseen.append(v)",
    "def max(x, y):\n    return x * 2 + y\nseen.append(max(@, @))",
    "seen.append((lambda u, a: u * 2 + a)(@, 1) + u)",
    "with contextlib.nullcontext(@) as u:\n    seen.append(u)",
    "match @:\n    case u if u > 2:\n        seen.append(u)\n    case 1:\n        %%\nseen.append(u)",
    "if (u := @) > 2 and (v := u + 1) > 4:\n    seen.append(v)\nseen.append(u)",
    "def s1(x):\n    u = x\n    if x > 2:\n        return u\n    u += 1\n    return u\nseen.append(s1(@) + u)",
    """def s2():
    nonlocal u
    if ?:
        u += 2
        return u
    u = @
    return 1
seen.append(s2() + u)""",
    """def s3(k):
    def deeper(j):
        nonlocal u
        if j > 2:
            return u
        u += j
        raise Own(u)
    try:
        return deeper(k) + 1
    except Own as e:
        return e.code
seen.append(s3(@) + u)""",
    "def s4(k):\n    return k + later\nlater = @\nseen.append(s4(1))\nlater = 5\nseen.append(s4(@))",
    "seen.append([u, (u := @), u][2] + u)",
    "LIMIT2 = LIMIT + @\nseen.append(LIMIT2)",
    "u = [v for v in (@, @, 3) if v > 1][-1]\nseen.append(u)",
    "seen.append(len([[x * y for x in range(@)] for y in (1, 2)][1]))",
    "import math as m1\nu = m1.gcd(@, 6)\nseen.append(u)",
)
"""Statements that bind the variables ``u``, ``v`` and others, which have a value before."""
DEFINES = ("def ", "lambda", "class ")
"""Words of statements that a generator may not have."""
UNBOUND = (
    "if ?:\n    n1 = @\n%%\nseen.append(n1)",
    "for n2 in range(@):\n    %%\nseen.append(n2)",
    "n3 = @\nif ?:\n    del n3\n%%\nseen.append(n3)",
    "n4 = 1\ntry:\n    risky(@)\nexcept Own as n4:\n    %%\nseen.append(n4)",
    "try:\n    n5 = risky(@)\nexcept Exception:\n    %%\nseen.append(n5)",
    "try:\n    if ?:\n        n6 = 2\n    seen.append(n6)\nexcept NameError:\n    %%",
    "try:\n    if ?:\n        raise Own(1)\n    n7 = 3\nexcept ValueError:\n    %%\nelse:\n    seen.append(n7)",
    "while ?:\n    n8 = @\n    break\nelse:\n    n8 = 4\nseen.append(n8)",
    "def o1():\n    return n9\nif ?:\n    n9 = 1\nif u:\n    seen.append(o1())",
    "for n10 in ():\n    pass\nif ?:\n    seen.append(n10)",
    "match @:\n    case 1:\n        n11 = 3\n    case n11 if n11 > 2:\n        pass\nseen.append(n11)",
    "n12 = seen.append(n12) if ? else 2",
    "def o2():\n    nonlocal u\n    del u\n    u = 3\no2()\nseen.append(u)",
    "if ?:\n    n13 = @\nelse:\n    raise Own(3)\nseen.append(n13)",
    """while True:
    try:
        n14 = risky(@)
        break
    except ValueError:
        n14 = 5
        break
seen.append(n14)""",
    "if ?:\n    n15 = @\nelif ?:\n    n15 = 3\nn15",
    "if ?:\n    n16 = @\nif ?:\n    seen.append(n16)",
    "for n17 in range(3):\n    if n17 == @:\n        n18 = n17\n        break\nelse:\n    n18 = 8\nseen.append(n18)",
)
"""Statements after which some path may read a name without a value."""
USES = {
    "function": (
        *("t += part(a, b, seen)", "seen.append(part(b, 2, seen))", "u = part(a, u, seen) + part(1, b, seen)"),
        "try:\n    u = part(a, b, seen)\nexcept CAUGHT:\n    seen.append(7)\nfinally:\n    seen.append(u)",
        """for k in range(2):
    try:
        t = (t * 5 + part(k, a, seen)) % 1009
    except CAUGHT:
        seen.append(k)""",
        "t += part(a, b, seen) or part(b, a, seen)",
        "u = [part(k, b, seen) for k in (1, a)][1]",
    ),
    "inner": (
        *("t += local(a, b)", "seen.append(local(b, 2))", "u = local(a, u) + local(1, b)"),
        "try:\n    u = local(a, b)\nexcept CAUGHT:\n    seen.append(7)\nelse:\n    seen.append(u)",
        """for k in range(2):
    try:
        u = (u * 5 + local(k, a)) % 1009
    except CAUGHT:
        seen.append(k)""",
        "if local(a, b) > 2:\n    seen.append(local(b, a))",
        "u = [local(k, b) for k in (1, a)][1]",
    ),
    "method": (
        *(
            "p = Part()\nt += p.run(a, b) + p.t + folded(p.seen)",
            "p = Part()\nu = p.run(b, a)\nseen.append(p.run(2, b) + p.t)\nseen.extend(p.seen)",
        ),
        """p = Part()
try:
    u = p.run(a, b)
except CAUGHT:
    seen.append(p.t)
    seen.append(folded(p.seen))
finally:
    seen.append(u)""",
        """for k in range(2):
    p = Part()
    with Quiet():
        u = p.run(k, a)
    seen.append(p.t)
    seen.append(folded(p.seen))""",
    ),
    "generator": (
        *(
            "for k in parts(a, b, seen):\n    seen.append(k)",
            "t += sum(parts(a, b, seen))",
            "u = len(list(parts(b, 2, seen)))",
        ),
        "for k in parts(a, b, seen):\n    if k > 3:\n        break\n    seen.append(k)\nelse:\n    t += 3",
        """try:
    for k in parts(a, 1, seen):
        t = (t * 3 + k) % 1009
        noted(seen, k)
except CAUGHT:
    seen.append(7)""",
        "seen.extend(parts(a, b, seen))",
        "t += max(parts(b, a, seen), default=2)",
        "u = next(parts(a, b, seen), 9)\nseen.append(u)",
    ),
    "recursive": (
        *(
            "t += again(a, b, seen)",
            "u = again(3, b, seen)\nseen.append(u)",
            "t += again(a, 1, seen) + again(2, b, seen)",
        ),
        "try:\n    u = again(a, b, seen)\nexcept CAUGHT:\n    seen.append(7)",
    ),
}
"""Statements that call what holds the drawn statements."""
