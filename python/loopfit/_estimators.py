"""The estimators."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, DensityMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from loopfit._base import LoopEstimator, seed, whole
from loopfit._data import Rows, names_of, target_name, target_of, text_of
from loopfit._loopfit import Model


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

    def _learn(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, str]:
        rows = Rows(self, X, reset=reset)
        values = target_of(self, y, rows.rows, numeric=True)
        target = target_name(y, rows.names)
        table = rows.table()
        table.numbers(target, values)
        return table, target

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
        table, target = self._learn(X, y)
        self._fit(table, target=target, task="regression")
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
            The probability; intervals come from residuals of rows that fits had not seen.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,)
            The ends of the intervals.
        """
        check_is_fitted(self, "model_")
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
        table, target = self._learn(X, y)
        asked = self._asked(target=target, task="regression")
        return self._curve(table, asked, budgets, plot)


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

    def _learn(self, X: Any, y: Any) -> tuple[Any, str, Any, str]:
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
        return table, target, classes, "binary" if len(classes) == 2 else "multiclass"

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
        table, target, classes, task = self._learn(X, y)
        self._fit(table, target=target, task=task)
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
        table, target, _, task = self._learn(X, y)
        return self._curve(table, self._asked(target=target, task=task), budgets, plot)


class LoopDensity(DensityMixin, LoopEstimator):  # type: ignore[misc, unused-ignore]
    """The density of all columns, by the best function that a number of trainable numbers can buy.

    The log density is a network's bounded output less its normaliser, on the box that the training rows lie in with a margin;
    it is found by a stochastic search.

    Parameters
    ----------
    budget : int, default=128
        The cap on trainable numbers.
    method : {"all", "single", "loop", "untied"} or tuple of these, default="all"
        Who competes.
    architecture : {"ffn", "transformer", "any"}, default="ffn"
        Residual networks, post-LN Transformers, or both.
    effort : {"quick", "standard", "strong"} or int, default="standard"
        How long to look; a whole number is that of the updates of each method.
    time_limit : float, optional
        Seconds that the work is planned for, in place of an effort; results then depend on the machine.
    refit : bool, default=False
        Whether the fit goes on with the validation rows after the selection.
    bound : float, optional
        Bound M of the network's output, within which densities differ by a factor of at most e^(2M); 4 by default.
    tokens : str or int, optional
        The data tokens of Transformers.
    random_state : int, RandomState or None, default=0
        Seed of splits, starts and batches.
    n_jobs : int, optional
        Number of threads: one for each core by default, unless the environment's ``OMP_NUM_THREADS`` says otherwise. Results do
        not depend on it.
    verbose : int, default=0
        1 shows a progress bar, and says what was noticed and concluded.

    Attributes
    ----------
    model_ : Model
        The delivered model.
    results_ : DataFrame
        What competed, the best first.
    history_ : DataFrame
        How the validation error fell.
    notes_ : list of str
        What was noticed.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Their names, where X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from loopfit import LoopDensity
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> density = LoopDensity(budget=32, method="loop", effort=10_000).fit(X)
    >>> bool(density.score_samples([[0.0]])[0] > density.score_samples([[2.0]])[0])
    True
    >>> density.sample(3).shape
    (3, 1)
    """

    def __init__(
        self,
        budget: int = 128,
        *,
        method: str | tuple[str, ...] = "all",
        architecture: str = "ffn",
        effort: str | int = "standard",
        time_limit: float | None = None,
        refit: bool = False,
        bound: float | None = None,
        tokens: str | int | None = None,
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
        self.bound = bound
        self.tokens = tokens
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> LoopDensity:
        """Search for the density of the columns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows, all of them numbers.
        y : None
            Not used.

        Returns
        -------
        LoopDensity
            The estimator itself.
        """
        self._fit(Rows(self, X, reset=True).table(), target=None, task="density")
        return self

    def score_samples(self, X: Any) -> Any:
        """Compute the log density of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log densities in the units of the columns; minus infinity outside the support.
        """
        return self._say(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Compute the mean log-likelihood.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.
        y : None
            Not used.

        Returns
        -------
        float
            The mean of `score_samples`: minus infinity where a row lies outside the support, and then a warning has the mean
            over the others.
        """
        logs = self.score_samples(X)
        inside = logs[np.isfinite(logs)]
        if 0 < len(inside) < len(logs):
            warnings.warn(
                f"{len(logs) - len(inside)} of {len(logs)} rows lie outside the support of the density, where it is zero; "
                f"the mean over the others is {inside.mean():.6g}",
                UserWarning,
                stacklevel=2,
            )
        return float(np.mean(logs))

    def sample(self, n_samples: int = 1, random_state: Any = 0) -> Any:
        """Draw from the density, exactly, by rejection.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState or None, default=0
            Seed of the draws.

        Returns
        -------
        ndarray or data frame of shape (n_samples, n_features)
            The draws; a data frame where scikit-learn's configuration asks for one by ``transform_output``.
        """
        check_is_fitted(self, "model_")
        drawn = self.model_.sample(whole("n_samples", n_samples, 1), seed(random_state))
        return as_configured(drawn, self.model_.columns)

    def predict_iterations(self, X: Any) -> Any:
        """Compute the log density after each iteration of the loop.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, T)
            The last column is `score_samples`.
        """
        return np.stack(self._say_iterations(X), axis=1)


def as_configured(values: Any, names: list[str]) -> Any:
    """A matrix as what scikit-learn's configuration asks for."""
    from sklearn import get_config

    kind = get_config().get("transform_output", "default")
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(values, columns=names)
    if kind == "polars":
        import polars

        return polars.DataFrame(values, schema=names)
    return values


def order_of(classes: Any, model: Model) -> Any:
    """For each class its place among those of the model."""
    number = classes.dtype.kind in "iuf"
    known: dict[Any, int] = {
        float(name) if number else name: place for place, name in enumerate(model.classes)
    }
    wanted = [float(label) if number else text_of(label).strip() for label in classes]
    return np.array([known[label] for label in wanted])


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
