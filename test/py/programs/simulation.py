"""Simulations that draw random numbers from keys."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from programs.table import Program


def random_walk(key, barrier):
    """Steps until a walk on the integers is as far out as the barrier."""
    position = 0
    steps = 0
    while abs(position) < barrier:
        key, sub = jax.random.split(key)
        if jax.random.bernoulli(sub):
            position += 1
        else:
            position -= 1
        steps += 1
    return steps, position


def gamblers_ruin(key, money, goal, p):
    while 0 < money < goal:
        key, sub = jax.random.split(key)
        money += 1 if jax.random.uniform(sub) < p else -1
    return money == goal


def estimate_pi(key, n):
    inside = 0
    for _ in range(n):
        key, sub = jax.random.split(key)
        x, y = jax.random.uniform(sub, (2,))
        if x * x + y * y <= 1:
            inside += 1
    return 4 * inside / n


def poisson_knuth(key, rate):
    limit = math.exp(-rate)
    k = 0
    p = 1.0
    while True:
        key, sub = jax.random.split(key)
        p *= jax.random.uniform(sub)
        if p <= limit:
            break
        k += 1
    return k


def geometric(key, p):
    trials = 1
    key, sub = jax.random.split(key)
    while jax.random.uniform(sub) >= p:
        trials += 1
        key, sub = jax.random.split(key)
    return trials


def gillespie(key, birth, death, start, t_end):
    """A birth and death process: the population at the end, and how many events there were."""
    t = 0.0
    population = start
    events = 0
    while population > 0:
        key, k1, k2 = jax.random.split(key, 3)
        rates = [birth * population, death * population]
        total = sum(rates)
        t += jax.random.exponential(k1) / total
        if t > t_end:
            break
        if jax.random.uniform(k2) * total < rates[0]:
            population += 1
        else:
            population -= 1
        events += 1
    return population, events


def sir_epidemic(key, beta, gamma, n=30):
    """Everyone who was ever infected."""
    susceptible, infected, recovered = n - 1, 1, 0
    while infected:
        key, sub = jax.random.split(key)
        infection = beta * susceptible * infected / n
        recovery = gamma * infected
        if jax.random.uniform(sub) < infection / (infection + recovery):
            susceptible -= 1
            infected += 1
        else:
            infected -= 1
            recovered += 1
    return recovered


def log_density(x):
    return -0.5 * x**2 + jnp.log(1 + jnp.sin(3 * x) ** 2)


def metropolis(key, x, scale, n):
    """The last state of a chain and how often it moved."""
    accepted = 0
    current = log_density(x)
    for _ in range(n):
        key, k1, k2 = jax.random.split(key, 3)
        proposal = x + scale * jax.random.normal(k1)
        new = log_density(proposal)
        if math.log(jax.random.uniform(k2)) < new - current:
            x, current = proposal, new
            accepted += 1
    return x, accepted


def mm1_queue(key, arrival_rate, service_rate, customers):
    """The mean time that customers wait in line."""
    clock = 0.0
    free_at = 0.0
    waited = 0.0
    for _ in range(customers):
        key, k1, k2 = jax.random.split(key, 3)
        clock += jax.random.exponential(k1) / arrival_rate
        start = max(clock, free_at)
        waited += start - clock
        free_at = start + jax.random.exponential(k2) / service_rate
    return waited / customers


class Bank:
    """A queue with two servers."""

    def __init__(self, n):
        self.free_at = [0.0] * n
        self.served = 0

    def serve(self, arrival, duration):
        first = min(range(len(self.free_at)), key=lambda i: self.free_at[i])
        start = max(arrival, self.free_at[first])
        self.free_at[first] = start + duration
        self.served += 1
        return start - arrival


def two_servers(key, customers):
    bank = Bank(2)
    clock = total = 0.0
    for _ in range(customers):
        key, k1, k2 = jax.random.split(key, 3)
        clock += jax.random.exponential(k1)
        total += bank.serve(clock, 1.8 * jax.random.exponential(k2))
    return total / bank.served


def polya_urn(key, red, blue, draws):
    for _ in range(draws):
        key, sub = jax.random.split(key)
        if jax.random.uniform(sub) < red / (red + blue):
            red += 1
        else:
            blue += 1
    return red, blue


def coupon_collector(key, kinds, most=8):
    """How many coupons are bought until every kind is there."""
    have = np.zeros(most, dtype=bool)
    bought = 0
    while sum(have) < kinds:
        key, sub = jax.random.split(key)
        have[jax.random.randint(sub, (), 0, kinds)] = True
        bought += 1
    return bought


def shuffle(key, a):
    """Fisher and Yates."""
    for i in range(len(a) - 1, 0, -1):
        key, sub = jax.random.split(key)
        j = jax.random.randint(sub, (), 0, i + 1)
        a[i], a[j] = a[j], a[i]
    return a


def simulated_annealing(key, x, temperature):
    """The best value found of a function with many valleys."""

    def energy(x):
        return x * x + 10 * (1 - math.cos(2 * math.pi * x))

    e = energy(x)
    best = e
    while temperature > 0.05:
        key, k1, k2 = jax.random.split(key, 3)
        candidate = x + jax.random.normal(k1)
        e_new = energy(candidate)
        delta = e_new - e
        if delta < 0 or jax.random.uniform(k2) < math.exp(-delta / temperature):
            x, e = candidate, e_new
            if e < best:
                best = e
        temperature *= 0.9
    return best


def branching_process(key, mean, generations):
    """The size of a family after some generations of which each one has two children or none, unless it dies out."""
    size = 1
    g = 0
    while g < generations and 0 < size < 50:
        children = 0
        for _ in range(size):
            key, sub = jax.random.split(key)
            if jax.random.uniform(sub) < mean / 2:
                children += 2
        size = children
        g += 1
    return size, g


def rejection_normal(key):
    """A normal number by Marsaglia's polar method."""
    while True:
        key, sub = jax.random.split(key)
        u, v = jax.random.uniform(sub, (2,), minval=-1.0, maxval=1.0)
        s = u * u + v * v
        if 0 < s < 1:
            return u * math.sqrt(-2 * math.log(s) / s)


def craps(key):
    """Whether a game of craps is won, and the number of throws."""

    def roll(key):
        a, b = jax.random.randint(key, (2,), 1, 7)
        return a + b

    key, sub = jax.random.split(key)
    first = roll(sub)
    throws = 1
    if first in (7, 11):
        return True, throws
    if first in (2, 3, 12):
        return False, throws
    while True:
        key, sub = jax.random.split(key)
        total = roll(sub)
        throws += 1
        if total == first:
            return True, throws
        if total == 7:
            return False, throws


def _keys(seed, n):
    return jax.random.split(jax.random.key(seed), n)


PROGRAMS = [
    Program(random_walk, (_keys(1, 5), [1, 2, 3, 4, 5])),
    Program(gamblers_ruin, (_keys(2, 5), [1, 3, 5, 2, 4], [5, 6, 10, 4, 5], [0.5, 0.4, 0.6, 0.5, 0.3])),
    Program(estimate_pi, (_keys(3, 4), [5, 20, 33, 10])),
    Program(poisson_knuth, (_keys(4, 5), [0.5, 1.0, 3.0, 6.0, 2.0])),
    Program(geometric, (_keys(5, 5), [0.9, 0.5, 0.2, 0.1, 0.3])),
    Program(
        gillespie,
        (_keys(6, 4), [1.0, 0.5, 1.0, 2.0], [1.0, 1.0, 0.5, 2.0], [3, 4, 1, 2], [1.0, 2.0, 1.5, 1.0]),
        rtol=1e-3,
    ),
    Program(sir_epidemic, (_keys(7, 5), [2.0, 1.5, 0.5, 3.0, 1.0], [1.0, 1.0, 1.0, 0.5, 0.8])),
    Program(metropolis, (_keys(8, 4), [0.0, 3.0, -1.0, 1.0], [1.0, 0.5, 2.0, 0.1], [5, 20, 10, 15]), rtol=1e-3),
    Program(mm1_queue, (_keys(9, 4), [0.5, 0.9, 1.0, 2.0], [1.0, 1.0, 2.0, 1.0], [5, 20, 10, 15]), rtol=1e-3),
    Program(two_servers, (_keys(10, 4), [3, 8, 15, 10]), rtol=1e-3),
    Program(polya_urn, (_keys(11, 4), [1, 2, 5, 1], [1, 1, 1, 9], [10, 5, 8, 20])),
    Program(coupon_collector, (_keys(12, 4), [1, 3, 5, 8])),
    Program(shuffle, (_keys(13, 4), np.tile(np.arange(6), (4, 1)))),
    Program(simulated_annealing, (_keys(14, 4), [3.0, -2.0, 0.5, 5.0], [5.0, 2.0, 0.1, 10.0]), rtol=1e-3),
    Program(branching_process, (_keys(15, 4), [0.8, 1.2, 2.0, 1.5], [3, 5, 3, 4])),
    Program(rejection_normal, (_keys(16, 6),), rtol=1e-4),
    Program(craps, (_keys(18, 6),)),
]
