"""One file for Python and the command line, with the same bits."""

import errno
import json
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from loopfit import LoopClassifier, LoopDensity, LoopRegressor, load


def run(command, *arguments):
    return subprocess.run([command, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


@pytest.fixture()
def written(table, tmp_path):
    X, y = table
    frame = pd.DataFrame(X, columns=["u", "v", "w"]).assign(y=y)
    frame.to_csv(tmp_path / "data.csv", index=False)
    return frame, tmp_path


def test_same_bits_as_the_command_line(command, written):
    frame, folder = written
    data, model = folder / "data.csv", folder / "model.safetensors"
    options = ["--budget", "16", "--effort", "quick", "--seed", "5"]
    run(command, "fit", data, "--target", "y", *options, "-o", model)
    estimator = LoopRegressor(16, effort="quick", random_state=5)
    estimator.fit(frame[["u", "v", "w"]], frame["y"])
    theirs = load(model)
    # All but the name of the data: parameters, constants, errors, residuals.
    ours, other = (metadata(m.model_.to_bytes()) for m in (estimator, theirs))
    ours["provenance"]["source"] = other["provenance"]["source"]
    assert ours == other
    assert tensors(estimator.model_.to_bytes()) == tensors(model.read_bytes())
    expected = estimator.predict(frame[["u", "v", "w"]])
    assert (theirs.predict(frame) == expected).all()
    # And back: the file of Python in the command line.
    estimator.save(folder / "python.safetensors")
    said = json.loads(run(command, "predict", folder / "python.safetensors", data, "--json"))
    assert said["predictions"] == expected.tolist()
    assert run(command, "show", folder / "python.safetensors")


def test_same_bits_of_a_search(command, written):
    frame, folder = written
    data, model = folder / "data.csv", folder / "model.safetensors"
    options = ["--budget", "24", "--updates", "640", "--method", "loop"]
    run(command, "fit", data, "--target", "y", *options, "--refit", "-o", model)
    estimator = LoopRegressor(24, method="loop", effort=640).fit(frame[["u", "v", "w"]], frame["y"])
    assert tensors(estimator.model_.to_bytes()) == tensors(model.read_bytes())
    run(command, "fit", data, "--target", "y", *options, "-o", model)
    estimator.set_params(refit=False).fit(frame[["u", "v", "w"]], frame["y"])
    assert tensors(estimator.model_.to_bytes()) == tensors(model.read_bytes())


def test_same_bits_of_classes_and_densities(command, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    X.assign(species=names).to_csv(tmp_path / "iris.csv", index=False)
    model = tmp_path / "iris.safetensors"
    options = ["--target", "species", "--budget", "16", "--effort", "quick", "--method", "single"]
    run(command, "fit", tmp_path / "iris.csv", *options, "-o", model)
    estimator = LoopClassifier(16, effort="quick", method="single")
    estimator.fit(X, pd.Series(names, name="species"))
    assert tensors(estimator.model_.to_bytes()) == tensors(model.read_bytes())
    theirs = load(model)
    assert theirs.classes_.tolist() == estimator.classes_.tolist()
    assert (theirs.predict_proba(X) == estimator.predict_proba(X)).all()
    X.to_csv(tmp_path / "points.csv", index=False)
    model = tmp_path / "density.safetensors"
    options = ["--task", "density", "--budget", "64", "--updates", "320", "--method", "loop"]
    run(command, "fit", tmp_path / "points.csv", *options, "-o", model)
    density = LoopDensity(64, method="loop", effort=320).fit(X)
    assert tensors(density.model_.to_bytes()) == tensors(model.read_bytes())
    assert (load(model).score_samples(X) == density.score_samples(X)).all()


def awkward_tables():
    """Frames with a target `y`, options of the command line, and an estimator that is asked the same."""
    rng = np.random.default_rng(12)
    u, v = rng.uniform(-2, 2, size=(2, 90)).round(3)
    kind = rng.choice(["red", "green, dark", 'the "blue"', "7"], size=90)
    rate = np.exp(0.4 * u + 0.3 * v)
    days = rng.integers(1, 9, size=90)
    gaps = np.where(rng.uniform(size=90) < 0.15, np.nan, v)
    loud = np.where(v > 0.4, "loud", np.where(u > 0, "quiet", "off"))
    quick = {"effort": "quick", "method": ("loop",)}
    return {
        "categories": (pd.DataFrame({"u": u, "kind": kind, "y": u + 2.0 * (kind == "red") + (kind == "7")}), "", LoopRegressor(12, **quick)),
        "missing": (pd.DataFrame({"u": u, "v": gaps, "y": (u * v).round(4)}), "", LoopRegressor(16, random_state=3, **quick)),
        "classes": (pd.DataFrame({"u": u, "v": gaps, "y": loud}), "", LoopClassifier(16, **quick)),
        "truth": (pd.DataFrame({"u": u, "v": v, "y": (u * v > 0).astype(int)}), "--task binary", LoopClassifier(12, **quick)),
        "counts": (
            pd.DataFrame({"u": u, "v": v, "days": days, "y": rng.poisson(days * rate)}),
            "--likelihood poisson --exposure days",
            LoopRegressor(12, likelihood="poisson", exposure="days", **quick),
        ),
        "groups": (
            pd.DataFrame({"u": u, "v": v, "who": days, "w": days / 4, "y": (np.sin(u) + v).round(4)}),
            "--group who --weight w",
            LoopRegressor(12, group="who", weight="w", **quick),
        ),
    }


@pytest.mark.parametrize("name", list(awkward_tables()))
def test_same_bits_of_awkward_tables(name, command, tmp_path):
    frame, options, estimator = awkward_tables()[name]
    data, model = tmp_path / "data.csv", tmp_path / "model.safetensors"
    frame.to_csv(data, index=False)
    asked = ["--target", "y", *options.split(), "--method", "loop", "--effort", "quick"]
    asked += ["--budget", estimator.budget, "--seed", estimator.random_state]
    run(command, "fit", data, *asked, "-o", model)
    inputs = frame.drop(columns="y")
    estimator.fit(inputs, frame["y"])
    theirs = load(model)
    ours, other = (metadata(m.model_.to_bytes()) for m in (estimator, theirs))
    ours["provenance"]["source"] = other["provenance"]["source"]
    assert ours == other
    assert tensors(estimator.model_.to_bytes()) == tensors(model.read_bytes())
    say = "predict_proba" if isinstance(estimator, LoopClassifier) else "predict"
    assert (getattr(theirs, say)(inputs) == getattr(estimator, say)(inputs)).all()
    assert theirs.predict(inputs).tolist() == estimator.predict(inputs).tolist()


def metadata(contents):
    length = int.from_bytes(contents[:8], "little")
    return json.loads(next(iter(json.loads(contents[8 : 8 + length])["__metadata__"].values())))


def tensors(contents):
    return contents[8 + int.from_bytes(contents[:8], "little") :]


def test_arrays_without_names_go_by_their_places(table, tmp_path):
    X, y = table
    ones = np.ones(len(X))
    X = np.column_stack([X[:, 0], ones, X[:, 1:], ones])
    model = LoopRegressor(8, method="single", effort="quick").fit(X, y)
    assert model.model_.columns == ["c1", "c3", "c4"]
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert isinstance(again, LoopRegressor)
    assert (again.predict(X) == model.predict(X)).all()
    with pytest.raises(AttributeError, match="not its rivals"):
        again.results_


def test_exports(table, tmp_path):
    model = LoopRegressor(12, method="loop", effort="quick").fit(*table)
    for to, ending in [("c", "c"), ("onnx", "onnx"), ("rust", "rs"), ("js", "js"), ("html", "html")]:
        files = model.export(to, tmp_path / f"model.{ending}")
        assert [path.exists() for path in files] == [True] * (2 if to == "c" else 1)
        assert len(model.export(to)) > 100
    assert "tiny_predict" in model.export("c", name="tiny")
    with pytest.raises(ValueError, match="exported to one of c, rust, js, onnx, html"):
        model.export("java")
    with pytest.raises(TypeError, match="to is a text, not None"):
        model.export(None)
    with pytest.raises(ValueError, match="ends in|must end|name"):
        model.export("c", tmp_path / "model.txt")


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot read"):
        load(tmp_path / "absent.safetensors")
    (tmp_path / "text").write_text("not a model, whatever its name says")
    with pytest.raises(ValueError, match="not a safetensors file"):
        load(tmp_path / "text")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    model = LoopRegressor(4, effort="quick").fit(np.arange(40.0).reshape(20, 2), np.arange(20.0))
    for write in (model.save, lambda path: model.export("js", path)):
        with pytest.raises(FileNotFoundError, match="cannot write") as raised:
            write(tmp_path / "no" / "folder.js")
        # Not the temporary file beside it, which nobody asked for.
        assert ".tmp" not in str(raised.value)
        assert raised.value.errno == errno.ENOENT
