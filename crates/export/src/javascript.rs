//! JavaScript: one ES module.

use crate::description::{Column, Description, Kind, Output, Reading};
use crate::names::table;
use crate::parts::{constants, parts, template, templates, weights, with_floor};
use crate::{Export, Format, Options, comments, says};

const ABOUT: &str = "\
The network has the bits of loopfit; exponentials of probabilities and means are those of the engine that runs this, so
that their last digits may differ.

A row is an object with the columns by their names. Missing cells are null, undefined, \"\" or NaN, and texts that are not a
category count as unknown. Where loopfit refuses a row, because a number is too extreme, the answer is NaN or the label null.
";

pub(crate) fn export(d: &Description, options: &Options) -> Export {
    Export {
        format: Format::JavaScript,
        header: None,
        body: module(d, options).into(),
        sizes: d.sizes(),
        renamed: Vec::new(),
    }
}

/// The text of the module.
pub(crate) fn module(d: &Description, options: &Options) -> String {
    let network = &d.network;
    let mut body = comments(d, ABOUT);
    body += &format!("\nexport const columns = {};\n", literals(d.names()));
    body += &format!("export const iterations = {};\n", network.iterations);
    if !d.classes().is_empty() {
        let names = d.classes().iter().map(String::as_str);
        body += &format!("export const classes = {};\n", literals(names));
    }
    body += &declared(d);
    for (name, values) in weights(network) {
        let values = table(&values, "  ", float);
        body += &format!("const {name}Weights = new Float32Array([\n{values}]);\n");
    }
    let readings: String = d.columns.iter().map(reading).collect();
    body += &format!("const readings = [\n{readings}];\n\n");
    body += &parts(network)
        .into_iter()
        .map(templates!("js", "js"))
        .collect::<String>();
    body += template!("js", "network", "js");
    body += template!("js", "read", "js");
    body += &answers(d);
    body += template!("js", "after", "js");
    body += &callers(d, options.every_iteration);
    body
}

/// Sizes of the network, and numbers that follow from them.
fn declared(d: &Description) -> String {
    let (sizes, numbers) = constants(d);
    let size = |(name, v)| format!("const {name} = {v};\n");
    let number = |(name, v)| format!("const {name} = Math.fround({});\n", float(v));
    let sizes = sizes.into_iter().map(size);
    let mut text: String = sizes.chain(numbers.into_iter().map(number)).collect();
    if let Kind::Transformer { tokens } = &d.network.kind {
        text += &format!("const tokens = {tokens:?};\n");
    }
    text
}

fn reading(column: &Column) -> String {
    let missing = column
        .missing
        .map_or("null".to_string(), |place| place.to_string());
    let how = match &column.reading {
        Reading::Number {
            shift,
            scale,
            median,
            bounded,
        } => {
            format!("scale: [{shift:?}, {scale:?}, {median:?}], bounded: {bounded}")
        }
        Reading::Indicators { categories } => {
            format!(
                "categories: {}, values: null",
                literals(categories.iter().map(String::as_str))
            )
        }
        Reading::Two {
            categories,
            values: [a, b],
        } => {
            let categories = literals(categories.iter().map(String::as_str));
            format!(
                "categories: {categories}, values: [{}, {}]",
                float(*a),
                float(*b)
            )
        }
    };
    let (name, first) = (literal(&column.name), column.first);
    format!("  {{ name: {name}, first: {first}, missing: {missing}, {how} }},\n")
}

/// What outputs become, which of a row is known, and after which iteration.
fn answers(d: &Description) -> String {
    let answer =
        |parameters: &str, lines: &str| format!("\nfunction answer({parameters}) {{\n{lines}}}\n");
    match &d.output {
        Output::Response {
            mean, sd, range, ..
        } => {
            let y = format!("{mean:?} + {sd:?} * f");
            let y = match range {
                Some((low, high)) => format!("Math.min(Math.max({y}, {low:?}), {high:?})"),
                None => y,
            };
            answer(
                "{ refused }, [f]",
                &format!("  return refused ? NaN : {y};\n"),
            )
        }
        Output::Count { rate, exposure, .. } => {
            let expected = match exposure {
                Some(name) => format!("(number(row, {}) ?? NaN) * {rate:?}", literal(name)),
                None => format!("{rate:?}"),
            };
            answer(
                "{ refused }, [f], t, row",
                &format!(
                    "  const expected = fround({expected});\n  if (refused || !(expected > 0 && expected < Infinity)) return NaN;\n  \
                     return expected * Math.exp(f);\n"
                ),
            )
        }
        Output::LogDensity { constants } => {
            let values = table(constants, "  ", |v| format!("{v:?}"));
            let place = if constants.len() > 1 { "t - 1" } else { "0" };
            let answer = answer(
                "{ refused, outside }, [f], t",
                &format!(
                    "  const y = refused ? NaN : f - constants[{place}];\n  return outside && !Number.isNaN(y) ? -Infinity : y;\n"
                ),
            );
            format!("\nconst constants = [\n{values}];\n{answer}")
        }
        Output::Classes { room, least, .. } => {
            let probabilities = match d.network.outputs > 1 {
                true => template!("js", "multiclass", "js"),
                false => template!("js", "binary", "js"),
            };
            let answer = with_floor(template!("js", "classes", "js"), *room, *least);
            format!("{probabilities}{answer}")
        }
    }
}

fn callers(d: &Description, every_iteration: bool) -> String {
    let what = says(&d.output);
    let mut text = format!(
        "\n// {what}\nexport function predict(row) {{\n  return after(row, iterations);\n}}\n"
    );
    if every_iteration {
        text += "\n// The same after iteration t, from 1 to `iterations`.\nexport function predictIteration(row, t) {\n  \
                 if (!(Number.isInteger(t) && t >= 1 && t <= iterations)) throw new RangeError(`there is no iteration ${t}`);\n  \
                 return after(row, t);\n}\n";
    }
    text
}

pub(crate) fn literals<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let literals: Vec<String> = texts.into_iter().map(literal).collect();
    format!("[{}]", literals.join(", "))
}

/// A text as a literal of ASCII that can stand in a page as well.
pub(crate) fn literal(text: &str) -> String {
    let unit = |unit: u16| match u8::try_from(unit) {
        Ok(byte @ (b' '..=b'~')) if !b"\"\\<>&'".contains(&byte) => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    let escaped: String = text.encode_utf16().map(unit).collect();
    format!("\"{escaped}\"")
}

/// A number whose literal, read in 64 bits and rounded to 32, is itself.
fn float(v: f32) -> String {
    let short = format!("{v:?}");
    match short
        .parse::<f64>()
        .is_ok_and(|wide| (wide as f32).to_bits() == v.to_bits())
    {
        true => short,
        false => format!("{:?}", f64::from(v)),
    }
}
