"""Divisors, primes, residues and digits."""

import math

import numpy as np

from programs.table import Program


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def gcd_recursive(a, b):
    return a if b == 0 else gcd_recursive(b, a % b)


def extended_gcd(a, b):
    old_r, r = a, b
    old_s, s = 1, 0
    old_t, t = 0, 1
    while r != 0:
        q = old_r // r
        old_r, r = r, old_r - q * r
        old_s, s = s, old_s - q * s
        old_t, t = t, old_t - q * t
    return old_r, old_s, old_t


def modular_inverse(a, m):
    """Raises if there is none."""
    g, x, _ = extended_gcd(a % m, m)
    if g != 1:
        raise ValueError(f"{a} has no inverse modulo {m}")
    return x % m


def is_prime(n):
    if n < 2:
        return False
    if n < 4:
        return True
    if n % 2 == 0 or n % 3 == 0:
        return False
    i = 5
    while i * i <= n:
        if n % i == 0 or n % (i + 2) == 0:
            return False
        i += 6
    return True


def count_primes(n, limit=200):
    """How many primes are below n, by the sieve of Eratosthenes."""
    sieve = [True] * limit
    sieve[0] = sieve[1] = False
    for i in range(2, int(limit**0.5) + 1):
        if sieve[i]:
            for j in range(i * i, limit, i):
                sieve[j] = False
    return sum(sieve[:limit][k] for k in range(limit) if k < n)


def sieve_numpy(n, size):
    """The same with NumPy's slices; the sum of the primes up to n."""
    is_prime = np.ones(size, dtype=bool)
    is_prime[:2] = False
    p = 2
    while p * p <= n:
        if is_prime[p]:
            for multiple in range(p * p, n + 1, p):
                is_prime[multiple] = False
        p += 1
    return int(np.sum(np.where(is_prime & (np.arange(size) <= n), np.arange(size), 0)))


def modpow(base, exponent, modulus):
    result = 1
    base %= modulus
    while exponent > 0:
        if exponent & 1:
            result = result * base % modulus
        exponent >>= 1
        base = base * base % modulus
    return result


WITNESSES = (2, 3, 5, 7)


def miller_rabin(n):
    if n < 2:
        return False
    for p in WITNESSES:
        if n % p == 0:
            return n == p
    d, s = n - 1, 0
    while d % 2 == 0:
        d //= 2
        s += 1
    for a in WITNESSES:
        x = pow(a, d, n)
        if x == 1 or x == n - 1:
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def smallest_factor(n):
    for d in range(2, math.isqrt(n) + 1):
        if n % d == 0:
            return d
    return n


def factor_exponents(n):
    """Exponents of the first six primes in n, and what is left."""
    primes = [2, 3, 5, 7, 11, 13]
    exponents = [0] * len(primes)
    for i, p in enumerate(primes):
        while n % p == 0:
            n //= p
            exponents[i] += 1
    return exponents, n


def pollard_rho(n):
    """A proper factor of an odd composite number."""
    c = 1
    while True:
        x = y = 2
        d = 1
        while d == 1:
            x = (x * x + c) % n
            y = (y * y + c) % n
            y = (y * y + c) % n
            d = math.gcd(abs(x - y), n)
        if d != n:
            return d
        c += 1


def euler_totient(n):
    result = n
    p = 2
    while p * p <= n:
        if n % p == 0:
            while n % p == 0:
                n //= p
            result -= result // p
        p += 1
    if n > 1:
        result -= result // n
    return result


def collatz_length(n):
    length = 1
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        length += 1
    return length


def digit_sum(n):
    total = 0
    while n:
        n, digit = divmod(n, 10)
        total += digit
    return total


def digital_root(n):
    while n >= 10:
        n = digit_sum(n)
    return n


def is_perfect(n):
    return n > 1 and sum(d for d in range(1, 500) if d < n and n % d == 0) == n


def is_happy(n):
    seen = set()
    while n != 1 and n not in seen:
        seen.add(n)
        n = sum(int(d) ** 2 for d in str(n))
    return n == 1


def happy_number(n):
    """By Floyd's tortoise and hare."""

    def step(n):
        total = 0
        while n > 0:
            digit = n % 10
            total += digit * digit
            n //= 10
        return total

    slow = n
    fast = step(n)
    while fast != 1 and slow != fast:
        slow = step(slow)
        fast = step(step(fast))
    return fast == 1


def jacobi_symbol(a, n):
    assert n > 0 and n % 2 == 1, "n must be odd and positive"
    a %= n
    result = 1
    while a != 0:
        while a % 2 == 0:
            a //= 2
            if n % 8 in (3, 5):
                result = -result
        a, n = n, a
        if a % 4 == 3 and n % 4 == 3:
            result = -result
        a %= n
    return result if n == 1 else 0


def chinese_remainder(r1, r2, r3):
    """The number below 105 with given remainders modulo 3, 5 and 7."""
    moduli = [3, 5, 7]
    product = math.prod(moduli)
    total = 0
    for r, m in zip([r1, r2, r3], moduli):
        p = product // m
        total += r * p * pow(p, -1, m)
    return total % product


def binomial_mod(n, k, mod=1009):
    """Pascal's triangle in one row."""
    row = [0] * 21
    row[0] = 1
    for i in range(1, n + 1):
        for j in range(min(i, 20), 0, -1):
            row[j] = (row[j] + row[j - 1]) % mod
    return row[k]


def discrete_log(g, h, p):
    """The least x with ``g**x = h`` modulo p, or -1."""
    value = 1
    for x in range(p):
        if value == h:
            return x
        value = value * g % p
    return -1


def josephus(n, k):
    if n == 1:
        return 0
    return (josephus(n - 1, k) + k) % n


def integer_sqrt(n):
    if n < 0:
        raise ValueError("negative")
    if n == 0:
        return 0
    x = 1 << ((n.bit_length() + 1) // 2)
    while True:
        y = (x + n // x) // 2
        if y >= x:
            return x
        x = y


def to_roman_length(n):
    """How many letters a number has in Roman numerals."""
    letters = 0
    for value, symbol in (
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ):
        count, n = divmod(n, value)
        letters += count * len(symbol)
    return letters


def popcount(n):
    count = 0
    while n:
        n &= n - 1
        count += 1
    return count


def lcg_period(seed, multiplier, modulus=64):
    """The length of the cycle of a linear congruential generator, by Brent's method."""
    power = lam = 1
    tortoise = seed
    hare = (multiplier * seed + 3) % modulus
    while tortoise != hare:
        if power == lam:
            tortoise = hare
            power *= 2
            lam = 0
        hare = (multiplier * hare + 3) % modulus
        lam += 1
    return lam


PROGRAMS = [
    Program(gcd, ([48, 17, 270, 7, 0], [18, 5, 192, 0, 9])),
    Program(gcd_recursive, ([48, 17, 270, 7, 0], [18, 5, 192, 0, 9])),
    Program(extended_gcd, ([240, 17, 99, 6, 1], [46, 5, 78, 0, 1])),
    Program(modular_inverse, ([3, 10, 2, 6, 7], [11, 17, 5, 9, 26]), raises=ValueError),
    Program(is_prime, ([0, 1, 2, 9, 97, 91, 7919, 10403],)),
    Program(count_primes, ([2, 10, 30, 100, 199],)),
    Program(sieve_numpy, ([2, 10, 30, 63],), {"size": 64}),
    Program(modpow, ([2, 3, 7, 10, 5], [10, 0, 123, 17, 1], [1000, 7, 1009, 13, 5])),
    Program(miller_rabin, ([1, 2, 91, 97, 561, 7919, 25326],), x64=True),
    Program(smallest_factor, ([2, 15, 49, 97, 9409],)),
    Program(factor_exponents, ([1, 360, 1001, 17, 65536, 9699690],)),
    Program(pollard_rho, ([8051, 10403, 15, 455459, 9],), x64=True),
    Program(euler_totient, ([1, 2, 36, 97, 1000],)),
    Program(collatz_length, ([1, 2, 7, 27, 97],)),
    Program(digit_sum, ([0, 7, 12345, 99999, 1000000],)),
    Program(digital_root, ([0, 7, 12345, 99999, 493193],)),
    Program(is_perfect, ([1, 6, 12, 28, 496],)),
    Program(is_happy, ([1, 4, 7, 19, 20],)),
    Program(happy_number, ([1, 4, 7, 19, 20],)),
    Program(jacobi_symbol, ([1, 5, 2, 30, 1001], [1, 21, 15, 7, 9907])),
    Program(chinese_remainder, ([2, 0, 1, 2], [3, 0, 4, 1], [2, 0, 6, 5])),
    Program(binomial_mod, ([0, 5, 10, 20], [0, 2, 5, 9])),
    Program(discrete_log, ([2, 3, 5, 2], [9, 13, 1, 0], [11, 17, 23, 13])),
    Program(josephus, ([1, 7, 10, 41], [3, 3, 2, 3])),
    Program(integer_sqrt, ([0, 1, 15, 16, 99980001],)),
    Program(to_roman_length, ([1, 4, 1994, 3888, 2024],)),
    Program(popcount, ([0, 1, 255, 1023, 1 << 30],)),
    Program(lcg_period, ([0, 1, 17, 63], [5, 3, 7, 63])),
]
