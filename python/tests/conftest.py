"""Data that the tests share; fits are small, so that all of them take a minute."""

import os
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def table():
    """A product and a line of three inputs, without noise."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(80, 3))
    return X, X[:, 0] * X[:, 1] + X[:, 2]


@pytest.fixture(scope="session")
def command():
    """The command line, which `cargo xtask test` names."""
    path = os.environ.get("LOOPFIT_COMMAND")
    if path is None:
        pytest.skip("LOOPFIT_COMMAND does not name the command line")
    return path
