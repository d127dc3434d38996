"""What the estimators have in common: parameters, fits, files, figures."""

from __future__ import annotations

import html
import numbers
import os
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from loopfit import _loopfit, distributed
from loopfit._data import Rows
from loopfit._frames import can_be_shown, frame, shown
from loopfit._loopfit import Model
from loopfit._progress import Bar

METHODS = ("single", "loop", "untied")
# As in all figures of the report, which have two more.
COLORS = {"single": 0, "loop": 1, "untied": 2, "linear": 4}
OTHER_COLOR = 3
ABOVE_ALL = 2**64


class LoopEstimator(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """What the estimators have in common."""

    model_: Model

    # Parameters: what the library is asked for.

    def _asked(self, *, target: str | None, task: str) -> dict[str, Any]:
        p = self.get_params(deep=False)
        likelihood = p.get("likelihood")
        if "likelihood" in p:
            one_of("likelihood", likelihood, ("gaussian", "laplace", "poisson"))
        validation_fraction = p.get("validation_fraction")
        if validation_fraction is not None:
            real("validation_fraction", validation_fraction, 0.0, 0.9)
        time_limit = p["time_limit"]
        if time_limit is not None:
            real("time_limit", time_limit, 0.01, 1e7)
        refit = p["refit"]
        if not isinstance(refit, (bool, np.bool_)):
            raise TypeError(f"refit is True or False, not {refit!r}")
        asked_iterations = iterations(p.get("iterations"))
        bound = p.get("bound")
        if bound is not None:
            real("bound", bound, 1e-3, 60.0)
        return {
            "target": target,
            "task": "count" if likelihood == "poisson" else task,
            "laplace": likelihood == "laplace",
            "exposure": column("exposure", p.get("exposure")),
            "weight": column("weight", p.get("weight")),
            "group": column("group", p.get("group")),
            "budget": whole("budget", p["budget"], 1),
            "methods": several("method", p["method"], METHODS, "all"),
            "architecture": one_of(
                "architecture", p["architecture"], ("ffn", "transformer", "any")
            ),
            "tokens": tokens(p.get("tokens")),
            "activations": None
            if p.get("activation", "any") == "any"
            else several("activation", p["activation"], (), None),
            "iterations": asked_iterations,
            "effort": effort(p["effort"]),
            "seconds": time_limit,
            "test_fraction": validation_fraction,
            # A count by penalised likelihood has no validation rows that a last fit could take in.
            "refit": None if refit and asked_iterations == "auto" else bool(refit),
            "bound": bound,
            "seed": seed(p["random_state"]),
            "threads": threads(p["n_jobs"]),
        }

    def _bar(self, what: str) -> Bar:
        return Bar(whole("verbose", self.verbose, 0), what)

    def _fit(self, table: _loopfit.Table, asked: dict[str, Any]) -> None:
        with self._bar(type(self).__name__) as bar:
            self.model_, self._found = distributed.fit(table, asked, bar.call, self.n_jobs)
        bar.say(self.notes_)

    # Predictions.

    def _rows(self, X: Any) -> Rows:
        check_is_fitted(self, "model_")
        if getattr(self, "_from_file", False):
            X = _columns_of(self, X)
        return Rows(self, X, reset=False)

    def _say(self, X: Any) -> Any:
        rows, jobs = self._rows(X), threads(self.n_jobs)
        if rows.frame is None:
            return self.model_.predict(rows.matrix, rows.names, jobs)
        return self.model_.predict_table(rows.table(), jobs)

    def _say_iterations(self, X: Any) -> list[Any]:
        rows = self._rows(X)
        return self.model_.predict_iterations(rows.table(), threads(self.n_jobs))

    # What was found.

    @property
    def results_(self) -> Any:
        """What competed, the best first, as a data frame.

        One row for each method: ``method`` (``single``, ``loop``, ``untied`` or ``linear``), its shape and ``count`` of numbers,
        ``validation`` (error on rows that the fits had not seen) with its standard error ``validation_se``, ``test`` (error on
        rows that were held out, if any were) and ``seconds``.
        """
        return frame(self._of_fit()["results"])

    @property
    def history_(self) -> Any:
        """The way to the model, as a data frame.

        Of a selection by cross-validation the best of each method under each of the caps that it climbs (``cap``, ``method``,
        ``count``, ``validation``); of a stochastic search the lowest validation error by ``seconds`` and ``updates``; with
        ``iterations="auto"`` the loops that took part (``iterations``, ``loss`` on the rows that they were fitted to, ``penalty``),
        of which the chosen one has the smallest sum.
        """
        return frame(self._of_fit()["history"])

    @property
    def notes_(self) -> list[str]:
        """What a person should know about rows and columns, and what the errors mean, in sentences."""
        found = self._of_fit()
        notes = [*found["notes"], *found["conclusions"]]
        if not found["complete"]:
            without = f", without {', '.join(found['absent'])}" if found["absent"] else ""
            notes.append(f"The time was over before the end: this is the best so far{without}.")
        return notes

    def _of_fit(self) -> dict[str, Any]:
        check_is_fitted(self, "model_")
        if getattr(self, "_found", None) is None:
            raise AttributeError(
                f"this {type(self).__name__} has not been fitted here: a model from a file knows its network and not its rivals"
            )
        found: dict[str, Any] = self._found
        return found

    # Files.

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model into one safetensors file, which the command line reads, too.

        Parameters
        ----------
        path : str or path
            The file. It is replaced whole or not at all.
        """
        check_is_fitted(self, "model_")
        self.model_.save(path)

    def export(
        self,
        to: str,
        path: str | PathLike[str] | None = None,
        *,
        name: str = "model",
        every_iteration: bool = False,
    ) -> Any:
        """Write the model as source code of another language, as a graph or as a page.

        Parameters
        ----------
        to : {"c", "onnx", "rust", "js", "html"}
            The language. C and Rust have the bits of `predict`.
        path : str or path, optional
            The file; a header for C is written beside it.
        name : str, default="model"
            What names of a C file begin with.
        every_iteration : bool, default=False
            Whether there is a function for what the model says after each of its iterations.

        Returns
        -------
        list of path, str or bytes
            The files that were written; without a path, the contents.
        """
        check_is_fitted(self, "model_")
        for what, text in (("to", to), ("name", name)):
            if not isinstance(text, str):
                raise TypeError(f"{what} is a text, not {text!r}")
        files, contents = self.model_.export(to, path, name, every_iteration)
        return contents if files is None else files

    # Figures.

    def _curve(self, table: _loopfit.Table, asked: dict[str, Any], caps: Any, plot: Any) -> Any:
        if isinstance(caps, numbers.Number | str):
            raise TypeError(f"budgets is a list of whole numbers, not {caps!r}")
        caps = [whole("a budget", cap, 1) for cap in (() if caps is None else caps)]
        can_be_shown(plot)
        asked |= {"test_fraction": None, "refit": None}
        with self._bar("budget curve") as bar:
            rows, about = _loopfit.curve(table, asked, caps, bar.call)
        bar.say(about["conclusions"])
        best = [
            (
                row["cap"],
                row["validation"],
                row["validation"] - row["validation_se"],
                row["validation"] + row["validation_se"],
            )
            for row in rows
        ]
        linear = [
            (row["cap"], row["linear"], row["linear"], row["linear"])
            for row in rows
            if row["linear"] is not None
        ]
        levels = [("constant", about["constant"])]
        if about["no_cap"] is not None:
            levels.append((f"no cap: {about['no_cap'][0]}", about["no_cap"][1]))
        figure = shown(
            _loopfit.curves(
                "How many numbers do the rows need?",
                "cap on the number of trainable numbers",
                about["metric"],
                [
                    (
                        "",
                        [
                            ("linear", 4, True, linear),
                            ("best model, ± 1 standard error", 3, False, best),
                        ],
                        levels,
                    )
                ],
            ),
            plot,
        )
        table_ = frame(rows)
        if hasattr(table_, "attrs"):
            table_.attrs |= {"figure": figure, "conclusions": about["conclusions"]}
        return table_

    def _html_repr(self) -> str:
        own: str = super()._html_repr()
        if getattr(self, "_found", None) is None:
            return own
        results = self._found["results"]
        # A count by penalised likelihood has no validation rows.
        methods = [
            (row["method"], COLORS.get(row["method"], OTHER_COLOR), [row["validation"]], row["validation_se"])
            for row in results
            if np.isfinite(row["validation"])
        ]
        svg = _loopfit.pairs("", f"validation {self._found['error']}", methods) if methods else ""
        caption = html.escape(str(self.model_))
        return f"{own}<div style='max-width: 36em'><p>{caption}</p>{svg}</div>"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def _columns_of(estimator: Any, X: Any) -> Any:
    """Of a data frame, the columns that a model from a file takes: as in the command line, others are not looked at."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and hasattr(X, "columns") and set(names) <= set(X.columns):
        return X[list(names)]
    shape: Any = getattr(X, "shape", ())
    if names is None and len(shape) == 2 and shape[1] > estimator.n_features_in_:
        # The last columns never changed in the training rows: the file does not know them.
        return X[:, : estimator.n_features_in_] if isinstance(X, np.ndarray) else X
    return X


# What parameters may be.


def one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    """A text among a few."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is one of {', '.join(known)}, not {value!r}")
    if known and value not in known:
        raise ValueError(f"{name} is one of {', '.join(known)}, not {value!r}")
    return value


def several(name: str, value: Any, known: tuple[str, ...], everything: str | None) -> list[str]:
    """One text among a few, several of them, or all."""
    if everything is not None and isinstance(value, str) and value == everything:
        return list(known)
    if everything is not None and isinstance(value, str) and value not in known:
        raise ValueError(f"{name} is {everything} or one of {', '.join(known)}, not {value!r}")
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{name} is a name or a tuple of names, not {value!r}")
    return [one_of(name, one, known) for one in values]


def column(name: str, value: Any) -> str | None:
    """The name of a column."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is the name of a column of X, not {value!r}")
    return value


def whole(name: str, value: Any, least: int) -> int:
    """A whole number."""
    if isinstance(value, (bool, np.bool_)) and name != "verbose":
        raise TypeError(f"{name} is a whole number, not {value!r}")
    if not isinstance(value, (numbers.Integral, np.bool_)):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    if int(value) < least:
        raise ValueError(f"{name} is at least {least}, not {value!r}")
    if int(value) >= ABOVE_ALL:
        raise ValueError(f"{name} is below 2^64, not {value!r}")
    return int(value)


def real(name: str, value: Any, least: float, most: float) -> None:
    """A number between two others."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} is a number, not {value!r}")
    if not least <= float(value) <= most:
        raise ValueError(f"{name} is at least {least:g} and at most {most:g}, not {value!r}")


def effort(value: Any) -> str | int:
    """How long to look."""
    if isinstance(value, str):
        return one_of("effort", value, ("quick", "standard", "strong"))
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return whole("effort", value, 1)
    raise TypeError(f"effort is quick, standard, strong or a number of updates, not {value!r}")


def iterations(value: Any) -> list[int] | str | None:
    """The iteration counts that loops may have, or that one is to be chosen by penalised likelihood."""
    if value is None:
        return None
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"iterations is auto, a whole number or a tuple of them, not {value!r}")
        return value
    values = value if isinstance(value, (list, tuple)) else (value,)
    return [whole("iterations", one, 1) for one in values]


def tokens(value: Any) -> str | None:
    """The data tokens of Transformers; a whole number is that of groups."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    raise TypeError(f"tokens is each, all, a number of groups or inputs such as '0,1/2,3', not {value!r}")


def seed(value: Any) -> int:
    """The seed that a random state gives."""
    if isinstance(value, numbers.Integral):
        return whole("random_state", value, 0)
    return int(check_random_state(value).randint(np.iinfo(np.int32).max))


def threads(value: Any) -> int:
    """The number of threads; 0 is one for each core.

    None is one for each core, or what ``OMP_NUM_THREADS`` says, up to that, as joblib sets it for its workers; -1 is one for each core, and so
    is more than there are.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if value is None:
        text = os.environ.get("OMP_NUM_THREADS", "")
        # Workers of joblib that are told nothing share the machine with each other.
        if text.isdecimal():
            return min(int(text), cores) if len(text) <= 9 else cores
        return int(distributed.in_worker())
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"n_jobs is a whole number or None, not {value!r}")
    count = int(value)
    if count == 0:
        raise ValueError("n_jobs is 1 or more, or -1 for one thread for each core, not 0")
    return min(count, cores) if count > 0 else max(1, cores + 1 + count)
