"""Classification."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets

from loopfit._base import LoopEstimator
from loopfit._data import Rows, target_name, target_of, text_of
from loopfit._loopfit import Model, Table


class LoopClassifier(ClassifierMixin, LoopEstimator):  # type: ignore[misc, unused-ignore]
    """Classification by the best function that a number of trainable numbers can buy.

    As `LoopRegressor`, for two or more classes: their log-odds are what the networks predict, and the log loss is what is made
    small.

    Parameters
    ----------
    budget : int, default=128
        The cap on trainable numbers.
    method : {"all", "single", "loop", "untied"} or tuple of these, default="all"
        Who competes.
    architecture : {"ffn", "transformer", "any"}, default="ffn"
        Residual networks, post-LN Transformers, or both.
    effort : {"quick", "standard", "strong"} or int, default="standard"
        How long to look. A whole number asks for a stochastic search of ReLU networks with so many updates of each method.
    time_limit : float, optional
        Seconds that the work is planned for, in place of an effort; results then depend on the machine.
    refit : bool, default=True
        Whether the delivered model is fitted once more, to all rows.
    validation_fraction : float, optional
        Share of the rows that are held out while models are selected; ``results_`` has their error as ``test``. A fifth by
        default, 0 for none. A stochastic search divides the rows itself and takes none.
    activation : {"any", "relu", "tanh", "silu", "sine"} or tuple of these, default="any"
        The hidden units that compete.
    iterations : int, tuple of int or "auto", optional
        The iteration counts T that loops may have; 2, 4 and 8 by default. With ``"auto"`` a stochastic search fits loops of ReLU
        units alone, with T = 1, 2, 4, ..., 64, to all rows that are not held out, and penalised likelihood chooses T; there are no
        validation rows, and ``history_`` has the losses and penalties.
    tokens : str or int, optional
        The data tokens of Transformers: ``"each"``, ``"all"``, a number of groups, or inputs counted from 0 as ``"0,1/2,3"``.
    weight : str, optional
        A column of X that says how much each row counts. It is no input; for predictions it is in X, too, and not read.
    group : str, optional
        A column of X whose equal values never cross from training to validation. It is no input, as ``weight`` is none.
    random_state : int, RandomState or None, default=0
        Seed of splits and starts.
    n_jobs : int, optional
        Number of threads: one for each core by default, unless the environment's ``OMP_NUM_THREADS`` says otherwise. Results do
        not depend on it.
    verbose : int, default=0
        1 shows a progress bar, and says what was noticed and concluded.

    Attributes
    ----------
    model_ : Model
        The delivered model: ``method``, ``q``, ``r``, ``iterations``, ``activation``, ``count``, ``columns_read``, ...
    classes_ : ndarray of shape (n_classes,)
        The classes.
    results_ : DataFrame
        What competed, the best first: shape, count, validation, test, seconds.
    history_ : DataFrame
        The way to the model.
    notes_ : list of str
        What was noticed and concluded.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Their names, where X had names.

    See Also
    --------
    LoopRegressor : A number as the target.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from loopfit import LoopClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LoopClassifier(budget=24, method="loop", effort="quick").fit(X, y)
    >>> bool(model.score(X, y) > 0.94)
    True
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    def __init__(
        self,
        budget: int = 128,
        *,
        method: str | tuple[str, ...] = "all",
        architecture: str = "ffn",
        effort: str | int = "standard",
        time_limit: float | None = None,
        refit: bool = True,
        validation_fraction: float | None = None,
        activation: str | tuple[str, ...] = "any",
        iterations: int | tuple[int, ...] | str | None = None,
        tokens: str | int | None = None,
        weight: str | None = None,
        group: str | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.method = method
        self.architecture = architecture
        self.effort = effort
        self.time_limit = time_limit
        self.refit = refit
        self.validation_fraction = validation_fraction
        self.activation = activation
        self.iterations = iterations
        self.tokens = tokens
        self.weight = weight
        self.group = group
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, X: Any, y: Any) -> tuple[Table, dict[str, Any], Any]:
        rows = Rows(self, X, reset=True)
        labels = target_of(self, y, rows.rows, numeric=False)
        check_classification_targets(labels)
        classes = np.unique(labels)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {text_of(classes[0])}: a classifier needs at least two classes"
            )
        if len({text_of(label).strip() for label in classes}) < len(classes):
            raise ValueError(
                f"the classes {list(classes)} are not told apart: let them differ in more than blanks"
            )
        if classes.dtype.kind in "iu" and len(np.unique(classes.astype(np.float64))) < len(classes):
            raise ValueError(
                f"the classes {classes.tolist()} are not told apart as numbers of 64 bits: give them as texts"
            )
        target = target_name(y, rows.names)
        table = rows.table()
        if labels.dtype.kind in "iuf":
            table.numbers(target, np.ascontiguousarray(labels, dtype=np.float64))
        else:
            table.labels(target, [text_of(label) for label in labels])
        task = "binary" if len(classes) == 2 else "multiclass"
        return table, self._asked(target=target, task=task), classes

    def fit(self, X: Any, y: Any) -> LoopClassifier:
        """Select and fit a model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs; NaN is a missing cell.
        y : array-like of shape (n_samples,)
            The classes.

        Returns
        -------
        LoopClassifier
            The estimator itself.
        """
        table, asked, classes = self._learn(X, y)
        self._fit(table, asked)
        self.classes_ = classes
        self._order = order_of(classes, self.model_)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Predict the probabilities of the classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs. A matrix of numbers in C or Fortran order is read where it lies.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``.
        """
        said = self._say(X)
        return said if np.array_equal(self._order, range(len(self._order))) else said[:, self._order]

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``.
        """
        return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Any:
        """Predict the most likely class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes.
        """
        chosen = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[chosen]

    def predict_iterations(self, X: Any) -> Any:
        """Predict the most likely class after each iteration of the loop.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples, T)
            What the model would say after each of its T iterations; the last column is `predict`.
        """
        said = self._say_iterations(X)
        steps = [step[:, self._order].argmax(axis=1) for step in said]
        return self.classes_[np.stack(steps, axis=1)]

    def budget_curve(self, X: Any, y: Any, budgets: Any = None, *, plot: Any = True) -> Any:
        """Estimate the error under several caps: how many numbers the rows need.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs.
        y : array-like of shape (n_samples,)
            The classes.
        budgets : list of int, optional
            The caps; 8, 16, 32, ... by default.
        plot : bool or path, default=True
            Whether a notebook shows a figure, or the SVG file that it is written to.

        Returns
        -------
        DataFrame
            As `LoopRegressor.budget_curve` gives.
        """
        own = clone(self)
        table, asked, _ = own._learn(X, y)
        return own._curve(table, asked, budgets, plot)


def order_of(classes: Any, model: Model) -> Any:
    """For each class its place among those of the model."""
    number = classes.dtype.kind in "iuf"
    known: dict[Any, int] = {
        float(name) if number else name: place for place, name in enumerate(model.classes)
    }
    wanted = [float(label) if number else text_of(label).strip() for label in classes]
    return np.array([known[label] for label in wanted])
