"""Speeds of the package in processor time, which other work on the machine hardly changes, and errors beside scikit-learn's MLP.

    python python/benches/speed.py [--tables DIR] [--budget B]

DIR holds tables of numbers as csv files, the target last, such as those that `cargo xtask bench peers-quality` keeps in
target/quality.
"""

import argparse
import csv
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def imports():
    """Processor seconds of importing, least of five."""

    def seconds(program):
        timed = f"import time, sys; b = time.process_time(); {program}; print(time.process_time() - b)"
        runs = [subprocess.run([sys.executable, "-c", timed], capture_output=True, text=True, check=True) for _ in range(5)]
        return min(float(run.stdout) for run in runs)

    numpy = seconds("import numpy")
    loopfit = seconds("import numpy, loopfit")
    estimators = seconds("import numpy; from loopfit import LoopRegressor")
    sklearn = seconds("import numpy, sklearn.base, sklearn.utils.validation")
    print(f"import: numpy {numpy:.3f} s, loopfit beyond it {loopfit - numpy:.3f} s")
    print(f"from loopfit import LoopRegressor: {estimators - numpy:.3f} s beyond numpy, of which scikit-learn {sklearn - numpy:.3f} s")


def predictions():
    """1e6 rows of 10 inputs: the estimator beside the library's own call, alternately, one thread, least of nine."""
    from loopfit import LoopRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y = np.sin(X[:, 0]) * X[:, 1] + X[:, 2]
    many = rng.normal(size=(1_000_000, 10))
    for method in ("single", "loop"):
        model = LoopRegressor(128, method=method, effort=20_000, n_jobs=1, refit=False).fit(X, y)
        names = model.model_.columns
        model.predict(many), model.model_.predict(many, names, 1)
        best = {}
        for _ in range(9):
            for name, call in (
                ("estimator", lambda: model.predict(many)),
                ("engine", lambda: model.model_.predict(many, names, 1)),
            ):
                begin = time.process_time()
                call()
                best[name] = min(best.get(name, np.inf), time.process_time() - begin)
        print(f"predict, {model.model_}: estimator {best['estimator']:.4f} s, engine {best['engine']:.4f} s, "
              f"ratio {best['estimator'] / best['engine']:.3f}")


def overhead():
    """What the package adds to a fit: processor seconds of `fit` less those inside the library, least of nine."""
    from loopfit import LoopRegressor, _loopfit

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 10))
    y = X[:, 0]
    model = LoopRegressor(24, method="single", effort=32, n_jobs=1)
    inside, least = [], np.inf
    plain = _loopfit.fit

    def timed(*arguments):
        begin = time.process_time()
        found = plain(*arguments)
        inside.append(time.process_time() - begin)
        return found

    _loopfit.fit = timed
    for _ in range(9):
        begin = time.process_time()
        model.fit(X, y)
        least = min(least, time.process_time() - begin - inside[-1])
    _loopfit.fit = plain
    print(f"fit: {1e3 * least:.1f} ms around the library, which took {1e3 * min(inside):.1f} ms with 32 updates")


def beside_mlp(folder, budget):
    """LoopRegressor and MLPRegressor with as many numbers, on the same fifth of the rows held out."""
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.compose import TransformedTargetRegressor

    from loopfit import LoopRegressor

    print("| data set | rows | inputs | loopfit: numbers | test MSE | CPU s | MLP: numbers | test MSE | CPU s |")
    print("|:--|--:|--:|--:|--:|--:|--:|--:|--:|")
    for path in sorted(Path(folder).glob("*.csv")):
        with path.open() as file:
            rows = list(csv.reader(file))[1:]
        table = np.array(rows, dtype=float)
        X, y = table[:, :-1], table[:, -1]
        split = train_test_split(X, y, test_size=0.2, random_state=0)
        begin = time.process_time()
        own = LoopRegressor(budget, effort="quick").fit(split[0], split[2])
        own_seconds = time.process_time() - begin
        own_error = np.mean((own.predict(split[1]) - split[3]) ** 2)
        d = X.shape[1]
        width = max(1, (budget - 1) // (d + 2))
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mlp = TransformedTargetRegressor(
                make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(width,), activation="tanh", solver="lbfgs", max_iter=2000, random_state=0)),
                transformer=StandardScaler(),
            ).fit(split[0], split[2])
        seconds = time.process_time() - begin
        error = np.mean((mlp.predict(split[1]) - split[3]) ** 2)
        numbers = width * (d + 2) + 1
        print(f"| {path.stem} | {len(y):,} | {d} | {own.model_.count} | {own_error:.4g} | {own_seconds:.1f} | {numbers} | {error:.4g} | {seconds:.1f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", help="a folder of csv files of numbers, the target last")
    parser.add_argument("--budget", type=int, default=64)
    arguments = parser.parse_args()
    imports()
    predictions()
    overhead()
    if arguments.tables:
        beside_mlp(arguments.tables, arguments.budget)
