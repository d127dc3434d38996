"""Estimators in the hands of people."""

import datetime
import pickle
import subprocess

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from loopfit import LoopClassifier, LoopDensity, LoopRegressor, compare, load

QUICK = {"effort": "quick", "validation_fraction": 0.0}


@pytest.fixture(scope="module")
def fitted(table):
    return LoopRegressor(24, method="loop", effort="quick").fit(*table)


def test_what_was_found(fitted, table):
    X, y = table
    model = fitted.model_
    assert model.method in ("loop", "linear")
    assert 0 < model.count <= 24
    assert fitted.score(X, y) > 0.5
    results = fitted.results_
    assert list(results["method"])[0] == model.method
    assert set(results["method"]) == {"loop", "linear"}
    for column in ("validation", "validation_se", "test", "seconds", "q", "r", "count"):
        assert np.isfinite(results[column]).all(), column
    history = fitted.history_
    assert list(history["cap"])[-1] == 24
    assert set(history) == {"cap", "method", "count", "validation"}
    assert any("rows" in note for note in fitted.notes_)
    with config_context(transform_output="polars"):
        assert isinstance(fitted.results_, pl.DataFrame)


def test_iterations_end_with_the_prediction(fitted, table):
    X, _ = table
    steps = fitted.predict_iterations(X)
    assert steps.shape == (len(X), fitted.model_.iterations)
    assert (steps[:, -1] == fitted.predict(X)).all()


def test_intervals(fitted, table):
    X, y = table
    lower, upper = fitted.predict_interval(X, 0.8)
    assert ((lower <= y) & (y <= upper)).mean() > 0.6
    with pytest.raises(ValueError, match="ask for a lower one"):
        fitted.predict_interval(X, 0.9999)
    with pytest.raises(TypeError, match="level is a number, not 'most'"):
        fitted.predict_interval(X, "most")
    with pytest.raises(ValueError, match="level is at least 1e-06 and at most 1, not 0"):
        fitted.predict_interval(X, 0)


def test_memory_of_any_kind_gives_the_same_bits(fitted, table):
    X, _ = table
    expected = fitted.predict(X)
    wide = np.zeros((len(X), 6))
    wide[:, ::2] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(X), wide[:, ::2], frozen, X.tolist(), X[::-1].copy()[::-1]):
        assert (fitted.predict(same) == expected).all()
    single = X.astype(np.float32)
    assert (fitted.predict(single) == fitted.predict(single.astype(np.float64))).all()


def test_nothing_is_copied_in(fitted):
    tracemalloc = pytest.importorskip("tracemalloc")
    X = np.zeros((200_000, 3))
    fitted.predict(X[:10])
    tracemalloc.start()
    fitted.predict(X)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The result is a third of the input.
    assert most < X.nbytes / 2


def test_missing_cells(table):
    X, y = table
    X = X.copy()
    X[::9, 1] = np.nan
    model = LoopRegressor(12, method="single", **QUICK).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match="inf"):
        model.predict(np.full((1, 3), np.inf))
    with pytest.raises(ValueError, match="infinite"):
        LoopRegressor(12).fit(np.where(np.isnan(X), np.inf, X), y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_of_data_frames(library):
    rng = np.random.default_rng(3)
    size = rng.uniform(size=90)
    color = rng.choice(["red", "green", "blue"], size=90)
    heavy = rng.choice([True, False], size=90)
    y = size + 2.0 * (color == "red") + 1.0 * heavy
    if library == "pandas":
        frame = pd.DataFrame({"size": size, "color": pd.Categorical(color), "heavy": heavy})
        frame.loc[3, "color"] = None
    else:
        frame = pl.DataFrame({"size": size, "color": color, "heavy": heavy})
    model = LoopRegressor(8, method="single", **QUICK).fit(frame, y)
    assert model.score(frame, y) > 0.9
    assert list(model.feature_names_in_) == ["size", "color", "heavy"]
    assert model.model_.columns == ["size", "color", "heavy"]
    other = frame[["size", "color", "heavy"]].head(2)
    assert (model.predict(other) == model.predict(frame)[:2]).all()
    assert (pickle.loads(pickle.dumps(model)).predict(frame) == model.predict(frame)).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["size", "color"]])


def test_columns_that_are_no_inputs():
    u = np.arange(30.0)
    wrong = [
        (pd.date_range("2020-01-01", periods=30), TypeError, "column 't' holds times"),
        ([datetime.date(2020, 1, 1)] * 30, TypeError, "column 't' holds times"),
        ([datetime.timedelta(days=1), None] * 15, TypeError, "column 't' holds times"),
        (u * 1j, ValueError, "Complex data not supported: column 't'"),
        ([[1]] * 30, TypeError, "column 't' holds a list: argument must be a string or a number"),
    ]
    for column, kind, sentence in wrong:
        with pytest.raises(kind, match=sentence):
            LoopRegressor(8).fit(pd.DataFrame({"t": pd.Series(column), "u": u}), u)
    with pytest.raises(TypeError, match="X is a lazy frame"):
        LoopRegressor(8).fit(pl.DataFrame({"u": u}).lazy(), u)


def test_categories_of_anything():
    u = np.arange(60.0)
    frame = pd.DataFrame({"part": pd.cut(u, 3)})
    y = np.repeat([1.0, 5.0, 2.0], 20)
    model = LoopRegressor(8, method="single", **QUICK).fit(frame, y)
    assert model.score(frame, y) > 0.99


def test_classes_keep_their_names():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 2))
    numbers = np.select([X[:, 0] > 0.5, X[:, 1] > 0], [10, 2], 7)
    model = LoopClassifier(12, method="single", **QUICK).fit(X, numbers)
    assert model.classes_.tolist() == [2, 7, 10]
    assert model.score(X, numbers) > 0.8
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-2)
    assert (model.predict_iterations(X)[:, -1] == model.predict(X)).all()
    truth = LoopClassifier(6, method="single", **QUICK).fit(X, X[:, 0] > 0)
    assert truth.predict(X).dtype == bool
    assert truth.score(X, X[:, 0] > 0) > 0.9
    with pytest.raises(ValueError, match="one class only"):
        LoopClassifier(6).fit(X, np.zeros(90))
    with pytest.raises(ValueError, match="differ in more than blanks"):
        LoopClassifier(6, method="single", **QUICK).fit(X, np.where(X[:, 0] > 0, "a ", "a"))
    with pytest.raises(ValueError, match="not told apart as numbers of 64 bits"):
        LoopClassifier(6).fit(X, np.where(X[:, 0] > 0, 2**60, 2**60 + 1))


@pytest.mark.parametrize("pair", [("", "a"), ("NA", "yes"), ("1.0", "2.0"), ("1", "1.0"), ("?", "nan")])
def test_a_class_is_what_it_says(pair, tmp_path):
    X = np.random.default_rng(5).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, *pair)
    model = LoopClassifier(6, method="single", **QUICK).fit(X, y)
    assert sorted(model.classes_) == sorted(model.model_.classes) == sorted(pair)
    assert model.score(X, y) > 0.9
    model.save(tmp_path / "model.safetensors")
    assert (load(tmp_path / "model.safetensors").predict_proba(X)[:, 0] > 0.5).any()
    compared = compare(X, y, 6, seeds=1, method="single", effort="quick")
    assert len(compared) > 0


def test_classes_that_are_missing():
    X = np.random.default_rng(5).normal(size=(60, 2))
    texts = np.where(X[:, 0] > 0, "a", "b").astype(object)
    for gone in (None, np.nan, pd.NA, pd.NaT):
        y = texts.copy()
        y[7] = gone
        with pytest.raises(ValueError, match="Input y contains NaN: the class is missing in row 8"):
            LoopClassifier(6).fit(X, y)
    with pytest.raises(ValueError, match="the class is missing in row 1"):
        LoopClassifier(6).fit(X, np.where(np.arange(60) == 0, np.nan, X[:, 0] > 0))


def test_iterations_by_penalised_likelihood(table, command, tmp_path):
    X, y = table
    model = LoopRegressor(24, effort=448, iterations="auto").fit(X, y)
    history = model.history_
    assert list(history["iterations"]) == [1, 2, 4, 8, 16, 32, 64]
    least = (history["loss"] + history["penalty"]).argmin()
    assert model.model_.iterations == history["iterations"][least]
    assert any("16 for the test" in note for note in model.notes_)
    assert "numbers" in model._repr_html_()
    whole = LoopClassifier(24, effort=448, iterations="auto", validation_fraction=0).fit(X, y > 0)
    assert any("rows: 80 for training and the choice of T;" in note for note in whole.notes_)
    # The command line's bits.
    pd.DataFrame(X, columns=["c1", "c2", "c3"]).assign(y=y).to_csv(tmp_path / "data.csv", index=False)
    options = ["--target", "y", "--budget", "24", "--updates", "448", "--iterations", "auto"]
    path = tmp_path / "model.safetensors"
    subprocess.run([command, "fit", tmp_path / "data.csv", *options, "-o", path], check=True)
    assert (load(path).predict(X) == model.predict(X)).all()


def test_counts_weights_and_groups():
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"age": rng.uniform(size=120), "days": rng.integers(1, 5, size=120)})
    counts = rng.poisson(frame["days"] * (1 + frame["age"]))
    model = LoopRegressor(8, method="single", likelihood="poisson", exposure="days", **QUICK)
    model.fit(frame, counts)
    twice = frame.assign(days=2 * frame["days"])
    assert np.allclose(model.predict(twice), 2 * model.predict(frame))
    assert model.model_.columns == ["age"]
    weighted = LoopRegressor(8, method="single", weight="days", **QUICK).fit(frame, counts)
    assert weighted.model_.columns == ["age"]
    grouped = LoopRegressor(8, method="single", group="days", **QUICK).fit(frame, counts)
    assert grouped.model_.columns == ["age"]
    with pytest.raises(ValueError, match="has no column `day`"):
        LoopRegressor(8, weight="day").fit(frame, counts)


def test_density():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(150, 2)), columns=["u", "v"])
    density = LoopDensity(32, method="loop", effort=500).fit(X)
    inside = X[np.isfinite(density.score_samples(X))]
    assert density.score(inside) == density.score_samples(inside).mean()
    far = pd.DataFrame({"u": [1e3, 0.0], "v": [0.0, 0.0]})
    assert density.score_samples(far)[0] == -np.inf
    with pytest.warns(UserWarning, match="1 of 2 rows lie outside the support"):
        assert density.score(far) == -np.inf
    assert (density.sample(5) == density.sample(5)).all()
    with config_context(transform_output="pandas"):
        assert list(density.sample(5).columns) == ["u", "v"]
    assert {"seconds", "updates", "validation"} == set(density.history_)


def test_in_the_company_of_others(table):
    X, y = table
    small = LoopRegressor(8, method="single", **QUICK)
    assert cross_val_score(small, X, y, cv=2).shape == (2,)
    pipe = make_pipeline(StandardScaler(), small)
    search = GridSearchCV(pipe, {"loopregressor__budget": [4, 8]}, cv=2).fit(X, y)
    assert search.best_params_["loopregressor__budget"] in (4, 8)
    fitted = clone(small).fit(X, y)
    importance = permutation_importance(fitted, X, y, n_repeats=2, random_state=0)
    assert importance.importances_mean.argmax() == 2
    classes = LoopClassifier(8, method="single", **QUICK)
    calibrated = CalibratedClassifierCV(classes, cv=2).fit(X, y > 0)
    assert calibrated.predict_proba(X).shape == (80, 2)


def test_wrong_things_are_said_in_one_sentence(table):
    X, y = table
    wrong = [
        ({"budget": 0}, ValueError, "budget is at least 1, not 0"),
        ({"budget": 2.5}, TypeError, "budget is a whole number"),
        ({"budget": True}, TypeError, "budget is a whole number"),
        ({"budget": 10**30}, ValueError, "budget is below 2"),
        ({"method": "double"}, ValueError, "method is all or one of single, loop, untied"),
        ({"method": ("loop", "all")}, ValueError, "method is one of single, loop, untied"),
        ({"method": 3}, TypeError, "method is a name"),
        ({"architecture": "cnn"}, ValueError, "architecture is one of ffn"),
        ({"likelihood": "cauchy"}, ValueError, "likelihood is one of gaussian"),
        ({"likelihood": None}, TypeError, "likelihood is one of gaussian"),
        ({"effort": "much"}, ValueError, "effort is one of quick"),
        ({"effort": 1.5}, TypeError, "effort is quick, standard, strong or a number"),
        ({"time_limit": -1}, ValueError, "time_limit is at least"),
        ({"validation_fraction": 1}, ValueError, "validation_fraction is at least 0"),
        ({"activation": "gelu"}, ValueError, "activation is one of relu"),
        ({"iterations": 65}, ValueError, "at most 64"),
        ({"iterations": "automatic"}, ValueError, "iterations is auto, a whole number or a tuple"),
        ({"iterations": "auto", "method": "single"}, ValueError, "is only for loops"),
        ({"iterations": "auto", "refit": False}, ValueError, "is only for a fit with validation rows"),
        ({"iterations": "auto", "activation": "tanh"}, ValueError, "does not go with"),
        ({"tokens": "each"}, ValueError, "tokens are for"),
        ({"tokens": 2}, ValueError, "tokens are for"),
        ({"tokens": 2.5}, TypeError, "a number of groups"),
        ({"n_jobs": 0}, ValueError, "n_jobs is 1 or more"),
        ({"random_state": -1}, ValueError, "random_state is at least 0"),
        ({"refit": "yes"}, TypeError, "refit is True or False"),
        ({"exposure": "c1"}, ValueError, "is only for counts"),
        ({"effort": 100, "validation_fraction": 0.1}, ValueError, "does not go with"),
    ]
    for parameters, kind, sentence in wrong:
        with pytest.raises(kind, match=sentence) as raised:
            LoopRegressor(**{"budget": 8, **parameters}).fit(X, y)
        assert "--" not in str(raised.value), "options are for the command line"
    with pytest.raises(TypeError, match="[Ss]parse"):
        LoopRegressor(8).fit(csr_array(X), y)
    with pytest.raises(ValueError, match="NaN"):
        LoopRegressor(8).fit(X, np.where(y > 0, y, np.nan))
    with pytest.raises(ValueError, match="in row 1, which is not a count"):
        LoopRegressor(8, likelihood="poisson").fit(X, y**2)
    with pytest.raises(ValueError, match="have the same name: u, u, v"):
        LoopRegressor(8).fit(pd.DataFrame(X, columns=["u", "u", "v"]), y)
    with pytest.raises(TypeError, match="budgets is a list"):
        LoopRegressor().budget_curve(X, y, 8)
    for early in (lambda m: m.results_, lambda m: m.predict(X), lambda m: m.predict_iterations(X)):
        with pytest.raises(NotFittedError):
            early(LoopRegressor(8))
    with pytest.raises(ValueError, match="has one twice"):
        compare(X, y, 8, seeds=[3, 3])
    with pytest.raises(ValueError, match="holds no|cannot hold|smallest"):
        LoopClassifier(1).fit(X, y > 0)


def test_budget_curve_and_comparison(table, tmp_path):
    X, y = table
    model = LoopRegressor(method="single", effort="quick")
    curve = model.budget_curve(X, y, [4, 8], plot=tmp_path / "curve.svg")
    assert list(curve["cap"]) == [4, 8]
    assert (curve["count"] <= curve["cap"]).all()
    assert (tmp_path / "curve.svg").read_text().startswith("<svg")
    assert curve.attrs["conclusions"]
    assert "<svg" in curve.attrs["figure"]._repr_svg_()
    compared = compare(X, y, 12, seeds=[3, 4], method=("single", "loop"), effort="quick")
    assert set(compared["method"]) == {"linear", "single", "loop"}
    assert sorted(set(compared["seed"])) == [3, 4]
    summary = compared.attrs["summary"].set_index("method")
    mean = compared[compared["method"] == "loop"]["error"].mean()
    assert np.isclose(summary.loc["loop", "mean"], mean)
    assert summary["lowest_on"].sum() == 2


def test_questions_leave_the_estimator_as_it_is(table):
    X, y = table
    model = LoopRegressor(4, effort="quick").fit(X, y)
    classes = LoopClassifier(4, method="single", **QUICK).fit(X, y > 0)
    other = pd.DataFrame(X[:, :2], columns=["u", "v"])
    for estimator, target in [(model, y), (classes, np.where(y > 0, "a", "b"))]:
        before = estimator.predict(X)
        estimator.budget_curve(other, target, [4], plot=False)
        assert estimator.n_features_in_ == 3
        assert (estimator.predict(X) == before).all()


def test_comparisons_take_counts_as_counts(table):
    X, _ = table
    y = np.random.default_rng(0).poisson(2.0, size=len(X))
    options = {"seeds": 1, "method": "single", "effort": "quick"}
    counted = compare(X, y, 8, likelihood="poisson", **options)
    assert counted.attrs["metric"] == compare(X, y, 8, likelihood="poisson", task="regression", **options).attrs["metric"]
    assert counted.attrs["metric"] != compare(X, y % 2, 8, **options).attrs["metric"]


def test_who_was_not_reached_in_time_is_said(table):
    model = LoopRegressor(6, method="single", **QUICK).fit(*table)
    assert not any("time was over" in note for note in model.notes_)
    model._found |= {"complete": False, "absent": ["Loop", "Untied"]}
    assert model.notes_[-1] == "The time was over before the end: this is the best so far, without Loop, Untied."


def test_figures_that_cannot_be_written_are_refused_before_the_work(table, tmp_path, monkeypatch):
    X, y = table

    def work(*_):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("loopfit._loopfit.curve", work)
    monkeypatch.setattr("loopfit._loopfit.compare", work)
    asking = [lambda plot: LoopRegressor().budget_curve(X, y, plot=plot), lambda plot: compare(X, y, plot=plot)]
    for ask in asking:
        with pytest.raises(FileNotFoundError, match="no folder"):
            ask(tmp_path / "absent" / "figure.svg")
        with pytest.raises(IsADirectoryError, match="over a folder"):
            ask(tmp_path)
        with pytest.raises(TypeError, match="plot is True, False or the path of an SVG file, not 7"):
            ask(7)


def test_verbose_means_the_same_everywhere(table, capsys):
    X, y = table
    small = {"method": "single", "effort": "quick"}
    asking = [
        lambda verbose: LoopRegressor(6, verbose=verbose, **small).fit(X, y),
        lambda verbose: LoopRegressor(6, verbose=verbose, **small).budget_curve(X, y, [6, 12], plot=False),
        lambda verbose: compare(X, y, 6, seeds=1, verbose=verbose, **small),
    ]
    for ask in asking:
        with pytest.raises(TypeError, match="verbose is a whole number, not 'much'"):
            ask("much")
        ask(0)
        assert capsys.readouterr().err == ""
        ask(1)
        said = capsys.readouterr().err
        # Sentences below the bar.
        assert "100%" in said and said.rstrip().splitlines()[-1].endswith((".", "numbers may help"))


def test_a_notebook_shows_the_model(fitted):
    text = fitted._repr_html_()
    assert "<svg" in text and "numbers" in text
    assert "<svg" in fitted._repr_mimebundle_()["text/html"]
    assert "validation MSE" in text
    assert "Diamonds: errors with one standard error" in text
    # The colour that loops have in all figures of the report, and none of the other methods.
    assert 'class="c1"' in text and 'class="c0"' not in text and 'class="c3"' not in text
    assert "validation MSE" not in clone(fitted)._repr_html_()


def test_progress_is_shown(table, capsys):
    LoopRegressor(6, method="single", verbose=1, **QUICK).fit(*table)
    said = capsys.readouterr()
    assert "LoopRegressor" in said.err and "100%" in said.err
    assert "rows:" in said.err
    assert said.out == ""


def test_threads_and_seeds(table, monkeypatch):
    X, y = table
    monkeypatch.setenv("OMP_NUM_THREADS", str(10**30))
    LoopRegressor(12, method="loop", **QUICK).fit(X, y)
    monkeypatch.delenv("OMP_NUM_THREADS")
    one = LoopRegressor(12, method="loop", n_jobs=1, **QUICK).fit(X, y)
    two = LoopRegressor(12, method="loop", n_jobs=2, **QUICK).fit(X, y)
    many = LoopRegressor(12, method="loop", n_jobs=10**9, **QUICK).fit(X, y)
    assert one.model_ == two.model_ == many.model_
    assert one.model_.to_bytes() == two.model_.to_bytes()
    other = LoopRegressor(12, method="loop", random_state=np.random.RandomState(1), **QUICK)
    assert other.fit(X, y).model_ != one.model_
