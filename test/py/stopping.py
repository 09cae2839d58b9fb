"""A function that a run can be stopped in, by every limit that there is."""


def down(n):
    """Needs a frame for each number down to zero, and turns in a loop for ever below it."""
    while n < 0:
        n = n + 0
    if n == 0:
        return 0
    return 1 + down(n - 1)
