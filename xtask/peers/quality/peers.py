"""The peers. Each yields fits of its settings; cross-validation chooses among those that fit the cap.

Counts are of numbers that a stored model needs for prediction beyond the scaling of inputs and target:
coefficients, knots, centres, widths, thresholds, leaf values. Which input or term a number belongs to is not
counted.
"""

import itertools

import numpy as np
from fitting import CAPS, LEVELS, MANY_ROWS, Fit, penalties, readouts, selected
from scipy.interpolate import CubicSpline
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import PolynomialFeatures

# Penalties of the coefficients that an L1 penalty left.
SPARSE_PENALTIES = (1e-2, 1e-3, 1e-4)


def constant(data, wanted):
    """The mean, or the shares of the classes."""
    if wanted("constant"):
        shares = np.bincount(data.y, minlength=data.classes) / data.rows if data.classes else 0.0
        yield Fit("constant", data.outputs, data.outputs, lambda x: np.zeros((len(x), *np.shape(shares))) + shares)


def linear_no_cap(data, wanted):
    """Ridge or logistic regression on all inputs."""
    count = data.outputs * (data.inputs + 1)
    for penalty, out in readouts(data, data.x, lambda p: wanted(f"full {p:g}")):
        yield Fit(f"full {penalty:g}", count, count, out)


def linear(data, wanted):
    """The same where it fits the cap; else the coefficients that an L1 penalty leaves, refitted."""
    yield from linear_no_cap(data, wanted)
    if data.outputs * (data.inputs + 1) > CAPS[0]:
        yield from sparse_linear(data, wanted)


def sparse_linear(data, wanted):
    """L1 by proximal gradient with momentum, from strong to weak; what is left is refitted with an L2 penalty."""
    levels = [
        level
        for level in CAPS
        if level < data.outputs * (data.inputs + 1)
        and any(wanted(f"L1 level={level} {p:g}") for p in SPARSE_PENALTIES)
    ]
    if not levels:
        return
    targets = np.eye(max(data.classes, 2))[data.y] if data.classes else data.y[:, None]
    if data.outputs == 1 and data.classes:
        targets = targets[:, 1:]
    step = 1 / (np.linalg.norm(data.x, 2) ** 2 / data.rows * (0.5 if data.classes else 1.0) + 1.0)

    def mean(x, w, b):
        index = x @ w + b
        if not data.classes:
            return index
        if data.outputs == 1:
            return 1 / (1 + np.exp(-index))
        index = np.exp(index - index.max(1, keepdims=True))
        return index / index.sum(1, keepdims=True)

    def descend(w, b, l1, l2, mask, iterations):
        v, c, t = w, b, 1.0
        for _ in range(iterations):
            miss = (mean(data.x, v, c) - targets) / data.rows
            u = (v - step * (data.x.T @ miss + l2 * v)) * mask
            u = np.sign(u) * np.maximum(np.abs(u) - step * l1, 0)
            a = c - step * miss.sum(0)
            s = (1 + np.sqrt(1 + 4 * t * t)) / 2
            v, c = u + (t - 1) / s * (u - w), a + (t - 1) / s * (a - b)
            w, b, t = u, a, s
        return w, b

    w, b = np.zeros((data.inputs, data.outputs)), np.zeros(data.outputs)
    supports = {}
    l1 = np.abs(data.x.T @ (targets - targets.mean(0))).max() / data.rows
    for _ in range(25):
        l1 *= 0.75
        w, b = descend(w, b, l1, 0.0, 1.0, 60)
        count = np.count_nonzero(w) + data.outputs
        supports.update({level: (w, b) for level in levels if count <= level})
        if count > levels[-1]:
            break
    for level, (w, b) in supports.items():
        mask = w != 0
        for penalty in SPARSE_PENALTIES:
            key = f"L1 level={level} {penalty:g}"
            if not wanted(key):
                continue
            w, b = descend(w, b, 0.0, penalty, mask, 300)

            def predict(x, w=w, b=b):
                p = mean(x, w, b)
                return p[:, 0] if not data.classes else np.hstack([1 - p, p]) if data.outputs == 1 else p

            yield Fit(key, level, int(mask.sum()) + data.outputs, predict)


def knots_of(column, most):
    inner = np.quantile(column, np.linspace(0, 1, most + 2)[1:-1])
    values = np.unique(column)
    if len(values) <= 2:
        return np.empty(0)
    return np.unique(inner[(inner > values[0]) & (inner < values[-1])])


def mars(data, wanted):
    """Linear functions, hinges and products of two hinges in different inputs."""
    per_input = int(np.clip(100 // data.inputs, 3, 60))
    functions = []
    for j in range(data.inputs):
        functions.append((j, None, 1))
        functions += [(j, t, sign) for t in knots_of(data.x[:, j], per_input) for sign in (1, -1)]

    def column(x, c):
        j, t, sign = functions[c]
        return x[:, j] if t is None else np.maximum(sign * (x[:, j] - t), 0)

    def evaluate(x, terms):
        return np.column_stack([np.prod([column(x, c) for c in term], axis=0) for term in terms])

    def count(terms):
        knots = {functions[c][:2] for term in terms for c in term if functions[c][1] is not None}
        return data.outputs * (len(terms) + 1) + len(knots)

    columns = np.column_stack([column(data.x, c) for c in range(len(functions))])
    knots = [function[:2] for function in functions]
    for degree in (1, 2) if data.inputs > 1 else (1,):
        yield from selected(data, f"degree={degree}", columns, knots, evaluate, count, degree, wanted)


def polynomial(data, wanted):
    """A few monomials of degree up to 3, higher for one or two inputs."""
    degrees = {1: (3, 6, 12), 2: (2, 3, 8)}.get(data.inputs, (2, 3))
    for degree in degrees:
        # Of very many inputs the most correlated 20.
        inputs = np.arange(data.inputs)
        if data.inputs > 40:
            strength = ((data.x.T @ data.responses()) ** 2).sum(1)
            inputs = np.sort(np.argsort(-strength)[:20])
        monomials = PolynomialFeatures(degree, include_bias=False).fit(data.x[:1, inputs])
        if monomials.n_output_features_ > 800:
            continue
        powers = monomials.powers_

        def evaluate(x, terms, powers=powers, inputs=inputs):
            # Powers of single inputs once, then products; far values are cut so that cubes do not explode.
            x = np.clip(x[:, inputs], -4, 4)
            return np.column_stack(
                [np.prod(x[:, powers[c] > 0] ** powers[c][powers[c] > 0], axis=1) for (c,) in terms]
            )

        columns = evaluate(data.x, [(c,) for c in range(len(powers))])
        columns = columns - columns.mean(0)

        def count(terms):
            return data.outputs * (len(terms) + 1)

        yield from selected(
            data, f"degree={degree}", columns, [(0, None)] * len(powers), evaluate, count, 1, wanted
        )


def natural_basis(x, knots):
    """The natural cubic spline's functions of one input besides the constant: as many as knots, less one."""
    if len(knots) < 3:
        return x[:, None]
    # The splines that are 1 at one knot and 0 at the others; straight lines outside.
    spline = CubicSpline(knots, np.eye(len(knots))[:, 1:], bc_type="natural")
    inside = np.clip(x, knots[0], knots[-1])
    return spline(inside) + spline(inside, 1) * (x - inside)[:, None]


def additive(data, wanted):
    """Natural cubic splines with knots at quantiles in the inputs that bend most, straight lines in the others."""
    slopes = np.linalg.lstsq(data.x, data.responses(), rcond=None)[0]
    residual = data.responses() - data.x @ slopes

    def bend(j):
        basis = natural_basis(data.x[:, j], spline_knots(data.x[:, j], 5))
        basis = basis - basis.mean(0)
        return -((basis @ np.linalg.lstsq(basis, residual, rcond=None)[0]) ** 2).sum()

    order = sorted(range(data.inputs), key=bend)
    settings = {}
    sizes, bents = (3, 4, 6, 9, 14, 20, 30, 45, 64, 90, 128), (1, 2, 4, data.inputs // 2, data.inputs)
    for size, bent in itertools.product(sizes, bents):
        if not 0 < bent <= data.inputs or size > data.rows / 3:
            continue
        settings[size, bent] = data.outputs * (data.inputs + 1 + bent * (size - 2)) + bent * size
    # For each level the settings closest to it.
    near = {
        s
        for level in LEVELS
        for s in sorted((s for s in settings if settings[s] <= level), key=lambda s: -settings[s])[:3]
    }
    for size, bent in sorted(near):
        name = f"knots={size} inputs={bent}"
        knots = {j: spline_knots(data.x[:, j], size) for j in order[:bent]}

        def features(x, knots=knots):
            return np.column_stack([natural_basis(x[:, j], knots.get(j, ())) for j in range(data.inputs)])

        z = features(data.x)
        count = data.outputs * (z.shape[1] + 1) + sum(len(t) for t in knots.values() if len(t) > 2)
        for penalty, out in readouts(data, z, lambda p, name=name: wanted(f"{name} {p:g}")):
            key = f"{name} {penalty:g}"
            yield Fit(key, settings[size, bent], count, lambda x, out=out, features=features: out(features(x)))


def spline_knots(column, size):
    return np.unique(np.quantile(column, np.linspace(0.02, 0.98, size)))


def rbf(data, wanted):
    """Gaussians around the centres of k-means, one width for all."""
    sizes = {(level - 1 - data.outputs) // (data.inputs + data.outputs) for level in LEVELS}
    for size in sorted(s for s in sizes if 0 < s <= data.rows / 2):
        count = size * data.inputs + 1 + data.outputs * (size + 1)
        names = {f"centres={size} width={width}": width for width in (0.5, 1.0, 2.0, 4.0, 8.0)}
        if not any(wanted(f"{name} {p:g}") for name in names for p in penalties(data)):
            continue
        centres = KMeans(size, n_init=1, random_state=0, max_iter=50).fit(data.x).cluster_centers_
        # The unit of width is the usual distance between a centre and the next.
        apart = np.sort(((centres[:, None] - centres) ** 2).sum(2), axis=0)
        unit = apart[1].mean() if size > 1 else data.inputs
        for name, width in names.items():
            scale = 1 / (2 * width**2 * unit)

            def features(x, centres=centres, scale=scale):
                distance = ((x**2).sum(1)[:, None] - 2 * x @ centres.T + (centres**2).sum(1)).clip(0)
                return np.exp(-scale * distance)

            for penalty, out in readouts(data, features(data.x), lambda p, name=name: wanted(f"{name} {p:g}")):
                key = f"{name} {penalty:g}"
                yield Fit(key, count, count, lambda x, out=out, features=features: out(features(x)))


def mlp(data, wanted):
    """One hidden layer by L-BFGS. Settings are compared with one start; the setting that is kept has three."""
    widths = {(cap - data.outputs) // (data.inputs + 1 + data.outputs) for cap in CAPS}
    if data.rows > MANY_ROWS:
        alphas, iterations = (1e-3, 1.0), 300
    elif data.rows > 700:
        alphas, iterations = (1e-3, 0.1, 3.0), 500
    else:
        alphas, iterations = (1e-3, 0.1, 1.0, 10.0), 1000
    kind = MLPClassifier if data.classes else MLPRegressor
    settings = [
        (width, activation, alpha, f"width={width} {activation} alpha={alpha:g}")
        for width in sorted(w for w in widths if w > 0)
        for activation in ("tanh", "relu")
        for alpha in alphas
    ]
    final = sum(wanted(name) for *_, name in settings) == 1
    for width, activation, alpha, name in settings:
        if not wanted(name):
            continue
        starts = []
        for seed in range(3 if final else 1):
            model = kind(
                hidden_layer_sizes=(width,),
                activation=activation,
                solver="lbfgs",
                alpha=alpha,
                max_iter=1000 if final else iterations,
                max_fun=100_000,
                random_state=seed,
            )
            starts.append(model.fit(data.x, data.y))
        model = min(starts, key=lambda m: m.loss_)
        count = width * (data.inputs + 1) + data.outputs * (width + 1)
        yield Fit(name, count, count, model.predict_proba if data.classes else model.predict)


def trees(data, wanted):
    """Boosted trees: of L leaves each, L - 1 thresholds and L values; a first constant."""
    kind = HistGradientBoostingClassifier if data.classes else HistGradientBoostingRegressor
    for leaves, rate in itertools.product((2, 3, 4, 6, 10, 16), (0.1, 0.3, 1.0)):
        per_round = data.outputs * (2 * leaves - 1)
        rounds = {(level - data.outputs) // per_round: level for level in reversed(LEVELS)}
        names = {r: f"leaves={leaves} rate={rate} rounds={r}" for r in rounds if r > 0}
        names = {r: name for r, name in names.items() if wanted(name)}
        if not names:
            continue
        model = kind(
            learning_rate=rate,
            max_iter=max(names),
            max_leaf_nodes=leaves,
            min_samples_leaf=5,
            early_stopping=False,
            random_state=0,
        )
        model.fit(data.x, data.y)
        nodes = [
            data.outputs + sum(2 * t.get_n_leaf_nodes() - 1 for step in model._predictors[:r] for t in step)
            for r in range(max(names) + 1)
        ]
        for r, name in names.items():
            staged = model.staged_predict_proba if data.classes else model.staged_predict

            def predict(x, r=r, staged=staged):
                return next(itertools.islice(staged(x), r - 1, None))

            yield Fit(name, data.outputs + r * per_round, nodes[r], predict)


PEERS = {
    "constant": constant,
    "linear": linear,
    "mars": mars,
    "additive": additive,
    "polynomial": polynomial,
    "rbf": rbf,
    "trees": trees,
    "mlp": mlp,
}
# The reference that no cap binds.
REFERENCE = "linear (no cap)"
