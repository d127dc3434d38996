"""Methods side by side, paired by seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from loopfit import _loopfit, distributed
from loopfit._base import COLORS, OTHER_COLOR, whole
from loopfit._classifier import LoopClassifier
from loopfit._frames import can_be_shown, frame, shown
from loopfit._regressor import LoopRegressor

# More different whole numbers than these are a quantity and no classes.
MOST_CLASSES = 20


def compare(
    X: Any,
    y: Any,
    budget: int = 64,
    seeds: int | list[int] = 8,
    *,
    task: str | None = None,
    plot: Any = True,
    **parameters: Any,
) -> Any:
    """Compare the ways of spending a cap, paired over seeds.

    Every seed has test rows, folds and starts of its own, the same for all methods.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
        The inputs.
    y : array-like of shape (n_samples,)
        The target: classes, or numbers.
    budget : int, default=64
        The cap on trainable numbers.
    seeds : int or list of int, default=8
        How many seeds, or which.
    task : {"regression", "classification"}, optional
        What is learned; by default classes where y holds texts, truth values or at most 20 different whole numbers, unless a
        ``likelihood`` or an ``exposure`` is among the parameters.
    plot : bool or path, default=True
        Whether a notebook shows a figure, or the SVG file that it is written to.
    **parameters
        Other parameters of `LoopRegressor` or `LoopClassifier`, such as ``method`` and ``effort``.

    Returns
    -------
    DataFrame
        A row for each seed and method: ``seed``, ``method``, ``error`` on the test rows, ``count`` and shape. Of pandas, ``attrs``
        has ``summary`` (mean, standard error and the number of seeds on which each method has the lowest error), ``metric``,
        ``notes`` and the ``figure``.

    Examples
    --------
    >>> import numpy as np
    >>> from loopfit import compare
    >>> X = np.random.default_rng(1).uniform(size=(90, 2))
    >>> table = compare(X, X[:, 0] * X[:, 1], budget=16, seeds=2, effort="quick")
    >>> sorted(set(table["method"]))
    ['linear', 'loop', 'single', 'untied']
    >>> len(table)
    8
    """
    if task is None:
        task = _task_of(y, parameters)
    if task not in ("regression", "classification"):
        raise ValueError(f"task is regression or classification, not {task!r}")
    estimator: Any
    if task == "regression":
        estimator = LoopRegressor(budget, **parameters)
        table, asked = estimator._learn(X, y)
    else:
        estimator = LoopClassifier(budget, **parameters)
        table, asked, _ = estimator._learn(X, y)
    asked["refit"] = None
    if isinstance(seeds, (list, tuple, range, np.ndarray)):
        chosen = [whole("a seed", seed, 0) for seed in seeds]
    else:
        first = asked["seed"]
        chosen = [first + k for k in range(whole("seeds", seeds, 1))]
    if len({*chosen}) < len(chosen):
        raise ValueError(f"seeds are different numbers, and {chosen} has one twice")
    can_be_shown(plot)
    with estimator._bar("comparison") as bar:
        rows, about = distributed.compare(table, asked, chosen, bar.call, estimator.n_jobs)
    bar.say(about["notes"])
    summary = about["methods"]
    methods = [
        (
            own["method"],
            COLORS.get(own["method"].split()[-1], OTHER_COLOR),
            [row["error"] for row in rows if row["method"] == own["method"]],
            own["standard_error"] if len(chosen) > 1 else None,
        )
        for own in summary
    ]
    title = f"Under a cap of {asked['budget']} numbers"
    figure = shown(_loopfit.pairs(title, about["metric"], methods), plot)
    compared = frame(rows)
    if hasattr(compared, "attrs"):
        compared.attrs |= {
            "summary": frame(summary),
            "metric": about["metric"],
            "notes": about["notes"],
            "figure": figure,
        }
    return compared


def _task_of(y: Any, parameters: dict[str, Any]) -> str:
    """Whether y holds numbers or classes; only numbers have a likelihood to choose, and only counts an exposure."""
    if not parameters.keys().isdisjoint(("likelihood", "exposure")):
        return "regression"
    values = np.asarray(y)
    if values.dtype.kind in "iuf" and len(np.unique(values)) > MOST_CLASSES:
        return "regression"
    return "regression" if type_of_target(y, input_name="y") == "continuous" else "classification"
