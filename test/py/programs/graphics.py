"""Pictures point by point: fractals, rays, lines, surfaces."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from programs.table import Program


def mandelbrot(cx, cy, max_iter=100):
    z = 0j
    c = complex(cx, cy)
    for n in range(max_iter):
        if abs(z) > 2:
            return n
        z = z * z + c
    return max_iter


def mandelbrot_real(cx, cy, max_iter=100):
    x = y = 0.0
    n = 0
    while x * x + y * y <= 4 and n < max_iter:
        x, y = x * x - y * y + cx, 2 * x * y + cy
        n += 1
    return n


def julia_smooth(x, y, cx=-0.8, cy=0.156):
    """A color between iterations."""
    n = 0
    while n < 60:
        r = x * x + y * y
        if r > 16:
            return n + 1 - math.log(math.log(math.sqrt(r))) / math.log(2)
        x, y = x * x - y * y + cx, 2 * x * y + cy
        n += 1
    return 60.0


def burning_ship(cx, cy):
    zx, zy = cx, cy
    iteration = 0
    while zx * zx + zy * zy < 4 and iteration < 50:
        zx, zy = zx * zx - zy * zy + cx, abs(2 * zx * zy) + cy
        iteration += 1
    return iteration


def newton_fractal(x, y):
    """Which cube root of one Newton's method finds, and how soon."""
    z = complex(x, y)
    roots = [1 + 0j, complex(-0.5, math.sqrt(3) / 2), complex(-0.5, -math.sqrt(3) / 2)]
    for iteration in range(40):
        for k, root in enumerate(roots):
            if abs(z - root) < 1e-3:
                return k, iteration
        if z == 0:
            return -1, iteration
        z = z - (z**3 - 1) / (3 * z**2)
    return -1, 40


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def ray_sphere(origin, direction, center, radius):
    """The distance to the nearest point that is hit, or -1."""
    oc = [o - c for o, c in zip(origin, center)]
    a = dot(direction, direction)
    b = 2 * dot(oc, direction)
    c = dot(oc, oc) - radius * radius
    discriminant = b * b - 4 * a * c
    if discriminant < 0:
        return -1.0
    t = (-b - math.sqrt(discriminant)) / (2 * a)
    if t > 1e-4:
        return t
    t = (-b + math.sqrt(discriminant)) / (2 * a)
    return t if t > 1e-4 else -1.0


@dataclass
class Vec:
    x: float
    y: float
    z: float

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other):
        return Vec(self.x - other.x, self.y - other.y, self.z - other.z)

    def __mul__(self, s):
        return Vec(self.x * s, self.y * s, self.z * s)

    def dot(self, other):
        return self.x * other.x + self.y * other.y + self.z * other.z

    def normalized(self):
        return self * (1 / math.sqrt(self.dot(self)))


def bounce(px, py):
    """How often a ray bounces among three spheres before it leaves."""
    spheres = [(Vec(0, 0, 5), 1.0), (Vec(2.5, 0, 6), 1.2), (Vec(-1, 2, 4), 0.8)]
    origin = Vec(0.0, 0.0, 0.0)
    direction = Vec(px, py, 1.0).normalized()
    bounces = 0
    while bounces < 10:
        nearest, hit = math.inf, None
        for center, radius in spheres:
            oc = origin - center
            b = oc.dot(direction)
            disc = b * b - oc.dot(oc) + radius * radius
            if disc > 0:
                t = -b - math.sqrt(disc)
                if 1e-3 < t < nearest:
                    nearest, hit = t, center
        if hit is None:
            break
        origin = origin + direction * nearest
        normal = (origin - hit).normalized()
        direction = direction - normal * (2 * direction.dot(normal))
        bounces += 1
    return bounces


def scene(p):
    """Distance to a ball on a floor."""
    ball = np.linalg.norm(p - np.array([0.0, 1.0, 4.0])) - 1.0
    floor = p[1]
    return min(ball, floor)


def ray_march(origin, direction):
    direction = direction / np.linalg.norm(direction)
    t = 0.0
    for step in range(80):
        d = scene(origin + t * direction)
        if d < 1e-3:
            return t, step
        t += d
        if t > 20:
            break
    return -1.0, 80


def bresenham(x0, y0, x1, y1, size):
    """A line drawn into a picture."""
    picture = np.zeros((size, size), dtype=int)
    dx, dy = abs(x1 - x0), -abs(y1 - y0)
    sx = 1 if x0 < x1 else -1
    sy = 1 if y0 < y1 else -1
    err = dx + dy
    while True:
        picture[y0, x0] = 1
        if x0 == x1 and y0 == y1:
            break
        e2 = 2 * err
        if e2 >= dy:
            err += dy
            x0 += sx
        if e2 <= dx:
            err += dx
            y0 += sy
    return picture


def midpoint_circle(radius):
    """How many pixels a circle has, by the midpoint rule."""
    x, y = radius, 0
    d = 1 - radius
    pixels = 0
    while x >= y:
        pixels += 4 if y == 0 or x == y else 8
        y += 1
        if d <= 0:
            d += 2 * y + 1
        else:
            x -= 1
            d += 2 * (y - x) + 1
    return pixels


def point_in_polygon(x, y, polygon):
    inside = False
    j = len(polygon) - 1
    for i in range(len(polygon)):
        xi, yi = polygon[i]
        xj, yj = polygon[j]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            inside = not inside
        j = i
    return inside


class Code(NamedTuple):
    left: bool
    right: bool
    below: bool
    above: bool


def outcode(x, y):
    return Code(x < 0, x > 1, y < 0, y > 1)


def clip_line(x0, y0, x1, y1):
    """Cohen and Sutherland: what is left of a line inside the unit square, as its length, or -1."""
    for _ in range(8):
        a, b = outcode(x0, y0), outcode(x1, y1)
        if not any(a) and not any(b):
            return math.hypot(x1 - x0, y1 - y0)
        if any(p and q for p, q in zip(a, b)):
            return -1.0
        out = a if any(a) else b
        if out.above:
            x, y = x0 + (x1 - x0) * (1 - y0) / (y1 - y0), 1.0
        elif out.below:
            x, y = x0 + (x1 - x0) * (0 - y0) / (y1 - y0), 0.0
        elif out.right:
            x, y = 1.0, y0 + (y1 - y0) * (1 - x0) / (x1 - x0)
        else:
            x, y = 0.0, y0 + (y1 - y0) * (0 - x0) / (x1 - x0)
        if out == a:
            x0, y0 = x, y
        else:
            x1, y1 = x, y
    return -1.0


def hsv_to_rgb(h, s, v):
    i = int(h * 6)
    f = h * 6 - i
    p, q, t = v * (1 - s), v * (1 - f * s), v * (1 - (1 - f) * s)
    match i % 6:
        case 0:
            return v, t, p
        case 1:
            return q, v, p
        case 2:
            return p, v, t
        case 3:
            return p, q, v
        case 4:
            return t, p, v
        case 5:
            return v, p, q
    raise ValueError(f"impossible hue {h}")


def marching_squares(corners, level):
    """Length of the contour inside one square of a grid."""
    a, b, c, d = corners
    index = 0
    for bit, value in enumerate(corners):
        if value > level:
            index |= 1 << bit

    def cross(p, q):
        return (level - p) / (q - p)

    if index in (0, 15):
        return 0.0
    points = []
    if (a > level) != (b > level):
        points.append((cross(a, b), 0.0))
    if (b > level) != (c > level):
        points.append((1.0, cross(b, c)))
    if (c > level) != (d > level):
        points.append((1 - cross(c, d), 1.0))
    if (d > level) != (a > level):
        points.append((0.0, 1 - cross(d, a)))
    length = 0.0
    for k in range(0, len(points), 2):
        (x0, y0), (x1, y1) = points[k], points[k + 1]
        length += math.hypot(x1 - x0, y1 - y0)
    return length


def bezier_length(points, tol=1e-2):
    """Length of a curve by halving it until it is flat."""

    def length(p0, p1, p2, p3, depth):
        chord = np.hypot(*(p3 - p0))
        net = np.hypot(*(p1 - p0)) + np.hypot(*(p2 - p1)) + np.hypot(*(p3 - p2))
        if net - chord < tol or depth == 0:
            return (net + chord) / 2
        a, b, c = (p0 + p1) / 2, (p1 + p2) / 2, (p2 + p3) / 2
        d, e = (a + b) / 2, (b + c) / 2
        m = (d + e) / 2
        return length(p0, a, d, m, depth - 1) + length(m, e, c, p3, depth - 1)

    return length(points[0], points[1], points[2], points[3], 6)


def cross(o, a, b):
    return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])


def convex_hull_size(points):
    """How many corners the hull has, by Andrew's chain; points come sorted."""
    lower = []
    for p in points:
        while len(lower) >= 2 and cross(lower[-2], lower[-1], p) <= 0:
            lower.pop()
        lower.append(p)
    upper = []
    for p in reversed(points):
        while len(upper) >= 2 and cross(upper[-2], upper[-1], p) <= 0:
            upper.pop()
        upper.append(p)
    return len(lower) + len(upper) - 2


_X = [0.0, -0.75, 0.3, -2.0, 0.26, 1.0]
_Y = [0.0, 0.1, 0.5, 0.0, 0.0, 1.0]
_RNG = np.random.default_rng(41)
_POINTS = _RNG.integers(0, 6, (4, 7, 2))
_SORTED_POINTS = np.stack([p[np.lexsort((p[:, 1], p[:, 0]))] for p in _POINTS])
_SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 0.5], [0.0, 2.0]])

PROGRAMS = [
    Program(mandelbrot, (_X, _Y)),
    Program(mandelbrot_real, (_X, _Y)),
    Program(julia_smooth, (_X, _Y), rtol=1e-3),
    Program(burning_ship, (_X, _Y)),
    Program(newton_fractal, ([1.0, -1.0, 0.3, 2.0], [0.1, 1.0, -0.8, 0.0])),
    Program(
        ray_sphere,
        (
            np.array([[0.0, 0, 0], [0.0, 0, 5], [0.0, 0, 0], [0.0, 3, 0]]),
            np.array([[0.0, 0, 1], [0.0, 1, 0], [0.0, 1, 0], [0.0, -0.5, 1]]),
            np.array([[0.0, 0, 5]] * 4),
            [1.0, 2.0, 1.0, 1.5],
        ),
    ),
    Program(bounce, ([0.0, 0.4, -0.2, 0.05, 3.0], [0.0, 0.0, 0.4, 0.1, 3.0])),
    Program(
        ray_march,
        (np.array([[0.0, 1, 0]] * 4), np.array([[0.0, 0, 1], [0.0, -0.5, 1], [0.5, 0.5, 1], [0.2, 0.1, 1]])),
        rtol=1e-3,
    ),
    Program(bresenham, ([0, 5, 3, 7], [0, 2, 3, 7], [7, 0, 3, 0], [3, 7, 3, 1]), {"size": 8}),
    Program(midpoint_circle, ([0, 1, 3, 10, 25],)),
    Program(point_in_polygon, ([0.5, 1.0, 3.0, 1.9], [0.5, 1.5, 1.0, 1.9], np.stack([_SQUARE] * 4))),
    Program(
        clip_line,
        (
            [0.2, -1.0, 2.0, -0.5, 0.5],
            [0.2, 0.5, 2.0, -0.5, -1.0],
            [0.8, 2.0, 3.0, 0.5, 0.5],
            [0.9, 0.5, 2.5, 1.5, 2.0],
        ),
    ),
    Program(hsv_to_rgb, ([0.0, 0.3, 0.55, 0.7, 0.95], [1.0, 0.5, 0.2, 0.9, 0.0], [1.0, 0.8, 0.6, 0.4, 0.2])),
    Program(
        marching_squares,
        (np.array([[0.0, 1, 0, 0], [0.0, 1, 1, 0], [1.0, 0, 1, 0], [0.0, 0, 0, 0]]), [0.5, 0.25, 0.5, 0.5]),
    ),
    Program(
        bezier_length,
        (
            np.array(
                [
                    [[0.0, 0], [1, 2], [2, -2], [3, 0]],
                    [[0.0, 0], [1, 0], [2, 0], [3, 0]],
                    [[0.0, 0], [0, 3], [3, 3], [3, 0]],
                ]
            ),
        ),
    ),
    Program(convex_hull_size, (_SORTED_POINTS,)),
]
