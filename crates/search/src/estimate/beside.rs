//! What stands beside the models of a cap: a constant, and what is reached without a cap.

use super::part::Part;
use super::{CLEARLY, NoCap, Prepared};
use crate::SearchError;
use crate::judge::Judge;
use loopfit_estimate::reference::reference;
use loopfit_estimate::{by_row, paired};
use loopfit_fitted::{FittedModel, Provenance};
use loopfit_likelihood::Likelihood;
use loopfit_model::{Network, Parameters, Reduced};
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::mean;

impl Prepared {
    /// The error of the best constant, by cross-validation and on the test samples, and its loss of each held-out row as
    /// [entries](super::Entry) have them.
    pub(super) fn constant(&self, part: &Part) -> Result<(f64, f64, Vec<f64>), SearchError> {
        let outputs = self.likelihood.outputs();
        let index = |part: &Part, rows: &[usize]| -> Vec<f64> {
            let y = part.samples.y();
            let weighted = |row: &usize| part.weight(*row) * f64::from(y[*row]);
            let n: f64 = rows.iter().map(|row| part.weight(*row)).sum();
            match self.likelihood {
                Likelihood::Bernoulli(_) => {
                    let ones: f64 = rows.iter().map(weighted).sum();
                    vec![libm::log((ones + 0.5) / (n - ones + 0.5))]
                }
                Likelihood::Multiclass(_) => {
                    let mut counts = vec![0.5; outputs];
                    rows.iter()
                        .for_each(|r| counts[y[*r] as usize] += part.weight(*r));
                    counts.iter().map(|c| libm::log(c / n)).collect()
                }
                Likelihood::Laplace(_) => {
                    let y = rows.iter().map(|r| (f64::from(y[*r]), part.weight(*r)));
                    vec![weighted_median(y.collect())]
                }
                Likelihood::Poisson(_) => {
                    let counts: f64 = rows.iter().map(weighted).sum();
                    vec![libm::log((counts + 0.5) / (n + 0.5))]
                }
                Likelihood::Gaussian(_) | Likelihood::Energy(_) => {
                    vec![rows.iter().map(weighted).sum::<f64>() / n]
                }
            }
        };
        let y = part.samples.y();
        let mut losses = Vec::new();
        for held in part.judging() {
            let mut is_held = vec![false; y.len()];
            held.iter().for_each(|row| is_held[*row] = true);
            let kept: Vec<usize> = (0..y.len()).filter(|row| !is_held[*row]).collect();
            let f = index(part, &kept);
            for row in held {
                let y = f64::from(y[*row]);
                let loss = match self.likelihood {
                    Likelihood::Gaussian(_) => (f[0] - y) * (f[0] - y) * part.unit() * part.unit(),
                    Likelihood::Laplace(_) => (f[0] - y).abs() * part.unit(),
                    Likelihood::Poisson(poisson) => 2.0 * poisson.half_deviance(y, f[0]),
                    _ => self.likelihood.nll(y, &f)?,
                };
                losses.push(part.weight(*row) * loss);
            }
        }
        let test = match &self.judge {
            Some(judge) => {
                let part = &self.first;
                let every: Vec<usize> = (0..part.samples.n()).collect();
                let f = index(part, &every);
                let network = Network::affine(part.samples.d(), outputs, 1)?;
                let mut values = vec![0.0; network.count()];
                // Of several classes, how far their scores are from the last one's.
                let last = if outputs > 1 { f[outputs - 1] } else { 0.0 };
                let first = values.len() - Reduced::outputs_told(outputs);
                values[first..]
                    .iter_mut()
                    .zip(&f)
                    .for_each(|(to, f)| *to = (*f - last) as f32);
                let parameters =
                    Parameters::new(network, values).map_err(|_| SearchError::NoTargets)?;
                judge
                    .judge(&FittedModel {
                        bounds: self.bounds,
                        likelihood: self.likelihood,
                        preprocessing: part.preprocessing.clone(),
                        provenance: Provenance::nothing(),
                        assessment: None,
                        parameters,
                    })?
                    .error
            }
            None => f64::NAN,
        };
        let judged: Vec<usize> = part.judging().concat();
        let total = mean(&part.weights_of_losses(self.task, &judged));
        let error = mean(&losses) / total;
        let scale = part.scale(self.likelihood);
        losses.iter_mut().for_each(|loss| *loss /= scale);
        Ok((error, test, by_row(&judged, &losses)))
    }

    /// What boosted trees or a kernel method reach on the rows that are not for the test.
    pub(super) fn no_cap(
        &self,
        stream: Stream,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<NoCap>, SearchError> {
        let part = &self.first;
        // It gives every row the same weight.
        if !part.samples.weights().is_empty() {
            return Ok(None);
        }
        let folds = [&part.folds[..], part.judging()];
        let found = reference(&part.samples, self.likelihood, folds, stream, stop);
        let Some(found) = found else {
            return Ok(None);
        };
        let unit = part.unit();
        let error = |outputs: &[f64], y: &[f32]| -> Result<f64, SearchError> {
            let y: Vec<f64> = y.iter().map(|y| f64::from(*y)).collect();
            let residuals = || outputs.iter().zip(&y).map(|(f, y)| (f - y).abs());
            Ok(match self.likelihood {
                Likelihood::Gaussian(_) => {
                    let squares: Vec<f64> = residuals().map(|r| r * r).collect();
                    unit * unit * mean(&squares)
                }
                Likelihood::Laplace(_) => unit * mean(&residuals().collect::<Vec<_>>()),
                _ => self.likelihood.average_nll(outputs, &y)?,
            })
        };
        let test = match &self.judge {
            Some(Judge::Rows { table, rows }) => {
                let x = part.preprocessing.features(table, rows)?.x;
                error(
                    &found.outputs(&x),
                    &part.preprocessing.targets(table, rows)?,
                )?
            }
            _ => f64::NAN,
        };
        let (_, _, of_constant) = self.constant(part)?;
        let losses = by_row(&part.judging().concat(), &found.losses);
        Ok(Some(NoCap {
            by: found.name,
            validation: part.scale(self.likelihood) * found.cross_validation,
            test,
            beats_constant: paired(&losses, &of_constant) > CLEARLY,
        }))
    }
}

/// The value at which half of the weight is reached; between two of them where both reach it.
fn weighted_median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * values.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut below = 0.0;
    for (i, (value, weight)) in values.iter().enumerate() {
        below += weight;
        if below > half {
            return *value;
        }
        if below == half
            && let Some((next, _)) = values.get(i + 1)
        {
            return 0.5 * (value + next);
        }
    }
    values.last().map_or(0.0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::weighted_median;

    #[test]
    fn weights_move_the_median() {
        let of = |pairs: &[(f64, f64)]| weighted_median(pairs.to_vec());
        assert_eq!(of(&[(3.0, 1.0), (1.0, 1.0), (2.0, 1.0)]), 2.0);
        assert_eq!(of(&[(4.0, 1.0), (1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]), 2.5);
        assert_eq!(of(&[(5.0, 9.0), (1.0, 1.0), (2.0, 1.0)]), 5.0);
        assert_eq!(of(&[]), 0.0);
    }
}
