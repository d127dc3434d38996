"""What every peer shares: the case files, the training data, the clock.

A case file describes one shape: dimensions, starting parameters, one batch and
our gradient on it. `cargo xtask bench peers` writes them and runs the peers.
"""

import json
import os
import re
import select
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TRAIN_ROWS, VALID_ROWS, PREDICT_ROWS = 4096, 1024, 100_000
VALIDATE_EVERY = 200
FITS = 8  # how many fits the variants with vmap train at once

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
FINAL_RATE = 0.05  # the cosine ends at this fraction of the learning rate
GRADIENT_NORM_CAP = 5.0
COEFFICIENT_BOUND = 128.0
PREDICTION_BOUND = 8.0

# The Transformer's state: one row per data token, then these.
CONSTANT_TOKENS = ("controller", "reference.0", "reference.1")
LAYER_NORM_STABILISER = 1e-5

BEGIN = time.monotonic()
REPEATS, SECONDS = 3, 1.0
LIMIT = 150  # seconds that one measurement may take, compilation included


def pin_to_one_core():
    """One core for this process. Call before importing a framework, which
    sizes its thread pool when it is loaded."""
    os.environ.update(
        OMP_NUM_THREADS="1",
        MKL_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
        XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        JAX_PLATFORMS="cpu",
    )
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


@dataclass(frozen=True)
class Case:
    shape: str
    d: int
    q: int
    r: int
    t: int
    blocks: int
    tokens: list | None  # a Transformer's partition of the inputs, None for an FFN
    outputs: int
    batch: int
    multiclass: bool
    learning_rate: float
    weight_decay: float
    updates: int
    params: dict  # name -> float32 array, in the order of the file
    gradient: dict  # ours, on the batch (x, y)
    x: np.ndarray  # [batch, d]
    y: np.ndarray  # [batch]

    def block(self, step):
        """The index of the block that iteration `step` applies."""
        return step if self.blocks > 1 else 0


def tensor_shapes(d, q, r, outputs, tokens):
    """The shapes by name; tensors of a block without their `block.{i}.`."""
    shapes = {"w1": (r, q), "b1": (r,), "w2": (q, r), "b2": (q,), "output.bias": (outputs,)}
    if tokens is None:
        return shapes | {"input.weight": (q, d), "input.bias": (q,), "output.weight": (outputs, q)}
    for token, inputs in enumerate(tokens):
        shapes |= {f"input.{token}.weight": (q, len(inputs)), f"input.{token}.bias": (q,)}
    shapes |= {name: (q,) for name in CONSTANT_TOKENS}
    for name in ("query", "key", "value", "out"):
        shapes |= {f"{name}.weight": (q, q), f"{name}.bias": (q,)}
    for name in ("ln1", "ln2"):
        shapes |= {f"{name}.gain": (q,), f"{name}.bias": (q,)}
    rows = len(tokens) + len(CONSTANT_TOKENS)
    return shapes | {"output.weight": (outputs, rows * q)}


def read_case(path):
    raw = json.loads(Path(path).read_text())
    tokens = {"ffn": None, "transformer": raw["tokens"]}[raw["architecture"]]
    sizes = tensor_shapes(raw["d"], raw["q"], raw["r"], raw["outputs"], tokens)

    def arrays(named):
        return {
            name: np.array(values, np.float32).reshape(sizes[re.sub(r"^block\.\d+\.", "", name)])
            for name, values in named.items()
        }

    multiclass = raw["likelihood"] == "multiclass"
    return Case(
        shape=raw["shape"],
        d=raw["d"],
        q=raw["q"],
        r=raw["r"],
        t=raw["t"],
        blocks=raw["t"] if raw["tying"] == "untied" else 1,
        tokens=tokens,
        outputs=raw["outputs"],
        batch=raw["batch"],
        multiclass=multiclass,
        learning_rate=raw["learning_rate"],
        weight_decay=raw["weight_decay"],
        updates=raw["updates_hint"],
        params=arrays(raw["params"]),
        gradient=arrays(raw["gradient"]),
        x=np.array(raw["x"], np.float32).reshape(-1, raw["d"]),
        y=np.array(raw["y"], np.int32 if multiclass else np.float32),
    )


def sample(case, rows, seed):
    """Inputs and a learnable response: speed does not depend on it, as long
    as the fit neither diverges nor dies."""
    x = np.random.default_rng(seed).standard_normal((rows, case.d), np.float32)
    if case.multiclass:
        directions = np.random.default_rng(0).standard_normal((case.d, case.outputs), np.float32)
        return x, (x @ directions).argmax(axis=1).astype(np.int32)
    y = np.sin(2.0 * x.sum(axis=1) / np.sqrt(case.d))
    return x, ((y - y.mean()) / y.std()).astype(np.float32)


def batches(case, updates, seed):
    """[updates, batch] row numbers: a fresh permutation per epoch, the
    incomplete batch dropped."""
    generator = np.random.default_rng(seed)
    per_epoch = TRAIN_ROWS // case.batch
    epochs = -(-updates // per_epoch)
    order = [generator.permutation(TRAIN_ROWS)[: per_epoch * case.batch] for _ in range(epochs)]
    return np.concatenate(order).reshape(-1, case.batch)[:updates].astype(np.int32)


def gradient_error(case, gradient):
    """The largest difference from our gradient, relative to its largest entry."""
    ours = np.concatenate([value.ravel() for value in case.gradient.values()])
    theirs = np.concatenate([np.asarray(gradient[name]).ravel() for name in case.gradient])
    error = float(np.abs(theirs - ours).max() / np.abs(ours).max())
    if not np.isfinite(error):
        sys.exit(f"shape {case.shape}: a gradient is not finite")
    return error


def per_second(work, units):
    """Best of a few runs of `work`, each long enough for the clock, in units
    per second of CPU time."""
    work()
    best = 0.0
    for _ in range(REPEATS):
        calls, cpu, wall = 0, time.process_time(), time.perf_counter()
        while time.perf_counter() - wall < SECONDS:
            work()
            calls += 1
        best = max(best, calls * units / (time.process_time() - cpu))
    return best


@dataclass(frozen=True)
class Measurements:
    """What a peer can measure of a case: by name a function, or the reason why there is none."""

    gradients: list  # functions: the error of a gradient
    training: dict  # updates per second
    row: dict  # microseconds for one row
    rows: dict  # rows per second


class Unmeasured(Exception):
    """Why a measurement has no result."""


def in_child(work, seconds):
    """What `work` returns, in a process of its own that is killed after so many
    seconds: nothing else stops a compiler. The framework is loaded, but has done
    nothing yet, so that forking is safe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # One signal reaches the compilers that it starts; in a session of its own it would lose its priority.
            os.setpgid(0, 0)
            os.write(writing, json.dumps(work()).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    finished = []
    try:
        finished, _, _ = select.select([reading], [], [], seconds)
    finally:
        if not finished:
            os.killpg(child, signal.SIGKILL)
        answer = os.read(reading, 4096)
        os.close(reading)
        os.waitpid(child, 0)
    if not finished:
        raise Unmeasured(f"not within {seconds:.0f} s")
    if not answer:
        raise Unmeasured("failed")
    return json.loads(answer)


def run_peer(name, version, measurements):
    """Measures every case of a folder, the first argument, within the seconds of
    the second, and prints one JSON object on stdout."""
    until = BEGIN + float(sys.argv[2])

    def measured(work):
        """The result of a measurement, or why there is none."""
        if isinstance(work, str):
            return None, work
        left = until - time.monotonic()
        if left < 1:
            return None, "no time was left"
        try:
            return in_child(work, min(LIMIT, left)), None
        except Unmeasured as why:
            return None, str(why)

    def all_measured(works, unmeasured):
        results = {}
        for what, work in works.items():
            begin = time.monotonic()
            results[what], why = measured(work)
            if why is not None:
                unmeasured.append({"what": what, "why": why})
            result = why or f"{results[what]:.3g}"
            print(f"{case.shape}: {what}: {result} ({time.monotonic() - begin:.0f} s)", file=sys.stderr)
        return results

    def best(choose, results):
        return choose((result for result in results.values() if result is not None), default=None)

    results = []
    for path in sorted(Path(sys.argv[1]).glob("*.json")):
        case, unmeasured = read_case(path), []
        todo = measurements(case)
        errors = {f"{name}, gradient {i + 1}": error for i, error in enumerate(todo.gradients)}
        errors = all_measured(errors, unmeasured)
        training = all_measured(todo.training, unmeasured)
        result = {
            "shape": case.shape,
            "gradient_error": best(max, errors),
            "training": [{"name": name, "updates_per_s": speed} for name, speed in training.items()],
            "predict_row_us": best(min, all_measured(todo.row, unmeasured)),
            "predict_rows_per_s": best(max, all_measured(todo.rows, unmeasured)),
            "unmeasured": unmeasured,
        }
        results.append(result)
    print(json.dumps({"peer": name, "version": version, "results": results}))
