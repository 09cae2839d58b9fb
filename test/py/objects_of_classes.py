"""Objects of several classes: ways in which a variable comes to hold them, and operations on them."""

CLASSES = """
class Shape:
    sides = 0
    def __init__(self, size):
        self.size = size
        self.n = 0
    def area(self):
        return 0.0
    def twice(self):
        if self.area() > 3:
            return self.area() * 2
        return self.area()
    @property
    def double(self):
        return self.size * 2
class Circle(Shape):
    sides = 1
    def area(self):
        return 3.0 * self.size * self.size
    def grow(self, k):
        self.size = self.size * k
        self.n += 1
    def steps(self):
        k, t = 0, abs(self.size)
        while t < 50:
            t = t * 2 + 1
            k += 1
        return k
    def other(self):
        return Square(self.size)
    def __eq__(self, o):
        return isinstance(o, Circle) and self.size == o.size
    def __add__(self, o):
        return Circle(self.size + o)
    def __len__(self):
        return 1
    def __bool__(self):
        return bool(self.size > 2)
    def __call__(self, v):
        return self.size + v
    def __getitem__(self, i):
        return self.size * i
    def __contains__(self, v):
        return v < self.size
class Square(Shape):
    sides = 4
    def __init__(self, size):
        super().__init__(size)
        self.side = size + 1
        self.tags = [size, size * 2]
    def area(self):
        return self.side * self.side
    def grow(self, k):
        if k > self.n:
            self.side = self.side + k
        self.n += 2
    def steps(self):
        k = 0
        for i in range(int(self.side)):
            k += i
        return k
    def other(self):
        return Circle(self.side)
    def __eq__(self, o):
        return isinstance(o, Square) and self.side == o.side
    def __add__(self, o):
        return Square(self.side * o)
    def __len__(self):
        return 4
    def __bool__(self):
        return bool(self.side > 3)
    def __call__(self, v):
        return self.side - v
    def __getitem__(self, i):
        return self.side - i
    def __contains__(self, v):
        return v > self.side
class Box:
    def __init__(self, shape):
        self.shape = shape
        self.count = 0
    def swap(self):
        self.shape = self.shape.other()
        self.count += 1
def make(x):
    if x > 1:
        return Circle(x)
    return Square(-x)
def measure(shape):
    return shape.area() + 1
def measure_all(shape):
    if shape.area() > 5:
        return shape.area()
    return shape.size
def enlarge(shape, k):
    shape.grow(k)
"""


def _named(blocks: str) -> dict[str, str]:
    """The blocks of code, each by the name in the comment above it."""
    parts = (block.split("\n", 1) for block in blocks.strip().split("\n\n"))
    return {name.removeprefix("# "): code for name, code in parts}


WAYS = _named("""
# ifexp
s = Circle(x) if x > 1 else Square(-x)

# if
if x > 1:
    s = Circle(x)
else:
    s = Square(-x)

# function
s = make(x)

# loop
s = Circle(x)
for _ in range(int(abs(x))):
    s = s.other()

# rebound
s = Square(x)
if x > 0:
    s = Circle(s.side)

# item
shapes = [Circle(x), Square(-x), Circle(x + 1)]
s = shapes[int(abs(x)) % 3]

# dict
d = {'a': Circle(x), 'b': Square(x)}
s = d['a' if x > 1 else 'b']

# attribute
box = Box(make(x))
s = box.shape

# swap
box = Box(make(x))
for _ in range(int(abs(x))):
    box.swap()
s = box.shape

# tuple
pair = (make(x), 3)
s, _ = pair

# none
s = None
if x > 1:
    s = Circle(x)
elif x > -100:
    s = Square(x)

# while
s = make(x)
n = 0
while n < 3 and x > -2:
    s = s.other()
    n += 1

# comprehension
s = [Circle(x) if x > k else Square(k - x) for k in (0, 1)][1]

# for
s = Circle(x)
for t in (Circle(x), Square(x), Circle(2 * x)):
    if t.area() > s.area():
        s = t
""")
"""By name, statements after which ``s`` holds an object of one of two classes, computed from ``x``."""

OPERATIONS = _named("""
# method
return s.area()

# inherited
return s.twice()

# property
return s.double

# classattr
return s.sides + x

# attr
return s.size + s.n

# grow
s.grow(2.0)
return s.area() + s.n

# growtwice
s.grow(2.0)
s.grow(0.5)
return s.area() * 10 + s.n

# steps
return s.steps()

# isinstance
if isinstance(s, Circle):
    return s.size
return s.side * 100

# isinstance2
return s.side if isinstance(s, Square) else s.size * 7

# isinstance3
if isinstance(s, Square) and s.side > 1:
    s.side = 0.0
    s = Circle(3.0)
return s.area()

# type
return 1 if type(s) is Circle else 2

# typeeq
if type(s) == Square:
    return s.side
return 0.0

# match
match s:
    case Circle(size=r): return r
    case Square(side=q) if q > 1: return q * 10
    case _: return -1.0

# store
s.size = 5.0
return s.area() + s.size

# augstore
s.size += 2
s.n -= 1
return s.area() + s.size * s.n

# is
t = s
return 1 if t is s else 0

# isnone
return 1 if s is None else 0

# eq
return 1 if s == Circle(x) else 0

# ne
return 1 if s != make(2.0) else 0

# truth
return 1 if s else 0

# not
return 1 if not s else 0

# while
k = 0
while s and k < 5:
    s.size -= 1
    k += 1
return k

# while2
k = 0
while isinstance(s, Square) and k < 5:
    k += 1
    if s.side + k > 4:
        s = Circle(s.side)
return k + s.area()

# add
s = s + 2.0
return s.area()

# iadd
s += 2.0
return s.area()

# len
return len(s) + 1

# call
return s(2.0)

# getitem
return s[3]

# in
return 1 if 1.5 in s else 0

# arg
return measure(s)

# arg2
return measure_all(s)

# argchange
enlarge(s, 2.0)
return s.area()

# list
xs = [s, Circle(x)]
return xs[0].area() + xs[1].area()

# listloop
t = 0.0
for one in [s, Circle(x)]:
    t += one.area()
return t

# sum
return sum(one.area() for one in (s, make(x)))

# max
return max((s, make(x)), key=lambda q: q.area()).size

# two
t = make(-x)
return s.area() - t.area()

# swap
t = make(-x)
s, t = t, s
return s.area() - 2 * t.area()

# alias
t = s
t.grow(2.0)
return s.area()

# aliasread
t = s
return s.area() + t.area()

# hasattr
return 1 if hasattr(s, 'side') else 0

# getattr
return getattr(s, 'size')

# growif
if x > 0:
    s.grow(3.0)
return s.area()

# growloop
for k in range(3):
    s.grow(k + 1.0)
    if s.area() > 20:
        break
return s.area() + s.n

# change
s = s.other()
return s.area()

# changeloop
t = 0.0
for k in range(4):
    t += s.area()
    s = s.other()
return t

# tags
if isinstance(s, Square):
    return sum(s.tags)
return s.size

# try
try:
    if s.area() > 10:
        raise ValueError
    s.grow(2.0)
except ValueError:
    return -1.0
return s.area()

# try2
try:
    s.n = 7
    if s.area() > 10:
        raise ValueError
except ValueError:
    return s.n + 0.5
return s.area()

# try3
try:
    if isinstance(s, Square):
        s = Circle(x)
        if x < 0:
            raise ValueError
except ValueError:
    return s.size * 9
return s.area()

# boxed
b = Box(s)
b.shape.grow(2.0)
return b.shape.area()

# boxed2
b = Box(s)
b.swap()
if isinstance(b.shape, Circle):
    b.shape = Square(b.shape.size)
return b.shape.area() + b.count

# chain
return s.other().other().area()

# assert
assert isinstance(s, Shape)
return s.size

# print
print(s.size)
return s.size

# lambda
f = lambda q: q.area() + 1
return f(s)

# nested
def g(q):
    return q.area() + x
return g(s)

# closure
def g():
    return s.area() + x
return g()

# condexp
return s.area() if s.size > 1 else s.sides + 0.5

# andor
return (s.size > 0 and s.size > 3) or s.size < -2

# break
t = 0.0
for k in range(5):
    if isinstance(s, Circle):
        s = Square(s.size + k)
        if k > 1:
            break
        continue
    t += s.side
    s = Circle(t)
return t + s.area()
""")
"""By name, statements that use ``s`` and return a number."""

REFUSED = {"alias": ("another name",), "is": ("is not known",)}
"""The operations that are refused in some or all ways, and what the error says."""


def function(way: str, operation: str) -> str:
    """The source of a function."""
    body = f"{WAYS[way]}\n{OPERATIONS[operation]}".split("\n")
    return "\n".join([f"def {way}_{operation}(x):", *(f"    {line}" for line in body), ""])


MORE = """
class A:
    def __init__(self, v): self.v = v
    def go(self):
        if self.v > 0: return self.v * 2
        return 1.0
class B:
    def __init__(self, v): self.v = v
    def go(self):
        if self.v > 0: return self.v * 3
        return 2.0
def f_samenames(x):
    p = A(x)
    t = 0.0
    for k in range(4):
        t += p.go()
        if t > x + 3: p = B(t)
    return t

def f_number_or_object(x):
    s = 3.0
    if x > 1: s = Circle(x)
    if isinstance(s, Circle): return s.area()
    return s * 2

def f_text_or_object(x):
    s = "none"
    if x > 1: s = Circle(x)
    if s == "none": return -1.0
    return s.area()

def walk(s, n):
    if n == 0: return s.area()
    if s.area() > 6: return walk(Circle(s.size * 0.5), n - 1)
    return walk(s.other(), n - 1)
def f_recursion(x):
    return walk(make(x), 3)

def bump(b):
    b.swap()
    return b.count
def f_order(x):
    b = Box(make(x))
    return b.shape.area() + 100 * bump(b) + 10 * b.shape.area()

def f_nonlocal(x):
    s = make(x)
    def step():
        nonlocal s
        s = s.other()
        return s.size
    t = step() + step()
    return t + s.area()

def f_grower(x):
    xs = []
    for k in range(int(abs(x))):
        xs.append(Circle(x) if k % 2 else Square(x))
    return sum(s.area() for s in xs)

def f_loop_store_list(x):
    xs = [Circle(x), Square(x), Circle(1.0)]
    for i in range(3):
        if xs[i].area() > 4:
            xs[i] = xs[i].other()
    return xs[0].area() + xs[1].area() * 10 + xs[2].area() * 100

def hurt(s, x):
    if isinstance(s, Square):
        s.side = 9.0
        if x < 0: raise ValueError
    s.size = 3.0
def f_callee_raise(x):
    s = make(x)
    try:
        hurt(s, x)
    except ValueError:
        return s.side + 0.25
    return s.size + s.area()

def f_mutate_via_box(x):
    s = make(x)
    b = Box(s)
    b.shape.grow(2.0)
    return s.area()

def f_same_obj_two_vars(x):
    a = Circle(x)
    b = Square(x)
    s = a if x > 1 else b
    s.grow(2.0)
    return a.area() + 10 * b.area()

def f_same_obj_two_vars2(x):
    a = Circle(x)
    b = Square(x)
    s = a if x > 1 else b
    a.size = 4.0
    return s.area()

def f_list_alias(x):
    s = make(x)
    xs = [s, Circle(2.0)]
    xs[0].size = 7.0
    return s.size

EMPTY = Circle(0.5)
def f_global_static(x):
    s = EMPTY
    if x > 1: s = Square(x)
    return s.area() + s.size

EMPTY2 = Circle(0.5)
def f_global_changed(x):
    s = EMPTY2
    if x > 1: s = Square(x)
    s.size = s.size + 1
    return s.area() + s.size

def f_comp_if(x):
    xs = [make(x), make(-x), make(x + 1)]
    return sum(s.size for s in xs if isinstance(s, Circle)) + len([s for s in xs if s.area() > 3])
"""
"""Functions whose names begin with ``f_``: objects with several names, in lists, from outside of the function."""

MORE_REFUSED = ("another name", "stands outside", "have types that disagree")
