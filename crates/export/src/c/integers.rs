//! The network in integers: what the header says of it, tables and functions.

use super::Printer;
use crate::description::{Output, Reading};
use crate::integers::{Integers, Width, constants, exp2};
use crate::names::{quoted, table};
use crate::parts::template;
use loopfit_model::Activation;

/// What the header says at its top.
pub(super) const ABOUT: &str = "\
The network is of integers: model_predict_q needs no floats and no library, and its answers are the same bits everywhere. With
-DMODEL_NO_FLOAT nothing else is compiled. Otherwise the other functions read numbers, call it, and say what its outputs mean, with
floats outside of it alone. Signed numbers must keep their sign when they are shifted to the right, as they do with every usual
compiler; one that does otherwise refuses the file.

To see how large it is: cc -std=c99 -Os -DMODEL_NO_FLOAT -c FILE.c && size FILE.o
";

impl Printer<'_> {
    /// Types, sizes and functions of integers, for the header.
    pub(super) fn declared_integers(&self, integers: &Integers) -> String {
        let d = self.d;
        let one = exp2(integers.input_bits)
            .min(f64::from(integers.limit()))
            .round();
        let upper = self.prefix.to_ascii_uppercase();
        let mut text = self.named(&format!(
            "\n/* Integers of the network; what is larger in size than the limit is held to it. */\n\
             typedef int32_t model_q;\n#define MODEL_LIMIT {}\n#define MODEL_INPUTS {}\n",
            integers.limit(),
            d.network.d
        ));
        text += "\n/* What it reads, each rounded:\n";
        let mut macros = String::new();
        for (field, column) in self.fields.iter().zip(&d.columns) {
            let (first, name) = (column.first, quoted(&column.name));
            match &column.reading {
                Reading::Number {
                    shift,
                    scale,
                    median,
                    bounded,
                } => {
                    let held = match bounded {
                        true => format!(", held to 0 and {one}"),
                        false => String::new(),
                    };
                    text += &format!(
                        "   x[{first}] = ({field} - {upper}_SHIFT_{field}) / {upper}_STEP_{field}{held}; \
                         {field} is {name}, {median:?} where it is missing\n"
                    );
                    let step = scale * exp2(-integers.input_bits);
                    macros += &format!(
                        "#define {upper}_SHIFT_{field} ({shift:?})\n#define {upper}_STEP_{field} {step:?}\n"
                    );
                }
                Reading::Indicators { categories } => {
                    let last = first + categories.len() - 1;
                    text += &format!(
                        "   x[{first}] to x[{last}] = {upper}_ONE where {name} is the category of that place, 0 elsewhere\n"
                    );
                }
                Reading::Two { values, .. } => {
                    let fixed = integers.inputs(values);
                    text += &format!(
                        "   x[{first}] = {} where {name} is category 0, {} where it is 1, 0 elsewhere\n",
                        fixed[0], fixed[1]
                    );
                }
            }
            if let Some(place) = column.missing {
                text +=
                    &format!("   x[{place}] = {upper}_ONE where {name} is missing, 0 elsewhere\n");
            }
        }
        let step = exp2(-integers.output_bits);
        let mut answers = format!("#define MODEL_ONE {one}\n#define MODEL_F_STEP {step:?}\n");
        let meaning = match &d.output {
            Output::Response {
                mean, sd, range, ..
            } => {
                answers += &format!(
                    "#define MODEL_Y_SHIFT ({mean:?})\n#define MODEL_Y_STEP {:?}\n",
                    sd * step
                );
                let held = range.map(|(low, high)| format!(", held to {low:?} and {high:?}"));
                format!(
                    "An output f predicts MODEL_Y_SHIFT + MODEL_Y_STEP * f{}.",
                    held.unwrap_or_default()
                )
            }
            Output::Count { rate, .. } => {
                format!(
                    "An output f is of a mean of {rate:?} * exp(MODEL_F_STEP * f), by exposure."
                )
            }
            Output::Classes { .. } if d.network.outputs == 1 => {
                "The output f is the logit of class 1, MODEL_F_STEP * f.".to_string()
            }
            Output::Classes { .. } => {
                "Outputs f are logits MODEL_F_STEP * f, one for each class.".to_string()
            }
            Output::LogDensity { constants } => {
                let constant = constants.last().copied().unwrap_or(0.0);
                format!("An output f is of a log density of MODEL_F_STEP * f - {constant:?}.")
            }
        };
        if !d.classes().is_empty() {
            answers += &format!("#define MODEL_LOGITS {}\n", d.network.outputs);
        }
        text += &self.named(&format!("   {meaning} */\n{answers}"));
        text += &macros;
        let mut functions = String::from("\n");
        functions += match d.classes() {
            [] => "int32_t model_predict_q(const model_q *x);\n",
            _ => {
                "/* The most likely class; logits, MODEL_LOGITS of them, may be 0. */\n\
                 int model_predict_q(const model_q *x, model_q *logits);\n"
            }
        };
        if self.every_iteration {
            functions += "/* After iteration t, from 1 to MODEL_ITERATIONS. */\n";
            functions += match d.classes() {
                [] => "int32_t model_predict_q_iteration(const model_q *x, int t);\n",
                _ => "int model_predict_q_iteration(const model_q *x, int t, model_q *logits);\n",
            };
        }
        text + &self.named(&functions)
    }

    /// Tables and functions that need no floats.
    pub(super) fn integers(&self, integers: &Integers) -> String {
        let (d, width) = (self.d, integers.width());
        let network = &d.network;
        let (weight, bias, row) = match width {
            Width::Eight => ("int8_t", "int16_t", template!("c", "integers/row8", "c")),
            Width::Sixteen => ("int16_t", "int32_t", template!("c", "integers/row16", "c")),
        };
        let mut text = String::from(
            "\n/* What is shifted to the right keeps its sign. */\n\
             typedef char model_shifts_keep_signs[(-1 >> 1) == -1 ? 1 : -1];\n\n",
        );
        let mut sizes = vec![
            ("D", network.d),
            ("Q", network.q),
            ("OUTPUTS", network.outputs),
        ];
        let affine = network.blocks.is_empty();
        if !affine {
            let untied = usize::from(network.blocks.len() > 1);
            sizes.extend([("R", network.r), ("STEP", untied)]);
        }
        for (name, size) in sizes {
            text += &format!("#define MODEL_{name} {size}\n");
        }
        text += &format!(
            "#define MODEL_CLIP {}\n#define MODEL_BIAS {}\n",
            integers.clip,
            integers.bias().1
        );
        if !affine {
            for (name, value) in constants(integers) {
                text += &format!("#define MODEL_{name} {value}\n");
            }
        }
        text += "\n";
        let (input, blocks, output) = integers.parts();
        let layers = [
            ("input", vec![input]),
            ("first", blocks.iter().step_by(2).collect()),
            ("second", blocks.iter().skip(1).step_by(2).collect()),
            ("output", vec![output]),
        ];
        for (name, layers) in layers.iter().filter(|(_, layers)| !layers.is_empty()) {
            let all = |of: fn(&crate::integers::Layer) -> Vec<i32>| -> Vec<i32> {
                layers.iter().flat_map(|layer| of(layer)).collect()
            };
            let weights = all(|l| l.weights.clone());
            let biases = all(|l| l.biases.clone());
            let shifts = all(|l| l.shifts.iter().map(|s| *s as i32).collect());
            for (kind, part, numbers) in [
                (weight, "weights", weights),
                (bias, "biases", biases),
                ("uint8_t", "shifts", shifts),
            ] {
                text += &fixed(kind, &format!("{name}_{part}"), &numbers);
            }
        }
        let mut functions = String::from(row) + template!("c", "integers/held", "c");
        if !affine {
            if !integers.table.is_empty() {
                let numbers: Vec<i32> = integers.table.iter().map(|v| i32::from(*v)).collect();
                text += &fixed("int16_t", "table", &numbers);
                functions += template!("c", "integers/table", "c");
            }
            functions += match integers.activation {
                Activation::Relu => template!("c", "integers/relu", "c"),
                Activation::Tanh => template!("c", "integers/tanh", "c"),
                Activation::Silu => template!("c", "integers/silu", "c"),
                Activation::Sine => template!("c", "integers/sine", "c"),
            };
        }
        functions += match affine {
            true => template!("c", "integers/affine", "c"),
            false => template!("c", "integers/ffn", "c"),
        };
        let output = template!("c", "integers/output", "c");
        let functions = functions.replace("    OUTPUT\n", output);
        text += "\n";
        // Pointers to weights; those of the row of 16 bits are written as they are.
        text += &functions.replace("int8_t", weight);
        let callers = match d.classes() {
            [] => template!("c", "integers/predict", "c"),
            _ => template!("c", "integers/classes", "c"),
        };
        text += match (d.classes(), network.outputs) {
            ([], _) => "",
            (_, 1) => template!("c", "integers/best_of_two", "c"),
            _ => template!("c", "integers/best", "c"),
        };
        let (last, each) = callers.trim().split_once("\n\n").unwrap_or((callers, ""));
        text += &format!("\n{last}\n");
        if self.every_iteration {
            text += &format!("\n{each}\n");
        }
        self.named(&text)
    }

    /// The same network from floats to floats.
    pub(super) fn integers_of_floats(&self, integers: &Integers) -> String {
        let unit = exp2(integers.input_bits);
        let text = template!("c", "integers/floats", "c");
        self.named(&text.replace("MODEL_UNIT", &format!("{unit:?}f")))
    }
}

fn fixed(kind: &str, name: &str, numbers: &[i32]) -> String {
    let count = numbers.len();
    let numbers = table(numbers, "    ", |v| v.to_string());
    format!("static const {kind} model_{name}[{count}] = {{\n{numbers}}};\n")
}
