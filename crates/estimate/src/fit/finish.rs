//! The last fit of a choice to all rows, and those to fresh folds that judge it: tried again where they end in a poor optimum.

use super::{Fit, LAST_STEPS};
use crate::choice::Choice;
use crate::climb::{Climb, largest_parameter};
use crate::curvature::{Objective, Stop};
use crate::rows::{Kind, Rows, shuffled};
use crate::tape::Tape;
use loopfit_data::Samples;
use loopfit_likelihood::Likelihood;
use loopfit_model::Parameters;
use loopfit_numerics::stream::Stream;
use rayon::prelude::*;

/// Rows that starts of the last fit see; the best goes on with all of them.
const ROWS_OF_STARTS: usize = 16_384;
/// Attempts at the last fit, and at those that judge it; fewer where each has more than so many starts.
const ATTEMPTS: usize = 6;
const JUDGING_ATTEMPTS: usize = 3;
const STARTS_OF_AN_ATTEMPT: usize = 8;

/// Fits a choice to all samples: several starts, the least surprising one, its penalty times the factor. A fit whose loss is above
/// what the folds' fits let expect has ended in a poor optimum; what goes on from the folds' fits competes, then others are tried. Asked
/// to stop it still delivers, from one start; asked to give up it does not.
pub fn finish(
    samples: &Samples,
    likelihood: Likelihood,
    choice: &Choice,
    stream: Stream,
    stop: &(dyn Fn() -> bool + Sync),
    give_up: &(dyn Fn() -> bool + Sync),
) -> Option<Parameters> {
    let kind = Kind::of(likelihood)?;
    let every = shuffled((0..samples.n()).collect());
    let rows = Rows::new(samples, &every, kind, likelihood.outputs());
    let all = rows.with_inputs(&choice.inputs);
    let network = &choice.network;
    let tape = Tape::new(network);
    let mut best = Best::new(choice, &all);
    for attempt in 0..attempts(choice, &tape, ATTEMPTS) {
        let before = stop();
        let mut fit = last(choice, &all, stream.nth(attempt), stop, give_up);
        let cut_short = stop() && !before;
        if cut_short && best.found.is_none() {
            fit = last(choice, &all, stream.nth(attempt), stop, give_up);
        }
        if give_up() {
            return None;
        }
        best.meet(&tape, &all, &choice.inputs, fit);
        if attempt == 0 && !tape.is_affine() && !stop() {
            best.meet_folds(&tape, &rows, choice, stop);
        }
        if stop() || best.is_good() {
            break;
        }
    }
    let (_, inputs, fit) = best.found?;
    let bound = largest_parameter();
    let kept = fit.prior.kept().iter().map(|i| fit.theta[*i]);
    let rounded = kept.map(|v| v.clamp(-bound, bound) as f32).collect();
    let network = network.clone().reading(samples.d(), inputs).ok()?;
    let network = network.with_zeros(fit.zeros()).ok()?;
    Parameters::new(network, rounded).ok()
}

/// How often a choice is fitted at most until its fit is as good as those of the folds.
fn attempts(choice: &Choice, tape: &Tape, most: usize) -> u64 {
    // An affine function has one optimum.
    if tape.is_affine() {
        return 1;
    }
    let fewer = most * STARTS_OF_AN_ATTEMPT / choice.starts.max(1);
    fewer.clamp(1, most) as u64
}

/// As [`finish`] to some rows, from fresh starts alone and with fewer attempts: what held-out rows are to judge.
#[derive(Debug)]
pub(crate) struct Tried<'a> {
    choice: &'a Choice,
    rows: Rows,
    tape: Tape,
    best: Best,
    stream: Stream,
    attempts: u64,
}

impl<'a> Tried<'a> {
    pub(crate) fn new(choice: &'a Choice, rows: Rows, stream: Stream, stop: Stop<'_>) -> Self {
        let tape = Tape::new(&choice.network);
        let mut tried = Self {
            best: Best::new(choice, &rows),
            choice,
            rows,
            tape,
            stream,
            attempts: 0,
        };
        tried.go_on(stop);
        tried
    }

    /// Further attempts, until one is good.
    fn go_on(&mut self, stop: Stop<'_>) {
        for _ in 0..attempts(self.choice, &self.tape, JUDGING_ATTEMPTS) {
            let stream = self.stream.nth(self.attempts);
            let fit = last(self.choice, &self.rows, stream, stop, stop);
            self.best
                .meet(&self.tape, &self.rows, &self.choice.inputs, fit);
            self.attempts += 1;
            if stop() || self.best.is_good() {
                break;
            }
        }
    }

    /// The loss of its rows, relative to that of [zeros](Rows::loss_at_zero).
    pub(crate) fn loss(&self) -> f64 {
        let (loss, _, _) = self.best.found.as_ref().expect("at least one attempt");
        loss / self.rows.loss_at_zero()
    }

    /// Tries again as often as before if its loss, relative to that of zeros, is above this; whether it is smaller then.
    pub(crate) fn again(&mut self, good: f64, stop: Stop<'_>) -> bool {
        let before = self.loss();
        if before > good && !self.tape.is_affine() && !stop() {
            self.best.expected = good * self.rows.loss_at_zero();
            self.go_on(stop);
        }
        self.loss() < before
    }

    pub(crate) fn fit(self) -> Fit {
        let (_, _, fit) = self.best.found.expect("at least one attempt");
        fit
    }
}

/// The last fit for which there is the most evidence so far: the one with the smallest loss may be the one with the weakest penalty.
#[derive(Debug)]
struct Best {
    /// The loss of a good one.
    expected: f64,
    /// Its loss, the inputs that it reads, and the fit.
    found: Option<(f64, Vec<usize>, Fit)>,
}

impl Best {
    fn new(choice: &Choice, rows: &Rows) -> Self {
        Self {
            expected: choice.expected_loss() * rows.n as f64,
            found: None,
        }
    }

    fn meet(&mut self, tape: &Tape, rows: &Rows, inputs: &[usize], fit: Fit) {
        let loss = Objective::new(tape, rows).loss(&fit.theta);
        let better =
            |(_, _, best): &(f64, Vec<usize>, Fit)| fit.surprise.total_cmp(&best.surprise).is_lt();
        if self.found.as_ref().is_none_or(better) {
            self.found = Some((loss, inputs.to_vec(), fit));
        }
    }

    /// What goes on from the fits of the folds: an optimum that one of them found may be rare.
    fn meet_folds(&mut self, tape: &Tape, rows: &Rows, choice: &Choice, stop: Stop<'_>) {
        let folds: Vec<(&Fit, &Vec<usize>)> = choice.fits.iter().zip(&choice.fold_inputs).collect();
        let fits: Vec<(Rows, Fit)> = folds
            .par_iter()
            .map(|(fit, inputs)| {
                let all = rows.with_inputs(inputs);
                let objective = Objective::new(tape, &all).until(stop);
                let mut climb = Climb::new(&objective, fit.theta.clone(), fit.prior.clone());
                climb.multiplier = choice.factor;
                climb.run(LAST_STEPS, None, stop);
                climb.weigh();
                let fit = climb.into();
                (all, fit)
            })
            .collect();
        for ((all, fit), (_, inputs)) in fits.into_iter().zip(folds) {
            self.meet(tape, &all, inputs, fit);
        }
    }

    fn is_good(&self) -> bool {
        let found = self.found.as_ref();
        found.is_some_and(|(loss, ..)| *loss <= self.expected)
    }
}

/// One attempt at the last fit.
fn last(choice: &Choice, all: &Rows, stream: Stream, stop: Stop<'_>, give_up: Stop<'_>) -> Fit {
    let few = all.first(ROWS_OF_STARTS);
    let network = &choice.network;
    // Asked to stop, it still delivers: one start, to convergence.
    let (starts, stop) = match stop() {
        true => (1, give_up),
        false => (choice.starts, stop),
    };
    let best_of = |fit: &(dyn Fn(Stream) -> Fit + Sync), stream: Stream| {
        let fits: Vec<Fit> = (0..starts as u64)
            .into_par_iter()
            .map(|s| fit(stream.nth(s)))
            .collect();
        Fit::least_surprising(&fits).clone()
    };
    let first = choice.grown_from.first().unwrap_or(network);
    let begin = |s| {
        let fit = match choice.stepwise {
            Some(count) => Fit::stepwise(first, &few, count, choice.steps, s, stop),
            None => Fit::new(first, &few, choice.steps, s, stop),
        };
        match choice.pruned_to {
            Some(count) => fit.pruned(first, &few, count, stop),
            None => fit,
        }
    };
    let mut best = best_of(&begin, stream);
    if choice.pruned_to.is_some() {
        best = best.exchanged(first, &few, stop);
    }
    let wider = choice.grown_from.iter().skip(1).chain([network]);
    for (narrow, wide) in choice.grown_from.iter().zip(wider) {
        let grown = |s| best.grown(narrow, wide, &few, choice.steps, s, stop);
        best = best_of(&grown, stream.child(&wide.r().to_string()));
    }
    if few.n < all.n {
        best = Fit::climbed(network, all, best.theta, best.prior, LAST_STEPS, stop);
    }
    best.with_factor(network, all, choice.factor, stop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curvature::NEVER;
    use loopfit_model::{Activation, Form, Network, Tying};

    /// A fold is tried again, as often as before, only where another one says that a much smaller loss is to be had.
    #[test]
    fn a_poor_fold_tries_again() {
        let x: Vec<f32> = (0..64).map(|i| i as f32 / 32.0 - 1.0).collect();
        let y = x.iter().map(|x| (9.0 * x).sin()).collect();
        let samples = Samples::new(1, x, y).unwrap();
        let every: Vec<usize> = (0..64).collect();
        let rows = || Rows::new(&samples, &every, Kind::Gaussian, 1);
        let network = Network::ffn(1, 1, 2, 3, Tying::Single).unwrap();
        let network = network.with_activation(Activation::Tanh).unwrap();
        let form = Form::Carried { extra: 1 };
        let choice = Choice {
            network: network.with_form(form).unwrap(),
            inputs: vec![0],
            grown_from: Vec::new(),
            stepwise: None,
            pruned_to: None,
            factor: 1.0,
            starts: 1,
            steps: 20,
            losses: vec![1.0; 64],
            // Any optimum is as good as it expects.
            fitted_loss: 1.0,
            outputs: Vec::new(),
            held: Vec::new(),
            fits: Vec::new(),
            fold_inputs: Vec::new(),
        };
        let mut tried = Tried::new(&choice, rows(), Stream::new(5), NEVER);
        let loss = tried.loss();
        assert_eq!(tried.attempts, 1);
        tried.again(1.1 * loss, NEVER);
        assert_eq!(tried.attempts, 1);
        tried.again(0.0, NEVER);
        assert_eq!(tried.attempts, 1 + JUDGING_ATTEMPTS as u64);
    }
}
