"""`loopfit fit` beside simple peers at equal numbers of stored scalars: errors on test rows.

Files go to target/quality/TABLE/splitK: train.csv and test.csv, peers.json (errors of the peers, computed once) and
loopfit-*.json (those of one build and one set of options). Run by `cargo xtask bench peers-quality`.
"""

import argparse
import contextlib
import hashlib
import itertools
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import packages
import report
import sklearn
import tables
from fitting import CAPS, best_settings, calibration_error
from peers import PEERS, REFERENCE, linear_no_cap

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "target/quality"
SETS = tables.SETS | packages.SETS


def encoded(train, test):
    """Matrices of the inputs, a string column as one indicator for each of its values, a missing number as the median."""
    levels = {name: np.unique(c) for name, c in train.columns.items() if c.dtype.kind == "U"}

    def matrix(rows):
        parts = [c[:, None] == levels[name] if name in levels else c[:, None] for name, c in rows.columns.items()]
        return np.hstack(parts).astype(float)

    middle = np.nanmedian(matrix(train), axis=0)

    def filled(rows):
        x = matrix(rows)
        return np.where(np.isnan(x), middle, x)

    return (filled(train), train.y), (filled(test), test.y)


def write_json(path, value):
    """All or nothing: an interrupted run leaves the file as it was."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value, indent=1))
    partial.replace(path)


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else {}


def run_peers(folder, table, k, names):
    """{peer: {cap: result}} of the peers named, from the cache where it has them."""
    path = folder / "peers.json"
    cache = read_json(path)
    missing = [name for name in names if name not in cache]
    if missing:
        train, test = encoded(*table.split(k))
        seed = zlib.crc32(f"{table.name} {k}".encode()) % 2**31
        for name in missing:
            start = time.time()
            if name == REFERENCE:
                found = best_settings(linear_no_cap, train, test, table.classes, (None,), seed)
                found = {"none": found[None]}
            else:
                found = best_settings(PEERS[name], train, test, table.classes, CAPS, seed)
            # Read again: another run may have added peers meanwhile.
            cache = read_json(path) | {name: {str(cap): result for cap, result in found.items()}}
            print(f"{table.name} split {k} {name}: {time.time() - start:.1f} s", file=sys.stderr, flush=True)
            write_json(path, cache)
    return {name: cache[name] for name in names}


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(map(str, command))}: exit {done.returncode}: {done.stderr.strip()[-500:]}")
    return done.stdout


def run_loopfit(folder, table, k, cap, program, fit_args, key):
    """Fit, score and, for classes, predict; from the cache where this build has done it with these options."""
    path = folder / f"loopfit-{key}.json"
    cache = read_json(path)
    if str(cap) in cache:
        return cache[str(cap)]
    model = folder / f"loopfit-{key}-{cap}.safetensors"
    start, used = time.time(), processor_seconds()
    what = ["--target", "y", "--budget", str(cap), "-o", model]
    try:
        fitted = json.loads(output_of([program, "fit", folder / "train.csv", *what, "--quiet", "--json", *fit_args]))
    except RuntimeError as failure:
        print(failure, file=sys.stderr, flush=True)
        return None
    times = {"seconds": time.time() - start, "processor_seconds": processor_seconds() - used}
    result = described(fitted) | times | scored(folder, table, k, model, program)
    write_json(path, read_json(path) | {str(cap): result})
    say(table, k, cap, result)
    return result


def run_curve(folder, table, k, caps, program, fit_args, key):
    """What a fit under each of the caps without test rows delivers, from one selection: {cap: result}."""
    path = folder / f"loopfit-{key}.json"
    cache = read_json(path)
    if all(str(cap) in cache for cap in caps):
        return cache
    start, used = time.time(), processor_seconds()
    # A fit climbs from its cap's halves down to 16.
    rungs = [max(caps)]
    while rungs[-1] >= 32:
        rungs.append(rungs[-1] // 2)
    models = folder / f"loopfit-{key}"
    what = ["--target", "y", "--effort", "standard", "--caps", ",".join(map(str, rungs)), "--models", models]
    found = json.loads(output_of([program, "curve", folder / "train.csv", *what, "--quiet", "--json", *fit_args]))
    times = {"seconds": time.time() - start, "processor_seconds": processor_seconds() - used}
    results = {}
    for point in found["points"]:
        cap, kept = point["cap"], point["selected"][0]
        model = models / f"{cap}.safetensors"
        result = {"selected": name_of(kept), "count": kept["count"], "validation": kept["validation"]}
        linear = point["linear"] and point["linear"]["validation"]
        results[str(cap)] = result | {"linear": linear} | times | scored(folder, table, k, model, program)
    models.rmdir()
    write_json(path, read_json(path) | results)
    for cap in caps:
        say(table, k, cap, results[str(cap)])
    return results


def scored(folder, table, k, model, program):
    """What a model file says of the test rows; the file goes."""
    score = json.loads(output_of([program, "score", model, folder / "test.csv", "--json"]))
    result = {"test": score["value"], "metric": score["metric"]}
    if table.classes:
        predicted = json.loads(output_of([program, "predict", model, folder / "test.csv", "--json"]))
        result["ece"] = calibration_error(table.split(k)[1].y, probabilities(predicted))
    model.unlink()
    return result


def say(table, k, cap, result):
    took = f"{result['seconds']:.1f} s, {result['processor_seconds']:.1f} s of a processor"
    print(f"{table.name} split {k} cap {cap}: {result['test']:.4g}, {took}", file=sys.stderr, flush=True)


def processor_seconds():
    """Of all programs that were run and have ended: what other work on the machine changes little."""
    of = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of.ru_utime + of.ru_stime


def name_of(kept):
    """The method and the numbers of a shape."""
    numbers = kept.get("shape", {})
    shape = ",".join(str(numbers[name]) for name in ("q", "r", "t") if numbers.get(name) is not None)
    return f"{kept['method']} {shape}".strip()


def described(fitted):
    """What `fit --json` says about the model it kept."""
    kept = next((m for m in fitted["methods"] if m["method"] == fitted["selected"]), {})
    return {
        "selected": name_of(kept | {"method": fitted["selected"]}),
        "count": kept.get("count"),
        "validation": kept.get("validation"),
        "own_test": kept.get("test"),
        "fit": {name: value for name, value in fitted.items() if name not in ("search", "inputs", "data", "model")},
    }


def probabilities(predicted):
    """The matrix of class probabilities, column k for class ck, from the object that `predict --json` prints."""
    rows = np.array(predicted["probabilities"], float)
    if rows.ndim == 1:
        # Two classes: the probability of the second.
        rows = np.column_stack([1 - rows, rows])
    return rows[:, [predicted["classes"].index(f"c{k}") for k in range(rows.shape[1])]]


def listed(text):
    return [part for part in text.split(",") if part]


def arguments():
    parser = argparse.ArgumentParser(prog="cargo xtask bench peers-quality", description=__doc__)
    parser.add_argument("--bin", type=Path, default=ROOT / "target/release/loopfit", help="the loopfit to measure")
    parser.add_argument("--set", choices=SETS, default="public", help="check and drawn are never to tune on")
    parser.add_argument("--tables", type=listed, help="only these of the set")
    parser.add_argument(
        "--caps", type=lambda text: [int(c) for c in listed(text)], default=list(CAPS), help="only these caps"
    )
    parser.add_argument("--splits", type=int, default=5, help="how many splits")
    parser.add_argument("--peers", type=listed, default=list(PEERS), help="only these peers, or none")
    parser.add_argument(
        "--fit-args",
        type=shlex.split,
        default=[],
        help='further arguments of loopfit fit, as --fit-args="--effort quick"',
    )
    parser.add_argument(
        "--one-selection",
        action="store_true",
        help="one loopfit curve for all caps: the models of fits with --test-fraction 0, in about half of the time",
    )
    parser.add_argument("--only-peers", action="store_true", help="fill the peers' cache, run no loopfit")
    parser.add_argument("--json", type=Path, help="write everything here, after every split of every table")
    chosen = parser.parse_args()
    if chosen.peers == ["none"]:
        chosen.peers = []
    if unknown := set(chosen.peers) - set(PEERS):
        parser.error(f"unknown peers {sorted(unknown)}; there are {', '.join(PEERS)}")
    if not set(chosen.caps) <= set(CAPS):
        parser.error(f"caps are among {CAPS}")
    if not chosen.only_peers and not chosen.bin.exists():
        parser.error(f"{chosen.bin} is missing: build it with cargo build --release, or name it with --bin")
    every = {table.name: table for table in SETS[chosen.set]()}
    if unknown := set(chosen.tables or ()) - set(every):
        parser.error(f"unknown tables {sorted(unknown)}; the set {chosen.set} has {', '.join(every)}")
    chosen.tables = [every[name] for name in chosen.tables or every]
    return chosen


def build_key(program, fit_args):
    """Names a build and its options."""
    return hashlib.sha256(program.read_bytes() + repr(fit_args).encode()).hexdigest()[:12]


@contextlib.contextmanager
def kept(program, key):
    """A copy of the program, so that a build meanwhile does not change what is measured."""
    copy = FOLDER / f"loopfit-{key}-{os.getpid()}"
    FOLDER.mkdir(parents=True, exist_ok=True)
    shutil.copy2(program, copy)
    try:
        yield copy
    finally:
        copy.unlink()


def measure(chosen, program, key):
    """One entry for each split, table and cap."""
    cells = []
    # Splits outside, so that a run that is stopped has every table.
    for k, table in itertools.product(range(chosen.splits), chosen.tables):
        folder = FOLDER / table.name / f"split{k}"
        if not (folder / "test.csv").exists():
            folder.mkdir(parents=True, exist_ok=True)
            for name, rows in zip(("train", "test"), table.split(k), strict=True):
                rows.write(folder / f"{name}.csv", table.classes)
        peers = run_peers(folder, table, k, [REFERENCE, *chosen.peers])
        ours_of = {}
        if program and chosen.one_selection:
            ours_of = run_curve(folder, table, k, chosen.caps, program, chosen.fit_args, key)
        for cap in chosen.caps:
            ours = ours_of.get(str(cap))
            if program and not chosen.one_selection:
                ours = run_loopfit(folder, table, k, cap, program, chosen.fit_args, key)
            cell = {"table": table.name, "classes": table.classes, "split": k, "cap": cap, "loopfit": ours}
            of_cap = {name: peers[name].get(str(cap)) for name in chosen.peers}
            cells.append({**cell, "peers": of_cap, "reference": peers[REFERENCE]["none"]})
        if chosen.json:
            write_json(chosen.json, cells)
    return cells


def main():
    # Settings that do not converge are judged by their errors, as all are.
    warnings.filterwarnings("ignore")
    chosen = arguments()
    if chosen.only_peers:
        cells = measure(chosen, None, None)
    else:
        key = build_key(chosen.bin, [*chosen.fit_args, *["one selection"] * chosen.one_selection])
        with kept(chosen.bin, key) as program:
            cells = measure(chosen, program, key)
    print(report.markdown(cells))
    print(f"\nPeers with scikit-learn {sklearn.__version__}, numpy {np.__version__}.")


if __name__ == "__main__":
    main()
