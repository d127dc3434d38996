"""scikit-learn's own checks, all of them, with no exceptions."""

import os

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from loopfit import LoopClassifier, LoopDensity, LoopRegressor

# The defaults look for so long that some hundred fits take a quarter of an hour; `cargo xtask test --python` has the time.
DEFAULTS = [LoopRegressor(), LoopClassifier(), LoopDensity()]
QUICK = [
    LoopRegressor(budget=12, method="single", effort="quick", validation_fraction=0.0),
    LoopClassifier(budget=12, method="single", effort="quick", validation_fraction=0.0),
    LoopDensity(budget=24, method="loop", effort=200),
]
ALL = os.environ.get("LOOPFIT_LONG_TESTS") is not None


@parametrize_with_checks(QUICK)
def test_quick(estimator, check):
    check(estimator)


if ALL:

    @parametrize_with_checks(DEFAULTS)
    def test_defaults(estimator, check):
        check(estimator)


@pytest.mark.parametrize("estimator", DEFAULTS, ids=lambda e: type(e).__name__)
def test_defaults_are_those_of_the_command_line(estimator):
    parameters = estimator.get_params()
    assert parameters["budget"] == 128
    assert parameters["method"] == "all"
    assert parameters["effort"] == "standard"
    assert parameters["random_state"] == 0
