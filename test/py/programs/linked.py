"""Programs with objects that refer to each other: linked lists, trees, graphs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from programs.table import Program


class Node:
    def __init__(self, value, rest=None):
        self.value = value
        self.rest = rest


def chain(n, step):
    """The list of ``i * step % 11`` for i below n, appended at the end."""
    dummy = Node(0)
    tail = dummy
    for i in range(n):
        tail.rest = Node(i * step % 11)
        tail = tail.rest
    return dummy.rest


def digits(head):
    total = 0
    while head:
        total = (total * 7 + head.value) % 10007
        head = head.rest
    return total


def reversed_in_place(n):
    """A list that is reversed by exchanging its links."""
    head, before = chain(n, 3), None
    while head is not None:
        head.rest, before, head = before, head, head.rest
    return digits(before)


def deleted_and_inserted(n, value):
    """A sorted list: all nodes with a value are taken out, and one node is put in its place."""
    head = None
    for i in range(n):
        node = Node(i * 7 % 13)
        if head is None or node.value < head.value:
            node.rest = head
            head = node
            continue
        at = head
        while at.rest is not None and at.rest.value <= node.value:
            at = at.rest
        node.rest, at.rest = at.rest, node
    dummy = Node(0, head)
    at = dummy
    while at.rest:
        if at.rest.value == value:
            at.rest = at.rest.rest
        else:
            at = at.rest
    return digits(dummy.rest)


def has_a_cycle(n, back):
    """Two pointers, one of which is twice as fast, meet if the list has a cycle."""
    head = chain(n + 1, 4)
    last = head
    while last.rest is not None:
        last = last.rest
    target = head
    for _ in range(back):
        if target.rest is None:
            target = None
            break
        target = target.rest
    last.rest = target
    slow = fast = head
    while fast is not None and fast.rest is not None:
        slow, fast = slow.rest, fast.rest.rest
        if slow is fast:
            return True
    return False


def merged(left, right):
    if left is None:
        return right
    if right is None:
        return left
    if left.value <= right.value:
        left.rest = merged(left.rest, right)
        return left
    right.rest = merged(left, right.rest)
    return right


def two_sorted_lists(n, k):
    """Two sorted lists are merged by recursion."""
    left = right = None
    for i in range(n, 0, -1):
        left = Node(i * 2, left)
    for i in range(k, 0, -1):
        right = Node(i * 3, right)
    return digits(merged(left, right))


def middle_of_a_list(n):
    """The value in the middle; an empty list has none."""
    slow = fast = chain(n, 5)
    while fast and fast.rest:
        slow = slow.rest
        fast = fast.rest.rest
    return slow.value


class Queue:
    def __init__(self):
        self.first = None
        self.last = None
        self.size = 0

    def put(self, value):
        node = Node(value)
        if self.last is None:
            self.first = node
        else:
            self.last.rest = node
        self.last = node
        self.size += 1

    def get(self):
        value = self.first.value
        self.first = self.first.rest
        if self.first is None:
            self.last = None
        self.size -= 1
        return value

    def __iter__(self):
        node = self.first
        while node is not None:
            yield node.value
            node = node.rest


def linked_queue(n):
    """A queue with a reference to each of its ends."""
    queue = Queue()
    for i in range(n):
        queue.put(i * i)
    total = 0
    while queue.first is not None and queue.size < 30:
        value = queue.get()
        total = (total * 2 + value) % 1009
        if value % 3 == 1 and value > 10:
            queue.put(value // 3)
    for value in queue:
        total += value
    return total * 10 + queue.size


@dataclass
class Tree:
    key: int
    left: Tree | None = None
    right: Tree | None = None


def inserted(tree, key):
    if tree is None:
        return Tree(key)
    if key < tree.key:
        tree.left = inserted(tree.left, key)
    elif key > tree.key:
        tree.right = inserted(tree.right, key)
    return tree


def without(tree, key):
    if tree is None:
        return None
    if key < tree.key:
        tree.left = without(tree.left, key)
    elif key > tree.key:
        tree.right = without(tree.right, key)
    else:
        if tree.left is None:
            return tree.right
        if tree.right is None:
            return tree.left
        least = tree.right
        while least.left:
            least = least.left
        tree.key = least.key
        tree.right = without(tree.right, least.key)
    return tree


def in_order(tree, keys):
    if tree is not None:
        in_order(tree.left, keys)
        keys.append(tree.key)
        in_order(tree.right, keys)


def depth(tree):
    return 0 if tree is None else 1 + max(depth(tree.left), depth(tree.right))


def search_tree(n, k):
    """A tree to which keys are added, and from which some are taken; its keys in order, and its depth."""
    tree = None
    for i in range(n):
        tree = inserted(tree, i * 37 % 23)
    for i in range(k):
        tree = without(tree, i * 5 % 23)
    keys = []
    in_order(tree, keys)
    return sum(i * key for i, key in enumerate(keys)), depth(tree)


class Expression:
    def value(self, x):
        raise NotImplementedError


class Constant(Expression):
    def __init__(self, number):
        self.number = number

    def value(self, x):
        return self.number


class Sum(Expression):
    def __init__(self, left, right):
        self.left = left
        self.right = right

    def value(self, x):
        return self.left.value(x) + self.right.value(x)


class Scaled(Expression):
    def __init__(self, inner):
        self.inner = inner

    def value(self, x):
        return self.inner.value(x) * x % 1009


def expression_tree(n):
    """An expression of objects of several classes, which is computed by their methods."""
    tree = Constant(n)
    for i in range(n):
        tree = Sum(tree, Constant(i)) if i % 2 else Scaled(tree)
    return tree.value(n)


class Letter:
    def __init__(self):
        self.children = {}
        self.ends = False


def trie_of_numbers(n):
    """A tree of digits, in which numbers are looked up."""
    root = Letter()
    for number in range(n):
        at, rest = root, number * 7 % 29
        while rest:
            digit = rest % 4
            if digit not in at.children:
                at.children[digit] = Letter()
            at, rest = at.children[digit], rest // 4
        at.ends = True
    found = 0
    for number in range(20):
        at, rest = root, number
        while rest and at is not None:
            at, rest = at.children.get(rest % 4), rest // 4
        if at is not None and at.ends:
            found += 1
    return found


class Member:
    def __init__(self):
        self.parent = self
        self.size = 1


def representative(member):
    while member.parent is not member:
        member.parent = member.parent.parent
        member = member.parent
    return member


def union_of_objects(n, k):
    """Disjoint sets of objects, each of which refers to one nearer to its representative."""
    members = [Member() for _ in range(n)]
    sets = n
    for i in range(n):
        one, other = representative(members[i]), representative(members[i * k % n])
        if one is not other:
            if one.size < other.size:
                one, other = other, one
            other.parent = one
            one.size += other.size
            sets -= 1
    return sets, max(member.size for member in members)


@dataclass
class Person:
    age: int
    boss: Person | None = None
    reports: list = field(default_factory=list)

    def __post_init__(self):
        if self.boss is not None:
            self.boss.reports.append(self)

    def total(self):
        return self.age + sum(person.total() for person in self.reports)


def organization(n):
    """A tree with a list of children in each node, and a reference to the parent."""
    people = [Person(60)]
    for i in range(n):
        people.append(Person(20 + i * 7 % 30, people[i // 2]))
    queue, deepest = deque([(people[0], 0)]), 0
    while queue:
        person, level = queue.popleft()
        deepest = max(deepest, level)
        for report in person.reports:
            queue.append((report, level + 1))
    return people[0].total(), deepest, len(people[-1].boss.reports) if n else -1


class Entry:
    def __init__(self, key, value):
        self.key = key
        self.value = value
        self.before = None
        self.after = None


class LeastRecentlyUsed:
    def __init__(self, room):
        self.room = room
        self.entries = {}
        self.newest = Entry(-1, -1)
        self.oldest = Entry(-1, -1)
        self.newest.after = self.oldest
        self.oldest.before = self.newest

    def _take_out(self, entry):
        entry.before.after = entry.after
        entry.after.before = entry.before

    def _put_first(self, entry):
        entry.after = self.newest.after
        entry.before = self.newest
        self.newest.after.before = entry
        self.newest.after = entry

    def get(self, key):
        if key not in self.entries:
            return -1
        entry = self.entries[key]
        self._take_out(entry)
        self._put_first(entry)
        return entry.value

    def put(self, key, value):
        if key in self.entries:
            self._take_out(self.entries[key])
        elif len(self.entries) >= self.room:
            last = self.oldest.before
            self._take_out(last)
            del self.entries[last.key]
        self.entries[key] = Entry(key, value)
        self._put_first(self.entries[key])


def cache_of_entries(n, k):
    """A dict of entries, which are also in a list from the newest to the oldest."""
    cache, total = LeastRecentlyUsed(k % 4 + 1), 0
    for i in range(n):
        if i % 3 == 2:
            total = (total * 5 + cache.get(i % 7)) % 1009
        else:
            cache.put(i * 5 % 8, i)
    return total


SIZES = [0, 1, 2, 3, 5, 8, 13]
PROGRAMS = [
    Program(reversed_in_place, (SIZES,)),
    Program(deleted_and_inserted, (SIZES, [0, 0, 7, 7, 1, 8, 5])),
    Program(has_a_cycle, (SIZES, [0, 5, 1, 9, 2, 9, 7])),
    Program(two_sorted_lists, (SIZES, SIZES[::-1])),
    Program(middle_of_a_list, (SIZES,), raises=AttributeError),
    Program(linked_queue, (SIZES,)),
    Program(search_tree, (SIZES, [0, 3, 1, 0, 2, 4, 9])),
    Program(expression_tree, (SIZES,)),
    Program(trie_of_numbers, (SIZES,)),
    Program(union_of_objects, (SIZES[1:], [3, 2, 1, 2, 3, 5])),
    Program(organization, (SIZES,)),
    Program(cache_of_entries, (SIZES, [3, 1, 2, 3, 1, 0, 2])),
]
