"""Roots, quadrature, differential equations, optimization and special functions, one problem at a time."""

import math

import numpy as np

from programs.table import Program


def cubic(x, a):
    return x**3 - a * x - 2


def bisection(a, lo, hi, tol=1e-6):
    """Root of ``x**3 - a x - 2`` between lo and hi."""
    flo = cubic(lo, a)
    while hi - lo > tol:
        mid = (lo + hi) / 2
        fmid = cubic(mid, a)
        if flo * fmid <= 0:
            hi = mid
        else:
            lo = mid
            flo = fmid
    return (lo + hi) / 2


def newton_sqrt(a):
    x = a if a > 1 else 1.0
    while abs(x * x - a) > 1e-5 * a:
        x = (x + a / x) / 2
    return x


def secant(c, max_iter=50):
    """Solves ``cos(x) = c x``."""
    x0, x1 = 0.0, 1.0
    f0 = math.cos(x0) - c * x0
    f1 = math.cos(x1) - c * x1
    for _ in range(max_iter):
        if abs(f1) < 1e-6:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
        f0, f1 = f1, math.cos(x1) - c * x1
    return x1


def brent(k):
    """Brent's method for ``exp(-x) = k x`` on [0, 4]."""

    def f(x):
        return math.exp(-x) - k * x

    a, b = 0.0, 4.0
    fa, fb = f(a), f(b)
    c, fc = a, fa
    d = e = b - a
    for iteration in range(100):
        if (fb > 0) == (fc > 0):
            c, fc = a, fa
            d = e = b - a
        if abs(fc) < abs(fb):
            a, b, c = b, c, b
            fa, fb, fc = fb, fc, fb
        tol = 2 * 2.2e-16 * abs(b) + 0.5e-10
        m = 0.5 * (c - b)
        if abs(m) <= tol or fb == 0.0:
            return b
        if abs(e) < tol or abs(fa) <= abs(fb):
            d = e = m
        else:
            s = fb / fa
            if a == c:
                p = 2 * m * s
                q = 1 - s
            else:
                q = fa / fc
                r = fb / fc
                p = s * (2 * m * q * (q - r) - (b - a) * (r - 1))
                q = (q - 1) * (r - 1) * (s - 1)
            if p > 0:
                q = -q
            else:
                p = -p
            s = e
            e = d
            if 2 * p < 3 * m * q - abs(tol * q) and p < abs(0.5 * s * q):
                d = p / q
            else:
                d = e = m
        a, fa = b, fb
        if abs(d) > tol:
            b += d
        else:
            b += math.copysign(tol, m)
        fb = f(b)
    raise RuntimeError(f"no convergence after {iteration + 1} iterations")


def romberg(a, b, kmax=7):
    """Integral of ``exp(-x*x)`` by Romberg's method."""
    R = np.zeros((kmax, kmax))
    h = b - a
    R[0, 0] = 0.5 * h * (np.exp(-a * a) + np.exp(-b * b))
    n = 1
    for i in range(1, kmax):
        h /= 2
        total = 0.0
        for k in range(1, 2 * n, 2):
            x = a + k * h
            total += np.exp(-x * x)
        n *= 2
        R[i, 0] = 0.5 * R[i - 1, 0] + h * total
        for j in range(1, i + 1):
            R[i, j] = R[i, j - 1] + (R[i, j - 1] - R[i - 1, j - 1]) / (4**j - 1)
        if abs(R[i, i] - R[i - 1, i - 1]) < 1e-6:
            return R[i, i]
    return R[kmax - 1, kmax - 1]


def adaptive_simpson(a, b, w, eps=1e-4):
    """Integral of ``sin(w x) / (1 + x*x)``."""

    def f(x):
        return math.sin(w * x) / (1 + x * x)

    def simpson(fa, fm, fb, h):
        return h / 6 * (fa + 4 * fm + fb)

    def recurse(a, b, fa, fm, fb, whole, eps, depth):
        m = (a + b) / 2
        fl = f((a + m) / 2)
        fr = f((m + b) / 2)
        left = simpson(fa, fl, fm, m - a)
        right = simpson(fm, fr, fb, b - m)
        delta = left + right - whole
        if depth <= 0 or abs(delta) <= 15 * eps:
            return left + right + delta / 15
        return recurse(a, m, fa, fl, fm, left, eps / 2, depth - 1) + recurse(
            m, b, fm, fr, fb, right, eps / 2, depth - 1
        )

    fa, fm, fb = f(a), f((a + b) / 2), f(b)
    return recurse(a, b, fa, fm, fb, simpson(fa, fm, fb, b - a), eps, 12)


def rk45(y0, rate, t_end, rtol=1e-5):
    """Runge-Kutta-Fehlberg for a logistic equation; the value at the end and the number of steps."""

    def f(t, y):
        return rate * y * (1 - y / 10) + 0.1 * math.sin(t)

    t, y, h = 0.0, y0, 0.1
    steps = 0
    while t < t_end:
        h = min(h, t_end - t)
        k1 = h * f(t, y)
        k2 = h * f(t + h / 4, y + k1 / 4)
        k3 = h * f(t + 3 * h / 8, y + 3 * k1 / 32 + 9 * k2 / 32)
        k4 = h * f(t + 12 * h / 13, y + (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = h * f(t + h, y + 439 * k1 / 216 - 8 * k2 + 3680 * k3 / 513 - 845 * k4 / 4104)
        k6 = h * f(t + h / 2, y - 8 * k1 / 27 + 2 * k2 - 3544 * k3 / 2565 + 1859 * k4 / 4104 - 11 * k5 / 40)
        error = abs(k1 / 360 - 128 * k3 / 4275 - 2197 * k4 / 75240 + k5 / 50 + 2 * k6 / 55)
        tolerance = rtol * max(1.0, abs(y))
        if error <= tolerance:
            t += h
            y += 25 * k1 / 216 + 1408 * k3 / 2565 + 2197 * k4 / 4104 - k5 / 5
            steps += 1
        factor = 2.0 if error == 0 else 0.9 * (tolerance / error) ** 0.2
        h *= min(4.0, max(0.1, factor))
    return y, steps


def levenberg_marquardt(ts, ys, max_iter=50):
    """Fits ``a exp(-b t)``; parameters and whether it converged."""
    a, b = 1.0, 0.1
    lam = 1e-2
    cost = np.sum((ys - a * np.exp(-b * ts)) ** 2)
    converged = False
    for _ in range(max_iter):
        e = np.exp(-b * ts)
        r = ys - a * e
        J = np.stack([e, -a * ts * e], axis=1)
        H = J.T @ J
        g = J.T @ r
        A = H + lam * np.diag(np.diag(H))
        det = A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
        da = (g[0] * A[1, 1] - A[0, 1] * g[1]) / det
        db = (A[0, 0] * g[1] - A[1, 0] * g[0]) / det
        new_cost = np.sum((ys - (a + da) * np.exp(-(b + db) * ts)) ** 2)
        if new_cost < cost:
            a, b = a + da, b + db
            lam /= 10
            if cost - new_cost < 1e-8 * (1 + cost):
                converged = True
                break
            cost = new_cost
        else:
            lam *= 10
            if lam > 1e8:
                break
    return a, b, converged


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def rosenbrock_gradient(x):
    return np.array([-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)])


def lbfgs(x0, memory=4, max_iter=100):
    """Minimum of Rosenbrock's function by L-BFGS with backtracking."""
    x = x0.copy()
    g = rosenbrock_gradient(x)
    s_list = []
    y_list = []
    for k in range(max_iter):
        if np.linalg.norm(g) < 1e-6:
            break
        q = g.copy()
        alphas = []
        for s, y in zip(reversed(s_list), reversed(y_list)):
            alpha = s.dot(q) / y.dot(s)
            alphas.append(alpha)
            q = q - alpha * y
        if s_list:
            q = q * (s_list[-1].dot(y_list[-1]) / y_list[-1].dot(y_list[-1]))
        for s, y, alpha in zip(s_list, y_list, reversed(alphas)):
            q = q + (alpha - y.dot(q) / y.dot(s)) * s
        p = -q
        step = 1.0
        fx = rosenbrock(x)
        while rosenbrock(x + step * p) > fx + 1e-4 * step * g.dot(p):
            step *= 0.5
            if step < 1e-10:
                break
        x_new = x + step * p
        g_new = rosenbrock_gradient(x_new)
        if (g_new - g).dot(x_new - x) > 1e-12:
            s_list.append(x_new - x)
            y_list.append(g_new - g)
            if len(s_list) > memory:
                s_list.pop(0)
                y_list.pop(0)
        x, g = x_new, g_new
    return x


def gradient_descent_armijo(x0, max_iter=200):
    """Backtracking descent on a quadratic with a valley; the point and the number of steps."""

    def f(x):
        return 0.5 * (x[0] ** 2 + 10 * x[1] ** 2)

    x = x0
    for it in range(max_iter):
        g = np.array([x[0], 10 * x[1]])
        if np.sqrt(np.sum(g**2)) < 1e-3:
            return x, it
        t = 1.0
        while f(x - t * g) > f(x) - 0.3 * t * np.dot(g, g):
            t *= 0.5
        x = x - t * g
    return x, max_iter


def nelder_mead(start, max_iter=120):
    """Minimum of a shifted bowl, by simplices that are sorted lists."""

    def f(p):
        return (p[0] - 1) ** 2 + 2 * (p[1] + 0.5) ** 2 + 0.3 * p[0] * p[1]

    simplex = [start, start + np.array([0.5, 0.0]), start + np.array([0.0, 0.5])]
    values = [f(p) for p in simplex]
    for _ in range(max_iter):
        order = sorted(range(3), key=lambda i: values[i])
        simplex = [simplex[i] for i in order]
        values = [values[i] for i in order]
        if values[2] - values[0] < 1e-9:
            break
        centroid = (simplex[0] + simplex[1]) / 2
        reflected = centroid + (centroid - simplex[2])
        fr = f(reflected)
        if fr < values[0]:
            expanded = centroid + 2 * (centroid - simplex[2])
            fe = f(expanded)
            if fe < fr:
                simplex[2], values[2] = expanded, fe
            else:
                simplex[2], values[2] = reflected, fr
        elif fr < values[1]:
            simplex[2], values[2] = reflected, fr
        else:
            contracted = centroid + 0.5 * (simplex[2] - centroid)
            fc = f(contracted)
            if fc < values[2]:
                simplex[2], values[2] = contracted, fc
            else:
                for i in (1, 2):
                    simplex[i] = simplex[0] + 0.5 * (simplex[i] - simplex[0])
                    values[i] = f(simplex[i])
    return values[0]


def golden_section(a, b, c):
    """Where ``(x - c)**2 + sin(3 x)`` is least."""

    def f(x):
        return (x - c) ** 2 + math.sin(3 * x)

    ratio = (math.sqrt(5) - 1) / 2
    x1 = b - ratio * (b - a)
    x2 = a + ratio * (b - a)
    f1, f2 = f(x1), f(x2)
    while abs(b - a) > 1e-7:
        if f1 < f2:
            b, x2, f2 = x2, x1, f1
            x1 = b - ratio * (b - a)
            f1 = f(x1)
        else:
            a, x1, f1 = x1, x2, f2
            x2 = a + ratio * (b - a)
            f2 = f(x2)
    return (a + b) / 2


def erf_series(x):
    """The error function by its Taylor series, and by a continued fraction beyond 3."""
    if x < 0:
        return -erf_series(-x)
    if x < 3.0:
        total = term = x
        n = 0
        while abs(term) > 1e-9 * abs(total):
            n += 1
            term *= -x * x / n
            total += term / (2 * n + 1)
        return 2 / math.sqrt(math.pi) * total
    f = 0.0
    for k in range(60, 0, -1):
        f = k / 2 / (x + f)
    return 1 - math.exp(-x * x) / (math.sqrt(math.pi) * (x + f))


def bessel_j0(x):
    """Bessel's function of order 0 by its power series."""
    q = -((x / 2) ** 2)
    term = 1.0
    total = 1.0
    k = 1
    while abs(term) > 1e-12:
        term *= q / (k * k)
        total += term
        k += 1
    return total


def gamma_incomplete(a, x):
    """The regularized lower incomplete gamma function, as in Numerical Recipes."""
    if x < 0 or a <= 0:
        raise ValueError(f"bad arguments a={a}, x={x}")
    if x == 0:
        return 0.0
    gln = math.lgamma(a)
    if x < a + 1:
        ap = a
        total = delta = 1.0 / a
        while True:
            ap += 1
            delta *= x / ap
            total += delta
            if abs(delta) < abs(total) * 1e-10:
                return total * math.exp(-x + a * math.log(x) - gln)
    tiny = 1e-300
    b = x + 1 - a
    c = 1 / tiny
    d = 1 / b
    h = d
    i = 1
    while True:
        an = -i * (i - a)
        b += 2
        d = an * d + b
        if abs(d) < tiny:
            d = tiny
        c = b + an / c
        if abs(c) < tiny:
            c = tiny
        d = 1 / d
        delta = d * c
        h *= delta
        if abs(delta - 1) < 1e-10:
            break
        i += 1
    return 1 - math.exp(-x + a * math.log(x) - gln) * h


def agm(a, b):
    """The arithmetic-geometric mean."""
    while not math.isclose(a, b, rel_tol=1e-12):
        a, b = (a + b) / 2, math.sqrt(a * b)
    return a


def horner_newton(coefficients, x):
    """A root of a polynomial by Newton's method, value and derivative by Horner's scheme."""
    for _ in range(40):
        p = 0.0
        dp = 0.0
        for c in coefficients:
            dp = dp * x + p
            p = p * x + c
        if abs(p) < 1e-5:
            break
        x -= p / dp
    return x


def power_iteration(A, max_iter=500, tol=1e-6):
    """The largest eigenvalue of a symmetric matrix."""
    n = A.shape[0]
    v = np.ones(n) / np.sqrt(n)
    eigenvalue = 0.0
    for _ in range(max_iter):
        w = A @ v
        new = v @ w
        v = w / np.linalg.norm(w)
        if abs(new - eigenvalue) < tol * abs(new):
            return new
        eigenvalue = new
    return eigenvalue


def gaussian_elimination(A, b):
    """Solves ``A x = b`` with partial pivoting, in place."""
    n = len(b)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        if A[pivot, k] == 0:
            raise ZeroDivisionError("the matrix is singular")
        if pivot != k:
            A[[k, pivot]] = A[[pivot, k]]
            b[[k, pivot]] = b[[pivot, k]]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i, k:] -= factor * A[k, k:]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - np.dot(A[i, i + 1 :], x[i + 1 :])) / A[i, i]
    return x


def conjugate_gradient(A, b, tol=1e-5):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    iterations = 0
    while np.sqrt(rs) > tol and iterations < 100:
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rs_new = r @ r
        p = r + (rs_new / rs) * p
        rs = rs_new
        iterations += 1
    return x


def jacobi_sweeps(A, b):
    """Jacobi's method until the change is small; the solution and the number of sweeps."""
    n = len(b)
    x = np.zeros(n)
    sweeps = 0
    change = 1.0
    while change > 1e-5:
        new = np.zeros(n)
        for i in range(n):
            s = 0.0
            for j in range(n):
                if j != i:
                    s += A[i, j] * x[j]
            new[i] = (b[i] - s) / A[i, i]
        change = np.max(np.abs(new - x))
        x = new
        sweeps += 1
    return x, sweeps


def steffensen(x, target):
    """A fixed point of ``exp(-x) * target`` with Aitken's acceleration."""

    def g(x):
        return target * math.exp(-x)

    for _ in range(50):
        y = g(x)
        z = g(y)
        denominator = z - 2 * y + x
        if abs(denominator) < 1e-14:
            return z
        x_new = x - (y - x) ** 2 / denominator
        if abs(x_new - x) < 1e-12:
            return x_new
        x = x_new
    return x


def continued_fraction(x, max_terms=8):
    """The best rational approximation of a number with a denominator below a thousand."""
    h0, h1 = 0, 1
    k0, k1 = 1, 0
    value = x
    for _ in range(max_terms):
        a = math.floor(value)
        if a * k1 + k0 >= 1000:
            break
        h0, h1 = h1, a * h1 + h0
        k0, k1 = k1, a * k1 + k0
        fraction = value - a
        if fraction < 1e-6:
            break
        value = 1 / fraction
    return h1, k1


_RNG = np.random.default_rng(11)
_TIMES = np.tile(np.linspace(0, 4, 9), (5, 1))
_DECAYS = np.array([[2.0], [1.0], [0.5], [3.0], [1.5]]) * np.exp(
    -np.array([[0.3], [1.0], [0.7], [0.1], [2.0]]) * _TIMES
) + 0.01 * _RNG.standard_normal(_TIMES.shape)
_SQUARES = _RNG.standard_normal((5, 4, 4))
_SYMMETRIC = _SQUARES @ _SQUARES.transpose(0, 2, 1) + np.eye(4)
_DOMINANT = _RNG.uniform(-1, 1, (5, 4, 4)) + np.eye(4) * np.array([4.0, 5, 6, 8, 12])[:, None, None]
_SIDES = _RNG.standard_normal((5, 4))

PROGRAMS = [
    Program(bisection, ([1.0, 2.0, 0.5, -1.0, 4.0], [0.0, 1.0, 0.0, 0.0, 1.0], [3.0, 4.0, 9.0, 2.0, 5.0])),
    Program(newton_sqrt, ([2.0, 10.0, 0.5, 1234.5, 1.0, 0.003],)),
    Program(secant, ([1.0, 0.5, 2.0, 5.0, 0.9],)),
    Program(brent, ([1.0, 0.5, 2.0, 0.05, 10.0],), rtol=1e-9, x64=True),
    Program(romberg, ([0.0, -1.0, 0.0, 1.0, -3.0], [1.0, 1.0, 0.1, 1.5, 3.0])),
    Program(adaptive_simpson, ([0.0, 0.0, -1.0, 0.0, 1.0], [1.0, 6.0, 3.0, 0.5, 9.0], [1.0, 5.0, 2.0, 0.1, 7.0])),
    Program(rk45, ([1.0, 0.1, 12.0, 5.0, 3.0], [1.0, 2.0, 0.5, 0.1, 3.0], [2.0, 5.0, 1.0, 3.0, 0.5]), x64=True),
    Program(levenberg_marquardt, (_TIMES, _DECAYS), x64=True),
    Program(lbfgs, (np.array([[-1.2, 1.0], [0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [-0.5, 2.0]]),), rtol=1e-4, x64=True),
    Program(
        gradient_descent_armijo,
        (np.array([[1.0, 1.0], [4.0, 0.1], [0.0, 0.0], [-2.0, 0.5], [10.0, -3.0]]),),
        x64=True,
    ),
    Program(nelder_mead, (np.array([[0.0, 0.0], [3.0, 2.0], [1.0, -0.5], [-2.0, 1.0]]),), x64=True),
    Program(golden_section, ([0.0, -2.0, 1.0, 0.5], [2.0, 2.0, 4.0, 1.5], [1.0, 0.0, 3.0, 0.7]), rtol=1e-6, x64=True),
    Program(erf_series, ([0.0, 0.5, -1.0, 2.5, 3.5, -4.0],)),
    Program(bessel_j0, ([0.0, 0.5, 2.0, 5.0, 8.0],), rtol=1e-4),
    Program(gamma_incomplete, ([1.0, 2.5, 0.5, 10.0, 3.0], [0.5, 1.0, 4.0, 9.0, 0.0]), rtol=1e-8, x64=True),
    Program(agm, ([1.0, 24.0, 0.1, 5.0], [2.0, 6.0, 100.0, 5.0]), rtol=1e-12, x64=True),
    Program(
        horner_newton,
        (np.array([[1.0, 0, -2, -5], [2.0, 1, 0, -3], [1.0, -6, 11, -6], [0.0, 1, -4, 1]]), [2.0, 1.5, 3.3, 0.0]),
    ),
    Program(power_iteration, (_SYMMETRIC,), x64=True),
    Program(gaussian_elimination, (_SQUARES, _SIDES), rtol=1e-3),
    Program(conjugate_gradient, (_SYMMETRIC, _SIDES), rtol=1e-3),
    Program(jacobi_sweeps, (_DOMINANT, _SIDES), x64=True),
    Program(steffensen, ([0.5, 1.0, 2.0, 0.0], [1.0, 2.0, 0.5, 3.0]), rtol=1e-9, x64=True),
    Program(continued_fraction, ([3.14159265, 2.718281828, 0.5, 1.41421356, 0.3333333],), x64=True),
]
