"""Everyday code: dates, money, games of cards, small classes, exceptions, and the standard library."""

import functools
import itertools
import math
import operator
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import IntEnum, auto

import numpy as np

from programs.table import Program

DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def is_leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def day_of_year(year, month, day):
    total = day
    for m in range(1, month):
        total += DAYS[m - 1]
        if m == 2 and is_leap(year):
            total += 1
    return total


def weekday(year, month, day):
    """Zeller's rule; 0 is Sunday."""
    if month < 3:
        month += 12
        year -= 1
    k, j = year % 100, year // 100
    return (day + 13 * (month + 1) // 5 + k + k // 4 + j // 4 + 5 * j + 6) % 7


def add_days(year, month, day, n):
    while n > 0:
        length = DAYS[month - 1] + (1 if month == 2 and is_leap(year) else 0)
        if day < length:
            day += 1
        elif month < 12:
            day, month = 1, month + 1
        else:
            day, month, year = 1, 1, year + 1
        n -= 1
    return year, month, day


def easter(year):
    """Month and day, by the anonymous Gregorian rule."""
    a = year % 19
    b, c = divmod(year, 100)
    d, e = divmod(b, 4)
    f = (b + 8) // 25
    g = (b - f + 1) // 3
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    l = (32 + 2 * e + 2 * i - h - k) % 7  # noqa: E741
    m = (a + 11 * h + 22 * l) // 451
    month, day = divmod(h + l - 7 * m + 114, 31)
    return month, day + 1


BRACKETS = [(10_000, 0.0), (20_000, 0.1), (50_000, 0.25), (math.inf, 0.4)]


def income_tax(income):
    tax = 0.0
    lower = 0.0
    for upper, rate in BRACKETS:
        if income <= lower:
            break
        tax += (min(income, upper) - lower) * rate
        lower = upper
    return tax


def months_to_repay(principal, rate, payment):
    if payment <= principal * rate:
        raise ValueError(f"a payment of {payment:.2f} never repays {principal}")
    months = 0
    interest = 0.0
    while principal > 0:
        charge = principal * rate
        interest += charge
        principal = principal + charge - payment
        months += 1
    return months, interest


def internal_rate_of_return(flows):
    """By Newton's method with a numerical derivative."""

    def value(rate):
        return sum(f / (1 + rate) ** t for t, f in enumerate(flows))

    rate = 0.1
    for _ in range(50):
        v = value(rate)
        slope = (value(rate + 1e-6) - v) / 1e-6
        step = v / slope
        rate -= step
        if abs(step) < 1e-10:
            break
    return rate


class InsufficientFundsError(ValueError):
    pass


def pay(amount, coins):
    """How many coins of each kind, greedily."""
    used = []
    for c in sorted(coins, reverse=True):
        used.append(amount // c)
        amount %= c
    if amount:
        raise InsufficientFundsError(f"{amount} left")
    return used


def safe_divide(a, b):
    try:
        return a // b
    except ZeroDivisionError:
        return -1


def read_sensor(value):
    if value < 0:
        raise ValueError("broken")
    return value * 2


def robust_mean(readings):
    """The mean of what could be read, and how many could not."""
    good, bad = [], 0
    total = 0.0
    count = 0
    for r in readings:
        try:
            v = read_sensor(r)
        except ValueError:
            bad += 1
        else:
            total += v
            count += 1
        finally:
            good = good
    return (total / count if count else 0.0), bad


class Tennis:
    names = ("love", "fifteen", "thirty", "forty")

    def __init__(self):
        self.points = [0, 0]

    def point(self, player):
        self.points[player] += 1

    @property
    def winner(self):
        a, b = self.points
        if max(a, b) >= 4 and abs(a - b) >= 2:
            return 0 if a > b else 1
        return None


def tennis_game(points):
    """Who wins a game, and after how many points; -1 while it is undecided."""
    game = Tennis()
    for n, p in enumerate(points, start=1):
        game.point(p)
        if game.winner is not None:
            return game.winner, n
    return -1, len(points)


class Hand(IntEnum):
    HIGH = 0
    PAIR = auto()
    TWO_PAIRS = auto()
    THREE = auto()
    STRAIGHT = auto()
    FLUSH = auto()
    FULL_HOUSE = auto()
    FOUR = auto()
    STRAIGHT_FLUSH = auto()


def poker_hand(ranks, suits):
    """What five cards are worth."""
    ordered = sorted(ranks)
    flush = all(s == suits[0] for s in suits)
    straight = all(b - a == 1 for a, b in zip(ordered, ordered[1:]))
    counts = sorted((sum(1 for r in ranks if r == x) for x in range(2, 15)), reverse=True)
    if straight and flush:
        return Hand.STRAIGHT_FLUSH
    if counts[0] == 4:
        return Hand.FOUR
    if counts[0] == 3 and counts[1] == 2:
        return Hand.FULL_HOUSE
    if flush:
        return Hand.FLUSH
    if straight:
        return Hand.STRAIGHT
    if counts[0] == 3:
        return Hand.THREE
    if counts[0] == 2:
        return Hand.TWO_PAIRS if counts[1] == 2 else Hand.PAIR
    return Hand.HIGH


def blackjack_value(cards):
    """Aces count eleven or one."""
    total = sum(min(c, 10) for c in cards)
    aces = sum(c == 1 for c in cards)
    while aces and total + 10 <= 21:
        total += 10
        aces -= 1
    return total


def rock_paper_scissors(a, b):
    """1 if the first player wins most rounds, -1 if the second does."""
    beats = {0: 2, 1: 0, 2: 1}
    score = 0
    for x, y in zip(a, b):
        if x == y:
            continue
        score += 1 if beats[x] == y else -1
    return (score > 0) - (score < 0)


class Shape:
    def area(self):
        raise NotImplementedError

    def scaled(self, k):
        return k * k * self.area()


@dataclass
class Rectangle(Shape):
    width: float
    height: float

    def area(self):
        return self.width * self.height


@dataclass
class Circle(Shape):
    radius: float

    def area(self):
        return math.pi * self.radius**2


def shape_area(kind, a, b, k):
    shape = Rectangle(a, b) if kind == 0 else Circle(a)
    return shape.scaled(k)


@dataclass
class Vending:
    price: int
    inserted: int = 0
    sold: int = 0
    returned: int = 0

    def insert(self, coin):
        self.inserted += coin
        while self.inserted >= self.price:
            self.inserted -= self.price
            self.sold += 1

    def cancel(self):
        self.returned += self.inserted
        self.inserted = 0


def vending_machine(price, events):
    """Coins go in, and -1 asks for what is left."""
    machine = Vending(price)
    for e in events:
        if e < 0:
            machine.cancel()
        else:
            machine.insert(e)
    return machine.sold, machine.returned, machine.inserted


def travelling_salesman(distance):
    """The shortest tour, by trying all."""
    n = len(distance)
    best = math.inf
    for perm in itertools.permutations(range(1, n)):
        tour = (0, *perm, 0)
        length = 0.0
        for a, b in zip(tour, tour[1:]):
            length += distance[a, b]
            if length >= best:
                break
        if length < best:
            best = length
    return best


def count_solutions(a, b, c):
    """How many small x, y with ``a x + b y = c``."""
    return sum(1 for x, y in itertools.product(range(8), repeat=2) if a * x + b * y == c)


def pythagorean_triple(perimeter):
    for a in range(1, perimeter // 3 + 1):
        for b in range(a, perimeter // 2 + 1):
            c = perimeter - a - b
            if a * a + b * b == c * c:
                return a, b, c
    return -1, -1, -1


def mode_and_count(values):
    counts = Counter(values.tolist())
    value, count = counts.most_common(1)[0]
    return value, count


def group_sums(keys, values):
    """The largest sum of values with one key."""
    sums = defaultdict(int)
    for k, v in zip(keys, values):
        sums[k] += v
    return max(sums.values())


OPERATIONS = {0: operator.add, 1: operator.sub, 2: operator.mul, 3: max}


def calculator(codes, values):
    result = values[0]
    for code, v in zip(codes, values[1:]):
        result = OPERATIONS[code](result, v)
    return result


def compose(*functions):
    return functools.reduce(lambda f, g: lambda x: g(f(x)), functions)


def pipeline(x):
    """Halves, clips and squares until the value is small, by functions put together."""
    step = compose(lambda v: v / 2, functools.partial(min, 50.0), lambda v: v - 1 if v > 10 else v)
    n = 0
    while x > 1:
        x = step(x)
        n += 1
    return x, n


def find_root_of(f, lo, hi):
    while hi - lo > 1e-5:
        mid = (lo + hi) / 2
        if f(mid) > 0:
            hi = mid
        else:
            lo = mid
    return lo


def cube_root(a):
    return find_root_of(lambda x: x**3 - a, 0.0, max(a, 1.0))


def counter_closure(events):
    """An account kept by a closure."""
    total = 0
    largest = 0

    def add(x):
        nonlocal total, largest
        total += x
        if total > largest:
            largest = total

    for e in events:
        if e == 0:
            break
        add(e)
    return total, largest


def triangle_kind(a, b, c):
    """0 none, 1 equilateral, 2 isosceles, 3 scalene."""
    if a <= 0 or b <= 0 or c <= 0:
        return 0
    if not (a + b > c and b + c > a and c + a > b):
        return 0
    sides = {a, b, c}
    return len(sides)


def fizz_buzz(n):
    """How many of the numbers up to n say fizz, buzz, both."""
    fizz = buzz = both = 0
    for i in range(1, n + 1):
        match i % 3, i % 5:
            case 0, 0:
                both += 1
            case 0, _:
                fizz += 1
            case _, 0:
                buzz += 1
    return fizz, buzz, both


def clock_angle(hour, minute):
    angle = abs(30 * (hour % 12) + minute / 2 - 6 * minute)
    return min(angle, 360 - angle)


def change_base(n, base, width=12):
    """Digits, the lowest first."""
    digits = []
    while len(digits) < width:
        n, d = divmod(n, base)
        digits.append(d)
    return digits


def to_binary_string_ones(n):
    return bin(n).count("1")


def moving_maximum(a, width):
    """The largest of each window, with NumPy."""
    best = a.copy()
    for shift in range(1, width):
        best[:-shift] = np.maximum(best[:-shift], a[shift:])
    return best


def water_trapped(heights):
    left, right = 0, len(heights) - 1
    left_max = right_max = water = 0
    while left < right:
        if heights[left] < heights[right]:
            left_max = max(left_max, heights[left])
            water += left_max - heights[left]
            left += 1
        else:
            right_max = max(right_max, heights[right])
            water += right_max - heights[right]
            right -= 1
    return water


def histogram_rectangle(heights):
    """The largest rectangle, with a stack of positions."""
    stack, best = [], 0
    for i, h in enumerate([*heights, 0]):
        while stack and heights[stack[-1]] >= h:
            height = heights[stack.pop()]
            width = i if not stack else i - stack[-1] - 1
            best = max(best, height * width)
        stack.append(i)
    return best


@dataclass
class RunningStats:
    n: int = 0
    total: float = 0.0
    extremes: list = field(default_factory=lambda: [math.inf, -math.inf])

    def update(self, x):
        self.n += 1
        self.total += x
        self.extremes[0] = min(self.extremes[0], x)
        self.extremes[1] = max(self.extremes[1], x)

    def range(self):
        return self.extremes[1] - self.extremes[0]


def stats_until(xs, limit):
    """Mean and range of the values before their sum exceeds a limit."""
    stats = RunningStats()
    for x in xs:
        if stats.total + x > limit:
            break
        stats.update(x)
    else:
        return -1.0, stats.range()
    return stats.total / max(stats.n, 1), stats.range() if stats.n else 0.0


def matrix_power_fibonacci(n):
    """Fibonacci numbers by powers of a matrix."""
    result = np.eye(2, dtype=int)
    M = np.array([[1, 1], [1, 0]])
    while n:
        if n % 2:
            result = result @ M
        M = M @ M
        n //= 2
    return result[0, 1]


def parking_fee(minutes, is_weekend):
    if minutes < 0:
        raise ValueError(f"minutes must not be negative, got {minutes}")
    if minutes <= 30:
        return 0.0
    hours = math.ceil(minutes / 60)
    fee = 2.5 if not is_weekend else 1.5
    total = fee + (hours - 1) * fee * 0.8
    return round(min(total, 20.0), 2)


def find_duplicate(nums):
    """Floyd's cycle in an array of positions."""
    slow = fast = nums[0]
    while True:
        slow = nums[slow]
        fast = nums[nums[fast]]
        if slow == fast:
            break
    slow = nums[0]
    while slow != fast:
        slow, fast = nums[slow], nums[fast]
    return slow


_HEIGHTS = np.array(
    [[0, 1, 0, 2, 1, 0, 1, 3], [4, 2, 0, 3, 2, 5, 1, 1], [1, 2, 3, 4, 5, 6, 7, 8], [3, 3, 3, 3, 3, 3, 3, 3]]
)
_RNG = np.random.default_rng(71)
_PLACES = _RNG.random((3, 5, 2))
_DISTANCES = np.linalg.norm(_PLACES[:, :, None] - _PLACES[:, None], axis=-1)

PROGRAMS = [
    Program(is_leap, ([1900, 2000, 2023, 2024],)),
    Program(day_of_year, ([2023, 2024, 2000, 1900], [1, 3, 12, 3], [5, 1, 31, 1])),
    Program(weekday, ([2024, 2000, 1969, 2023], [2, 1, 7, 12], [29, 1, 20, 31])),
    Program(add_days, ([2023, 2024, 1999, 2000], [12, 2, 12, 1], [31, 28, 30, 15], [1, 2, 400, 0])),
    Program(easter, ([1961, 2000, 2019, 2024],)),
    Program(income_tax, ([5_000.0, 15_000.0, 40_000.0, 100_000.0, 0.0],)),
    Program(
        months_to_repay,
        ([1000.0, 5000.0, 250.0, 1000.0], [0.01, 0.005, 0.02, 0.1], [100.0, 300.0, 300.0, 50.0]),
        raises=ValueError,
    ),
    Program(
        internal_rate_of_return,
        (np.array([[-100.0, 60, 60, 10], [-50.0, 10, 20, 40], [-200.0, 0, 0, 300]]),),
        rtol=1e-8,
        x64=True,
    ),
    Program(
        pay,
        ([87, 40, 6, 99], np.array([[1, 5, 10, 50], [1, 2, 5, 20], [5, 10, 20, 50], [1, 3, 7, 25]])),
        raises=InsufficientFundsError,
    ),
    Program(safe_divide, ([7, 5, -9, 0], [2, 0, 4, 0])),
    Program(robust_mean, (np.array([[1.0, -1.0, 3.0], [-1.0, -2.0, -3.0], [2.0, 4.0, 6.0]]),)),
    Program(
        tennis_game,
        (np.array([[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 1, 1], [0, 1] * 4, [1, 1, 0, 1, 1, 0, 0, 0]]),),
    ),
    Program(
        poker_hand,
        (
            np.array(
                [
                    [2, 3, 4, 5, 6],
                    [9, 9, 9, 2, 2],
                    [2, 2, 3, 3, 9],
                    [14, 3, 7, 9, 11],
                    [8, 8, 8, 8, 3],
                    [5, 2, 9, 11, 7],
                ]
            ),
            np.array(
                [[0, 0, 0, 0, 0], [0, 1, 2, 0, 1], [0, 1, 2, 3, 0], [1, 1, 1, 1, 1], [0, 1, 2, 3, 0], [0, 1, 2, 1, 1]]
            ),
        ),
    ),
    Program(blackjack_value, (np.array([[1, 13, 0, 0], [1, 1, 9, 0], [10, 9, 5, 0], [1, 1, 1, 1]]),)),
    Program(
        rock_paper_scissors, (np.array([[0, 1, 2], [0, 0, 0], [1, 1, 2]]), np.array([[2, 0, 1], [1, 1, 2], [1, 0, 0]]))
    ),
    Program(shape_area, ([0, 1, 0, 1], [2.0, 3.0, 1.5, 0.5], [4.0, 0.0, 2.0, 9.0], [1.0, 2.0, 3.0, 1.0])),
    Program(vending_machine, ([3, 5, 10], np.array([[1, 1, 2, -1, 5], [2, 2, -1, 10, 1], [5, 5, 5, -1, 9]]))),
    Program(travelling_salesman, (_DISTANCES,)),
    Program(count_solutions, ([1, 2, 3, 0], [1, 3, 5, 0], [5, 12, 16, 0])),
    Program(pythagorean_triple, ([12, 30, 31, 70],)),
    Program(mode_and_count, (np.array([[1, 2, 2, 3], [5, 5, 5, 1], [4, 3, 4, 3]]),)),
    Program(
        group_sums,
        (np.array([[0, 1, 0, 2], [1, 1, 1, 1], [3, 2, 1, 0]]), np.array([[5, 9, 5, 1], [1, 2, 3, 4], [1, 2, 3, 4]])),
    ),
    Program(
        calculator, (np.array([[0, 1, 2], [3, 3, 0], [2, 2, 1]]), np.array([[1, 2, 3, 4], [5, 9, 7, 1], [2, 3, 4, 5]]))
    ),
    Program(pipeline, ([0.5, 3.0, 40.0, 1000.0],)),
    Program(cube_root, ([8.0, 0.5, 27.0, 100.0],), rtol=1e-4),
    Program(counter_closure, (np.array([[3, -1, 5, 0, 9], [1, 2, 3, 4, 5], [0, 1, 1, 1, 1], [-2, -3, 1, 1, 0]]),)),
    Program(triangle_kind, ([3, 2, 3, 1, 0], [3, 2, 4, 2, 1], [3, 3, 5, 9, 1])),
    Program(fizz_buzz, ([1, 5, 15, 31],)),
    Program(clock_angle, ([3, 12, 9, 6], [0, 30, 15, 59])),
    Program(change_base, ([10, 255, 1000, 7], [2, 16, 10, 3])),
    Program(to_binary_string_ones, ([0, 7, 1023, 64],)),
    Program(moving_maximum, (_HEIGHTS,), {"width": 3}),
    Program(water_trapped, (_HEIGHTS,)),
    Program(histogram_rectangle, (_HEIGHTS,)),
    Program(stats_until, (np.array([[1.0, 2.0, 3.0], [5.0, 1.0, 1.0], [0.5, 0.5, 0.5]]), [4.0, 3.0, 9.0])),
    Program(matrix_power_fibonacci, ([0, 1, 10, 40],)),
    Program(parking_fee, ([10, 45, 200, 1000, -5], [True, False, True, False, True]), raises=ValueError),
    Program(find_duplicate, (np.array([[1, 3, 4, 2, 2], [3, 1, 3, 4, 2], [2, 2, 2, 2, 2]]),)),
]
