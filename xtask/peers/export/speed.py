"""Size and speed of one prediction in every exported format, beside a network of scikit-learn of as many numbers.

`speed.py --loopfit PROGRAM --folder DIR` fits a Loop and a Single network of two inputs, exports each, compiles what is to be
compiled (cc, rustc), and runs everything on the same thousand rows, one at a time, on one thread. The peer is scikit-learn's
MLPRegressor, in its own library and in C by emlearn. Times are those of the fastest of many short
rounds, which other programs disturb least. Run by `cargo xtask bench export`.
"""

import argparse
import json
import shutil
import subprocess
import time
from pathlib import Path

import emlearn
import numpy as np
import onnxruntime
from sklearn.neural_network import MLPRegressor

ROWS, INPUTS = 1000, 2
ROUNDS = 300
SHAPES = {"Loop (q = 4, r = 11, T = 16)": "loop=4,11,16", "Single (q = 3, r = 15)": "single=3,15"}
HIDDEN = 30

C_MAIN = """
#include <stdio.h>
#include <time.h>
%(include)s
static const float rows[%(rows)d][%(inputs)d] = {%(values)s};
int main(void) {
    double best = 1e9, sum = 0;
    for (int round = 0; round < %(rounds)d; round++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        for (int i = 0; i < %(rows)d; i++) { const float *x = rows[i]; sum += %(call)s; }
        clock_gettime(CLOCK_MONOTONIC, &b);
        double t = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
        if (t < best) best = t;
    }
    printf("%%.1f %%.17g\\n", best / %(rows)d, sum);
    return 0;
}
"""

RUST_MAIN = """
#[path = "model.rs"]
mod model;
const ROWS: [[f64; %(inputs)d]; %(rows)d] = [%(values)s];
fn main() {
    let (mut best, mut sum) = (f64::INFINITY, 0.0);
    for _ in 0..%(rounds)d {
        let begin = std::time::Instant::now();
        for x in &ROWS {
            sum += model::predict(&model::Input { %(fields)s });
        }
        best = best.min(begin.elapsed().as_nanos() as f64);
    }
    println!("{:.1} {}", best / %(rows)d as f64, sum);
}
"""

JS_MAIN = """
import { predict } from "./model.mjs";
const rows = %(values)s;
let best = Infinity, sum = 0;
for (let round = 0; round < %(rounds)d; round++) {
  const begin = process.hrtime.bigint();
  for (const row of rows) sum += predict(row);
  best = Math.min(best, Number(process.hrtime.bigint() - begin));
}
console.log((best / rows.length).toFixed(1), sum);
"""


def output_of(*command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()[-800:]}")
    return done.stdout


def braces(rows):
    return ", ".join("{" + ", ".join(f"{v:.9g}f" for v in row) + "}" for row in rows)


def in_c(folder, rows, sources, include, call, flags):
    """Nanoseconds of a call."""
    words = {"include": include, "rows": ROWS, "inputs": INPUTS, "values": braces(rows), "rounds": ROUNDS, "call": call}
    (folder / "main.c").write_text("#define _POSIX_C_SOURCE 200809L\n" + C_MAIN % words)
    output_of("cc", "-std=c99", "-O2", *flags, "main.c", *sources, "-lm", "-o", "main", folder=folder)
    return float(output_of("./main", folder=folder).split()[0])


def compiled_bytes(folder, source, flags):
    """Bytes of code and constants without the program around them."""
    output_of("cc", "-std=c99", "-Os", *flags, "-c", source, "-o", "size.o", folder=folder)
    text, data = output_of("size", "size.o", folder=folder).splitlines()[1].split()[:2]
    return int(text) + int(data)


def fastest(call, repeats, rounds):
    """Nanoseconds of a call."""
    call()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter_ns()
        for _ in range(repeats):
            call()
        times.append((time.perf_counter_ns() - begin) / repeats)
    return min(times)


def in_onnx_runtime(file, rows):
    """Nanoseconds of one row, called from Python, and of a row of 10,000."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    one, many = rows[:1], np.tile(rows, (10, 1))
    alone = fastest(lambda: session.run(None, {name: one}), 20, 300)
    return alone, fastest(lambda: session.run(None, {name: many}), 1, 100) / len(many)


def of_model(program, folder, shape, rows):
    """{format: (bytes, nanoseconds)} of a model of that shape."""
    method = shape.split("=")[0]
    fit = ["fit", "sim:bumps", "--budget", "128", "--method", method, "--shape", shape, "--updates", "640"]
    output_of(program, *fit, "--quiet", "-o", "model.safetensors", folder=folder)

    def exported(*options):
        told = json.loads(output_of(program, "export", "model.safetensors", *options, "--json", folder=folder))
        return told["sizes"]["tables"]

    found = {}
    include, call = '#include "model.h"', "model_predict(x)"
    for name, options, flags in [
        ("C, `-mfma`", [], ["-mfma"]),
        ("C", [], []),
        ("C, int16", ["--int", "16"], []),
        ("C, int8", ["--int", "8"], []),
    ]:
        exported("--to", "c", *options, "-o", "model.c")
        ns = in_c(folder, rows, ["model.c"], include, call, flags)
        found[name] = (compiled_bytes(folder, "model.c", flags), ns)
    exported("--to", "rust", "-o", "model.rs")
    columns = json.loads(output_of(program, "show", "model.safetensors", "--json", folder=folder))["reads"]
    fields = ", ".join(f"{name}: x[{k}]" for k, name in enumerate(columns))
    values = ", ".join("[" + ", ".join(repr(float(v)) for v in row) + "]" for row in rows)
    words = {"inputs": INPUTS, "rows": ROWS, "values": values, "rounds": ROUNDS, "fields": fields}
    (folder / "main.rs").write_text(RUST_MAIN % words)
    output_of("rustc", "--edition", "2024", "-O", "main.rs", "-o", "main-rust", folder=folder)
    rust = float(output_of("./main-rust", folder=folder).split()[0])
    found["Rust"] = ((folder / "model.rs").stat().st_size, rust)
    if shutil.which("node"):
        exported("--to", "js", "-o", "model.mjs")
        objects = [dict(zip(columns, map(float, row))) for row in rows]
        (folder / "main.mjs").write_text(JS_MAIN % {"values": json.dumps(objects), "rounds": ROUNDS})
        js = float(output_of("node", "main.mjs", folder=folder).split()[0])
        found["JavaScript (node)"] = ((folder / "model.mjs").stat().st_size, js)
    exported("--to", "onnx", "-o", "model.onnx")
    alone, batch = in_onnx_runtime(folder / "model.onnx", rows)
    size = (folder / "model.onnx").stat().st_size
    found["ONNX Runtime, one row"], found["ONNX Runtime, per row in batches of 10,000"] = (size, alone), (size, batch)
    return found


def of_peer(folder, rows):
    """The same of a network of scikit-learn with one hidden layer."""
    y = np.sin(6 * rows[:, 0]) * rows[:, 1]
    mlp = MLPRegressor(hidden_layer_sizes=(HIDDEN,), activation="relu", random_state=0, max_iter=300).fit(rows, y)
    found = {}
    emlearn.convert(mlp, method="inline", dtype="float").save(file=str(folder / "net.h"), name="net")
    flags = [f"-I{emlearn.includedir}"]
    include, call = '#include "net.h"', f"net_regress1(x, {INPUTS})"
    ns = in_c(folder, rows, [], include, call, [*flags, "-mfma"])
    (folder / "net.c").write_text('#include "net.h"\n')
    found["C by emlearn, `-mfma`"] = (compiled_bytes(folder, "net.c", flags), ns)
    one = rows[:1]
    found["scikit-learn, one row"] = (None, fastest(lambda: mlp.predict(one), 5, 100))
    many = np.tile(rows, (10, 1))
    found["scikit-learn, per row in batches of 10,000"] = (None, fastest(lambda: mlp.predict(many), 1, 50) / len(many))
    return found


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask bench export", description=__doc__)
    parser.add_argument("--loopfit", type=Path, required=True, help="the program to measure")
    parser.add_argument("--folder", type=Path, required=True, help="where files go")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    rows = np.random.default_rng(1).uniform(size=(ROWS, INPUTS)).astype(np.float32)
    print("| network | as | bytes | one prediction, ns |\n|:--|:--|--:|--:|")

    def tell(network, found):
        for name, (size, ns) in found.items():
            print(f"| {network} | {name} | {size or ''} | {ns:,.0f} |", flush=True)

    for name, shape in SHAPES.items():
        tell(name, of_model(chosen.loopfit.resolve(), chosen.folder, shape, rows))
    tell(f"MLP of {HIDDEN} ReLU units, scikit-learn", of_peer(chosen.folder, rows))


if __name__ == "__main__":
    main()
