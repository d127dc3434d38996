//! What is asked of data: a cap, who competes, and how long to look.

mod given;

use crate::progress::{Progress, Watch};
use crate::{
    Activation, Comparison, ComparisonPlan, Curve, CurvePlan, Device, Effort, Error, Fits, Method,
    Noise, Plan, Runner, Simulation, Table,
};
use loopfit_data::TaskKind;
use loopfit_model::{ArchitectureChoice, Tokens, Tying};
use loopfit_search::cost::Equal;
use loopfit_search::estimate::{LOOP_ITERATIONS, TEST_FRACTION};
use loopfit_search::protocol::Protocol;
use loopfit_search::replication::TableOptions;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::Duration;

/// A fit under a cap, built option by option; [`Fit::run`], [`Fit::compare`] and [`Fit::curve`] do it.
///
/// The result is a function of data and options alone, the same on any number of threads and any machine, unless there is a time limit or a
/// callback that ends it early.
///
/// # Example
/// ```
/// # let rows: Vec<f64> = (0..240).map(|i| f64::from(i % 60) / 60.0).collect();
/// # let y: Vec<f64> = rows.chunks(2).map(|x| 3.0 * x[0] - x[1]).collect();
/// use loopfit::{Effort, Fit, Method, Table};
/// let table = Table::from_rows(&rows, &["u", "v"])?.with_column("y", &y)?;
/// let fits = Fit::new(&table)
///     .target("y")
///     .budget(16)
///     .methods([Method::Single, Method::Loop])
///     .effort(Effort::Quick)
///     .run()?;
/// assert!(fits.best().model().count() <= 16);
/// # Ok::<(), loopfit::Error>(())
/// ```
#[must_use = "nothing is fitted before `run`, `compare` or `curve`"]
pub struct Fit<'a> {
    data: Data<'a>,
    table: TableOptions,
    exposure: Option<String>,
    weights: Option<String>,
    pub(crate) noise: Option<Noise>,
    pub(crate) budget: Option<usize>,
    pub(crate) methods: Vec<Method>,
    activations: Option<Vec<Activation>>,
    iterations: Option<Vec<usize>>,
    pub(crate) automatic: bool,
    paper: Option<bool>,
    pub(crate) test_fraction: Option<f64>,
    pub(crate) refit: Option<bool>,
    effort: Effort,
    time: Option<Duration>,
    pub(crate) seed: u64,
    pub(crate) threads: usize,
    pub(crate) device: Device,
    runner: Option<Runner>,
    architectures: Vec<ArchitectureChoice>,
    shapes: Vec<(usize, usize, Tying)>,
    /// Whether the tokens of Transformers were chosen.
    pub(crate) tokens: bool,
    protocol: Option<Protocol>,
    pub(crate) equal: Option<Equal>,
    pub(crate) bound: Option<f32>,
    pub(crate) watch: Option<Box<Watch<'a>>>,
    all_or_nothing: bool,
}

enum Data<'a> {
    Table(Cow<'a, Table>),
    Simulation {
        simulation: Simulation,
        train: usize,
        valid: usize,
    },
}

impl<'a> Fit<'a> {
    /// A fit to the rows of a table. It needs a [`target`](Fit::target) or [`density`](Fit::density), and a
    /// [`budget`](Fit::budget); everything else has a default.
    pub fn new(table: &'a Table) -> Self {
        Self::of(Data::Table(Cow::Borrowed(table)))
    }

    /// As [`Fit::new`] for a table that no one else needs.
    pub fn of_table(table: Table) -> Self {
        Self::of(Data::Table(Cow::Owned(table)))
    }

    /// A fit to draws of a simulation, judged against the function or density that it draws from.
    pub fn simulation(simulation: Simulation, train: usize, valid: usize) -> Self {
        Self::of(Data::Simulation {
            simulation,
            train,
            valid,
        })
    }

    fn of(data: Data<'a>) -> Self {
        Self {
            data,
            table: TableOptions::default(),
            exposure: None,
            weights: None,
            noise: None,
            budget: None,
            methods: Method::ALL.to_vec(),
            activations: None,
            iterations: None,
            automatic: false,
            paper: None,
            test_fraction: None,
            refit: None,
            effort: Effort::Standard,
            time: None,
            seed: 0,
            threads: 0,
            device: Device::Cpu,
            runner: None,
            architectures: vec![ArchitectureChoice::Ffn],
            shapes: Vec::new(),
            tokens: false,
            protocol: None,
            equal: None,
            bound: None,
            watch: None,
            all_or_nothing: false,
        }
    }

    /// The column to predict.
    pub fn target(mut self, column: impl Into<String>) -> Self {
        self.table.target = Some(column.into());
        self
    }

    /// What to learn; by default what the target's values suggest.
    pub fn task(mut self, task: TaskKind) -> Self {
        self.table.task = Some(task);
        self
    }

    /// Estimate the density of all columns; there is no target then.
    pub fn density(self) -> Self {
        self.task(TaskKind::Density)
    }

    /// Learn how often something happens: the target is a count with a Poisson law, whose mean the model predicts.
    pub fn counts(self) -> Self {
        self.task(TaskKind::Count)
    }

    /// A column with the exposure of each count: time, area or people that it is out of. Means are proportional to it; it must be there
    /// for predictions too.
    pub fn exposure(mut self, column: impl Into<String>) -> Self {
        self.exposure = Some(column.into());
        self
    }

    /// A column that says how much each row counts, in the fits and in all errors; only ratios matter. Intervals hold for rows, each once.
    pub fn weights(mut self, column: impl Into<String>) -> Self {
        self.weights = Some(column.into());
        self
    }

    /// The noise of a regression; Gaussian by default.
    pub fn noise(mut self, noise: Noise) -> Self {
        self.noise = Some(noise);
        self
    }

    /// A column whose equal values never cross from training to validation or test.
    pub fn group(mut self, column: impl Into<String>) -> Self {
        self.table.group = Some(column.into());
        self
    }

    /// Keep this many consecutive rows together in every split.
    pub fn block(mut self, rows: usize) -> Self {
        self.table.block = Some(rows);
        self
    }

    /// A column that is not an input; may be called again.
    pub fn ignore(mut self, column: impl Into<String>) -> Self {
        self.table.ignore.push(column.into());
        self
    }

    /// The test rows, where they are not to be drawn; rows with equal inputs are then left out of training.
    pub fn test_rows(mut self, rows: impl IntoIterator<Item = usize>) -> Self {
        self.table.test_rows = Some(rows.into_iter().collect());
        self
    }

    /// Something that a person should know about the table, said before its own notes.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.table.notes.push(note.into());
        self
    }

    /// The cap B on trainable numbers.
    pub fn budget(mut self, numbers: usize) -> Self {
        self.budget = Some(numbers);
        self
    }

    /// The methods that compete; all by default.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = methods.into_iter().collect();
        self
    }

    /// The hidden units that compete; all by default.
    pub fn activations(mut self, activations: impl IntoIterator<Item = Activation>) -> Self {
        self.activations = Some(activations.into_iter().collect());
        self
    }

    /// The iteration counts T that loops may have; 2, 4 and 8 by default.
    pub fn iterations(mut self, iterations: impl IntoIterator<Item = usize>) -> Self {
        self.iterations = Some(iterations.into_iter().collect());
        self
    }

    /// Whether all numbers of the paper's form are counted, also those that a change of basis makes redundant; they are not by default,
    /// where the selection is by cross-validation.
    pub fn paper_form(mut self, paper: bool) -> Self {
        self.paper = Some(paper);
        self
    }

    /// Share of the groups that are held out for the test score; 0.2 by default, and 0 gives everything to training.
    pub fn test_fraction(mut self, share: f64) -> Self {
        self.test_fraction = Some(share);
        self
    }

    /// A loop whose iteration count is chosen by penalised likelihood, from all rows that are not for the test: loops of T = 1, 2, 4, ...,
    /// 64 are fitted to all of them, each with a seventh of the updates, and the penalty of the paper's risk bound decides, with a factor
    /// that the fits calibrate.
    pub fn automatic_iterations(mut self) -> Self {
        self.automatic = true;
        self
    }

    /// Whether the delivered model is fitted once more, to all rows; it is by default, except by a stochastic search.
    pub fn refit(mut self, refit: bool) -> Self {
        self.refit = Some(refit);
        self
    }

    /// How long to look.
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    /// Plan the work for this time, in place of an [`effort`](Fit::effort), and take the best there is when it is over.
    pub fn time_limit(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Seed of splits, starts and batches; 0 by default.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// What runs the fits of a stochastic search; the processor unless told. Never changes a result.
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Have the fits of a stochastic search run by this, in place of a [`device`](Fit::device) and its [`threads`](Fit::threads). Of
    /// engines that promise the same bits none changes a result.
    pub fn runner(mut self, runner: Runner) -> Self {
        self.runner = Some(runner);
        self
    }

    /// Number of threads; 0, the default, is one for each core.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Fit post-LN Transformers instead of residual networks, with these data tokens or the usual ones.
    pub fn transformer(mut self, tokens: Option<Tokens>) -> Self {
        self.tokens = tokens.is_some();
        self.architectures = vec![ArchitectureChoice::Transformer(tokens.unwrap_or_default())];
        self
    }

    /// Let residual networks and post-LN Transformers compete.
    pub fn any_architecture(mut self, tokens: Option<Tokens>) -> Self {
        self = self.transformer(tokens);
        self.architectures.insert(0, ArchitectureChoice::Ffn);
        self
    }

    /// Fix the shape of a method: state dimension, width and tying.
    pub fn shape(mut self, q: usize, r: usize, tying: Tying) -> Self {
        self.shapes.push((q, r, tying));
        self
    }

    /// Search by this protocol.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// Bound M of a density's index, within which densities differ by a factor of at most e^(2M); 4 by default.
    pub fn bound(mut self, bound: f32) -> Self {
        self.bound = Some(bound);
        self
    }

    /// What the methods of a comparison by stochastic search have in common besides the cap; the same number of updates by default.
    pub fn equal(mut self, equal: Equal) -> Self {
        self.equal = Some(equal);
        self
    }

    /// Call this some twenty times a second and once at the end, from a thread of its own, with how far the work is; `Break` takes the best there is so far.
    pub fn progress(
        mut self,
        watch: impl Fn(Progress) -> ControlFlow<()> + Sync + Send + 'a,
    ) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Whether `Break` of [`Fit::progress`] takes nothing in place of the best there is so far: the work then ends as soon as it can, with
    /// [`Error::Cancelled`].
    pub fn all_or_nothing(mut self, all_or_nothing: bool) -> Self {
        self.all_or_nothing = all_or_nothing;
        self
    }

    /// Checks the options and deals the rows; what comes back says what is going to happen, and does it.
    pub fn prepare(self) -> Result<Plan<'a>, Error> {
        Plan::new(self)
    }

    /// Selects, fits and judges.
    pub fn run(self) -> Result<Fits, Error> {
        self.prepare()?.run()
    }

    /// As [`Fit::prepare`], for a comparison.
    pub fn prepare_comparison(
        self,
        seeds: impl IntoIterator<Item = u64>,
    ) -> Result<ComparisonPlan<'a>, Error> {
        ComparisonPlan::new(self, seeds.into_iter().collect())
    }

    /// Does the same for every seed and sets the methods side by side. Where the selection is by cross-validation every seed has test rows,
    /// folds and starts of its own; where a stochastic search is made, the test rows of the first.
    pub fn compare(self, seeds: impl IntoIterator<Item = u64>) -> Result<Comparison, Error> {
        self.prepare_comparison(seeds)?.run()
    }

    /// As [`Fit::prepare`], for the error against the cap.
    pub fn prepare_curve(self) -> Result<CurvePlan<'a>, Error> {
        CurvePlan::new(self)
    }

    /// The error against the cap, from one selection under each of these caps, or under the usual ones if there are none: how many numbers
    /// the rows need. All rows are for the selection, and the budget plays no part.
    pub fn curve(self, caps: impl IntoIterator<Item = usize>) -> Result<Curve, Error> {
        self.prepare_curve()?.run(caps)
    }

    /// What runs the fits.
    pub(crate) fn take_runner(&mut self) -> Result<Runner, Error> {
        match self.runner.take() {
            Some(runner) => Ok(runner),
            None => Ok(Runner::new(self.device, self.threads)?),
        }
    }

    fn iteration_counts(&self) -> Vec<usize> {
        self.iterations
            .clone()
            .unwrap_or_else(|| LOOP_ITERATIONS.to_vec())
    }

    pub(crate) fn has_test_rows(&self) -> bool {
        self.share_of_test_rows() > 0.0 || self.table.test_rows.is_some()
    }

    fn share_of_test_rows(&self) -> f64 {
        self.test_fraction.unwrap_or(TEST_FRACTION)
    }
}

impl std::fmt::Debug for Fit<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fit")
            .field("target", &self.table.target)
            .field("budget", &self.budget)
            .field("methods", &self.methods)
            .field("effort", &self.effort)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}
