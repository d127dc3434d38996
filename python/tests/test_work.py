"""Long work leaves the interpreter alone."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from loopfit import LoopRegressor

INTERRUPTED = """
import signal, sys, threading, time, os
import numpy as np
from loopfit import LoopRegressor, compare
rng = np.random.default_rng(0)
X = rng.uniform(size=(3000, 8))
y = np.sin(5 * X[:, 0]) * X[:, 1] + X[:, 2]
sent = []
def interrupt():
    time.sleep(1.0)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    LoopRegressor(EFFORT).fit(X, y)
    print("ended")
except KeyboardInterrupt:
    print(f"{time.monotonic() - sent[0]:.3f}")
# The interpreter is intact.
small = LoopRegressor(6, method="single", effort="quick").fit(X[:60], y[:60])
print(small.predict(X).shape)
"""


@pytest.mark.parametrize("parameters", ["effort='strong'", "effort=10_000_000"])
def test_interrupts_are_heard(parameters):
    program = INTERRUPTED.replace("EFFORT", parameters)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    seconds, shape = ran.stdout.split("\n")[:2]
    assert float(seconds) > 0
    assert shape == "(3000,)"
    # How long it took is a figure for people, not for a test: half a second on a free machine.
    print(seconds)


def test_the_lock_is_free_while_fitting(table):
    X, y = table
    ticks = []
    over = threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(1)
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    begin = time.monotonic()
    LoopRegressor(12, method="single", effort=2000).fit(X, y)
    seconds = time.monotonic() - begin
    over.set()
    other.join()
    # With the lock held all the time there would be a few.
    assert len(ticks) > min(20, 50 * seconds)


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


def test_a_time_limit_ends_the_work():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 4))
    begin = time.monotonic()
    model = LoopRegressor(32, time_limit=1.0).fit(X, X[:, 0] * X[:, 1])
    assert model.model_.count <= 32
    assert time.monotonic() - begin < 60


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
