"""Backtracking, puzzles and games between two."""

import enum
import math
from dataclasses import dataclass

import numpy as np

from programs.table import Program


def n_queens(n, row=0, columns=0, diagonals=0, antidiagonals=0):
    """How many ways, with bits for what is attacked."""
    if row == n:
        return 1
    count = 0
    free = ((1 << n) - 1) & ~(columns | diagonals | antidiagonals)
    while free:
        bit = free & -free
        free ^= bit
        count += n_queens(n, row + 1, columns | bit, (diagonals | bit) << 1, (antidiagonals | bit) >> 1)
    return count


def queens_first(n, start, size=6):
    """The first solution with the first queen in a given column, as columns row by row; -1 where there is none."""
    board = [-1] * size

    def safe(row, col):
        for r in range(row):
            if board[r] == col or abs(board[r] - col) == row - r:
                return False
        return True

    def place(row):
        if row == n:
            return True
        for col in range(n):
            if (row > 0 or col == start) and safe(row, col):
                board[row] = col
                if place(row + 1):
                    return True
                board[row] = -1
        return False

    place(0)
    return board


def subset_sum(numbers, target):
    """How many subsets have a sum."""

    def count(i, rest):
        if i == len(numbers):
            return 1 if rest == 0 else 0
        return count(i + 1, rest) + count(i + 1, rest - numbers[i])

    return count(0, target)


def hanoi_moves(n):
    if n == 0:
        return 0
    return hanoi_moves(n - 1) + 1 + hanoi_moves(n - 1)


def hanoi_state(n, moves):
    """On which peg each of four discs is after some moves."""
    pegs = [0, 0, 0, 0]
    left = moves

    def move(k, source, target, spare):
        nonlocal left
        if k == 0 or left == 0:
            return
        move(k - 1, source, spare, target)
        if left == 0:
            return
        pegs[k - 1] = target
        left -= 1
        move(k - 1, spare, target, source)

    move(n, 0, 2, 1)
    return pegs


def valid(board, row, col, digit):
    for i in range(4):
        if board[row, i] == digit or board[i, col] == digit:
            return False
    r0, c0 = row // 2 * 2, col // 2 * 2
    for r in range(r0, r0 + 2):
        for c in range(c0, c0 + 2):
            if board[r, c] == digit:
                return False
    return True


def solve(board, cell=0):
    if cell == 16:
        return True
    row, col = divmod(cell, 4)
    if board[row, col] != 0:
        return solve(board, cell + 1)
    for digit in range(1, 5):
        if valid(board, row, col, digit):
            board[row, col] = digit
            if solve(board, cell + 1):
                return True
            board[row, col] = 0
    return False


def sudoku(board):
    """Solves one of four by four in place."""
    if not solve(board):
        raise ValueError("no solution")
    return board


LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner(board):
    for a, b, c in LINES:
        if board[a] != 0 and board[a] == board[b] == board[c]:
            return board[a]
    return 0


def minimax(board, player):
    w = winner(board)
    if w != 0:
        return w
    if all(x != 0 for x in board):
        return 0
    best = -2 * player
    for move in range(9):
        if board[move] == 0:
            board[move] = player
            score = minimax(board, -player)
            board[move] = 0
            if player == 1:
                best = max(best, score)
            else:
                best = min(best, score)
    return best


def tic_tac_toe(board, player):
    """What the game is worth to the first player if both play well."""
    return minimax(board, player)


def alpha_beta(leaves, node, depth, alpha, beta, maximizing):
    """The value of a binary tree, and how many leaves were looked at."""
    if depth == 0:
        return leaves[node], 1
    looked = 0
    if maximizing:
        value = -1000
        for child in (2 * node, 2 * node + 1):
            v, n = alpha_beta(leaves, child, depth - 1, alpha, beta, False)
            looked += n
            value = max(value, v)
            alpha = max(alpha, value)
            if alpha >= beta:
                break
    else:
        value = 1000
        for child in (2 * node, 2 * node + 1):
            v, n = alpha_beta(leaves, child, depth - 1, alpha, beta, True)
            looked += n
            value = min(value, v)
            beta = min(beta, value)
            if alpha >= beta:
                break
    return value, looked


def pruned_tree(leaves):
    return alpha_beta(leaves, 0, 3, -math.inf, math.inf, True)


def nim_sum_move(piles):
    """Which pile to take from, and how much to leave; (-1, 0) in a lost position."""
    x = 0
    for p in piles:
        x ^= p
    if x == 0:
        return -1, 0
    for i, p in enumerate(piles):
        if p ^ x < p:
            return i, p ^ x
    raise AssertionError("unreachable")


def subtraction_game(n):
    """Whether the player to move wins who may take 1, 3 or 4."""
    wins = [False] * 60
    for k in range(1, n + 1):
        wins[k] = any(k >= take and not wins[k - take] for take in (1, 3, 4))
    return wins[n]


def mex(values):
    m = 0
    while m in values:
        m += 1
    return m


def grundy(n):
    """The Grundy number of Kayles."""
    table = np.zeros(16, dtype=int)
    for k in range(1, n + 1):
        reachable = np.full(40, -1)
        count = 0
        for i in range(k):
            reachable[count] = table[i] ^ table[k - 1 - i]
            count += 1
        for i in range(k - 1):
            reachable[count] = table[i] ^ table[k - 2 - i]
            count += 1
        table[k] = mex(reachable)
    return int(table[n])


def connect_four_wins(board, player):
    """Whether a player has four in a row."""
    rows, cols = board.shape
    for r in range(rows):
        for c in range(cols):
            for dr, dc in ((0, 1), (1, 0), (1, 1), (1, -1)):
                end_r, end_c = r + 3 * dr, c + 3 * dc
                if end_r < rows and 0 <= end_c < cols:
                    if all(board[r + k * dr, c + k * dc] == player for k in range(4)):
                        return True
    return False


def connect_four_drop(columns):
    """Drops stones in turn; who wins at which move, or nobody."""
    board = np.zeros((6, 7), dtype=int)
    heights = [0] * 7
    player = 1
    for turn, col in enumerate(columns):
        if heights[col] == 6:
            raise ValueError(f"column {col} is full")
        board[heights[col], col] = player
        heights[col] += 1
        if connect_four_wins(board, player):
            return player, turn
        player = 3 - player
    return 0, len(columns)


def life_steps(grid, most=20):
    """Generations of Conway's game until nothing changes or all are dead."""
    n, m = grid.shape
    for generation in range(most):
        new = np.zeros_like(grid)
        for i in range(n):
            for j in range(m):
                neighbors = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di == 0 and dj == 0:
                            continue
                        neighbors += grid[(i + di) % n, (j + dj) % m]
                if grid[i, j] == 1:
                    new[i, j] = 1 if neighbors in (2, 3) else 0
                elif neighbors == 3:
                    new[i, j] = 1
        if np.array_equal(new, grid):
            return generation
        grid = new
    return most


class Heading(enum.IntEnum):
    NORTH = 0
    EAST = 1
    SOUTH = 2
    WEST = 3


def langtons_ant(steps, size):
    """How many cells are black after some steps."""
    board = np.zeros((size, size), dtype=int)
    r = c = size // 2
    heading = Heading.NORTH
    for _ in range(steps):
        if board[r, c] == 0:
            heading = (heading + 1) % 4
            board[r, c] = 1
        else:
            heading = (heading - 1) % 4
            board[r, c] = 0
        if heading == Heading.NORTH:
            r -= 1
        elif heading == Heading.EAST:
            c += 1
        elif heading == Heading.SOUTH:
            r += 1
        else:
            c -= 1
        r, c = r % size, c % size
    return int(board.sum())


@dataclass
class Score:
    frame: int = 0
    total: int = 0


def bowling(rolls):
    score = Score()
    i = 0
    while score.frame < 10:
        if rolls[i] == 10:
            score.total += 10 + rolls[i + 1] + rolls[i + 2]
            i += 1
        elif rolls[i] + rolls[i + 1] == 10:
            score.total += 10 + rolls[i + 2]
            i += 2
        else:
            score.total += rolls[i] + rolls[i + 1]
            i += 2
        score.frame += 1
    return score.total


def knights_distance(x, y):
    """Moves of a knight from the corner of a small board, breadth first."""
    moves = [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)]
    distance = np.full((6, 6), -1)
    distance[0, 0] = 0
    frontier = [(0, 0)]
    while frontier:
        a, b = frontier.pop(0)
        if a == x and b == y:
            break
        for da, db in moves:
            u, v = a + da, b + db
            if 0 <= u < 6 and 0 <= v < 6 and distance[u, v] < 0:
                distance[u, v] = distance[a, b] + 1
                frontier.append((u, v))
    return distance[x, y]


def mastermind_score(secret, guess):
    """Black and white pegs."""
    black = 0
    secret_left = [0] * 6
    guess_left = [0] * 6
    for s, g in zip(secret, guess):
        if s == g:
            black += 1
        else:
            secret_left[s] += 1
            guess_left[g] += 1
    white = sum(min(a, b) for a, b in zip(secret_left, guess_left))
    return black, white


_RNG = np.random.default_rng(31)
_GRIDS = np.zeros((4, 5, 5), int)
_GRIDS[0, 2, 1:4] = 1
_GRIDS[1, 1:3, 1:3] = 1
_GRIDS[2] = _RNG.integers(0, 2, (5, 5))
_GRIDS[3, 0, 0] = 1
_BOARDS = np.array(
    [
        [1, -1, 1, -1, 1, -1, 0, 0, 0],
        [1, 1, 0, -1, -1, 0, 0, 0, 0],
        [1, 0, -1, 0, -1, 0, 1, 0, 0],
        [1, -1, 1, 1, -1, -1, -1, 1, 1],
    ]
)

PROGRAMS = [
    Program(n_queens, ([1, 2, 4, 5, 6],)),
    Program(queens_first, ([4, 4, 5, 6], [0, 1, 2, 1])),
    Program(subset_sum, (np.array([[1, 2, 3, 4, 5], [2, 2, 2, 2, 2], [1, 5, 6, 11, 0]]), [5, 4, 11])),
    Program(hanoi_moves, ([0, 1, 3, 5],)),
    Program(hanoi_state, ([4, 4, 3, 2], [3, 9, 5, 100])),
    Program(
        sudoku,
        (
            np.array(
                [
                    [[1, 0, 0, 0], [0, 0, 3, 0], [0, 4, 0, 0], [0, 0, 0, 2]],
                    [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
                    [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 0]],
                    [[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
                ]
            ),
        ),
        raises=ValueError,
    ),
    Program(tic_tac_toe, (_BOARDS, [1, 1, -1, 1])),
    Program(pruned_tree, (np.array([[3, 5, 6, 9, 1, 2, 0, -1], [1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1]]),)),
    Program(nim_sum_move, (np.array([[3, 4, 5], [1, 2, 3], [7, 0, 0], [2, 2, 5]]),)),
    Program(subtraction_game, ([1, 2, 7, 10, 59],)),
    Program(grundy, ([0, 1, 4, 7, 9],)),
    Program(
        connect_four_wins,
        (np.stack([np.eye(6, 7, dtype=int), np.zeros((6, 7), int), np.ones((6, 7), int) * 2]), [1, 1, 2]),
    ),
    Program(
        connect_four_drop,
        (np.array([[0, 1, 0, 1, 0, 1, 0, 1], [0, 1, 2, 3, 4, 5, 6, 0], [3, 3, 4, 4, 5, 5, 6, 0], [1] * 8]),),
        raises=ValueError,
    ),
    Program(life_steps, (_GRIDS,)),
    Program(langtons_ant, ([0, 5, 20, 60],), {"size": 8}),
    Program(
        bowling,
        (np.array([[10] * 12 + [0] * 9, [9, 1] * 10 + [9], [3, 4] * 10 + [0], [10, 7, 3, 9, 0] + [1] * 14 + [0, 0]]),),
    ),
    Program(knights_distance, ([0, 1, 5, 3], [0, 1, 5, 4])),
    Program(
        mastermind_score,
        (np.array([[1, 2, 3, 4], [0, 0, 1, 1], [5, 4, 3, 2]]), np.array([[4, 2, 1, 1], [1, 1, 0, 0], [5, 4, 3, 2]])),
    ),
]
