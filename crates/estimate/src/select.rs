//! Which network and which strength of the penalty, by cross-validation from fresh starts.
//!
//! Under a cap, and under its half, its quarter and so on, every method's candidates race in three rounds: briefly on few rows and two
//! folds; on all folds; on all folds with several starts and factors on the penalty. The winner of a smaller cap also grows into the
//! next. A larger cap is preferred where it is better, so that a cap of twice the size keeps what was found under this one. All fits of
//! cross-validation begin at random or at fits that have not seen the held-out rows either: a fit that had seen them would not be judged by
//! them. Training goes to convergence under a penalty and never looks at held-out rows, so that there are no checkpoints to choose
//! from.

mod deal;
mod race;

use crate::candidates::{Space, few_zeros};
use crate::choice::{Choice, Chosen, Selection, by_evidence};
use crate::curvature::Objective;
use crate::fit::{Fit, Tried};
use crate::ranking::consensus;
use crate::rounds::{are_told_apart, full_linear_work, of_cap};
use crate::rows::{Kind, Rows};
use crate::tape::Tape;
use deal::{Deal, Fold};
use loopfit_data::Samples;
use loopfit_likelihood::{Floor, Likelihood};
use loopfit_model::{Activation, Method, Network};
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::median;
use race::Race;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Factors for affine functions, whose fits cost little.
const LINEAR_FACTORS: [f64; 9] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];
/// Steps for an affine function: least squares need one, logistic regression a few, the evidence the rest.
const LINEAR_STEPS: usize = 60;
/// How much affine functions with zeros may cost, relative to a method's work, if all steps are taken; a third of them is usual.
const SPARSE_LINEAR_WORK: f64 = 3.0;
/// A good optimum is rare where this part of several fits has more than so many times the smallest loss.
const RARE: f64 = 0.75;
const POOR: f64 = 1.25;
/// How often the fits of fresh folds are tried again that are poor beside the best of them.
const AGAIN: usize = 3;
/// Caps that are never lowered for want of rows.
const LEAST_CAP: usize = 32;
/// Rows for each number of a network at least, of several classes each as many times as it has bits to tell them apart.
const ROWS_FOR_A_NUMBER: f64 = 2.0;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Caps, ascending: the one that matters and smaller ones, under which there is something to find at less cost.
    pub caps: Vec<usize>,
    /// Whether a network counts what it has in the paper's form.
    pub paper: bool,
    /// The methods that compete.
    pub methods: Vec<Method>,
    /// The activations that compete.
    pub activations: Vec<Activation>,
    /// Iteration counts of loops.
    pub iterations: Vec<usize>,
    /// Work to spend on each method at a cap of 256, in units of a tenth of a nanosecond of one core; in proportion at smaller caps.
    pub work: f64,
    /// The source of all random numbers.
    pub stream: Stream,
}

/// The held-out rows of each fold, of several ways to deal rows to folds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Folds<'a> {
    /// What choices are selected by.
    pub selecting: &'a [Vec<usize>],
    /// What those that were selected are judged by, if there are any: the best of many on the same folds is better there than elsewhere.
    pub fresh: &'a [Vec<usize>],
    /// What affine functions are selected by, beside all of these.
    pub further: &'a [Vec<usize>],
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
    /// The least probability of a class.
    floor: Floor,
    /// Whether targets are classes.
    classes: bool,
    /// The folds that choices are selected by.
    deal: Deal,
    /// Other folds, by which those that were selected are judged once more.
    fresh: Option<Deal>,
    /// All of these folds and further ones, which affine functions are selected by: they are few and cost little, and with few rows the
    /// strength of their penalty depends on how rows are dealt.
    every: Deal,
    /// The inputs by their importance in all folds.
    ranking: Vec<usize>,
    watch: Watch<'a>,
}

/// The rows of all folds of a deal with some of their inputs.
#[derive(Debug)]
struct View<'a> {
    deal: &'a Deal,
    fitted: Vec<Rows>,
    held: Vec<Rows>,
}

impl<'a> View<'a> {
    /// All folds with the `k` most important of their inputs.
    fn new(deal: &'a Deal, k: usize) -> Self {
        let of = |rows: fn(&Fold) -> &Rows| {
            let folds = deal.folds.iter();
            folds
                .map(|fold| rows(fold).with_inputs(&fold.ranking[..k]))
                .collect()
        };
        Self {
            deal,
            fitted: of(|fold| &fold.fitted),
            held: of(|fold| &fold.held),
        }
    }
}

/// Affine functions that were cross-validated already.
#[derive(Debug, Default)]
struct Lines {
    choices: Vec<Choice>,
    /// Fits of the one of all inputs, which others are made of by zeros.
    full: Option<Vec<Fit>>,
}

/// A network to cross-validate.
#[derive(Clone, Copy, Debug)]
struct Job<'a> {
    view: &'a View<'a>,
    network: &'a Network,
    /// If it begins with units of one input each, how many coefficients these have.
    stepwise: Option<usize>,
    /// How many coefficients are to be left.
    pruned_to: Option<usize>,
    starts: usize,
    /// Starts where a good optimum is rare.
    most_starts: usize,
    steps: usize,
    factors: &'a [f64],
}

/// Work with the seconds that it takes.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let done = work();
    (done, begin.elapsed().as_secs_f64())
}

/// Outputs and losses of held-out rows.
type Held = (Vec<f64>, Vec<f64>);

impl<'a> Problem<'a> {
    /// Rows of samples, the bound of the model's outputs and the folds; none for a density.
    pub fn new(
        samples: &Samples,
        likelihood: Likelihood,
        bound: f32,
        folds: Folds<'_>,
        watch: Watch<'a>,
    ) -> Option<Self> {
        let kind = Kind::of(likelihood)?;
        let outputs = likelihood.outputs();
        let deal = |folds: &[Vec<usize>]| Deal::new(samples, kind, outputs, folds, watch.stop);
        let [fresh, further] =
            [folds.fresh, folds.further].map(|folds| (!folds.is_empty()).then(|| deal(folds)));
        let deal = deal(folds.selecting);
        let every = [Some(&deal), fresh.as_ref(), further.as_ref()];
        let every = Deal::of(every.into_iter().flatten());
        let rankings = deal.folds.iter().map(|fold| &fold.ranking[..]);
        Some(Self {
            d: samples.d(),
            outputs,
            bound: f64::from(bound),
            floor: Floor::after(likelihood, samples.n()),
            classes: matches!(kind, Kind::Bernoulli | Kind::Multiclass),
            ranking: consensus(rankings, samples.d()),
            deal,
            fresh,
            every,
            watch,
        })
    }

    /// The best affine function and the best network of each method, under each cap; asked to stop, under those that were finished
    /// and at least the first.
    pub fn select(&self, request: &Request) -> Vec<Selection> {
        // Networks of more numbers than the rows have to say are not tried: they cost time and rarely win.
        let bits = (libm::log(self.outputs as f64) / std::f64::consts::LN_2).max(1.0);
        let said = bits * self.deal.folds[0].fitted.n as f64 / ROWS_FOR_A_NUMBER;
        let said = LEAST_CAP.max(said as usize);
        let total: f64 = request.caps.iter().map(|cap| of_cap(*cap)).sum();
        let mut lines = Lines::default();
        let mut selections: Vec<Selection> = Vec::new();
        // The paper's form has more numbers for the same networks, and reads all inputs whatever the rows say of them.
        let said = said + if request.paper { self.d } else { 0 };
        let worth = |cap: usize| if request.paper { cap } else { cap.min(said) };
        for cap in &request.caps {
            let before = selections.last();
            let space = Space {
                cap: worth(*cap),
                above: before.map_or(0, |before| worth(before.cap)),
                d: self.d,
                outputs: self.outputs,
                activations: request.activations.clone(),
                iterations: request.iterations.clone(),
                paper: request.paper,
                said,
            };
            // The penalty of an affine function is enough where its coefficients are many.
            let of_lines = Space {
                cap: *cap,
                ..space.clone()
            };
            let stream = request.stream.nth(*cap as u64);
            let race = Race {
                problem: self,
                space: &space,
                work: request.work * of_cap(space.cap),
                part: of_cap(*cap) / total / request.methods.len() as f64,
            };
            let of_linear = request.stream.child("linear");
            let stepwise = race.stepwise(stream.child("stepwise"));
            // One beside the other: the folds of one method alone would leave threads without work.
            let methods = || request.methods.par_iter().enumerate();
            let of_method = |method: &Method| stream.child(method.key());
            let smaller = |i: usize| before.and_then(|before| before.methods[i].as_ref());
            let (linear, linear_seconds) =
                timed(|| self.linear(&of_lines, &mut lines, request.work, of_linear));
            let (networks, seconds): (Vec<_>, Vec<f64>) = methods()
                .map(|(i, m)| timed(|| race.run(*m, smaller(i), stepwise, of_method(m))))
                .unzip();
            let found = Selection {
                cap: *cap,
                linear,
                methods: networks,
                seconds: [vec![linear_seconds], seconds].concat(),
                best: None,
            };
            let known = before.and_then(|before| before.linear.as_ref());
            let (linear, linear_seconds) = timed(|| {
                found.linear.as_ref().map(|linear| match known {
                    Some(known) if known.best.is_fitted_like(&linear.best) => known.clone(),
                    _ => self.judged_again(linear.clone(), of_linear),
                })
            });
            let (networks, seconds): (Vec<_>, Vec<f64>) = methods()
                .map(|(i, method)| {
                    timed(|| match &found.methods[i] {
                        Some(found) => {
                            let stream = of_method(method);
                            let judged = self.judged_again(found.clone(), stream);
                            Some(judged.or(smaller(i), stream))
                        }
                        None => smaller(i).cloned(),
                    })
                })
                .unzip();
            let again = [vec![linear_seconds], seconds].concat();
            let judged = Selection {
                cap: *cap,
                linear,
                methods: networks,
                seconds: found
                    .seconds
                    .iter()
                    .zip(again)
                    .map(|(a, b)| a + b)
                    .collect(),
                best: None,
            };
            if (self.watch.stop)() {
                // What was cut short is worth nothing where there is something finished, and losses of other folds are not mixed.
                if selections.is_empty() {
                    selections.push(found.decided(None));
                }
                break;
            }
            let judged = judged.decided(before);
            selections.push(judged);
        }
        selections
    }

    /// The best affine function under a cap: of all inputs, unless fewer are clearly better.
    fn linear(
        &self,
        space: &Space,
        lines: &mut Lines,
        work: f64,
        stream: Stream,
    ) -> Option<Chosen> {
        let dense = space.linear().into_iter().map(|c| (c.network, None));
        // Of very many inputs and classes it costs more than all the rest, where that is little.
        let first = &self.deal.folds[0].fitted;
        let cost = full_linear_work(self.d, first.factors(), first.n);
        let steps = (LINEAR_STEPS * self.every.folds.len()) as f64;
        let sparse = match steps * cost <= SPARSE_LINEAR_WORK * work {
            true => space.sparse_linear(self.classes),
            false => Vec::new(),
        };
        let all: Vec<(Network, Option<usize>)> = dense.chain(sparse).collect();
        for (network, pruned_to) in all {
            if (self.watch.stop)() {
                break;
            }
            let is_this = |c: &Choice| c.network == network && c.pruned_to == pruned_to;
            if lines.choices.iter().any(is_this) {
                continue;
            }
            let mut job = Job {
                view: &View::new(&self.every, network.d()),
                network: &network,
                stepwise: None,
                pruned_to: None,
                steps: LINEAR_STEPS,
                factors: &LINEAR_FACTORS,
                starts: 1,
                most_starts: 1,
            };
            let full = network.d() == self.d && network.q() == self.d;
            let known = if full { lines.full.take() } else { None };
            let fits = known.unwrap_or_else(|| self.fits(&job, None, stream).0);
            job.pruned_to = pruned_to;
            let sparse = fits.par_iter().enumerate();
            let sparse = sparse.map(|(fold, fit)| self.pruned(&job, fold, fit.clone()));
            let judged = self.judge(&job, None, &sparse.collect::<Vec<_>>());
            lines.choices.extend(by_evidence(judged));
            if full {
                lines.full = Some(fits);
            }
        }
        let fits = |c: &&Choice| match c.pruned_to {
            Some(count) => count <= space.cap,
            None => space.count(&c.network) <= space.cap,
        };
        let finalists: Vec<Choice> = lines.choices.iter().filter(fits).cloned().collect();
        let full = |c: &&Choice| {
            c.pruned_to.is_none() && c.network.d() == self.d && c.network.q() == self.d
        };
        let full: Vec<Choice> = finalists.iter().filter(full).cloned().collect();
        let few = full.first().map(|full| few_zeros(full.network.count()));
        let has_few = |c: &Choice| self.classes && c.pruned_to.is_some() && c.pruned_to == few;
        let (few, others) = finalists.into_iter().partition(has_few);
        let of = |choices| Chosen::of(choices, false, stream);
        let best = of(others)?.or_of_all_inputs(of(full), self.classes);
        Some(best.or_with_few_zeros(of(few)))
    }

    /// Fits to all folds, each with the factors on its penalties: a choice for each factor. The fits grow from those of a narrower
    /// choice, if there is one.
    fn cross_validate(
        &self,
        job: &Job<'_>,
        narrow: Option<&Choice>,
        stream: Stream,
    ) -> Vec<Choice> {
        let (fits, starts) = self.fits(job, narrow, stream);
        self.judge(&Job { starts, ..*job }, narrow, &fits)
    }

    /// The best fit to each fold, and of how many starts. There are more of them where a good optimum is rare.
    fn fits(&self, job: &Job<'_>, narrow: Option<&Choice>, stream: Stream) -> (Vec<Fit>, usize) {
        let (network, stop) = (job.network, self.watch.stop);
        let folds = job.view.deal.folds.len();
        let fit = |(fold, s): (usize, usize)| {
            let of = stream.nth(fold as u64).nth(s as u64);
            let rows = &job.view.fitted[fold];
            let fit = match (job.stepwise, narrow) {
                (Some(count), _) => Fit::stepwise(network, rows, count, job.steps, of, stop),
                (None, Some(narrow)) => {
                    let from = &narrow.fits[fold];
                    from.grown(&narrow.network, network, rows, job.steps, of, stop)
                }
                (None, None) => Fit::new(network, rows, job.steps, of, stop),
            };
            (fold, self.pruned(job, fold, fit))
        };
        let of_starts = |starts: Range<usize>| -> Vec<(usize, Fit)> {
            let jobs = (0..folds).flat_map(|fold| starts.clone().map(move |s| (fold, s)));
            let jobs: Vec<(usize, usize)> = jobs.collect();
            jobs.into_par_iter().map(fit).collect()
        };
        let mut fits = of_starts(0..job.starts);
        let mut starts = job.starts;
        let at_zero: Vec<f64> = job.view.fitted.iter().map(Rows::loss_at_zero).collect();
        let loss = |(fold, fit): &(usize, Fit)| fit.loss / at_zero[*fold];
        let mut losses: Vec<f64> = fits.iter().map(loss).collect();
        losses.sort_by(f64::total_cmp);
        let good = ((1.0 - RARE) * losses.len() as f64) as usize;
        if losses[good] > POOR * losses[0] && starts < job.most_starts {
            fits.extend(of_starts(starts..job.most_starts));
            fits.sort_by_key(|(fold, _)| *fold);
            starts = job.most_starts;
        }
        let fits: Vec<Fit> = fits.into_iter().map(|(_, fit)| fit).collect();
        let best = fits.par_chunks(starts).enumerate().map(|(fold, fits)| {
            let best = Fit::least_surprising(fits).clone();
            match job.pruned_to {
                Some(_) => best.exchanged(network, &job.view.fitted[fold], stop),
                None => best,
            }
        });
        (best.collect(), starts)
    }

    /// A fit to a fold with zeros, if there are to be any.
    fn pruned(&self, job: &Job<'_>, fold: usize, fit: Fit) -> Fit {
        let rows = &job.view.fitted[fold];
        match job.pruned_to {
            Some(count) => fit.pruned(job.network, rows, count, self.watch.stop),
            None => fit,
        }
    }

    /// The best fits to all folds with each of the factors: what held-out rows say of them.
    fn judge(&self, job: &Job<'_>, narrow: Option<&Choice>, fits: &[Fit]) -> Vec<Choice> {
        let Job {
            view,
            network,
            stepwise,
            pruned_to,
            starts,
            steps,
            factors,
            ..
        } = *job;
        let stop = self.watch.stop;
        let tape = Tape::new(network);
        let held: Vec<Vec<(Held, f64)>> = (0..view.deal.folds.len())
            .into_par_iter()
            .map(|fold| {
                let thetas = fits[fold].with_factors(network, &view.fitted[fold], factors, stop);
                let fitted = &view.fitted[fold];
                let objective = Objective::new(&tape, fitted).until(stop);
                let judged = |theta: &Vec<f64>| {
                    let held = self.held(network, &view.held[fold], theta);
                    (held, objective.loss(theta) / fitted.n as f64)
                };
                thetas.iter().map(judged).collect()
            })
            .collect();
        let of = |f: usize, part: fn(&Held) -> &Vec<f64>| -> Vec<f64> {
            held.iter()
                .flat_map(|fold| part(&fold[f].0).iter().copied())
                .collect()
        };
        let fitted_loss = |f: usize| median(&held.iter().map(|fold| fold[f].1).collect::<Vec<_>>());
        let grown_from = narrow.map_or_else(Vec::new, |narrow| {
            [
                &narrow.grown_from[..],
                std::slice::from_ref(&narrow.network),
            ]
            .concat()
        });
        let read = |fold: &Arc<Fold>| fold.ranking[..network.d()].to_vec();
        let fold_inputs: Vec<Vec<usize>> = view.deal.folds.iter().map(read).collect();
        let choice = |(f, factor): (usize, &f64)| Choice {
            network: network.clone(),
            inputs: self.ranking[..network.d()].to_vec(),
            grown_from: grown_from.clone(),
            stepwise,
            pruned_to,
            factor: *factor,
            starts,
            steps,
            losses: view.deal.by_row(&of(f, |held| &held.1)),
            fitted_loss: fitted_loss(f),
            outputs: of(f, |held| &held.0),
            held: view.deal.held.clone(),
            fits: fits.to_vec(),
            fold_inputs: fold_inputs.clone(),
        };
        factors.iter().enumerate().map(choice).collect()
    }

    /// What was selected with the losses of fits to fresh folds, made as the last fit is but for what goes on from other folds; as it
    /// is without such folds.
    fn judged_again(&self, chosen: Chosen, stream: Stream) -> Chosen {
        let Some(fresh) = &self.fresh else {
            return chosen;
        };
        let stream = stream.child("fresh");
        let choice = &chosen.best;
        let inputs = |fold: &Fold| fold.ranking[..choice.network.d()].to_vec();
        let stop = self.watch.stop;
        let folds = fresh.folds.par_iter().enumerate();
        let mut tried: Vec<Tried<'_>> = folds
            .map(|(i, fold)| {
                let rows = fold.fitted.with_inputs(&inputs(fold));
                Tried::new(choice, rows, stream.nth(i as u64), stop)
            })
            .collect();
        // Where one fold has found a good optimum, the others are given the chance to. Fits to few rows differ in how closely they follow them.
        let numbers = choice.pruned_to.unwrap_or(choice.network.count());
        let tell = fresh
            .folds
            .iter()
            .all(|fold| are_told_apart(fold.fitted.n, numbers));
        for _ in 0..if tell { AGAIN } else { 0 } {
            let losses = tried.iter().map(Tried::loss);
            let good = POOR * losses.fold(f64::INFINITY, f64::min);
            let again = tried.par_iter_mut();
            let better: Vec<bool> = again.map(|tried| tried.again(good, stop)).collect();
            if !better.contains(&true) {
                break;
            }
        }
        let held: Vec<Held> = tried
            .into_par_iter()
            .zip(&fresh.folds)
            .map(|(tried, fold)| {
                let held = fold.held.with_inputs(&inputs(fold));
                self.held(&choice.network, &held, &tried.fit().theta)
            })
            .collect();
        let (outputs, losses): (Vec<Vec<f64>>, Vec<Vec<f64>>) = held.into_iter().unzip();
        let losses = fresh.by_row(&losses.concat());
        chosen.judged(losses, outputs.concat(), fresh.held.clone())
    }

    /// Outputs and losses of rows that a fold holds out; not a number once work is to stop, since the fit was
    /// cut short.
    fn held(&self, network: &Network, rows: &Rows, theta: &[f64]) -> Held {
        if (self.watch.stop)() {
            let nothing = |len: usize| vec![f64::NAN; len];
            return (nothing(rows.n * self.outputs), nothing(rows.n));
        }
        let tape = Tape::new(network);
        let (outputs, losses) = Objective::new(&tape, rows).outputs(theta, self.bound);
        // The floor is of one row's probability, however often the row counts.
        let held = losses.iter().zip(rows.weights());
        let held = held.map(|(loss, weight)| weight * self.floor.nll(loss / weight));
        (outputs, held.collect())
    }
}
