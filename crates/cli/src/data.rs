//! DATA on the command line: a file, standard input or a simulation.

use crate::exit::usage;
use anyhow::Result;
use clap::{Args, ValueEnum};
use loopfit_data::table::Delimiter;
use loopfit_data::{ReadOptions, Simulation, Table, TaskKind};
use loopfit_search::replication::{Noise, Source, TableOptions, TableSource};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What DATA names.
#[derive(Clone, Debug)]
pub(crate) enum DataName {
    File(PathBuf),
    Simulation(Simulation),
}

impl DataName {
    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Simulation(_) => None,
        }
    }
}

impl FromStr for DataName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("sim:") {
            Some(name) => name
                .parse()
                .map(Self::Simulation)
                .map_err(|e: loopfit_data::simulation::UnknownSimulation| e.to_string()),
            None => Ok(Self::File(PathBuf::from(text))),
        }
    }
}

/// How a file is read.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReadArguments {
    /// Whether the first line names the columns; guessed by default.
    #[arg(long, value_name = "yes|no")]
    header: Option<YesNo>,
    /// What separates cells; guessed by default.
    #[arg(long, value_name = "NAME")]
    delimiter: Option<DelimiterName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YesNo {
    Yes,
    No,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DelimiterName {
    Comma,
    Semicolon,
    Tab,
    Bar,
    Whitespace,
}

impl ReadArguments {
    fn refuse_for_simulation(&self) -> Result<()> {
        if self.header.is_some() || self.delimiter.is_some() {
            return Err(usage(
                "--header and --delimiter are for files: leave them out for a simulation"
                    .to_string(),
            ));
        }
        Ok(())
    }

    fn options(&self) -> ReadOptions {
        ReadOptions {
            header: self.header.map(|h| h == YesNo::Yes),
            delimiter: self.delimiter.map(|d| match d {
                DelimiterName::Comma => Delimiter::Comma,
                DelimiterName::Semicolon => Delimiter::Semicolon,
                DelimiterName::Tab => Delimiter::Tab,
                DelimiterName::Bar => Delimiter::Bar,
                DelimiterName::Whitespace => Delimiter::Whitespace,
            }),
        }
    }

    /// The rows of DATA; of a simulation, its test observations for a seed.
    pub(crate) fn table(&self, name: &DataName, seed: Option<u64>) -> Result<Table> {
        match name {
            DataName::File(_) if seed.is_some() => Err(usage(
                "--seed is for simulations: leave it out for a file".to_string(),
            )),
            DataName::File(path) => Ok(Table::read(path, &self.options())?),
            DataName::Simulation(simulation) => {
                self.refuse_for_simulation()?;
                let seed = seed.unwrap_or(0);
                let draw = simulation.draw(seed, 0, 0, SIMULATED_ROWS);
                Ok(draw.test.to_table(&format!("sim:{}", simulation.name())))
            }
        }
    }
}

/// Test observations of a simulation when it stands for a table (F.4.1).
const SIMULATED_ROWS: usize = 32_768;

/// What is learned from DATA.
#[derive(Args, Clone, Debug)]
pub(crate) struct LearnArguments {
    /// A csv or tsv file, `-` for standard input, or a simulation such as sim:bumps.
    pub(crate) data: DataName,
    /// The column to predict.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    target: Option<String>,
    /// What to learn; inferred from the target by default.
    #[arg(long)]
    task: Option<TaskName>,
    /// Noise model of a regression; gaussian by default.
    #[arg(long)]
    likelihood: Option<NoiseName>,
    /// A column whose equal values never cross from training to validation or test.
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    group: Option<String>,
    /// Keep this many consecutive rows together in a split.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    block: Option<u64>,
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

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TaskName {
    Regression,
    Binary,
    Multiclass,
    Density,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NoiseName {
    Gaussian,
    Laplace,
}

/// Parses a number of rows, inputs or outputs.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    between(text, 1, 10_000_000)
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

fn between(text: &str, least: usize, most: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        Ok(_) => Err(format!("it must be at least {least} and at most {most}")),
        Err(e) => Err(e.to_string()),
    }
}

impl LearnArguments {
    /// The source of replications; `test_seed` fixes the test rows of a table.
    pub(crate) fn source(&self, test_seed: u64) -> Result<Source> {
        match &self.data {
            DataName::Simulation(simulation) => self.simulation(*simulation),
            DataName::File(_) => self.table(test_seed),
        }
    }

    fn simulation(&self, simulation: Simulation) -> Result<Source> {
        self.read.refuse_for_simulation()?;
        let name = simulation.name();
        let target = (!simulation.is_density()).then_some("y");
        if self.target.is_some() && self.target.as_deref() != target {
            return Err(match target {
                Some(y) => usage(format!(
                    "the target of sim:{name} is `{y}`: leave --target out"
                )),
                None => usage(format!(
                    "sim:{name} is a density without a target: leave --target out"
                )),
            });
        }
        let given = [
            (self.task.is_some(), "--task"),
            (self.group.is_some(), "--group"),
            (self.block.is_some(), "--block"),
            (!self.ignore.is_empty(), "--ignore"),
        ];
        if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
            return Err(usage(format!(
                "{option} is for tables and sim:{name} is a simulation: leave it out"
            )));
        }
        let (train, valid) = (self.train.unwrap_or(4096), self.valid.unwrap_or(1024));
        Ok(Source::Simulation {
            simulation,
            train,
            valid,
        })
    }

    fn table(&self, test_seed: u64) -> Result<Source> {
        if self.train.is_some() || self.valid.is_some() {
            return Err(usage("--train and --valid are for simulations; of a table, 20% of the groups are test rows and a quarter of the others validation rows".to_string()));
        }
        if self.target.is_none() && !matches!(self.task, Some(TaskName::Density)) {
            return Err(usage("no target column is named: use --target, or --task density for the density of all columns".to_string()));
        }
        if self.target.is_some() && matches!(self.task, Some(TaskName::Density)) {
            return Err(usage(
                "a density has no target: leave out --target or --task density".to_string(),
            ));
        }
        let table = self.read.table(&self.data, None)?;
        let options = TableOptions {
            target: self.target.clone(),
            task: self.task.map(|t| match t {
                TaskName::Regression => TaskKind::Regression,
                TaskName::Binary => TaskKind::Binary,
                TaskName::Multiclass => TaskKind::Multiclass,
                TaskName::Density => TaskKind::Density,
            }),
            group: self.group.clone(),
            block: self.block.map(|b| b as usize),
            ignore: self.ignored(&table),
            test_seed,
            ..TableOptions::default()
        };
        Ok(Source::Table(Box::new(TableSource::new(table, &options)?)))
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

    /// The noise model, if one was named.
    pub(crate) fn noise(&self) -> Option<Noise> {
        self.likelihood.map(|l| match l {
            NoiseName::Gaussian => Noise::Gaussian,
            NoiseName::Laplace => Noise::Laplace,
        })
    }
}
