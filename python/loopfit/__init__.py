"""Fit the best function that a number of trainable numbers can buy.

A table goes in, a hard cap on trainable numbers, and what comes out is the model that the rows support: a network that
applies one small block several times, one with separate blocks, one with a single block, or a linear model, whichever is
best on rows that it has not seen.

- `LoopRegressor`, `LoopClassifier`, `LoopDensity`: estimators as scikit-learn has them;
- `compare`: the ways of spending a cap side by side, paired over seeds;
- `load`: an estimator from the file of a model, whether Python or the command line wrote it.

Examples
--------
>>> import numpy as np
>>> from loopfit import LoopRegressor
>>> X = np.random.default_rng(0).uniform(size=(120, 2))
>>> y = 3 * X[:, 0] - X[:, 1]
>>> model = LoopRegressor(budget=16, effort="quick").fit(X, y)
>>> model.model_.count <= 16
True
>>> bool(model.score(X, y) > 0.99)
True
"""

from typing import TYPE_CHECKING, Any

from loopfit._loopfit import Model, __version__

if TYPE_CHECKING:
    from loopfit._classifier import LoopClassifier
    from loopfit._compare import compare
    from loopfit._density import LoopDensity
    from loopfit._load import load
    from loopfit._regressor import LoopRegressor

__all__ = [
    "LoopClassifier",
    "LoopDensity",
    "LoopRegressor",
    "Model",
    "__version__",
    "compare",
    "load",
]

# scikit-learn takes longer to import than all the rest: it is imported with the first name that needs it.
_HOMES = {
    "LoopClassifier": "loopfit._classifier",
    "LoopDensity": "loopfit._density",
    "LoopRegressor": "loopfit._regressor",
    "compare": "loopfit._compare",
    "load": "loopfit._load",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'loopfit' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
