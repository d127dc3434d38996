"""From arrays and data frames to what the library reads."""

from __future__ import annotations

import datetime
import numbers
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from loopfit._loopfit import Table


class Rows:
    """Inputs as the library reads them: a matrix of numbers where it lies, or columns of a data frame.

    Parameters
    ----------
    estimator : estimator
        Whose `n_features_in_` and `feature_names_in_` are set, or checked.
    X : array-like or data frame of shape (n_samples, n_features)
        The inputs; NaN is a missing cell.
    reset : bool
        Whether they are those of a fit.
    """

    def __init__(self, estimator: Any, X: Any, *, reset: bool) -> None:
        self.matrix: Any = None
        self.frame: Any = None
        if type(X).__name__ == "LazyFrame":
            raise TypeError("X is a lazy frame: give what its `collect` returns")
        if is_frame(X) and len({*X.columns}) < len(X.columns):
            raise ValueError(f"columns of X have the same name: {', '.join(map(str, X.columns))}")
        if is_frame(X) and any(not is_number(X, name) for name in X.columns):
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            self.frame = X
            self.rows = len(X)
            if self.rows == 0:
                raise ValueError(
                    f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required."
                )
            self.names = [str(name) for name in X.columns]
            return
        matrix = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            # The library says which cell it is.
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
        # What comes from another process may lie anywhere.
        self.matrix = np.require(matrix, requirements="A")
        self.rows = matrix.shape[0]
        given = getattr(estimator, "feature_names_in_", None)
        self.names = names_of(matrix.shape[1]) if given is None else [str(name) for name in given]

    def table(self) -> Table:
        """A copy as a table of the library."""
        table = Table()
        if self.frame is None:
            table.matrix(self.names, self.matrix)
            return table
        for name, column in zip(self.names, self.frame.columns):
            put(table, name, self.frame[column])
        return table


def names_of(columns: int) -> list[str]:
    """What columns without names are called, as in a file without a header."""
    return [f"c{k + 1}" for k in range(columns)]


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas, polars or their like."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape")


def is_number(X: Any, name: Any) -> bool:
    """Whether a column of a data frame holds numbers; truth values are categories."""
    kind = X[name].dtype
    is_numeric = getattr(kind, "is_numeric", None)
    if callable(is_numeric):  # polars
        return bool(is_numeric())
    if isinstance(kind, np.dtype):
        return kind.kind in "iuf" or (kind.kind == "O" and _all_numbers(X[name]))
    # Extension types of pandas: Int64, Float64, category, string, ...
    return bool(getattr(kind, "_is_numeric", False)) and not getattr(kind, "_is_boolean", False)


def _all_numbers(column: Any) -> bool:
    return all(cell is None or isinstance(cell, numbers.Number) for cell in column)


def put(table: Table, name: str, column: Any) -> None:
    """Adds a column of a data frame to a table."""
    kind = str(column.dtype).lower()
    if kind.startswith(("datetime", "timedelta", "date", "duration", "period", "time")):
        raise TypeError(times(name))
    if kind.startswith("complex"):
        raise ValueError(f"Complex data not supported: column {name!r}")
    if hasattr(column, "isna"):
        absent = np.asarray(column.isna(), dtype=bool)
    else:
        absent = np.asarray(column.is_null(), dtype=bool)
    frame = {name: column}
    if is_number(frame, name):
        table.numbers(name, numbers_of(column, absent))
        return
    cells: list[str | None] = []
    for cell, gone in zip(column, absent):
        if gone:
            cells.append(None)
        elif isinstance(cell, (str, numbers.Number, np.bool_)):
            cells.append(text_of(cell))
        elif kind == "category":
            # Whatever it is called: an interval of numbers, a time, ...
            cells.append(str(cell))
        elif isinstance(cell, (datetime.date, datetime.time, datetime.timedelta)):
            raise TypeError(times(name))
        else:
            kind = type(cell).__name__
            raise TypeError(f"column {name!r} holds a {kind}: argument must be a string or a number")
    table.texts(name, cells)


def times(name: str) -> str:
    """What is wrong with a column of times."""
    return f"column {name!r} holds times: give the parts that matter as numbers, such as the hour or the day of the year"


def numbers_of(column: Any, absent: Any) -> Any:
    """A column of numbers, NaN where they are missing."""
    if hasattr(column, "to_list") and not hasattr(column, "isna"):
        column = column.cast(float) if hasattr(column, "cast") else column
        return np.asarray(column.to_numpy(), dtype=np.float64)
    if absent.any():
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column, dtype=np.float64)


def text_of(cell: Any) -> str:
    """A cell as a category: numbers in their shortest form, as the library writes them."""
    if isinstance(cell, (bool, np.bool_)):
        return str(bool(cell))
    if isinstance(cell, numbers.Integral):
        return str(int(cell))
    return str(cell)


def target_of(estimator: Any, y: Any, rows: int, *, numeric: bool) -> Any:
    """A checked target: one entry for each row, none missing."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    y = column_or_1d(
        check_array(y, ensure_2d=False, dtype=None, input_name="y", ensure_all_finite=numeric),
        warn=True,
    )
    if len(y) != rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[rows, len(y)]}"
        )
    if numeric:
        if y.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        try:
            return np.require(y, np.float64, ["C", "A"])
        except TypeError as error:
            raise ValueError(str(error)) from None
    no_gaps(y)
    return y


def no_gaps(labels: Any) -> None:
    """Refuses classes that are missing; of None scikit-learn would say that it is no label."""
    if labels.dtype.kind == "f":
        gone = np.isnan(labels)
    elif labels.dtype.kind == "O":
        # Of all things NaN alone is not itself; pandas has values of its own, one of them without a truth.
        absent = ("NoneType", "NAType", "NaTType")
        gone = np.array([type(cell).__name__ in absent or cell != cell for cell in labels])
    else:
        return
    if gone.any():
        row = int(np.argmax(gone)) + 1
        raise ValueError(f"Input y contains NaN: the class is missing in row {row}; leave such rows out")


def target_name(y: Any, names: list[str]) -> str:
    """The name of a target: its own, where it has one that no input has."""
    own = getattr(y, "name", None)
    name = own if isinstance(own, str) and own else "y"
    while name in names:
        name += "_"
    return name
