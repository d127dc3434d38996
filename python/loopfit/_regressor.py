"""Regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from loopfit._base import LoopEstimator, real
from loopfit._data import Rows, target_name, target_of
from loopfit._loopfit import Table


class LoopRegressor(RegressorMixin, LoopEstimator):  # type: ignore[misc, unused-ignore]
    """Regression by the best function that a number of trainable numbers can buy.

    One residual block applied once (Single), one block applied T times (Loop), T separate blocks (Untied) and a linear model
    compete under a hard cap by cross-validation; the delivered model is fitted to all rows. The same data, parameters and seed
    give the same bits on any number of threads and any machine, and those of the command line.

    Parameters
    ----------
    budget : int, default=128
        The cap on trainable numbers.
    method : {"all", "single", "loop", "untied"} or tuple of these, default="all"
        Who competes.
    architecture : {"ffn", "transformer", "any"}, default="ffn"
        Residual networks, post-LN Transformers, or both.
    likelihood : {"gaussian", "laplace", "poisson"}, default="gaussian"
        Squared errors, absolute errors, or counts whose mean is predicted.
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
    exposure : str, optional
        A column of X with the exposure of each count. It is no input and must be there for predictions, too.
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
    LoopClassifier : Two or more classes.
    LoopDensity : The density of all columns.
    loopfit.compare : Methods side by side over seeds.

    Notes
    -----
    Columns of texts, categories and truth values of a data frame are categories. A missing cell counts as the median of its
    column, or as no category; where missing cells predict the target, one more input says that the cell is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from loopfit import LoopRegressor
    >>> X = np.linspace(-2, 2, 200).reshape(-1, 1)
    >>> y = np.abs(X[:, 0])
    >>> model = LoopRegressor(budget=12, method="single", effort="quick").fit(X, y)
    >>> model.model_.method, model.model_.count <= 12
    ('single', True)
    >>> bool(abs(model.predict([[1.5]])[0] - 1.5) < 0.05)
    True
    """

    def __init__(
        self,
        budget: int = 128,
        *,
        method: str | tuple[str, ...] = "all",
        architecture: str = "ffn",
        likelihood: str = "gaussian",
        effort: str | int = "standard",
        time_limit: float | None = None,
        refit: bool = True,
        validation_fraction: float | None = None,
        activation: str | tuple[str, ...] = "any",
        iterations: int | tuple[int, ...] | str | None = None,
        tokens: str | int | None = None,
        weight: str | None = None,
        exposure: str | None = None,
        group: str | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.method = method
        self.architecture = architecture
        self.likelihood = likelihood
        self.effort = effort
        self.time_limit = time_limit
        self.refit = refit
        self.validation_fraction = validation_fraction
        self.activation = activation
        self.iterations = iterations
        self.tokens = tokens
        self.weight = weight
        self.exposure = exposure
        self.group = group
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(self, X: Any, y: Any) -> tuple[Table, dict[str, Any]]:
        rows = Rows(self, X, reset=True)
        values = target_of(self, y, rows.rows, numeric=True)
        target = target_name(y, rows.names)
        table = rows.table()
        table.numbers(target, values)
        return table, self._asked(target=target, task="regression")

    def fit(self, X: Any, y: Any) -> LoopRegressor:
        """Select and fit a model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs; NaN is a missing cell.
        y : array-like of shape (n_samples,)
            The target.

        Returns
        -------
        LoopRegressor
            The estimator itself.
        """
        self._fit(*self._learn(X, y))
        return self

    def predict(self, X: Any) -> Any:
        """Predict the target.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs. A matrix of numbers in C or Fortran order is read where it lies.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predictions; of counts, their means.
        """
        return self._say(X)

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[Any, Any]:
        """Predict intervals that cover new targets with a given probability.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs.
        level : float, default=0.9
            The probability, from 1e-6 to 1; intervals come from residuals of rows that fits had not seen.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,)
            The ends of the intervals.
        """
        check_is_fitted(self, "model_")
        real("level", level, 1e-6, 1.0)
        half = self.model_.half_width(level)
        y = self.predict(X)
        return y - half, y + half

    def predict_iterations(self, X: Any) -> Any:
        """Predict after each iteration of the loop.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples, T)
            What the model would say after each of its T iterations; the last column is `predict`.
        """
        return np.stack(self._say_iterations(X), axis=1)

    def budget_curve(self, X: Any, y: Any, budgets: Any = None, *, plot: Any = True) -> Any:
        """Estimate the error under several caps: how many numbers the rows need.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The inputs.
        y : array-like of shape (n_samples,)
            The target.
        budgets : list of int, optional
            The caps; 8, 16, 32, ... by default.
        plot : bool or path, default=True
            Whether a notebook shows a figure, or the SVG file that it is written to.

        Returns
        -------
        DataFrame
            A row for each cap with the best model under it: ``cap``, ``method``, ``count``, ``validation``, ``validation_se``, and
            ``linear``, the error of the best linear model. Of pandas, ``attrs`` has the ``figure`` and ``conclusions``.
        """
        own = clone(self)
        return own._curve(*own._learn(X, y), budgets, plot)
