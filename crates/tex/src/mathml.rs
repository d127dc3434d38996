//! From TeX to a block of HTML.

use math_core::{LatexToMathML, MathCoreConfig, MathDisplay};

use crate::error::Error;

/// The block: as far from the next as paragraphs of rustdoc, and a formula wider than the page scrolls in it. The
/// padding takes up what formulas reach beyond their line, for which browsers would offer to scroll up and down.
const BLOCK: &str = "margin-bottom: 0.35em; padding: 0.4em 0; overflow: auto hidden";

/// The formula: never narrower than it is, for tables would put their columns over each other. The fonts for
/// mathematics are those that systems bring along, in front of what the browser chooses: large operators and braces
/// that grow need such a font, and some browsers do not look for one.
const FORMULA: &str = "min-width: max-content; font-family: 'Latin Modern Math', 'STIX Two Math', 'Cambria Math', \
    'DejaVu Math TeX Gyre', math";

/// Commands that the converter does not have.
const COMMANDS: [(&str, &str); 1] = [("widetilde", r"\tilde{#1}")];

/// The formula as one line of HTML.
///
/// Markdown would take underscores and backslashes for its own. A line that begins with a comment is HTML throughout,
/// whatever the lines around it are; other tags would need blank lines around theirs, and rustdoc drops blank lines at
/// the ends of an attribute.
pub(crate) fn line(tex: &str) -> Result<String, Error> {
    let mathml = rows_around_sized_delimiters(&convert(&lines(tex))?).replace('\n', "&#10;");
    let mathml = mathml.replacen("<math", &format!("<math style=\"{FORMULA}\""), 1);
    Ok(format!(
        "<!-- formula --><div style=\"{BLOCK}\">{mathml}</div>"
    ))
}

/// The formula without indentation and empty lines.
fn lines(tex: &str) -> String {
    let lines: Vec<&str> = tex
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    // TeX takes the end of a line for a space, so a backslash there is the command of a space.
    lines.join("\n").replace("\\\n", "\\ \n")
}

fn convert(tex: &str) -> Result<String, Error> {
    let config = MathCoreConfig {
        macros: COMMANDS
            .map(|(name, meaning)| (name.to_owned(), meaning.to_owned()))
            .to_vec(),
        annotation: true,
        ..MathCoreConfig::default()
    };
    let converter = LatexToMathML::new(config).expect("our own commands are well formed");
    match converter.convert_with_local_state(tex, MathDisplay::Block) {
        Ok(converted) => Ok(converted.mathml),
        Err(error) => Err(Error::Unreadable {
            tex: tex.to_owned(),
            place: match tex.get(error.0.clone()) {
                None | Some("") => "its end".to_owned(),
                Some(part) => format!("`{part}`"),
            },
            reason: error.error_message().trim_end_matches('.').to_owned(),
        }),
    }
}

/// Puts a row around the delimiter of `\Bigr)^2`: Chromium gives a delimiter its size within a row only, and not where
/// it carries the script itself.
fn rows_around_sized_delimiters(mathml: &str) -> String {
    const END: &str = "</mo>";
    let mut parts = mathml.split("<mo ");
    let mut rows = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let carries = ["<msup>", "<msub>", "<msubsup>"]
            .iter()
            .any(|tag| rows.ends_with(tag));
        let sized = part
            .split('>')
            .next()
            .is_some_and(|attributes| attributes.contains("minsize="));
        match part.split_once(END) {
            Some((operator, rest)) if carries && sized => {
                rows += &format!("<mrow><mo {operator}{END}</mrow>{rest}");
            }
            _ => rows += &format!("<mo {part}"),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_formula_is_quoted_with_its_place() {
        let cases = [
            (r"a \nosuch b", r"`\nosuch`"),
            (r"\frac{a}{b", "its end"),
            (r"x_1_2", "`_`"),
            (r"\begin{aligned} a &= b \end{cases}", r"`\end{cases}`"),
        ];
        for (tex, place) in cases {
            let message = line(tex).unwrap_err().to_string();
            let beginning = format!("tex! cannot read the formula `{tex}` at {place}: ");
            assert!(message.starts_with(&beginning), "{message}");
        }
    }
}
