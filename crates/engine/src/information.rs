//! The Fisher information of a network's coefficients, through the training kernels.
//!
//! With `J` the derivatives of a sample's outputs in the coefficients and `I = R R^T` the
//! likelihood's information at its outputs, the coefficients' information is the average of
//! `J^T I J`: a sum of outer products of the rows `(R e)^T J`, and a backward pass from `R e`
//! gives such a row for sixteen samples at once.
#![allow(clippy::needless_range_loop)]

use crate::batches::Strips;
use crate::predict::clipped_rows;
use crate::program::{Activations, Program};
use loopfit_likelihood::{Energy, Likelihood};
use loopfit_model::Bounds;
use loopfit_numerics::lanes::{Across, Kernel, LANES, Lane, first_level_cache};
use loopfit_numerics::stream::Stream;

/// Rows and columns of a register tile of the products.
const TILE: usize = 4;

/// Which vector `e` a pass takes for each sample.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Probe {
    /// One unit vector; the sum over all of them is exact.
    Unit(usize),
    /// Random signs; right on average. With one output there is nothing random about it.
    Signs(Stream),
}

/// How a new average follows from the old one and the information of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blend {
    pub(crate) keep: f64,
    pub(crate) share: f64,
}

/// Computes the information of batches in memory allocated once.
#[derive(Debug)]
pub(crate) struct Information {
    program: Program,
    likelihood: Likelihood,
    bounds: Bounds,
    kept: Activations,
    out: Vec<Lane>,
    seed: Vec<Lane>,
    /// `[strip][line]`: one line for each coefficient, and one for the seeds of an energy model.
    factor: Vec<Lane>,
    /// Products of lines, row-major; those left of the diagonal are not used.
    products: Vec<f32>,
    lines: usize,
    /// Room for all coefficients, and a line of each, where some are fixed.
    full: Vec<f32>,
    full_rows: Vec<Lane>,
}

impl Information {
    pub(crate) fn new(program: Program, likelihood: Likelihood, bounds: Bounds) -> Self {
        let extra = usize::from(matches!(likelihood, Likelihood::Energy(_)));
        let lines = (program.len() + extra).next_multiple_of(TILE);
        let outputs = program.outputs();
        Self {
            kept: Activations::default(),
            out: vec![Lane::ZERO; outputs],
            seed: vec![Lane::ZERO; outputs],
            factor: Vec::new(),
            products: vec![0.0; lines * lines],
            lines,
            full: Vec::new(),
            full_rows: Vec::new(),
            program,
            likelihood,
            bounds,
        }
    }

    /// Blends the information of a batch at `params` into `average`, row-major over the packed
    /// coefficients, the diagonal and what is right of it. Samples count by their weights.
    pub(crate) fn blend(
        &mut self,
        params: &[f32],
        batch: &Strips,
        probe: Probe,
        blend: Blend,
        average: &mut [f64],
    ) {
        let mut room = std::mem::take(&mut self.full);
        let full = self.program.full(params, &mut room);
        let centred = match self.likelihood {
            Likelihood::Energy(energy) => {
                self.energy_factor(full, batch, energy);
                true
            }
            _ => {
                self.conditional_factor(full, batch, probe);
                false
            }
        };
        self.full = room;
        self.program.level().run(Products {
            factor: &self.factor,
            lines: self.lines,
            products: &mut self.products,
        });
        self.program.level().run(Average {
            p: params.len(),
            lines: self.lines,
            products: &self.products,
            centred,
            blend,
            average,
        });
    }

    /// Rows `sqrt(weight) (R e)^T J` of a conditional family.
    fn conditional_factor(&mut self, params: &[f32], batch: &Strips, probe: Probe) {
        let (d, c) = (self.program.d(), self.program.outputs());
        let strips = batch.weight.len();
        self.factor.resize(strips * self.lines, Lane::ZERO);
        let mut e = vec![0.0; c];
        let mut seed = vec![0.0; c];
        for strip in 0..strips {
            let x = &batch.x[strip * d..][..d];
            self.program
                .forward(params, x, &mut self.out, &mut self.kept);
            let f = clipped_rows(&self.out, LANES, c, self.bounds);
            for (lane, f) in f.chunks(c).enumerate() {
                for k in 0..c {
                    e[k] = match probe {
                        Probe::Unit(unit) => f64::from(u8::from(unit == k)),
                        Probe::Signs(_) if c == 1 => 1.0,
                        Probe::Signs(stream) => {
                            stream.sign(((strip * LANES + lane) * c + k) as u64)
                        }
                    };
                }
                let weight = f64::from(batch.weight[strip].0[lane]).sqrt();
                self.likelihood
                    .information_factor(f, &e, &mut seed)
                    .unwrap_or_else(|e| unreachable!("outputs of a checked specification: {e}"));
                for k in 0..c {
                    // Beyond the bound the clipped output does not move.
                    let inside = self.out[k].0[lane].abs() <= self.bounds.output;
                    self.seed[k].0[lane] = if inside {
                        (weight * seed[k]) as f32
                    } else {
                        0.0
                    };
                }
            }
            self.backward(params, x, strip);
        }
    }

    /// Rows `sqrt(mass) J` at the nodes of an energy model.
    fn energy_factor(&mut self, params: &[f32], batch: &Strips, energy: Energy) {
        let d = self.program.d();
        let nodes = &batch.x[batch.weight.len() * d..];
        let strips = nodes.len() / d;
        self.factor.resize(strips * self.lines, Lane::ZERO);
        let mut out = vec![Lane::ZERO; strips];
        self.program.predict(params, nodes, &mut out);
        let f = clipped_rows(&out, energy.node_count(), 1, self.bounds);
        let mut mass = vec![0.0; f.len()];
        energy.node_derivative(&f, &mut mass);
        for (strip, x) in nodes.chunks(d).enumerate() {
            self.program
                .forward(params, x, &mut self.out, &mut self.kept);
            let mut roots = Lane::ZERO;
            for lane in 0..LANES {
                let node = strip * LANES + lane;
                roots.0[lane] = mass.get(node).map_or(0.0, |m| m.sqrt() as f32);
                let inside = self.out[0].0[lane].abs() <= self.bounds.output;
                self.seed[0].0[lane] = if inside { roots.0[lane] } else { 0.0 };
            }
            self.backward(params, x, strip);
            self.factor[strip * self.lines + self.program.len()] = roots;
        }
    }

    /// The rows of a strip whose forward pass is kept.
    fn backward(&mut self, params: &[f32], x: &[Lane], strip: usize) {
        let p = self.program.len();
        let rows = &mut self.factor[strip * self.lines..][..p];
        if params.len() == p {
            self.program
                .backward(params, x, &self.seed, &mut self.kept, (rows, false));
            return;
        }
        self.full_rows.resize(params.len(), Lane::ZERO);
        let full_rows = &mut self.full_rows;
        self.program
            .backward(params, x, &self.seed, &mut self.kept, (full_rows, false));
        self.program.compact(full_rows);
        rows.copy_from_slice(&full_rows[..p]);
    }
}

/// `products[i][j] = sum over strips and lanes of line i times line j`, for `j >= i`.
struct Products<'a> {
    factor: &'a [Lane],
    lines: usize,
    products: &'a mut [f32],
}

impl Kernel for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Across>(self, s: S) {
        let lines = self.lines;
        let mut tile = Lane::ZERO;
        let strips = self.factor.len() / lines;
        // All rows take some columns before the next ones: those stay in the first-level cache, which does not hold all.
        let columns = first_level_cache() / 2 / (strips.max(1) * size_of::<Lane>());
        let columns = (columns / TILE * TILE).max(TILE);
        for first in (0..lines).step_by(columns) {
            let end = lines.min(first + columns);
            for i in (0..end).step_by(TILE) {
                for j in (i.max(first)..end).step_by(TILE) {
                    let mut sums = [s.splat(0.0); TILE * TILE];
                    for strip in self.factor.chunks_exact(lines) {
                        let (left, right) = (&strip[i..][..TILE], &strip[j..][..TILE]);
                        for a in 0..TILE {
                            let left = s.load(&left[a]);
                            for b in 0..TILE {
                                let sum = &mut sums[a * TILE + b];
                                *sum = s.fma(left, s.load(&right[b]), *sum);
                            }
                        }
                    }
                    s.store(&mut tile, s.sums(sums));
                    for a in 0..TILE {
                        self.products[(i + a) * lines + j..][..TILE]
                            .copy_from_slice(&tile.0[a * TILE..][..TILE]);
                    }
                }
            }
        }
    }
}

/// Blends products into an average.
struct Average<'a> {
    p: usize,
    lines: usize,
    products: &'a [f32],
    /// Whether the products of the means are subtracted. The line of seeds holds the square roots of
    /// the masses: its products are the means of the rows.
    centred: bool,
    blend: Blend,
    average: &'a mut [f64],
}

impl Kernel for Average<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Across>(self, _: S) {
        let Self {
            p, lines, blend, ..
        } = self;
        let row = |i: usize| &self.products[i * lines..][..lines];
        let mut means = vec![0.0; p];
        if self.centred {
            for i in 0..p {
                means[i] = f64::from(row(i)[p]);
            }
        }
        for i in 0..p {
            let own = means[i];
            let to = &mut self.average[i * p + i..(i + 1) * p];
            let products = row(i)[i..p].iter().zip(&means[i..]);
            for (to, (product, mean)) in to.iter_mut().zip(products) {
                let product = f64::from(*product) - own * mean;
                *to = blend.keep * *to + blend.share * product;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gradient::node_strips;
    use loopfit_data::Samples;
    use loopfit_likelihood::{
        Bernoulli, Gaussian, Laplace, Multiclass, Nodes, Poisson, ScalarLikelihood,
    };
    use loopfit_model::{
        Activation, Architecture, Form, Network, Parameters, Tying, init, reference,
    };
    use loopfit_numerics::lanes::Level;

    const N: usize = 37;

    fn likelihoods() -> [Likelihood; 6] {
        [
            Likelihood::Gaussian(Gaussian::new(0.8).unwrap()),
            Likelihood::Laplace(Laplace::new(0.7).unwrap()),
            Likelihood::Poisson(Poisson),
            Likelihood::Bernoulli(Bernoulli),
            Likelihood::Multiclass(Multiclass::new(3).unwrap()),
            Likelihood::Energy(Energy::new(2, Nodes::LowDiscrepancy { n: N }).unwrap()),
        ]
    }

    /// The information in f64: Jacobian by central differences, `J^T I J` by its definition.
    fn expected(parameters: &Parameters, likelihood: Likelihood, x: &[f64]) -> Vec<f64> {
        let network = parameters.network();
        let (p, c) = (network.count(), network.outputs());
        let values: Vec<f64> = parameters.values().iter().map(|v| f64::from(*v)).collect();
        let slope = |x: &[f64], i: usize| -> Vec<f64> {
            let at = |h: f64| {
                let mut moved = values.clone();
                moved[i] += h;
                reference::forward_values(network, &moved, x)
            };
            let h = 1e-7;
            at(h)
                .iter()
                .zip(at(-h))
                .map(|(a, b)| (a - b) / (2.0 * h))
                .collect()
        };
        let rows: Vec<&[f64]> = x.chunks(2).collect();
        let outputs: Vec<Vec<f64>> = rows
            .iter()
            .map(|x| reference::forward_values(network, &values, x))
            .collect();
        let jacobians: Vec<Vec<Vec<f64>>> = rows
            .iter()
            .map(|x| (0..p).map(|i| slope(x, i)).collect())
            .collect();
        let mut matrix = vec![0.0; p * p];
        for i in 0..p {
            for j in 0..p {
                matrix[i * p + j] = if let Likelihood::Energy(energy) = likelihood {
                    // Polarisation of the variance.
                    let nodes: Vec<f64> = outputs.iter().map(|f| f[0]).collect();
                    let variance = |sign: f64| {
                        let delta: Vec<f64> = jacobians
                            .iter()
                            .map(|j_| j_[i][0] + sign * j_[j][0])
                            .collect();
                        energy.fisher(&nodes, &delta)
                    };
                    (variance(1.0) - variance(-1.0)) / 4.0
                } else {
                    let mean = |f: &[f64], k: usize, l: usize| match likelihood {
                        Likelihood::Gaussian(g) => g.fisher(f[0]),
                        Likelihood::Laplace(g) => g.fisher(f[0]),
                        Likelihood::Poisson(g) => g.fisher(f[0]),
                        Likelihood::Bernoulli(g) => g.fisher(f[0]),
                        Likelihood::Multiclass(m) => {
                            let mut information = vec![0.0; c * c];
                            m.fisher(f, &mut information);
                            information[k * c + l]
                        }
                        Likelihood::Energy(_) => unreachable!(),
                    };
                    let mut sum = 0.0;
                    for (f, jacobian) in outputs.iter().zip(&jacobians) {
                        for k in 0..c {
                            for l in 0..c {
                                sum += jacobian[i][k] * mean(f, k, l) * jacobian[j][l];
                            }
                        }
                    }
                    sum / rows.len() as f64
                };
            }
        }
        matrix
    }

    #[test]
    fn matches_its_definition() {
        for (case, likelihood) in likelihoods().into_iter().enumerate() {
            let (ffn, transformer) = (Architecture::Ffn, Architecture::transformer(2));
            let (relu, paper) = (Activation::Relu, Form::Paper);
            for (architecture, q, tying, activation, form) in [
                (&ffn, 2, Tying::Single, relu, paper),
                (&ffn, 2, Tying::Loop { t: 3 }, relu, paper),
                (&ffn, 2, Tying::Untied { t: 2 }, relu, paper),
                (&ffn, 2, Tying::Single, Activation::Tanh, paper),
                (
                    &ffn,
                    3,
                    Tying::Loop { t: 3 },
                    Activation::Silu,
                    Form::Canonical,
                ),
                (
                    &ffn,
                    3,
                    Tying::Untied { t: 2 },
                    Activation::Sine,
                    Form::Carried { extra: 2 },
                ),
                (&transformer, 3, Tying::Loop { t: 2 }, relu, paper),
            ] {
                let outputs = likelihood.outputs();
                let network = Network::new(architecture.clone(), 2, outputs, q, 3, tying).unwrap();
                let network = network.with_activation(activation).unwrap();
                let network = network.with_form(form).unwrap();
                let parameters = init::fresh(&network, 0.5, Stream::new(case as u64));
                let program = Program::new(&network, Level::fastest());
                let params = program.pack(&parameters);
                let p = params.len();
                let mut batch = Strips::default();
                let x: Vec<f64> = if let Likelihood::Energy(energy) = likelihood {
                    batch.x = node_strips(energy);
                    energy.node_points()
                } else {
                    let stream = Stream::new(7).child("x");
                    let x: Vec<f32> = (0..2 * N).map(|i| stream.normal(i as u64) as f32).collect();
                    batch = Strips::all(&Samples::new(2, x.clone(), vec![0.0; N]).unwrap());
                    x.iter().map(|v| f64::from(*v)).collect()
                };
                let expected = expected(&parameters, likelihood, &x);
                let scale = expected.iter().fold(0.0f64, |a, v| a.max(v.abs()));
                for level in Level::available() {
                    let bounds = Bounds::default();
                    let at_level = Program::new(&network, level);
                    let mut information = Information::new(at_level, likelihood, bounds);
                    let mut got = vec![0.0; p * p];
                    for unit in 0..likelihood.outputs() {
                        let blend = Blend {
                            keep: 1.0,
                            share: 1.0,
                        };
                        information.blend(&params, &batch, Probe::Unit(unit), blend, &mut got);
                    }
                    let order = (0..p).map(|i| i as f32).collect();
                    let order = program.pack(&Parameters::new(network.clone(), order).unwrap());
                    for i in 0..p {
                        for j in i..p {
                            let exact = expected[order[i] as usize * p + order[j] as usize];
                            let got = got[i * p + j];
                            assert!(
                                (got - exact).abs() < 1e-5 * scale,
                                "{likelihood:?} {network} ({i}, {j}): {got}, not {exact}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn random_signs_are_right_on_average() {
        let likelihood = Likelihood::Multiclass(Multiclass::new(3).unwrap());
        let network = Network::ffn(1, 3, 1, 2, Tying::Single).unwrap();
        let level = Level::fastest();
        let program = Program::new(&network, level);
        let params = program.pack(&init::fresh(&network, 1.0, Stream::new(3)));
        let p = params.len();
        let batch = Strips::all(&Samples::new(1, vec![0.3, -0.8], vec![0.0, 1.0]).unwrap());
        let mut information = Information::new(program, likelihood, Bounds::default());
        let (mut exact, mut random) = (vec![0.0; p * p], vec![0.0; p * p]);
        for unit in 0..3 {
            let blend = Blend {
                keep: 1.0,
                share: 1.0,
            };
            information.blend(&params, &batch, Probe::Unit(unit), blend, &mut exact);
        }
        let draws = 4000;
        for draw in 0..draws {
            let probe = Probe::Signs(Stream::new(9).nth(draw));
            let blend = Blend {
                keep: 1.0,
                share: 1.0 / draws as f64,
            };
            information.blend(&params, &batch, probe, blend, &mut random);
        }
        let scale = exact.iter().fold(0.0f64, |a, v| a.max(v.abs()));
        for (exact, random) in exact.iter().zip(&random) {
            assert!((exact - random).abs() < 0.05 * scale, "{exact} {random}");
        }
    }
}
