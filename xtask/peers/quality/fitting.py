"""What the peers share: scaled rows, penalised read-outs, greedy choice of terms, cross-validation."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold

CAPS = (32, 64, 128, 256)
# Sizes that settings aim at: the caps, and sizes between them where a smaller model is better.
LEVELS = (16, 24, 32, 48, 64, 96, 128, 192, 256)
SMALLEST_PROBABILITY = 1e-6
FOLDS = 5
# Rows from which on terms are chosen on a sample, and the grids are coarser.
MANY_ROWS = 2000
CHOICE_ROWS = 1500
# Functions that may be multiplied by another.
MOST_PARENTS = 32


class Data:
    """Training rows with inputs, and a numerical target, scaled to mean 0 and variance 1."""

    def __init__(self, x, y, classes):
        self.mean, self.sd = x.mean(0), x.std(0)
        self.sd[self.sd < 1e-12] = 1.0
        self.x = self.standardise(x)
        self.classes = classes
        # Numbers that one feature adds to a linear read-out.
        self.outputs = classes if classes > 2 else 1
        self.offset, self.scale = (0.0, 1.0) if classes else (y.mean(), y.std() or 1.0)
        self.y = y if classes else (y - self.offset) / self.scale
        self.rows, self.inputs = x.shape

    def standardise(self, x):
        return (x - self.mean) / self.sd

    def responses(self):
        """Centred columns for least squares: the target, or one indicator for each class."""
        y = np.eye(self.classes)[self.y] if self.classes else self.y[:, None]
        return y - y.mean(0)

    def predict(self, fit, x):
        """Predictions in the target's units, or probabilities."""
        return fit.predict(self.standardise(x)) * self.scale + self.offset


@dataclass
class Fit:
    """A fitted setting. `bound` is what the setting may need, `count` what this fit stores."""

    key: str
    bound: int
    count: int
    predict: Callable


def error(y, predicted, classes):
    """Mean squared error, or mean negative log-probability of the true class."""
    if not classes:
        return float(np.mean((y - predicted) ** 2))
    return float(-np.log(np.maximum(predicted[np.arange(len(y)), y], SMALLEST_PROBABILITY)).mean())


def calibration_error(y, probabilities, bins=10):
    """Expected calibration error of the most probable class, in bins of equal width."""
    confidence, right = probabilities.max(1), probabilities.argmax(1) == y
    which = np.minimum((confidence * bins).astype(int), bins - 1)
    return float(sum(abs((right[which == b] - confidence[which == b]).sum()) for b in range(bins)) / len(y))


def penalties(data):
    """Penalties of a squared norm, for each row."""
    if not data.classes:
        return (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    return (1e-5, 1e-3) if data.rows > MANY_ROWS else (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def readouts(data, features, wanted=lambda penalty: True):
    """Ridge or logistic regression on scaled features: (penalty, function of features) for each penalty."""
    mean, sd = features.mean(0), features.std(0)
    sd = np.where(sd < 1e-12, 1.0, sd)
    z = (features - mean) / sd
    chosen = [penalty for penalty in penalties(data) if wanted(penalty)]
    if not data.classes:
        gram, moments = z.T @ z / data.rows, z.T @ data.y / data.rows
        for penalty in chosen:
            w = np.linalg.solve(gram + penalty * np.eye(len(gram)), moments)
            yield penalty, lambda f, w=w: (f - mean) / sd @ w
        return
    for penalty in chosen:
        # Newton's steps where the Hessian is small, else limited-memory quasi-Newton.
        solver = "newton-cholesky" if data.outputs * (z.shape[1] + 1) <= 300 else "lbfgs"
        model = LogisticRegression(C=1 / (penalty * data.rows), solver=solver, max_iter=300, tol=1e-4)
        model.fit(z, data.y)
        yield penalty, lambda f, model=model: model.predict_proba((f - mean) / sd)


def forward(columns, knots, targets, outputs, most, stop, degree):
    """Forward selection of columns, and with degree 2 of products of two columns, one of them met before.

    `columns` are the candidates, `knots[c]` the pair (input, knot) of column c, None for no knot. Returns terms,
    tuples of column numbers, when `stop(terms)` or nothing is gained. Each step takes the largest gain for each
    number that has to be stored. The gain of a candidate h given an orthonormal basis Q of what is chosen is
    (r h)^2 / (|h|^2 - |Q'h|^2), r the residual; for products b h, r (b h) = (r b) h.
    """
    n = len(columns)
    variables = np.array([variable for variable, _ in knots])
    new_knot = np.array([knot is not None for _, knot in knots])
    square = columns**2
    factors, parents = [np.ones(n)], [()]
    size = square.sum(0)[None]
    free = size - columns.sum(0)[None] ** 2 / n
    basis = [np.full(n, n**-0.5)]
    # A sample of rows has a mean of its own.
    residual = targets - targets.mean(0)
    terms = []
    while len(terms) < most and not stop(terms):
        stacked = np.stack([(residual * f[:, None]).T for f in factors])
        gain = ((stacked.reshape(-1, n) @ columns).reshape(len(factors), -1, columns.shape[1]) ** 2).sum(1)
        gain = np.where(free > 1e-8 * size, gain / np.maximum(free, 1e-300), -1.0)
        parent, c = np.unravel_index((gain / (outputs + new_knot)).argmax(), gain.shape)
        if gain[parent, c] <= 1e-10 * (targets**2).sum():
            break
        q = factors[parent] * columns[:, c]
        for _ in range(2):
            for b in basis:
                q -= b * (b @ q)
        q /= np.linalg.norm(q)
        residual -= np.outer(q, q @ residual)
        free = free - (np.stack([q * f for f in factors]) @ columns) ** 2
        free[parent, c] = 0.0
        basis.append(q)
        terms.append((*parents[parent], int(c)))
        new_knot &= np.array([knot != knots[c] for knot in knots])
        if degree > 1 and (int(c),) not in parents and len(parents) < MOST_PARENTS:
            factors.append(columns[:, c])
            parents.append((int(c),))
            product = square[:, c] @ square
            left = product - (((np.stack(basis) * columns[:, c]) @ columns) ** 2).sum(0)
            left[variables == variables[c]] = 0.0
            free, size = np.vstack([free, left]), np.vstack([size, product])
    return terms


def backward(features, targets, terms, count, levels):
    """Drops the least useful term again and again: {level: the largest set of terms met that needs no more}."""
    z = features - features.mean(0)
    inverse = np.linalg.inv(z.T @ z + 1e-8 * np.diag((z**2).sum(0) + 1e-12))
    weights = inverse @ (z.T @ targets)
    alive = list(range(len(terms)))
    found = {}
    while alive:
        size = count([terms[i] for i in alive])
        for level in levels:
            if size <= level and level not in found:
                found[level] = list(alive)
        if len(found) == len(levels):
            break
        drop = int(((weights**2).sum(1) / np.diag(inverse)).argmin())
        keep = np.arange(len(alive)) != drop
        pivot, direction = inverse[drop, drop], inverse[keep, drop]
        weights = weights[keep] - np.outer(direction, weights[drop]) / pivot
        inverse = inverse[np.ix_(keep, keep)] - np.outer(direction, direction) / pivot
        del alive[drop]
    return found


def selected(data, name, columns, knots, evaluate, count, degree, wanted):
    """Terms chosen forward on (a sample of) the rows, pruned backward, read out: the fits of a family of terms.

    `evaluate(x, terms)` are the terms' features, `count(terms)` the numbers they need with their read-out.
    """
    if not any(wanted(f"{name} level={level} {penalty:g}") for level in LEVELS for penalty in penalties(data)):
        return
    targets = data.responses()
    rows = np.random.default_rng(0).permutation(data.rows)[:CHOICE_ROWS]
    most = max(1, len(rows) // 4)
    enough = 1.25 * LEVELS[-1]
    terms = forward(columns[rows], knots, targets[rows], data.outputs, most, lambda t: count(t) >= enough, degree)
    if not terms:
        return
    found = backward(evaluate(data.x, terms), targets, terms, count, LEVELS)
    seen = set()
    for level, alive in sorted(found.items()):
        if tuple(alive) in seen:
            continue
        seen.add(tuple(alive))
        kept = [terms[i] for i in alive]
        read = readouts(data, evaluate(data.x, kept), lambda p, level=level: wanted(f"{name} level={level} {p:g}"))
        for penalty, out in read:
            yield Fit(
                f"{name} level={level} {penalty:g}",
                level,
                count(kept),
                lambda x, kept=kept, out=out: out(evaluate(x, kept)),
            )


def folds(y, classes, seed):
    if classes:
        return list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y))
    return list(KFold(FOLDS, shuffle=True, random_state=seed).split(y))


def best_settings(peer, train, test, classes, caps, seed):
    """For each cap the setting with the least cross-validated error, fitted on all training rows.

    `train` and `test` are (inputs, target); `peer(data, wanted)` yields fits of settings that are wanted. A cap of
    None is no cap. Returns {cap: count, setting, cv, test, seconds}; a cap that nothing fits is absent.
    """
    start = time.process_time()
    (x, y), (x_test, y_test) = train, test
    errors, bounds = {}, {}
    for fit_rows, rows in folds(y, classes, seed):
        data = Data(x[fit_rows], y[fit_rows], classes)
        for fit in peer(data, lambda key: True):
            errors.setdefault(fit.key, []).append(error(y[rows], data.predict(fit, x[rows]), classes))
            bounds[fit.key] = max(fit.bound, bounds.get(fit.key, 0))
    cv = {key: float(np.mean(values)) for key, values in errors.items() if len(values) == FOLDS}
    cv = {key: value if np.isfinite(value) else np.inf for key, value in cv.items()}
    ranked = sorted(cv, key=cv.get)
    data = Data(x, y, classes)
    # A level that a fold reached may be missing with all rows: then the next setting.
    chosen, fits = {}, {}
    for cap in caps:
        for key in (key for key in ranked if cap is None or bounds[key] <= cap):
            if key not in fits:
                fits.update({fit.key: fit for fit in peer(data, lambda k, key=key: k == key)})
            if key in fits:
                chosen[cap] = fits[key]
                break
    seconds = time.process_time() - start
    results = {}
    for cap, fit in chosen.items():
        predicted = data.predict(fit, x_test)
        result = {
            "count": fit.count,
            "setting": fit.key,
            "cv": cv[fit.key],
            "test": error(y_test, predicted, classes),
        }
        if classes:
            result["ece"] = calibration_error(y_test, predicted)
        results[cap] = {**result, "seconds": seconds}
    return results
