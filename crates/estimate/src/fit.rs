//! Fits of one network: from random starts, from units of one input each, from a narrower network, with other penalties.

mod finish;

pub(crate) use finish::Tried;
pub use finish::finish;

use crate::climb::{Climb, start};
use crate::curvature::{Objective, Stop};
use crate::prior::Prior;
use crate::rounds::FACTOR_STEPS;
use crate::rows::Rows;
use crate::stepwise::Stepwise;
use crate::tape::Tape;
use loopfit_model::{Activation, Network, Role};
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;

/// Prior precision before the first look at the evidence.
const FIRST_PRECISION: f64 = 0.1;
/// As much of an affine function with as many coefficients as rows.
const STRONG_PRECISION: f64 = 100.0;
/// Steps between looks at the evidence.
const LOOK: usize = 5;
/// Steps of going on with more rows or fewer coefficients.
const LAST_STEPS: usize = 25;
/// Part of the coefficients that become zero at a time.
const PRUNED: f64 = 0.2;
/// Steps after each time.
const PRUNED_STEPS: usize = 6;
/// How often zeros are exchanged for others at most, how many of them, relative to the coefficients that are left, and steps with these beside
/// the others.
const EXCHANGES: usize = 3;
const EXCHANGED: f64 = 0.25;
const EXCHANGED_STEPS: usize = 12;
/// Steps after each term of a network that grows by one after the other.
const TERM_STEPS: usize = 3;

/// A fit to some rows.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub(crate) theta: Vec<f64>,
    prior: Prior,
    surprise: f64,
    /// The sum of losses.
    pub(crate) loss: f64,
}

impl From<Climb<'_>> for Fit {
    fn from(climb: Climb<'_>) -> Self {
        Self {
            loss: climb.loss(),
            surprise: climb.surprise,
            theta: climb.theta,
            prior: climb.prior,
        }
    }
}

impl Fit {
    /// From a random start, with the strengths of its penalty by the evidence.
    pub(crate) fn new(
        network: &Network,
        rows: &Rows,
        steps: usize,
        stream: Stream,
        stop: Stop<'_>,
    ) -> Self {
        let from = |precision| {
            let prior = Prior::new(network, precision);
            Self::climbed(network, rows, fresh(network, stream), prior, steps, stop)
        };
        let fit = from(FIRST_PRECISION);
        // An affine function of as many coefficients as rows can meet every target. Then the evidence has an optimum without noise, which is
        // not always the best one.
        if network.r() > 0 || network.count() < rows.n {
            return fit;
        }
        Self::least_surprising(&[fit, from(STRONG_PRECISION)]).clone()
    }

    /// From units of one input each, added one by one as long as there are at most `count` coefficients that are not zero. Then, if there are to be
    /// more steps, these units also read what others have written.
    pub(crate) fn stepwise(
        network: &Network,
        rows: &Rows,
        count: usize,
        steps: usize,
        stream: Stream,
        stop: Stop<'_>,
    ) -> Self {
        let tape = Tape::new(network);
        let objective = Objective::new(&tape, rows).until(stop);
        let mut stepwise = Stepwise::new(network, &tape, rows, stream);
        let mut prior = Prior::new(network, FIRST_PRECISION);
        prior.keep(stepwise.places(false));
        let mut climb = Climb::new(&objective, vec![0.0; tape.len()], prior);
        climb.run(TERM_STEPS, None, stop);
        while !stop() && stepwise.add(&mut climb.theta, count) {
            climb.keep(stepwise.places(false));
            climb.run(TERM_STEPS, None, stop);
        }
        if steps > 0 {
            climb.keep(stepwise.places(true));
            climb.run(steps, Some(LOOK), stop);
            climb.weigh();
        }
        climb.into()
    }

    /// From the units of a fit of a narrower network, beside new ones that do nothing yet.
    pub(crate) fn grown(
        &self,
        narrow: &Network,
        network: &Network,
        rows: &Rows,
        steps: usize,
        stream: Stream,
        stop: Stop<'_>,
    ) -> Self {
        let theta = widened(&self.theta, narrow, network, stream);
        let prior = self.prior.of(network);
        Self::climbed(network, rows, theta, prior, steps, stop)
    }

    /// From these coefficients and strengths.
    fn climbed(
        network: &Network,
        rows: &Rows,
        theta: Vec<f64>,
        prior: Prior,
        steps: usize,
        stop: Stop<'_>,
    ) -> Self {
        let tape = Tape::new(network);
        let objective = Objective::new(&tape, rows).until(stop);
        let mut climb = Climb::new(&objective, theta, prior);
        climb.run(steps, Some(LOOK), stop);
        climb.weigh();
        climb.into()
    }

    /// With at most `count` coefficients that are not zero: those that the rows need least go, some at a time.
    pub(crate) fn pruned(
        &self,
        network: &Network,
        rows: &Rows,
        count: usize,
        stop: Stop<'_>,
    ) -> Self {
        let tape = Tape::new(network);
        let objective = Objective::new(&tape, rows).until(stop);
        let mut climb = Climb::new(&objective, self.theta.clone(), self.prior.clone());
        loop {
            let now = climb.prior.kept().len();
            // Never more than that, also when asked to stop.
            if now <= count {
                break;
            }
            let left = now as f64 * (1.0 - PRUNED);
            climb.prune(count.max(left as usize));
            climb.run(PRUNED_STEPS, Some(LOOK), stop);
        }
        climb.run(LAST_STEPS, Some(LOOK), stop);
        climb.weigh();
        climb.into()
    }

    /// Exchanges some of its zeros for others as long as there is more evidence for what comes of it.
    pub(crate) fn exchanged(self, network: &Network, rows: &Rows, stop: Stop<'_>) -> Self {
        let tape = Tape::new(network);
        // An affine function has lost its zeros in one convex problem after the other.
        if tape.is_affine() {
            return self;
        }
        let objective = Objective::new(&tape, rows).until(stop);
        let mut best = Climb::new(&objective, self.theta, self.prior);
        best.surprise = self.surprise;
        let count = best.prior.kept().len();
        for _ in 0..EXCHANGES {
            let mut next = best.clone();
            next.free(network, (EXCHANGED * count as f64) as usize);
            next.run(EXCHANGED_STEPS, Some(LOOK), stop);
            next.prune(count);
            next.run(LAST_STEPS, Some(LOOK), stop);
            next.weigh();
            if stop() || next.surprise.is_nan() || next.surprise >= best.surprise {
                break;
            }
            best = next;
        }
        best.into()
    }

    /// The places of the coefficients that are zero for good.
    pub(crate) fn zeros(&self) -> Vec<usize> {
        self.prior.zeros()
    }

    /// Goes on with each of the factors (ascending) on the penalties, from 1 upwards and downwards.
    pub(crate) fn with_factors(
        &self,
        network: &Network,
        rows: &Rows,
        factors: &[f64],
        stop: Stop<'_>,
    ) -> Vec<Vec<f64>> {
        if factors == [1.0] {
            return vec![self.theta.clone()];
        }
        let tape = Tape::new(network);
        let objective = Objective::new(&tape, rows).until(stop);
        let go_on = |climb: &mut Climb<'_>, factor: f64| {
            climb.multiplier = factor;
            climb.run(FACTOR_STEPS, None, stop);
            climb.theta.clone()
        };
        let begin = || Climb::new(&objective, self.theta.clone(), self.prior.clone());
        let at_one = factors
            .iter()
            .position(|f| *f >= 1.0)
            .unwrap_or(factors.len());
        let (below, above) = factors.split_at(at_one);
        let mut climb = begin();
        let mut thetas: Vec<Vec<f64>> = below.iter().rev().map(|f| go_on(&mut climb, *f)).collect();
        thetas.reverse();
        let mut climb = begin();
        thetas.extend(above.iter().map(|f| go_on(&mut climb, *f)));
        thetas
    }

    /// Goes on with one factor.
    fn with_factor(self, network: &Network, rows: &Rows, factor: f64, stop: Stop<'_>) -> Self {
        let mut thetas = self.with_factors(network, rows, &[factor], stop);
        let theta = thetas.pop().unwrap_or_else(|| self.theta.clone());
        Self { theta, ..self }
    }

    /// The one for which there is the most evidence.
    pub(crate) fn least_surprising(fits: &[Self]) -> &Self {
        let best = fits.iter().min_by(|a, b| a.surprise.total_cmp(&b.surprise));
        best.expect("at least one start")
    }
}

/// A random start: incoming weights from half to twice the usual size, of sines from one to four times.
fn fresh(network: &Network, stream: Stream) -> Vec<f64> {
    let usual = match network.activation() {
        Activation::Sine => 2.0,
        _ => 1.0,
    };
    let spread = 2.0 * stream.child("size").uniform(0) - 1.0;
    let size = usual * libm::exp(spread * std::f64::consts::LN_2);
    start(network, size, stream.child("start"))
}

/// The coefficients of a narrower network in a wider one that is the same function: new units are random, and nothing reads them.
fn widened(theta: &[f64], narrow: &Network, network: &Network, stream: Stream) -> Vec<f64> {
    let mut wide = fresh(network, stream);
    let (from, to) = (narrow.layout(), network.layout());
    for view in &to {
        if view.role == Role::OutgoingWeight {
            wide[view.range()].fill(0.0);
        }
        let Some(old) = from.get(&view.name) else {
            continue;
        };
        for row in 0..old.rows {
            let known = &theta[old.offset + row * old.cols..][..old.cols];
            wide[view.offset + row * view.cols..][..old.cols].copy_from_slice(known);
        }
    }
    wide
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curvature::NEVER;
    use crate::rows::Kind;
    use loopfit_data::Samples;
    use loopfit_model::reference::forward_values;
    use loopfit_model::{Form, Tying};

    #[test]
    fn a_wider_network_begins_as_the_narrow_one() {
        for tying in [Tying::Single, Tying::Loop { t: 3 }, Tying::Untied { t: 2 }] {
            for form in [Form::Canonical, Form::Carried { extra: 1 }] {
                let network = |r| {
                    let network = Network::ffn(3, 1, 3, r, tying).unwrap();
                    let network = network.with_activation(Activation::Tanh).unwrap();
                    network.with_form(form).unwrap()
                };
                let (narrow, wide) = (network(2), network(5));
                let theta: Vec<f64> = (0..narrow.count()).map(|i| (i as f64).sin()).collect();
                let grown = widened(&theta, &narrow, &wide, Stream::new(3));
                let x = [0.3, -1.2, 0.8];
                assert_eq!(
                    forward_values(&narrow, &theta, &x),
                    forward_values(&wide, &grown, &x)
                );
            }
        }
    }

    /// Of a sum of two inputs in one unit, units of one input each see each input alone; an exchange lets them read both.
    #[test]
    fn zeros_are_exchanged_for_better_ones() {
        let draws = Stream::new(2);
        let x: Vec<f32> = (0..600).map(|i| draws.normal(i) as f32).collect();
        let y = x.chunks(3).map(|x| (2.0 * (x[0] + x[1])).tanh()).collect();
        let samples = Samples::new(3, x, y).unwrap();
        let every: Vec<usize> = (0..200).collect();
        let rows = Rows::new(&samples, &every, Kind::Gaussian, 1);
        let network = Network::ffn(3, 1, 4, 8, Tying::Single).unwrap();
        let network = network.with_activation(Activation::Tanh).unwrap();
        let network = network.with_form(Form::Carried { extra: 1 }).unwrap();
        let alone = Fit::stepwise(&network, &rows, 18, 0, Stream::new(3), NEVER);
        let before = alone.pruned(&network, &rows, 12, NEVER);
        let after = before.clone().exchanged(&network, &rows, NEVER);
        assert_eq!(after.prior.kept().len(), before.prior.kept().len());
        assert!(after.surprise < before.surprise);
        assert!(
            after.loss < 0.5 * before.loss,
            "{} {}",
            after.loss,
            before.loss
        );
    }

    /// Targets of mean zero give the last of them away to a network that meets all others with a bias of zero.
    #[test]
    fn few_rows_do_not_tell_the_one_that_is_held_out() {
        let draws = Stream::new(7);
        let mut columns: Vec<Vec<f64>> = (0..9)
            .map(|j| (0..6).map(|i| draws.nth(j).normal(i)).collect())
            .collect();
        for column in &mut columns {
            let mean = column.iter().sum::<f64>() / 6.0;
            column.iter_mut().for_each(|v| *v -= mean);
        }
        let row = |i: usize| columns[..8].iter().map(move |column| column[i] as f32);
        let x: Vec<f32> = (0..6).flat_map(row).collect();
        let y: Vec<f32> = columns[8].iter().map(|v| *v as f32).collect();
        let samples = Samples::new(8, x.clone(), y.clone()).unwrap();
        let rows = Rows::new(&samples, &[0, 1, 2, 3, 4], Kind::Gaussian, 1);
        let network = Network::affine(8, 1, 1).unwrap();
        let (theta, prior) = (
            fresh(&network, Stream::new(1)),
            Prior::new(&network, FIRST_PRECISION),
        );
        let fit = Fit::climbed(&network, &rows, theta, prior, 200, NEVER);
        let f = forward_values(
            &network,
            &fit.theta,
            &x[40..].iter().map(|v| f64::from(*v)).collect::<Vec<_>>(),
        )[0];
        let mean = -f64::from(y[5]) / 5.0;
        assert!(fit.loss < 1e-6, "{}", fit.loss);
        assert!((f - mean).abs() < 1e-3, "{f} is not {mean}");
    }

    /// There is more evidence that ten rows of noise are noise than that twenty coefficients meet them.
    #[test]
    fn noise_is_not_met_exactly() {
        let draws = Stream::new(3);
        let mut x: Vec<f32> = (0..210).map(|i| draws.normal(i) as f32).collect();
        let y = x.split_off(200);
        let samples = Samples::new(20, x, y).unwrap();
        let every: Vec<usize> = (0..10).collect();
        let rows = Rows::new(&samples, &every, Kind::Gaussian, 1);
        let network = Network::affine(20, 1, 20).unwrap();
        let exact = {
            let theta = fresh(&network, Stream::new(1));
            let prior = Prior::new(&network, FIRST_PRECISION);
            Fit::climbed(&network, &rows, theta, prior, 100, NEVER)
        };
        let fit = Fit::new(&network, &rows, 100, Stream::new(1), NEVER);
        assert!(exact.loss < 1e-6 * rows.loss_at_zero());
        assert!(fit.loss > 1e-2 * rows.loss_at_zero() && fit.surprise < exact.surprise);
    }
}
