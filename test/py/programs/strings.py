"""Strings as arrays of characters' numbers: matching, parsing, compressing, checking."""

import numpy as np

from programs.table import Program

SPACE, ZERO, NINE, PLUS, MINUS, STAR, OPEN, CLOSE = (ord(c) for c in " 09+-*()")


def text(*strings):
    """Strings of one length, padded with spaces, as rows of character codes."""
    width = max(len(s) for s in strings)
    return np.array([[ord(c) for c in s.ljust(width)] for s in strings])


def is_palindrome(s):
    i, j = 0, len(s) - 1
    while i < j:
        if s[i] != s[j]:
            return False
        i += 1
        j -= 1
    return True


def longest_palindrome(s):
    """Where the longest palindrome inside starts, and its length."""
    best_start, best_length = 0, 1
    for center in range(len(s)):
        for lo, hi in ((center, center), (center, center + 1)):
            while lo >= 0 and hi < len(s) and s[lo] == s[hi]:
                lo -= 1
                hi += 1
            if hi - lo - 1 > best_length:
                best_start, best_length = lo + 1, hi - lo - 1
    return best_start, best_length


def failure_function(pattern):
    fail = [0] * len(pattern)
    k = 0
    for i in range(1, len(pattern)):
        while k > 0 and pattern[k] != pattern[i]:
            k = fail[k - 1]
        if pattern[k] == pattern[i]:
            k += 1
        fail[i] = k
    return fail


def kmp_search(text, pattern):
    """Where a pattern first occurs, or -1: Knuth, Morris and Pratt."""
    fail = failure_function(pattern)
    k = 0
    for i, c in enumerate(text):
        while k > 0 and pattern[k] != c:
            k = fail[k - 1]
        if pattern[k] == c:
            k += 1
        if k == len(pattern):
            return i - k + 1
    return -1


def naive_search(text, pattern):
    n, m = len(text), len(pattern)
    for i in range(n - m + 1):
        if all(text[i + j] == pattern[j] for j in range(m)):
            return i
    return -1


def rabin_karp(text, pattern, base=31, mod=1009):
    """How often a pattern occurs."""
    n, m = len(text), len(pattern)
    target = 0
    h = 0
    power = 1
    for i in range(m):
        target = (target * base + pattern[i]) % mod
        h = (h * base + text[i]) % mod
        if i > 0:
            power = power * base % mod
    count = 0
    for i in range(n - m + 1):
        if h == target:
            if np.array_equal(text[i : i + m], pattern):
                count += 1
        if i < n - m:
            h = ((h - text[i] * power) * base + text[i + m]) % mod
    return count


def boyer_moore_horspool(text, pattern):
    m = len(pattern)
    skip = np.full(128, m)
    for i in range(m - 1):
        skip[pattern[i]] = m - 1 - i
    pos = 0
    while pos <= len(text) - m:
        j = m - 1
        while j >= 0 and text[pos + j] == pattern[j]:
            j -= 1
        if j < 0:
            return pos
        pos += skip[text[pos + m - 1]]
    return -1


def run_length_encode(s):
    """Values and lengths of runs, and how many there are."""
    values = np.zeros_like(s)
    lengths = np.zeros_like(s)
    n = 0
    i = 0
    while i < len(s):
        j = i
        while j < len(s) and s[j] == s[i]:
            j += 1
        values[n] = s[i]
        lengths[n] = j - i
        n += 1
        i = j
    return values, lengths, n


def parse_int(s):
    """As C's ``atoi``."""
    i = 0
    while i < len(s) and s[i] == SPACE:
        i += 1
    sign = 1
    if i < len(s) and (s[i] == MINUS or s[i] == PLUS):
        if s[i] == MINUS:
            sign = -1
        i += 1
    value = 0
    while i < len(s) and ZERO <= s[i] <= NINE:
        value = value * 10 + (s[i] - ZERO)
        i += 1
    return sign * value


def parse_float(s):
    if not len(s):
        raise ValueError("empty")
    value, scale = 0.0, 1.0
    seen_point = False
    for c in s:
        if c == SPACE:
            continue
        elif c == ord("."):
            if seen_point:
                raise ValueError(f"a second point in {bytes(s.tolist())!r}")
            seen_point = True
        elif ZERO <= c <= NINE:
            value = value * 10 + (c - ZERO)
            if seen_point:
                scale *= 10
        else:
            raise ValueError(f"not a digit: {c}")
    return value / scale


def balanced(s):
    """Whether brackets of three kinds match, with a stack."""
    stack = []
    pairs = {ord(")"): ord("("), ord("]"): ord("["), ord("}"): ord("{")}
    for c in s:
        if c in (ord("("), ord("["), ord("{")):
            stack.append(c)
        elif c in (ord(")"), ord("]"), ord("}")):
            if not stack or stack.pop() != pairs[c]:
                return False
    return not stack


def max_depth(s):
    depth = deepest = 0
    for c in s:
        if c == OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif c == CLOSE:
            depth -= 1
    return deepest if depth == 0 else -1


class Parser:
    """Sums and products of digits and brackets, by recursive descent."""

    def __init__(self, s):
        self.s = s
        self.pos = 0

    def peek(self):
        return self.s[self.pos] if self.pos < len(self.s) else SPACE

    def expression(self):
        value = self.term()
        while self.peek() in (PLUS, MINUS):
            op = self.peek()
            self.pos += 1
            if op == PLUS:
                value += self.term()
            else:
                value -= self.term()
        return value

    def term(self):
        value = self.factor()
        while self.peek() == STAR:
            self.pos += 1
            value *= self.factor()
        return value

    def factor(self):
        if self.peek() == OPEN:
            self.pos += 1
            value = self.expression()
            self.pos += 1
            return value
        value = 0
        while ZERO <= self.peek() <= NINE:
            value = value * 10 + (self.peek() - ZERO)
            self.pos += 1
        return value


def evaluate(s):
    return Parser(s).expression()


def reverse_polish(tokens):
    """Numbers are non-negative; -1 adds, -2 subtracts, -3 multiplies, and -9 is nothing."""
    stack = []
    for t in tokens:
        if t >= 0:
            stack.append(t)
        elif t == -9:
            pass
        else:
            b = stack.pop()
            a = stack.pop()
            if t == -1:
                stack.append(a + b)
            elif t == -2:
                stack.append(a - b)
            else:
                stack.append(a * b)
    return stack[-1]


def count_words(s):
    words = 0
    inside = False
    for c in s:
        if c == SPACE:
            inside = False
        elif not inside:
            inside = True
            words += 1
    return words


def caesar(s, shift):
    """Shifts capital letters and leaves the others."""
    out = s.copy()
    for i in range(len(s)):
        if 65 <= s[i] <= 90:
            out[i] = (s[i] - 65 + shift) % 26 + 65
    return out


def are_anagrams(a, b):
    counts = [0] * 128
    for x in a:
        counts[x] += 1
    for y in b:
        counts[y] -= 1
        if counts[y] < 0:
            return False
    return True


def longest_unique_substring(s):
    last = {}
    start = best = 0
    for i, c in enumerate(s):
        if c in last and last[c] >= start:
            start = last[c] + 1
        last[c] = i
        best = max(best, i - start + 1)
    return best


def hamming(a, b):
    return sum(x != y for x, y in zip(a, b))


def luhn(digits):
    """Whether a card's number may be one."""
    total = 0
    for i, d in enumerate(reversed(digits)):
        if i % 2 == 1:
            d *= 2
            if d > 9:
                d -= 9
        total += d
    return total % 10 == 0


def z_function(s):
    n = len(s)
    z = [0] * n
    left, right = 0, 0
    for i in range(1, n):
        if i < right:
            z[i] = min(right - i, z[i - left])
        while i + z[i] < n and s[z[i]] == s[i + z[i]]:
            z[i] += 1
        if i + z[i] > right:
            left, right = i, i + z[i]
    return z


def glob_match(s, p, i=0, j=0):
    """Wildcards ``?`` and ``*``, recursively; spaces end both."""
    if j == len(p) or p[j] == SPACE:
        return i == len(s) or s[i] == SPACE
    if p[j] == STAR:
        return glob_match(s, p, i, j + 1) or (i < len(s) and s[i] != SPACE and glob_match(s, p, i + 1, j))
    if i < len(s) and s[i] != SPACE and p[j] in (s[i], ord("?")):
        return glob_match(s, p, i + 1, j + 1)
    return False


def fnv_hash(s):
    h = 2166136261
    for c in s:
        h ^= c
        h = (h * 16777619) & 0xFFFFFFFF
    return h


def roman_value(s):
    numerals = {ord("I"): 1, ord("V"): 5, ord("X"): 10, ord("L"): 50, ord("C"): 100, ord("D"): 500, ord("M"): 1000}
    total = previous = 0
    for c in reversed(s):
        value = numerals.get(c, 0)
        if value < previous:
            total -= value
        else:
            total += value
            previous = value
    return total


_HAYSTACKS = text("abracadabra", "aaaaaaaaaab", "mississippi", "xyzxyzxyzxy")
_NEEDLES = text("cad", "aab", "iss", "zzz")

PROGRAMS = [
    Program(is_palindrome, (text("racecar", "abcdcbb", "aaaaaaa", "abccbax"),)),
    Program(longest_palindrome, (text("babadxyz", "cbbdaaaa", "abcdefgh", "forgeeks"),)),
    Program(failure_function, (text("abababca", "aaaaaaaa", "abcdefgh", "aabaaaba"),)),
    Program(kmp_search, (_HAYSTACKS, _NEEDLES)),
    Program(naive_search, (_HAYSTACKS, _NEEDLES)),
    Program(rabin_karp, (_HAYSTACKS, _NEEDLES)),
    Program(boyer_moore_horspool, (_HAYSTACKS, _NEEDLES)),
    Program(run_length_encode, (text("aaabccdd", "abcdefgh", "zzzzzzzz", "aabbaabb"),)),
    Program(parse_int, (text("42", "   -17", "+9 8", "x12", "  00123"),)),
    Program(parse_float, (text("3.25", "0.5", "17", "1.2.3", "2x"),), raises=ValueError),
    Program(balanced, (text("([]{})", "([)]", "((()", "", "]"),)),
    Program(max_depth, (text("(1+(2*3))", "((()))", "()", "(()", "x"),)),
    Program(evaluate, (text("1+2*3", "(1+2)*3", "2*(3-(4-1))", "12", "10-2-3"),)),
    Program(
        reverse_polish,
        (np.array([[3, 4, -1, 2, -3], [5, 1, -2, -9, -9], [7, -9, -9, -9, -9], [2, 3, 4, -1, -3]]),),
    ),
    Program(count_words, (text("the quick  brown fox", " one", "", "a b c d e"),)),
    Program(caesar, (text("HELLO WORLD", "xyz", "ABCXYZ"), [3, 5, 23])),
    Program(are_anagrams, (text("listen", "aabbcc", "abcdef"), text("silent", "abcabc", "abcdeg"))),
    Program(longest_unique_substring, (text("abcabcbb", "bbbbbbbb", "pwwkewxy", "abcdefgh"),)),
    Program(hamming, (text("karolin", "same", "abcdefg"), text("kathrin", "same", "gfedcba"))),
    Program(luhn, (np.array([[7, 9, 9, 2, 7, 3, 9, 8, 7, 1, 3], [7, 9, 9, 2, 7, 3, 9, 8, 7, 1, 4], [0] * 11]),)),
    Program(z_function, (text("aabxaabx", "aaaaaaaa", "abcdefgh", "abacabad"),)),
    Program(glob_match, (text("hello", "hello", "abcd", "aab"), text("h*o", "h?l", "*b*d", "c*a*b"))),
    Program(fnv_hash, (text("foobar", "a", "hlobatch"),), x64=True),
    Program(roman_value, (text("XIV", "MCMXCIV", "III", "LVIII"),)),
]
