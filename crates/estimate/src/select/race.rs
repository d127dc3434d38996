//! The networks of a method under one cap: three rounds.

use super::{Job, Problem, View};
use crate::candidates::{Candidate, Space, thinned};
use crate::choice::{Choice, Chosen, paired, sort};
use crate::fit::Fit;
use crate::rounds::{Rounds, STEPS, stepwise_starts, stepwise_work};
use loopfit_model::{Activation, Method, Network};
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::mean;
use rayon::prelude::*;

/// Factors on the strengths that the evidence gives.
const FACTORS: [f64; 6] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0];
/// Part of the first round's candidates that are taken at random; the others are neighbours of the best of these.
const RANDOM: f64 = 0.6;
/// How many of the best have neighbours.
const PARENTS: usize = 6;
/// Standard errors by which the held-out loss of a network that grew by one unit after the other must be below that of others to be preferred:
/// where it is right it is far below.
const STEPWISE_PREFERRED: f64 = 1.0;
/// Activations of units that read one input: those with an edge.
const EDGED: [Activation; 3] = [Activation::Relu, Activation::Silu, Activation::Tanh];
/// Rows and folds of the first look at them.
const STEPWISE_ROWS: usize = 3000;
const STEPWISE_FOLDS: usize = 2;

/// The networks of a method under one cap.
#[derive(Debug)]
pub(crate) struct Race<'a> {
    pub(crate) problem: &'a Problem<'a>,
    pub(crate) space: &'a Space,
    /// Work to spend on a method.
    pub(crate) work: f64,
    /// The part of the selection that a method is.
    pub(crate) part: f64,
}

/// A network in the second or third round.
#[derive(Clone, Copy, Debug)]
struct Entrant<'a> {
    network: &'a Network,
    /// What it grows from.
    narrow: Option<&'a Choice>,
    /// If it begins with units of one input each, how many coefficients these have.
    stepwise: Option<usize>,
    /// How many of its coefficients are to be left.
    pruned_to: Option<usize>,
    starts: usize,
    /// Starts where a good optimum is rare.
    most_starts: usize,
}

impl<'a> Entrant<'a> {
    fn new(network: &'a Network, starts: usize) -> Self {
        Self {
            network,
            narrow: None,
            stepwise: None,
            pruned_to: None,
            starts,
            most_starts: starts,
        }
    }
}

/// Units of one input each, added one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitsOfOne {
    /// The held-out loss of the first look at them.
    loss: f64,
    /// The activation for which it is smallest.
    activation: Activation,
    /// Starts of each fit.
    starts: usize,
}

impl Race<'_> {
    /// The held-out loss of units of one input each, added one by one, and the best activation for them; whatever the method, since they do
    /// not read what others write. None if it costs too much.
    pub(crate) fn stepwise(&self, stream: Stream) -> Option<UnitsOfOne> {
        let folds = &self.problem.deal.folds;
        let network = |activation: &Activation| {
            let (network, _) = self.space.stepwise(Method::Single, *activation)?;
            Some((network, *activation))
        };
        let given = &self.space.activations;
        let edged = given.iter().filter(|a| EDGED.contains(*a));
        let networks: Vec<(Network, Activation)> = edged.filter_map(network).collect();
        let first = &folds[0].fitted;
        let cost = stepwise_work(self.space.cap, first.d, first.n, first.factors());
        // Nothing is new under a cap that the rows lower to the one before.
        if self.space.cap == self.space.above {
            return None;
        }
        let starts = stepwise_starts(cost * folds.len() as f64, self.work);
        if starts == 0 {
            return None;
        }
        let tried: Vec<(usize, usize)> = (0..networks.len())
            .flat_map(|i| (0..folds.len().min(STEPWISE_FOLDS)).map(move |fold| (i, fold)))
            .collect();
        let losses: Vec<(f64, usize)> = tried
            .par_iter()
            .map(|(i, fold)| {
                let (network, fold) = (&networks[*i].0, &folds[*fold]);
                let inputs = &fold.ranking[..network.d()];
                let few = fold.fitted.first(STEPWISE_ROWS).with_inputs(inputs);
                let (cap, stop) = (self.space.cap, self.problem.watch.stop);
                let fit = Fit::stepwise(network, &few, cap, 0, stream.nth(*i as u64), stop);
                let held = fold.held.with_inputs(inputs);
                let losses = self.problem.held(network, &held, &fit.theta).1;
                (mean(&losses), *i)
            })
            .collect();
        let of_one = losses.chunk_by(|a, b| a.1 == b.1).map(|of_one| {
            let sum: f64 = of_one.iter().map(|(loss, _)| loss).sum();
            UnitsOfOne {
                loss: sum / of_one.len() as f64,
                activation: networks[of_one[0].1].1,
                starts,
            }
        });
        of_one.min_by(|a, b| a.loss.total_cmp(&b.loss))
    }

    /// Three rounds, and beside the last what grows from the winner under a smaller cap, and units of one input each if they are as good
    /// as those that pass the first.
    pub(crate) fn run(
        &self,
        method: Method,
        smaller: Option<&Chosen>,
        units: Option<UnitsOfOne>,
        stream: Stream,
    ) -> Option<Chosen> {
        let candidates = self.space.networks(method);
        if candidates.is_empty() {
            self.advance(self.part);
            return None;
        }
        let first = &self.problem.deal.folds[0].fitted;
        let folds = self.problem.deal.folds.len();
        let rounds = Rounds::new(&candidates, first.n, first.factors(), folds, self.work);
        let part = self.part / 3.0;
        let mut kept = self.screen(&candidates, &rounds, part, stream.child("first"));
        kept.truncate(rounds.candidates[1]);
        let worst = kept.last().map_or(f64::INFINITY, |(loss, _)| *loss);
        let stepwise = units.filter(|units| units.loss < worst).and_then(|units| {
            let (network, count) = self.space.stepwise(method, units.activation)?;
            Some((network, count, units.starts))
        });
        let share = part / kept.len() as f64;
        let stream_of = stream.child("second");
        let once = |(_, candidate): &(f64, Candidate)| {
            let choices = self.again(&Entrant::new(&candidate.network, 1), 1, &[1.0], stream_of);
            self.advance(share);
            choices
        };
        let mut second: Vec<Choice> = kept.par_iter().flat_map(once).collect();
        sort(&mut second);
        second.truncate(rounds.candidates[2]);
        let grows = smaller.and_then(|smaller| smaller.grows.as_ref());
        let grown = grows.and_then(|narrow| {
            let network = self.space.widened(&narrow.network)?;
            (network.r() > narrow.network.r()).then_some((network, narrow))
        });
        let mut donors: Vec<Network> = Vec::new();
        for choice in second.iter().take(rounds.sparse) {
            let donor = self.space.donor(&choice.network);
            donors.extend(donor.filter(|donor| !donors.contains(donor)));
        }
        let mut entrants: Vec<(&str, Entrant<'_>)> = Vec::new();
        let third = |network| Entrant {
            most_starts: rounds.most_starts,
            ..Entrant::new(network, rounds.starts)
        };
        entrants.extend(second.iter().map(|c| ("third", third(&c.network))));
        entrants.extend(stepwise.iter().map(|(network, count, starts)| {
            let entrant = Entrant {
                stepwise: Some(*count),
                pruned_to: Some(self.space.cap),
                ..Entrant::new(network, *starts)
            };
            ("stepwise", entrant)
        }));
        entrants.extend(grown.iter().map(|(network, narrow)| {
            let narrow = Some(*narrow);
            let entrant = third(network);
            ("grown", Entrant { narrow, ..entrant })
        }));
        entrants.extend(donors.iter().map(|donor| {
            let pruned_to = Some(self.space.cap);
            let entrant = Entrant::new(donor, rounds.sparse_starts);
            (
                "sparse",
                Entrant {
                    pruned_to,
                    ..entrant
                },
            )
        }));
        let share = part / entrants.len() as f64;
        let judged = |(name, entrant): &(&str, Entrant<'_>)| {
            let choices = self.again(entrant, 2, &FACTORS, stream.child(name));
            self.advance(share);
            choices
        };
        let last: Vec<Choice> = entrants.par_iter().flat_map(judged).collect();
        let classes = self.problem.classes;
        let begun_at_random = last.iter().filter(|choice| choice.stepwise.is_none());
        let random = Chosen::of(begun_at_random.cloned().collect(), classes, stream);
        let chosen = Chosen::of(last, classes, stream)?;
        Some(match random {
            Some(random)
                if paired(&chosen.best.losses, &random.best.losses) < STEPWISE_PREFERRED =>
            {
                chosen.preferring(random.best)
            }
            _ => chosen,
        })
    }

    fn advance(&self, part: f64) {
        (self.problem.watch.advance)(part);
    }

    fn again(
        &self,
        entrant: &Entrant<'_>,
        round: usize,
        factors: &[f64],
        stream: Stream,
    ) -> Vec<Choice> {
        if (self.problem.watch.stop)() {
            return Vec::new();
        }
        let job = Job {
            view: &View::new(&self.problem.deal, entrant.network.d()),
            network: entrant.network,
            stepwise: entrant.stepwise,
            pruned_to: entrant.pruned_to,
            starts: entrant.starts,
            most_starts: entrant.most_starts,
            steps: STEPS[round],
            factors,
        };
        self.problem.cross_validate(&job, entrant.narrow, stream)
    }

    /// The first round, the best first: candidates at random, then neighbours of the best of them.
    fn screen(
        &self,
        candidates: &[Candidate],
        rounds: &Rounds,
        part: f64,
        stream: Stream,
    ) -> Vec<(f64, Candidate)> {
        let at_random = (RANDOM * rounds.candidates[0] as f64).ceil() as usize;
        let tried = thinned(candidates, at_random, stream.child("candidates"));
        let mut ranked = self.briefly(tried, rounds, RANDOM * part, stream.child("random"));
        let left = rounds.candidates[0] - ranked.len();
        let best: Vec<Candidate> = ranked
            .iter()
            .take(PARENTS)
            .map(|(_, c)| c.clone())
            .collect();
        let is_new = |c: &&Candidate| {
            best.iter().any(|parent| parent.is_neighbour(c))
                && ranked.iter().all(|(_, known)| known != *c)
        };
        let near: Vec<Candidate> = candidates.iter().filter(is_new).cloned().collect();
        let near = thinned(&near, left, stream.child("neighbours"));
        ranked.extend(self.briefly(near, rounds, (1.0 - RANDOM) * part, stream.child("near")));
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        ranked
    }

    /// Candidates with their held-out losses after few steps on few rows, the best first.
    fn briefly(
        &self,
        candidates: Vec<Candidate>,
        rounds: &Rounds,
        part: f64,
        stream: Stream,
    ) -> Vec<(f64, Candidate)> {
        let jobs: Vec<(usize, usize)> = (0..candidates.len())
            .flat_map(|i| (0..rounds.folds).map(move |fold| (i, fold)))
            .collect();
        let share = part / jobs.len().max(1) as f64;
        let losses: Vec<f64> = jobs
            .par_iter()
            .map(|(i, fold)| {
                if (self.problem.watch.stop)() {
                    return f64::NAN;
                }
                let (network, fold_rows) =
                    (&candidates[*i].network, &self.problem.deal.folds[*fold]);
                let inputs = &fold_rows.ranking[..network.d()];
                let few = fold_rows.fitted.first(rounds.rows).with_inputs(inputs);
                let stream = stream.nth(*i as u64).nth(*fold as u64);
                let fit = Fit::new(network, &few, STEPS[0], stream, self.problem.watch.stop);
                self.advance(share);
                let held = fold_rows.held.with_inputs(inputs);
                mean(&self.problem.held(network, &held, &fit.theta).1)
            })
            .collect();
        let mut ranked: Vec<(f64, Candidate)> = losses
            .chunks(rounds.folds)
            .map(mean)
            .zip(candidates)
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        ranked
    }
}
