//! Numbers in sentences.

/// A number as a person writes it in a sentence: `2`, `0.25`, `1e-300`, `1e18`.
pub fn plain(x: f64) -> String {
    let magnitude = x.abs();
    if x == 0.0 || (1e-4..1e16).contains(&magnitude) || !x.is_finite() {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}

/// A whole number with its thousands apart: `96,000`.
pub fn integer(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// So many of something: `1 thread`, `2 threads`, `1,000 rows`.
pub fn count(number: usize, noun: &str) -> String {
    format!("{} {}", integer(number as u64), plural(number, noun))
}

/// The noun behind a number: `thread` behind 1, `threads` behind others.
pub fn plural(number: usize, noun: &str) -> String {
    match number {
        1 => noun.to_string(),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_something_is_no_plural() {
        let counts = [0, 1, 2].map(|n| count(n, "thread"));
        assert_eq!(counts, ["0 threads", "1 thread", "2 threads"]);
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (2.0, "2"),
            (-0.25, "-0.25"),
            (1e-300, "1e-300"),
            (1e18, "1e18"),
            (0.0, "0"),
            (123456789.0, "123456789"),
            (f64::NAN, "NaN"),
        ];
        for (x, text) in cases {
            assert_eq!(plain(x), text);
        }
    }
}
