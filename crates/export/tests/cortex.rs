//! Models on Cortex-M processors, as an emulator runs them: integers have the bits of the host, and what a prediction takes is told.
//! Needs `arm-none-eabi-gcc` and `qemu-system-arm`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use loopfit_export::{Export, Format, Options, Width, export, export_integers};
use loopfit_fitted::{FittedModel, Provenance};
use loopfit_likelihood::{Gaussian, Likelihood};
use loopfit_model::{Activation, Bounds, Network, Tying, init};
use loopfit_numerics::named::Named;
use loopfit_numerics::stream::Stream;
use serde_json::json;
use std::path::Path;
use std::process::Command;

const ROWS: usize = 64;
const COLUMNS: usize = 4;
/// Nanoseconds of the emulated clock for an instruction (`-icount shift=5`) and for a tick of the processor at 25 MHz.
const INSTRUCTION: f64 = 32.0;
const TICK: f64 = 40.0;

/// A processor, its options for the compiler and a machine that has it or, of the first, one that runs its instructions.
const PROCESSORS: [(&str, &[&str], &str); 2] = [
    ("Cortex-M0", &["-mcpu=cortex-m0"], "mps2-an385"),
    (
        "Cortex-M4",
        &["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
        "mps2-an386",
    ),
];

fn model(activation: Activation) -> FittedModel {
    let name = |k: usize| format!("x{k}");
    let input = |k: usize| json!({"numeric": {"name": name(k), "mean": 20.0, "sd": 5.0, "median": 20.0, "range": [5.0, 40.0]}});
    let inputs: Vec<_> = (0..COLUMNS).map(input).collect();
    let file = json!({"task": "regression", "inputs": inputs, "notes": [],
        "target": {"response": {"name": "y", "mean": 0.0, "sd": 1.0}}});
    // 124 numbers.
    let network = Network::ffn(COLUMNS, 1, 4, 11, Tying::Loop { t: 8 }).unwrap();
    let network = network.with_activation(activation).unwrap();
    FittedModel {
        parameters: init::fresh(&network, 1.0, Stream::new(5)),
        bounds: Bounds::default(),
        likelihood: Likelihood::Gaussian(Gaussian::squared_error()),
        preprocessing: serde_json::from_value(file).unwrap(),
        provenance: Provenance::nothing(),
        assessment: None,
    }
}

/// What an emulated processor says.
struct Said {
    answers: Vec<i32>,
    instructions: f64,
    /// Bytes of the stack below `main`.
    stack: usize,
    /// Bytes of code and constants.
    flash: usize,
}

fn run(export: &Export, rows: &str, processor: (&[&str], &str), floats: bool) -> Said {
    let (options, machine) = processor;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (path, text) in export.files(&at("model.c")).unwrap() {
        std::fs::write(path, text).unwrap();
    }
    for (name, text) in [
        ("start.c", include_str!("cortex/start.c")),
        ("link.ld", include_str!("cortex/link.ld")),
        ("main.c", include_str!("cortex/main.c")),
        ("rows.h", rows),
    ] {
        std::fs::write(at(name), text).unwrap();
    }
    let compiler = || {
        let mut gcc = Command::new("arm-none-eabi-gcc");
        gcc.current_dir(folder.path()).args(options);
        gcc.args([
            "-mthumb",
            "-std=c99",
            "-O2",
            "-ffunction-sections",
            "-fdata-sections",
        ]);
        gcc.args((!floats).then_some("-DMODEL_NO_FLOAT"));
        gcc
    };
    let mut whole = compiler();
    // Assembler in C is not C99.
    whole.args([
        "-std=gnu99",
        "-DMODEL_FILE=\"model.c\"",
        &format!("-DROWS={ROWS}"),
    ]);
    whole.args([
        "-nostartfiles",
        "-Wl,--gc-sections",
        "-T",
        "link.ld",
        "start.c",
        "main.c",
    ]);
    succeeds(whole.args(["-o", "main.elf"]));
    let mut emulator = Command::new("qemu-system-arm");
    emulator.args([
        "-M",
        machine,
        "-nographic",
        "-monitor",
        "none",
        "-serial",
        "none",
    ]);
    emulator.args([
        "-icount",
        "shift=5",
        "-semihosting-config",
        "enable=on,target=native",
    ]);
    let output = emulator
        .arg("-kernel")
        .arg(at("main.elf"))
        .output()
        .unwrap();
    // Text of semihosting comes by the one or the other.
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    let said = |what: &str| -> f64 {
        let mut lines = text.lines();
        let found = lines.find_map(|line| line.strip_prefix(what));
        found
            .unwrap_or_else(|| panic!("no {what}in {text}"))
            .trim()
            .parse()
            .unwrap()
    };
    Said {
        answers: text.lines().map_while(|line| line.parse().ok()).collect(),
        instructions: said("ticks ") * TICK / INSTRUCTION / ROWS as f64,
        stack: said("stack ") as usize,
        flash: flash(&at("main.elf")),
    }
}

/// Code and constants of the whole program with what it needs of the library, without the rows that it holds.
fn flash(program: &Path) -> usize {
    let size = Command::new("arm-none-eabi-size").arg(program).output();
    let text = String::from_utf8(size.unwrap().stdout).unwrap();
    let words = text.lines().nth(1).unwrap().split_whitespace();
    let bytes = words.take(2).map(|word| word.parse::<usize>().unwrap());
    bytes.sum::<usize>() - 4 * ROWS * COLUMNS
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn integers_have_the_same_bits_there() {
    for tool in ["arm-none-eabi-gcc", "qemu-system-arm"] {
        if !Command::new(tool)
            .arg("--version")
            .output()
            .is_ok_and(|o| o.status.success())
        {
            eprintln!("{tool} is not there: nothing was run");
            return;
        }
    }
    let number =
        |row: usize, k: usize| 20.0 + 5.0 * Stream::new(1).nth(row as u64).normal(k as u64) as f32;
    let table: Vec<Vec<f32>> = (0..ROWS)
        .map(|row| (0..COLUMNS).map(|k| number(row, k)).collect())
        .collect();
    println!(
        "| processor | activation | network | flash | stack | instructions |\n|:--|:--|:--|--:|--:|--:|"
    );
    let braced = |text: String| text.replace('[', "{").replace(']', "}");
    let listed: String = table.iter().map(|row| format!("{row:?},\n")).collect();
    let listed = braced(listed);
    let x: Vec<f32> = table.iter().flatten().map(|v| (v - 20.0) / 5.0).collect();
    for activation in [Activation::Relu, Activation::Tanh] {
        let model = model(activation);
        let floats = export(&model, Format::C, &Options::default()).unwrap();
        let integers = [Width::Eight, Width::Sixteen]
            .map(|width| export_integers(&model, width, None, &Options::default()).unwrap());
        for (name, flags, machine) in PROCESSORS {
            let told = |network: &str, said: &Said| {
                let Said {
                    flash,
                    stack,
                    instructions,
                    ..
                } = said;
                println!(
                    "| {name} | {activation:?} | {network} | {flash} | {stack} | {instructions:.0} |"
                );
            };
            let said = run(&floats, &listed, (flags, machine), true);
            assert_eq!(said.answers.len(), ROWS);
            told("float", &said);
            for found in &integers {
                let network = format!("int{}", found.integers.width().name());
                let fixed = found.integers.inputs(&x);
                let rows = fixed.chunks(COLUMNS).map(|row| format!("{row:?},\n"));
                let said = run(
                    &found.export,
                    &braced(rows.collect()),
                    (flags, machine),
                    false,
                );
                let expected = found.integers.run(&fixed, 8);
                assert_eq!(said.answers, expected, "{name} {network}");
                told(&network, &said);
            }
        }
    }
}
