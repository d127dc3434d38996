"""Long work leaves the interpreter alone."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

from loopfit import LoopRegressor

SPEED = Path(__file__).parents[1] / "benches" / "speed.py"


def test_interrupts_are_heard():
    # Work that would go on for hours: the limit tells what was heard from what was not. How soon it is, the benchmark measures.
    command = [sys.executable, SPEED, "interrupts"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)
    heard = [line.split()[1] for line in ran.stdout.splitlines() if line.endswith(" s")]
    kinds = ["selection", "classes", "search", "density", "curve", "comparison", "predictions", "automatic"]
    assert heard == kinds
    assert "the interpreter is intact" in ran.stdout


def test_the_lock_is_free_while_fitting(table):
    X, y = table
    ticks = []
    over = threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    begin = time.monotonic()
    LoopRegressor(12, method="single", effort=200_000).fit(X, y)
    end = time.monotonic()
    over.set()
    other.join()
    # With the lock held all the time there would be one at most, before it is taken.
    assert sum(begin < tick < end for tick in ticks) >= 3


def test_fits_beside_each_other(table):
    X, y = table
    fitted = []

    def fit(seed):
        model = LoopRegressor(8, method="single", effort="quick", random_state=seed, n_jobs=1)
        fitted.append((seed, model.fit(X, y).model_.to_bytes()))

    threads = [threading.Thread(target=fit, args=(k % 2,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({contents for seed, contents in fitted if seed == 0}) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_predicts(table):
    X, y = table
    model = LoopRegressor(8, method="single", effort="quick").fit(X, y)
    many = np.tile(X, (200, 1))
    expected = model.predict(many)
    child = os.fork()
    if child == 0:
        os._exit(0 if (model.predict(many) == expected).all() else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the forked process hangs")


def test_another_process_reads_the_pickle(table, tmp_path):
    X, y = table
    model = LoopRegressor(8, method="single", effort="quick").fit(X, y)
    joblib.dump((model, X), tmp_path / "model.joblib")
    program = (
        "import joblib, sys; model, X = joblib.load(sys.argv[1], mmap_mode='r'); "
        "print(model.predict(X).tobytes().hex(), len(model.results_), '<svg' in model._repr_html_())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "model.joblib"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == [model.predict(X).tobytes().hex(), "2", "True"]


def test_a_time_limit_ends_the_work():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 8))
    # All of the work takes minutes; a machine that is busy with other things has at least the linear model in this time.
    model = LoopRegressor(256, time_limit=8.0, n_jobs=1).fit(X, X[:, 0] * X[:, 1])
    assert model.model_.count <= 256
    assert model.notes_[-1].startswith("The time was over before the end: this is the best so far")


def test_an_exception_of_the_progress_ends_the_work(table, monkeypatch):
    from loopfit import _progress

    class Broken(_progress.Bar):
        @property
        def call(self):
            def follow(*_):
                raise ZeroDivisionError

            return follow

    monkeypatch.setattr("loopfit._base.Bar", Broken)
    X, y = table
    with pytest.raises(ZeroDivisionError):
        LoopRegressor(64, effort=1_000_000).fit(X, y)
