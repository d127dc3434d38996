"""The tables: bundled with scikit-learn, the paper's real ones, and simulated ones.

A table makes its own splits. A real table is divided at random, 80% to train and
20% to test (classes in proportion); a simulated one draws new rows for every
split, and its test rows carry the same noise as its training rows.
"""

import csv
import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

TEST_ROWS = 2000


@dataclass
class Rows:
    """Named columns (numbers, or strings where categories) and the target (class codes or numbers)."""

    columns: dict[str, np.ndarray]
    y: np.ndarray

    def take(self, index):
        return Rows({name: column[index] for name, column in self.columns.items()}, self.y[index])

    def write(self, path, classes):
        """A csv file with a header, target `y`, class k as the string `ck`."""
        target = [f"c{k}" for k in self.y] if classes else [repr(float(v)) for v in self.y]
        cells = [[written(v) for v in column] for column in self.columns.values()]
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([*self.columns, "y"])
            writer.writerows(zip(*cells, target, strict=True))


def written(value):
    """A cell; empty where there is no number."""
    return value if isinstance(value, str) else "" if np.isnan(value) else repr(float(value))


@dataclass
class Table:
    """`classes` is 0 for regression; `draw(rng)` gives (train, test)."""

    name: str
    classes: int
    draw: Callable

    def split(self, k):
        return self.draw(np.random.default_rng([zlib.crc32(self.name.encode()), k]))


def numbered(x):
    return {f"x{j + 1}": column for j, column in enumerate(np.asarray(x, float).T)}


def divided(name, classes, read, most=None):
    """A real table: `read()` gives its rows, at most `most` of them enter a split."""

    def draw(rng):
        rows = read()
        index = rng.permutation(len(rows.y))[:most]
        train, test = train_test_split(
            index,
            test_size=0.2,
            random_state=int(rng.integers(2**31)),
            stratify=rows.y[index] if classes else None,
        )
        return rows.take(train), rows.take(test)

    return Table(name, classes, draw)


def simulated(name, rows, sample, classes=0):
    """`sample(rng, n)` gives columns (a matrix or named) and the target of n rows."""

    def draw(rng):
        x, y = sample(rng, rows + TEST_ROWS)
        both = Rows(x if isinstance(x, dict) else numbered(x), np.asarray(y))
        return both.take(slice(0, rows)), both.take(slice(rows, None))

    return Table(name, classes, draw)


def bundled(name, load, classes):
    def read():
        bunch = load()
        return Rows(numbered(bunch.data), bunch.target.astype(int if classes else float))

    return divided(name, classes, read)


# The paper's tables: files as they were published, in folders named after the table.


def cells(path, delimiter, header):
    data = Path(path).read_bytes()
    text = (gzip.decompress(data) if str(path).endswith(".gz") else data).decode("utf-8-sig")
    lines = [line for line in csv.reader(io.StringIO(text), delimiter=delimiter) if line]
    return lines[1:] if header else lines


def column(values):
    try:
        return np.array([float(v) for v in values])
    except ValueError:
        return np.array(values)


def paper(folder, name, file, classes=0, delimiter=",", header=False, derive=None, most=None):
    """The last column is the target; `derive(inputs, y)` replaces the inputs and the target."""

    def read():
        lines = cells(folder / name / file, delimiter, header)
        *inputs, target = (column(values) for values in zip(*lines, strict=True))
        if classes:
            target = np.unique(target, return_inverse=True)[1]
        if derive:
            inputs, target = derive(inputs, target)
        return Rows({f"x{j + 1}": c for j, c in enumerate(inputs)}, target)

    return divided(name, classes, read, most)


def housing(inputs, y):
    """The eight inputs that are usual: rooms, bedrooms and people per household."""
    longitude, latitude, age, rooms, bedrooms, people, households, income = inputs
    per_household = rooms / households, bedrooms / households, people, people / households
    return (income, age, *per_household, latitude, longitude), y / 100_000


def paper_tables():
    """Those whose files are there: in LOOPFIT_DATA, or ../shared/data."""
    root = Path(__file__).resolve().parents[3]
    folder = Path(os.environ.get("LOOPFIT_DATA") or root.parent / "shared" / "data")
    wanted = [
        ("maternal-risk", "Maternal Health Risk Data Set.csv", {"classes": 3, "header": True}),
        ("fish-toxicity", "qsar_fish_toxicity.csv", {"delimiter": ";"}),
        ("concrete", "Concrete_Data.csv", {"header": True}),
        ("airfoil", "airfoil_self_noise.dat", {"delimiter": "\t"}),
        ("abalone", "abalone.data.gz", {}),
        ("white-wine", "winequality-white.csv.gz", {"delimiter": ";", "header": True}),
        ("california-housing", "cal_housing.data.gz", {"derive": housing, "most": 5000}),
        ("wall-robot", "sensor_readings_24.data.gz", {"classes": 4}),
        ("power-plant", "Folds5x2_pp_sheet1.csv.gz", {"header": True}),
    ]
    if missing := [name for name, file, _ in wanted if not (folder / name / file).exists()]:
        print(f"without {', '.join(missing)}: not in {folder}; LOOPFIT_DATA names another folder", file=sys.stderr)
    return [paper(folder, name, file, **how) for name, file, how in wanted if name not in missing]


# Simulations.


def integrate(field, state, time, steps):
    """Classical Runge-Kutta for all rows at once."""
    h = time / steps
    for _ in range(steps):
        a = field(state)
        b = field(state + h / 2 * a)
        c = field(state + h / 2 * b)
        d = field(state + h * c)
        state = state + h / 6 * (a + 2 * b + 2 * c + d)
    return state


def friedman(make, noise):
    return lambda rng, n: make(n_samples=n, noise=noise, random_state=int(rng.integers(2**31)))


def moons(rng, n):
    return datasets.make_moons(n, noise=0.3, random_state=int(rng.integers(2**31)))


def pendulum(rng, n):
    """The angle at time 3, whole turns included."""
    x = np.column_stack([rng.uniform(-np.pi, np.pi, n), rng.uniform(-2.5, 2.5, n)])
    after = integrate(lambda s: np.stack([s[1], -np.sin(s[0])]), x.T, 3.0, 300)
    return x, after[0] + 0.01 * rng.normal(size=n)


def chirp(rng, n):
    x = rng.uniform(size=n)
    return x[:, None], np.sin(2 * np.pi * (1 + 6 * x) * x) + 0.05 * rng.normal(size=n)


def smooth_ridge(rng, n):
    """A function of one direction of six inputs."""
    x = rng.uniform(-1, 1, (n, 6))
    direction = np.array([1.0, -0.8, 0.6, 0.5, -0.3, 0.2])
    s = x @ direction / np.linalg.norm(direction)
    return x, np.tanh(3 * s) + 0.5 * np.sin(4 * s) + 0.05 * rng.normal(size=n)


def scaled(rng, n, ranges):
    low, high = np.array(ranges).T
    return rng.uniform(low, high, (n, len(low)))


def borehole(rng, n):
    """Flow of water through a borehole, eight inputs (Morris, Mitchell and Ylvisaker 1993), noise 1."""
    ranges = [
        (0.05, 0.15),
        (100, 50000),
        (63070, 115600),
        (990, 1110),
        (63.1, 116),
        (700, 820),
        (1120, 1680),
        (9855, 12045),
    ]
    x = scaled(rng, n, ranges)
    rw, r, tu, hu, tl, hl, length, kw = x.T
    log = np.log(r / rw)
    flow = 2 * np.pi * tu * (hu - hl) / (log * (1 + 2 * length * tu / (log * rw**2 * kw) + tu / tl))
    return x, flow + rng.normal(size=n)


def piston(rng, n):
    """Cycle time of a piston, seven inputs (Kenett and Zacks 1998), noise 0.01."""
    ranges = [(30, 60), (0.005, 0.02), (0.002, 0.01), (1000, 5000), (90000, 110000), (290, 296), (340, 360)]
    x = scaled(rng, n, ranges)
    m, s, v0, k, p0, ta, t0 = x.T
    a = p0 * s + 19.62 * m - k * v0 / s
    v = s / (2 * k) * (np.sqrt(a**2 + 4 * k * p0 * v0 / t0 * ta) - a)
    return x, 2 * np.pi * np.sqrt(m / (k + s**2 * p0 * v0 / t0 * ta / v**2)) + 0.01 * rng.normal(size=n)


def robot_arm(rng, n):
    """Distance of the hand of a plane arm of four segments (An and Owen 2001), noise 0.02."""
    x = scaled(rng, n, [(0, 2 * np.pi)] * 4 + [(0, 1)] * 4)
    turned, lengths = np.cumsum(x[:, :4], axis=1), x[:, 4:]
    hand = np.hypot((lengths * np.cos(turned)).sum(1), (lengths * np.sin(turned)).sum(1))
    return x, hand + 0.02 * rng.normal(size=n)


def lorenz(rng, n):
    """The first coordinate of Lorenz's system after time 0.4, noise 0.1."""
    x = scaled(rng, n, [(-15, 15), (-20, 20), (5, 40)])

    def field(s):
        return np.stack([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    return x, integrate(field, x.T, 0.4, 200)[0] + 0.1 * rng.normal(size=n)


def spirals(rng, n):
    """Two spirals of one and a half turns."""
    y = rng.integers(2, size=n)
    t = np.sqrt(rng.uniform(size=n)) * 3 * np.pi
    angle = t + np.pi * y
    return np.column_stack([t * np.cos(angle), t * np.sin(angle)]) + 0.5 * rng.normal(size=(n, 2)), y


def steps(rng, n):
    """Three steps and a switch between them; two of five inputs do nothing."""
    x = rng.uniform(size=(n, 5))
    y = 2.0 * (x[:, 0] > 0.35) - 1.5 * (x[:, 1] > 0.6) + np.where(x[:, 2] > 0.5, (x[:, 0] > 0.7) * 2.0, 0.0)
    return x, y + 0.3 * rng.normal(size=n)


def additive(rng, n):
    """Four of twelve correlated inputs matter, each on its own."""
    x = 0.7 * rng.normal(size=(n, 12)) + 0.7 * rng.normal(size=(n, 1))
    y = np.sin(2 * x[:, 0]) + np.exp(-2 * x[:, 1] ** 2) + 0.5 * np.abs(x[:, 2]) + 0.4 * x[:, 3]
    return x, y + 0.3 * rng.normal(size=n)


def counts(rng, n):
    """Poisson counts whose rate spans two orders of magnitude."""
    x = rng.uniform(-1, 1, (n, 5))
    rate = np.exp(1 + 1.2 * x[:, 0] + np.sin(2 * x[:, 1]) + 0.8 * x[:, 0] * x[:, 2])
    return x, rng.poisson(rate).astype(float)


def noisy_line(rng, n):
    """Linear in ten inputs, a fifth of the variance explained."""
    x = rng.normal(size=(n, 10))
    weights = np.array([1.0, -0.8, 0.6, 0.4, -0.3, 0.2, 0, 0, 0, 0])
    return x, x @ weights + 3.0 * rng.normal(size=n)


def five_classes(rng, n):
    """Five overlapping classes of two clusters each, three of seven inputs irrelevant."""
    centres = np.random.default_rng(5).normal(scale=1.6, size=(5, 2, 4))
    y = rng.integers(5, size=n)
    x = centres[y, rng.integers(2, size=n)] + rng.normal(size=(n, 4))
    return np.column_stack([x, rng.normal(size=(n, 3))]), y


def shells(rng, n):
    """Three classes by the size of a stretched vector of three inputs, labels drawn."""
    x = rng.normal(size=(n, 3))
    radius = np.sqrt((x**2 * np.array([1.0, 2.0, 0.5])).sum(1))
    logits = -8.0 * (radius[:, None] - np.array([0.8, 1.8, 2.8])) ** 2
    return x, (logits / 2 + rng.gumbel(size=(n, 3))).argmax(1)


def collinear(rng, n):
    """Fifteen inputs that two hidden factors explain nearly; the target bends in one."""
    factors = rng.normal(size=(n, 2))
    loadings = np.random.default_rng(15).normal(size=(2, 15))
    y = factors[:, 0] + 0.5 * factors[:, 1] ** 2 + 0.4 * rng.normal(size=n)
    return factors @ loadings + 0.2 * rng.normal(size=(n, 15)), y


def tariff(rng, n):
    """A price whose slope and level depend on a category of five."""
    kind = rng.integers(5, size=n)
    x = rng.uniform(0, 2, (n, 3))
    slope, level = np.array([1.0, 0.2, -0.5, 1.5, 0.6]), np.array([0.0, 1.0, 2.0, -1.0, 0.5])
    y = level[kind] + slope[kind] * x[:, 0] + np.log1p(x[:, 1]) * x[:, 2] + 0.2 * rng.normal(size=n)
    return {"kind": np.array(list("abcde"))[kind], **numbered(x)}, y


def twenty_rows(rng, n):
    x = rng.normal(size=(n, 3))
    return x, x @ np.array([1.0, -0.5, 0.0]) + 0.5 * rng.normal(size=n)


def labels(rng, logits):
    """Classes drawn with these log-odds of the second."""
    return (rng.logistic(size=len(logits)) < logits).astype(int)


def thirty_rows(rng, n):
    x = rng.normal(size=(n, 4))
    return x, labels(rng, x @ np.array([1.2, -0.8, 0.4, 0.0]))


def factors(rng, n):
    """Twelve inputs of three hidden factors; the target is linear in two of them."""
    hidden = rng.normal(size=(n, 3))
    loadings = np.random.default_rng(12).normal(size=(3, 12))
    return hidden @ loadings + 0.3 * rng.normal(size=(n, 12)), hidden @ [1.0, -0.7, 0.0] + 0.5 * rng.normal(size=n)


def nearly_separable(rng, n):
    x = rng.normal(size=(n, 6))
    return x, labels(rng, 6.0 * (x @ np.array([1.0, 0.7, -0.5, 0.0, 0.0, 0.0])))


def few_counts(rng, n):
    x = rng.uniform(-1, 1, (n, 3))
    return x, rng.poisson(np.exp(0.5 + x[:, 0] - 0.7 * x[:, 1])).astype(float)


def one_curve(rng, n):
    """One input, no noise."""
    x = rng.uniform(0, 4, n)
    return x[:, None], np.exp(-x) * np.sin(5 * x)


def many_inputs(rng, n):
    """Forty inputs of which three matter, one of them bends."""
    x = rng.normal(size=(n, 40))
    return x, x[:, 0] - 0.8 * x[:, 1] + 0.5 * x[:, 2] ** 2 + 0.5 * rng.normal(size=n)


def rare_classes(rng, n):
    """Three classes, of which two are a tenth of the rows each."""
    y = rng.choice(3, size=n, p=[0.8, 0.1, 0.1])
    centres = np.array([[0, 0, 0, 0, 0], [1.5, 1, 0, 0, 0], [-1, 1.5, 0.5, 0, 0]])
    return centres[y] + rng.normal(size=(n, 5)), y


def tails(rng, n):
    """Log-normal inputs, and noise of Student's t with three degrees of freedom."""
    x = rng.lognormal(size=(n, 6))
    return x, np.log(x) @ np.array([1.0, -0.6, 0.3, 0, 0, 0]) + 0.6 * rng.standard_t(3, size=n)


def offset(rng, n):
    """A target far from zero for its spread."""
    x = rng.uniform(-1, 1, (n, 3))
    return x, 1e6 + 5 * np.sin(2 * x[:, 0]) * (1 + x[:, 1]) + 0.3 * rng.normal(size=n)


def categories(rng, n):
    """Two categories with levels of their own, one with a slope."""
    shop, kind = rng.integers(6, size=n), rng.integers(4, size=n)
    x = rng.uniform(-1, 1, (n, 2))
    level, slope = np.array([0.0, 1.0, -1.0, 0.5, 2.0, -0.5]), np.array([1.0, -1.0, 0.3, 2.0])
    y = level[shop] + slope[kind] * x[:, 0] + 0.3 * rng.normal(size=n)
    return {"shop": np.array(list("abcdef"))[shop], "kind": np.array(list("wxyz"))[kind], **numbered(x)}, y


def gaps(rng, n):
    """A seventh of the cells of every input is missing; where the first is, the target is larger."""
    x = rng.normal(size=(n, 5))
    y = x @ np.array([1.0, 0.8, -0.5, 0.0, 0.0]) + 0.7 * np.abs(x[:, 1]) + 0.4 * rng.normal(size=n)
    x[rng.uniform(size=x.shape) < 1 / 7] = np.nan
    return x, y + np.isnan(x[:, 0])


def thresholds(rng, n):
    """Two thresholds of six inputs, a tenth of the labels wrong."""
    x = rng.uniform(size=(n, 6))
    y = (x[:, 0] > 0.4) & (x[:, 1] < 0.7)
    return x, (y ^ (rng.uniform(size=n) < 0.1)).astype(int)


def four_clusters(rng, n):
    """Four classes of one cluster each in eight inputs, of which four tell them apart."""
    centres = np.random.default_rng(4).normal(scale=1.3, size=(4, 4))
    y = rng.integers(4, size=n)
    return np.column_stack([centres[y] + rng.normal(size=(n, 4)), rng.normal(size=(n, 4))]), y


def exclusive_or(rng, n):
    x = rng.normal(size=(n, 5))
    return x, ((x[:, 0] * x[:, 1] > 0) ^ (rng.uniform(size=n) < 0.05)).astype(int)


def cliff(rng, n):
    """A steep step along a diagonal, whose height is a third input."""
    x = rng.uniform(-1, 1, (n, 4))
    return x, np.tanh(20 * (x[:, 0] + x[:, 1])) * (1 + x[:, 2]) + 0.1 * rng.normal(size=n)


def switches(rng, n):
    """Three classes by thresholds and a slope, labels drawn."""
    x = rng.uniform(-1, 1, (n, 8))
    logits = np.stack([3 * x[:, 0], 2.0 * (x[:, 1] > 0.2) - 1, 4 * x[:, 2] * x[:, 3]], 1)
    return x, (logits + rng.gumbel(size=(n, 3))).argmax(1)


def much_noise(rng, n):
    """A bend and a product that explain a tenth of the variance."""
    x = rng.normal(size=(n, 12))
    return x, 0.5 * np.abs(x[:, 0]) + 0.3 * x[:, 1] * x[:, 2] + 0.2 * x[:, 3] + 1.3 * rng.normal(size=n)


def public():
    """For development: seen while the program is worked on. Small tables first."""
    return [
        bundled("iris", datasets.load_iris, 3),
        bundled("wine", datasets.load_wine, 3),
        simulated("moons", 300, moons, 2),
        simulated("chirp", 500, chirp),
        bundled("diabetes", datasets.load_diabetes, 0),
        bundled("breast-cancer", datasets.load_breast_cancer, 2),
        simulated("friedman1", 600, friedman(datasets.make_friedman1, 1.0)),
        # Noise of about 5% of the target's standard deviation.
        simulated("friedman2", 600, friedman(datasets.make_friedman2, 20.0)),
        simulated("friedman3", 600, friedman(datasets.make_friedman3, 0.02)),
        simulated("smooth-ridge", 1500, smooth_ridge),
        simulated("pendulum", 2000, pendulum),
        *paper_tables(),
        bundled("digits", datasets.load_digits, 10),
    ]


def check():
    """Held out: only to check what was decided on the public tables."""
    return [
        simulated("collinear", 120, collinear),
        simulated("noisy-line", 200, noisy_line),
        simulated("spirals", 400, spirals, 2),
        simulated("piston", 500, piston),
        simulated("additive", 600, additive),
        simulated("shells", 600, shells, 3),
        simulated("steps", 800, steps),
        simulated("tariff", 1000, tariff),
        simulated("five-classes", 1000, five_classes, 5),
        simulated("borehole", 1000, borehole),
        simulated("counts", 1500, counts),
        simulated("lorenz", 2500, lorenz),
        simulated("robot-arm", 4000, robot_arm),
    ]


def few():
    """Few rows, noise, steps, tails, gaps; and two tables of many noisy rows. Drawn anew for every split, 2000 test rows."""
    return [
        simulated("twenty-rows", 20, twenty_rows),
        simulated("thirty-rows", 30, thirty_rows, 2),
        simulated("factors", 40, factors),
        simulated("nearly-separable", 60, nearly_separable, 2),
        simulated("few-counts", 80, few_counts),
        simulated("one-curve", 100, one_curve),
        simulated("many-inputs", 100, many_inputs),
        simulated("rare-classes", 120, rare_classes, 3),
        simulated("tails", 150, tails),
        simulated("offset", 150, offset),
        simulated("categories", 150, categories),
        simulated("gaps", 200, gaps),
        simulated("thresholds", 200, thresholds, 2),
        simulated("four-clusters", 200, four_clusters, 4),
        simulated("exclusive-or", 250, exclusive_or, 2),
        simulated("cliff", 300, cliff),
        simulated("switches", 2500, switches, 3),
        simulated("much-noise", 6000, much_noise),
    ]


SETS = {"public": public, "check": check, "few": few}
