//! The source file: tables, network, reading of rows, answers.

use super::Printer;
use crate::ExportError;
use crate::description::{Description, Kind, Output, Reading};
use crate::names::table;
use crate::parts::{constants, parts, template, templates, tokens, weights, with_floor};

/// What floats need.
const FLOATS: &str =
    "#include <stdint.h>\n\n#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#endif\n\n";

/// What the roots of a Transformer's norms need; nothing else is of the library.
const ROOTS: &str = "#include <math.h>\n";

/// Stands for the field of the exposure until names have their prefix, which has no such sign.
const EXPOSURE: &str = "@exposure";

/// Longer texts need not be accepted by a compiler of C99 (5.2.4.1).
const LONGEST: usize = 4095;

impl Printer<'_> {
    /// The source file, but for the line that includes the header.
    pub(super) fn body(&self) -> Result<String, ExportError> {
        let d = self.d;
        let mut text = match self.integers {
            Some(_) => String::new(),
            None => match d.network.kind {
                Kind::Transformer { .. } => format!("{ROOTS}{FLOATS}"),
                Kind::Ffn { .. } => FLOATS.to_string(),
            },
        };
        text += &self.texts(
            "columns",
            "MODEL_COLUMNS",
            d.names().into_iter(),
            "the column",
        )?;
        if !d.classes().is_empty() {
            let names = d.classes().iter().map(String::as_str);
            text += &self.texts("classes", "MODEL_CLASSES", names, "the class")?;
        }
        match self.integers {
            Some(integers) => {
                text += &self.integers(integers);
                text += &self.finders()?;
                text += &self.named("\n#ifndef MODEL_NO_FLOAT\n");
                text += FLOATS;
                text += &self.integers_of_floats(integers);
            }
            None => {
                text += &self.network();
                text += &self.finders()?;
            }
        }
        text += &self.reader();
        let exposure = self.fields.last().map(String::as_str).unwrap_or_default();
        text += &self.named(template!("c", "special", "c"));
        text += &self.named(&self.answers()).replace(EXPOSURE, exposure);
        text += &self.callers();
        if self.integers.is_some() {
            text += "\n#endif\n";
        }
        Ok(text)
    }

    /// The network in floats.
    fn network(&self) -> String {
        let (d, network) = (self.d, &self.d.network);
        let mut text = self.named(&declared(d));
        let prefix = self.prefix;
        for (name, values) in weights(network) {
            let count = values.len();
            let values = table(&values, "    ", |v: f32| format!("{v:?}f"));
            text +=
                &format!("static const float {prefix}_{name}_weights[{count}] = {{\n{values}}};\n");
        }
        for (name, values) in tokens(network) {
            let values = table(&values, "    ", |v| v.to_string());
            text += &format!("static const int {prefix}_token_{name}[] = {{\n{values}}};\n");
        }
        text += "\n";
        let parts: String = parts(network)
            .into_iter()
            .map(templates!("c", "c"))
            .collect();
        text + &self.named(&parts)
    }

    /// Texts that the header declares.
    fn texts<'t>(
        &self,
        name: &str,
        size: &str,
        texts: impl Iterator<Item = &'t str>,
        what: &'static str,
    ) -> Result<String, ExportError> {
        let literals: Result<Vec<String>, ExportError> =
            texts.map(|text| literal(text, what)).collect();
        let (prefix, size) = (self.prefix, self.named(size));
        Ok(format!(
            "const char *const {prefix}_{name}[{size}] = {{{}}};\n",
            literals?.join(", ")
        ))
    }

    /// The numbers of categories.
    fn finders(&self) -> Result<String, ExportError> {
        let (prefix, mut text) = (self.prefix, String::new());
        if !self.d.is_numeric() {
            text += &self.named(template!("c", "find", "c"));
        }
        for (field, column) in self.fields.iter().zip(&self.d.columns) {
            let Some(categories) = column.reading.categories() else {
                continue;
            };
            let literals = categories.iter();
            let literals: Result<String, ExportError> = literals
                .map(|c| Ok(literal(c, "the category")? + ", "))
                .collect();
            text += &format!(
                "\nint {prefix}_find_{field}(const char *text) {{\n    static const char *const names[] = {{{}0}};\n    \
                 return {prefix}_find(names, text);\n}}\n",
                literals?
            );
        }
        Ok(text)
    }

    /// From a row to model inputs.
    fn reader(&self) -> String {
        let (prefix, mut lines) = (self.prefix, String::new());
        let mut scales = Vec::new();
        let (mut any_number, mut any_coordinate) = (false, false);
        for (field, column) in self.fields.iter().zip(&self.d.columns) {
            let first = column.first;
            match &column.reading {
                Reading::Number {
                    shift,
                    scale,
                    median,
                    bounded,
                } => {
                    let (times, helper) = match bounded {
                        true => ("", "coordinate"),
                        false => ("2 * ", "number"),
                    };
                    any_coordinate |= bounded;
                    any_number |= !bounded;
                    lines += &format!(
                        "    status |= {times}{prefix}_{helper}(input->{field}, {prefix}_scales[{}], x + {first});\n",
                        scales.len()
                    );
                    scales.push(format!("    {{{shift:?}, {scale:?}, {median:?}}},\n"));
                    if let Some(place) = column.missing {
                        lines += &format!(
                            "    x[{place}] = input->{field} != input->{field} ? 1.0f : 0.0f;\n"
                        );
                    }
                    continue;
                }
                Reading::Indicators { categories } => {
                    for k in 0..categories.len() {
                        lines += &format!(
                            "    x[{}] = input->{field} == {k} ? 1.0f : 0.0f;\n",
                            first + k
                        );
                    }
                }
                Reading::Two { values: [a, b], .. } => {
                    lines += &format!(
                        "    x[{first}] = input->{field} == 0 ? {a:?}f : input->{field} == 1 ? {b:?}f : 0.0f;\n"
                    );
                }
            }
            if let Some(place) = column.missing {
                let missing = self.named("MODEL_MISSING");
                lines += &format!("    x[{place}] = input->{field} == {missing} ? 1.0f : 0.0f;\n");
            }
        }
        let mut before = String::new();
        if any_number {
            before += template!("c", "numbers", "c");
        }
        if any_coordinate {
            before += template!("c", "coordinates", "c");
        }
        let mut text = self.named(&before);
        if !scales.is_empty() {
            text += &format!(
                "\nstatic const double {prefix}_scales[{}][3] = {{\n{}}};\n",
                scales.len(),
                scales.concat()
            );
        }
        text += &format!(
            "\n/* Model inputs of a row; 2 if a number is too extreme, 1 if it lies outside the box of a density. */\n\
             static int {prefix}_read(const {prefix}_input *input, float *x) {{\n    int status = 0;\n{lines}    return status;\n}}\n"
        );
        text
    }

    /// What outputs become, after some iterations.
    fn answers(&self) -> String {
        let open = "\nstatic double model_after(const model_input *input, int iterations) {\n    \
                    float x[MODEL_D], f[MODEL_OUTPUTS];\n";
        let exp = template!("c", "exp64", "c");
        match &self.d.output {
            Output::Response {
                mean, sd, range, ..
            } => {
                let held = match range {
                    Some((low, high)) => {
                        format!("y < {low:?} ? {low:?} : y > {high:?} ? {high:?} : y")
                    }
                    None => "y".to_string(),
                };
                format!(
                    "{open}    double y;\n    if (model_read(input, x)) return MODEL_NO_NUMBER;\n    model_network(x, iterations, f);\n    \
                     y = {mean:?} + {sd:?} * (double)f[0];\n    return {held};\n}}\n"
                )
            }
            Output::Count { rate, exposure, .. } => {
                let expected = match exposure {
                    Some(_) => format!("input->{EXPOSURE} * {rate:?}"),
                    None => format!("{rate:?}"),
                };
                format!(
                    "{exp}{open}    const double expected = {expected};\n    float rounded;\n    \
                     if (!(expected > 0.0 && expected < 3.4028235677973366e38)) return MODEL_NO_NUMBER;\n    \
                     rounded = (float)expected;\n    \
                     if (model_read(input, x) || !(rounded > 0.0f)) return MODEL_NO_NUMBER;\n    model_network(x, iterations, f);\n    \
                     return (double)rounded * model_exp64((double)f[0]);\n}}\n"
                )
            }
            Output::LogDensity { constants } => {
                let place = if constants.len() > 1 {
                    "iterations - 1"
                } else {
                    "0"
                };
                let values = table(constants, "        ", |v| format!("{v:?}"));
                format!(
                    "{open}    static const double constants[] = {{\n{values}    }};\n    \
                     const int status = model_read(input, x);\n    double y;\n    if (status & 2) return MODEL_NO_NUMBER;\n    \
                     model_network(x, iterations, f);\n    y = (double)f[0] - constants[{place}];\n    \
                     return status && y == y ? -MODEL_INFINITY : y;\n}}\n"
                )
            }
            Output::Classes { room, least, .. } => {
                let several = self.d.network.outputs > 1;
                let probabilities = match several {
                    true => concat!(
                        template!("c", "log64", "c"),
                        template!("c", "multiclass", "c")
                    ),
                    false => template!("c", "binary", "c"),
                };
                let after = with_floor(template!("c", "classes", "c"), *room, *least);
                format!("{exp}{probabilities}{after}")
            }
        }
    }

    /// The functions that the header declares.
    fn callers(&self) -> String {
        let classes = !self.d.classes().is_empty();
        let numeric = self.d.is_numeric();
        let fields = self.fields.iter().enumerate();
        let fields: String = fields
            .map(|(k, field)| format!("    input.{field} = x[{k}];\n"))
            .collect();
        let mut templates = match classes {
            true => vec![template!("c", "classify", "c")],
            false => vec![template!("c", "evaluate", "c")],
        };
        if self.every_iteration {
            templates.push(match classes {
                true => template!("c", "classify_iteration", "c"),
                false => template!("c", "evaluate_iteration", "c"),
            });
        }
        let mut text = String::new();
        for template in templates {
            // The second function of a template is for numbers alone.
            let (first, second) = template.split_once("\n\n").unwrap_or((template, ""));
            text += &self.named(&format!("\n{}\n", first.trim()));
            if numeric {
                let filled = self.named(&format!("\n{}\n", second.trim()));
                text += &filled.replace("    FIELDS\n", &fields);
            }
        }
        text
    }
}

/// Sizes of the network, and numbers that follow from them.
fn declared(d: &Description) -> String {
    let (sizes, numbers) = constants(d);
    let size = |(name, v)| format!("#define MODEL_{name} {v}\n");
    let number = |(name, v)| format!("#define MODEL_{name} {v:?}f\n");
    let mut text = String::from("\n");
    text.extend(sizes.into_iter().map(size));
    text.extend(numbers.into_iter().map(number));
    text + "\n"
}

/// A text as a literal of C, every byte beyond plain ASCII by its number; a question mark too, since two of them may begin a trigraph.
fn literal(text: &str, what: &'static str) -> Result<String, ExportError> {
    let wrong = if text.contains('\0') {
        Some("holds a zero byte")
    } else if text.len() > LONGEST {
        Some("is longer than 4095 bytes")
    } else {
        None
    };
    if let Some(why) = wrong {
        let name: String = text
            .chars()
            .take(20)
            .flat_map(char::escape_default)
            .collect();
        let name = format!("`{name}`");
        return Err(ExportError::Text { what, name, why });
    }
    let byte = |byte: u8| match byte {
        b'"' | b'\\' | b'?' => format!("\\{}", char::from(byte)),
        b' '..=b'~' => char::from(byte).to_string(),
        _ => format!("\\{byte:03o}"),
    };
    let escaped: String = text.bytes().map(byte).collect();
    Ok(format!("\"{escaped}\""))
}
