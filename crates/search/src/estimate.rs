//! The model that a table supports: selection by cross-validation, an honest test score, and a last fit to all rows.

use crate::SearchError;
use crate::replication::{Judge, Noise, Source, TableSource, bounds, likelihood};
use loopfit_data::{Encoding, Preprocessing, Samples, Scaling, Task};
use loopfit_engine::{Assessment, Control, Engine, FittedModel, Provenance};
use loopfit_estimate::reference::reference;
use loopfit_estimate::{Choice, Chosen, Problem, Request, Selection, Watch, finish, paired};
use loopfit_likelihood::Likelihood;
use loopfit_model::{Activation, Bounds, Method, Network, Parameters};
use loopfit_numerics::libm;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::mean;
use std::sync::Arc;

pub use loopfit_estimate::LOOP_ITERATIONS;

/// Work of each method at the efforts that have a name, in units of a tenth of a nanosecond of one core.
pub const QUICK: f64 = 1e10;
/// The default.
pub const STANDARD: f64 = 8e10;
/// For the last percent.
pub const STRONG: f64 = 6e11;
/// Share of the groups that are test rows, unless another is asked for.
pub const TEST_FRACTION: f64 = 0.2;

/// Rows below which folds are dealt twice.
const REPEATED_BELOW: usize = 250;
/// Rows above which one split replaces the folds.
const FOLDS_UP_TO: usize = 6000;
/// Rows up to which the choice is made again on all of them, once its test score is known.
const SELECTED_AGAIN_UP_TO: usize = 3000;
/// Rows that a selection looks at; the last fit sees all.
const SELECTION_ROWS: usize = 24_000;
/// Folds.
const FOLDS: usize = 5;

/// What is asked of a table or simulation.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The cap B.
    pub budget: usize,
    /// Methods that compete.
    pub methods: Vec<Method>,
    /// Activations that compete.
    pub activations: Vec<Activation>,
    /// Iteration counts of loops.
    pub iterations: Vec<usize>,
    /// Whether networks have, and are counted in, the paper's form.
    pub paper: bool,
    /// Work of each method, in units of a tenth of a nanosecond of one core.
    pub work: f64,
    /// Share of the groups that are held out for the test score, of a table; 0 for none.
    pub test_fraction: f64,
    /// Seed of the test rows, where it is not the source's own.
    pub test_seed: Option<u64>,
    /// Whether the delivered model is fitted to all rows in the end.
    pub refit: bool,
    /// Seed of splits and starts.
    pub seed: u64,
}

/// A model of one kind beside the others.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The method; none of the linear model.
    pub method: Option<Method>,
    /// What was selected.
    pub network: Network,
    /// Factor on the penalties that the evidence gives.
    pub factor: f64,
    /// Starts of each fit.
    pub starts: usize,
    /// Estimated error on new rows, allowing for the selection.
    pub validation: f64,
    /// Its standard error over rows.
    pub validation_se: f64,
    /// Error on the test samples of what the same selection gives without them; NaN without test samples.
    pub test: f64,
    /// Loss of each held-out row, in the same order for all entries.
    losses: Vec<f64>,
}

impl Entry {
    /// By how many of its standard errors the mean held-out loss is below that of another entry.
    pub fn better_than(&self, other: &Self) -> f64 {
        paired(&self.losses, &other.losses)
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// The models, the best first by cross-validation.
    pub entries: Vec<Entry>,
    /// The delivered model.
    pub model: FittedModel,
    /// Constant prediction: its error by cross-validation and on the test samples.
    pub constant: (f64, f64),
    /// What is reached without a cap: the name of the method, its error by cross-validation and on the test rows of a table. It says what
    /// the cap costs, and is not delivered.
    pub no_cap: Option<(&'static str, f64, f64)>,
    /// Rows that the selection saw.
    pub selection_rows: usize,
    /// Test samples.
    pub test_rows: usize,
    /// How the selection was made.
    pub selected_by: String,
    /// What a person should know about rows and columns.
    pub notes: Vec<String>,
}

/// Rows with folds.
#[derive(Debug)]
struct Part {
    samples: Arc<Samples>,
    preprocessing: Preprocessing,
    folds: Vec<Vec<usize>>,
    selected_by: String,
}

/// Samples with folds and a judge.
#[derive(Debug)]
pub struct Prepared {
    task: Task,
    likelihood: Likelihood,
    bounds: Bounds,
    name: String,
    /// The rows that are not for the test.
    first: Part,
    /// All rows, where they are more; with folds if they are few enough to select on them again.
    whole: Option<Part>,
    judge: Option<Judge>,
    test_rows: usize,
    /// What a person should know about rows and columns.
    pub notes: Vec<String>,
}

impl Prepared {
    /// Prepares a source for a seed.
    pub fn new(source: &Source, noise: Option<Noise>, ask: &Ask) -> Result<Self, SearchError> {
        match source {
            Source::Simulation { .. } => Self::of_simulation(source, noise, ask.seed),
            Source::Table(table) => Self::of_table(table, source.name(), noise, ask),
        }
    }

    /// Training and validation draws together; the validation draws are the one fold.
    fn of_simulation(
        source: &Source,
        noise: Option<Noise>,
        seed: u64,
    ) -> Result<Self, SearchError> {
        let replication = source.replication(seed, noise)?;
        let problem = &replication.problem;
        let (train, valid) = (problem.train.n(), problem.valid.n());
        Ok(Self {
            task: replication.preprocessing.task(),
            likelihood: problem.likelihood,
            bounds: problem.bounds,
            name: replication.source.clone(),
            first: Part {
                samples: Arc::new(problem.train.followed_by(&problem.valid)?),
                preprocessing: replication.preprocessing.clone(),
                folds: vec![(train..train + valid).collect()],
                selected_by: "one split".to_string(),
            },
            whole: None,
            test_rows: replication.test_rows,
            notes: replication.notes.clone(),
            judge: Some(replication.judge_of_rows()),
        })
    }

    fn of_table(
        source: &TableSource,
        name: String,
        noise: Option<Noise>,
        ask: &Ask,
    ) -> Result<Self, SearchError> {
        let (table, task) = (&source.table, source.decision.task);
        let (rest, test) = source.holdout(ask.test_fraction, ask.test_seed)?;
        let stream = Stream::new(ask.seed).child("folds");
        let selected = thinned(&rest, SELECTION_ROWS, stream.child("rows"));
        let first = Part::new(source, &selected, true, stream)?;
        // A target that cannot be judged is found now, not after the search.
        first.preprocessing.targets(table, &test)?;
        let mut notes = first.preprocessing.notes().to_vec();
        notes.extend(first.preprocessing.features(table, &rest)?.notes());
        let mut every: Vec<usize> = rest.iter().chain(&test).copied().collect();
        every.sort_unstable();
        let whole = if ask.refit && every.len() > selected.len() {
            let again = every.len() <= SELECTED_AGAIN_UP_TO;
            Some(Part::new(source, &every, again, stream.child("again"))?)
        } else {
            None
        };
        Ok(Self {
            task,
            likelihood: likelihood(task, first.preprocessing.d(), noise)?,
            bounds: bounds(task),
            name,
            first,
            whole,
            test_rows: test.len(),
            judge: (!test.is_empty()).then(|| Judge::Rows {
                table: table.clone(),
                rows: test,
            }),
            notes,
        })
    }

    /// Rows that the test score's selection sees.
    pub fn selection_rows(&self) -> usize {
        self.first.samples.n()
    }

    /// Test samples.
    pub fn test_rows(&self) -> usize {
        self.test_rows
    }

    /// How the selection is made.
    pub fn selected_by(&self) -> &str {
        &self.first.selected_by
    }

    /// Names of the model's inputs.
    pub fn inputs(&self) -> Vec<String> {
        self.first.preprocessing.feature_names()
    }

    /// The preprocessing of the selection's rows.
    pub fn preprocessing(&self) -> &Preprocessing {
        &self.first.preprocessing
    }

    /// Selects, scores and fits. `advance` is told which part of the work is done.
    pub fn run(
        &self,
        engine: &Engine,
        ask: &Ask,
        control: &Control,
        advance: &(dyn Fn(f64) + Sync),
    ) -> Result<Estimate, SearchError> {
        engine.install(|| self.run_here(ask, control, advance))
    }

    fn run_here(
        &self,
        ask: &Ask,
        control: &Control,
        advance: &(dyn Fn(f64) + Sync),
    ) -> Result<Estimate, SearchError> {
        let stop = || control.is_stopped();
        let stream = Stream::new(ask.seed).child("estimate");
        let again = self.whole.as_ref().filter(|part| !part.folds.is_empty());
        // The work is for both selections where there are two.
        let share = if again.is_some() { 0.5 } else { 1.0 };
        let select = |part: &Part, stream: Stream| {
            let watch = Watch {
                stop: &stop,
                advance: &|done| advance(share * done),
            };
            self.select(part, ask, share * ask.work, stream, watch)
        };
        let selection = select(&self.first, stream)?;
        let mut entries = Vec::new();
        for (method, chosen) in named(&selection, &ask.methods) {
            entries.push(self.entry(&self.first, method, chosen, ask, stream, &stop)?);
        }
        // On few rows the choice itself gains from all of them; the test scores then are those of the same selection without the
        // test rows.
        let (part, selection) = match again {
            Some(whole) if !stop() => {
                let selection = select(whole, stream.child("again"))?;
                let mut all = Vec::new();
                for (method, chosen) in named(&selection, &ask.methods) {
                    let test = entries
                        .iter()
                        .find(|e| e.method == method)
                        .map_or(f64::NAN, |e| e.test);
                    let entry = self.summary(whole, method, chosen, ask, test);
                    all.push(entry);
                }
                entries = all;
                (whole, selection)
            }
            _ => (&self.first, selection),
        };
        let best = selection.best().ok_or_else(|| self.nothing_fits(ask))?;
        let chosen: Vec<(Option<Method>, &Chosen)> = named(&selection, &ask.methods);
        let choice = &chosen[best].1.best;
        let last = self.whole.as_ref().unwrap_or(&self.first);
        let mut model = self.fitted(last, choice, ask, stream, &stop)?;
        let error = part.scale(self.likelihood, choice) * selection.error(stream.child("error"));
        let test = entries[best].test;
        model.assessment = Some(Assessment {
            rows: last.samples.n(),
            selected_by: part.selected_by.clone(),
            selection_rows: part.samples.n(),
            metric: metric(self.task).to_string(),
            error,
            test_error: test.is_finite().then_some(test),
            test_rows: self.test_rows,
            clip: part.clip_pays(self.task, choice),
            residuals: Assessment::thinned(part.residuals(self.task, choice)),
        });
        let mut ranks: Vec<usize> = (0..entries.len()).collect();
        ranks.sort_by(|a, b| {
            let key = |i: usize| (i != best, chosen[i].1.error);
            let (a, b) = (key(*a), key(*b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let mut slots: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
        let mut entries: Vec<Entry> = ranks.into_iter().filter_map(|i| slots[i].take()).collect();
        // The best of all was selected from more than its own kind.
        entries[0].validation = error;
        Ok(Estimate {
            entries,
            model,
            constant: self.constant(part)?,
            no_cap: self.no_cap(stream.child("no cap"), &stop)?,
            selection_rows: part.samples.n(),
            test_rows: self.test_rows,
            selected_by: part.selected_by.clone(),
            notes: self.notes.clone(),
        })
    }

    fn select(
        &self,
        part: &Part,
        ask: &Ask,
        work: f64,
        stream: Stream,
        watch: Watch<'_>,
    ) -> Result<Selection, SearchError> {
        let bound = self.bounds.output;
        let problem = Problem::new(&part.samples, self.likelihood, bound, &part.folds, watch);
        let problem = problem.ok_or(SearchError::NoTargets)?;
        Ok(problem.select(&Request {
            budget: ask.budget,
            paper: ask.paper,
            methods: ask.methods.clone(),
            activations: ask.activations.clone(),
            iterations: ask.iterations.clone(),
            work,
            stream,
        }))
    }

    /// A choice fitted to the part that selected it, and its test score.
    fn entry(
        &self,
        part: &Part,
        method: Option<Method>,
        chosen: &Chosen,
        ask: &Ask,
        stream: Stream,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Entry, SearchError> {
        let test = match &self.judge {
            Some(judge) => {
                let mut model = self.fitted(part, &chosen.best, ask, stream, stop)?;
                if part.clip_pays(self.task, &chosen.best) {
                    model.hold_to_range();
                }
                judge.judge(&model)?
            }
            None => f64::NAN,
        };
        Ok(self.summary(part, method, chosen, ask, test))
    }

    fn summary(
        &self,
        part: &Part,
        method: Option<Method>,
        chosen: &Chosen,
        ask: &Ask,
        test: f64,
    ) -> Entry {
        let choice = &chosen.best;
        let scale = part.scale(self.likelihood, choice);
        let centre = mean(&choice.losses);
        let squares: Vec<f64> = choice
            .losses
            .iter()
            .map(|l| (l - centre) * (l - centre))
            .collect();
        Entry {
            method,
            network: match ask.paper {
                true => choice.network.to_paper(),
                false => choice.network.clone(),
            },
            factor: choice.factor,
            starts: choice.starts,
            validation: scale * chosen.error,
            validation_se: scale * (mean(&squares) / squares.len() as f64).sqrt(),
            test,
            losses: choice.losses.clone(),
        }
    }

    /// A choice fitted to all rows of a part.
    fn fitted(
        &self,
        part: &Part,
        choice: &Choice,
        ask: &Ask,
        stream: Stream,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<FittedModel, SearchError> {
        let (bound, stream) = (self.bounds.coefficient, stream.child("last"));
        let fitted = finish(&part.samples, self.likelihood, choice, bound, stream, stop);
        let fitted = fitted.ok_or(SearchError::NoTargets)?;
        let parameters = if ask.paper { fitted.to_paper() } else { fitted };
        Ok(FittedModel {
            parameters,
            bounds: self.bounds,
            likelihood: self.likelihood,
            preprocessing: part.preprocessing.clone(),
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").to_string(),
                source: self.name.clone(),
                training_samples: part.samples.hash(),
                budget: ask.budget,
                seed: ask.seed,
                validation: choice.cross_validation(),
                updates: 0,
            },
            assessment: None,
        })
    }

    /// The error of the best constant, by cross-validation and on the test samples.
    fn constant(&self, part: &Part) -> Result<(f64, f64), SearchError> {
        let outputs = self.likelihood.outputs();
        let index = |part: &Part, rows: &[usize]| -> Vec<f64> {
            let (y, n) = (part.samples.y(), rows.len() as f64);
            match self.likelihood {
                Likelihood::Bernoulli(_) => {
                    let ones: f64 = rows.iter().map(|r| f64::from(y[*r])).sum();
                    vec![libm::log((ones + 0.5) / (n - ones + 0.5))]
                }
                Likelihood::Multiclass(_) => {
                    let mut counts = vec![0.5; outputs];
                    rows.iter().for_each(|r| counts[y[*r] as usize] += 1.0);
                    counts.iter().map(|c| libm::log(c / n)).collect()
                }
                _ => vec![rows.iter().map(|r| f64::from(y[*r])).sum::<f64>() / n],
            }
        };
        let y = part.samples.y();
        let mut losses = Vec::new();
        for held in &part.folds {
            let mut is_held = vec![false; y.len()];
            held.iter().for_each(|row| is_held[*row] = true);
            let kept: Vec<usize> = (0..y.len()).filter(|row| !is_held[*row]).collect();
            let f = index(part, &kept);
            for row in held {
                let y = f64::from(y[*row]);
                losses.push(match self.task {
                    Task::Regression => (f[0] - y) * (f[0] - y) * part.unit() * part.unit(),
                    _ => self.likelihood.nll(y, &f)?,
                });
            }
        }
        let test = match &self.judge {
            Some(judge) => {
                let part = &self.first;
                let every: Vec<usize> = (0..part.samples.n()).collect();
                let f = index(part, &every);
                let network = Network::affine(part.samples.d(), outputs, 1)?;
                let mut values = vec![0.0; network.count()];
                let first = values.len() - outputs;
                values[first..]
                    .iter_mut()
                    .zip(&f)
                    .for_each(|(to, f)| *to = *f as f32);
                let parameters =
                    Parameters::new(network, values).map_err(|_| SearchError::NoTargets)?;
                judge.judge(&FittedModel {
                    bounds: self.bounds,
                    likelihood: self.likelihood,
                    preprocessing: part.preprocessing.clone(),
                    provenance: Provenance::nothing(),
                    assessment: None,
                    parameters,
                })?
            }
            None => f64::NAN,
        };
        Ok((mean(&losses), test))
    }

    /// What boosted trees or a kernel method reach on the rows that are not for the test.
    fn no_cap(
        &self,
        stream: Stream,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<(&'static str, f64, f64)>, SearchError> {
        let part = &self.first;
        let found = reference(&part.samples, self.likelihood, &part.folds, stream, stop);
        let Some(found) = found else {
            return Ok(None);
        };
        let unit = part.unit();
        let error = |outputs: &[f64], y: &[f32]| -> Result<f64, SearchError> {
            let y: Vec<f64> = y.iter().map(|y| f64::from(*y)).collect();
            Ok(match self.task {
                Task::Regression => {
                    let squares: Vec<f64> = outputs
                        .iter()
                        .zip(&y)
                        .map(|(f, y)| (f - y) * (f - y))
                        .collect();
                    unit * unit * mean(&squares)
                }
                _ => self.likelihood.average_nll(outputs, &y)?,
            })
        };
        let test = match &self.judge {
            Some(Judge::Rows { table, rows }) => {
                let x = part.preprocessing.features(table, rows)?.x;
                error(
                    &found.outputs(&x),
                    &part.preprocessing.targets(table, rows)?,
                )?
            }
            _ => f64::NAN,
        };
        let validation = match self.likelihood {
            Likelihood::Gaussian(_) => 2.0 * unit * unit * found.cross_validation,
            // Of absolute residuals there is no squared error.
            Likelihood::Laplace(_) => f64::NAN,
            _ => found.cross_validation,
        };
        Ok(Some((found.name, validation, test)))
    }

    /// The error of a cap that holds nothing.
    fn nothing_fits(&self, ask: &Ask) -> SearchError {
        let (d, outputs) = (self.first.samples.d(), self.likelihood.outputs());
        SearchError::NothingFits {
            budget: ask.budget,
            d,
            // An affine function of one input, or of one combination in the paper's form.
            smallest: match Network::affine(d, outputs, 1) {
                Ok(network) if ask.paper => network.to_paper().count(),
                _ => 2 * outputs,
            },
        }
    }
}

impl Part {
    fn new(
        source: &TableSource,
        rows: &[usize],
        folded: bool,
        stream: Stream,
    ) -> Result<Self, SearchError> {
        let (table, task) = (&source.table, source.decision.task);
        let preprocessing = Preprocessing::fit_encoded(
            table,
            &source.roles,
            task,
            rows,
            Scaling::Fitted,
            Encoding::Compact,
        )?;
        let (folds, selected_by) = match folded {
            true => folds(source, rows, stream)?,
            false => (Vec::new(), String::new()),
        };
        Ok(Self {
            samples: Arc::new(preprocessing.samples(table, rows)?),
            preprocessing,
            folds,
            selected_by,
        })
    }

    /// What a mean loss is to be multiplied with to be the metric.
    fn scale(&self, likelihood: Likelihood, choice: &Choice) -> f64 {
        match likelihood {
            Likelihood::Gaussian(_) => 2.0 * self.unit() * self.unit(),
            Likelihood::Laplace(_) => {
                let residuals = self.residuals(Task::Regression, choice);
                let squares: Vec<f64> = residuals.iter().map(|r| r * r).collect();
                mean(&squares) / choice.cross_validation()
            }
            _ => 1.0,
        }
    }

    /// One standard deviation of the target column, of a regression.
    fn unit(&self) -> f64 {
        self.preprocessing.to_original(1.0) - self.preprocessing.to_original(0.0)
    }

    /// Held-out rows in the order of the folds.
    fn held(&self) -> impl Iterator<Item = usize> + '_ {
        self.folds.iter().flatten().copied()
    }

    /// Absolute residuals of held-out rows in the target's units; none of classes.
    fn residuals(&self, task: Task, choice: &Choice) -> Vec<f64> {
        if task != Task::Regression {
            return Vec::new();
        }
        let y = self.samples.y();
        // One for each row: where folds are dealt twice, the second residual of a row says little new.
        let mut seen = vec![false; y.len()];
        let pairs = self.held().zip(&choice.outputs);
        let first = pairs.filter(|(row, _)| !std::mem::replace(&mut seen[*row], true));
        first
            .map(|(row, f)| self.unit() * (f - f64::from(y[row])).abs())
            .collect()
    }

    /// Whether held-out rows are predicted no worse when outputs are held to the range of the targets.
    fn clip_pays(&self, task: Task, choice: &Choice) -> bool {
        if task != Task::Regression || self.preprocessing.target_range().is_none() {
            return false;
        }
        let y = self.samples.y();
        let (low, high) = y
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), y| {
                (a.min(f64::from(*y)), b.max(f64::from(*y)))
            });
        let change = self.held().zip(&choice.outputs).map(|(row, f)| {
            let y = f64::from(y[row]);
            (f.clamp(low, high) - y).abs() - (f - y).abs()
        });
        change.sum::<f64>() <= 0.0
    }
}

/// The held-out rows of each fold, by the number of rows, and what that is called.
fn folds(
    source: &TableSource,
    rows: &[usize],
    stream: Stream,
) -> Result<(Vec<Vec<usize>>, String), SearchError> {
    let splitter = &source.splitter;
    if rows.len() > FOLDS_UP_TO {
        let mut folds = splitter.folds(rows, FOLDS, stream)?;
        folds.truncate(1);
        return Ok((folds, "one split".to_string()));
    }
    let times = if rows.len() < REPEATED_BELOW { 2 } else { 1 };
    let mut folds = Vec::new();
    for repeat in 0..times {
        folds.extend(splitter.folds(rows, FOLDS, stream.nth(repeat))?);
    }
    let again = if times > 1 { ", twice" } else { "" };
    let count = folds.len() as u64 / times;
    Ok((folds, format!("{count}-fold cross-validation{again}")))
}

/// What the error of a task is called.
pub fn metric(task: Task) -> &'static str {
    match task {
        Task::Regression => "MSE",
        Task::Binary | Task::Multiclass { .. } => "log loss",
        Task::Density => "NLL",
    }
}

/// The linear choice and those of the methods, as [`Selection::all`] has them.
fn named<'a>(selection: &'a Selection, methods: &[Method]) -> Vec<(Option<Method>, &'a Chosen)> {
    let linear = selection.linear.iter().map(|c| (None, c));
    let networks = methods.iter().zip(&selection.methods);
    let networks = networks.filter_map(|(method, c)| Some((Some(*method), c.as_ref()?)));
    linear.chain(networks).collect()
}

/// At most `count` of the rows, at random, in their order.
fn thinned(rows: &[usize], count: usize, stream: Stream) -> Vec<usize> {
    if rows.len() <= count {
        return rows.to_vec();
    }
    let mut order = vec![0u32; rows.len()];
    stream.permute(&mut order);
    let mut kept: Vec<usize> = order[..count].iter().map(|i| rows[*i as usize]).collect();
    kept.sort_unstable();
    kept
}
