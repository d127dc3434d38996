"""Speeds of the package in processor time, which other work on the machine hardly changes, its memory, and how soon it hears Ctrl-C.

    python python/benches/speed.py               # all
    python python/benches/speed.py interrupts    # Ctrl-C alone
"""

import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np

# Updates that take days.
ENDLESS = 10**11


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


def interrupts():
    """Seconds from Ctrl-C to KeyboardInterrupt in work of every kind that would go on for hours; a fit and predictions afterwards."""
    from loopfit import LoopClassifier, LoopDensity, LoopRegressor, compare

    # Shells start what runs in the background with Ctrl-C ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 8))
    y = np.sin(5 * X[:, 0]) * X[:, 1] + X[:, 2]
    more, most, classes = np.tile(X, (10, 1)), np.tile(X, (1000, 1)), (10 * X[:, 0]).astype(int)
    loop = LoopRegressor(256, method="loop", effort=64, n_jobs=1).fit(X[:50], y[:50])
    long = {
        "selection": lambda: LoopRegressor(256, effort="strong").fit(more, np.tile(y, 10)),
        "classes": lambda: LoopClassifier(256, effort="strong").fit(more, np.tile(classes, 10)),
        "search": lambda: LoopRegressor(256, effort=ENDLESS).fit(X, y),
        "density": lambda: LoopDensity(256, effort=ENDLESS).fit(X[:, :3]),
        "curve": lambda: LoopRegressor(effort="strong").budget_curve(more, np.tile(y, 10)),
        "comparison": lambda: compare(X, y, 256, effort=ENDLESS),
        "predictions": lambda: [loop.predict(most) for _ in range(10**6)],
        "automatic": lambda: LoopRegressor(256, effort=ENDLESS, iterations="auto").fit(X, y),
    }
    for name, work in long.items():
        sent = []

        def interrupt():
            time.sleep(0.4)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt).start()
        try:
            work()
        except KeyboardInterrupt:
            print(f"interrupt: {name} {time.monotonic() - sent[0]:.3f} s", flush=True)
    small = LoopRegressor(6, method="single", effort="quick").fit(X[:60], y[:60])
    print(f"interrupt: the interpreter is intact, {len(small.predict(X)):,} predictions after it")


if __name__ == "__main__":
    if sys.argv[1:] == ["interrupts"]:
        interrupts()
        sys.exit()
    # First, while nothing else has raised the peak.
    memory()
    imports()
    predictions()
    overhead()
    interrupts()
