"""A function that can reach each limit of a run."""


def down(n):
    """Recursion with a frame for each number down to zero; an endless loop for numbers below it."""
    while n < 0:
        n = n + 0
    if n == 0:
        return 0
    return 1 + down(n - 1)
