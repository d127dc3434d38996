"""Results as data frames, by the library that there is."""

from __future__ import annotations

from errno import EISDIR, ENOENT
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn import get_config


def frame(rows: list[dict[str, Any]]) -> Any:
    """Rows as a data frame.

    Of polars where scikit-learn's configuration has ``transform_output="polars"``, of pandas otherwise; the rows as they are
    where pandas is not installed.
    """
    if get_config().get("transform_output") == "polars":
        import polars

        return polars.DataFrame(rows, infer_schema_length=None)
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def as_configured(values: Any, names: list[str]) -> Any:
    """A matrix as what scikit-learn's configuration asks for."""
    kind = get_config().get("transform_output", "default")
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(values, columns=names)
    if kind == "polars":
        import polars

        return polars.DataFrame(values, schema=names)
    return values


class Figure:
    """A figure that notebooks show.

    Parameters
    ----------
    svg : str
        The figure.
    """

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Figure: SVG of {len(self.svg):,} characters>"

    def save(self, path: Any) -> None:
        """Write the figure into a file.

        Parameters
        ----------
        path : str or path
            The file, which ends in ``.svg``.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def in_notebook() -> bool:
    """Whether someone would see a figure."""
    import sys

    shell = sys.modules.get("IPython")
    if shell is None or shell.get_ipython() is None:
        return False
    return type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


def can_be_shown(plot: Any) -> None:
    """Refuses, before the work, what a figure could not be written to after it."""
    if plot is None or isinstance(plot, bool):
        return
    if not isinstance(plot, (str, PathLike)):
        raise TypeError(f"plot is True, False or the path of an SVG file, not {plot!r}")
    folder = Path(plot).absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(ENOENT, "cannot write a figure where there is no folder", str(folder))
    if Path(plot).is_dir():
        raise IsADirectoryError(EISDIR, "cannot write a figure over a folder", str(plot))


def shown(svg: str, plot: Any) -> Figure:
    """The figure; shown in a notebook where ``plot`` is true, written where it is a path."""
    figure = Figure(svg)
    if plot is True and in_notebook():
        import IPython.display

        show: Any = IPython.display.display
        show(figure)
    elif isinstance(plot, (str, PathLike)):
        figure.save(plot)
    return figure
