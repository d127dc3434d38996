//! What a statistician would do who knows the class: local polynomials, with the bandwidth that is best against the truth.
//!
//! No cap binds it. Its risk stands for what the sample itself allows.

use loopfit_data::Samples;
use loopfit_likelihood::Likelihood;
use loopfit_numerics::libm::log;
use loopfit_search::SearchError;
use loopfit_search::truth::Truth;

/// Bandwidths: half windows of so many cells and about a seventh more each time.
const LEAST_HALF: f64 = 2.0;
const STEP: f64 = 1.15;

/// The smallest squared Hellinger distance from the truth over all bandwidths.
///
/// # Formula
/// Rows are counted in the cells of the truth's grid. At a cell the estimate is of the rows in the cells no further than the
/// bandwidth along each axis: for responses their mean (`s <= 1`) or, in one dimension, the least-squares line through them
/// (`1 < s <= 2`) at the cell; for classes the logit of `(ones + 1/2) / (rows + 1)`; for draws the logarithm of
/// `(rows + 1/2) / (n volume)`.
///
/// # Reference
/// Stone, "Optimal global rates of convergence for nonparametric regression", 1982: polynomials of the degree below s, with the right
/// bandwidth, have the minimax rate.
pub(crate) fn oracle_risk(
    samples: &Samples,
    unit: (f64, f64),
    smoothness: f64,
    truth: &Truth,
) -> Result<f64, SearchError> {
    let Some(counted) = Counted::new(samples, unit, truth) else {
        return Ok(f64::NAN);
    };
    let lines = smoothness > 1.0 && samples.d() == 1;
    let mut best = f64::INFINITY;
    let mut half = LEAST_HALF;
    while half < counted.side as f64 {
        let estimate = counted.estimate(half as usize, lines, truth.likelihood());
        best = best.min(truth.distance(&estimate)?);
        half *= STEP;
    }
    Ok(best)
}

/// Rows by the cells of a grid, as sums over all cells before a place along each axis.
struct Counted {
    d: usize,
    side: usize,
    n: f64,
    /// Of all responses, for places without rows.
    mean: f64,
    /// Sums of 1, y, x, x y and x x of the rows, x being the first input.
    sums: [Vec<f64>; 5],
}

impl Counted {
    /// `unit` is the mean and the standard deviation by which responses were standardised.
    fn new(samples: &Samples, unit: (f64, f64), truth: &Truth) -> Option<Self> {
        let (d, side) = (samples.d(), truth.side()?);
        if d > 2 {
            return None;
        }
        let wide = side + 1;
        let mut sums: [Vec<f64>; 5] = std::array::from_fn(|_| vec![0.0; wide.pow(d as u32)]);
        let cell = |x: f32| ((f64::from(x) * side as f64) as usize).min(side - 1) + 1;
        let mut total = 0.0;
        for (i, x) in samples.x().chunks(d).enumerate() {
            let y = samples.y().get(i);
            let y = y.map_or(0.0, |y| unit.0 + unit.1 * f64::from(*y));
            let place = x.iter().fold(0, |place, x| place * wide + cell(*x));
            let at = f64::from(x[0]);
            for (sum, value) in sums.iter_mut().zip([1.0, y, at, at * y, at * at]) {
                sum[place] += value;
            }
            total += y;
        }
        let n = samples.n() as f64;
        for sum in &mut sums {
            accumulate(sum, d, wide);
        }
        Some(Self {
            d,
            side,
            n,
            mean: total / n,
            sums,
        })
    }

    /// The estimate at every cell from the rows no more than `half` cells away along each axis.
    fn estimate(&self, half: usize, lines: bool, likelihood: Likelihood) -> Vec<f64> {
        let range = |i: usize| (i.saturating_sub(half), (i + half + 1).min(self.side));
        let at = |window: &[(usize, usize)], centre: f64| {
            let [rows, ones, x, xy, xx] = self.sums.each_ref().map(|sum| self.within(sum, window));
            match likelihood {
                Likelihood::Bernoulli(_) => log((ones + 0.5) / (rows - ones + 0.5)),
                Likelihood::Energy(_) => {
                    let cells = window.iter().map(|(from, to)| (to - from) as f64);
                    let volume = cells.map(|c| c / self.side as f64).product::<f64>();
                    log((rows + 0.5) / (self.n * volume))
                }
                _ if rows < 0.5 => self.mean,
                _ => {
                    let level = ones / rows;
                    let spread = xx / rows - (x / rows) * (x / rows);
                    // Two rows at least, and not in one place.
                    if lines && rows > 1.5 && spread > 1e-12 {
                        let slope = (xy / rows - level * x / rows) / spread;
                        level + slope * (centre - x / rows)
                    } else {
                        level
                    }
                }
            }
        };
        let centre = |i: usize| (i as f64 + 0.5) / self.side as f64;
        let cells = 0..self.side;
        match self.d {
            1 => cells.map(|i| at(&[range(i)], centre(i))).collect(),
            _ => {
                let rows = cells.flat_map(|i| (0..self.side).map(move |j| (i, j)));
                rows.map(|(i, j)| at(&[range(i), range(j)], centre(i)))
                    .collect()
            }
        }
    }

    /// The sum over the cells of a window.
    fn within(&self, sum: &[f64], window: &[(usize, usize)]) -> f64 {
        let wide = self.side + 1;
        match window {
            [(a, b)] => sum[*b] - sum[*a],
            [(a, b), (c, e)] => {
                sum[b * wide + e] - sum[a * wide + e] - sum[b * wide + c] + sum[a * wide + c]
            }
            _ => f64::NAN,
        }
    }
}

/// Turns values into sums over all places up to each, along one or two axes.
fn accumulate(values: &mut [f64], d: usize, wide: usize) {
    let rows = values.len() / wide;
    for row in values.chunks_mut(wide) {
        for i in 1..wide {
            row[i] += row[i - 1];
        }
    }
    if d == 2 {
        for i in wide..rows * wide {
            values[i] += values[i - wide];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_likelihood::{Bernoulli, Gaussian};

    fn truth(name: &str) -> Truth {
        Truth::new(name.parse().unwrap(), 1).unwrap()
    }

    fn line(n: usize) -> Samples {
        let x: Vec<f32> = (0..n).map(|i| (i as f32 + 0.5) / n as f32).collect();
        let y = x.iter().map(|x| 3.0 * x - 1.0).collect();
        Samples::new(1, x, y).unwrap()
    }

    fn gaussian() -> Likelihood {
        Likelihood::Gaussian(Gaussian::squared_error())
    }

    /// A window over everything gives the mean; lines reproduce a line, whatever the window; standardised responses come back.
    #[test]
    fn means_and_lines_have_their_closed_forms() {
        let truth = truth("series:smoothness=0.5,signs=equal");
        let counted = Counted::new(&line(512), (0.0, 1.0), &truth).unwrap();
        let all = counted.estimate(4096, false, gaussian());
        assert!(all.iter().all(|f| (f - 0.5).abs() < 1e-6));
        for half in [64, 500] {
            let lines = counted.estimate(half, true, gaussian());
            for (f, x) in lines.iter().zip(truth.points()) {
                assert!((f - (3.0 * x - 1.0)).abs() < 1e-4, "{f} at {x}");
            }
        }
        let scaled = Counted::new(&line(512), (10.0, 2.0), &truth).unwrap();
        assert!((scaled.estimate(4096, false, gaussian())[7] - 11.0).abs() < 1e-5);
    }

    /// By hand: of four rows at 1/8, 3/8, 5/8, 7/8, the first two of class one, a window over the left half has
    /// (2 + 1/2) / (0 + 1/2), and as draws a density of (2 + 1/2) / (4 / 2), up to the width of a cell.
    #[test]
    fn classes_and_draws_by_hand() {
        let x = vec![0.125, 0.375, 0.625, 0.875];
        let packing = "packing:dim=1,smoothness=1,bound=160,delta=0.06,member=5,law=";
        let classes = truth(&format!("{packing}bernoulli"));
        let samples = Samples::new(1, x.clone(), vec![1.0, 1.0, 0.0, 0.0]).unwrap();
        let counted = Counted::new(&samples, (0.0, 1.0), &classes).unwrap();
        let logits = counted.estimate(1023, false, Likelihood::Bernoulli(Bernoulli));
        assert!((logits[1023] - log(5.0)).abs() < 1e-12);
        let draws = truth(&format!("{packing}energy"));
        let counted = Counted::new(&Samples::new(1, x, vec![]).unwrap(), (0.0, 1.0), &draws);
        let counted = counted.unwrap();
        let index = counted.estimate(1023, false, draws.likelihood());
        assert!((index[1023] - log(2.5 / (4.0 * 2047.0 / 4096.0))).abs() < 1e-12);
        assert!((counted.within(&counted.sums[0], &[(0, 4096)]) - 4.0).abs() < 1e-12);
    }

    /// Two inputs: the sum over a window against a direct one.
    #[test]
    fn windows_of_two_inputs() {
        let truth = truth("double-well");
        let x: Vec<f32> = (0..200).map(|i| (i * 37 % 101) as f32 / 101.0).collect();
        let y: Vec<f32> = (0..100).map(|i| i as f32).collect();
        let samples = Samples::new(2, x.clone(), y.clone()).unwrap();
        let counted = Counted::new(&samples, (0.0, 1.0), &truth).unwrap();
        let window = [(40, 150), (100, 256)];
        let inside = |x: &[f32]| {
            let cells = x.iter().map(|x| (f64::from(*x) * 256.0) as usize);
            cells.zip(window).all(|(c, (from, to))| c >= from && c < to)
        };
        let own = x.chunks(2).zip(&y).filter(|(x, _)| inside(x));
        let direct: f64 = own.map(|(_, y)| f64::from(*y)).sum();
        assert!(direct > 0.0);
        assert!((counted.within(&counted.sums[1], &window) - direct).abs() < 1e-9);
    }
}
