"""Programs with classes that are derived from containers: a stack, a cache, a heap, a board."""

import heapq
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque

from programs.table import Program


class Stack(list):
    def push(self, x):
        self.append(x)

    def peek(self):
        return self[-1]

    def is_empty(self):
        return len(self) == 0


def stack_rpn(n):
    """The sum of the stack of a machine that multiplies every third time."""
    s = Stack()
    for i in range(n):
        if i % 3 == 2:
            b, a = s.pop(), s.pop()
            s.push(a * b + 1)
        else:
            s.push(i)
    total = 0
    while not s.is_empty():
        total += s.peek()
        s.pop()
    return total


class Graph(dict):
    def add_edge(self, u, v):
        self.setdefault(u, []).append(v)
        self.setdefault(v, []).append(u)

    def degree(self, u):
        return len(self[u]) if u in self else 0


def graph_degrees(n):
    """The largest degree of a tree, and its number of nodes."""
    g = Graph()
    for i in range(1, n):
        g.add_edge(i, i // 2)
    best = 0
    for u in g:
        best = max(best, g.degree(u))
    return best * 100 + len(g)


class Heap(list):
    def __init__(self):
        super().__init__()
        self.pushes = 0

    def push(self, x):
        self.pushes += 1
        heapq.heappush(self, x)

    def pop_min(self):
        return heapq.heappop(self)


def heap_sum(n):
    """The least numbers of a heap, which counts its pushes."""
    h = Heap()
    for i in range(n):
        h.push((i * 7) % 11)
    total = 0
    while len(h) > 2:
        total = total * 3 + h.pop_min()
    return total + h.pushes * 1000


class CountingList(list):
    def __init__(self, items=()):
        super().__init__(items)
        self.count_appends = 0

    def append(self, x):
        self.count_appends += 1
        super().append(x)


def counting(n):
    """The sum of a list that counts what is appended to it."""
    c = CountingList([5, 6])
    for i in range(n):
        if i % 2:
            c.append(i)
    return sum(c) * 10 + c.count_appends


class Memo(dict):
    def __missing__(self, k):
        v = self[k] = k * k
        return v


def memo(n):
    """Squares that a dict computes when they are missing."""
    m = Memo()
    t = 0
    for i in range(n):
        t += m[i % 4]
    return t * 10 + len(m)


class SortedList(list):
    def add(self, x):
        i = 0
        while i < len(self) and self[i] < x:
            i += 1
        self.insert(i, x)

    def median(self):
        return self[len(self) // 2]


def sorted_list(n):
    """The sum of running medians."""
    s = SortedList()
    t = 0
    for i in range(n):
        s.add((i * 5) % 7)
        t += s.median()
    return t


class LRU(OrderedDict):
    def __init__(self, capacity):
        super().__init__()
        self.capacity = capacity

    def get_item(self, key):
        if key not in self:
            return -1
        self.move_to_end(key)
        return self[key]

    def put(self, key, value):
        if key in self:
            self.move_to_end(key)
        self[key] = value
        if len(self) > self.capacity:
            self.popitem(last=False)


def lru(n):
    """The values that a cache of three entries still has."""
    c = LRU(3)
    t = 0
    for i in range(n):
        c.put((i * i) % 7, i)
        t += c.get_item(i % 5)
    return t


class Ring(deque):
    def total(self):
        t = 0
        for x in self:
            t += x
        return t


def ring(n):
    """The largest sum of four numbers that follow each other."""
    r = Ring(maxlen=4)
    best = 0
    for i in range(n):
        r.append((i * 7) % 5)
        best = max(best, r.total())
    return best


class Vec(list):
    def __add__(self, other):
        return Vec([a + b for a, b in zip(self, other)])

    def dot(self, other):
        return sum(a * b for a, b in zip(self, other))


def vec(n):
    """A sum of vectors, and its product with another."""
    a = Vec([1, 2, 3])
    b = Vec([n, n + 1, 2 * n])
    for _ in range(n):
        a = a + b
    return a.dot(b) + len(a)


class Circular(UserList):
    def __getitem__(self, i):
        return self.data[i % len(self.data)]


def circular(n):
    """Numbers of a list without an end."""
    c = Circular([3, 1, 4, 1, 5])
    t = 0
    for i in range(n):
        t = t * 2 + c[i]
    return t


class Polynomial(dict):
    def add(self, power, c):
        self[power] = self.get(power, 0) + c

    def value(self, x):
        return sum(c * x**p for p, c in self.items())


def polynomial(n):
    """The value of a polynomial whose coefficients are gathered."""
    p = Polynomial()
    for i in range(n):
        p.add(i % 3, i)
    return p.value(2)


class Multi(defaultdict):
    def __init__(self):
        super().__init__(list)
        self.size = 0

    def put(self, k, v):
        self[k].append(v)
        self.size += 1


def multi(n):
    """Sizes of a dict of lists that counts its entries."""
    m = Multi()
    for i in range(n):
        m.put(i % 3, i)
    return sum(len(v) for v in m.values()) * 100 + m.size + sum(m[1])


class Board(list):
    def __init__(self, size):
        super().__init__([0] * size for _ in range(size))
        self.size = size

    def neighbors(self, r, c):
        t = 0
        for dr in (-1, 0, 1):
            for dc in (-1, 0, 1):
                if (dr or dc) and 0 <= r + dr < self.size and 0 <= c + dc < self.size:
                    t += self[r + dr][c + dc]
        return t


def board(n):
    """Neighbors on a board."""
    b = Board(4)
    for i in range(n):
        b[(i * i) % 4][(i * 3) % 4] = 1
    return sum(b.neighbors(r, c) for r in range(4) for c in range(4))


class Bag(Counter):
    def heaviest(self):
        return self.most_common(1)[0][0]


def bag(n):
    """The most common remainder of squares."""
    b = Bag()
    for i in range(n + 1):
        b[(i * i) % 5] += 1
    return b.heaviest() * 10 + sum(b.values())


class Seen(set):
    def visit(self, x):
        if x in self:
            return False
        self.add(x)
        return True


def seen(n):
    """The length of a sequence until it repeats itself."""
    s = Seen()
    x, t = n, 0
    while s.visit(x):
        x = (x * x + 1) % 13
        t += 1
    return t * 10 + len(s)


class Config(UserDict):
    def __getitem__(self, k):
        return self.data[k] if k in self.data else 7


def config(n):
    """Values with a default for missing ones."""
    c = Config()
    for i in range(n):
        c[i * 2] = i
    return sum(c[i] for i in range(6))


class Inventory(dict):
    def __init__(self, limit):
        super().__init__()
        self.limit = limit
        self.rejected = 0

    def __setitem__(self, k, v):
        if v > self.limit:
            self.rejected += 1
        else:
            super().__setitem__(k, v)


def inventory(n):
    """Values of a dict that rejects large ones."""
    s = Inventory(6)
    for i in range(n):
        s[i % 4] = i
    return s.rejected * 100 + sum(s.values())


class Queue(deque):
    def enqueue(self, x):
        self.append(x)

    def dequeue(self):
        return self.popleft()


def queue(n):
    """The sum of numbers that are halved and divided by three."""
    q = Queue([n])
    t = 0
    while q:
        x = q.dequeue()
        t += x
        if x > 1:
            q.enqueue(x // 2)
            q.enqueue(x // 3)
    return t


class NoInit(dict):
    def __init__(self, limit):
        self.limit = limit

    def put(self, k, v):
        if len(self) < self.limit:
            self[k] = v


def no_init(n):
    """Squares in a dict with a limit."""
    d = NoInit(3)
    for i in range(n):
        d.put(i, i * i)
    return len(d) * 100 + sum(d.values())


_N = [0, 1, 2, 3, 5, 8, 11]

PROGRAMS = [
    Program(stack_rpn, (_N,)),
    Program(graph_degrees, (_N,)),
    Program(heap_sum, (_N,)),
    Program(counting, (_N,)),
    Program(memo, (_N,)),
    Program(sorted_list, ([1, 2, 3, 5, 8, 11],)),
    Program(lru, (_N,)),
    Program(ring, (_N,)),
    Program(vec, (_N,)),
    Program(circular, (_N,)),
    Program(polynomial, (_N,)),
    Program(multi, (_N,)),
    Program(board, (_N,)),
    Program(bag, (_N,)),
    Program(seen, (_N,)),
    Program(config, (_N,)),
    Program(inventory, (_N,)),
    Program(queue, (_N,)),
    Program(no_init, (_N,)),
]
