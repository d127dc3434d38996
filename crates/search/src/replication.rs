//! A seed's training, validation and test samples, and how a model is judged on them.

use crate::SearchError;
use crate::judge::{Judge, Judgement};
use loopfit_data::split::Split;
use loopfit_data::task::Decision;
use loopfit_data::{
    Groups, Preprocessing, Roles, Samples, Scaling, Simulation, Splitter, Table, Task, TaskKind,
};
use loopfit_fitted::{FittedModel, Measure, error_of_loss};
use loopfit_likelihood::{Bernoulli, Energy, Gaussian, Laplace, Likelihood, Multiclass, Poisson};
use loopfit_model::Bounds;
use loopfit_numerics::stream::Stream;
use std::sync::Arc;

/// Test inputs of a simulation (F.4.1).
const TEST_SIZE: usize = 32_768;
/// Test draws of a density (F.4.5).
const TEST_DRAWS: usize = 65_536;
/// What a model of a known law of classes or draws is judged by.
pub const HELLINGER: &str = "squared Hellinger distance";

/// What a search sees: training and validation samples in model units, never test samples.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Samples that gradients come from.
    pub train: Arc<Samples>,
    /// Samples that select.
    pub valid: Arc<Samples>,
    /// How outputs explain the samples.
    pub likelihood: Likelihood,
    /// Parameter box and output clipping.
    pub bounds: Bounds,
}

/// Where replications come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A known function with noise, or a known density.
    Simulation {
        /// Which.
        simulation: Simulation,
        /// Training observations.
        train: usize,
        /// Validation observations.
        valid: usize,
    },
    /// The rows of a table.
    Table(Box<TableSource>),
}

/// A table with the roles of its columns.
#[derive(Clone, Debug)]
pub struct TableSource {
    pub(crate) table: Arc<Table>,
    pub(crate) roles: Roles,
    /// What is learned and why.
    pub decision: Decision,
    /// What a person should know about the table.
    pub notes: Vec<String>,
    pub(crate) splitter: Splitter,
    test: TestRows,
}

/// Where a table's test rows come from.
#[derive(Clone, Debug)]
enum TestRows {
    /// A share of the groups, by this stream.
    Drawn(Stream),
    /// These.
    Given(Vec<usize>),
}

/// What the user may say about a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// The target column; none for a density.
    pub target: Option<String>,
    /// The task, if not inferred.
    pub task: Option<TaskKind>,
    /// A column whose equal values stay in one part of a split.
    pub group: Option<String>,
    /// Contiguous rows that stay together.
    pub block: Option<usize>,
    /// Whether rows with equal inputs are held out apart where few inputs are seen often ([`Groups::apart_if_few`]); they stay together
    /// otherwise, and where test rows are given.
    pub apart_if_few: bool,
    /// A column that says how much a row counts; of a count, its exposure.
    pub weight: Option<String>,
    /// Columns that are not inputs.
    pub ignore: Vec<String>,
    /// Seed of the test split, the same for all replications.
    pub test_seed: u64,
    /// The test rows, where they are not drawn; rows with equal inputs are then left out of
    /// training and validation.
    pub test_rows: Option<Vec<usize>>,
    /// What a person should know about the table.
    pub notes: Vec<String>,
}

impl TableSource {
    /// Decides roles and task and prepares the groups that splits keep together.
    pub fn new(table: Table, options: &TableOptions) -> Result<Self, SearchError> {
        let target = options.target.as_deref();
        // Given test rows are numbers of rows: none may go.
        let table = match target {
            Some(target) if options.test_rows.is_none() => table.with_values_of(target),
            _ => table,
        };
        let mut roles = Roles::new(&table, target, options.group.as_deref(), &options.ignore)?;
        if let Some(weight) = &options.weight {
            roles = roles.weighted_by(&table, weight)?;
        }
        let decision = Task::decide(&table, target, options.task)?;
        let equal = Groups::new(&table, &roles, options.block)?;
        let groups = match options.apart_if_few && options.test_rows.is_none() {
            true => Groups::apart_if_few(&table, &roles, options.block)?,
            false => equal.clone(),
        };
        let few = (groups != equal).then(|| {
            format!(
                "The rows have only {} different inputs, so those with equal ones are held out apart; if they are copies, or share more, say so with a group column.",
                equal.count()
            )
        });
        let splitter = match target {
            Some(target) if decision.task.is_classification() => {
                Splitter::stratified(groups, &table, target)?
            }
            _ => Splitter::new(groups),
        };
        let test = match &options.test_rows {
            Some(rows) => TestRows::Given(rows.clone()),
            None => TestRows::Drawn(test_stream(options.test_seed)),
        };
        let mut notes = [&options.notes[..], table.notes()].concat();
        notes.extend(few);
        Ok(Self {
            table: Arc::new(table),
            roles,
            decision,
            notes,
            splitter,
            test,
        })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The same table with this share of the groups as its test rows; with 0 there are none.
    pub fn holding_out(mut self, share: f64) -> Result<Self, SearchError> {
        let (_, held) = self.holdout(share, None)?;
        self.test = TestRows::Given(held);
        Ok(self)
    }

    /// `(kept, held)` rows: the given test rows, or a share of the groups by a seed or the source's own; none for 0.
    pub(crate) fn holdout(
        &self,
        fraction: f64,
        seed: Option<u64>,
    ) -> Result<(Vec<usize>, Vec<usize>), SearchError> {
        Ok(match &self.test {
            TestRows::Given(_) => {
                let Split { train, valid, test } = self.split(0)?;
                let mut rest = [train, valid].concat();
                rest.sort_unstable();
                (rest, test)
            }
            TestRows::Drawn(_) if fraction == 0.0 => ((0..self.table.rows()).collect(), Vec::new()),
            TestRows::Drawn(test) => {
                let stream = seed.map_or(*test, test_stream);
                self.splitter.holdout(fraction, stream)?
            }
        })
    }

    /// The rows of a seed. Test rows are the same for every seed.
    fn split(&self, seed: u64) -> Result<Split, SearchError> {
        let stream = Stream::new(seed).child("split");
        Ok(match &self.test {
            TestRows::Drawn(test) => self.splitter.split(*test, stream)?,
            TestRows::Given(rows) => self.splitter.split_given_test(rows, stream)?,
        })
    }
}

/// The stream that draws the test rows of a seed.
fn test_stream(seed: u64) -> Stream {
    Stream::new(seed).child("test split")
}

/// A choice of likelihood for regression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Squared error.
    Gaussian,
    /// Absolute error.
    Laplace,
}

impl Noise {
    fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Laplace => "laplace",
        }
    }
}

/// One seed's samples, preprocessing and judge.
#[derive(Clone, Debug)]
pub struct Replication {
    /// What a search sees.
    pub problem: Arc<Problem>,
    /// From columns to model units.
    pub preprocessing: Preprocessing,
    /// Name of the data.
    pub source: String,
    /// Test observations; none where a density is compared with its target.
    pub test_rows: usize,
    /// What a person should know about the rows.
    pub notes: Vec<String>,
    /// What [`Replication::judge`] measures.
    metric: &'static str,
    valid: (Arc<Table>, Vec<usize>),
    judge: Judge,
}

impl Source {
    /// What a person should know about the data: how the task was decided, and what was found in the table.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Simulation { .. } => Vec::new(),
            Self::Table(source) => {
                let because = [source.decision.because.clone()];
                because.into_iter().chain(source.notes.clone()).collect()
            }
        }
    }

    /// Whether a density is to be estimated.
    pub fn is_density(&self) -> bool {
        self.task() == Task::Density
    }

    /// Number of observations, those for the test of a table included.
    pub fn rows(&self) -> usize {
        match self {
            Self::Simulation { train, valid, .. } => train + valid,
            Self::Table(source) => source.table.rows(),
        }
    }

    /// Name of the data, as the user writes it.
    pub fn name(&self) -> String {
        match self {
            Self::Simulation { simulation, .. } => format!("sim:{simulation}"),
            Self::Table(source) => source.table.source().to_string(),
        }
    }

    /// What is learned.
    pub fn task(&self) -> Task {
        match self {
            Self::Simulation { simulation, .. } if simulation.is_density() => Task::Density,
            Self::Simulation { simulation, .. } if simulation.is_binary() => Task::Binary,
            Self::Simulation { .. } => Task::Regression,
            Self::Table(source) => source.decision.task,
        }
    }

    /// What [`Replication::judge`] measures: what fits with this noise make small, on test samples.
    pub fn metric(&self, noise: Option<Noise>) -> &'static str {
        match (self, self.measure(noise)) {
            (Self::Simulation { .. }, Measure::Nll | Measure::LogLoss) => HELLINGER,
            (Self::Simulation { .. }, measure) => measure.against_f0(),
            (Self::Table(_), measure) => measure.of_test(),
        }
    }

    /// What fits with this noise make small.
    fn measure(&self, noise: Option<Noise>) -> Measure {
        match (self.task(), noise) {
            (Task::Regression, Some(Noise::Laplace)) => Measure::Mae,
            (Task::Regression, _) => Measure::Mse,
            (Task::Count, _) => Measure::Deviance,
            (Task::Binary | Task::Multiclass { .. }, _) => Measure::LogLoss,
            (Task::Density, _) => Measure::Nll,
        }
    }

    /// What fits with this noise make small is called.
    pub fn error_name(&self, noise: Option<Noise>) -> &'static str {
        self.measure(noise).name()
    }

    /// What [`Replication::validate`] measures.
    pub fn validation_metric(&self, noise: Option<Noise>) -> &'static str {
        self.measure(noise).of_validation()
    }

    /// The samples of a seed. A table's test rows are the same for every seed.
    pub fn replication(&self, seed: u64, noise: Option<Noise>) -> Result<Replication, SearchError> {
        match self {
            Self::Simulation {
                simulation,
                train,
                valid,
            } => simulate(*simulation, seed, *train, *valid, noise, self),
            Self::Table(source)
                if source.roles.weight.is_some() || source.decision.task == Task::Count =>
            {
                Err(SearchError::NoSearch)
            }
            Self::Table(source) => {
                let Split { train, valid, test } = source.split(seed)?;
                let (table, task) = (&source.table, source.decision.task);
                let preprocessing =
                    Preprocessing::fit(table, &source.roles, task, &train, Scaling::Fitted)?;
                let problem = Problem {
                    train: Arc::new(preprocessing.samples(table, &train)?),
                    valid: Arc::new(preprocessing.samples(table, &valid)?),
                    likelihood: likelihood(task, preprocessing.d(), noise)?,
                    bounds: bounds(task),
                };
                let mut notes = preprocessing.notes().to_vec();
                let every: Vec<usize> = (0..table.rows()).collect();
                notes.extend(preprocessing.describe(table, &every)?);
                for (part, rows) in [
                    ("training", &train),
                    ("validation", &valid),
                    ("test", &test),
                ] {
                    let mut features = preprocessing.features(table, rows)?;
                    // They are told of column by column.
                    features.missing = 0;
                    let of_part = |note| format!("{part} rows: {note}");
                    notes.extend(features.notes().into_iter().map(of_part));
                }
                // A target that cannot be judged is found now, not after the search.
                preprocessing.targets(table, &test)?;
                Ok(Replication {
                    problem: Arc::new(problem),
                    preprocessing,
                    source: self.name(),
                    test_rows: test.len(),
                    notes,
                    metric: self.metric(noise),
                    valid: (table.clone(), valid),
                    judge: Judge::Rows {
                        table: table.clone(),
                        rows: test,
                    },
                })
            }
        }
    }
}

fn simulate(
    simulation: Simulation,
    seed: u64,
    n_train: usize,
    n_valid: usize,
    noise: Option<Noise>,
    from: &Source,
) -> Result<Replication, SearchError> {
    let source = from.name();
    for (n, part) in [(n_train, "training"), (n_valid, "validation")] {
        if n == 0 {
            return Err(SearchError::NoSamples(part));
        }
    }
    let (task, density) = (from.task(), simulation.is_density());
    // A law of classes or draws is compared with the known one.
    let law = task != Task::Regression;
    let test_rows = if law { 0 } else { TEST_SIZE };
    let draw = simulation.draw(seed, n_train, n_valid, test_rows);
    let (train, valid) = (draw.train.to_table(&source), draw.valid.to_table(&source));
    let target = (!density).then_some("y");
    let roles = Roles::new(&train, target, None, &[])?;
    let all = |n: usize| (0..n).collect::<Vec<usize>>();
    let preprocessing = Preprocessing::fit(&train, &roles, task, &all(n_train), Scaling::Raw)?;
    let problem = Problem {
        train: Arc::new(preprocessing.samples(&train, &all(n_train))?),
        valid: Arc::new(preprocessing.samples(&valid, &all(n_valid))?),
        likelihood: likelihood(task, simulation.dim(), noise)?,
        bounds: bounds(task),
    };
    let judge = if law {
        Judge::Law { simulation, seed }
    } else {
        Judge::Rows {
            table: Arc::new(draw.test.to_table(&source)),
            rows: all(TEST_SIZE),
        }
    };
    Ok(Replication {
        problem: Arc::new(problem),
        preprocessing,
        source,
        test_rows,
        notes: Vec::new(),
        metric: from.metric(noise),
        valid: (Arc::new(valid), all(n_valid)),
        judge,
    })
}

/// The paper's parameter box, and the output bound H of a task in model units: 8 for
/// standardised responses (F.4.3) and for logits; 4 for the index of a density, which
/// allows a factor of e^8 between the most and the least likely point (F.4.5 has 3).
pub(crate) fn bounds(task: Task) -> Bounds {
    let output = if task == Task::Density { 4.0 } else { 8.0 };
    Bounds {
        output,
        ..Bounds::default()
    }
}

/// The likelihood of a task. Responses are standardised, so that the Gaussian one is the
/// squared error and the Laplace scale is one standard deviation.
pub(crate) fn likelihood(
    task: Task,
    d: usize,
    noise: Option<Noise>,
) -> Result<Likelihood, SearchError> {
    let other = |task: &'static str| match noise {
        None => Ok(()),
        Some(noise) => Err(SearchError::LikelihoodForTask {
            likelihood: noise.name(),
            task,
        }),
    };
    Ok(match task {
        Task::Regression if noise == Some(Noise::Laplace) => {
            Likelihood::Laplace(Laplace::new(1.0)?)
        }
        Task::Regression => Likelihood::Gaussian(Gaussian::squared_error()),
        Task::Count => {
            other("counts")?;
            Likelihood::Poisson(Poisson)
        }
        Task::Binary => {
            other("classification")?;
            Likelihood::Bernoulli(Bernoulli)
        }
        Task::Multiclass { classes } => {
            other("classification")?;
            Likelihood::Multiclass(Multiclass::new(classes)?)
        }
        Task::Density => {
            other("density")?;
            Likelihood::Energy(Energy::training(d)?)
        }
    })
}

impl Replication {
    /// The score of a model on the validation samples, in the units of the data.
    pub fn validate(&self, model: &FittedModel) -> Result<f64, SearchError> {
        let (table, rows) = &self.valid;
        Ok(model.score(table, rows)?.value)
    }

    /// What [`Replication::judge`] measures.
    pub fn metric(&self) -> &'static str {
        self.metric
    }

    /// Every test metric of a model by its name, the one of [`Replication::judge`] first: a
    /// density with a known target has its likelihood on test draws as well.
    pub fn judge_all(&self, model: &FittedModel) -> Result<Vec<(&'static str, f64)>, SearchError> {
        let mut measured = vec![(self.metric, self.judge(model)?.error)];
        if let Judge::Law { simulation, seed } = &self.judge
            && simulation.is_density()
        {
            let draws = simulation.draw(*seed, 0, 0, TEST_DRAWS).test;
            let rows: Vec<usize> = (0..TEST_DRAWS).collect();
            let score = model.score(&draws.to_table(&self.source), &rows)?;
            measured.push((Measure::Nll.of_test(), score.value));
        }
        Ok(measured)
    }

    /// What test samples say of a model. They are read here alone.
    pub fn judge(&self, model: &FittedModel) -> Result<Judgement, SearchError> {
        self.judge.judge(model)
    }

    /// An average loss in model units as the error that [`Replication::validate`] measures.
    pub fn error_of_loss(&self, loss: f64) -> f64 {
        error_of_loss(self.problem.likelihood, &self.preprocessing, loss)
    }

    /// What [`Replication::judge`] asks.
    pub(crate) fn judge_of_rows(&self) -> Judge {
        self.judge.clone()
    }
}
