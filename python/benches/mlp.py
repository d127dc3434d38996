"""LoopRegressor beside scikit-learn's MLPRegressor with as many numbers, on the nine regression data sets of the paper.

    python python/benches/mlp.py run --data-dir DIR -o cells.jsonl [--splits 5] [--sets airfoil,concrete] [--jobs 2]
    python python/benches/mlp.py table cells.jsonl

DIR is a data folder of `loopfit data fetch`. Each cell is one set, one split (a fifth of the rows held out) and one of

- ``loopfit``: LoopRegressor under the paper's cap, all else by default;
- ``mlp``: MLPRegressor as it comes, with the widest hidden layer that the cap holds;
- ``tuned``: MLPRegressor with layers, units, solver, rate and penalty by cross-validation, none with more numbers than the cap.

Inputs and target are scaled for the MLP, which loopfit does itself. A cell runs in a process of its own on one thread; its seconds are
processor time. Cells that are in the file already are not computed again.
"""

import argparse
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

# The paper's caps.
CAPS = {
    "airfoil": 64,
    "power-plant": 32,
    "fish-toxicity": 32,
    "white-wine": 64,
    "concrete": 128,
    "california-housing": 64,
    "abalone": 64,
    "sgemm": 64,
    "sarcos": 512,
}
# The dearest first, so that no core waits for them at the end.
SETS = ["sarcos", "california-housing", "sgemm", "white-wine", "concrete", "abalone", "power-plant", "airfoil", "fish-toxicity"]
METHODS = ["tuned", "loopfit", "mlp"]
# Rows of a set at most, drawn once: the MLP's grid takes hours with more.
MOST_ROWS = 25_000


def lines(path, delimiter=",", header=True):
    packed = path.with_name(path.name + ".gz")
    content = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig")), delimiter=delimiter) if row]
    return rows[1:] if header else rows


def numbers(path, **how):
    return np.array(lines(path, **how), dtype=float)


def read(folder, name):
    """Inputs and target, as the paper has them."""
    at = Path(folder) / name
    if name == "airfoil":
        table = numbers(at / "airfoil_self_noise.dat", delimiter="\t", header=False)
    elif name == "power-plant":
        table = numbers(at / "Folds5x2_pp_sheet1.csv")
    elif name == "fish-toxicity":
        table = numbers(at / "qsar_fish_toxicity.csv", delimiter=";", header=False)
    elif name == "white-wine":
        table = numbers(at / "winequality-white.csv", delimiter=";")
    elif name == "concrete":
        table = numbers(at / "Concrete_Data.csv")
    elif name == "california-housing":
        longitude, latitude, age, rooms, beds, people, households, income, value = numbers(at / "cal_housing.data", header=False).T
        per = rooms / households, beds / households, people, people / households
        table = np.column_stack([income, age, *per, latitude, longitude, value / 1e5])
    elif name == "abalone":
        rows = lines(at / "abalone.data", header=False)
        sexes = [[float(row[0] == sex) for sex in "FIM"] for row in rows]
        table = np.column_stack([sexes, np.array([row[1:] for row in rows], dtype=float)])
    elif name == "sgemm":
        raw = numbers(at / "sgemm_product.csv")
        table = np.column_stack([raw[:, :14], raw[:, 14:].mean(axis=1)])
    else:
        from scipy.io import loadmat

        packed = gzip.decompress((at / "sarcos_inv_test.mat.gz").read_bytes())
        test = loadmat(io.BytesIO(packed))["sarcos_inv_test"]
        more = numbers(at / "sarcos_inv_extra_rows.csv")[:, 1:]
        table = np.vstack([more, test])[:, :22]
    if len(table) > MOST_ROWS:
        table = table[np.sort(np.random.default_rng(0).choice(len(table), MOST_ROWS, replace=False))]
    return table[:, :-1], table[:, -1]


def count(layers, d):
    """Weights and biases of an MLP with one output."""
    sizes = [d, *layers, 1]
    return sum((a + 1) * b for a, b in zip(sizes, sizes[1:]))


def widest(d, cap, depth):
    """Hidden layers of equal width, as wide as the cap holds; none if it holds none."""
    width = 0
    while count((width + 1,) * depth, d) <= cap:
        width += 1
    return (width,) * depth if width > 0 else None


def mlp(X, y, cap, split, tuned):
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    d = X.shape[1]
    one, two = widest(d, cap, 1), widest(d, cap, 2)
    plain = MLPRegressor(hidden_layer_sizes=one, random_state=split)
    model = TransformedTargetRegressor(make_pipeline(StandardScaler(), plain), transformer=StandardScaler())
    if not tuned:
        return model.fit(X, y)
    layers = [own for own in (one, two) if own]
    name = "regressor__mlpregressor__"
    grid = [
        {"hidden_layer_sizes": layers, "activation": ["relu", "tanh"], "solver": ["lbfgs"], "alpha": [1e-4, 1e-2, 0.1, 1.0, 10.0], "max_iter": [1000]},
        {"activation": ["relu", "tanh"], "learning_rate_init": [1e-3, 1e-2], "max_iter": [1000]},
    ]
    grid = [{name + key: values for key, values in part.items()} for part in grid]
    folds = 5 if len(y) <= 5000 else 3
    return GridSearchCV(model, grid, cv=folds, scoring="neg_mean_squared_error").fit(X, y)


def cell(folder, name, split, method):
    """One fit and its test error."""
    from sklearn.model_selection import train_test_split

    X, y = read(folder, name)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=split)
    cap, d = CAPS[name], X.shape[1]
    wall, begin = time.monotonic(), time.process_time()
    if method == "loopfit":
        from loopfit import LoopRegressor

        model = LoopRegressor(cap, random_state=split, n_jobs=1).fit(X, y)
        numbers, chosen = model.model_.count, str(model.model_)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = mlp(X, y, cap, split, method == "tuned")
        fitted = getattr(model, "best_estimator_", model).regressor_[-1]
        numbers, chosen = count(fitted.hidden_layer_sizes, d), str(fitted)
    seconds, wall = time.process_time() - begin, time.monotonic() - wall
    error = float(np.mean((model.predict(X_test) - y_test) ** 2))
    variance = float(np.var(y_test))
    return {
        "set": name, "rows": len(y) + len(y_test), "inputs": d, "cap": cap, "split": split, "method": method,
        "numbers": numbers, "mse": error, "variance": variance, "seconds": seconds, "wall": wall, "model": chosen,
    }  # fmt: skip


def run(arguments):
    out = Path(arguments.out)
    known = set()
    if out.exists():
        known = {(c["set"], c["split"], c["method"]) for c in map(json.loads, out.read_text().splitlines())}
    wanted = arguments.sets.split(",") if arguments.sets else SETS
    # Split by split: what there is time for is whole for every set.
    cells = [(name, split, method) for split in range(arguments.splits) for name in wanted for method in METHODS]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

    def one(wanted):
        name, split, method = wanted
        command = [sys.executable, __file__, "cell", "--data-dir", arguments.data_dir, name, str(split), method]
        ran = subprocess.run(command, capture_output=True, text=True, env=environment)
        if ran.returncode:
            return f"{name} {split} {method} failed: {ran.stderr.strip().splitlines()[-1:]}"
        with out.open("a") as file:
            file.write(ran.stdout)
        return None

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for failed in pool.map(one, [c for c in cells if c not in known]):
            if failed:
                print(failed, file=sys.stderr)


def table(arguments):
    """Means over the splits that all three have, as Markdown; where there is none, what there is."""
    found = defaultdict(lambda: defaultdict(dict))
    for line in Path(arguments.cells).read_text().splitlines():
        one = json.loads(line)
        found[one["set"]][one["split"]][one["method"]] = one
    heads = "".join(f" {name}: numbers | test MSE | CPU s |" for name in ("loopfit", "MLP", "MLP tuned"))
    print(f"| data set | rows | inputs | cap | splits |{heads}")
    print("|:--|" + 13 * "--:|")
    for name in CAPS:
        splits = list(found[name].values())
        if not splits:
            continue
        whole = [own for own in splits if len(own) == len(METHODS)]
        one = next(iter(splits[0].values()))
        means = {}
        for method in METHODS:
            cells = [own[method] for own in whole or splits if method in own]
            if cells:
                means[method] = {key: np.mean([c[key] for c in cells]) for key in ("numbers", "mse", "seconds")}
        lowest = min(mean["mse"] for mean in means.values())
        text = f"| {name} | {one['rows']:,} | {one['inputs']} | {one['cap']} | {len(whole) or '-'} "
        for method in ("loopfit", "mlp", "tuned"):
            if method not in means:
                text += "| - | - | - "
                continue
            mean = means[method]
            mark = "**" if whole and mean["mse"] == lowest else ""
            text += f"| {mean['numbers']:.0f} | {mark}{mean['mse']:.4g}{mark} | {mean['seconds']:.1f} "
        print(text + "|")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    of_run = parts.add_parser("run", help="compute cells")
    of_run.add_argument("--data-dir", default=os.environ.get("LOOPFIT_DATA", "data"))
    of_run.add_argument("-o", "--out", required=True)
    of_run.add_argument("--splits", type=int, default=5)
    of_run.add_argument("--sets")
    of_run.add_argument("--jobs", type=int, default=os.cpu_count())
    of_run.set_defaults(call=run)
    of_cell = parts.add_parser("cell", help="compute one")
    of_cell.add_argument("--data-dir", required=True)
    for name in ("set", "split", "method"):
        of_cell.add_argument(name)
    of_cell.set_defaults(call=lambda a: print(json.dumps(cell(a.data_dir, a.set, int(a.split), a.method))))
    of_table = parts.add_parser("table", help="means as Markdown")
    of_table.add_argument("cells")
    of_table.set_defaults(call=table)
    arguments = parser.parse_args()
    arguments.call(arguments)
