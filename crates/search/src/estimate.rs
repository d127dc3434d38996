//! The model that a table supports: selection by cross-validation, an honest test score, and a last fit to all rows. Here is what is asked, and
//! the rows that are dealt for it.

mod beside;
mod found;
mod part;
mod run;

use crate::SearchError;
use crate::judge::Judge;
use crate::replication::{Noise, Source, TableSource, bounds, likelihood};
use loopfit_data::{Preprocessing, Task};
use loopfit_fitted::error_name;
use loopfit_likelihood::Likelihood;
use loopfit_model::{Activation, Bounds, Method, Network, Reduced, Tying};
use loopfit_numerics::stream::Stream;
use part::{MANY, Part, thinned};
use std::sync::Arc;

pub(crate) use run::part_of_rows;

pub use found::{Absence, Beside, CLEARLY, Entry, Estimate, NoCap, Rung};
pub use loopfit_estimate::{LOOP_ITERATIONS, PREFERRED};

/// Work of each method at the efforts that have a name, in units of a tenth of a nanosecond of one core.
pub const QUICK: f64 = 7e9;
/// The default.
pub const STANDARD: f64 = 1.6e11;
/// For the last percent.
pub const STRONG: f64 = 6e11;
/// Share of the groups that are test rows, unless another is asked for.
pub const TEST_FRACTION: f64 = 0.2;

/// Bound of the scores of several classes: far from where probabilities change.
const LARGEST_SCORE: f32 = 512.0;
/// Bound of the logarithm of a mean count, from that of all rows: a factor of some hundred millions either way.
const LARGEST_LOG_MEAN: f32 = 20.0;
/// Rows above which one split replaces the folds: usually, and where there is little work to do.
const FOLDS_UP_TO: [usize; 2] = [6000, 800];
/// Rows that a selection looks at, usually and where there is little work to do; divided by the number of scores of several classes, which
/// cost several times as much, in the latter case. The last fit sees all.
const SELECTION_ROWS: [usize; 2] = [24_000, 8000];
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
    /// All rows, prepared as the first part's, where they would have other inputs on their own.
    alike: Option<Part>,
    judge: Option<Judge>,
    test_rows: usize,
    /// What a person should know about rows and columns.
    pub notes: Vec<String>,
    /// The same of all rows, where they select once more.
    again: Vec<String>,
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
            bounds: bounds_of(replication.preprocessing.task()),
            name: replication.source.clone(),
            first: Part {
                samples: Arc::new(problem.train.followed_by(&problem.valid)?),
                preprocessing: replication.preprocessing.clone(),
                folds: vec![(train..train + valid).collect()],
                fresh: Vec::new(),
                further: Vec::new(),
                selected_by: "one split".to_string(),
            },
            whole: None,
            alike: None,
            test_rows: replication.test_rows,
            notes: replication.notes.clone(),
            again: Vec::new(),
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
        let quick = ask.work < STANDARD / 2.0;
        let scores = match task {
            Task::Multiclass { classes } => classes - 1,
            _ => 1,
        };
        let most = match quick {
            true => SELECTION_ROWS[1] / scores,
            false => SELECTION_ROWS[0],
        };
        let selected = thinned(&rest, most, stream.child("rows"));
        let folds_up_to = FOLDS_UP_TO[usize::from(quick)];
        let first = Part::new(source, &selected, Some(folds_up_to), stream)?;
        // A target that cannot be judged is found now, not after the search.
        first.preprocessing.targets(table, &test)?;
        let mut every: Vec<usize> = rest.iter().chain(&test).copied().collect();
        every.sort_unstable();
        let notes_of = |part: &Part, rows: &[usize]| {
            let mut notes = part.preprocessing.notes().to_vec();
            notes.extend(part.preprocessing.describe(table, &every)?);
            let mut features = part.preprocessing.features(table, rows)?;
            // They are told of column by column.
            features.missing = 0;
            notes.extend(features.notes());
            Ok::<_, SearchError>(notes)
        };
        let whole = if ask.refit && every.len() > selected.len() {
            // Several classes cost several times as much.
            let again = !quick && every.len() * scores <= MANY;
            let folded = again.then_some(folds_up_to);
            Some(Part::new(source, &every, folded, stream.child("again"))?)
        } else {
            None
        };
        let notes = notes_of(&first, &rest)?;
        let again = match &whole {
            Some(whole) if !whole.folds.is_empty() => notes_of(whole, &every)?,
            _ => Vec::new(),
        };
        // A rare category or an indicator of missing cells may be an input of all rows and not of those.
        let names = |part: &Part| part.preprocessing.feature_names();
        let alike = match &whole {
            Some(whole) if names(whole) != names(&first) => Some(first.of_rows(table, &every)?),
            _ => None,
        };
        Ok(Self {
            task,
            likelihood: likelihood(task, first.preprocessing.d(), noise)?,
            bounds: bounds_of(task),
            name,
            first,
            whole,
            alike,
            test_rows: test.len(),
            judge: (!test.is_empty()).then(|| Judge::Rows {
                table: table.clone(),
                rows: test,
            }),
            notes,
            again,
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

    /// What the errors are called.
    pub fn error_name(&self) -> &'static str {
        error_name(self.likelihood)
    }

    /// Names of the model's inputs.
    pub fn inputs(&self) -> Vec<String> {
        self.first.preprocessing.feature_names()
    }

    /// The preprocessing of the selection's rows.
    pub fn preprocessing(&self) -> &Preprocessing {
        &self.first.preprocessing
    }

    /// The error of a cap that holds nothing.
    pub(crate) fn nothing_fits(&self, budget: usize, ask: &Ask) -> SearchError {
        SearchError::NothingFits {
            budget,
            d: self.first.samples.d(),
            smallest: self.smallest(ask),
        }
    }

    /// The smallest cap that holds a function: an affine one with all zeros but one, or in the paper's form a network of one channel and one
    /// unit a block.
    pub(crate) fn smallest(&self, ask: &Ask) -> usize {
        let (d, outputs) = (self.first.samples.d(), self.likelihood.outputs());
        let network = |method: &Method| {
            let blocks = if *method == Method::Untied { 2 } else { 1 };
            let tying = Tying::Untied { t: blocks };
            let network = Network::ffn(d, outputs, 1, 1, tying).ok()?;
            Some(network.count())
        };
        let smallest = ask.methods.iter().filter_map(network).min();
        smallest
            .filter(|_| ask.paper)
            .unwrap_or(Reduced::outputs_told(outputs) + 1)
    }
}

/// Scores of classes are hardly bounded: one of them is zero, and of two that were cut to the same bound no one could tell the larger.
fn bounds_of(task: Task) -> Bounds {
    let bounds = bounds(task);
    match task {
        Task::Multiclass { .. } => Bounds {
            output: LARGEST_SCORE,
            ..bounds
        },
        Task::Count => Bounds {
            output: LARGEST_LOG_MEAN,
            ..bounds
        },
        Task::Regression | Task::Binary | Task::Density => bounds,
    }
}
