"""What the pages and the tutorial show is what happens."""

import doctest
import importlib.util
import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def examples(page):
    """The lines of the blocks of an interpreter's session."""
    lines, inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = line == "```pycon"
            lines.append("")
        elif inside:
            lines.append(line)
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["README.md", "python/README.md"])
def test_pages_show_what_happens(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = doctest.DocTestParser().get_doctest(examples(ROOT / name), {}, name, name, 0)
    assert session.examples
    said = []
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    ran = doctest.DocTestRunner(optionflags=options).run(session, out=said.append)
    assert ran.failed == 0, "".join(said)


@pytest.mark.parametrize("name", ["errors", "gallery"])
def test_figures_are_those_of_the_measurements(name):
    own = importlib.util.spec_from_file_location("figures", ROOT / "python" / "benches" / "figures.py")
    figures = importlib.util.module_from_spec(own)
    own.loader.exec_module(figures)
    drawn = (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8")
    assert getattr(figures, name)() == drawn, "python python/benches/figures.py draws it anew"


@pytest.mark.skipif("LOOPFIT_LONG_TESTS" not in os.environ, reason="cargo xtask test --python runs it")
def test_the_tutorial_runs(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(ROOT / "python" / "tutorial.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()


def test_the_tutorial_is_a_notebook():
    cells = json.loads((ROOT / "python" / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
    assert sum(cell["cell_type"] == "code" for cell in cells) > 5
    for cell in cells:
        if cell["cell_type"] == "code":
            compile("".join(cell["source"]), "tutorial", "exec")
