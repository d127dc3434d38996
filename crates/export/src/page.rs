//! A page that shows a model at work: the JavaScript module with sliders, charts and what the model is around it, in one file that
//! asks for nothing outside itself.
//!
//! Texts from tables reach the page in two ways alone, as literals of the module ([`literal`]) that its script shows as text, and
//! as escaped markup ([`markup`]).

mod facts;

use crate::description::{Description, Output};
use crate::javascript::{self, literal};
use crate::parts::template;
use crate::{Export, Format, Options};
use loopfit_fitted::FittedModel;

/// How likely a new target lies in the interval that is shown around a response.
const LEVEL: f64 = 0.9;

pub(crate) fn export(model: &FittedModel, d: &Description, options: &Options) -> Export {
    let title = facts::title(d);
    let parts = [
        ("TITLE", markup(&title)),
        ("STYLE", template!("page", "style", "css").to_string()),
        ("LEDE", markup(&facts::lede(model))),
        ("FACTS", listed(&facts::facts(model, d))),
        ("VERSION", env!("CARGO_PKG_VERSION").to_string()),
        ("MODULE", inside_script(&javascript::module(d, options))),
        ("ABOUT", about(model, d)),
        ("CHARTS", template!("page", "charts", "js").to_string()),
        ("INPUTS", template!("page", "inputs", "js").to_string()),
        ("MAP", template!("page", "map", "js").to_string()),
        ("SCRIPT", template!("page", "page", "js").to_string()),
    ];
    Export {
        format: Format::Html,
        header: None,
        body: filled(template!("page", "page", "html"), &parts).into(),
        sizes: d.sizes(),
        renamed: Vec::new(),
    }
}

/// A template with texts at its marks, `{{NAME}}`; marks within the texts stay as they are.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut pieces = template.split("{{");
    let mut text = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or((piece, ""));
        let part = parts.iter().find(|(known, _)| *known == name);
        text += part.map_or("", |(_, part)| part);
        text += rest;
    }
    text
}

/// What the script needs beside the module: what is predicted, and where inputs lay in training.
fn about(model: &FittedModel, d: &Description) -> String {
    let preprocessing = &model.preprocessing;
    let (kind, target) = match &d.output {
        Output::Response { target, .. } => ("response", target.as_str()),
        Output::Count { target, .. } => ("count", target.as_str()),
        Output::Classes { target, .. } => ("classes", target.as_str()),
        Output::LogDensity { .. } => ("density", "log density"),
    };
    let ranges: Vec<String> = preprocessing
        .inputs()
        .iter()
        .map(|input| {
            let (low, width) = input.interval();
            let known = input.range().map(|range| (range.low(), range.high()));
            let (low, high) = known.unwrap_or((low, low + width));
            format!("[{low:?}, {high:?}]")
        })
        .collect();
    let number = |v: Option<f64>| v.map_or("null".to_string(), |v| format!("{v:?}"));
    let half = number(model.half_width(LEVEL).ok());
    let sharing = match facts::sharing(model) {
        Some([input, update, output]) => {
            format!("{{ input: {input}, update: {update}, output: {output} }}")
        }
        None => "null".to_string(),
    };
    let method = model.parameters.network().tying().method();
    format!(
        "const about = {{\n  kind: {}, target: {}, method: {},\n  ranges: [{}], exposure: {},\n  interval: {half}, level: {LEVEL:?}, \
         numbers: {sharing}, multiplyAdds: {},\n}};\n",
        literal(kind),
        literal(target),
        literal(&method.to_string()),
        ranges.join(", "),
        number(preprocessing.mean_weight()),
        d.sizes().multiply_adds.max(1),
    )
}

/// Terms and what is to be said of each.
fn listed(facts: &[(&str, String)]) -> String {
    let row = |(term, text): &(&str, String)| {
        format!(
            "      <div><dt>{}</dt><dd>{}</dd></div>\n",
            markup(term),
            markup(text)
        )
    };
    facts.iter().map(row).collect()
}

/// A text in markup, in an attribute as well. Signs that no page may have become spaces.
fn markup(text: &str) -> String {
    let sign = |c: char| match c {
        '&' => "&amp;".to_string(),
        '<' => "&lt;".to_string(),
        '>' => "&gt;".to_string(),
        '"' => "&quot;".to_string(),
        '\'' => "&#39;".to_string(),
        // What turns the direction of text around would also turn what follows.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => " ".to_string(),
        c if c.is_control() => " ".to_string(),
        c => c.to_string(),
    };
    text.chars().map(sign).collect()
}

/// A module as the inside of a script element, which neither its comments end.
fn inside_script(module: &str) -> String {
    module.replace("</", "< /").replace("<!--", "< !--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_filled_once() {
        let parts = [("A", "{{B}}".to_string()), ("B", "b".to_string())];
        assert_eq!(filled("{{A}} {{B}}{{C}}.", &parts), "{{B}} b.");
    }

    #[test]
    fn nothing_of_a_text_is_markup() {
        assert_eq!(
            markup("<a href=\"x\">'&'\n\u{202e}\0"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;   "
        );
        assert_eq!(
            inside_script("// from </script><!-- x"),
            "// from < /script>< !-- x"
        );
    }
}
