"""What engineers store instead: lookup tables, polynomials, and a network of scikit-learn; each the best for its bytes."""

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

# Bytes of an entry of a table, of which 65,536 steps are enough, and of a coefficient.
ENTRY, FLOAT = 2, 4
STARTS = 5


@dataclass
class Peer:
    """A fitted function with what it stores and what a prediction costs."""

    name: str
    detail: str
    bytes: int
    multiply_adds: int
    predict: Callable


def rms(y, predicted):
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def in_box(box, x):
    """Inputs in [0, 1]."""
    low, high = np.array(box).T
    return (x - low) / (high - low)


def table_matrix(u, grid):
    """The weight of every node in a multilinear table, row by row."""
    weights = np.ones((len(u), 1))
    for column, nodes in zip(u.T, grid, strict=True):
        place = column * (nodes - 1)
        cell = np.minimum(place.astype(int), nodes - 2)
        own = np.zeros((len(u), nodes))
        rows = np.arange(len(u))
        own[rows, cell] = 1 - (place - cell)
        own[rows, cell + 1] = place - cell
        weights = (weights[:, :, None] * own[:, None, :]).reshape(len(u), -1)
    return weights


def grids(inputs, entries):
    """Grids that cannot grow in one direction without exceeding so many entries."""
    most = entries // 2 ** (inputs - 1)
    for grid in itertools.product(range(2, most + 1), repeat=inputs):
        size = math.prod(grid)
        if size <= entries and all(size // n * (n + 1) > entries for n in grid):
            yield grid


def table(box, x, y, stored):
    """A multilinear table with the least squares values on the grid that suits the rows best."""
    u = in_box(box, x)
    best = None
    for grid in grids(x.shape[1], stored // ENTRY):
        matrix = table_matrix(u, grid)
        values = np.linalg.lstsq(matrix, y, rcond=None)[0]
        error = rms(y, matrix @ values)
        if best is None or error < best[0]:
            best = (error, grid, values)
    _, grid, values = best
    low, high = values.min(), values.max()
    step = (high - low) / 65535
    values = low + step * np.round((values - low) / step)
    return Peer(
        "lookup table",
        " × ".join(map(str, grid)),
        ENTRY * len(values),
        2 ** x.shape[1] * x.shape[1],
        lambda new: table_matrix(in_box(box, new), grid) @ values,
    )


def powers(inputs, degree):
    return [p for p in itertools.product(range(degree + 1), repeat=inputs) if sum(p) <= degree]


def polynomial_matrix(u, degree):
    """Products of Chebyshev polynomials up to a total degree: the same functions as products of powers, computed better."""
    each = [np.polynomial.chebyshev.chebvander(2 * column - 1, degree) for column in u.T]
    return np.stack([math.prod(v[:, k] for v, k in zip(each, p, strict=True)) for p in powers(u.shape[1], degree)], axis=1)


def polynomial(box, x, y, stored):
    """The least squares polynomial of the total degree that suits the rows best."""
    u = in_box(box, x)
    best = None
    for degree in itertools.count(1):
        if FLOAT * len(powers(x.shape[1], degree)) > stored:
            break
        matrix = polynomial_matrix(u, degree)
        c = np.linalg.lstsq(matrix, y, rcond=None)[0].astype(np.float32).astype(float)
        error = rms(y, matrix @ c)
        if best is None or error < best[0]:
            best = (error, degree, c)
    _, degree, c = best
    return Peer(
        "polynomial", f"degree {degree}", FLOAT * len(c), 2 * len(c), lambda new: polynomial_matrix(in_box(box, new), degree) @ c
    )


def network(box, x, y, stored):
    """One hidden layer of tanh units, the best of some starts."""
    inputs = x.shape[1]
    hidden = (stored // FLOAT - 1) // (inputs + 2)
    centre, scale = y.mean(), y.std()
    u = 4 * in_box(box, x) - 2
    best = None
    for seed in range(STARTS):
        fit = MLPRegressor(
            hidden_layer_sizes=(hidden,), activation="tanh", solver="lbfgs", alpha=0.0, tol=1e-12, max_iter=3000, max_fun=30000, random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit.fit(u, (y - centre) / scale)
        error = rms((y - centre) / scale, fit.predict(u))
        if best is None or error < best[0]:
            best = (error, fit)
    _, fit = best
    fit.coefs_ = [c.astype(np.float32).astype(float) for c in fit.coefs_]
    fit.intercepts_ = [c.astype(np.float32).astype(float) for c in fit.intercepts_]
    return Peer(
        "scikit-learn MLP",
        f"{hidden} tanh units",
        FLOAT * (hidden * (inputs + 2) + 1),
        hidden * (inputs + 1),
        lambda new: centre + scale * fit.predict(4 * in_box(box, new) - 2),
    )


PEERS = (table, polynomial, network)
