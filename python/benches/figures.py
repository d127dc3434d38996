"""Draws docs/errors.svg and docs/gallery.svg from what the benchmarks have measured.

    python python/benches/figures.py                           # from docs/selection/errors.json and docs/gallery.md
    python python/benches/figures.py airfoil.json more.json    # first takes the errors from cells of the benchmark

The cells come from `cargo xtask bench peers-quality --tables airfoil,diabetes --caps 32,64,128,256 --json cells.json`.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

from loopfit import _loopfit

DOCS = Path(__file__).parents[2] / "docs"
KEPT = DOCS / "selection" / "errors.json"
METHODS = {"linear": 4, "additive": 2, "mars": 1, "mlp": 0, "loopfit": 3}
NAMES = {"mlp": "MLP", "mars": "MARS", "additive": "cubic splines"}


def take(files):
    """Means of stored numbers and test errors over splits, by table, method and cap."""
    cells = defaultdict(lambda: defaultdict(list))
    for file in files:
        for cell in json.loads(Path(file).read_text()):
            both = {**cell["peers"], "loopfit": cell["loopfit"]}
            for method in METHODS:
                found = both.get(method)
                if found:
                    key = (method, cell["cap"])
                    cells[cell["table"]][key].append((found["count"], found["test"]))
    kept = {}
    for table, found in sorted(cells.items()):
        rows = []
        for (method, cap), values in sorted(found.items()):
            counts, errors = zip(*values)
            mean = lambda v: sum(v) / len(v)
            rows.append(
                {"method": method, "cap": cap, "count": mean(counts), "error": mean(errors), "splits": len(values)}
            )
        kept[table] = rows
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")


def errors():
    """Test errors against stored numbers, as an SVG."""
    panels = []
    for table, rows in json.loads(KEPT.read_text()).items():
        curves = []
        for method, color in METHODS.items():
            own = sorted({(row["count"], row["error"]) for row in rows if row["method"] == method})
            points = [(x, y, y, y) for x, y in own]
            curves.append((NAMES.get(method, method), color, method == "linear", points))
        panels.append((table, curves, []))
    return _loopfit.curves(
        "Test error against the numbers that a model stores", "stored numbers", "test MSE", panels
    )


def gallery():
    """The largest errors of docs/gallery.md over those of loopfit, for the bytes of the cap, as an SVG."""
    colors = {"polynomial": 2, "lookup table": 4, "scikit-learn MLP": 0}
    jobs, dots, own, output = [], [], None, ""
    for line in (DOCS / "gallery.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[6] == "largest error":
            output = cells[0].split(",")[0]
        elif len(cells) == 7 and cells[0] == "**loopfit**":
            own = float(cells[6])
            # Short enough for all of them below the axis.
            jobs.append(f"{len(jobs) + 1} {output.split('_')[0]}")
        elif len(cells) == 7 and cells[0] in colors:
            ratio = float(cells[6]) / own
            # No line joins two jobs: nothing lies between them.
            dots.append((cells[0], colors[cells[0]], False, [(len(jobs), ratio, ratio, ratio)]))
    return _loopfit.curves(
        "Jobs of the gallery, for the same bytes",
        " ".join(jobs),
        "largest error over that of loopfit",
        [("", dots, [("loopfit", 1.0)])],
        counted=True,
    )


if __name__ == "__main__":
    if sys.argv[1:]:
        take(sys.argv[1:])
    (DOCS / "errors.svg").write_text(errors())
    (DOCS / "gallery.svg").write_text(gallery())
