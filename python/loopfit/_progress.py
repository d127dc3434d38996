"""How far a fit is, for people who wait."""

from __future__ import annotations

import sys
import time
import warnings
from types import TracebackType
from typing import Any


class Bar:
    """A bar of tqdm where it is installed, else a line in a terminal.

    Parameters
    ----------
    verbose : int
        Nothing is shown where it is 0.
    what : str
        The name of what is done.
    """

    def __init__(self, verbose: int, what: str) -> None:
        self.what = what
        self.verbose = verbose
        self.bar: Any = None
        self.line = False
        if verbose <= 0:
            return
        self.shown = (-1.0, 0.0)
        try:
            with warnings.catch_warnings():
                # A notebook without widgets gets the bar of a terminal, and needs no warning.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
        except ImportError:
            self.line = sys.stderr.isatty()
            return
        self.bar = tqdm(
            total=100, desc=what, bar_format="{desc}: {percentage:3.0f}%|{bar}| {elapsed}{postfix}"
        )

    @property
    def call(self) -> Any:
        """What the library is to call, if anything."""
        return self.follow if self.bar is not None or self.line else None

    def follow(self, done: float, best: float | None, updates: int | None) -> None:
        """Shows how far the work is: what is new, and every second how long it took."""
        now = time.monotonic()
        if round(done, 3) == self.shown[0] and now < self.shown[1] + 1.0:
            return
        self.shown = (round(done, 3), now)
        if self.bar is not None:
            self.bar.n = round(100 * done, 1)
            if best is not None:
                self.bar.set_postfix_str(f"best {best:.4g}", refresh=False)
            self.bar.refresh()
        elif self.line:
            tail = "" if best is None else f", best {best:.4g}"
            sys.stderr.write(f"\r{self.what}: {100 * done:3.0f}%{tail}   ")
            sys.stderr.flush()

    def say(self, sentences: list[str]) -> None:
        """Prints what was noticed, for those who asked for a bar."""
        if self.verbose > 0:
            for sentence in sentences:
                print(sentence, file=sys.stderr)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.bar is not None:
            if kind is None:
                self.bar.n = 100
                self.bar.refresh()
            self.bar.close()
        elif self.line:
            if kind is None:
                self.follow(1.0, None, None)
            sys.stderr.write("\n")
