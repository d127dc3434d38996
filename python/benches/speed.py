"""Speeds of the package in processor time, which other work on the machine hardly changes, and its memory.

    python python/benches/speed.py
"""

import resource
import subprocess
import sys
import time

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


def memory():
    """How far the peak of the memory rises by predicting 1e6 rows of 10 inputs, the result among it."""
    from loopfit import LoopRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    many = rng.normal(size=(1_000_000, 10))
    model = LoopRegressor(128, method="loop", effort=32, n_jobs=1, refit=False).fit(X, X[:, 0])
    model.predict(many[:1000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model.predict(many)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"memory of predict, {model.model_}: {more:.1f} MiB beyond {many.nbytes / 2**20:.0f} MiB of inputs")


if __name__ == "__main__":
    # First, while nothing else has raised the peak.
    memory()
    imports()
    predictions()
    overhead()
