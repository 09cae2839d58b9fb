"""Grids and graphs: searching, shortest ways, components, order."""

import heapq
from collections import deque

import numpy as np

from programs.table import Program


def flood_fill(grid, row, col, color):
    """With an explicit stack; how many cells changed."""
    old = grid[row, col]
    if old == color:
        return 0
    count = 0
    stack = [(row, col)]
    while stack:
        r, c = stack.pop()
        if r < 0 or r >= grid.shape[0] or c < 0 or c >= grid.shape[1] or grid[r, c] != old:
            continue
        grid[r, c] = color
        count += 1
        stack.append((r + 1, c))
        stack.append((r - 1, c))
        stack.append((r, c + 1))
        stack.append((r, c - 1))
    return count


def fill(grid, r, c, old, new):
    n, m = grid.shape
    if r < 0 or c < 0 or r >= n or c >= m or grid[r, c] != old:
        return
    grid[r, c] = new
    fill(grid, r + 1, c, old, new)
    fill(grid, r - 1, c, old, new)
    fill(grid, r, c + 1, old, new)
    fill(grid, r, c - 1, old, new)


def flood_fill_recursive(grid, row, col, color):
    if grid[row, col] != color:
        fill(grid, row, col, grid[row, col], color)
    return grid


def count_islands(grid):
    rows, cols = grid.shape
    islands = 0
    for i in range(rows):
        for j in range(cols):
            if grid[i, j] == 1:
                islands += 1
                fill(grid, i, j, 1, 0)
    return islands


def shortest_path_grid(grid):
    """Steps from corner to corner by breadth-first search, or -1."""
    n = len(grid)
    queue = deque([(0, 0, 0)])
    seen = np.zeros((n, n), dtype=bool)
    seen[0, 0] = True
    while queue:
        r, c, d = queue.popleft()
        if r == n - 1 and c == n - 1:
            return d
        for dr, dc in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            nr, nc = r + dr, c + dc
            if 0 <= nr < n and 0 <= nc < n and grid[nr, nc] == 0 and not seen[nr, nc]:
                seen[nr, nc] = True
                queue.append((nr, nc, d + 1))
    return -1


def dijkstra(weights, source):
    """Distances by the simple method without a heap; weight 0 is no edge."""
    n = len(weights)
    dist = np.full(n, np.inf)
    done = np.zeros(n, dtype=bool)
    dist[source] = 0
    for _ in range(n):
        u = -1
        for v in range(n):
            if not done[v] and (u == -1 or dist[v] < dist[u]):
                u = v
        if dist[u] == np.inf:
            break
        done[u] = True
        for v in range(n):
            if weights[u, v] > 0 and dist[u] + weights[u, v] < dist[v]:
                dist[v] = dist[u] + weights[u, v]
    return dist


def dijkstra_heap(weights, source, target):
    n = len(weights)
    dist = [float("inf")] * n
    dist[source] = 0.0
    heap = [(0.0, source)]
    while heap:
        d, u = heapq.heappop(heap)
        if u == target:
            return d
        if d > dist[u]:
            continue
        for v in range(n):
            w = weights[u][v]
            if w > 0 and d + w < dist[v]:
                dist[v] = d + w
                heapq.heappush(heap, (dist[v], v))
    return float("inf")


def a_star(grid, goal_row, goal_col):
    """Length of the shortest way on a grid from its corner, by A* with a list that is scanned."""

    def heuristic(r, c):
        return abs(r - goal_row) + abs(c - goal_col)

    n, m = grid.shape
    cost = {(0, 0): 0}
    open_set = [(heuristic(0, 0), 0, 0)]
    while open_set:
        f, r, c = min(open_set)
        open_set.remove((f, r, c))
        if (r, c) == (goal_row, goal_col):
            return cost[r, c]
        for dr, dc in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            nr, nc = r + dr, c + dc
            if not (0 <= nr < n and 0 <= nc < m) or grid[nr, nc]:
                continue
            new_cost = cost[r, c] + 1
            if (nr, nc) not in cost or new_cost < cost[nr, nc]:
                cost[nr, nc] = new_cost
                open_set.append((new_cost + heuristic(nr, nc), nr, nc))
    return -1


def a_star_arrays(grid, goal_row, goal_col):
    """The same with arrays, as in a program for games."""
    n, m = grid.shape
    g = np.full((n, m), 10**6)
    closed = np.zeros((n, m), dtype=bool)
    g[0, 0] = 0
    while True:
        best, br, bc = 10**6, -1, -1
        for r in range(n):
            for c in range(m):
                if not closed[r, c]:
                    f = g[r, c] + abs(r - goal_row) + abs(c - goal_col)
                    if f < best:
                        best, br, bc = f, r, c
        if br == -1:
            return -1
        if br == goal_row and bc == goal_col:
            return int(g[br, bc])
        closed[br, bc] = True
        for k in range(4):
            dr, dc = [(0, 1), (0, -1), (1, 0), (-1, 0)][k]
            r, c = br + dr, bc + dc
            if r >= 0 and r < n and c >= 0 and c < m and grid[r, c] == 0:
                if g[br, bc] + 1 < g[r, c]:
                    g[r, c] = g[br, bc] + 1


class UnionFind:
    def __init__(self, n):
        self.parent = list(range(n))
        self.rank = [0] * n
        self.components = n

    def find(self, x):
        while self.parent[x] != x:
            self.parent[x] = self.parent[self.parent[x]]
            x = self.parent[x]
        return x

    def union(self, x, y):
        rx, ry = self.find(x), self.find(y)
        if rx == ry:
            return False
        if self.rank[rx] < self.rank[ry]:
            rx, ry = ry, rx
        self.parent[ry] = rx
        if self.rank[rx] == self.rank[ry]:
            self.rank[rx] += 1
        self.components -= 1
        return True


def connected_components(edges):
    """How many components eight vertices have."""
    uf = UnionFind(8)
    for u, v in edges:
        uf.union(u, v)
    return uf.components


def find(parent, x):
    while parent[x] != x:
        x = parent[x]
    return x


def kruskal(edges, weights):
    """Weight of a spanning forest of six vertices; edges come sorted by weight."""
    parent = np.arange(6)
    total = 0
    for (u, v), w in zip(edges, weights):
        a, b = find(parent, u), find(parent, v)
        if a != b:
            parent[a] = b
            total += w
    return total


def prim(weights):
    n = len(weights)
    in_tree = [False] * n
    key = [float("inf")] * n
    key[0] = 0
    total = 0.0
    for _ in range(n):
        u = min((v for v in range(n) if not in_tree[v]), key=lambda v: key[v])
        in_tree[u] = True
        total += key[u]
        for v in range(n):
            if not in_tree[v] and weights[u][v] < key[v]:
                key[v] = weights[u][v]
    return total


def floyd_warshall(dist):
    n = len(dist)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i, k] + dist[k, j] < dist[i, j]:
                    dist[i, j] = dist[i, k] + dist[k, j]
    return dist


def bellman_ford(sources, targets, weights, start):
    """Distances, and whether there is a cycle of negative weight."""
    n = 5
    dist = [1e6] * n
    dist[start] = 0.0
    for _ in range(n - 1):
        changed = False
        for u, v, w in zip(sources, targets, weights):
            if dist[u] + w < dist[v]:
                dist[v] = dist[u] + w
                changed = True
        if not changed:
            break
    negative = any(dist[u] + w < dist[v] for u, v, w in zip(sources, targets, weights))
    return np.array(dist), negative


def topological_order(adjacency):
    """Kahn's algorithm; the order, or -1 where a cycle leaves none."""
    n = len(adjacency)
    indegree = [sum(adjacency[i][j] for i in range(n)) for j in range(n)]
    queue = deque(v for v in range(n) if indegree[v] == 0)
    order = np.full(n, -1)
    count = 0
    while queue:
        u = queue.popleft()
        order[count] = u
        count += 1
        for v in range(n):
            if adjacency[u][v]:
                indegree[v] -= 1
                if indegree[v] == 0:
                    queue.append(v)
    return order


def has_cycle(adjacency):
    """Depth-first search with three colors."""
    WHITE, GRAY, BLACK = 0, 1, 2
    n = len(adjacency)
    color = [WHITE] * n

    def visit(u):
        color[u] = GRAY
        for v in range(n):
            if adjacency[u][v]:
                if color[v] == GRAY:
                    return True
                if color[v] == WHITE and visit(v):
                    return True
        color[u] = BLACK
        return False

    return any(color[u] == WHITE and visit(u) for u in range(n))


def is_bipartite(adjacency):
    n = len(adjacency)
    side = np.zeros(n, dtype=int)
    for start in range(n):
        if side[start] != 0:
            continue
        side[start] = 1
        stack = [start]
        while stack:
            u = stack.pop()
            for v in range(n):
                if adjacency[u, v]:
                    if side[v] == 0:
                        side[v] = -side[u]
                        stack.append(v)
                    elif side[v] == side[u]:
                        return False
    return True


def lowest_common_ancestor(parent, a, b):
    """In a tree given by parents; the root is its own."""
    depth_a = depth_b = 0
    x = a
    while parent[x] != x:
        x = parent[x]
        depth_a += 1
    x = b
    while parent[x] != x:
        x = parent[x]
        depth_b += 1
    while depth_a > depth_b:
        a = parent[a]
        depth_a -= 1
    while depth_b > depth_a:
        b = parent[b]
        depth_b -= 1
    while a != b:
        a, b = parent[a], parent[b]
    return a


def tree_height(left, right, node):
    if node < 0:
        return 0
    return 1 + max(tree_height(left, right, left[node]), tree_height(left, right, right[node]))


def bst_search(keys, left, right, key):
    """How many nodes are visited before a key is found, or -1."""
    node, visited = 0, 0
    while node != -1:
        visited += 1
        if key == keys[node]:
            return visited
        node = left[node] if key < keys[node] else right[node]
    return -1


def maximum_flow(capacity, source, sink):
    """Ford and Fulkerson with depth-first search."""
    n = len(capacity)
    residual = capacity.copy()
    flow = 0

    def augment(u, visited, amount):
        if u == sink:
            return amount
        visited[u] = True
        for v in range(n):
            if not visited[v] and residual[u, v] > 0:
                pushed = augment(v, visited, min(amount, residual[u, v]))
                if pushed > 0:
                    residual[u, v] -= pushed
                    residual[v, u] += pushed
                    return pushed
        return 0

    while (pushed := augment(source, np.zeros(n, dtype=bool), 10**6)) > 0:
        flow += pushed
    return flow


_RNG = np.random.default_rng(23)
_COLORS = _RNG.integers(0, 2, (5, 4, 4))
_WALLS = np.array(
    [
        [[0, 0, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0], [0, 1, 1, 0]],
        [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        [[0, 0, 0, 1], [1, 1, 0, 1], [0, 0, 0, 1], [0, 1, 0, 0]],
    ]
)
_WEIGHTS = np.round(_RNG.uniform(1, 9, (4, 5, 5))) * (_RNG.random((4, 5, 5)) < 0.5)
_SYMMETRIC = np.maximum(_WEIGHTS, _WEIGHTS.transpose(0, 2, 1)) + np.where(np.eye(5) > 0, 0, 1)
_ADJACENT = (_RNG.random((5, 5, 5)) < 0.3) & (np.arange(5)[:, None] < np.arange(5))
_ADJACENT[3, 4, 0] = True
_ADJACENT[3, 0, 4] = True
_UNDIRECTED = _ADJACENT | _ADJACENT.transpose(0, 2, 1)
_CAPACITIES = np.where(_RNG.random((4, 5, 5)) < 0.6, _RNG.integers(1, 9, (4, 5, 5)), 0)
_EDGES = np.array(
    [
        [[0, 1], [2, 3], [4, 5], [6, 7], [0, 1]],
        [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]],
        [[0, 0], [1, 1], [2, 2], [3, 3], [4, 4]],
        [[7, 0], [0, 7], [1, 7], [2, 3], [3, 1]],
    ]
)
_LEFT = np.array([[1, 3, -1, -1, -1, -1], [-1, 2, -1, -1, -1, -1], [1, 2, 3, 4, 5, -1]])
_RIGHT = np.array([[2, 4, -1, -1, 5, -1], [1, -1, 3, 4, -1, -1], [-1, -1, -1, -1, -1, -1]])

PROGRAMS = [
    Program(flood_fill, (_COLORS, [0, 1, 2, 3, 0], [0, 2, 3, 0, 3], [2, 2, 0, 1, 5])),
    Program(flood_fill_recursive, (_COLORS, [0, 1, 2, 3, 0], [0, 2, 3, 0, 3], [2, 2, 0, 1, 5])),
    Program(count_islands, (_COLORS,)),
    Program(shortest_path_grid, (_WALLS,)),
    Program(dijkstra, (_WEIGHTS, [0, 1, 2, 3])),
    Program(dijkstra_heap, (_WEIGHTS, [0, 1, 2, 3], [4, 4, 0, 1])),
    Program(a_star, (_WALLS, [3, 3, 3, 3], [3, 2, 3, 0])),
    Program(a_star_arrays, (_WALLS, [3, 3, 3, 3], [3, 2, 3, 0])),
    Program(connected_components, (_EDGES,)),
    Program(
        kruskal, (np.minimum(_EDGES, 5), np.array([[1, 2, 3, 4, 5], [1, 1, 1, 9, 9], [1, 2, 3, 4, 5], [2, 3, 4, 5, 7]]))
    ),
    Program(prim, (_SYMMETRIC,)),
    Program(floyd_warshall, (np.where(_WEIGHTS > 0, _WEIGHTS, 99.0),)),
    Program(
        bellman_ford,
        (
            np.array([[0, 0, 1, 2, 3], [0, 1, 2, 3, 0], [4, 3, 2, 1, 0]]),
            np.array([[1, 2, 3, 3, 4], [1, 2, 0, 4, 4], [3, 2, 1, 0, 4]]),
            np.array([[4.0, 1, 1, 5, 3], [1.0, -3, 1, 2, 9], [1.0, 1, -1, 1, 1]]),
            [0, 0, 4],
        ),
    ),
    Program(topological_order, (_ADJACENT,)),
    Program(has_cycle, (_ADJACENT,)),
    Program(is_bipartite, (_UNDIRECTED,)),
    Program(
        lowest_common_ancestor,
        (np.array([[0, 0, 0, 1, 1, 2, 3], [0, 0, 1, 2, 3, 4, 5], [0, 0, 0, 0, 0, 0, 0]]), [6, 6, 1], [4, 2, 5]),
    ),
    Program(tree_height, (_LEFT, _RIGHT, [0, 0, 0])),
    Program(
        bst_search,
        (
            np.array([[8, 3, 10, 1, 6, 14, 4], [8, 3, 10, 1, 6, 14, 4], [5, 6, 7, 8, 9, 10, 11]]),
            np.array([[1, 3, -1, -1, 6, -1, -1], [1, 3, -1, -1, 6, -1, -1], [-1] * 7]),
            np.array([[2, 4, 5, -1, -1, -1, -1], [2, 4, 5, -1, -1, -1, -1], [1, 2, 3, 4, 5, 6, -1]]),
            [4, 14, 12],
        ),
    ),
    Program(maximum_flow, (_CAPACITIES, [0, 1, 0, 2], [4, 4, 3, 0])),
]
