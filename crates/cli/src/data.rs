//! DATA on the command line: a file, standard input, a simulation or a set of the catalogue.

use crate::exit::usage;
use crate::named::{named, named_among};
use anyhow::Result;
use clap::{Args, ValueEnum};
use loopfit::{Decimal, Delimiter, Fit, Limits, Noise, ReadOptions, Simulation, Table, TaskKind};
use loopfit_data::DataSet;
use loopfit_data::catalog::Loaded;
use loopfit_data::simulation::SimulationError;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What DATA names.
#[derive(Clone, Debug)]
pub(crate) enum DataName {
    File(PathBuf),
    Simulation(Simulation),
    Set(&'static DataSet),
}

impl DataName {
    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Simulation(_) | Self::Set(_) => None,
        }
    }
}

impl FromStr for DataName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("sim:") {
            name.parse()
                .map(Self::Simulation)
                .map_err(|e: SimulationError| e.to_string())
        } else if let Some(name) = text.strip_prefix("data:") {
            DataSet::find(name)
                .map(Self::Set)
                .map_err(|e| e.to_string())
        } else {
            Ok(Self::File(PathBuf::from(text)))
        }
    }
}

/// A simulation with the seed of its function, `sim:bumps` or `sim:bumps@3`; none where a text names something else.
pub(crate) fn seeded_simulation(text: &str) -> Option<Result<(Simulation, Option<u64>), String>> {
    let name = text.strip_prefix("sim:")?;
    let (name, seed) = match name.split_once('@') {
        None => (name, None),
        Some((name, seed)) => match seed.parse() {
            Ok(seed) => (name, Some(seed)),
            Err(_) => {
                return Some(Err(format!(
                    "`{seed}` is not a seed: write e.g. sim:{name}@3"
                )));
            }
        },
    };
    let parsed: Result<Simulation, SimulationError> = name.parse();
    Some(parsed.map(|s| (s, seed)).map_err(|e| e.to_string()))
}

/// Where the files of the catalogue lie.
#[derive(Args, Clone, Debug)]
pub(crate) struct FolderArgument {
    /// Folder of the data sets data:NAME; the environment's LOOPFIT_DATA by default.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl FolderArgument {
    /// The folder, if one is named.
    pub(crate) fn named(&self) -> Option<PathBuf> {
        let from_environment = || std::env::var_os("LOOPFIT_DATA").filter(|v| !v.is_empty());
        self.data_dir
            .clone()
            .or_else(|| from_environment().map(PathBuf::from))
    }

    /// The folder; `what` needs it, and `filled_by` puts files into it.
    pub(crate) fn required(&self, what: &str, filled_by: Option<&str>) -> Result<PathBuf> {
        let fill = filled_by.map_or(String::new(), |by| format!(", and fill it with `{by}`"));
        self.named().ok_or_else(|| {
            usage(format!(
                "{what} needs a folder for the data sets: name it with --data-dir or LOOPFIT_DATA{fill}"
            ))
        })
    }
}

/// How a file is read.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadArguments {
    /// Whether the first line names the columns; guessed by default.
    #[arg(long, value_name = "yes|no")]
    header: Option<YesNo>,
    /// What separates cells; guessed by default.
    #[arg(long, value_name = "NAME", value_parser = named::<Delimiter>())]
    delimiter: Option<Delimiter>,
    /// How numbers are written, 0.5 or 0,5; guessed by default.
    #[arg(long, value_name = "point|comma", value_parser = named::<Decimal>())]
    decimal: Option<Decimal>,
    /// Longest row that is read, in bytes; 16M by default.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    max_line: Option<u64>,
    /// Most columns that are read; 65536 by default.
    #[arg(long, value_name = "N", value_parser = count)]
    max_columns: Option<usize>,
    /// Most bytes that are read of a pipe, or of a packed file once it is unpacked; 1G by default, but
    /// no bound where `predict` streams.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    max_bytes: Option<u64>,
    #[command(flatten)]
    folder: FolderArgument,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

impl ReadArguments {
    /// An option that was given, if one was.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let folder = self.folder.data_dir.is_some();
        self.of_files().or(folder.then_some("--data-dir"))
    }

    /// An option for files that was given, if one was.
    fn of_files(&self) -> Option<&'static str> {
        let all = [
            (self.header.is_some(), "--header"),
            (self.delimiter.is_some(), "--delimiter"),
            (self.decimal.is_some(), "--decimal"),
            (self.max_line.is_some(), "--max-line"),
            (self.max_columns.is_some(), "--max-columns"),
            (self.max_bytes.is_some(), "--max-bytes"),
        ];
        let given = all.into_iter().find(|(given, _)| *given);
        given.map(|(_, option)| option)
    }

    /// Refuses what says how another kind of DATA is read.
    pub(crate) fn check(&self, name: &DataName, seed: Option<u64>) -> Result<()> {
        let file = matches!(name, DataName::File(_));
        if let (Some(option), false) = (self.of_files(), file) {
            return Err(usage(format!("{option} is for files: leave it out")));
        }
        if !matches!(name, DataName::Set(_)) && self.folder.data_dir.is_some() {
            return Err(usage(
                "--data-dir is for data sets such as data:airfoil: leave it out".to_string(),
            ));
        }
        if seed.is_some() && !matches!(name, DataName::Simulation(_)) {
            return Err(usage(
                "--seed is for simulations: leave it out for a table".to_string(),
            ));
        }
        Ok(())
    }

    /// Whether a bound on the bytes of a pipe or a packed file is asked for.
    pub(crate) fn bounds_bytes(&self) -> bool {
        self.max_bytes.is_some()
    }

    /// A set of the catalogue.
    fn load(&self, set: &DataSet) -> Result<Loaded> {
        let folder = self
            .folder
            .required(&format!("data:{}", set.name), Some("loopfit data fetch"))?;
        Ok(set.load(&folder)?)
    }

    /// How a file is read, as far as it is said.
    pub(crate) fn options(&self) -> ReadOptions {
        let usual = Limits::default();
        ReadOptions {
            header: self.header.map(|h| h == YesNo::Yes),
            delimiter: self.delimiter,
            decimal: self.decimal,
            verbatim: Vec::new(),
            limits: Limits {
                line: self.max_line.unwrap_or(usual.line),
                columns: self.max_columns.unwrap_or(usual.columns),
                bytes: self.max_bytes.unwrap_or(usual.bytes),
            },
        }
    }

    /// The rows of DATA and what a person should know about them beside the table's own notes; of a simulation, its test
    /// observations for a seed. A file is read with these options.
    pub(crate) fn table(
        &self,
        name: &DataName,
        seed: Option<u64>,
        options: &ReadOptions,
    ) -> Result<(Table, Vec<String>)> {
        self.check(name, seed)?;
        Ok(match name {
            DataName::File(path) => (Table::read_with(path, options)?, Vec::new()),
            DataName::Set(set) => {
                let loaded = self.load(set)?;
                (loaded.table, loaded.notes)
            }
            DataName::Simulation(simulation) => {
                let draw = simulation.draw(seed.unwrap_or(0), 0, 0, SIMULATED_ROWS);
                let table = draw.test.to_table(&format!("sim:{simulation}"));
                (table, Vec::new())
            }
        })
    }
}

/// Test observations of a simulation when it stands for a table (F.4.1).
const SIMULATED_ROWS: usize = 32_768;

/// What is learned from DATA.
#[derive(Args, Clone, Debug)]
pub(crate) struct LearnArguments {
    /// A csv or tsv file, `-` for standard input, a simulation such as sim:bumps or
    /// sim:packing:dim=2,smoothness=1.5,bound=100,delta=0.001, or a data set of the paper such as
    /// data:airfoil.
    pub(crate) data: DataName,
    /// The column to predict.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    target: Option<String>,
    /// What to learn; inferred from the target by default.
    #[arg(long, value_parser = named_among(&TASKS))]
    task: Option<TaskKind>,
    /// Law of the target of a regression, poisson for counts; gaussian by default.
    #[arg(long)]
    likelihood: Option<TargetLaw>,
    /// A column with the exposure of each count, such as time or people, which its mean is proportional to.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    exposure: Option<String>,
    /// A column that says how much each row counts.
    #[arg(
        long,
        value_name = "COLUMN",
        allow_hyphen_values = true,
        conflicts_with = "exposure"
    )]
    weight: Option<String>,
    /// A column whose equal values never cross from training to validation or test.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    group: Option<String>,
    /// Keep this many consecutive rows together in a split.
    #[arg(long, value_name = "ROWS", value_parser = count)]
    block: Option<usize>,
    /// A column that is not an input, or several separated by commas; may be repeated.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    ignore: Vec<String>,
    /// Training observations of a simulation; 4096 by default.
    #[arg(long, value_name = "N", value_parser = count)]
    train: Option<usize>,
    /// Validation observations of a simulation; 1024 by default.
    #[arg(long, value_name = "N", value_parser = count)]
    valid: Option<usize>,
    #[command(flatten)]
    read: ReadArguments,
}

/// The tasks that are asked for by name; counts are asked for by their likelihood.
const TASKS: [TaskKind; 4] = [
    TaskKind::Regression,
    TaskKind::Binary,
    TaskKind::Multiclass,
    TaskKind::Density,
];

/// The law of a target: its noise, or that it is a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TargetLaw {
    Gaussian,
    Laplace,
    Poisson,
}

impl TargetLaw {
    fn apply(self, fit: Fit<'_>) -> Fit<'_> {
        match self {
            Self::Gaussian => fit.noise(Noise::Gaussian),
            Self::Laplace => fit.noise(Noise::Laplace),
            Self::Poisson => fit.counts(),
        }
    }
}

/// Parses a number of rows, inputs or outputs.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    between(text, 1, 10_000_000)
}

/// Parses a number of bytes, such as `1000000`, `1e6`, `64M` or `2G`.
fn bytes(text: &str) -> Result<u64, String> {
    let upper = text.to_ascii_uppercase();
    let in_unit = |(unit, shift)| Some((upper.strip_suffix(unit)?, shift));
    let units = [("K", 10), ("M", 20), ("G", 30)];
    let (digits, shift) = units.into_iter().find_map(in_unit).unwrap_or((&upper, 0));
    let number = whole(digits).ok_or_else(|| {
        format!("`{text}` is not a number of bytes: write it as 1000000, 1e6, 64M or 2G")
    })?;
    match number.checked_mul(1 << shift) {
        Some(bytes) if bytes > 0 && bytes <= 1 << 50 => Ok(bytes),
        _ => Err("it must be at least 1 and at most 1048576G".to_string()),
    }
}

/// Parses a number of replications, all of which are held in memory.
pub(crate) fn replications(text: &str) -> Result<usize, String> {
    between(text, 1, 1000)
}

/// Parses a number of updates: so many that every start of a search has one.
pub(crate) fn updates(text: &str) -> Result<usize, String> {
    between(text, 32, 1_000_000_000_000)
}

/// Parses a cap B.
pub(crate) fn cap(text: &str) -> Result<usize, String> {
    between(text, 1, 100_000)
}

/// Parses a number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    between(text, 0, 1024)
}

/// Parses a number of shares.
pub(crate) fn shares(text: &str) -> Result<usize, String> {
    between(text, 1, 10_000)
}

/// Parses the seconds before a time limit that a signal comes: Slurm has 16 bits for them.
pub(crate) fn grace(text: &str) -> Result<usize, String> {
    between(text, 1, 65_535)
}

/// Parses the bound of a density's index.
pub(crate) fn index_bound(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(bound) if bound > 0.0 && bound <= 64.0 => Ok(bound),
        Ok(_) => Err("it must be above 0 and at most 64".to_string()),
        Err(e) => Err(e.to_string()),
    }
}

/// Parses a whole number whose bounds the library knows.
pub(crate) fn natural(text: &str) -> Result<usize, String> {
    let number = whole(text).and_then(|n| usize::try_from(n).ok());
    number.ok_or_else(|| "it must be a whole number, not below 0".to_string())
}

/// Parses a seed.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    whole(text).ok_or_else(|| format!("it must be a whole number from 0 to {}", u64::MAX))
}

/// Parses a whole number within bounds, also as 1e3.
pub(crate) fn between(text: &str, least: usize, most: usize) -> Result<usize, String> {
    match natural(text) {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        _ => Err(format!(
            "it must be a whole number, at least {least} and at most {most}"
        )),
    }
}

/// A whole number, also as 1e3.
pub(crate) fn whole(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| {
        let float: f64 = text.parse().ok()?;
        ((0.0..u64::MAX as f64).contains(&float) && float.fract() == 0.0).then_some(float as u64)
    })
}

/// DATA that was read.
pub(crate) enum Read {
    File(Table),
    Set(&'static DataSet, Loaded),
    Simulation(Simulation),
}

impl LearnArguments {
    /// Reads DATA, if its options make sense together.
    pub(crate) fn read(&self) -> Result<Read> {
        self.read.check(&self.data, None)?;
        if !matches!(self.data, DataName::Simulation(_))
            && (self.train.is_some() || self.valid.is_some())
        {
            return Err(usage("--train and --valid are for simulations: leave them out; --test-fraction says how many rows of a table are held out".to_string()));
        }
        match &self.data {
            DataName::Simulation(simulation) => self.simulation(*simulation),
            DataName::File(path) => self.table(path),
            DataName::Set(set) => self.set(set),
        }
    }

    fn simulation(&self, simulation: Simulation) -> Result<Read> {
        let name = simulation;
        if self.target.is_some() {
            return Err(usage(match simulation.is_density() {
                true => format!("sim:{name} is a density without a target: leave --target out"),
                false => format!("sim:{name} has its own target: leave --target out"),
            }));
        }
        let given = [
            (self.task.is_some(), "--task"),
            (self.group.is_some(), "--group"),
            (self.block.is_some(), "--block"),
            (!self.ignore.is_empty(), "--ignore"),
            (self.exposure.is_some(), "--exposure"),
            (self.weight.is_some(), "--weight"),
            (self.counts(), "--likelihood poisson"),
        ];
        if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
            return Err(usage(format!(
                "{option} is for tables and sim:{name} is a simulation: leave it out"
            )));
        }
        Ok(Read::Simulation(simulation))
    }

    /// Whether the target is a count.
    fn counts(&self) -> bool {
        self.likelihood == Some(TargetLaw::Poisson)
    }

    fn table(&self, path: &Path) -> Result<Read> {
        if self.counts() && self.task.is_some_and(|task| task != TaskKind::Regression) {
            return Err(usage(
                "--likelihood poisson is for counts: leave --task out".to_string(),
            ));
        }
        if self.target.is_none() && !matches!(self.task, Some(TaskKind::Density)) {
            return Err(usage("no target column is named: use --target, or --task density for the density of all columns".to_string()));
        }
        if self.target.is_some() && matches!(self.task, Some(TaskKind::Density)) {
            return Err(usage(
                "a density has no target: leave out --target or --task density".to_string(),
            ));
        }
        Ok(Read::File(Table::read_with(path, &self.read.options())?))
    }

    /// A set of the catalogue, which knows its target, task and blocks.
    fn set(&self, set: &'static DataSet) -> Result<Read> {
        let name = set.name;
        let contradicted = [
            (
                "--target",
                self.target.as_deref().is_some_and(|t| t != set.target),
            ),
            ("--task", self.task.is_some_and(|t| t != set.task)),
            ("--block", self.block.is_some_and(|b| Some(b) != set.block)),
            ("--likelihood poisson", self.counts()),
        ];
        if let Some((option, _)) = contradicted.iter().find(|(_, wrong)| *wrong) {
            return Err(usage(format!(
                "data:{name} has the target, task and blocks of the paper: leave {option} out"
            )));
        }
        Ok(Read::Set(set, self.read.load(set)?))
    }

    /// A fit to what was read.
    pub(crate) fn fit<'a>(&self, read: &'a Read) -> Fit<'a> {
        let (mut fit, table) = match read {
            Read::Simulation(simulation) => {
                let (train, valid) = (self.train.unwrap_or(4096), self.valid.unwrap_or(1024));
                (Fit::simulation(*simulation, train, valid), None)
            }
            Read::File(table) => {
                let mut fit = Fit::new(table);
                fit = given(fit, self.target.clone(), Fit::target);
                fit = given(fit, self.task, Fit::task);
                (given(fit, self.block, Fit::block), Some(table))
            }
            Read::Set(set, loaded) => {
                let mut fit = Fit::new(&loaded.table).target(set.target).task(set.task);
                fit = given(fit, set.block, Fit::block);
                fit = given(fit, loaded.official_test.clone(), Fit::test_rows);
                (
                    loaded.notes.iter().fold(fit, Fit::note),
                    Some(&loaded.table),
                )
            }
        };
        fit = given(fit, self.group.clone(), Fit::group);
        let ignored = table.map_or(Vec::new(), |table| self.ignored(table));
        fit = ignored.into_iter().fold(fit, Fit::ignore);
        fit = given(fit, self.exposure.clone(), Fit::exposure);
        fit = given(fit, self.weight.clone(), Fit::weights);
        match self.likelihood {
            Some(likelihood) => likelihood.apply(fit),
            None => fit,
        }
    }

    /// The columns to ignore: a text that names a column is that column, any other is a list.
    fn ignored(&self, table: &Table) -> Vec<String> {
        let lists = self
            .ignore
            .iter()
            .flat_map(|text| match table.column(text) {
                Some(_) => vec![text.clone()],
                None => text
                    .split(',')
                    .map(|name| name.trim().to_string())
                    .collect(),
            });
        lists.collect()
    }
}

/// A fit with an option, if that was given.
pub(crate) fn given<'a, T>(
    fit: Fit<'a>,
    value: Option<T>,
    with: impl FnOnce(Fit<'a>, T) -> Fit<'a>,
) -> Fit<'a> {
    match value {
        Some(value) => with(fit, value),
        None => fit,
    }
}
