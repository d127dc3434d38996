//! The statistics that tables and figures print: over seeds, and against published
//! values.

use loopfit_numerics::sum;
pub use loopfit_numerics::sum::mean;

/// What tables and figures call SE.
pub const SE: &str = "SE is the standard error of a mean over seeds: their standard deviation (denominator n \u{2212} 1) divided by the square root of their number n";

/// Standard error of the mean; none for fewer than two values.
///
/// # Formula
///
/// `sd / sqrt(n)` with the sample standard deviation (denominator `n - 1`).
///
/// # Reference
///
/// The paper, Appendix F.4.1.
pub fn standard_error(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| sum::standard_error(values))
}

/// Median; a NaN counts as the worst (largest) value.
pub fn median(values: &[f64]) -> f64 {
    // A NaN may carry a sign, and a negative one would sort below every number.
    let unsigned = values
        .iter()
        .map(|v| if v.is_nan() { f64::NAN } else { *v });
    sum::median(&unsigned.collect::<Vec<_>>())
}

/// How far two independent means are apart, in standard errors of their difference;
/// each argument is a mean and its standard error. Negative where ours is lower.
///
/// # Formula
///
/// `(m - m') / sqrt(se^2 + se'^2)`
///
/// NaN where both means are equal and without error.
pub fn standard_error_difference(ours: (f64, f64), theirs: (f64, f64)) -> f64 {
    (ours.0 - theirs.0) / (ours.1 * ours.1 + theirs.1 * theirs.1).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values whose results are short decimals: 1..5 has mean and median 3, sample
    /// variance 2.5 and standard error sqrt(0.5); 3, 4, 5 is a right triangle.
    #[test]
    fn by_hand() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!((mean(&values), median(&values)), (3.0, 3.0));
        assert!((standard_error(&values).unwrap() - 0.5f64.sqrt()).abs() < 1e-15);
        assert_eq!(standard_error(&[1.0]), None);
        assert_eq!(median(&[-f64::NAN, 1.0, 2.0]), 2.0);
        assert_eq!(standard_error_difference((1.0, 3.0), (11.0, 4.0)), -2.0);
        assert!(standard_error_difference((1.0, 0.0), (1.0, 0.0)).is_nan());
    }
}
