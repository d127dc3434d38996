//! Names from tables in source code: a column may be called anything, also `int`, `*/` or nothing at all.

use std::fmt::Display;

/// Words that are no names in C, C++ or Rust, or that headers which an export includes may define.
const TAKEN: &str = "\
    abstract alignas alignof and and_eq as asm async auto await become bitand bitor bool box break case catch char char8_t \
    char16_t char32_t class compl concept const const_cast consteval constexpr constinit continue co_await co_return co_yield crate decltype default delete do double dyn \
    dynamic_cast else enum errno explicit export extern false final float fn for friend gen goto if impl import in inline int \
    let linux long loop macro match mod module move mut mutable namespace new noexcept not not_eq nullptr operator or or_eq \
    override priv private protected pub public ref register reinterpret_cast requires restrict return self Self short signed \
    sizeof static static_assert static_cast struct super switch template this thread_local throw trait true try type typedef \
    typeid typename typeof typeof_unqual union unix unsafe unsigned unsized use using virtual void volatile wchar_t where while xor xor_eq \
    yield NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL NULL EOF I FP_NAN FP_INFINITE FP_ZERO FP_NORMAL FP_SUBNORMAL DOMAIN SING \
    OVERFLOW UNDERFLOW PLOSS TLOSS MAXFLOAT HUGE isnan isinf isfinite isnormal signbit fpclassify math_errhandling";

/// Whether a name looks like one of the many macros that headers for integers and mathematics define: `INT32_MAX`, `M_PI`.
fn is_like_a_macro(name: &str) -> bool {
    let ends = ["_MAX", "_MIN", "_WIDTH"].map(|end| name.ends_with(end));
    let upper = !name.contains(|c: char| c.is_ascii_lowercase());
    upper && (ends.contains(&true) || name.starts_with("M_"))
}

/// Names as different identifiers of C and Rust: other signs than letters, digits and `_` of ASCII become `_`; what would begin with
/// a digit or `_`, or as names of the export itself do, gets `x_` before it; words of the languages and what looks like a macro get
/// `_` behind them, and what is there already a number.
pub fn identifiers(names: &[&str], prefix: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let sign = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut own: String = name.chars().map(sign).collect();
        let letter = own.starts_with(|c: char| c.is_ascii_alphabetic());
        let lower = own.to_ascii_lowercase();
        if !letter || lower.starts_with(&format!("{}_", prefix.to_ascii_lowercase())) {
            own.insert_str(0, "x_");
        }
        // Some compilers look at 63 letters alone, and a table may be made to annoy.
        own.truncate(48);
        if TAKEN.split_whitespace().any(|word| word == own) || is_like_a_macro(&own) {
            own.push('_');
        }
        let numbered = (2..).map(|i| format!("{own}_{i}"));
        let mut candidates = [own.clone()].into_iter().chain(numbered);
        let free = candidates.find(|candidate| !found.contains(candidate));
        found.extend(free);
    }
    found
}

/// A name in quotes that is safe in a comment of C, Rust and JavaScript: in ASCII, without the end of a comment.
pub(crate) fn quoted(name: &str) -> impl Display {
    let escaped: String = name.escape_default().collect();
    format!("\"{}\"", plain(&escaped))
}

/// A line of a comment: in ASCII, without the beginning or the end of a comment, and without a backslash that would continue it.
pub(crate) fn line(text: &str) -> String {
    let sign = |c: char| match c {
        ' '..='~' => c.to_string(),
        _ => c.escape_default().collect(),
    };
    let ascii: String = text.chars().map(sign).collect();
    let safe = plain(&ascii);
    match safe.ends_with('\\') {
        true => format!("{safe}."),
        false => safe,
    }
}

fn plain(text: &str) -> String {
    text.replace("*/", "* /")
        .replace("/*", "/ *")
        .replace("??/", "?? /")
}

/// Numbers in lines of source code, `of` each, eight to a line.
pub(crate) fn table<T: Copy>(numbers: &[T], indent: &str, of: impl Fn(T) -> String) -> String {
    let lines = numbers.chunks(8).map(|chunk| {
        let numbers: Vec<String> = chunk.iter().map(|v| of(*v)).collect();
        format!("{indent}{},\n", numbers.join(", "))
    });
    lines.collect()
}

/// `1 number`, `2 numbers`.
pub(crate) fn many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_columns_are_called_identifiers_are_good_and_differ() {
        let names = [
            "a b",
            "a-b",
            "int",
            "",
            "2x",
            "Größe",
            "*/",
            "model_q",
            "_x",
            "NAN",
            "a_b",
            "self",
            "line\nbreak",
            "\u{202e}",
            "INT32_MAX",
            "M_PI",
            "BODY_MASS",
            "char16_t",
        ];
        let found = identifiers(&names, "model");
        let good = [
            "a_b",
            "a_b_2",
            "int_",
            "x_",
            "x_2x",
            "Gr__e",
            "x___",
            "x_model_q",
            "x__x",
            "NAN_",
            "a_b_3",
            "self_",
            "line_break",
            "x__",
            "INT32_MAX_",
            "M_PI_",
            "BODY_MASS",
            "char16_t_",
        ];
        assert_eq!(found, good);
    }

    #[test]
    fn comments_end_where_they_should() {
        assert_eq!(
            quoted("*/ \n \"x\" é").to_string(),
            r#""* / \n \"x\" \u{e9}""#
        );
        assert_eq!(line("data\\"), "data\\.");
        assert_eq!(line("a\nb /* c"), "a\\nb / * c");
    }

    #[test]
    fn tables_have_eight_numbers_to_a_line() {
        let text = table(&[1; 9], "  ", |v: i32| v.to_string());
        assert_eq!(text, "  1, 1, 1, 1, 1, 1, 1, 1,\n  1,\n");
    }
}
