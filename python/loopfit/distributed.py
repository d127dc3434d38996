"""Fits on other machines: studies, and one large fit or comparison, by workers of Ray, Dask or joblib.

A stochastic search (``effort`` as a number of updates, Transformers, densities) and a study ask for many fits, each a pure function
of what it is made from. They are handed out in batches, each fit by its hash, and come back as stores keep them, with a checksum;
those of a worker that dies are handed out again. So the result has the bits of one machine, whoever made the fits. Of a comparison
by cross-validation each seed is a piece of work of its own; a single selection by cross-validation, whose fits are short and go on
from each other, is made where it is asked for, as is a fit under a time limit.

- `run_study`: a study, as ``loopfit study run`` runs it;
- `over`: fits and comparisons inside it are made by workers;
- ``joblib.parallel_config(backend="ray" | "dask" | "loky")`` does the same as `over`.

Workers need the same version of loopfit.

Examples
--------
>>> import joblib, numpy as np
>>> from loopfit import LoopRegressor
>>> X = np.random.default_rng(0).uniform(size=(80, 2))
>>> here = LoopRegressor(16, method="single", effort=640).fit(X, X[:, 0])
>>> with joblib.parallel_config(backend="loky", n_jobs=2):
...     there = LoopRegressor(16, method="single", effort=640).fit(X, X[:, 0])
>>> there.model_ == here.model_
True
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from types import ModuleType
from typing import Any, Protocol, TypeVar

import numpy as np

from loopfit import _loopfit
from loopfit._progress import Bar

__all__ = ["over", "run_study"]

T = TypeVar("T")

# Samples that are kept for workers before those are looked for that no fit needs any more.
SAMPLES_KEPT = 32
# Searches or tasks of a study that wait for fits at once.
MOST_WAITING = 64
# How often a seed of a comparison is begun again, and how often workers that are gone are waited for.
RETRIES = 4


class Crew(Protocol):
    """Workers of some kind."""

    def count(self) -> int:
        """How many there are."""

    def serve(self, desk: _loopfit.Desk, over: Callable[[], bool]) -> None:
        """Have the fits of a desk made until the work is over."""

    def each(self, function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
        """Call a function with each of some arguments."""


def run_study(
    protocol: str | PathLike[str],
    out: str | PathLike[str],
    workers: Any = None,
    *,
    quick: bool = False,
    data_dir: str | PathLike[str] | None = None,
    cache: str | None = None,
    verbose: int = 0,
) -> list[dict[str, Any]]:
    """Run a study, or go on with one, its fits made by workers.

    The store is written here, fit by fit as they come back: whatever dies, at most the fits in flight are lost, and the same call
    goes on. Its export is that of ``loopfit study run`` on one machine, byte for byte.

    Parameters
    ----------
    protocol : str or path
        A built-in study or a group of them (``"paper"``), a protocol file (.toml), or a folder of these.
    out : str or path
        The run directory. What it holds is not run again.
    workers : module ``ray``, optional
        Who makes the fits. By default the workers of `over` or of ``joblib.parallel_config``; without these, this machine.
    quick : bool, default=False
        The small size: every step of the way in seconds, numbers without meaning.
    data_dir : str or path, optional
        The folder with the files of real data sets.
    cache : str, optional
        A folder that keeps fits of all studies, ``"files:FOLDER"`` on a network file system; by default what the environment's
        ``LOOPFIT_CACHE`` names.
    verbose : int, default=0
        1 shows a progress bar, and says what was noticed.

    Returns
    -------
    list of dict
        How far each study is: what ``loopfit study status --json`` says.

    Examples
    --------
    >>> import tempfile
    >>> from loopfit.distributed import run_study
    >>> with tempfile.TemporaryDirectory() as out:
    ...     [state] = run_study("cap-path", out, quick=True)
    >>> state["complete"], state["fits"]
    (True, 504)
    """
    crew = current(None) if workers is None else _crew(workers)
    cache = cache or os.environ.get("LOOPFIT_CACHE") or None
    name, folder = os.fspath(protocol), None if data_dir is None else os.fspath(data_dir)

    def run(desk: _loopfit.Desk | None) -> tuple[str, list[str]]:
        return _loopfit.run_study(name, out, quick, folder, cache, 0, desk, bar.call)

    with Bar(verbose, f"study {name}") as bar:
        states, notes = run(None) if crew is None else _handed_out(crew, run)
    bar.say(notes)
    read: list[dict[str, Any]] = json.loads(states)
    return read


_OVER: ContextVar[Crew | None] = ContextVar("loopfit_workers", default=None)


@contextmanager
def over(workers: Any) -> Iterator[None]:
    """Have the fits of searches and comparisons made by workers.

    Parameters
    ----------
    workers : module ``ray``
        Who makes the fits: ``ray`` after ``ray.init(...)``; without that, the cluster that the environment's ``RAY_ADDRESS`` names,
        or one of this machine.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> with loopfit.distributed.over(ray):  # doctest: +SKIP
    ...     model = LoopRegressor(256, effort=2_000_000).fit(X, y)
    ...     table = compare(X, y, 256, seeds=20)
    """
    token = _OVER.set(_crew(workers))
    try:
        yield
    finally:
        _OVER.reset(token)


def _crew(workers: Any) -> Crew:
    if isinstance(workers, ModuleType) and workers.__name__ == "ray":
        return RayCrew(workers)
    raise TypeError(f"workers are the module ray (import ray), not {workers!r}")


def current(n_jobs: int | None) -> Crew | None:
    """Who makes the fits of an estimator with these ``n_jobs``: none is this process.

    A number of jobs asks for threads of this machine, whatever is configured.
    """
    crew = _OVER.get()
    if crew is not None or n_jobs is not None:
        return crew
    backend, jobs = _configured()
    if backend is None or nested(backend) or getattr(backend, "uses_threads", False):
        return None
    jobs = -1 if jobs is None else jobs
    if jobs == 1:
        return None
    if type(backend).__module__.startswith("ray."):
        import ray

        return RayCrew(ray, jobs)
    return JoblibCrew(jobs)


def _configured() -> tuple[Any, int | None]:
    """The backend that ``joblib.parallel_config`` names, and its number of jobs."""
    if "joblib" not in sys.modules:
        return None, None
    from joblib.parallel import get_active_backend

    backend, jobs = get_active_backend()
    # Where none is named, each call makes a new one.
    return (backend if get_active_backend()[0] is backend else None), jobs


def nested(backend: Any) -> bool:
    """Whether this is a worker of joblib itself."""
    if type(backend).__name__ == "DaskDistributedBackend":
        from distributed import get_worker

        try:
            return get_worker() is not None
        except ValueError:
            return False
    return bool(getattr(backend, "nesting_level", 0)) or type(backend).__name__ == "SequentialBackend"


def in_worker() -> bool:
    """Whether a worker of joblib asks, whose threads others share."""
    backend, _ = _configured()
    return backend is not None and nested(backend)


# What the estimators call.


def fit(
    table: _loopfit.Table, asked: dict[str, Any], progress: Any, n_jobs: int | None
) -> tuple[_loopfit.Model, dict[str, Any]]:
    """Fits as `_loopfit.fit`, by workers if there are any and it is a search."""
    crew = None if _by_cross_validation(asked) or asked["seconds"] is not None else current(n_jobs)
    if crew is None:
        return _loopfit.fit(table, asked, progress)
    return _handed_out(crew, lambda desk: _loopfit.fit(table, asked, progress, desk))


def compare(
    table: _loopfit.Table, asked: dict[str, Any], seeds: list[int], progress: Any, n_jobs: int | None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Compares as `_loopfit.compare`, by workers if there are any."""
    crew = None if asked["seconds"] is not None else current(n_jobs)
    if crew is None or not seeds:
        return _loopfit.compare(table, asked, seeds, progress)
    if not _by_cross_validation(asked):
        return _handed_out(crew, lambda desk: _loopfit.compare(table, asked, seeds, progress, desk))
    alone = {**asked, "threads": 1}
    columns = table.cells()
    return _joined(seeds, crew.each(_one_seed, [(columns, alone, seed) for seed in seeds]))


def _by_cross_validation(asked: dict[str, Any]) -> bool:
    return (
        isinstance(asked["effort"], str)
        and asked["iterations"] != "auto"
        and asked["architecture"] == "ffn"
        and asked["task"] != "density"
    )


def _one_seed(
    columns: list[tuple[str, Any]], asked: dict[str, Any], seed: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    table = _loopfit.Table()
    for name, cells in columns:
        if isinstance(cells, np.ndarray):
            # What comes from another process may lie anywhere.
            table.numbers(name, np.require(cells, np.float64, "A"))
        else:
            # What was read stays what it is.
            table.labels(name, cells)
    return _loopfit.compare(table, asked, [seed], None)


def _joined(
    seeds: list[int], parts: list[tuple[list[dict[str, Any]], dict[str, Any]]]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What one comparison over all seeds would have said: methods that every seed has, method by method."""
    own = [{row["method"]: row for row in rows} for rows, _ in parts]
    methods = [name for name in own[0] if all(name in rows for rows in own)]
    rows = [of_seed[name] for name in methods for of_seed in own]
    notes = list(dict.fromkeys(note for _, about in parts for note in about["notes"]))
    errors = [(name, [of_seed[name]["error"] for of_seed in own]) for name in methods]
    about = {**parts[0][1], "notes": notes, "methods": _loopfit.summary(errors)}
    return rows, about


# Who makes fits.


def _handed_out(crew: Crew, work: Callable[[_loopfit.Desk], T]) -> T:
    """Does some work beside, whose fits are made by a crew."""
    desk = _loopfit.Desk(min(2 * crew.count(), MOST_WAITING))
    with ThreadPoolExecutor(1, "loopfit") as beside:
        done = beside.submit(work, desk)
        # Whoever waits for more to do is told.
        done.add_done_callback(lambda _: desk.fail("the work is over"))
        try:
            crew.serve(desk, done.done)
        except BaseException as error:
            desk.fail(str(error) or type(error).__name__)
            raise
        return done.result()


def _make(errands: list[bytes], samples: list[Any]) -> list[bytes]:
    return _loopfit.make_fits(errands, [bytes(memoryview(own)) for own in samples], 1)


class RayCrew:
    """Workers of Ray, one core each.

    Parameters
    ----------
    ray : module
        Ray.
    jobs : int, default=-1
        At most so many at once; -1 is one for each core of the cluster.
    """

    def __init__(self, ray: Any, jobs: int = -1) -> None:
        self.ray = ray
        self.jobs = jobs
        if not ray.is_initialized():
            ray.init()
        names = (
            "LocalRayletDiedError",
            "NodeDiedError",
            "ObjectLostError",
            "OutOfMemoryError",
            "RaySystemError",
            "WorkerCrashedError",
        )
        known = (getattr(ray.exceptions, name, None) for name in names)
        self.losses = tuple(kind for kind in known if kind is not None)

    def count(self) -> int:
        """How many cores the cluster has now."""
        cores = max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        return cores if self.jobs < 1 else min(cores, self.jobs)

    def serve(self, desk: _loopfit.Desk, over: Callable[[], bool]) -> None:
        """Keep every core busy, with one batch more for each in the queue of Ray."""
        ray = self.ray
        # What is lost is handed out again by the desk, which knows what it is.
        make = ray.remote(num_cpus=1, max_retries=0)(_make_of_store)
        samples: dict[str, Any] = {}
        away: dict[Any, int] = {}
        try:
            while not over():
                workers = self.count()
                most = workers if self.jobs > 0 else 2 * workers
                while len(away) < most and (batch := desk.take(workers)) is not None:
                    number, errands, hashes = batch
                    self._keep(samples, desk, hashes)
                    away[make.remote(errands, [samples[own] for own in hashes])] = number
                if not away:
                    desk.wait(0.2)
                    continue
                ready, _ = ray.wait(list(away), timeout=0.05)
                for made in ready:
                    number = away.pop(made)
                    try:
                        records = ray.get(made)
                    except self.losses:
                        desk.lost(number)
                    else:
                        desk.give(number, records)
        finally:
            for made in away:
                ray.cancel(made, force=True)

    def _keep(self, samples: dict[str, Any], desk: _loopfit.Desk, hashes: list[str]) -> None:
        """Samples once in the store of Ray, those that are needed."""
        if len(samples) > SAMPLES_KEPT:
            needed = {*desk.needed(), *hashes}
            for own in [own for own in samples if own not in needed]:
                del samples[own]
        for own in hashes:
            if own not in samples:
                samples[own] = self.ray.put(_array(desk, own))

    def each(self, function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
        """One task for each call."""
        remote = self.ray.remote(num_cpus=1, max_retries=RETRIES)(function)
        asked = [remote.remote(*arguments) for arguments in calls]
        try:
            made: list[T] = self.ray.get(asked)
        except BaseException:
            for one in asked:
                self.ray.cancel(one, force=True)
            raise
        return made


def _array(desk: _loopfit.Desk, own: str) -> Any:
    """Samples as an array, which Ray, joblib and Dask hand on without a copy; empty if nobody needs them any more."""
    return np.frombuffer(desk.samples(own) or b"", np.uint8)


def _make_of_store(errands: list[bytes], samples: list[Any]) -> list[bytes]:
    import ray

    return _make(errands, ray.get(samples))


class JoblibCrew:
    """Workers of the backend that ``joblib.parallel_config`` names.

    Parameters
    ----------
    jobs : int
        How many; -1 is as many as there are.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def count(self) -> int:
        """How many there are."""
        from joblib import effective_n_jobs

        return int(effective_n_jobs(self.jobs))

    def serve(self, desk: _loopfit.Desk, over: Callable[[], bool]) -> None:
        """Round by round: all that waits is made before more is asked for."""
        workers = self.count()
        while not over():
            self._await_workers()
            batches = {}
            while (batch := desk.take(workers)) is not None:
                batches[batch[0]] = batch
            if not batches:
                desk.wait(0.2)
                continue
            hashes = {own for _, _, hashes in batches.values() for own in hashes}
            samples = {own: _array(desk, own) for own in hashes}
            calls = [
                (number, errands, [samples[own] for own in hashes])
                for number, errands, hashes in batches.values()
            ]
            try:
                for number, records in self._parallel(_numbered, calls):
                    desk.give(number, records)
                    del batches[number]
            except self._losses():
                for number in batches:
                    desk.lost(number)

    def _await_workers(self) -> None:
        """Wait some times as long as Dask waits for workers: it starts those anew that died."""
        for attempt in range(RETRIES + 1):
            try:
                self.count()
            except TimeoutError:
                if attempt == RETRIES:
                    raise
            else:
                return

    def each(self, function: Callable[..., T], calls: Sequence[tuple[Any, ...]]) -> list[T]:
        """One job for each call; once again from the start if workers are lost."""
        numbered = [(number, function, arguments) for number, arguments in enumerate(calls)]
        made: dict[int, T] = {}
        for attempt in range(RETRIES + 1):
            left = [call for call in numbered if call[0] not in made]
            try:
                for number, one in self._parallel(_called, left):
                    made[number] = one
                break
            except self._losses():
                if attempt == RETRIES:
                    raise
        return [made[number] for number, _, _ in numbered]

    def _parallel(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[Any]:
        from joblib import Parallel, delayed

        backend, _ = _configured()
        early = getattr(backend, "supports_return_generator", False)
        how = "generator_unordered" if early else "list"
        parallel = Parallel(n_jobs=self.jobs, batch_size=1, return_as=how)
        yield from parallel(delayed(function)(*arguments) for arguments in calls)

    def _losses(self) -> tuple[type[BaseException], ...]:
        """What the backends raise where a worker is gone, of Dask also where all are and none has come back in time."""
        losses: list[type[BaseException]] = [BrokenExecutor]
        if "distributed" in sys.modules:
            from distributed import KilledWorker

            losses += [KilledWorker, TimeoutError]
        return tuple(losses)


def _numbered(number: int, errands: list[bytes], samples: list[Any]) -> tuple[int, list[bytes]]:
    return number, _make(errands, samples)


def _called(
    number: int, function: Callable[..., T], arguments: tuple[Any, ...]
) -> tuple[int, T]:
    return number, function(*arguments)
