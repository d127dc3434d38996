//! Networks whose units read one input each, added one by one where they help most.
//!
//! A unit that begins at random reads every input, and a steep one among many inputs is found by luck: rows far from its edge say nothing
//! about where the edge should be. Here every edge of every input is tried before one is taken, as in regression splines. The result is
//! a start like any other: all its coefficients move afterwards, and those that the rows need least become zero.
// Plain indices: several arrays are walked together, and the loops must stay simple enough for vectors.
#![allow(clippy::needless_range_loop)]

use crate::climb::largest_parameter;
use crate::octet::{OCTET, Octet};
use crate::rows::Rows;
use crate::tape::{Tape, Trace};
use loopfit_model::{Activation, Network, Reduced};
use loopfit_numerics::lanes::{Kernel, Level, Simd};
use loopfit_numerics::stream::Stream;

/// Rows that say which term helps most.
pub(crate) const ROWS: usize = 1000;
/// Places along an input where a unit may have its edge: quantiles of the rows.
const EDGES: usize = 15;
/// Weight of rows that are certain, relative to the mean.
const LEAST_WEIGHT: f64 = 1e-3;
/// Part of a term's variance that other terms of its input must leave.
const LEAST_NEW: f64 = 1e-3;
/// Units that a network may have for each further term that is taken at once.
const UNITS_AT_ONCE: usize = 16;
/// Part of the most helpful term's help that others must give to be taken with it.
const NEARLY: f64 = 0.5;
/// Part of the best outgoing weights with which a term begins.
const FIRST_PART: f64 = 0.5;

/// Weights of units before they move: how steep their edges are, and whether they look both ways.
fn slopes(activation: Activation) -> &'static [f64] {
    match activation {
        Activation::Relu => &[1.0, -1.0],
        Activation::Silu => &[3.0, -3.0, 10.0, -10.0],
        Activation::Tanh | Activation::Sine => &[1.0, 3.0, 10.0],
    }
}

/// A unit of one input with its weight and bias, or the input itself.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Term {
    input: usize,
    unit: Option<(f64, f64)>,
}

impl Term {
    /// How many numbers it needs with its outgoing weights.
    fn count(self, outputs: usize) -> usize {
        outputs + if self.unit.is_some() { 2 } else { 0 }
    }

    #[inline(always)]
    fn value(self, x: Octet, activation: Activation) -> Octet {
        match self.unit {
            None => x,
            Some((weight, bias)) => {
                let u = Octet::splat(weight).fma(x, Octet::splat(bias));
                u.activate(activation).0
            }
        }
    }
}

/// Terms of a network whose blocks read the inputs and write the outputs' own channels.
#[derive(Debug)]
pub(crate) struct Stepwise<'a> {
    network: &'a Network,
    tape: &'a Tape,
    /// Some of the rows.
    rows: Rows,
    /// Terms to choose from, by input.
    pool: Vec<Vec<Term>>,
    /// The input of each unit that is taken; blocks get them by turns.
    units: Vec<usize>,
    /// Inputs that are taken themselves.
    inputs: Vec<usize>,
}

/// A tensor of the network's layout: a matrix that begins at a place.
#[derive(Clone, Copy, Debug)]
struct Tensor {
    offset: usize,
    cols: usize,
}

impl Tensor {
    fn at(self, row: usize, col: usize) -> usize {
        self.offset + row * self.cols + col
    }
}

impl<'a> Stepwise<'a> {
    /// No term yet. Which edges there are is drawn at random.
    pub(crate) fn new(network: &'a Network, tape: &'a Tape, rows: &Rows, stream: Stream) -> Self {
        let rows = rows.first(ROWS);
        let of_input = |input: usize| {
            let first = stream.uniform(input as u64);
            let units = edges(&rows, input, first).into_iter().flat_map(|edge| {
                let slopes = slopes(network.activation()).iter();
                slopes.map(move |slope| (*slope, -slope * edge))
            });
            let units = units.map(Some);
            let terms = [None].into_iter().chain(units);
            terms.map(|unit| Term { input, unit }).collect()
        };
        Self {
            pool: (0..network.d()).map(of_input).collect(),
            network,
            tape,
            rows,
            units: Vec::new(),
            inputs: Vec::new(),
        }
    }

    /// The coefficients of all terms, in ascending places: incoming and outgoing ones and the outputs' biases. At last also those by which
    /// units read what blocks have written, and the biases of what these write.
    pub(crate) fn places(&self, at_last: bool) -> Vec<usize> {
        let d = self.network.d();
        let mut places: Vec<usize> = self
            .inputs
            .iter()
            .flat_map(|i| self.outgoing(*i, None))
            .collect();
        for (u, input) in self.units.iter().enumerate() {
            let (block, unit) = self.block_of(u);
            let w1 = self.tensor(&format!("block.{block}.w1"));
            places.extend(self.incoming(u));
            places.extend(self.outgoing(*input, Some(u)));
            if at_last {
                places.extend((d..w1.cols).map(|channel| w1.at(unit, channel)));
            }
        }
        for view in &self.network.layout() {
            if view.name == "output.bias" || at_last && view.name.ends_with(".b2") {
                places.extend(view.range());
            }
        }
        places.sort_unstable();
        places
    }

    /// Takes the term after which the loss falls most for each of its numbers, and such of other inputs that help nearly as much, as long
    /// as there are at most `count` numbers in all; whether there was one.
    pub(crate) fn add(&mut self, theta: &mut [f64], count: usize) -> bool {
        let mut left = count.saturating_sub(self.places(false).len());
        let search = Search {
            stepwise: self,
            theta,
            left,
        };
        let mut found = Level::fastest().run(search);
        found.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        let enough = found.first().map_or(0.0, |best| NEARLY * best.gain);
        found.retain(|next| next.gain >= enough);
        found.truncate(1 + self.most_units() / UNITS_AT_ONCE);
        let outputs = Reduced::outputs_told(self.network.outputs());
        let before = left;
        for Next { term, outgoing, .. } in found {
            let full = term.unit.is_some() && self.units.len() == self.most_units();
            if !full && term.count(outputs) <= left {
                left -= term.count(outputs);
                self.take(term, &outgoing, theta);
            }
        }
        left < before
    }

    fn take(&mut self, term: Term, outgoing: &[f64], theta: &mut [f64]) {
        let (input, bound) = (term.input, largest_parameter());
        let (new, times) = match term.unit {
            Some((weight, bias)) => {
                let new = self.units.len();
                self.units.push(input);
                let [w1, b1] = self.incoming(new);
                theta[w1] = weight;
                theta[b1] = bias.clamp(-bound, bound);
                let tying = self.network.tying();
                (Some(new), tying.iterations() / tying.blocks())
            }
            None => {
                self.inputs.push(input);
                (None, 1)
            }
        };
        for (place, weight) in self.outgoing(input, new).into_iter().zip(outgoing) {
            theta[place] = (FIRST_PART * weight / times as f64).clamp(-bound, bound);
        }
    }

    /// Units that there may be.
    fn most_units(&self) -> usize {
        self.network.r() * self.network.tying().blocks()
    }

    /// The block of a unit, and its place there.
    fn block_of(&self, unit: usize) -> (usize, usize) {
        let blocks = self.network.tying().blocks();
        (unit % blocks, unit / blocks)
    }

    /// The places of a unit's weight and bias.
    fn incoming(&self, u: usize) -> [usize; 2] {
        let (block, unit) = self.block_of(u);
        let w1 = self.tensor(&format!("block.{block}.w1"));
        let b1 = self.tensor(&format!("block.{block}.b1"));
        [w1.at(unit, self.units[u]), b1.at(unit, 0)]
    }

    /// The places of the outgoing weights of a unit, or of an input itself.
    fn outgoing(&self, input: usize, u: Option<usize>) -> Vec<usize> {
        let (tensor, col) = match u.map(|u| self.block_of(u)) {
            Some((block, unit)) => (self.tensor(&format!("block.{block}.w2")), unit),
            None => (self.tensor("output.weight"), input),
        };
        let outputs = Reduced::outputs_told(self.network.outputs());
        (0..outputs).map(|row| tensor.at(row, col)).collect()
    }

    fn tensor(&self, name: &str) -> Tensor {
        let layout = self.network.layout();
        let view = layout.get(name).expect("a tensor of the form");
        let (offset, cols) = (view.offset, view.cols);
        Tensor { offset, cols }
    }

    /// The terms of an input that are taken, as they are now.
    fn taken(&self, input: usize, theta: &[f64]) -> Vec<Term> {
        let units = (0..self.units.len()).filter(|u| self.units[*u] == input);
        let units = units.map(|u| self.incoming(u).map(|place| theta[place]).into());
        let own = self.inputs.iter().filter(|i| **i == input).map(|_| None);
        own.chain(units.map(Some))
            .map(|unit| Term { input, unit })
            .collect()
    }
}

/// Equally spaced quantiles of an input, each once, the first of them at this part of the space between two.
fn edges(rows: &Rows, input: usize, first: f64) -> Vec<f64> {
    let value = |row: usize| rows.x(row / OCTET)[input].0[row % OCTET];
    let mut values: Vec<f64> = (0..rows.n).map(value).collect();
    values.sort_by(f64::total_cmp);
    let part = |i: usize| (i as f64 + first) / EDGES as f64;
    let last = values.len() - 1;
    let at = |i: usize| values[((part(i) * values.len() as f64) as usize).min(last)];
    let mut edges: Vec<f64> = (0..EDGES).map(at).collect();
    edges.dedup();
    edges
}

/// A term to take.
#[derive(Debug)]
struct Next {
    /// By how much the loss would fall for each of its numbers, about.
    gain: f64,
    term: Term,
    /// Its best outgoing weights.
    outgoing: Vec<f64>,
}

/// The best next term of each input.
///
/// # Formula
/// With `g_c` the derivative of the loss in output `c` and `w` the mean information of the outputs, row by row, and `z` what is left
/// of a term after regression, with weights `w`, on a constant and the terms of the same input that are there: the loss falls
/// by about `sum_c (g_c . z)^2 / 2 (w . z^2)`, at outgoing weights `-(g_c . z) / (w . z^2)`.
struct Search<'a, 'b> {
    stepwise: &'a Stepwise<'b>,
    theta: &'a [f64],
    /// Most numbers of the term.
    left: usize,
}

impl Kernel for Search<'_, '_> {
    type Output = Vec<Next>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Self::Output {
        let Stepwise {
            network,
            tape,
            rows,
            pool,
            units,
            inputs,
            ..
        } = self.stepwise;
        let octets = rows.octets();
        let outputs = Reduced::outputs_told(network.outputs());
        let (gradients, weight) = gradients(tape, rows, self.theta, outputs);
        let activation = network.activation();
        let all_units = units.len() == self.stepwise.most_units();
        let mut found = Vec::new();
        let mut z = vec![Octet::ZERO; octets];
        for (input, terms) in pool.iter().enumerate() {
            // What is there, as a basis that is orthonormal with these weights.
            let mut basis: Vec<Vec<Octet>> = Vec::new();
            let there = self.stepwise.taken(input, self.theta);
            for term in [None].into_iter().chain(there.into_iter().map(Some)) {
                for octet in 0..octets {
                    let one = Octet::splat(1.0);
                    let value = |term: Term| term.value(rows.x(octet)[input], activation);
                    z[octet] = term.map_or(one, value);
                }
                let before = weighed(&weight, &z, &z);
                for q in &basis {
                    let along = Octet::splat(-weighed(&weight, q, &z));
                    for octet in 0..octets {
                        z[octet] = along.fma(q[octet], z[octet]);
                    }
                }
                let left = weighed(&weight, &z, &z);
                if left > LEAST_NEW * LEAST_NEW * before {
                    let scale = Octet::splat(1.0 / left.sqrt());
                    let mut scaled = z.clone();
                    for z in &mut scaled {
                        *z = *z * scale;
                    }
                    basis.push(scaled);
                }
            }
            // Loops, not iterators that collect: those would be compiled on their own, without the vectors of this kernel.
            let mut slopes = vec![vec![0.0; basis.len()]; outputs];
            for (slopes, g) in slopes.iter_mut().zip(&gradients) {
                for (slope, q) in slopes.iter_mut().zip(&basis) {
                    *slope = dot(g, q);
                }
            }
            let mut along = vec![0.0; basis.len()];
            let mut outgoing = vec![0.0; outputs];
            let mut best: Option<Next> = None;
            for term in terms {
                let is_unit = term.unit.is_some();
                if term.count(outputs) > self.left
                    || is_unit && all_units
                    || !is_unit && inputs.contains(&input)
                {
                    continue;
                }
                for octet in 0..octets {
                    z[octet] = term.value(rows.x(octet)[input], activation);
                }
                for (along, q) in along.iter_mut().zip(&basis) {
                    *along = weighed(&weight, q, &z);
                }
                let centred = weighed(&weight, &z, &z) - along.first().map_or(0.0, |a| a * a);
                let left = centred - along.iter().skip(1).map(|a| a * a).sum::<f64>();
                if left.is_nan() || left <= LEAST_NEW * centred {
                    continue;
                }
                for (c, (g, slopes)) in gradients.iter().zip(&slopes).enumerate() {
                    let known: f64 = along.iter().zip(slopes).map(|(a, s)| a * s).sum();
                    outgoing[c] = (known - dot(g, &z)) / left;
                }
                let gain = left * outgoing.iter().map(|o| o * o).sum::<f64>();
                let gain = gain / term.count(outputs) as f64;
                if best.as_ref().is_none_or(|best| gain > best.gain) {
                    let term = *term;
                    best = Some(Next {
                        gain,
                        term,
                        outgoing: outgoing.clone(),
                    });
                }
            }
            found.extend(best);
        }
        found
    }
}

/// For each output the derivatives of the loss in it, row by row, and a weight for each row: the mean information of the outputs.
#[inline(always)]
fn gradients(
    tape: &Tape,
    rows: &Rows,
    theta: &[f64],
    outputs: usize,
) -> (Vec<Vec<Octet>>, Vec<Octet>) {
    let (octets, m, all) = (rows.octets(), rows.factors(), tape.outputs());
    let mut gradients = vec![vec![Octet::ZERO; octets]; outputs];
    let mut weight = vec![Octet::ZERO; octets];
    let filled = tape.filled(theta);
    let mut trace = Trace::default();
    let mut seeds = vec![Octet::ZERO; m * all];
    let mut residuals = vec![Octet::ZERO; m];
    let mut total = Octet::ZERO;
    let part = Octet::splat(1.0 / outputs as f64);
    for octet in 0..octets {
        filled.forward(rows.x(octet), &mut trace);
        rows.factor(octet, &trace.out, &mut seeds, &mut residuals);
        for k in 0..m {
            for c in 0..outputs {
                let seed = seeds[k * all + c];
                gradients[c][octet] = seed.fma(residuals[k], gradients[c][octet]);
                weight[octet] = (seed * seed).fma(part, weight[octet]);
            }
        }
        total += weight[octet];
    }
    let least = LEAST_WEIGHT * total.sum() / rows.n as f64;
    for weight in &mut weight {
        for lane in 0..OCTET {
            // Rows that are not there have no weight.
            if weight.0[lane] > 0.0 {
                weight.0[lane] = weight.0[lane].max(least);
            }
        }
    }
    (gradients, weight)
}

#[inline(always)]
fn dot(a: &[Octet], b: &[Octet]) -> f64 {
    let mut sum = Octet::ZERO;
    for (a, b) in a.iter().zip(b) {
        sum = a.fma(*b, sum);
    }
    sum.sum()
}

#[inline(always)]
fn weighed(weight: &[Octet], a: &[Octet], b: &[Octet]) -> f64 {
    let mut sum = Octet::ZERO;
    for (w, (a, b)) in weight.iter().zip(a.iter().zip(b)) {
        sum = (*w * *a).fma(*b, sum);
    }
    sum.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curvature::Objective;
    use crate::fit::Fit;
    use crate::rows::Kind;
    use loopfit_data::Samples;
    use loopfit_model::{Form, Tying};

    /// Nine inputs, of which the third and the eighth matter, each by a step.
    fn steps(n: usize, kind: Kind) -> Rows {
        let draws = Stream::new(5);
        let x: Vec<f32> = (0..9 * n as u64).map(|i| draws.normal(i) as f32).collect();
        let y = x.chunks(9).map(|x| {
            let steps = [x[2] > 0.4, x[7] > -0.3].map(|step| f32::from(u8::from(step)));
            match kind {
                Kind::Multiclass => steps[0] + steps[1],
                _ => 2.0 * steps[0] - steps[1],
            }
        });
        let samples = Samples::new(9, x.clone(), y.collect()).unwrap();
        let outputs = if kind == Kind::Multiclass { 3 } else { 1 };
        Rows::new(&samples, &(0..n).collect::<Vec<_>>(), kind, outputs)
    }

    fn network(outputs: usize, r: usize, tying: Tying) -> Network {
        let c = Reduced::outputs_told(outputs);
        let network = Network::ffn(9, outputs, 9 + c, r, tying).unwrap();
        let network = network.with_activation(Activation::Tanh).unwrap();
        network.with_form(Form::Carried { extra: c }).unwrap()
    }

    #[test]
    fn steps_of_two_inputs_are_found_among_nine() {
        for kind in [Kind::Gaussian, Kind::Multiclass] {
            let rows = steps(600, kind);
            for tying in [Tying::Single, Tying::Loop { t: 2 }, Tying::Untied { t: 2 }] {
                let network = network(rows.outputs, 2, tying);
                let c = Reduced::outputs_told(rows.outputs);
                // Two units, the inputs themselves and the outputs' biases.
                let count = 2 * (2 + c) + 2 * c + c;
                let tape = Tape::new(&network);
                let mut stepwise = Stepwise::new(&network, &tape, &rows, Stream::new(1));
                let fit = Fit::stepwise(&network, &rows, count, 0, Stream::new(1), &|| false);
                let mut theta = vec![0.0; tape.len()];
                assert!(stepwise.add(&mut theta, count));
                let mut taken = stepwise.units.iter().chain(&stepwise.inputs);
                assert!(
                    taken.all(|input| [2, 7].contains(input)),
                    "{kind:?} {tying:?}"
                );
                let kept = network.count() - fit.zeros().len();
                assert!(kept <= count, "{kind:?} {tying:?}");
                let objective = Objective::new(&tape, &rows);
                let none = objective.loss(&vec![0.0; tape.len()]);
                assert!(
                    objective.loss(&fit.theta) < 0.5 * none,
                    "{kind:?} {tying:?}"
                );
            }
        }
    }

    #[test]
    fn terms_use_the_places_that_they_say() {
        let rows = steps(300, Kind::Multiclass);
        for tying in [Tying::Single, Tying::Loop { t: 3 }, Tying::Untied { t: 2 }] {
            let network = network(3, 4, tying);
            let tape = Tape::new(&network);
            let mut stepwise = Stepwise::new(&network, &tape, &rows, Stream::new(2));
            let mut theta = vec![0.0; tape.len()];
            while stepwise.add(&mut theta, 30) {}
            let places = stepwise.places(false);
            assert!(places.len() <= 30 && places.is_sorted());
            for (place, value) in theta.iter().enumerate() {
                assert!(
                    *value == 0.0 || places.contains(&place),
                    "{tying:?} {place}"
                );
            }
            // What units read of other channels, in loops and later blocks.
            let more = stepwise.places(true).len() > places.len();
            assert_eq!(more, tying != Tying::Single);
        }
    }

    /// With no other term, a gain is what the regression of the response on the term explains.
    #[test]
    fn gains_are_those_of_a_regression() {
        let rows = steps(200, Kind::Gaussian);
        let network = network(1, 1, Tying::Single);
        let tape = Tape::new(&network);
        let stepwise = Stepwise::new(&network, &tape, &rows, Stream::new(1));
        let theta = vec![0.0; tape.len()];
        let search = Search {
            stepwise: &stepwise,
            theta: &theta,
            left: 100,
        };
        let of_rows = |value: &dyn Fn(usize) -> Octet| -> Vec<f64> {
            (0..rows.n).map(|i| value(i / OCTET).0[i % OCTET]).collect()
        };
        // The loss at zero is half the square; the response is 2, 1, 0 or -1.
        let y: Vec<f64> = gradients(&tape, &rows, &theta, 1).0[0]
            .iter()
            .flat_map(|g| g.0.map(|g| -g))
            .take(rows.n)
            .collect();
        assert!(y.iter().all(|y| [2.0, 1.0, 0.0, -1.0].contains(y)));
        let centred = |v: &[f64]| {
            let mean = v.iter().sum::<f64>() / v.len() as f64;
            v.iter().map(|v| v - mean).collect::<Vec<f64>>()
        };
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for next in Level::fastest().run(search) {
            let term = next.term;
            let z = of_rows(&|octet| term.value(rows.x(octet)[term.input], Activation::Tanh));
            let (z, y) = (centred(&z), centred(&y));
            let slope = product(&z, &y) / product(&z, &z);
            assert!((next.outgoing[0] - slope).abs() < 1e-9);
            let gain = slope * product(&z, &y) / term.count(1) as f64;
            assert!((next.gain - gain).abs() < 1e-9 * (1.0 + gain));
        }
    }
}
