"""What every peer shares: the case files, the training data, the clock.

A case file describes one shape: dimensions, starting parameters, one batch and
our gradient on it. `cargo xtask bench peers` writes them and runs the peers.
"""

import json
import os
import re
import sys
import time
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

REPEATS, SECONDS = 3, 1.5


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
    per second of CPU time and of wall time."""
    work()
    best_cpu, best_wall = 0.0, 0.0
    for _ in range(REPEATS):
        calls, cpu, wall = 0, time.process_time(), time.perf_counter()
        while time.perf_counter() - wall < SECONDS:
            work()
            calls += 1
        best_cpu = max(best_cpu, calls * units / (time.process_time() - cpu))
        best_wall = max(best_wall, calls * units / (time.perf_counter() - wall))
    return best_cpu, best_wall


def training_speed(variant, work, updates):
    cpu, wall = per_second(work, updates)
    return {"name": variant, "updates_per_s": cpu, "updates_per_wall_s": wall}


def run_peer(name, version, measure):
    """Measures every case of the folder given as the only argument and prints
    one JSON object on stdout."""
    results = []
    for path in sorted(Path(sys.argv[1]).glob("*.json")):
        case = read_case(path)
        result = {"shape": case.shape, **measure(case)}
        speeds = ", ".join(f"{variant['updates_per_s']:.0f} ({variant['name']})" for variant in result["variants"])
        print(f"{name}, shape {case.shape}: {speeds} updates/s", file=sys.stderr)
        results.append(result)
    print(json.dumps({"peer": name, "version": version, "results": results}))
