//! The error of what was selected, estimated from the rows that selected it.

use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::mean;

/// Bootstrap samples.
const SAMPLES: usize = 100;

/// The expected loss of the choice with the smallest mean loss: on each bootstrap sample of the rows the best
/// choice is selected, and judged on the rows that are not in the sample. The smallest mean itself
/// is too small, since it was selected for being small.
///
/// `losses` has the loss of every held-out row, in the same order, for each choice.
///
/// # Reference
/// Tsamardinos, Greasidou and Borboudakis, "Bootstrapping the out-of-sample predictions for efficient and accurate
/// cross-validation", 2018.
pub(crate) fn error(losses: &[&[f64]], stream: Stream) -> f64 {
    let Some(first) = losses.first() else {
        return f64::NAN;
    };
    let n = first.len();
    if losses.len() == 1 {
        return mean(first);
    }
    let mut estimates = Vec::with_capacity(SAMPLES);
    let mut times = vec![0u32; n];
    for sample in 0..SAMPLES {
        let draws = stream.nth(sample as u64);
        times.fill(0);
        for i in 0..n {
            times[draws.below(i as u64, n as u64) as usize] += 1;
        }
        let inside = |losses: &&[f64]| -> f64 {
            losses
                .iter()
                .zip(&times)
                .map(|(l, t)| l * f64::from(*t))
                .sum()
        };
        let best = losses
            .iter()
            .map(|l| (inside(l), l))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let outside: Vec<f64> = match best {
            Some((_, l)) => l
                .iter()
                .zip(&times)
                .filter(|(_, t)| **t == 0)
                .map(|(l, _)| *l)
                .collect(),
            None => Vec::new(),
        };
        if !outside.is_empty() {
            estimates.push(mean(&outside));
        }
    }
    mean(&estimates)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forty choices whose losses are pure chance with mean one: the smallest mean is below one, the
    /// estimate is not.
    #[test]
    fn selection_by_luck_is_found_out() {
        let n = 200;
        let losses: Vec<Vec<f64>> = (0..40)
            .map(|k| {
                (0..n)
                    .map(|i| 2.0 * Stream::new(5).nth(k).uniform(i))
                    .collect()
            })
            .collect();
        let all: Vec<&[f64]> = losses.iter().map(|l| &l[..]).collect();
        let smallest = losses.iter().map(|l| mean(l)).fold(f64::INFINITY, f64::min);
        let honest = error(&all, Stream::new(1));
        assert!(
            smallest < 0.93 && (honest - 1.0).abs() < 0.04,
            "{smallest} {honest}"
        );
        assert_eq!(error(&all[..1], Stream::new(1)), mean(&losses[0]));
    }
}
