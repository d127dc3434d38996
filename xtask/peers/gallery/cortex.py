"""Instructions and flash of a prediction on Cortex-M processors, in an emulator that counts instructions.

Programs, linker script and what they print are those of crates/export/tests/cortex.
"""

import re
import shutil
import subprocess
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parents[3] / "crates/export/tests/cortex"
TOOLS = ["arm-none-eabi-gcc", "qemu-system-arm"]
# A processor, what the compiler is to know of it, and a machine that runs its instructions.
PROCESSORS = {
    "Cortex-M0": (["-mcpu=cortex-m0"], "mps2-an385"),
    "Cortex-M4": (["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"], "mps2-an386"),
}
# Nanoseconds of the emulated clock for an instruction (-icount shift=5) and for a tick of the processor at 25 MHz.
INSTRUCTION, TICK = 32, 40
# Few enough that 24 bits count the ticks of all: two million instructions a row.
ROWS = 8


def is_there():
    return all(shutil.which(tool) for tool in TOOLS)


def output_of(command, folder):
    done = subprocess.run([str(a) for a in command], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    # Text of semihosting comes by the one or the other.
    return done.stdout + done.stderr


def listed(header, columns, x):
    """Rows as the program reads them: numbers, or the integers that a header says they become."""
    text = header.read_text()
    constant = lambda name: float(re.search(rf"#define MODEL_{name} \(?([^\s)]+)", text)[1])
    rows = x[:: max(1, len(x) // ROWS)][:ROWS]
    if "MODEL_INPUTS" not in text:
        return rows, ["{" + ", ".join(f"{float(v)!r}f" for v in row) + "}" for row in rows]
    shift = [constant(f"SHIFT_{c}") for c in columns]
    step = [constant(f"STEP_{c}") for c in columns]
    fixed = [[round((v - a) / b) for v, a, b in zip(row, shift, step, strict=True)] for row in rows]
    return rows, ["{" + ", ".join(map(str, row)) + "}" for row in fixed]


def measured(loopfit, model, options, columns, x, folder):
    """{processor: instructions of a prediction} of a model exported with these options."""
    folder.mkdir(parents=True, exist_ok=True)
    output_of([loopfit, "-q", "export", model, "--to", "c", *options, "-o", folder / "model.c"], folder)
    for program in PROGRAMS.iterdir():
        shutil.copy(program, folder)
    rows, lines = listed(folder / "model.h", columns, x)
    (folder / "rows.h").write_text(",\n".join(lines) + "\n")
    found = {}
    for name, (flags, machine) in PROCESSORS.items():
        floats = ["-DMODEL_NO_FLOAT"] if options else []
        compiler = ["arm-none-eabi-gcc", *flags, "-mthumb", "-std=gnu99", "-O2", "-ffunction-sections", "-fdata-sections", *floats]
        compiler += ['-DMODEL_FILE="model.c"', f"-DROWS={len(rows)}", "-nostartfiles", "-Wl,--gc-sections", "-T", "link.ld"]
        output_of([*compiler, "start.c", "main.c", "-lm", "-o", "main.elf"], folder)
        emulator = ["qemu-system-arm", "-M", machine, "-nographic", "-monitor", "none", "-serial", "none", "-icount", "shift=5"]
        said = output_of([*emulator, "-semihosting-config", "enable=on,target=native", "-kernel", "main.elf"], folder)
        ticks = int(re.search(r"^ticks (\d+)", said, re.M)[1])
        found[name] = ticks * TICK / INSTRUCTION / len(rows)
    return found


def section(loopfit, models, folder):
    """A table of (name, model, training rows as a file, columns, rows); why there is none where the tools are missing."""
    head = "## On a Cortex-M\n\n"
    if not is_there():
        return f"{head}Not measured: {' and '.join(TOOLS)} are needed.\n"
    kinds = {"float": lambda train: [], "int16": lambda train: ["--int", 16, "--calibrate", train]}
    kinds["int8"] = lambda train: ["--int", 8, "--calibrate", train]
    words = head + (
        "Instructions of one prediction, from numbers to the answer with floats, and of the integer network alone "
        "(QEMU counts instructions, not cycles; `-O2`; the M0 has no floating point unit, the M4 has one).\n\n"
    )
    names = [f"{processor[7:]} {kind}" for processor in PROCESSORS for kind in kinds]
    lines = [f"| output | {' | '.join(names)} |", "|:--|" + "--:|" * len(names)]
    for name, model, train, columns, x in models:
        by_kind = [measured(loopfit, model, options(train), columns, x, folder) for options in kinds.values()]
        cells = [f"{found[processor]:,.0f}" for processor in PROCESSORS for found in by_kind]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
        print(f"{name} ran on the emulator", flush=True)
    return words + "\n".join(lines) + "\n"
