//! Rows for a fitted model on the command line: columns by name, or by position where a file has no names.

use crate::data::{DataName, ReadArguments};
use crate::exit::usage;
use anyhow::{Result, ensure};
use clap::Args;
use loopfit_data::Table;
use loopfit_data::preprocess::{Input, OutsideRange, PreprocessError, Target};
use loopfit_data::table::ReadOptions;
use loopfit_fitted::{ApplyError, FittedModel};
use loopfit_report::number;

/// How the rows of DATA reach a model.
#[derive(Args, Clone, Debug)]
pub(crate) struct RowsArguments {
    /// Seed of a simulation: its function and its rows; 0 by default.
    #[arg(long, value_parser = crate::data::seed)]
    seed: Option<u64>,
    /// The first line holds values: the columns are the model's inputs in the order that `loopfit show` lists, and may be
    /// followed by the target; columns that --id carries along by their numbers may stand anywhere between.
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

    /// An option that was given, if one was.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let own = [
            (self.seed.is_some(), "--seed"),
            (self.no_header, "--no-header"),
        ];
        let given = own.into_iter().find(|(given, _)| *given);
        given
            .map(|(_, option)| option)
            .or_else(|| self.read.given())
    }

    /// All rows, with columns `carried` that are kept as they are written.
    pub(crate) fn table(
        &self,
        data: &DataName,
        model: &FittedModel,
        carried: &[String],
    ) -> Result<Rows> {
        let (options, numbers) = self.options(data, carried)?;
        let (table, notes) = self.read.table(data, self.seed, &options)?;
        let (table, carried) = self.named(table, data, model, carried, &numbers)?;
        Ok(Rows {
            table,
            carried,
            notes,
        })
    }

    /// The same, some rows after another if they come from a text: what is in memory does not grow with the file, so that no
    /// limit holds back a pipe unless one is asked for.
    pub(crate) fn in_parts(
        &self,
        data: &DataName,
        model: &FittedModel,
        carried: &[String],
        mut each: impl FnMut(Rows) -> Result<()>,
    ) -> Result<()> {
        let DataName::File(path) = data else {
            return each(self.table(data, model, carried)?);
        };
        let (mut options, numbers) = self.options(data, carried)?;
        self.read.check(data, self.seed)?;
        if !self.read.bounds_bytes() {
            options.limits.bytes = u64::MAX;
        }
        Table::read_in_parts(path, &options, CELLS_AT_ONCE, |table| {
            let (table, carried) = self.named(table, data, model, carried, &numbers)?;
            each(Rows {
                table,
                carried,
                notes: Vec::new(),
            })
        })
    }

    /// How a file is read for these columns, and their numbers in a file without names.
    fn options(&self, data: &DataName, carried: &[String]) -> Result<(ReadOptions, Vec<usize>)> {
        if self.no_header && data.file().is_none() {
            return Err(usage("--no-header is for files: leave it out".to_string()));
        }
        let numbers: Vec<usize> = match self.no_header {
            true => carried
                .iter()
                .map(|id| column_number(id))
                .collect::<Result<_>>()?,
            false => Vec::new(),
        };
        let mut options = self.read.options();
        options.verbatim = match self.no_header {
            true => numbers.iter().map(|number| format!("c{number}")).collect(),
            false => carried.to_vec(),
        };
        let repeated = |i: &usize| options.verbatim[..*i].contains(&options.verbatim[*i]);
        if let Some(i) = (0..carried.len()).find(repeated) {
            return Err(usage(format!(
                "--id {} is there twice: leave one out",
                carried[i]
            )));
        }
        if self.no_header {
            options.header = Some(false);
        }
        Ok((options, numbers))
    }

    /// A table with the names that the model knows, and those of the columns to carry along.
    fn named(
        &self,
        table: Table,
        data: &DataName,
        model: &FittedModel,
        carried: &[String],
        numbers: &[usize],
    ) -> Result<(Table, Vec<String>)> {
        if self.no_header {
            return by_position(table, model, numbers);
        }
        check_names(&table, model, data)?;
        Ok((table, carried.to_vec()))
    }
}

/// Cells of a text that are in memory at once.
const CELLS_AT_ONCE: usize = 1 << 17;

/// The rows of DATA for a model.
pub(crate) struct Rows {
    pub(crate) table: Table,
    /// Names of the columns to carry along.
    pub(crate) carried: Vec<String>,
    /// What a person should know beside the table's own notes.
    pub(crate) notes: Vec<String>,
}

/// The number of a column without a name: `3` or, as it is called elsewhere, `c3`.
fn column_number(id: &str) -> Result<usize> {
    let digits = id.strip_prefix('c').unwrap_or(id);
    let number = digits.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        usage(format!(
            "--id {id} is not a column of a file without names: give its number, counted from 1"
        ))
    })
}

/// Says what is missing where a file without names meets a model that wants them.
fn check_names(table: &Table, model: &FittedModel, data: &DataName) -> Result<()> {
    let inputs: Vec<&str> = model
        .preprocessing
        .inputs()
        .iter()
        .map(Input::name)
        .collect();
    let numbered = |(i, name): (usize, &String)| *name == format!("c{}", i + 1);
    let without_names = data.file().is_some() && table.names().iter().enumerate().all(numbered);
    let known = inputs.iter().any(|name| table.column(name).is_some());
    ensure!(
        known || !without_names,
        "`{}` has no column names, and the model reads {}: add --no-header if its columns are these, in this order",
        table.source(),
        inputs.join(", ")
    );
    Ok(())
}

/// The table with the model's names: of its inputs, and of its target if there is one column more. Columns that are carried
/// along, by their numbers, are others if so many are left without them; their names come back.
fn by_position(
    table: Table,
    model: &FittedModel,
    carried: &[usize],
) -> Result<(Table, Vec<String>)> {
    let inputs = model.preprocessing.inputs().iter().map(Input::name);
    let target = model.preprocessing.target().map(Target::name);
    let mut names: Vec<String> = inputs.chain(target).map(String::from).collect();
    let found = table.names().len();
    if let Some(number) = carried.iter().find(|number| **number > found) {
        return Err(usage(format!(
            "--id {number}: `{}` has {}",
            table.source(),
            number::count(found, "column")
        )));
    }
    let without = names.len() - usize::from(target.is_some());
    let all = names.len();
    let fits = |columns: usize| columns == all || columns == without;
    if fits(found - carried.len()) {
        let mut order: Vec<usize> = carried.to_vec();
        order.sort_unstable();
        for number in order {
            let mut name = format!("column {number}");
            while names.contains(&name) {
                name.push('_');
            }
            names.insert((number - 1).min(names.len()), name);
        }
    } else {
        ensure!(
            fits(found),
            "`{}` has {}, and the model takes {without}{}: {}",
            table.source(),
            number::count(found, "column"),
            target.map_or(String::new(), |y| format!(" and perhaps `{y}`")),
            names[..without].join(", ")
        );
    }
    names.truncate(found);
    let carried = carried.iter().map(|number| names[number - 1].clone());
    let carried = carried.collect();
    Ok((table.renamed(names), carried))
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
pub(crate) fn outside_note(found: usize, rows: usize) -> Option<String> {
    (found > 0).then(|| {
        format!(
            "rows outside the range of the training rows: {} of {}",
            number::integer(found as u64),
            number::integer(rows as u64)
        )
    })
}
