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

#[cfg(test)]
mod tests {
    use super::*;

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
