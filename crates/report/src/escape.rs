//! Text that came from outside, made safe for each kind of document.
//!
//! Column names, categories and file names reach the reports; none of them may
//! move the terminal's cursor, end a table cell or open a tag.

/// `text` on one line, without control characters: each becomes a space.
pub(crate) fn one_line(text: &str) -> String {
    // U+FFFE and U+FFFF may not occur in XML at all.
    let forbidden = |c: char| c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    text.chars()
        .map(|c| if forbidden(c) { ' ' } else { c })
        .collect()
}

/// For HTML and SVG, in text and in quoted attributes alike.
pub(crate) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// For Markdown: a paragraph, a heading, a list item or a table cell.
pub(crate) fn markdown(text: &str) -> String {
    let line = one_line(text);
    let line = line.trim();
    // At the start of a line these would open a heading, a list or a rule;
    // elsewhere they are ordinary and stay readable.
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut after = line[digits..].chars();
    let opener = match (after.next(), after.next()) {
        (Some('#' | '+' | '-' | '='), _) if digits == 0 => Some(0),
        (Some('.' | ')'), None | Some(' ')) if digits > 0 => Some(digits),
        _ => None,
    };
    let mut escaped = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '>' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => {
                if opener == Some(at) {
                    escaped.push('\\');
                }
                escaped.push(c);
            }
        }
    }
    escaped
}

/// Letters that stand for quantities of the paper wherever they stand alone.
const SYMBOLS: &str = "qrTPBnd";
const SUPERSCRIPTS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/// For LaTeX: ordinary text. The signs of our numbers and the symbols of the paper become
/// mathematics; other letters stay as they are.
pub(crate) fn latex(text: &str) -> String {
    let line = one_line(text);
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut escaped: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let (taken, word) = match words[at..] {
            // `T = 16`, `× 10⁻³`.
            [name, "=", value, ..] if mathematics(&format!("{name}={value}")).is_some() => {
                (3, mathematics(&format!("{name}={value}")))
            }
            ["×", power, ..] if is_power(power) => {
                let power = latex_word(power).replace('$', "");
                (2, Some(format!("$\\times {power}$")))
            }
            [word, ..] => (1, mathematics(word)),
            [] => (1, None),
        };
        escaped.push(word.unwrap_or_else(|| latex_word(words[at])));
        at += taken;
    }
    escaped.join(" ")
}

/// Whether a word is a power of ten.
fn is_power(word: &str) -> bool {
    let superscript = |c| c == '⁻' || SUPERSCRIPTS.contains(c);
    word.strip_prefix("10")
        .is_some_and(|exponent| exponent.chars().all(superscript))
}

/// A word that is a formula, with the punctuation around it: `q=4`, `−0.3`, `B`, `f0`.
fn mathematics(word: &str) -> Option<String> {
    let core = word.trim_matches(|c| "(),.;:".contains(c));
    let (before, after) = word.split_once(core)?;
    let is_number = |text: &str| {
        let digits = text.trim_start_matches(['−', '+']);
        digits.starts_with(|c: char| c.is_ascii_digit() || c == '∞')
            && digits
                .chars()
                .all(|c| c.is_ascii_digit() || ".∞".contains(c))
    };
    let is_letter = |text: &str| text.len() == 1 && text.chars().all(|c| c.is_ascii_alphabetic());
    let formula = match core.split_once('=') {
        Some((name, value)) if is_letter(name) && is_number(value) => format!("{name} = {value}"),
        None if core == "f0" => "f_0".to_string(),
        None if is_letter(core) && SYMBOLS.contains(core) => core.to_string(),
        None if is_number(core) && core.starts_with(['−', '+']) => core.to_string(),
        _ => return None,
    };
    let formula = formula.replace('−', "-").replace('∞', "\\infty");
    Some(format!("{before}${formula}${after}"))
}

/// A word with its signs.
fn latex_word(word: &str) -> String {
    let mut escaped = String::with_capacity(word.len());
    let mut rest = word.chars().peekable();
    let exponent = |c: char| match SUPERSCRIPTS.chars().position(|s| s == c) {
        Some(digit) => char::from_digit(digit as u32, 10),
        None => (c == '⁻').then_some('-'),
    };
    while let Some(c) = rest.next() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("$<$"),
            '>' => escaped.push_str("$>$"),
            '|' => escaped.push_str("$|$"),
            '×' => escaped.push_str("$\\times$"),
            '−' => escaped.push_str("$-$"),
            '±' => escaped.push_str("$\\pm$"),
            '≤' => escaped.push_str("$\\le$"),
            '≥' => escaped.push_str("$\\ge$"),
            '∞' => escaped.push_str("$\\infty$"),
            '–' => escaped.push_str("--"),
            '…' => escaped.push_str("\\dots{}"),
            _ => match exponent(c) {
                Some(first) => {
                    escaped.push_str("$^{");
                    escaped.push(first);
                    while let Some(next) = rest.peek().copied().and_then(exponent) {
                        escaped.push(next);
                        rest.next();
                    }
                    escaped.push_str("}$");
                }
                None => escaped.push(c),
            },
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_become_spaces() {
        assert_eq!(
            one_line("a\u{1b}[31mb\r\nc\0\u{9b}\u{ffff}"),
            "a [31mb  c   "
        );
    }

    #[test]
    fn markup_is_text() {
        assert_eq!(
            xml("<a b=\"c\">'&'</a>"),
            "&lt;a b=&quot;c&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;"
        );
        assert_eq!(
            markdown("a|b *c* f_0 <br> &lt;"),
            r"a\|b \*c\* f\_0 &lt;br\> &amp;lt;"
        );
    }

    #[test]
    fn latex_has_mathematics_and_no_commands() {
        assert_eq!(
            latex("2.64 (0.11) × 10⁻³ & −1 \\input{x}_1 50%"),
            r"2.64 (0.11) $\times 10^{-3}$ \& $-1$ \textbackslash{}input\{x\}\_1 50\%"
        );
        assert_eq!(
            latex("q=4 r=11 (2/4), B = 128: MSE against f0, a cap B, n"),
            "$q = 4$ $r = 11$ (2/4), $B = 128$: MSE against $f_0$, a cap $B$, $n$"
        );
        assert_eq!(
            latex("+0.3 10⁶ × 10$ ="),
            r"$+0.3$ 10$^{6}$ $\times$ 10\$ ="
        );
    }

    #[test]
    fn nothing_opens_a_block_in_markdown() {
        assert_eq!(markdown("# a # b"), r"\# a # b");
        assert_eq!(markdown("- a - b"), r"\- a - b");
        assert_eq!(markdown("12. a 1.5"), r"12\. a 1.5");
        assert_eq!(markdown("> a"), r"\> a");
        assert_eq!(markdown("12)"), r"12\)");
        assert_eq!(markdown("1.5 a"), "1.5 a");
    }

    proptest! {
        #[test]
        fn escaped_xml_has_no_markup(text in any::<String>()) {
            let escaped = xml(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            prop_assert!(!escaped.chars().any(char::is_control));
        }

        #[test]
        fn escaped_markdown_stays_in_its_cell(text in any::<String>()) {
            let escaped = markdown(&text);
            let mut before = '\0';
            for c in escaped.chars() {
                prop_assert!(c != '\n' && c != '\r');
                prop_assert!(c != '|' || before == '\\');
                before = if before == '\\' && c == '\\' { '\0' } else { c };
            }
        }
    }
}
