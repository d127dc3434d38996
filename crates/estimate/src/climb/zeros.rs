//! Coefficients that become zero for good, and zeros that come back.

use super::Climb;
use loopfit_model::Network;
use std::collections::BTreeSet;

/// Zeros that are looked at together, at least.
const AT_ONCE: usize = 64;
/// Part of a coefficient's own curvature that is left at least where the others can stand in for it.
const LEAST_OWN: f64 = 1e-6;

impl Climb<'_> {
    /// Makes the coefficients that the rows need least zero for good, so that at most `count` are left.
    ///
    /// # Formula
    /// Without coefficient `i`, the others being free, the objective is larger by `theta_i^2 / 2 (A^-1)_ii`.
    ///
    /// # Reference
    /// Hassibi and Stork, "Second order derivatives for network pruning: optimal brain surgeon", 1993.
    pub(crate) fn prune(&mut self, count: usize) {
        let mut kept = self.prior.kept().to_vec();
        // Where the matrix has no inverse, all count alike.
        let alike = || vec![1.0; kept.len()];
        let variances = self.variances().unwrap_or_else(alike);
        let pairs = kept.iter().zip(variances);
        let can = pairs.filter(|(i, _)| self.prior.can_be_zero(**i));
        let mut needed: Vec<(f64, usize)> = can
            .map(|(i, variance)| (self.theta[*i] * self.theta[*i] / variance, *i))
            .collect();
        needed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        needed.truncate(kept.len().saturating_sub(count));
        needed.iter().for_each(|(_, i)| self.theta[*i] = 0.0);
        kept.retain(|i| needed.iter().all(|(_, zero)| zero != i));
        self.keep(kept);
    }

    /// Frees `count` of the zeros, those without which most is lost.
    pub(crate) fn free(&mut self, network: &Network, count: usize) {
        let mut gains = self.gains(network);
        gains.retain(|(gain, _)| *gain > 0.0);
        gains.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut kept = self.prior.kept().to_vec();
        kept.extend(gains.iter().take(count).map(|(_, zero)| zero));
        kept.sort_unstable();
        self.keep(kept);
    }

    /// By how much the objective (times the precision of the noise) falls, to second order, if a zero is freed, and its place.
    ///
    /// # Formula
    /// `g_i^2 / 2 (A_ii - A_iK A_KK^-1 A_Ki)` for coefficient `i` beside those that are not zero, `K`, at a point where the gradient in these is
    /// zero.
    ///
    /// # Reference
    /// Rao, "Large sample tests of statistical hypotheses", 1948: half of the score statistic, with `A` for the information.
    fn gains(&self, network: &Network) -> Vec<(f64, usize)> {
        let Some(factor) = self.factor() else {
            return Vec::new();
        };
        let kept = self.prior.kept();
        let mut gains = Vec::new();
        for zeros in connected(network, kept).chunks(kept.len().max(AT_ONCE)) {
            let mut both = [kept, zeros].concat();
            both.sort_unstable();
            let curvature = self.objective.curvature(&self.theta, &both);
            let (mut a, mut slopes) = (curvature.matrix, curvature.gradient);
            let sums = a.iter_mut().chain(&mut slopes);
            sums.for_each(|v| *v *= self.prior.beta);
            let mut prior = self.prior.clone();
            prior.keep(both.clone());
            let penalty = prior.penalty(1.0);
            penalty.add_matrix(&mut a);
            penalty.add_gradient(&self.theta, &mut slopes);
            let place = |i: &usize| both.partition_point(|other| other < i);
            let old: Vec<usize> = kept.iter().map(place).collect();
            gains.extend(zeros.iter().map(|zero| {
                let at = place(zero);
                let entry = |k: &usize| a[at.min(*k) * both.len() + at.max(*k)];
                let beside: Vec<f64> = old.iter().map(entry).collect();
                let mut solved = beside.clone();
                factor.solve(&mut solved);
                let shared: f64 = beside.iter().zip(&solved).map(|(a, b)| a * b).sum();
                let own = (entry(&at) - shared).max(LEAST_OWN * entry(&at));
                (0.5 * slopes[at] * slopes[at] / own, *zero)
            }));
        }
        gains
    }
}

/// Zeros that the output depends on to first order: of a unit that is not read, and of one that reads nothing, only those that change that.
fn connected(network: &Network, kept: &[usize]) -> Vec<usize> {
    let layout = network.layout();
    // Each coefficient with its tensor and its unit: a matrix has one in each row, one that leads out of units in each column.
    let places = layout.iter().flat_map(|view| {
        let (block, part) = view.name.split_at(view.name.rfind('.').unwrap_or(0));
        let unit = move |place: usize| match part {
            ".w2" => place % view.cols,
            _ => place / view.cols,
        };
        view.range()
            .map(move |i| (i, block, part, unit(i - view.offset)))
    });
    let (kept, zeros): (Vec<_>, Vec<_>) = places.partition(|(i, ..)| kept.binary_search(i).is_ok());
    let (mut read, mut reading) = (BTreeSet::new(), BTreeSet::new());
    for (_, block, part, unit) in kept {
        match part {
            ".w1" | ".b1" => reading.insert((block, unit)),
            ".w2" => read.insert((block, unit)),
            _ => false,
        };
    }
    let depends = |(i, block, part, unit): (usize, &str, &str, usize)| {
        let depends = match part {
            ".w1" | ".b1" => read.contains(&(block, unit)),
            ".w2" => reading.contains(&(block, unit)),
            _ => true,
        };
        depends.then_some(i)
    };
    zeros.into_iter().filter_map(depends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curvature::{NEVER, Objective};
    use crate::prior::Prior;
    use crate::rows::{Kind, Rows};
    use crate::tape::Tape;
    use loopfit_data::Samples;
    use loopfit_model::{Activation, Form, Tying};
    use loopfit_numerics::stream::Stream;

    fn rows(target: impl Fn(&[f32]) -> f64) -> Rows {
        let draws = Stream::new(7);
        let x: Vec<f32> = (0..400).map(|i| draws.normal(i) as f32).collect();
        let noise = |i: usize| 0.1 * draws.child("noise").normal(i as u64);
        let y = x.chunks(4).enumerate();
        let y = y.map(|(i, x)| (target(x) + noise(i)) as f32).collect();
        let every: Vec<usize> = (0..100).collect();
        Rows::new(&Samples::new(4, x, y).unwrap(), &every, Kind::Gaussian, 1)
    }

    /// A least-squares problem is its own second order: the gain is what freeing a coefficient brings.
    #[test]
    fn gains_are_what_freed_coefficients_bring() {
        let network = Network::affine(4, 1, 4).unwrap();
        let tape = Tape::new(&network);
        let rows = rows(|x| f64::from(x[0] + 0.5 * x[1] - 2.0 * x[2]));
        let objective = Objective::new(&tape, &rows);
        let mut prior = Prior::new(&network, 0.3);
        prior.keep(vec![0, 4]);
        let mut climb = Climb::new(&objective, vec![0.0; 5], prior);
        climb.run(40, None, NEVER);
        let gains = climb.gains(&network);
        assert_eq!(gains.iter().map(|(_, i)| *i).collect::<Vec<_>>(), [1, 2, 3]);
        for (gain, i) in &gains {
            let mut freed = climb.clone();
            freed.keep(vec![0, *i, 4]);
            freed.run(40, None, NEVER);
            let fell = climb.prior.beta * (climb.value() - freed.value());
            assert!((gain - fell).abs() < 1e-6 * fell, "{gain} {fell}");
        }
        climb.free(&network, 1);
        assert_eq!(climb.prior.kept(), [0, 2, 4]);
        climb.free(&network, 9);
        climb.prune(2);
        assert_eq!(climb.prior.kept().len(), 2);
    }

    /// Of classes the penalty of a coefficient that is zero pulls it towards those that differ in the class alone.
    #[test]
    fn gains_know_the_penalty_of_classes() {
        let network = Network::affine(4, 3, 4).unwrap();
        let tape = Tape::new(&network);
        let draws = Stream::new(9);
        let x: Vec<f32> = (0..400).map(|i| draws.normal(i) as f32).collect();
        let class = |x: &[f32]| match (x[0] > 0.3, x[1] > 0.0) {
            (true, _) => 0.0,
            (false, upper) => 1.0 + f32::from(u8::from(upper)),
        };
        let samples = Samples::new(4, x.clone(), x.chunks(4).map(class).collect()).unwrap();
        let every: Vec<usize> = (0..100).collect();
        let rows = Rows::new(&samples, &every, Kind::Multiclass, 3);
        let objective = Objective::new(&tape, &rows);
        let mut prior = Prior::new(&network, 30.0);
        // The first input for the first class, and the biases.
        prior.keep(vec![0, 8, 9]);
        let mut climb = Climb::new(&objective, vec![0.0; 10], prior);
        climb.run(60, None, NEVER);
        for (gain, i) in climb.gains(&network) {
            let mut kept = vec![0, i, 8, 9];
            kept.sort_unstable();
            let mut freed = climb.clone();
            freed.keep(kept);
            freed.run(60, None, NEVER);
            let fell = climb.value() - freed.value();
            assert!(
                (gain - fell).abs() < 0.1 * fell + 1e-3,
                "{i}: {gain} {fell}"
            );
        }
    }

    /// Of a unit that nothing reads only what is to read it counts, and of one that reads nothing only what it is to read.
    #[test]
    fn zeros_that_change_nothing_are_left_out() {
        let network = Network::ffn(2, 1, 3, 3, Tying::Single).unwrap();
        let network = network.with_activation(Activation::Tanh).unwrap();
        let network = network.with_form(Form::Carried { extra: 1 }).unwrap();
        let layout = network.layout();
        let range = |name: &str| layout.get(name).unwrap().range();
        let (w1, b1) = (range("block.0.w1"), range("block.0.b1"));
        let w2 = range("block.0.w2");
        // The first unit reads and is read, the second reads, the third is read.
        let mut kept = vec![w1.start, w1.start + 2, w2.start, w2.start + 2];
        kept.extend(range("output.bias"));
        kept.sort_unstable();
        let found = connected(&network, &kept);
        let of = |i: &usize| found.contains(i);
        assert!([w1.start + 1, b1.start, w2.start + 1].iter().all(of));
        assert!([w1.start + 4, w1.start + 5, b1.start + 2].iter().all(of));
        assert!(![w1.start + 3, b1.start + 1].iter().any(of));
        assert!(kept.iter().all(|i| !of(i)));
    }
}
