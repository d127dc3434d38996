"""Fits by workers: the bits of one machine, whoever makes them and whoever dies.

Workers of joblib are always there; tests of Ray and Dask are skipped where these are not installed. `cargo xtask test --ray` has both.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from loopfit import LoopClassifier, LoopDensity, LoopRegressor, _loopfit, compare, distributed

STUDY = """
title = "Three ways of spending a cap"
seeds = { first = 1, count = 4 }
[[cases]]
name = "bumps"
data = "sim:bumps"
train = 256
valid = 128
budget = 64
[search]
updates = 12800
"""


@contextlib.contextmanager
def loky():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        yield


@pytest.fixture(scope="module")
def ray():
    """Ray on this machine, with processes of its own."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


@contextlib.contextmanager
def ray_joblib(ray):
    from ray.util.joblib import register_ray

    register_ray()
    with joblib.parallel_config(backend="ray", n_jobs=2):
        yield


@pytest.fixture(scope="module")
def dask():
    """A scheduler of Dask and two processes."""
    distributed_ = pytest.importorskip("distributed")
    with (
        distributed_.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed_.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=["loky", "ray", "ray through joblib", "dask"])
def workers(request):
    """A context in which fits are made by workers."""
    if request.param == "loky":
        return loky
    if request.param == "dask":
        request.getfixturevalue("dask")
        return lambda: joblib.parallel_config(backend="dask")
    ray = request.getfixturevalue("ray")
    return (lambda: distributed.over(ray)) if request.param == "ray" else (lambda: ray_joblib(ray))


def processes(*words):
    """Processes of this machine whose command line has all of some words."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if all(word in line for word in words):
                found.append(int(folder.name))
    return found


def children(of):
    """Processes below this one."""
    below = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{of}/task").iterdir():
            for child in (task / "children").read_text().split():
                below += [int(child), *children(int(child))]
    return below


def workers_of_ray(task):
    """Workers of this process's cluster that are at a task; others may have clusters on this machine too."""
    own = children(os.getpid())
    return [process for process in processes(f"ray::{task}") if process in own]


@contextlib.contextmanager
def killing(find, most=2, period=0.4):
    """Kills processes that `find` names while something is done, one after the other; a list of them."""
    killed, over = [], threading.Event()

    def kill():
        while not over.wait(period) and len(killed) < most:
            for process in find()[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


@pytest.fixture(scope="module")
def handed_out():
    """Counts the batches that desks hand out."""
    served = []
    original = distributed._handed_out

    def counted(crew, work):
        served.append(type(crew).__name__)
        return original(crew, work)

    distributed._handed_out = counted
    yield served
    distributed._handed_out = original


def test_searches_have_the_bits_of_one_machine(workers, table, handed_out):
    X, y = table
    small = {"effort": 960, "method": ("single", "loop")}
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    estimators = [
        (LoopRegressor(24, **small), (frame, y)),
        (LoopClassifier(24, **small), (X, y > 0)),
        (LoopDensity(48, **small), (X,)),
        (LoopRegressor(90, architecture="transformer", method="loop", effort=320), (X, y)),
    ]
    for estimator, data in estimators:
        alone = type(estimator)(**estimator.get_params()).fit(*data)
        before = len(handed_out)
        with workers():
            estimator.fit(*data)
        assert len(handed_out) == before + 1
        assert estimator.model_.to_bytes() == alone.model_.to_bytes()
        columns = ["method", "count", "validation"]
        assert (estimator.results_[columns] == alone.results_[columns]).all(axis=None)


def test_comparisons_have_the_bits_of_one_machine(workers, table):
    X, y = table
    frame = pd.DataFrame(X, columns=["u", "v", "w"]).assign(kind=np.where(X[:, 0] > 0, "a", "b"))
    for parameters in ({"effort": "quick"}, {"effort": 640}):
        asked = {"budget": 12, "seeds": [3, 5, 8], "method": ("single", "loop"), **parameters}
        alone = compare(frame, y, **asked)
        with workers():
            together = compare(frame, y, **asked)
        pd.testing.assert_frame_equal(alone, together, check_exact=True)
        pd.testing.assert_frame_equal(alone.attrs["summary"], together.attrs["summary"], check_exact=True)
        assert alone.attrs["notes"] == together.attrs["notes"]
        assert alone.attrs["metric"] == together.attrs["metric"]


def test_cross_validation_of_scikit_learn(workers, table):
    X, y = table
    # Workers make fits alone, whether they are searches or selections.
    for effort in ("quick", 320):
        estimator = LoopRegressor(16, method="single", effort=effort)
        alone = cross_val_score(estimator, X, y, cv=2)
        with workers():
            assert (cross_val_score(estimator, X, y, cv=2) == alone).all()
    with workers():
        search = GridSearchCV(LoopRegressor(method="single", effort="quick"), {"budget": [6, 12]}, cv=2)
        search.fit(X, y)
    assert search.best_estimator_.model_.count <= 12


@pytest.fixture(scope="module")
def study(tmp_path_factory, request):
    """A study, and its export from one machine."""
    command = request.getfixturevalue("command")
    folder = tmp_path_factory.mktemp("study")
    protocol = folder / "three.toml"
    protocol.write_text(STUDY)
    alone = folder / "alone"
    subprocess.run([command, "study", "run", protocol, "--out", alone, "--quiet"], check=True)
    return protocol, lambda out: subprocess.run(
        [command, "study", "export", out, "--json"], check=True, capture_output=True
    ).stdout, alone


def test_studies_have_the_bits_of_one_machine(workers, study, tmp_path):
    protocol, export, alone = study
    with workers():
        [state] = distributed.run_study(protocol, tmp_path / "out", cache=str(tmp_path / "cache"))
    assert state["complete"] and state["fits"] == state["total_fits"]
    assert export(tmp_path / "out") == export(alone)
    # What the directory or the cache holds is not made again.
    with workers():
        distributed.run_study(protocol, tmp_path / "out")
        distributed.run_study(protocol, tmp_path / "again", cache=str(tmp_path / "cache"))
    assert export(tmp_path / "again") == export(alone)


def test_workers_of_joblib_that_die_are_replaced(study, tmp_path):
    protocol, export, alone = study
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
    workers = lambda: [p for p in children(os.getpid()) if p in processes("loky", "popen")]  # noqa: E731
    with loky(), killing(workers, period=0.2) as killed:
        distributed.run_study(protocol, tmp_path / "out")
    assert killed
    assert export(tmp_path / "out") == export(alone)


def test_workers_of_ray_that_die_are_replaced(ray, study, tmp_path):
    protocol, export, alone = study
    with killing(lambda: workers_of_ray("_make_of_store"), most=3, period=0.3) as killed:
        [state] = distributed.run_study(protocol, tmp_path / "out", ray)
    assert killed and state["complete"]
    assert export(tmp_path / "out") == export(alone)
    X = np.random.default_rng(2).uniform(size=(200, 3))
    estimator = LoopRegressor(32, effort=32_000).set_params(method="loop")
    alone = estimator.fit(X, X[:, 0]).model_.to_bytes()
    with killing(lambda: workers_of_ray("_make_of_store"), most=1, period=0.2), distributed.over(ray):
        assert estimator.fit(X, X[:, 0]).model_.to_bytes() == alone
    # Seeds of a comparison are begun again by Ray.
    asked = {"budget": 16, "seeds": 6, "effort": "quick", "method": "loop"}
    expected = compare(X, X[:, 0], **asked)
    with killing(lambda: workers_of_ray("_one_seed"), most=1, period=0.1), distributed.over(ray):
        together = compare(X, X[:, 0], **asked)
    pd.testing.assert_frame_equal(expected, together, check_exact=True)


# A process of its own: a driver has one cluster. The node dies while it makes fits: the head makes one batch at a time, so that of two
# one is its own. Ray notices after some seconds.
NODE = """
import sys, threading, time
sys.path.append(sys.argv[3])
import ray
from ray.cluster_utils import Cluster
from loopfit.distributed import run_study
from test_distributed import workers_of_ray
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
node = cluster.add_node(num_cpus=2)
ray.init(address=cluster.address, log_to_driver=False)
cores = lambda: int(ray.cluster_resources()["CPU"])
assert cores() == 3
over = threading.Event()
killed = []
def die():
    while not over.wait(0.02):
        if len(workers_of_ray("_make_of_store")) > 1:
            cluster.remove_node(node, allow_graceful=False)
            killed.append(node)
            return
thread = threading.Thread(target=die)
thread.start()
try:
    [state] = run_study(sys.argv[1], sys.argv[2], ray)
finally:
    over.set()
    thread.join()
assert killed
deadline = time.monotonic() + 120
while cores() > 1 and time.monotonic() < deadline:
    time.sleep(0.1)
print(cores(), state["complete"])
ray.shutdown()
cluster.shutdown()
"""


def test_a_node_of_ray_that_dies_is_done_without(ray, study, tmp_path):
    protocol, export, alone = study
    # Others of this machine are not looked for.
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    command = [sys.executable, "-c", NODE, protocol, tmp_path / "out", Path(__file__).parent]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split()[-2:] == ["1", "True"]
    assert export(tmp_path / "out") == export(alone)


def test_workers_of_dask_that_die_are_replaced(dask, study, tmp_path):
    protocol, export, alone = study
    workers = lambda: [w["pid"] for w in dask.run(lambda: {"pid": os.getpid()}).values()]  # noqa: E731
    pids = workers()
    with joblib.parallel_config(backend="dask"), killing(lambda: pids, most=1, period=0.5) as killed:
        distributed.run_study(protocol, tmp_path / "out")
    assert killed
    assert export(tmp_path / "out") == export(alone)


def test_the_page_runs(ray, dask, tmp_path):
    page = Path(__file__).parents[2] / "docs" / "cluster.md"
    blocks = page.read_text(encoding="utf-8").split("```python\n")[1:]
    assert len(blocks) == 2
    script = "\n".join(block.split("```")[0] for block in blocks)
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "runs/ray/study.sqlite").exists() and (tmp_path / "runs/dask/study.sqlite").exists()


DRIVER = """
import sys
import joblib
from loopfit.distributed import run_study
with joblib.parallel_config(backend="loky", n_jobs=2):
    run_study(sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_dies_goes_on(sent, study, tmp_path):
    protocol, export, alone = study
    out = tmp_path / "out"
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, protocol, out], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (out / "study.sqlite").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.5)
    orphans = children(driver.pid)
    driver.send_signal(sent)
    driver.wait()
    # Workers of joblib wait five minutes for a driver that was killed.
    for orphan in orphans:
        with contextlib.suppress(ProcessLookupError):
            os.kill(orphan, signal.SIGKILL)
    [state] = distributed.run_study(protocol, out)
    assert state["complete"]
    assert export(out) == export(alone)


def test_an_exception_ends_the_work(table, monkeypatch):
    X, y = table

    def broken(*_):
        raise ZeroDivisionError("a crew that cannot")

    monkeypatch.setattr(distributed.JoblibCrew, "serve", broken)
    with loky(), pytest.raises(ZeroDivisionError, match="cannot"):
        LoopRegressor(24, effort=960).fit(X, y)
    # Whoever is always lost ends the work with a sentence.
    def lose(_, desk, over):
        while not over():
            batch = desk.take(1)
            if batch is not None:
                desk.lost(batch[0])

    monkeypatch.setattr(distributed.JoblibCrew, "serve", lose)
    with loky(), pytest.raises(RuntimeError, match="lost with its worker 5 times"):
        LoopRegressor(24, effort=960).fit(X, y)


def test_who_makes_fits(table, handed_out):
    X, y = table
    quick = LoopRegressor(16, method="single", effort=320)
    before = len(handed_out)
    quick.fit(X, y)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        quick.fit(X, y)
    with joblib.parallel_config(n_jobs=2):
        quick.fit(X, y)
    with joblib.parallel_config(backend="loky", n_jobs=1):
        quick.fit(X, y)
    with loky():
        LoopRegressor(16, method="single", effort=320, n_jobs=1).fit(X, y)
        LoopRegressor(8, method="single", effort="quick").fit(X, y)
        LoopRegressor(8, method="single", time_limit=0.5).fit(X, y)
    assert len(handed_out) == before
    with joblib.parallel_config(backend="loky"):
        quick.fit(X, y)
    assert len(handed_out) == before + 1


def test_workers_share_the_threads(table):
    X, y = table
    with joblib.parallel_config(backend="threading", n_jobs=2):
        asked = joblib.Parallel()(joblib.delayed(threads_asked)() for _ in range(2))
    assert asked == [1, 1]


def threads_asked():
    return LoopRegressor(8)._asked(target="y", task="regression")["threads"]


def test_wrong_words(tmp_path):
    for wrong in ("ray", 3, os):
        with pytest.raises(TypeError, match="workers are the module ray"):
            distributed.run_study("cap-path", tmp_path, wrong)
    with pytest.raises(ValueError, match="there is no study `cup-path`"):
        distributed.run_study("cup-path", tmp_path)
    with pytest.raises(ValueError, match="no folder is named for the files of data:airfoil"):
        distributed.run_study("real-regression", tmp_path, quick=True)
    (tmp_path / "file").write_text("here")
    with pytest.raises(OSError, match="file"):
        distributed.run_study("cap-path", tmp_path / "file", quick=True)
    (tmp_path / "bad.toml").write_text("title = 1")
    with pytest.raises(ValueError, match="is not a study protocol"):
        distributed.run_study(tmp_path / "bad.toml", tmp_path / "out")
    with pytest.raises(RuntimeError, match="same version everywhere"):
        _loopfit.make_fits([b"{}\n"], [], 1)
