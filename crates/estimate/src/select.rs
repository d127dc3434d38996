//! Which network and which strength of the penalty, by cross-validation from fresh starts.
//!
//! Every method's candidates race in three rounds: briefly on few rows and two folds; on all folds; on all
//! folds with several starts and factors on the penalty. All fits of cross-validation begin at random: a fit
//! that had seen the held-out rows would not be judged by them. Training goes to convergence under a
//! penalty and never looks at held-out rows, so that there are no checkpoints to choose from.

use crate::candidates::{Candidate, Space, thinned};
use crate::climb::{Climb, Prior, start};
use crate::curvature::Objective;
use crate::honest;
use crate::ranking::ranking;
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
const FACTORS: [f64; 6] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0];
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
/// Steps of going on with more rows.
const LAST_STEPS: usize = 25;
/// Standard errors by which the held-out loss of a network must be below that of the affine function to be preferred.
const PREFERRED: f64 = 1.5;

/// Part of the first round's candidates that are taken at random; the others are neighbours of the best of these.
const RANDOM: f64 = 0.6;
/// How many of the best have neighbours.
const PARENTS: usize = 6;
/// Caps that are never lowered for want of rows.
const LEAST_CAP: usize = 32;
/// Nobody asks to stop.
const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

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
    /// Iteration counts of loops.
    pub iterations: Vec<usize>,
    /// Work to spend on each method, in units of a tenth of a nanosecond of one core.
    pub work: f64,
    /// The source of all random numbers.
    pub stream: Stream,
}

/// A network with a penalty, and what cross-validation says of it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The network, as if there were no other inputs than the most important ones that it reads.
    pub network: Network,
    /// Factor on the strengths of the evidence.
    pub factor: f64,
    /// Starts of each fit.
    pub starts: usize,
    /// Most steps of each fit: part of the choice, since with separable classes the evidence lets coefficients grow for ever.
    pub steps: usize,
    /// Loss of each row that some fold holds out, by row; the mean where several do.
    pub losses: Vec<f64>,
    /// Outputs of each held-out row, row-major, in the order of the folds.
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

/// By how many of its standard errors the mean of `a` is below that of `b`, row by row.
pub fn paired(a: &[f64], b: &[f64]) -> f64 {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    let centre = mean(&differences);
    let squares: Vec<f64> = differences
        .iter()
        .map(|d| (d - centre) * (d - centre))
        .collect();
    let se = (mean(&squares) / squares.len() as f64).sqrt();
    if centre == 0.0 { 0.0 } else { centre / se }
}

impl Selection {
    /// The linear choice first, then those of the methods in their order.
    pub fn all(&self) -> impl Iterator<Item = &Chosen> {
        self.linear.iter().chain(self.methods.iter().flatten())
    }

    /// The place among [`Selection::all`] of the best: the network with the smallest honest error if its held-out losses are
    /// clearly below those of the affine function, else that function.
    pub fn best(&self) -> Option<usize> {
        let all: Vec<&Chosen> = self.all().collect();
        let smallest = (0..all.len()).min_by(|a, b| all[*a].error.total_cmp(&all[*b].error))?;
        match &self.linear {
            Some(linear) if paired(&all[smallest].best.losses, &linear.best.losses) < PREFERRED => {
                Some(0)
            }
            _ => Some(smallest),
        }
    }

    /// An estimate of the error of the best choice of all, which allows for having been selected.
    pub fn error(&self, stream: Stream) -> f64 {
        let losses: Vec<&[f64]> = self
            .all()
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
    /// The output clipping of the delivered model.
    bound: f64,
    /// For each fold the rows that are fitted and those that are held out, and its inputs by their importance in
    /// the former.
    folds: Vec<Fold>,
    /// The held-out rows in the order of the folds.
    held: Vec<usize>,
    watch: Watch<'a>,
}

#[derive(Debug)]
struct Fold {
    fitted: Rows,
    held: Rows,
    ranking: Vec<usize>,
}

/// The rows of all folds with some of their inputs.
#[derive(Debug)]
struct View {
    fitted: Vec<Rows>,
    held: Vec<Rows>,
}

/// Outputs and losses of held-out rows.
type Held = (Vec<f64>, Vec<f64>);

/// A fit to some rows.
#[derive(Clone, Debug)]
struct Fit {
    theta: Vec<f64>,
    prior: Prior,
    surprise: f64,
}

impl<'a> Problem<'a> {
    /// Rows of samples, the bound of the model's outputs and the held-out rows of each fold; none for a density.
    pub fn new(
        samples: &Samples,
        likelihood: Likelihood,
        bound: f32,
        folds: &[Vec<usize>],
        watch: Watch<'a>,
    ) -> Option<Self> {
        let kind = Kind::of(likelihood)?;
        let outputs = likelihood.outputs();
        let held_rows = folds.concat();
        let folds = folds.par_iter().map(|held| {
            let mut is_held = vec![false; samples.n()];
            held.iter().for_each(|row| is_held[*row] = true);
            let kept: Vec<usize> = (0..samples.n()).filter(|row| !is_held[*row]).collect();
            let rows = |of: &[usize]| Rows::new(samples, of, kind, outputs);
            let fitted = rows(&kept);
            Fold {
                ranking: ranking(&fitted),
                held: rows(held),
                fitted,
            }
        });
        Some(Self {
            d: samples.d(),
            outputs,
            bound: f64::from(bound),
            folds: folds.collect(),
            held: held_rows,
            watch,
        })
    }

    /// The best affine function, and the best network of each method.
    pub fn select(&self, request: &Request) -> Selection {
        // More numbers than the rows have to say are not tried: they cost time and rarely win.
        let said = self.folds[0].fitted.n * (self.outputs - 1).max(1);
        let space = Space {
            budget: request.budget.min(said.max(LEAST_CAP)),
            d: self.d,
            outputs: self.outputs,
            activations: request.activations.clone(),
            iterations: request.iterations.clone(),
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

    /// All folds with the `k` most important of their inputs.
    fn view(&self, k: usize) -> View {
        let of = |rows: fn(&Fold) -> &Rows| {
            let folds = self.folds.iter();
            folds
                .map(|fold| rows(fold).with_inputs(&fold.ranking[..k]))
                .collect()
        };
        View {
            fitted: of(|fold| &fold.fitted),
            held: of(|fold| &fold.held),
        }
    }

    fn linear(&self, space: &Space, stream: Stream) -> Option<Chosen> {
        let candidates = space.linear();
        let finalists = candidates.iter().flat_map(|candidate| {
            let view = self.view(candidate.inputs());
            self.cross_validate(
                &view,
                &candidate.network,
                1,
                LINEAR_STEPS,
                &LINEAR_FACTORS,
                stream,
            )
        });
        let mut chosen = best_of(finalists.collect(), stream)?;
        // All inputs, unless fewer are clearly better.
        let full = |c: &&Choice| c.network.d() == self.d && c.network.q() == self.d;
        if let Some(full) = chosen.finalists.iter().find(full)
            && paired(&chosen.best.losses, &full.losses) < PREFERRED
        {
            chosen.best = full.clone();
        }
        Some(chosen)
    }

    /// Candidates in three rounds; `part` is the part of the selection that this is.
    fn race(
        &self,
        candidates: Vec<Candidate>,
        work: f64,
        part: f64,
        stream: Stream,
    ) -> Option<Chosen> {
        if candidates.is_empty() {
            (self.watch.advance)(part);
            return None;
        }
        let first = &self.folds[0].fitted;
        let rounds = Rounds::new(
            &candidates,
            first.n,
            first.factors(),
            self.folds.len(),
            work,
        );
        let mut kept = self.screen(&candidates, &rounds, part / 3.0, stream.child("first"));
        kept.truncate(rounds.candidates[1]);
        let again = |network: &Network,
                     starts: usize,
                     round: usize,
                     factors: &[f64],
                     part: f64,
                     name: &str| {
            let view = self.view(network.d());
            let choices = self.cross_validate(
                &view,
                network,
                starts,
                STEPS[round],
                factors,
                stream.child(name),
            );
            (self.watch.advance)(part);
            choices
        };
        let share = part / 3.0 / kept.len() as f64;
        let mut second: Vec<Choice> = kept
            .iter()
            .flat_map(|candidate| again(&candidate.network, 1, 1, &[1.0], share, "second"))
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

    /// The first round, the best first: candidates at random, then neighbours of the best of them.
    fn screen(
        &self,
        candidates: &[Candidate],
        rounds: &Rounds,
        part: f64,
        stream: Stream,
    ) -> Vec<Candidate> {
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
        ranked.into_iter().map(|(_, candidate)| candidate).collect()
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
                let (network, fold_rows) = (&candidates[*i].network, &self.folds[*fold]);
                let inputs = &fold_rows.ranking[..network.d()];
                let few = fold_rows.fitted.first(rounds.rows).with_inputs(inputs);
                let fit = self.fit(
                    network,
                    &few,
                    STEPS[0],
                    stream.nth(*i as u64).nth(*fold as u64),
                );
                (self.watch.advance)(share);
                mean(
                    &self
                        .held(network, &fold_rows.held.with_inputs(inputs), &fit.theta)
                        .1,
                )
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

    /// Fits to all folds, each with the factors on its penalties: a choice for each factor.
    fn cross_validate(
        &self,
        view: &View,
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
                self.fit(network, &view.fitted[*fold], steps, of)
            })
            .collect();
        let held: Vec<Vec<Held>> = (0..self.folds.len())
            .into_par_iter()
            .map(|fold| {
                let best = least_surprising(&fits[fold * starts..][..starts]);
                let thetas = self.with_factors(network, &view.fitted[fold], best, factors);
                let held = |theta: &Vec<f64>| self.held(network, &view.held[fold], theta);
                thetas.iter().map(held).collect()
            })
            .collect();
        let of = |f: usize, part: fn(&Held) -> &Vec<f64>| -> Vec<f64> {
            held.iter()
                .flat_map(|fold| part(&fold[f]).iter().copied())
                .collect()
        };
        let choice = |(f, factor): (usize, &f64)| Choice {
            network: network.clone(),
            factor: *factor,
            starts,
            steps,
            losses: self.by_row(&of(f, |held| &held.1)),
            outputs: of(f, |held| &held.0),
        };
        factors.iter().enumerate().map(choice).collect()
    }

    /// The mean of what belongs to each held-out row, by row.
    fn by_row(&self, values: &[f64]) -> Vec<f64> {
        let mut pairs: Vec<(usize, f64)> = self
            .held
            .iter()
            .copied()
            .zip(values.iter().copied())
            .collect();
        pairs.sort_by_key(|(row, _)| *row);
        let runs = pairs.chunk_by(|a, b| a.0 == b.0);
        runs.map(|run| run.iter().map(|(_, v)| v).sum::<f64>() / run.len() as f64)
            .collect()
    }

    fn fit(&self, network: &Network, rows: &Rows, steps: usize, stream: Stream) -> Fit {
        fit(network, rows, steps, stream, self.watch.stop)
    }

    fn with_factors(
        &self,
        network: &Network,
        rows: &Rows,
        fit: &Fit,
        factors: &[f64],
    ) -> Vec<Vec<f64>> {
        with_factors(network, rows, fit, factors, self.watch.stop)
    }

    /// Outputs and losses of rows that a fold holds out; not a number once work is to stop, since the fit was
    /// cut short.
    fn held(&self, network: &Network, rows: &Rows, theta: &[f64]) -> Held {
        if (self.watch.stop)() {
            let nothing = |len: usize| vec![f64::NAN; len];
            return (nothing(rows.n * self.outputs), nothing(rows.n));
        }
        let tape = Tape::new(network);
        Objective::new(&tape, rows).outputs(theta, self.bound)
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
    let mut inputs = ranking(&all);
    inputs.truncate(choice.network.d());
    let all = all.with_inputs(&inputs);
    let few = all.first(ROWS_OF_STARTS);
    let network = &choice.network;
    // Asked to stop, it still delivers: one start, to convergence.
    let (starts, stop) = match stop() {
        true => (1, NEVER),
        false => (choice.starts, stop),
    };
    let fits: Vec<Fit> = (0..starts)
        .into_par_iter()
        .map(|s| fit(network, &few, choice.steps, stream.nth(s as u64), stop))
        .collect();
    let mut best = least_surprising(&fits).clone();
    if few.n < all.n {
        let tape = Tape::new(network);
        let objective = Objective::new(&tape, &all);
        let mut climb = Climb::new(&objective, best.theta, best.prior);
        climb.run(LAST_STEPS, Some(LOOK), &stop);
        best = Fit {
            surprise: climb.surprise,
            theta: climb.theta,
            prior: climb.prior,
        };
    }
    let mut thetas = with_factors(network, &all, &best, &[choice.factor], stop);
    let theta = thetas.pop()?;
    let rounded = theta.iter().map(|v| (*v as f32).clamp(-bound, bound));
    let network = network.clone().reading(samples.d(), inputs).ok()?;
    Parameters::new(network, rounded.collect()).ok()
}

/// A fit from a random start, with the strengths of its penalty by the evidence.
fn fit(
    network: &Network,
    rows: &Rows,
    steps: usize,
    stream: Stream,
    stop: &(dyn Fn() -> bool + Sync),
) -> Fit {
    let tape = Tape::new(network);
    let objective = Objective::new(&tape, rows);
    // Incoming weights from half to twice the usual size; of sines from one to four times.
    let usual = if network.activation() == Activation::Sine {
        2.0
    } else {
        1.0
    };
    let size =
        usual * libm::exp((2.0 * stream.child("size").uniform(0) - 1.0) * std::f64::consts::LN_2);
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

fn least_surprising(fits: &[Fit]) -> &Fit {
    let best = fits.iter().min_by(|a, b| a.surprise.total_cmp(&b.surprise));
    best.expect("at least one start")
}

fn sort(choices: &mut [Choice]) {
    choices.sort_by(|a, b| a.cross_validation().total_cmp(&b.cross_validation()));
}

fn best_of(mut finalists: Vec<Choice>, stream: Stream) -> Option<Chosen> {
    finalists.retain(|choice| choice.cross_validation().is_finite());
    sort(&mut finalists);
    let losses: Vec<&[f64]> = finalists.iter().map(|c| &c.losses[..]).collect();
    Some(Chosen {
        error: honest::error(&losses, stream.child("honest")),
        best: finalists.first()?.clone(),
        finalists,
    })
}
