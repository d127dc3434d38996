"""Estimators from the files of models."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from loopfit._classifier import LoopClassifier
from loopfit._data import names_of
from loopfit._density import LoopDensity
from loopfit._loopfit import Model
from loopfit._regressor import LoopRegressor


def load(path: str | PathLike[str]) -> LoopRegressor | LoopClassifier | LoopDensity:
    """Read a fitted estimator from the file of a model.

    Parameters
    ----------
    path : str or path
        A safetensors file, by `LoopRegressor.save` and its like or by ``loopfit fit -o``.

    Returns
    -------
    LoopRegressor, LoopClassifier or LoopDensity
        What the model is for. It predicts; what competed with it is not in the file. Columns of a data frame are found by
        their names, those of an array by their places.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from loopfit import LoopRegressor, load
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> model = LoopRegressor(budget=4, effort="quick").fit(X, X[:, 0] - X[:, 1] / 2)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> model.save(path)
    >>> bool((load(path).predict(X) == model.predict(X)).all())
    True
    """
    model = Model.load(path)
    estimator: Any
    if model.task == "density":
        estimator = LoopDensity(model.budget)
    elif model.task in ("binary", "multiclass"):
        estimator = LoopClassifier(model.budget, architecture=model.architecture)
        estimator.classes_ = classes_of(model.classes)
        estimator._order = np.arange(len(estimator.classes_))
    else:
        estimator = LoopRegressor(
            model.budget, architecture=model.architecture, likelihood=model.likelihood
        )
    estimator.model_ = model
    estimator._from_file = True
    columns = model.columns
    if model.task == "count" and model.weight is not None:
        columns = [*columns, model.weight]
    numbered = [int(name[1:]) for name in columns if name[:1] == "c" and name[1:].isdecimal()]
    if len(numbered) == len(columns):
        # By places, as in a file without a header; a column that never changed is not among them.
        columns = names_of(max(numbered))
    else:
        estimator.feature_names_in_ = np.array(columns, dtype=object)
    estimator.n_features_in_ = len(columns)
    return estimator  # type: ignore[no-any-return]


def classes_of(names: list[str]) -> Any:
    """The classes of a file: numbers where all names are."""
    for kind in (int, float):
        try:
            return np.array([kind(name) for name in names])
        except ValueError:
            continue
    return np.array(names, dtype=object)
