"""Learning from data, one small data set at a time."""

import math

import numpy as np

from programs.table import Program


def perceptron(X, y, max_epochs=50):
    """Weights, and the epochs until nothing is misclassified."""
    w = np.zeros(X.shape[1])
    b = 0.0
    for epoch in range(max_epochs):
        errors = 0
        for xi, yi in zip(X, y):
            if yi * (np.dot(w, xi) + b) <= 0:
                w += yi * xi
                b += yi
                errors += 1
        if errors == 0:
            return w, b, epoch
    return w, b, max_epochs


def kmeans(points, centers, max_iter=20):
    """Lloyd's algorithm for two centers; where they end and after how many rounds."""
    for iteration in range(max_iter):
        sums = np.zeros_like(centers)
        counts = np.zeros(len(centers))
        for p in points:
            distances = [np.sum((p - c) ** 2) for c in centers]
            k = int(np.argmin(distances))
            sums[k] += p
            counts[k] += 1
        new = centers.copy()
        for k in range(len(centers)):
            if counts[k] > 0:
                new[k] = sums[k] / counts[k]
        if np.allclose(new, centers):
            break
        centers = new
    return centers, iteration


def kmeans_1d(xs, a, b):
    """In one dimension with vector operations."""
    while True:
        near_a = np.abs(xs - a) <= np.abs(xs - b)
        new_a = np.where(near_a, xs, 0).sum() / max(near_a.sum(), 1)
        new_b = np.where(near_a, 0, xs).sum() / max((~near_a).sum(), 1)
        if abs(new_a - a) + abs(new_b - b) < 1e-6:
            return new_a, new_b
        a, b = new_a, new_b


TREE = {
    "feature": [0, 1, -1, 2, -1, -1, -1],
    "threshold": [0.5, 0.3, 0.0, 0.7, 0.0, 0.0, 0.0],
    "left": [1, 2, -1, 4, -1, -1, -1],
    "right": [3, 6, -1, 5, -1, -1, -1],
    "value": [0.0, 0.0, 1.0, 0.0, 2.0, 3.0, 4.0],
}


def decision_tree(x):
    node = 0
    while TREE["feature"][node] >= 0:
        if x[TREE["feature"][node]] <= TREE["threshold"][node]:
            node = TREE["left"][node]
        else:
            node = TREE["right"][node]
    return TREE["value"][node]


def decision_tree_arrays(x, feature, threshold, left, right):
    """Depth and leaf, of a tree in arrays."""
    node = depth = 0
    while left[node] != -1:
        node = left[node] if x[feature[node]] <= threshold[node] else right[node]
        depth += 1
    return node, depth


def hmm_forward(initial, transition, emission, observations):
    """The log of the probability of what was observed."""
    n = len(initial)
    alpha = initial * emission[:, observations[0]]
    loglik = 0.0
    for obs in observations[1:]:
        scale = alpha.sum()
        loglik += math.log(scale)
        alpha = alpha / scale
        new = np.zeros(n)
        for j in range(n):
            for i in range(n):
                new[j] += alpha[i] * transition[i, j]
            new[j] *= emission[j, obs]
        alpha = new
    return loglik + math.log(alpha.sum())


def viterbi(initial, transition, emission, observations):
    n, T = len(initial), len(observations)
    score = np.zeros((T, n))
    back = np.zeros((T, n), dtype=int)
    score[0] = np.log(initial) + np.log(emission[:, observations[0]])
    for t in range(1, T):
        for j in range(n):
            candidates = score[t - 1] + np.log(transition[:, j])
            back[t, j] = np.argmax(candidates)
            score[t, j] = candidates[back[t, j]] + np.log(emission[j, observations[t]])
    path = [0] * T
    path[-1] = int(np.argmax(score[-1]))
    for t in range(T - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path


def sigmoid(z):
    if z >= 0:
        return 1 / (1 + math.exp(-z))
    e = math.exp(z)
    return e / (1 + e)


def logistic_newton(x, y):
    """Slope and intercept by Newton's method, and the rounds it took."""
    w = b = 0.0
    for it in range(25):
        gw = gb = hww = hwb = hbb = 0.0
        for xi, yi in zip(x, y):
            p = sigmoid(w * xi + b)
            gw += (p - yi) * xi
            gb += p - yi
            s = p * (1 - p)
            hww += s * xi * xi
            hwb += s * xi
            hbb += s
        hww += 1e-2
        hbb += 1e-2
        gw += 1e-2 * w
        gb += 1e-2 * b
        det = hww * hbb - hwb * hwb
        dw = (hbb * gw - hwb * gb) / det
        db = (hww * gb - hwb * gw) / det
        w -= dw
        b -= db
        if max(abs(dw), abs(db)) < 1e-6:
            break
    return w, b, it


def lasso_coordinate_descent(X, y, lam):
    n, d = X.shape
    w = np.zeros(d)

    def soft(a, t):
        if a > t:
            return a - t
        if a < -t:
            return a + t
        return 0.0

    for sweep in range(100):
        biggest = 0.0
        for j in range(d):
            residual = y - X @ w + X[:, j] * w[j]
            new = soft(X[:, j] @ residual, lam) / (X[:, j] @ X[:, j])
            biggest = max(biggest, abs(new - w[j]))
            w[j] = new
        if biggest < 1e-5:
            break
    return w


def k_nearest(X, labels, query, k):
    """The label that most of the nearest points have."""
    d = np.sum((X - query) ** 2, axis=1)
    order = np.argsort(d)
    votes = [0, 0, 0]
    for i in range(len(order)):
        if i >= k:
            break
        votes[labels[order[i]]] += 1
    return votes.index(max(votes))


def adam(start, rate, steps):
    """The least value found of a bowl."""
    x = start
    m = v = 0.0
    best = float("inf")
    for t in range(1, steps + 1):
        g = 2 * (x - 3) + math.sin(5 * x)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        x -= rate * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
        value = (x - 3) ** 2 - math.cos(5 * x) / 5
        if value < best:
            best = value
    return best


def online_variance(xs):
    """Welford's method, skipping what is missing."""
    n, mean, M2 = 0, 0.0, 0.0
    for x in xs:
        if math.isnan(x):
            continue
        n += 1
        delta = x - mean
        mean += delta / n
        M2 += delta * (x - mean)
    return mean, M2 / (n - 1) if n > 1 else 0.0


def gaussian_mixture(xs, mu0, mu1, max_iter=30):
    """Means by expectation and maximization."""
    mu = [mu0, mu1]
    for _ in range(max_iter):
        weight = [0.0, 0.0]
        total = [0.0, 0.0]
        for x in xs:
            a, b = (math.exp(-0.5 * (x - m) ** 2) for m in mu)
            r = a / (a + b)
            weight[0] += r
            weight[1] += 1 - r
            total[0] += r * x
            total[1] += (1 - r) * x
        new = [t / w for t, w in zip(total, weight)]
        if max(abs(p - q) for p, q in zip(new, mu)) < 1e-5:
            return new
        mu = new
    return mu


class Node:
    def __init__(self, weights, bias):
        self.weights = weights
        self.bias = bias

    def __call__(self, inputs):
        z = sum(w * x for w, x in zip(self.weights, inputs)) + self.bias
        return max(0.0, z)


def relu_network(x, y):
    """A network of two layers that knows exclusive or."""
    hidden = [Node([1, 1], 0), Node([1, 1], -1)]
    out = Node([1, -2], 0)
    value = out([h([x, y]) for h in hidden])
    return 1 if value > 0.5 else 0


def bandit(rewards, epsilon_inverse):
    """A greedy player that tries another arm every so often; how often the best arm was played."""
    arms = rewards.shape[0]
    counts = [0] * arms
    estimates = [0.0] * arms
    best = np.argmax(rewards.mean(axis=1))
    played_best = 0
    for t in range(rewards.shape[1]):
        if t % epsilon_inverse == 0:
            arm = t // epsilon_inverse % arms
        else:
            arm = estimates.index(max(estimates))
        counts[arm] += 1
        estimates[arm] += (rewards[arm, t] - estimates[arm]) / counts[arm]
        if arm == best:
            played_best += 1
    return played_best


def regression_stump(x, y):
    """Where to split, and the error left."""
    best_error, best_threshold = np.inf, 0.0
    for threshold in x:
        left = x <= threshold
        if left.all() or not left.any():
            continue
        a = np.mean(y, where=left)
        b = np.mean(y, where=~left)
        error = np.sum((y - np.where(left, a, b)) ** 2)
        if error < best_error:
            best_error, best_threshold = error, threshold
    return best_threshold, best_error


def early_stopping(losses, patience):
    best, best_epoch = math.inf, -1
    for epoch, loss in enumerate(losses):
        if loss < best - 1e-6:
            best, best_epoch = loss, epoch
        elif epoch - best_epoch >= patience:
            return epoch, best
    return len(losses), best


_RNG = np.random.default_rng(53)
_X = np.round(_RNG.standard_normal((4, 8, 2)), 2)
_Y = np.where(_X @ np.array([1.0, -2.0]) + np.array([0.0, 0.3, -0.5, 0.1])[:, None] > 0, 1, -1)
_CLUSTERS = np.concatenate([_RNG.normal(0, 0.5, (4, 5, 2)), _RNG.normal(2, 0.8, (4, 5, 2))], axis=1)
_INITIAL = np.array([[0.6, 0.4], [0.5, 0.5], [0.9, 0.1]])
_TRANSITION = np.array([[[0.7, 0.3], [0.4, 0.6]], [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]])
_EMISSION = np.array([[[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]] * 3)
_OBSERVED = np.array([[0, 1, 2, 2], [2, 2, 0, 0], [1, 0, 1, 2]])
_SERIES = np.array([[1.0, 2.0, math.nan, 4.0], [math.nan] * 3 + [7.0], [0.5, 0.5, 0.5, 0.5], [-1.0, 1.0, -1.0, 1.0]])

PROGRAMS = [
    Program(perceptron, (_X, _Y), rtol=1e-4),
    Program(kmeans, (_CLUSTERS, _CLUSTERS[:, [0, 7]]), rtol=1e-4),
    Program(kmeans_1d, (_CLUSTERS[:, :, 0], [0.0, -1.0, 1.0, 0.5], [1.0, 3.0, 1.5, 2.0]), rtol=1e-4),
    Program(decision_tree, (np.array([[0.1, 0.2, 0.3], [0.9, 0.2, 0.3], [0.9, 0.1, 0.9], [0.3, 0.6, 0.0]]),)),
    Program(
        decision_tree_arrays,
        (
            np.array([[0.1, 0.2], [0.9, 0.2], [0.5, 0.9], [0.3, 0.6]]),
            np.array([[0, 1, 0, 0, 0]] * 4),
            np.array([[0.5, 0.5, 0.0, 0.0, 0.0], [0.5, 0.1, 0, 0, 0], [0.5, 0.95, 0, 0, 0], [0.1, 0.5, 0, 0, 0]]),
            np.array([[1, 3, -1, -1, -1]] * 4),
            np.array([[2, 4, -1, -1, -1]] * 4),
        ),
    ),
    Program(hmm_forward, (_INITIAL, _TRANSITION, _EMISSION, _OBSERVED)),
    Program(viterbi, (_INITIAL, _TRANSITION, _EMISSION, _OBSERVED)),
    Program(logistic_newton, (_X[:, :, 0], (_Y > 0).astype(float)), x64=True),
    Program(lasso_coordinate_descent, (_X, _Y.astype(float), [0.1, 1.0, 3.0, 0.5]), rtol=1e-3),
    Program(k_nearest, (_X, (_Y > 0) + (_X[:, :, 1] > 0.5) * 1, _X[:, 0] + 0.3, [1, 3, 5, 2])),
    Program(adam, ([0.0, 5.0, 3.0, -2.0], [0.1, 0.5, 0.01, 1.0], [10, 20, 5, 30]), rtol=1e-3),
    Program(online_variance, (_SERIES,)),
    Program(gaussian_mixture, (_CLUSTERS[:, :, 1], [0.0, -1.0, 1.0, 0.5], [1.0, 3.0, 1.5, 2.0]), rtol=1e-3),
    Program(relu_network, ([0, 0, 1, 1], [0, 1, 0, 1])),
    Program(bandit, (_RNG.random((4, 3, 12)), [2, 3, 4, 5])),
    Program(regression_stump, (_X[:, :, 0], _X[:, :, 1]), rtol=1e-4),
    Program(
        early_stopping,
        (
            np.array([[5.0, 4.0, 3.0, 3.5, 3.6, 3.7], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]]),
            [2, 1, 3],
        ),
    ),
]
