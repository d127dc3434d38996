//! The argument of the macro.

use crate::error::Error;

/// The text of a raw string literal, given as it stands in the source.
///
/// Other strings are refused: TeX is full of backslashes, and escaping them would make formulas unreadable.
pub(crate) fn raw_string(source: &str) -> Result<&str, Error> {
    inside(source.trim()).ok_or_else(|| Error::NoRawString(source.to_owned()))
}

fn inside(source: &str) -> Option<&str> {
    let hashed = source.strip_prefix('r')?;
    let quoted = hashed.trim_start_matches('#');
    let hashes = &hashed[..hashed.len() - quoted.len()];
    let text = quoted
        .strip_prefix('"')?
        .strip_suffix(hashes)?
        .strip_suffix('"')?;
    // Several literals begin and end like one, but a single one cannot contain its own end.
    (!text.contains(&format!("\"{hashes}"))).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_stands_between_the_quotes() {
        assert_eq!(raw_string(r##"r"\frac1n""##), Ok(r"\frac1n"));
        assert_eq!(raw_string("r#\"\\text{\"a\"}\"#"), Ok("\\text{\"a\"}"));
        assert_eq!(raw_string("r\"a\n    b\""), Ok("a\n    b"));
    }

    #[test]
    fn anything_else_is_refused_and_quoted() {
        for source in [
            "",
            "x",
            "\"a\"",
            "br\"a\"",
            "r\"a\", r\"b\"",
            "r\"a\" + 1",
            "r#\"a\"",
        ] {
            let error = raw_string(source).unwrap_err();
            assert_eq!(error, Error::NoRawString(source.to_owned()));
            assert!(
                error.to_string().contains(&format!("`{source}`")),
                "{error}"
            );
        }
    }
}
