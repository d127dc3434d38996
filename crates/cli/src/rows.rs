//! Rows for a fitted model on the command line: columns by name, or by position where a file has no names.

use crate::data::{DataName, ReadArguments};
use crate::exit::usage;
use anyhow::{Result, ensure};
use clap::Args;
use loopfit_data::Table;
use loopfit_data::preprocess::{Input, OutsideRange, PreprocessError, Target};
use loopfit_engine::{ApplyError, FittedModel};
use loopfit_report::number;

/// How the rows of DATA reach a model.
#[derive(Args, Clone, Debug)]
pub(crate) struct RowsArguments {
    /// Seed of a simulation: its function and its rows; 0 by default.
    #[arg(long, value_parser = crate::data::seed)]
    seed: Option<u64>,
    /// The first line holds values: the columns are the model's inputs in the order that `loopfit show` lists, and may be
    /// followed by the target.
    #[arg(long, conflicts_with = "header")]
    no_header: bool,
    #[command(flatten)]
    read: ReadArguments,
}

impl RowsArguments {
    /// The seed of a simulation.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// The rows and what a person should know about them beside the table's own notes. Cells of the columns `verbatim` are kept as they are written.
    pub(crate) fn table(
        &self,
        data: &DataName,
        model: &FittedModel,
        verbatim: &[String],
    ) -> Result<(Table, Vec<String>)> {
        if self.no_header && data.file().is_none() {
            return Err(usage("--no-header is for files: leave it out".to_string()));
        }
        let mut options = self.read.options();
        options.verbatim = verbatim.to_vec();
        if self.no_header {
            options.header = Some(false);
        }
        let (table, notes) = self.read.table(data, self.seed, &options)?;
        Ok(match self.no_header {
            true => (by_position(table, model)?, notes),
            false => (table, notes),
        })
    }
}

/// The table with the model's names: of its inputs, and of its target if there is one column more.
fn by_position(table: Table, model: &FittedModel) -> Result<Table> {
    let inputs = model.preprocessing.inputs().iter().map(Input::name);
    let target = model.preprocessing.target().map(Target::name);
    let mut names: Vec<String> = inputs.chain(target).map(String::from).collect();
    let found = table.names().len();
    let without = names.len() - usize::from(target.is_some());
    ensure!(
        found == names.len() || found == without,
        "`{}` has {found} column{}, and the model takes {without}{}: {}",
        table.source(),
        if found == 1 { "" } else { "s" },
        target.map_or(String::new(), |y| format!(" and perhaps `{y}`")),
        names[..without].join(", ")
    );
    names.truncate(found);
    Ok(table.renamed(names))
}

/// The rows that a model extrapolates to; nothing is known of a model without ranges, which is an error if they are needed.
pub(crate) fn outside<'m>(
    model: &'m FittedModel,
    table: &Table,
    needed: bool,
) -> Result<Option<Vec<OutsideRange<'m>>>> {
    match model.outside_range(table) {
        Err(ApplyError::Preprocess(PreprocessError::NoRange { .. })) if !needed => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// A sentence on rows that a model extrapolates to, if there are some.
pub(crate) fn outside_note(found: &[OutsideRange<'_>], table: &Table) -> Option<String> {
    (!found.is_empty()).then(|| {
        format!(
            "rows outside the range of the training rows: {} of {}",
            number::integer(found.len() as u64),
            number::integer(table.rows() as u64)
        )
    })
}
