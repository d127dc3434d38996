//! C99 that is also C++: a header, here, and a source file.

mod integers;
mod source;

use crate::description::{Column, Description, Output};
use crate::integers::Integers;
use crate::names::{identifiers, quoted};
use crate::{Export, ExportError, Format, Options, Sizes, preamble_of, renamed, says};

const ABOUT: &str = "\
The values are those of loopfit, bit for bit, unless the compiler contracts or reorders operations: compile with -std=c99,
or with -ffp-contract=off in another mode or as C++, and not with -ffast-math. Otherwise the last digits differ. Of the library,
nothing is needed but sqrtf, by Transformers alone. Where the processor has fused multiply-adds (ARM with a floating point unit, x86-64
with -mfma), the file is several times faster. Where loopfit refuses a row, because a number is too extreme, the answer is a NaN or class -1.

To see how large it is: cc -std=c99 -Os -c FILE.c && size FILE.o
";

pub(crate) fn export(d: &Description, options: &Options) -> Result<Export, ExportError> {
    export_with(d, options, None, d.sizes())
}

/// With a network of integers in place of its own, if there is one.
pub(crate) fn export_with(
    d: &Description,
    options: &Options,
    integers: Option<&Integers>,
    sizes: Sizes,
) -> Result<Export, ExportError> {
    let prefix = &options.prefix;
    let own = identifiers(&[prefix], "");
    if own[0] != *prefix || prefix.len() > 40 {
        return Err(ExportError::Prefix(prefix.clone()));
    }
    let fields = identifiers(&d.names(), prefix);
    let printer = Printer {
        d,
        fields: &fields,
        prefix,
        every_iteration: options.every_iteration,
        integers,
    };
    let (header, body) = (printer.header(sizes), printer.body()?);
    Ok(Export {
        format: Format::C,
        header: Some(header),
        body: body.into(),
        sizes,
        renamed: renamed(d, &fields),
    })
}

struct Printer<'a> {
    d: &'a Description,
    fields: &'a [String],
    prefix: &'a str,
    every_iteration: bool,
    integers: Option<&'a Integers>,
}

impl Printer<'_> {
    /// Text that says `model_` and `MODEL_`, with the prefix that was asked for.
    fn named(&self, text: &str) -> String {
        let upper = self.prefix.to_ascii_uppercase();
        let text = text.replace("MODEL_", &format!("{upper}_"));
        text.replace("model_", &format!("{}_", self.prefix))
    }

    fn header(&self, sizes: Sizes) -> String {
        let d = self.d;
        let mut text = String::from("/*\n");
        let (about, include) = match self.integers {
            Some(_) => (self.named(integers::ABOUT), "#include <stdint.h>\n\n"),
            None => (ABOUT.to_string(), ""),
        };
        for line in preamble_of(d, sizes, &about) {
            text += format!(" * {line}").trim_end();
            text += "\n";
        }
        text += " */\n";
        let mut declarations = format!(
            "#ifndef MODEL_H\n#define MODEL_H\n\n{include}#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
             #define MODEL_COLUMNS {}\n#define MODEL_ITERATIONS {}\n",
            self.fields.len(),
            d.network.iterations,
        );
        if !d.classes().is_empty() {
            declarations += &format!("#define MODEL_CLASSES {}\n", d.classes().len());
        }
        if !d.is_numeric() {
            declarations += "/* Instead of a category's number. */\n\
                             #define MODEL_MISSING (-1)\n#define MODEL_UNKNOWN (-2)\n";
        }
        text += &self.named(&declarations);
        if let Some(integers) = self.integers {
            text += &self.declared_integers(integers);
            text += &self.named("\n#ifndef MODEL_NO_FLOAT\n");
        }
        text += "\n/* A row, by the names of its columns as far as they are names of C. A missing number is NAN. */\n\
                 typedef struct {\n";
        for (field, column) in self.fields.iter().zip(&d.columns) {
            text += &self.field(field, column);
        }
        if let (
            Output::Count {
                exposure: Some(name),
                ..
            },
            Some(field),
        ) = (&d.output, self.fields.last())
        {
            text += &format!(
                "    double {field}; /* {}: the exposure, positive */\n",
                quoted(name)
            );
        }
        let without = |word| match self.integers {
            Some(_) => word,
            None => "",
        };
        text += &self.named("} model_input;\n");
        text += without("#endif\n");
        text += &self.named(
            "\n/* The names as tables have them. */\nextern const char *const model_columns[MODEL_COLUMNS];\n",
        );
        for (field, column) in self.fields.iter().zip(&d.columns) {
            if column.reading.categories().is_some() {
                let name = quoted(&column.name);
                let (prefix, missing) = (self.prefix, self.named("MODEL_MISSING"));
                text +=
                    &format!("/* The number of a category of {name}; {missing} if text is 0. */\n");
                text += &format!("int {prefix}_find_{field}(const char *text);\n");
            }
        }
        text += &self.named(without("\n#ifndef MODEL_NO_FLOAT\n"));
        text += &self.declared();
        text += without("#endif\n");
        text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
    }

    /// The field of a column.
    fn field(&self, field: &str, column: &Column) -> String {
        let name = quoted(&column.name);
        match column.reading.categories() {
            None => format!("    double {field}; /* {name} */\n"),
            Some(categories) => {
                let numbered = categories.iter().enumerate();
                let listed: Vec<String> = numbered
                    .map(|(k, c)| format!("{k} {}", quoted(c)))
                    .collect();
                format!("    int {field}; /* {name}: {} */\n", listed.join(", "))
            }
        }
    }

    /// The functions that say something.
    fn declared(&self) -> String {
        let (d, mut what) = (self.d, says(&self.d.output));
        let classes = !d.classes().is_empty();
        if classes {
            let numbered = d.classes().iter().enumerate();
            let listed = numbered.map(|(k, name)| format!("{k} {}", quoted(name)));
            let listed: Vec<String> = listed.collect();
            what += &format!(" The pointer may be 0. {}.", listed.join(", "));
        }
        let mut text = String::new();
        if classes {
            text += "extern const char *const model_classes[MODEL_CLASSES];\n\
                     int model_classify(const model_input *input, double *probabilities);\n";
        } else {
            text += "double model_evaluate(const model_input *input);\n";
        }
        if d.is_numeric() {
            text += "/* The same of numbers in the order of the columns. */\n";
            text += match classes {
                true => "int model_predict(const float *x, float *probabilities);\n",
                false => "float model_predict(const float *x);\n",
            };
        }
        if self.every_iteration {
            text += "/* After iteration t, from 1 to MODEL_ITERATIONS. */\n";
            text += match classes {
                true => {
                    "int model_classify_iteration(const model_input *input, int t, double *probabilities);\n"
                }
                false => "double model_evaluate_iteration(const model_input *input, int t);\n",
            };
            if d.is_numeric() {
                text += match classes {
                    true => {
                        "int model_predict_iteration(const float *x, int t, float *probabilities);\n"
                    }
                    false => "float model_predict_iteration(const float *x, int t);\n",
                };
            }
        }
        format!("\n/* {what} */\n{}", self.named(&text))
    }
}
