"""docs/gallery.md and docs/gallery: jobs of jobs.py by `loopfit fit`, beside what engineers store instead.

Models stay in target/gallery and are fitted again only if their training rows change. Run by `cargo xtask gallery`.
"""

import argparse
import json
import math
import os
import subprocess
import textwrap
from pathlib import Path

import cortex
import numpy as np
from jobs import JOBS
from peers import PEERS, polynomial, rms, table

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / "target/gallery"
DOCS = ROOT / "docs"
PAGES = DOCS / "gallery"

# Errors whose ratio is below this are not told apart.
ALIKE = 1.2

OPENING = """# Gallery

Jobs for which engineers keep lookup tables and polynomials, from formulas that anyone can check, and what a model of loopfit
takes instead. `cargo xtask gallery` makes this page: it computes the rows, fits the models (standard effort), exports them, and
measures all errors on a grid over the whole box, its borders included, that is much finer than the one of the training rows.

- **loopfit**: `loopfit fit` under a cap; a number takes 4 bytes, 2 or 1 in an integer network. A C file writes networks out in the
  paper's form, which takes more (C tables).
- **lookup table**: multilinear, 2 bytes for an entry, values by least squares, the best grid for the bytes of the cap.
- **polynomial**: least squares, 4 bytes for a coefficient, the best total degree for these bytes.
- **table and polynomial, C tables**: the same for the bytes of the tables of loopfit's C file, if those are what counts.
- **scikit-learn MLP**: one layer of tanh units by L-BFGS, the best of five starts, as many numbers as the cap.

A multiply-add of a table is one of its interpolation; of a polynomial, two for each term. Units of networks also need an
activation, which a table does not.
"""


def command(*arguments):
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, cwd=CACHE)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, arguments))} failed:\n{done.stderr}")
    return done.stdout


def write(path, text):
    """All or nothing."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text)
    partial.replace(path)


def rows(names, x, y):
    lines = [",".join(names)]
    lines += [",".join(repr(float(v)) for v in [*row, value]) for row, value in zip(x, y, strict=True)]
    return "\n".join(lines) + "\n"


def fitted(loopfit, key, data, target, cap):
    """The model of a table, from an earlier run if its rows were the same."""
    model, train = CACHE / f"{key}-{cap}.safetensors", CACHE / f"{key}.csv"
    if not train.exists() or train.read_text() != data:
        for old in CACHE.glob(f"{key}-*.safetensors"):
            old.unlink()
        write(train, data)
    if not model.exists():
        print(f"fitting {key} under a cap of {cap}", flush=True)
        command(loopfit, "-q", "fit", train.name, "--target", target, "--budget", cap, "-o", model)
    return model


PROGRAM = """#include "{file}"
#include <stdio.h>
int main(void) {{
    {name}_input row;
    while (scanf("{formats}", {places}) == {count}) printf("%.17g\\n", {name}_evaluate(&row));
    return 0;
}}
"""


def by_c(source, name, columns, x):
    """What a C file says of rows."""
    formats = " ".join(["%lf"] * len(columns))
    places = ", ".join(f"&row.{c}" for c in columns)
    main, program = source.with_suffix(".main.c"), source.with_suffix("")
    main.write_text(PROGRAM.format(file=source.name, name=name, formats=formats, places=places, count=len(columns)))
    command(os.environ.get("CC", "cc"), "-std=c99", "-O2", "-o", program, main, "-lm")
    text = "\n".join(" ".join(repr(float(v)) for v in row) for row in x)
    said = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout
    return np.array(said.split(), dtype=float)


def integers(loopfit, model, train, name, columns, x, y, bits):
    """The model in integers: bytes of its tables and its errors; none if this loopfit has no such export."""
    if "--int" not in command(loopfit, "export", "--help"):
        return None
    source = CACHE / f"{model.stem}-int{bits}.c"
    told = json.loads(
        command(loopfit, "--json", "export", model, "--to", "c", "--int", bits, "--calibrate", train, "--name", name, "-o", source)
    )
    said = by_c(source, name, columns, x)
    return told["sizes"]["tables"], rms(y, said), float(np.abs(y - said).max())


def number(value):
    """Three digits."""
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)))
    return f"{value:.{max(0, 2 - power)}f}" if -4 <= power < 6 else f"{value:.2e}"


def entry(loopfit, job, k):
    """Rows of the table of an output, and the sentence that sums them up."""
    target, unit = job.outputs[k]
    key = f"{job.name}-{target}"
    name = f"{job.name}_{target}".replace("-", "_").lower()
    columns = [column for column, *_ in job.inputs]
    box = [(low, high) for *_, low, high in job.inputs]
    x, new = job.grid(job.train), job.grid(job.test)
    y, truth = job.function(x)[:, k], job.function(new)[:, k]
    model = fitted(loopfit, key, rows([*columns, target], x, y), target, job.cap)
    test = CACHE / f"{key}-test.csv"
    write(test, rows([*columns, target], new, truth))
    score = json.loads(command(loopfit, "--json", "-q", "score", model, test))
    shown = json.loads(command(loopfit, "--json", "show", model))
    html, c = PAGES / f"{key}.html", PAGES / f"{key}.c"
    command(loopfit, "-q", "export", model, "--to", "html", "-o", html)
    export = json.loads(command(loopfit, "--json", "export", model, "--to", "c", "--name", name, "-o", c))
    count, cost = shown["count"], export["sizes"]["multiply_adds"]
    own = [("**loopfit**", f"{count} numbers", 4 * count, export["sizes"]["tables"], cost, math.sqrt(score["value"]), score["also"]["largest error"])]
    for bits in (16, 8):
        found = integers(loopfit, model, CACHE / f"{key}.csv", name, columns, new, truth, bits)
        if found:
            own.append((f"loopfit int{bits}", f"{count} numbers", bits // 8 * count, found[0], cost, *found[1:]))

    def measured(peer, stored, after=""):
        fit = peer(box, x, y, stored)
        said = fit.predict(new)
        largest = float(np.abs(truth - said).max())
        return fit.name + after, fit.detail, fit.bytes, fit.bytes, fit.multiply_adds, rms(truth, said), largest

    others = [measured(peer, 4 * job.cap) for peer in PEERS]
    larger = [measured(peer, export["sizes"]["tables"], ", C tables") for peer in (table, polynomial)]
    print(f"{key} is measured", flush=True)
    lines = [f"| {n} | {d} | {b} | {t} | {m} | {number(r)} | {number(w)} |" for n, d, b, t, m, r, w in own + others + larger]
    head = f"| {target}{f', {unit}' if unit else ''} | | bytes | C tables | multiply-adds | RMS error | largest error |"
    links = f"[page](gallery/{key}.html) · [C](gallery/{key}.c), [header](gallery/{key}.h)"
    lines = "\n".join([head, "|:--|:--|--:|--:|--:|--:|--:|", *lines])
    return f"{lines}\n\n{links}\n", verdict(target, own[0], others, larger)


def emulated(loopfit, jobs):
    """The section on Cortex-M processors, of models that were fitted."""
    models = []
    for job in jobs:
        columns, x = [column for column, *_ in job.inputs], job.grid(job.test)
        for target, _ in job.outputs:
            key = f"{job.name}-{target}"
            models.append((target, CACHE / f"{key}-{job.cap}.safetensors", CACHE / f"{key}.csv", columns, x))
    return cortex.section(loopfit, models, CACHE / "cortex")


def verdict(target, own, others, larger):
    """Who is better in its largest error, and by how much, beside loopfit; also where the bytes of the C tables count."""
    winner, words = better(own, others)
    return target, winner, better(own, larger)[0].removesuffix(", C tables"), words


def better(own, others):
    """Who has the smaller largest error, and by how much."""
    name, *_, largest = min(others, key=lambda row: row[-1])
    ratio = max(own[-1] / largest, largest / own[-1])
    times = f"{ratio:.1f}" if ratio < 10 else f"{float(f'{ratio:.1e}'):,.0f}"
    if ratio < ALIKE:
        return f"loopfit and {name}", f"the largest errors of loopfit and the {name} are about the same"
    if own[-1] > largest:
        return name, f"the {name} is better: its largest error is {times} times smaller than that of loopfit"
    return "loopfit", f"loopfit is better: its largest error is {times} times smaller than that of the {name}"


def wrapped(text):
    """Markdown whose paragraphs and items have lines of a readable length; tables stay as they are."""
    parts = []
    for part in text.strip().split("\n\n"):
        if part.startswith("|"):
            parts.append(part)
        elif part.startswith("- "):
            items = f"\n{part}".split("\n- ")[1:]
            parts.append("\n".join(filled(f"- {item}", "  ") for item in items))
        else:
            parts.append(filled(part, ""))
    return "\n\n".join(parts) + "\n"


def filled(text, indent):
    return textwrap.fill(" ".join(text.split()), 116, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--loopfit", type=Path, required=True, help="the program")
    options.add_argument("--job", choices=[job.name for job in JOBS], help="this one alone, printed instead of written")
    a = options.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    PAGES.mkdir(exist_ok=True)
    sections, summary = [], []
    jobs = [job for job in JOBS if a.job in (None, job.name)]
    for job in jobs:
        entries = [entry(a.loopfit.resolve(), job, k) for k in range(len(job.outputs))]
        verdicts = [found for _, found in entries]
        box = ", ".join(f"{c} from {low:g} to {high:g}{f' {u}' if u else ''}" for c, u, low, high in job.inputs)
        said = "\n".join(f"- `{target}`: {words}." for target, *_, words in verdicts)
        tables = "\n".join(table for table, _ in entries)
        sections.append(f"## {job.title}\n\n{job.formula}\n\nBox: {box}. Cap: {job.cap} numbers, {4 * job.cap} bytes.\n\n{tables}\n{said}\n")
        summary += [(job, *found) for found in verdicts]
    sections.append(emulated(a.loopfit.resolve(), jobs))
    lines = [f"| {job.title} | `{target}` | {winner} | {larger} |" for job, target, winner, larger, _ in summary]
    head = "| best by largest error | output | for the bytes of the cap | for the bytes of the C tables |\n|:--|:--|:--|:--|"
    of = lambda k: ", ".join(f"`{found[1]}` ({found[k]})" for found in summary if "loopfit" not in found[k])
    plain = "By the largest error, something else is the better choice for the bytes of the cap in these jobs: "
    plain += f"{of(2) or 'none'}; for the bytes of the C tables, in these: {of(3) or 'none'}. "
    plain += "Where time matters more than bytes, a table is the better choice everywhere: it takes a handful of multiply-adds."
    text = "\n".join([OPENING, "\n".join([head, *lines]), "", plain, "", *sections])
    if a.job:
        print(wrapped(text))
    else:
        write(DOCS / "gallery.md", wrapped(text))


if __name__ == "__main__":
    main()
