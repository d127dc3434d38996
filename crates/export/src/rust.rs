//! Rust: one file without dependencies, for programs without the standard library too.

use crate::description::{Description, Output, Reading};
use crate::names::{identifiers, quoted, table};
use crate::parts::{constants, parts, template, templates, tokens, weights, with_floor};
use crate::{Export, Format, Options, comments, renamed, says};

const ABOUT: &str = "\
The values are those of loopfit, bit for bit. Nothing but `core` is used. Where loopfit refuses a row, because a
number is too extreme, the answer is not a number, or none.
";

pub(crate) fn export(d: &Description, options: &Options) -> Export {
    let fields = identifiers(&d.names(), "model");
    let network = &d.network;
    let mut body = comments(d, ABOUT);
    body += &texts(
        "\n/// The columns of a row as tables call them.",
        "COLUMNS",
        &d.names(),
    );
    body += &format!(
        "/// Iterations.\npub const ITERATIONS: usize = {};\n",
        network.iterations
    );
    if !d.classes().is_empty() {
        let names: Vec<&str> = d.classes().iter().map(String::as_str).collect();
        body += &texts("/// The classes.", "CLASSES", &names);
    }
    body += &declared(d);
    for (name, values) in weights(network) {
        let (name, count) = (name.to_uppercase(), values.len());
        let values = table(&values, "    ", |v: f32| format!("{v:?}"));
        body += &format!("static {name}_WEIGHTS: [f32; {count}] = [\n{values}];\n");
    }
    body += &input(d, &fields);
    body += "\n";
    body += &parts(network)
        .into_iter()
        .map(templates!("rust", "rs"))
        .collect::<String>();
    body += &reader(d, &fields);
    body += &answers(d, &fields);
    body += &callers(d, options.every_iteration);
    Export {
        format: Format::Rust,
        header: None,
        body: body.into(),
        sizes: d.sizes(),
        renamed: renamed(d, &fields),
    }
}

fn texts(about: &str, name: &str, texts: &[&str]) -> String {
    let literals: Vec<String> = texts.iter().map(|text| literal(text)).collect();
    let (count, literals) = (texts.len(), literals.join(", "));
    format!("{about}\n#[allow(dead_code)]\npub const {name}: [&str; {count}] = [{literals}];\n")
}

/// Sizes of the network, and numbers that follow from them.
fn declared(d: &Description) -> String {
    let (sizes, numbers) = constants(d);
    let size = |(name, v)| format!("const {name}: usize = {v};\n");
    let number = |(name, v)| format!("const {name}: f32 = {v:?};\n");
    let mut text = String::from("\n");
    text.extend(sizes.into_iter().map(size));
    text.extend(numbers.into_iter().map(number));
    for (name, values) in tokens(&d.network) {
        let (name, count) = (name.to_uppercase(), values.len());
        text += &format!("const TOKEN_{name}: [usize; {count}] = {values:?};\n");
    }
    text
}

/// What a row is called where it is a type.
fn type_of(d: &Description) -> &'static str {
    if d.is_numeric() { "Input" } else { "Input<'_>" }
}

fn input(d: &Description, fields: &[String]) -> String {
    let lifetime = if d.is_numeric() { "" } else { "<'a>" };
    let mut text = format!(
        "\n/// A row, by the names of its columns as far as they are names of Rust. A missing number is NaN.\n\
         #[allow(non_snake_case)]\n#[derive(Clone, Copy, Debug)]\npub struct Input{lifetime} {{\n"
    );
    for (field, column) in fields.iter().zip(&d.columns) {
        let name = quoted(&column.name);
        text += &match column.reading.categories() {
            None => format!("    /// {name}\n    pub {field}: f64,\n"),
            Some(categories) => {
                let listed: Vec<String> =
                    categories.iter().map(|c| quoted(c).to_string()).collect();
                format!(
                    "    /// {name}: {}\n    pub {field}: Option<&'a str>,\n",
                    listed.join(", ")
                )
            }
        };
    }
    if let (
        Output::Count {
            exposure: Some(name),
            ..
        },
        Some(field),
    ) = (&d.output, fields.last())
    {
        text += &format!(
            "    /// {}: the exposure, positive\n    pub {field}: f64,\n",
            quoted(name)
        );
    }
    text + "}\n"
}

/// From a row to model inputs.
fn reader(d: &Description, fields: &[String]) -> String {
    let (mut lines, mut helpers) = (String::new(), [false; 3]);
    let mut outside = false;
    for (field, column) in fields.iter().zip(&d.columns) {
        let first = column.first;
        let found = |categories: &[String]| {
            let names: Vec<String> = categories.iter().map(|c| literal(c)).collect();
            format!(
                "    if let Some(k) = find(&[{}], input.{field}) {{\n",
                names.join(", ")
            )
        };
        let missing = match &column.reading {
            Reading::Number {
                shift,
                scale,
                median,
                bounded,
            } => {
                let scale = format!("[{shift:?}, {scale:?}, {median:?}]");
                if *bounded {
                    outside = true;
                    lines += &format!(
                        "    let (scaled, out) = coordinate(input.{field}, {scale});\n    x[{first}] = scaled;\n    outside |= out;\n"
                    );
                } else {
                    lines += &format!("    x[{first}] = number(input.{field}, {scale});\n");
                }
                helpers[usize::from(*bounded)] = true;
                "is_nan"
            }
            Reading::Indicators { categories } => {
                helpers[2] = true;
                lines += &format!(
                    "{}        x[{first} + k] = 1.0;\n    }}\n",
                    found(categories)
                );
                "is_none"
            }
            Reading::Two { categories, values } => {
                helpers[2] = true;
                lines += &format!(
                    "{}        x[{first}] = {values:?}[k];\n    }}\n",
                    found(categories)
                );
                "is_none"
            }
        };
        if let Some(place) = column.missing {
            lines += &format!(
                "    if input.{field}.{missing}() {{\n        x[{place}] = 1.0;\n    }}\n"
            );
        }
    }
    let templates = [
        template!("rust", "number", "rs"),
        template!("rust", "coordinate", "rs"),
        template!("rust", "find", "rs"),
    ];
    let used = templates.iter().zip(helpers).filter(|(_, used)| *used);
    let helpers: String = used.map(|(template, _)| *template).collect();
    let (declared, told) = if outside {
        ("    let mut outside = false;\n", "outside")
    } else {
        ("", "false")
    };
    format!(
        "{helpers}\n/// Model inputs of a row, not a number where one is too extreme, and whether the row is outside the box of a density.\n\
         fn read(input: &{}) -> ([f32; D], bool) {{\n    let mut x = [0.0; D];\n{declared}{lines}    (x, {told})\n}}\n",
        type_of(d)
    )
}

/// What outputs become, after some iterations.
fn answers(d: &Description, fields: &[String]) -> String {
    let of = type_of(d);
    let after = |outside: &str, lines: &str| {
        format!(
            "\nfn after(input: &{of}, iterations: usize) -> f64 {{\n    let (x, {outside}) = read(input);\n    \
             if x.iter().any(|x| x.is_nan()) {{\n        return f64::NAN;\n    }}\n    \
             let f = f64::from(network(&x, iterations)[0]);\n{lines}}}\n"
        )
    };
    let exp = template!("rust", "exp64", "rs");
    match &d.output {
        Output::Response {
            mean, sd, range, ..
        } => {
            let y = format!("{mean:?} + {sd:?} * f");
            let held = match range {
                Some((low, high)) => format!("({y}).clamp({low:?}, {high:?})"),
                None => y,
            };
            after("_", &format!("    {held}\n"))
        }
        Output::Count { rate, exposure, .. } => {
            let expected = match (exposure, fields.last()) {
                (Some(_), Some(field)) => format!("(input.{field} * {rate:?}) as f32"),
                _ => format!("{rate:?}_f64 as f32"),
            };
            let lines = format!(
                "    let expected = {expected};\n    if !(expected > 0.0 && expected < f32::INFINITY) {{\n        \
                 return f64::NAN;\n    }}\n    f64::from(expected) * exp64(f)\n"
            );
            format!("{exp}{}", after("_", &lines))
        }
        Output::LogDensity { constants } => {
            let values = table(constants, "        ", |v| format!("{v:?}"));
            let (count, place) = match constants.len() {
                1 => (1, "0"),
                count => (count, "iterations - 1"),
            };
            let lines = format!(
                "    const CONSTANTS: [f64; {count}] = [\n{values}    ];\n    \
                 if outside && !f.is_nan() {{\n        return f64::NEG_INFINITY;\n    }}\n    f - CONSTANTS[{place}]\n"
            );
            after("outside", &lines)
        }
        Output::Classes { room, least, .. } => {
            let probabilities = match d.network.outputs > 1 {
                true => concat!(
                    template!("rust", "log64", "rs"),
                    template!("rust", "multiclass", "rs")
                ),
                false => template!("rust", "binary", "rs"),
            };
            let after = with_floor(template!("rust", "classes", "rs"), *room, *least);
            format!("{exp}{probabilities}{}", after.replace("INPUT", of))
        }
    }
}

fn callers(d: &Description, every_iteration: bool) -> String {
    let what = says(&d.output);
    let (result, none) = match &d.output {
        Output::Classes { .. } => ("Option<(usize, [f64; CLASSES.len()])>", "None"),
        _ => ("f64", "f64::NAN"),
    };
    let of = type_of(d);
    let mut text = format!(
        "\n/// {what}\npub fn predict(input: &{of}) -> {result} {{\n    after(input, ITERATIONS)\n}}\n"
    );
    if every_iteration {
        text += &format!(
            "\n/// The same after iteration `t`, from 1 to `ITERATIONS`.\n#[allow(dead_code)]\npub fn predict_iteration(input: &{of}, t: usize) -> {result} {{\n    \
             if !(1..=ITERATIONS).contains(&t) {{\n        return {none};\n    }}\n    after(input, t)\n}}\n"
        );
    }
    text
}

/// A text as a literal of ASCII.
fn literal(text: &str) -> String {
    let escaped: String = text.escape_default().collect();
    format!("\"{escaped}\"")
}
