//! Sums with a fixed order, and the two statistics every table shows.

/// Pairwise sum: the tree depends on the length only, and the error grows like
/// `log n` instead of `n`.
pub fn sum(values: &[f64]) -> f64 {
    if values.len() <= 32 {
        return values.iter().fold(0.0, |a, v| a + v);
    }
    let (left, right) = values.split_at(values.len() / 2);
    sum(left) + sum(right)
}

/// Arithmetic mean; NaN for no values.
pub fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

/// Sample standard deviation, denominator `n - 1`; NaN below two values.
pub fn sample_sd(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return f64::NAN;
    }
    let m = mean(values);
    let squares: Vec<f64> = values.iter().map(|v| (v - m) * (v - m)).collect();
    (sum(&squares) / (values.len() - 1) as f64).sqrt()
}

/// Standard error of the mean as in the paper (F.4.1): sample SD over `sqrt(n)`.
pub fn standard_error(values: &[f64]) -> f64 {
    sample_sd(values) / (values.len() as f64).sqrt()
}

/// The mean of values that count so much each; without weights, each once.
pub fn weighted_mean(values: &[f64], weights: &[f32]) -> f64 {
    if weights.is_empty() {
        return mean(values);
    }
    let weighted: Vec<f64> = values
        .iter()
        .zip(weights)
        .map(|(value, weight)| value * f64::from(*weight))
        .collect();
    let weights: Vec<f64> = weights.iter().map(|w| f64::from(*w)).collect();
    sum(&weighted) / sum(&weights)
}

/// Median; NaN for no values.
pub fn median(values: &[f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    // Without sorting everything.
    let mut values = values.to_vec();
    let half = values.len() / 2;
    let even = values.len().is_multiple_of(2);
    let (below, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    match below.iter().copied().max_by(f64::total_cmp) {
        Some(lower) if even => 0.5 * (lower + *middle),
        _ => *middle,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairwise_is_accurate_where_naive_is_not() {
        let tenths = vec![0.1; 1 << 20];
        let exact = 0.1 * (1 << 20) as f64;
        assert!((sum(&tenths) - exact).abs() < 1e-9);
        assert!((tenths.iter().sum::<f64>() - exact).abs() > 1e-7);
    }

    #[test]
    fn statistics_of_a_small_sample() {
        let v = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&v), 5.0);
        assert!((sample_sd(&v) - (32.0f64 / 7.0).sqrt()).abs() < 1e-15);
        assert!((standard_error(&v) - (4.0f64 / 7.0).sqrt()).abs() < 1e-15);
        assert_eq!(median(&v), 4.5);
        assert!(mean(&[]).is_nan() && sample_sd(&[1.0]).is_nan() && median(&[]).is_nan());
    }
}
