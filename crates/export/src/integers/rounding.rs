//! Which of the neighbouring integers a weight becomes: not the nearest, but one after the other, so that those that are still free
//! make up for the errors of those that are not, and then each up or down as it suits the outputs.

use super::arithmetic::{Integers, Room, total};
use super::conditioning::conditioned;
use super::layers::Layers;
use super::scales::Scaled;
use loopfit_likelihood::{Distance, Error, Likelihood};
use loopfit_numerics::cholesky::Cholesky;
use loopfit_numerics::lanes::Level;

/// Rows that are looked at.
pub(crate) const ROWS: usize = 512;
/// Beyond this many numbers, each becomes the nearest integer before it is moved up or down.
const MOST_NUMBERS: usize = 768;
/// Dampings of the curvature, relative to its mean: directions that rows say nothing about stay where they are.
const DAMPINGS: [f64; 3] = [1e-6, 1e-4, 1e-2];
/// How much the errors of roundings count when weights are moved before.
const STRENGTHS: [f64; 3] = [0.0, 0.02, 0.2];
/// Multiply-adds that one pass over all numbers may cost, and the passes.
const WORK: usize = 1 << 27;
const PASSES: usize = 4;
/// An exponential costs as much as so many multiply-adds.
const EXPONENTIAL: usize = 32;

/// What outputs of integers are compared with.
pub(crate) struct Goal<'a> {
    pub(crate) likelihood: Likelihood,
    /// Model inputs of the rows.
    pub(crate) x: &'a [f64],
    /// The same as the model has them.
    pub(crate) floats: &'a [f32],
    /// Outputs that are wanted.
    pub(crate) f: &'a [f64],
    /// [`factors`] at those.
    pub(crate) factors: &'a [f64],
    /// Multiply-adds of one row.
    pub(crate) multiply_adds: usize,
}

/// The best rounding that is found; `scale` makes integers of a network.
pub(crate) fn rounded(
    network: &Layers,
    scale: impl Fn(&Layers) -> Scaled,
    goal: &Goal,
) -> Result<Integers, Error> {
    let nearest = scale(network).integers;
    let (mut best, n) = (nearest, network.numbers());
    let mut least = goal.error(&best)?;
    if n <= MOST_NUMBERS {
        let outputs = best.outputs();
        let fewer = goal.first((WORK / (n * n * outputs)).max(64), outputs);
        let some = fewer.as_ref().unwrap_or(goal);
        let mut network = network.clone();
        for strength in STRENGTHS {
            network = conditioned(network, &scale, some, strength);
            let scaled = scale(&network);
            let (slopes, _) = some.slopes(&network, &scaled.units);
            let curvature = products(&slopes);
            for damping in DAMPINGS {
                if let Some(found) = feedback(&scaled, &curvature, damping) {
                    let error = goal.error(&found)?;
                    if error < least {
                        (best, least) = (found, error);
                    }
                }
            }
        }
    }
    descended(best, goal)
}

impl<'a> Goal<'a> {
    /// The first rows alone; none if they would be too few to go by.
    fn first(&self, rows: usize, outputs: usize) -> Option<Goal<'a>> {
        let all = self.f.len() / outputs;
        let (rows, columns) = (rows.min(all), self.x.len() / all);
        (rows >= all.min(32)).then(|| Goal {
            x: &self.x[..rows * columns],
            floats: &self.floats[..rows * columns],
            f: &self.f[..rows * outputs],
            factors: &self.factors[..rows * outputs * outputs],
            ..*self
        })
    }

    /// How far outputs are from those wanted: the information that is lost, or the mean square where that says the same.
    fn error(&self, integers: &Integers) -> Result<f64, Error> {
        self.error_at(integers, &integers.inputs(self.floats))
    }

    /// The same, with inputs in integers.
    fn error_at(&self, integers: &Integers, fixed: &[i32]) -> Result<f64, Error> {
        let outputs = integers.outputs();
        let columns = fixed.len() * outputs / self.f.len();
        let (mut room, mut f) = (Room::default(), vec![0; self.f.len()]);
        for (x, f) in fixed.chunks_exact(columns).zip(f.chunks_exact_mut(outputs)) {
            integers.run_row(x, integers.iterations, &mut room, f);
        }
        let found = integers.values(&f);
        match self.likelihood {
            Likelihood::Bernoulli(_) | Likelihood::Multiclass(_) | Likelihood::Poisson(_) => {
                self.likelihood.distance(Distance::Kl, self.f, &found)
            }
            Likelihood::Gaussian(_) | Likelihood::Laplace(_) | Likelihood::Energy(_) => {
                let squares = found.iter().zip(self.f).map(|(a, b)| (a - b) * (a - b));
                Ok(squares.sum::<f64>() / found.len() as f64)
            }
        }
    }

    /// How far outputs are from those wanted, in standard deviations of what they say.
    pub(crate) fn residuals(&self, network: &Layers) -> Vec<f64> {
        let f = network.outputs(self.x);
        let off: Vec<f64> = f.iter().zip(self.f).map(|(a, b)| a - b).collect();
        self.weighted(&off)
    }

    /// Slopes of residuals in the numbers, by their units, and residuals.
    pub(crate) fn slopes(&self, network: &Layers, units: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
        let base = network.outputs(self.x);
        let mut moved = network.clone();
        let slope = |(i, unit): (usize, &f64)| {
            // A small part of a unit, so that kinks are rarely met.
            let step = unit / 64.0;
            moved.add(i, step);
            let f = moved.outputs(self.x);
            moved.add(i, -step);
            let slopes: Vec<f64> = f.iter().zip(&base).map(|(a, b)| 64.0 * (a - b)).collect();
            self.weighted(&slopes)
        };
        let slopes = units.iter().enumerate().map(slope).collect();
        (slopes, self.residuals(network))
    }

    fn weighted(&self, v: &[f64]) -> Vec<f64> {
        let outputs = self.likelihood.outputs();
        let rows = v
            .chunks(outputs)
            .zip(self.factors.chunks(outputs * outputs));
        let each = rows.flat_map(|(v, factor)| {
            let columns = factor.chunks(outputs);
            columns.map(move |column| column.iter().zip(v).map(|(a, b)| a * b).sum::<f64>())
        });
        each.collect()
    }
}

/// For each row the columns of a matrix whose square is the information on outputs.
pub(crate) fn factors(likelihood: Likelihood, f: &[f64]) -> Result<Vec<f64>, Error> {
    let outputs = likelihood.outputs();
    let mut factors = Vec::with_capacity(f.len() * outputs);
    for row in f.chunks(outputs) {
        for k in 0..outputs {
            let mut unit = vec![0.0; outputs];
            unit[k] = 1.0;
            let mut column = unit.clone();
            if !matches!(likelihood, Likelihood::Energy(_)) {
                likelihood.information_factor(row, &unit, &mut column)?;
            }
            factors.extend(column);
        }
    }
    Ok(factors)
}

/// All products of slopes: the curvature of the error, without that of the network (Gauss-Newton).
pub(crate) fn products(slopes: &[Vec<f64>]) -> Vec<f64> {
    let n = slopes.len();
    let mut curvature = vec![0.0; n * n];
    for i in 0..n {
        for j in i..n {
            let product: f64 = slopes[i].iter().zip(&slopes[j]).map(|(a, b)| a * b).sum();
            curvature[i * n + j] = product;
            curvature[j * n + i] = product;
        }
    }
    curvature
}

/// Rounds one number after the other, those that matter most first and biases, which are fine, last; what is free moves to where the
/// error is least. None if the curvature has no inverse, or sums would no longer fit.
///
/// # Reference
/// Frantar, Singh and Alistarh, "Optimal brain compression", 2022, with the curvature of the whole network.
fn feedback(scaled: &Scaled, curvature: &[f64], damping: f64) -> Option<Integers> {
    let n = scaled.exact.len();
    let mean = (0..n).map(|i| curvature[i * n + i]).sum::<f64>() / n as f64;
    let mut factor = Cholesky::new(n, Level::fastest());
    if !(mean > 0.0 && factor.factor(curvature, damping * mean)) {
        return None;
    }
    let mut inverse = vec![0.0; n * n];
    for (i, row) in inverse.chunks_exact_mut(n).enumerate() {
        row[i] = 1.0;
        factor.solve(row);
    }
    let mut found = scaled.integers.clone();
    let places = places(&found);
    let mut order: Vec<usize> = (0..n).collect();
    let matters = |i: &usize| curvature[i * n + i];
    order.sort_by(|a, b| {
        let biases = places[*a].bias.cmp(&places[*b].bias);
        biases.then(matters(b).total_cmp(&matters(a)))
    });
    let mut values = scaled.exact.clone();
    for i in order {
        let most = f64::from(found.most(places[i]));
        let integer = values[i].round().clamp(-most, most);
        *found.at(places[i]) = integer as i32;
        let pivot = inverse[i * n + i];
        if pivot.is_nan() || pivot <= 0.0 {
            return None;
        }
        let own: Vec<f64> = inverse[i * n..][..n].to_vec();
        let error = (values[i] - integer) / pivot;
        for (v, w) in values.iter_mut().zip(&own) {
            *v -= error * w;
        }
        for (row, w) in inverse.chunks_exact_mut(n).zip(&own) {
            let factor = w / pivot;
            if factor != 0.0 {
                row.iter_mut().zip(&own).for_each(|(a, b)| *a -= factor * b);
            }
        }
        // It is fixed: nothing moves it any more.
        inverse[i * n..][..n].fill(0.0);
        inverse.iter_mut().skip(i).step_by(n).for_each(|v| *v = 0.0);
    }
    let fits = found
        .layers
        .iter()
        .all(|layer| (0..layer.rows).all(|k| total(layer.row(k)) <= found.row_limit()));
    fits.then_some(found)
}

/// Moves numbers up or down, one at a time, as long as the error falls.
fn descended(mut best: Integers, goal: &Goal) -> Result<Integers, Error> {
    let places = places(&best);
    let row = goal.multiply_adds + EXPONENTIAL * best.outputs();
    let pass = 2 * places.len() * row;
    let Some(goal) = goal.first(WORK / pass, best.outputs()) else {
        return Ok(best);
    };
    let fixed = best.inputs(goal.floats);
    let mut least = goal.error_at(&best, &fixed)?;
    for _ in 0..PASSES {
        let before = least;
        for place in &places {
            // A bias has far finer steps than a weight.
            let steps: &[i32] = if place.bias { &[1, 8, 64] } else { &[1] };
            for step in steps.iter().flat_map(|step| [*step, -step]) {
                loop {
                    let moved = *best.at(*place) + step;
                    if moved.abs() > best.most(*place) {
                        break;
                    }
                    *best.at(*place) = moved;
                    let layer = &best.layers[place.layer];
                    let row = place.index / layer.columns;
                    let fits = place.bias || total(layer.row(row)) <= best.row_limit();
                    let error = if fits {
                        goal.error_at(&best, &fixed)?
                    } else {
                        least
                    };
                    if error < least {
                        least = error;
                    } else {
                        *best.at(*place) -= step;
                        break;
                    }
                }
            }
        }
        if least > 0.999 * before {
            break;
        }
    }
    Ok(best)
}

/// Where a number is.
#[derive(Clone, Copy)]
struct Place {
    layer: usize,
    bias: bool,
    index: usize,
}

/// The places of all numbers, in the order of [`Layers::add`].
fn places(integers: &Integers) -> Vec<Place> {
    let mut places = Vec::new();
    for (layer, numbers) in integers.layers.iter().enumerate() {
        for (bias, count) in [(false, numbers.weights.len()), (true, numbers.biases.len())] {
            places.extend((0..count).map(|index| Place { layer, bias, index }));
        }
    }
    places
}

impl Integers {
    fn at(&mut self, place: Place) -> &mut i32 {
        let layer = &mut self.layers[place.layer];
        match place.bias {
            true => &mut layer.biases[place.index],
            false => &mut layer.weights[place.index],
        }
    }

    fn most(&self, place: Place) -> i32 {
        match place.bias {
            true => self.bias().0,
            false => self.width.weight(),
        }
    }
}
