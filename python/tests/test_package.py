"""The package as a whole: types, documentation, names."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import loopfit

HERE = Path(__file__).parents[1]


def test_types_are_complete(tmp_path):
    pytest.importorskip("mypy")
    assert (Path(loopfit.__file__).parent / "py.typed").exists()
    # The sources: an installed package stands among modules that shadow those of mypy.
    settings = ["--strict", "--config-file", str(HERE / "pyproject.toml")]
    command = [sys.executable, "-m", "mypy", *settings, str(HERE / "loopfit")]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_docstrings_are_those_of_numpydoc():
    validate = pytest.importorskip("numpydoc.validate").validate
    names = ["LoopRegressor", "LoopClassifier", "LoopDensity", "compare", "load"]
    for name in list(names):
        for method in ("fit", "predict", "save", "export", "predict_iterations", "sample", "score"):
            own = getattr(getattr(loopfit, name), method, None)
            if own is not None and own.__module__.startswith("loopfit"):
                names.append(f"{name}.{method}")
    # Sections that say nothing new are left out, and summaries may take more than a line.
    ignored = {"EX01", "SA01", "SA04", "ES01", "GL01", "GL02", "GL03", "RT03", "PR01", "PR02", "GL08"}
    for name in names:
        found = validate(f"loopfit.{name}")["errors"]
        assert [e for e in found if e[0] not in ignored] == [], name


def test_importing_does_not_import_what_it_may_not_need():
    program = "import sys, loopfit; print([m for m in ('sklearn', 'scipy', 'pandas', 'tqdm') if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_names():
    for name in loopfit.__all__:
        assert getattr(loopfit, name) is not None
    assert set(loopfit.__all__) <= set(dir(loopfit))
    with pytest.raises(AttributeError, match="has no attribute"):
        loopfit.LoopRegresor
    assert re.fullmatch(r"\d+\.\d+\.\d+", loopfit.__version__)
    assert importlib.util.find_spec("loopfit._loopfit") is not None
