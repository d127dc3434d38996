"""Densities."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from loopfit._base import LoopEstimator, seed, whole
from loopfit._data import Rows
from loopfit._frames import as_configured


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
        table = Rows(self, X, reset=True).table()
        self._fit(table, self._asked(target=None, task="density"))
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
