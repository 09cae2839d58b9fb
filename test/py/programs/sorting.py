"""Sorting, searching and selecting."""

import heapq

import numpy as np

from programs.table import Program


def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


def bubble_sort(a):
    """Sorts in place; the number of passes."""
    n = len(a)
    passes = 0
    swapped = True
    while swapped:
        swapped = False
        for i in range(n - 1 - passes):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                swapped = True
        passes += 1
    return passes


def selection_sort(a):
    n = len(a)
    for i in range(n):
        smallest = i
        for j in range(i + 1, n):
            if a[j] < a[smallest]:
                smallest = j
        if smallest != i:
            a[i], a[smallest] = a[smallest], a[i]
    return a


def shell_sort(a):
    gap = len(a) // 2
    while gap > 0:
        for i in range(gap, len(a)):
            temp = a[i]
            j = i
            while j >= gap and a[j - gap] > temp:
                a[j] = a[j - gap]
                j -= gap
            a[j] = temp
        gap //= 2
    return a


def partition(a, lo, hi):
    pivot = a[hi]
    i = lo - 1
    for j in range(lo, hi):
        if a[j] <= pivot:
            i += 1
            a[i], a[j] = a[j], a[i]
    a[i + 1], a[hi] = a[hi], a[i + 1]
    return i + 1


def _quicksort(a, lo, hi):
    if lo < hi:
        p = partition(a, lo, hi)
        _quicksort(a, lo, p - 1)
        _quicksort(a, p + 1, hi)


def quicksort(a):
    _quicksort(a, 0, len(a) - 1)
    return a


def sift_down(a, start, end):
    root = start
    while 2 * root + 1 <= end:
        child = 2 * root + 1
        if child + 1 <= end and a[child] < a[child + 1]:
            child += 1
        if a[root] < a[child]:
            a[root], a[child] = a[child], a[root]
            root = child
        else:
            return


def heapsort(a):
    n = len(a)
    for start in range(n // 2 - 1, -1, -1):
        sift_down(a, start, n - 1)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift_down(a, 0, end - 1)
    return a


def merge_sort_bottom_up(a):
    n = len(a)
    buffer = np.zeros_like(a)
    width = 1
    while width < n:
        for lo in range(0, n, 2 * width):
            mid = min(lo + width, n)
            hi = min(lo + 2 * width, n)
            i, j = lo, mid
            for k in range(lo, hi):
                if i < mid and (j >= hi or a[i] <= a[j]):
                    buffer[k] = a[i]
                    i += 1
                else:
                    buffer[k] = a[j]
                    j += 1
        a = buffer.copy()
        width *= 2
    return a


def counting_sort(a, k):
    counts = [0] * k
    for x in a:
        counts[x] += 1
    out = np.zeros(len(a), dtype=int)
    pos = 0
    for value in range(k):
        for _ in range(counts[value]):
            out[pos] = value
            pos += 1
    return out


def binary_search(a, target):
    lo, hi = 0, len(a) - 1
    while lo <= hi:
        mid = (lo + hi) // 2
        if a[mid] == target:
            return mid
        elif a[mid] < target:
            lo = mid + 1
        else:
            hi = mid - 1
    return -1


def bisect_left(a, x):
    lo = 0
    hi = len(a)
    while lo < hi:
        mid = lo + (hi - lo) // 2
        if a[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def search_rotated(nums, target):
    left, right = 0, len(nums) - 1
    while left <= right:
        mid = (left + right) // 2
        if nums[mid] == target:
            return mid
        if nums[left] <= nums[mid]:
            if nums[left] <= target < nums[mid]:
                right = mid - 1
            else:
                left = mid + 1
        else:
            if nums[mid] < target <= nums[right]:
                left = mid + 1
            else:
                right = mid - 1
    return -1


def quickselect(a, k):
    """The k-th smallest element, by Hoare's selection."""
    lo, hi = 0, len(a) - 1
    while lo < hi:
        pivot = a[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while a[i] < pivot:
                i += 1
            while a[j] > pivot:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i, j = i + 1, j - 1
        if k <= j:
            hi = j
        elif k >= i:
            lo = i
        else:
            break
    return a[k]


def interpolation_search(a, x):
    low, high = 0, len(a) - 1
    while low <= high and a[low] <= x <= a[high]:
        if a[low] == a[high]:
            return low if a[low] == x else -1
        pos = low + (x - a[low]) * (high - low) // (a[high] - a[low])
        if a[pos] == x:
            return pos
        if a[pos] < x:
            low = pos + 1
        else:
            high = pos - 1
    return -1


def count_inversions(a):
    return sum(1 for i in range(len(a)) for j in range(i + 1, len(a)) if a[i] > a[j])


def majority_element(a):
    """Boyer and Moore's vote; -1 if there is no majority."""
    candidate = None
    count = 0
    for x in a:
        if count == 0:
            candidate = x
        count += 1 if x == candidate else -1
    if sum(1 for x in a if x == candidate) * 2 > len(a):
        return candidate
    return -1


def two_sum_sorted(a, target):
    i, j = 0, len(a) - 1
    while i < j:
        s = a[i] + a[j]
        if s == target:
            return i, j
        if s < target:
            i += 1
        else:
            j -= 1
    return -1, -1


def peak_element(a):
    lo, hi = 0, len(a) - 1
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < a[mid + 1]:
            lo = mid + 1
        else:
            hi = mid
    return lo


def kth_largest_heap(a, k):
    heap = []
    for x in a:
        heapq.heappush(heap, x)
        if len(heap) > k:
            heapq.heappop(heap)
    return heap[0]


def dutch_flag(a):
    """Zeros before ones before twos, in one pass."""
    low, mid, high = 0, 0, len(a) - 1
    while mid <= high:
        match a[mid]:
            case 0:
                a[low], a[mid] = a[mid], a[low]
                low += 1
                mid += 1
            case 1:
                mid += 1
            case _:
                a[mid], a[high] = a[high], a[mid]
                high -= 1
    return a


def median_of_three(a, b, c):
    x, y, z = sorted([a, b, c])
    return y, z - x


def next_permutation(a):
    n = len(a)
    i = n - 2
    while i >= 0 and a[i] >= a[i + 1]:
        i -= 1
    if i >= 0:
        j = n - 1
        while a[j] <= a[i]:
            j -= 1
        a[i], a[j] = a[j], a[i]
    left, right = i + 1, n - 1
    while left < right:
        a[left], a[right] = a[right], a[left]
        left += 1
        right -= 1
    return a


_RNG = np.random.default_rng(5)
_LISTS = np.array(
    [
        [3, 1, 4, 1, 5, 9, 2],
        [1, 2, 3, 4, 5, 6, 7],
        [7, 6, 5, 4, 3, 2, 1],
        [2, 2, 2, 1, 1, 3, 3],
        [5, 0, -3, 8, -3, 2, 4],
    ]
)
_SORTED = np.sort(_RNG.integers(0, 30, (5, 9)), axis=1)

PROGRAMS = [
    Program(insertion_sort, (_LISTS,)),
    Program(bubble_sort, (_LISTS,)),
    Program(selection_sort, (_LISTS,)),
    Program(shell_sort, (_LISTS,)),
    Program(quicksort, (_LISTS,)),
    Program(heapsort, (_LISTS,)),
    Program(merge_sort_bottom_up, (_LISTS,)),
    Program(counting_sort, (np.abs(_LISTS) % 5,), {"k": 5}),
    Program(binary_search, (_SORTED, [4, 11, int(_SORTED[2, 3]), int(_SORTED[3, 8]), -1])),
    Program(bisect_left, (_SORTED, [4, 11, 40, int(_SORTED[3, 4]), -1])),
    Program(
        search_rotated,
        (
            np.array([[4, 5, 6, 7, 0, 1, 2], [1, 2, 3, 4, 5, 6, 7], [6, 7, 1, 2, 3, 4, 5], [3, 4, 5, 6, 7, 8, 1]]),
            [0, 6, 8, 3],
        ),
    ),
    Program(quickselect, (_LISTS, [0, 3, 6, 2, 4])),
    Program(
        interpolation_search,
        (np.array([[1, 4, 9, 16, 25], [0, 10, 20, 30, 40], [5, 5, 5, 5, 5], [1, 2, 50, 60, 99]]), [16, 35, 5, 60]),
    ),
    Program(count_inversions, (_LISTS,)),
    Program(majority_element, (np.array([[1, 1, 2, 1, 3], [1, 2, 3, 4, 5], [7, 7, 7, 7, 7], [2, 3, 2, 3, 2]]),)),
    Program(
        two_sum_sorted,
        (_SORTED, [int(_SORTED[0, 1] + _SORTED[0, 5]), 1000, 20, int(_SORTED[3, 0] + _SORTED[3, 1]), 31]),
    ),
    Program(peak_element, (np.array([[1, 3, 2, 1, 0], [1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [0, 1, 0, 5, 2]]),)),
    Program(kth_largest_heap, (_LISTS, [1, 2, 3, 7, 4])),
    Program(dutch_flag, (np.array([[2, 0, 1, 2, 1, 0], [0, 0, 0, 0, 0, 0], [2, 2, 1, 1, 0, 0], [1, 0, 2, 0, 1, 2]]),)),
    Program(median_of_three, ([1, 5, 3, 2], [2, 4, 3, 9], [3, 6, 3, -1])),
    Program(next_permutation, (np.array([[1, 2, 3, 4], [4, 3, 2, 1], [1, 3, 4, 2], [2, 2, 1, 1]]),)),
]
