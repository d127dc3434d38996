//! Which network and which strength of the penalty, by cross-validation from fresh starts.
//!
//! Every method's candidates race in three rounds: briefly on few rows and two folds; on all folds; on all
//! folds with several starts and factors on the penalty. All fits of cross-validation begin at random: a fit
//! that had seen the held-out rows would not be judged by them. Training goes to convergence under a
//! penalty and never looks at held-out rows, so that there are no checkpoints to choose from.

use crate::candidates::{Space, thinned};
use crate::climb::{Climb, Prior, start};
use crate::curvature::Objective;
use crate::honest;
use crate::rounds::{FACTOR_STEPS, Rounds, STEPS};
use crate::rows::{Kind, Rows};
use crate::tape::Tape;
use loopfit_data::Samples;
use loopfit_likelihood::Likelihood;
use loopfit_model::{Activation, Method, Network, Parameters};
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::mean;
use rayon::prelude::*;

/// Factors on the strengths that the evidence gives.
const FACTORS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];
/// Factors for affine functions, whose fits cost little.
const LINEAR_FACTORS: [f64; 9] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
/// Steps for an affine function: least squares need one, logistic regression a few, the evidence the rest.
const LINEAR_STEPS: usize = 60;
/// Prior precision before the first look at the evidence.
const FIRST_PRECISION: f64 = 0.1;
/// Steps between looks at the evidence.
const LOOK: usize = 5;
/// Rows that starts of the last fit see; the best goes on with all of them.
const ROWS_OF_STARTS: usize = 16_384;
/// Steps of the last fit, and of going on with more rows.
const LAST_STEPS: [usize; 2] = [150, 25];

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The cap B.
    pub budget: usize,
    /// Whether a network counts what it has in the paper's form.
    pub paper: bool,
    /// The methods that compete.
    pub methods: Vec<Method>,
    /// The activations that compete.
    pub activations: Vec<Activation>,
    /// Work to spend on each method, in units of a tenth of a nanosecond of one core.
    pub work: f64,
    /// The source of all random numbers.
    pub stream: Stream,
}

/// A network with a penalty, and what cross-validation says of it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The network.
    pub network: Network,
    /// Factor on the strengths of the evidence.
    pub factor: f64,
    /// Starts of each fit.
    pub starts: usize,
    /// Loss of each held-out row, in the order of the folds.
    pub losses: Vec<f64>,
    /// Outputs of each held-out row, row-major.
    pub outputs: Vec<f64>,
}

impl Choice {
    /// Mean loss over held-out rows.
    pub fn cross_validation(&self) -> f64 {
        mean(&self.losses)
    }
}

/// The best of a method, and how good it is.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The choice.
    pub best: Choice,
    /// An estimate of its error on new rows that allows for having been selected.
    pub error: f64,
    /// All that it was selected from in the last round.
    finalists: Vec<Choice>,
}

/// What a selection gives.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The best affine function, if one fits the cap.
    pub linear: Option<Chosen>,
    /// The best network of each method, in the order asked for; none where none fits the cap.
    pub methods: Vec<Option<Chosen>>,
}

impl Selection {
    /// An estimate of the error of the best choice of all, which allows for having been selected.
    pub fn error(&self, stream: Stream) -> f64 {
        let all = self.linear.iter().chain(self.methods.iter().flatten());
        let losses: Vec<&[f64]> = all
            .flat_map(|chosen| chosen.finalists.iter().map(|c| &c.losses[..]))
            .collect();
        honest::error(&losses, stream)
    }
}

/// What can be asked of rows with folds.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Whether to stop soon.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Called with the part of a selection that a piece of work was.
    pub advance: &'a (dyn Fn(f64) + Sync),
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

/// Rows and folds: everything that is fitted and compared.
#[derive(Debug)]
pub struct Problem<'a> {
    d: usize,
    outputs: usize,
    /// For each fold the rows that are fitted and those that are held out.
    folds: Vec<(Rows, Rows)>,
    watch: Watch<'a>,
}

/// A fit to some rows.
#[derive(Clone, Debug)]
struct Fit {
    theta: Vec<f64>,
    prior: Prior,
    surprise: f64,
}

impl<'a> Problem<'a> {
    /// Rows of samples and the held-out rows of each fold; none for a density.
    pub fn new(samples: &Samples, likelihood: Likelihood, folds: &[Vec<usize>], watch: Watch<'a>) -> Option<Self> {
        let kind = Kind::of(likelihood)?;
        let outputs = likelihood.outputs();
        let folds = folds.iter().map(|held| {
            let mut is_held = vec![false; samples.n()];
            held.iter().for_each(|row| is_held[*row] = true);
            let kept: Vec<usize> = (0..samples.n()).filter(|row| !is_held[*row]).collect();
            let rows = |of: &[usize]| Rows::new(samples, of, kind, outputs);
            (rows(&kept), rows(held))
        });
        Some(Self {
            d: samples.d(),
            outputs,
            folds: folds.collect(),
            watch,
        })
    }

    /// The best affine function, and the best network of each method.
    pub fn select(&self, request: &Request) -> Selection {
        let space = Space {
            budget: request.budget,
            d: self.d,
            outputs: self.outputs,
            activations: request.activations.clone(),
            paper: request.paper,
        };
        let part = 1.0 / request.methods.len() as f64;
        let linear = self.linear(&space, request.stream.child("linear"));
        let methods = request.methods.iter().map(|method| {
            let stream = request.stream.child(method.key());
            self.race(space.networks(*method), request.work, part, stream)
        });
        Selection {
            linear,
            methods: methods.collect(),
        }
    }

    fn linear(&self, space: &Space, stream: Stream) -> Option<Chosen> {
        let finalists = space
            .linear()
            .iter()
            .flat_map(|network| self.cross_validate(network, 1, LINEAR_STEPS, &LINEAR_FACTORS, stream))
            .collect();
        best_of(finalists, stream)
    }

    /// Candidates in three rounds; `part` is the part of the selection that this is.
    fn race(&self, networks: Vec<Network>, work: f64, part: f64, stream: Stream) -> Option<Chosen> {
        if networks.is_empty() {
            (self.watch.advance)(part);
            return None;
        }
        let (n, factors) = (self.folds[0].0.n, self.folds[0].0.factors());
        let rounds = Rounds::new(&networks, n, factors, self.folds.len(), work);
        let networks = thinned(networks, rounds.candidates[0], stream.child("candidates"));
        let mut networks = self.screen(networks, &rounds, part / 3.0, stream.child("first"));
        networks.truncate(rounds.candidates[1]);
        let again = |network: &Network, starts: usize, round: usize, factors: &[f64], part: f64, name: &str| {
            let choices = self.cross_validate(network, starts, STEPS[round], factors, stream.child(name));
            (self.watch.advance)(part);
            choices
        };
        let share = part / 3.0 / networks.len() as f64;
        let mut second: Vec<Choice> = networks
            .iter()
            .flat_map(|network| again(network, 1, 1, &[1.0], share, "second"))
            .collect();
        sort(&mut second);
        second.truncate(rounds.candidates[2]);
        let share = part / 3.0 / second.len() as f64;
        let third = second
            .iter()
            .flat_map(|c| again(&c.network, rounds.starts, 2, &FACTORS, share, "third"))
            .collect();
        best_of(third, stream)
    }

    /// The first round: all candidates, the best first.
    fn screen(&self, networks: Vec<Network>, rounds: &Rounds, part: f64, stream: Stream) -> Vec<Network> {
        let few: Vec<Rows> = (0..rounds.folds).map(|fold| self.folds[fold].0.first(rounds.rows)).collect();
        let jobs: Vec<(usize, usize)> = (0..networks.len())
            .flat_map(|i| (0..rounds.folds).map(move |fold| (i, fold)))
            .collect();
        let share = part / jobs.len() as f64;
        let losses: Vec<f64> = jobs
            .par_iter()
            .map(|(i, fold)| {
                let of = stream.nth(*i as u64).nth(*fold as u64);
                let fit = self.fit(&networks[*i], &few[*fold], STEPS[0], of);
                (self.watch.advance)(share);
                mean(&self.held(&networks[*i], *fold, &fit.theta).1)
            })
            .collect();
        let mut order: Vec<(f64, Network)> = losses
            .chunks(rounds.folds)
            .map(mean)
            .zip(networks)
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        order.into_iter().map(|(_, network)| network).collect()
    }

    /// Fits to all folds, each with the factors on its penalties: a choice for each factor.
    fn cross_validate(
        &self,
        network: &Network,
        starts: usize,
        steps: usize,
        factors: &[f64],
        stream: Stream,
    ) -> Vec<Choice> {
        let jobs: Vec<(usize, usize)> = (0..self.folds.len())
            .flat_map(|fold| (0..starts).map(move |s| (fold, s)))
            .collect();
        let fits: Vec<Fit> = jobs
            .par_iter()
            .map(|(fold, s)| {
                let of = stream.nth(*fold as u64).nth(*s as u64);
                self.fit(network, &self.folds[*fold].0, steps, of)
            })
            .collect();
        let held: Vec<Vec<(Vec<f64>, Vec<f64>)>> = (0..self.folds.len())
            .into_par_iter()
            .map(|fold| {
                let best = least_surprising(&fits[fold * starts..][..starts]);
                let thetas = self.with_factors(network, &self.folds[fold].0, best, factors);
                thetas.iter().map(|theta| self.held(network, fold, theta)).collect()
            })
            .collect();
        let choice = |(f, factor): (usize, &f64)| Choice {
            network: network.clone(),
            factor: *factor,
            starts,
            losses: held.iter().flat_map(|fold| fold[f].1.iter().copied()).collect(),
            outputs: held.iter().flat_map(|fold| fold[f].0.iter().copied()).collect(),
        };
        factors.iter().enumerate().map(choice).collect()
    }

    fn fit(&self, network: &Network, rows: &Rows, steps: usize, stream: Stream) -> Fit {
        fit(network, rows, steps, stream, self.watch.stop)
    }

    fn with_factors(&self, network: &Network, rows: &Rows, fit: &Fit, factors: &[f64]) -> Vec<Vec<f64>> {
        with_factors(network, rows, fit, factors, self.watch.stop)
    }

    /// Outputs and losses of the rows that a fold holds out.
    fn held(&self, network: &Network, fold: usize, theta: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let tape = Tape::new(network);
        Objective::new(&tape, &self.folds[fold].1).outputs(theta)
    }
}

/// Fits a choice to all samples: several starts, the least surprising one, its penalty times the factor.
pub fn finish(
    samples: &Samples,
    likelihood: Likelihood,
    choice: &Choice,
    bound: f32,
    stream: Stream,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Parameters> {
    let kind = Kind::of(likelihood)?;
    let every: Vec<usize> = (0..samples.n()).collect();
    let all = Rows::new(samples, &every, kind, likelihood.outputs());
    let few = all.first(ROWS_OF_STARTS);
    let network = &choice.network;
    let fits: Vec<Fit> = (0..choice.starts)
        .into_par_iter()
        .map(|s| fit(network, &few, LAST_STEPS[0], stream.nth(s as u64), stop))
        .collect();
    let mut best = least_surprising(&fits).clone();
    if few.n < all.n {
        let tape = Tape::new(network);
        let objective = Objective::new(&tape, &all);
        let mut climb = Climb::new(&objective, best.theta, best.prior);
        climb.run(LAST_STEPS[1], Some(LOOK), &stop);
        best = Fit {
            surprise: climb.surprise,
            theta: climb.theta,
            prior: climb.prior,
        };
    }
    let mut thetas = with_factors(network, &all, &best, &[choice.factor], stop);
    let theta = thetas.pop()?;
    let rounded = theta.iter().map(|v| (*v as f32).clamp(-bound, bound));
    Parameters::new(network.clone(), rounded.collect()).ok()
}

/// A fit from a random start, with the strengths of its penalty by the evidence.
fn fit(network: &Network, rows: &Rows, steps: usize, stream: Stream, stop: &(dyn Fn() -> bool + Sync)) -> Fit {
    let tape = Tape::new(network);
    let objective = Objective::new(&tape, rows);
    // Incoming weights from half to twice the usual size; of sines from one to four times.
    let usual = if network.activation() == Activation::Sine { 2.0 } else { 1.0 };
    let size = usual * libm::exp((2.0 * stream.child("size").uniform(0) - 1.0) * std::f64::consts::LN_2);
    let theta = start(network, size, stream.child("start"));
    let mut climb = Climb::new(&objective, theta, Prior::weak(network, FIRST_PRECISION));
    climb.run(steps, Some(LOOK), &stop);
    climb.weigh();
    Fit {
        surprise: climb.surprise,
        theta: climb.theta,
        prior: climb.prior,
    }
}

/// Goes on from a fit with each of the factors (ascending) on its penalties, from 1 upwards and downwards.
fn with_factors(
    network: &Network,
    rows: &Rows,
    fit: &Fit,
    factors: &[f64],
    stop: &(dyn Fn() -> bool + Sync),
) -> Vec<Vec<f64>> {
    if factors == [1.0] {
        return vec![fit.theta.clone()];
    }
    let tape = Tape::new(network);
    let objective = Objective::new(&tape, rows);
    let go_on = |climb: &mut Climb<'_>, factor: f64| {
        climb.multiplier = factor;
        climb.run(FACTOR_STEPS, None, &stop);
        climb.theta.clone()
    };
    let begin = || Climb::new(&objective, fit.theta.clone(), fit.prior.clone());
    let at_one = factors.iter().position(|f| *f >= 1.0).unwrap_or(factors.len());
    let (below, above) = factors.split_at(at_one);
    let mut climb = begin();
    let mut thetas: Vec<Vec<f64>> = below.iter().rev().map(|f| go_on(&mut climb, *f)).collect();
    thetas.reverse();
    let mut climb = begin();
    thetas.extend(above.iter().map(|f| go_on(&mut climb, *f)));
    thetas
}

fn least_surprising(fits: &[Fit]) -> &Fit {
    let best = fits.iter().min_by(|a, b| a.surprise.total_cmp(&b.surprise));
    best.expect("at least one start")
}

fn sort(choices: &mut [Choice]) {
    choices.sort_by(|a, b| a.cross_validation().total_cmp(&b.cross_validation()));
}

fn best_of(mut finalists: Vec<Choice>, stream: Stream) -> Option<Chosen> {
    sort(&mut finalists);
    let losses: Vec<&[f64]> = finalists.iter().map(|c| &c.losses[..]).collect();
    Some(Chosen {
        error: honest::error(&losses, stream.child("honest")),
        best: finalists.first()?.clone(),
        finalists,
    })
}
