//! Splits: which rows train, which select and which are held out.
//!
//! Whole groups move, so that no row of a group is predicted by a model that saw another.

mod groups;

pub use groups::Groups;

use loopfit_numerics::stream::Stream;
use loopfit_numerics::text::count;

use crate::levels::{Level, Levels};
use crate::roles::RolesError;
use crate::table::Table;

/// Share of the groups held out for the test (F.4.6).
pub const TEST: f64 = 0.20;
/// Share of the remaining groups used for validation (F.4.6).
pub const VALID: f64 = 0.25;

/// Rows of each part, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// What parameters are fitted on.
    pub train: Vec<usize>,
    /// What settings and checkpoints are selected on.
    pub valid: Vec<usize>,
    /// What is reported.
    pub test: Vec<usize>,
}

/// Why rows cannot be split.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum SplitError {
    /// A column that is not there.
    #[error(transparent)]
    Column(#[from] RolesError),
    /// A row of no group.
    #[error("group column `{column}` has no value in row {row} below the header")]
    MissingGroup {
        /// The column.
        column: String,
        /// Row, from one.
        row: usize,
    },
    /// Blocks of no rows.
    #[error("blocks of 0 rows hold nothing; give a block at least one row")]
    EmptyBlocks,
    /// A class that cannot be in every part.
    #[error(
        "class `{class}` of target `{target}` has {}, and a split into training, validation and test needs 3; merge or remove it",
        count(*rows, "row")
    )]
    RareClass {
        /// The target.
        target: String,
        /// The class.
        class: String,
        /// Its rows.
        rows: usize,
    },
    /// A row without a class.
    #[error("target `{target}` has no value in row {row} below the header; remove such rows")]
    MissingClass {
        /// The target.
        target: String,
        /// Row, from one.
        row: usize,
    },
    /// Nothing to divide.
    #[error(
        "{} of rows {} too few to divide (equal inputs count as one group, and a class in one group stays whole)",
        count(*groups, "group"), if *groups == 1 { "is" } else { "are" }
    )]
    TooFewGroups {
        /// How many groups there are.
        groups: usize,
    },
    /// A fixed test row that does not exist.
    #[error("test row {row} is beyond the table's {rows} rows, counted from zero")]
    NoTestRow {
        /// The row, from zero.
        row: usize,
        /// How many there are.
        rows: usize,
    },
    /// A share that leaves one part empty.
    #[error("a part must be a share between 0 and 1 of the groups, not {fraction}")]
    Fraction {
        /// The share asked for.
        fraction: f64,
    },
}

/// Groups of rows, and the stratum of each: its majority class, or one for all.
#[derive(Clone, Debug)]
pub struct Splitter {
    groups: Groups,
    stratum: Vec<usize>,
    strata: usize,
}

impl Splitter {
    /// Divides groups at random.
    pub fn new(groups: Groups) -> Self {
        Self {
            stratum: vec![0; groups.count()],
            strata: 1,
            groups,
        }
    }

    /// Divides the groups of each class at random; a group counts to the class that most of
    /// its rows have.
    pub fn stratified(groups: Groups, table: &Table, target: &str) -> Result<Self, SplitError> {
        let column = table
            .column(target)
            .ok_or_else(|| RolesError::no_column(table, target, &[]))?;
        let classes = Levels::of(column, 0..table.rows());
        let finder = classes.finder(column);
        let strata = classes.len();
        let mut rows_of_class = vec![0; strata];
        // Only the pairs that occur: groups times classes may be far more than rows.
        let mut pairs = Vec::with_capacity(table.rows());
        for row in 0..table.rows() {
            let Level::Known(class) = finder.get(row) else {
                return Err(SplitError::MissingClass {
                    target: target.to_string(),
                    row: row + 1,
                });
            };
            rows_of_class[class] += 1;
            pairs.push((groups.of_row(row), class));
        }
        if let Some(class) = rows_of_class.iter().position(|rows| *rows < 3) {
            return Err(SplitError::RareClass {
                target: target.to_string(),
                class: classes.names()[class].clone(),
                rows: rows_of_class[class],
            });
        }
        pairs.sort_unstable();
        let mut stratum = vec![0; groups.count()];
        let mut most = vec![0; groups.count()];
        for run in pairs.chunk_by(|a, b| a == b) {
            let (group, class) = run[0];
            if run.len() > most[group] {
                (most[group], stratum[group]) = (run.len(), class);
            }
        }
        Ok(Self {
            groups,
            stratum,
            strata,
        })
    }

    /// Holds out a share of the groups that `rows` belong to: `(kept, held)` rows.
    ///
    /// Within each stratum of `m` groups, `round(fraction m)` are held, at least one and at
    /// most `m - 1`; a single group is kept.
    pub fn divide(
        &self,
        rows: &[usize],
        fraction: f64,
        stream: Stream,
    ) -> Result<(Vec<usize>, Vec<usize>), SplitError> {
        if !(fraction > 0.0 && fraction < 1.0) {
            return Err(SplitError::Fraction { fraction });
        }
        let mut present = vec![false; self.groups.count()];
        for row in rows {
            present[self.groups.of_row(*row)] = true;
        }
        let mut members = vec![Vec::new(); self.strata];
        for group in (0..present.len()).filter(|group| present[*group]) {
            members[self.stratum[group]].push(group);
        }
        let mut held = vec![false; present.len()];
        for (stratum, members) in members.iter().enumerate() {
            let m = members.len();
            if m < 2 {
                continue;
            }
            let count = ((fraction * m as f64).round() as usize).clamp(1, m - 1);
            let mut order = vec![0; m];
            stream.nth(stratum as u64).permute(&mut order);
            for i in &order[..count] {
                held[members[*i as usize]] = true;
            }
        }
        let (out, kept): (Vec<usize>, Vec<usize>) =
            rows.iter().partition(|row| held[self.groups.of_row(**row)]);
        if out.is_empty() {
            return Err(SplitError::TooFewGroups {
                groups: present.iter().filter(|p| **p).count(),
            });
        }
        Ok((kept, out))
    }

    /// Deals the groups that `rows` belong to out to `k` folds (or as many as there are groups), stratum by
    /// stratum: for each fold the positions in `rows` of those that it holds.
    pub fn folds(
        &self,
        rows: &[usize],
        k: usize,
        stream: Stream,
    ) -> Result<Vec<Vec<usize>>, SplitError> {
        let mut present = vec![false; self.groups.count()];
        for row in rows {
            present[self.groups.of_row(*row)] = true;
        }
        let mut members = vec![Vec::new(); self.strata];
        for group in (0..present.len()).filter(|group| present[*group]) {
            members[self.stratum[group]].push(group);
        }
        let groups = members.iter().map(Vec::len).sum();
        let k = k.min(groups);
        if k < 2 {
            return Err(SplitError::TooFewGroups { groups });
        }
        let mut fold = vec![0; present.len()];
        let mut next = 0;
        for (stratum, members) in members.iter().enumerate() {
            let mut order = vec![0; members.len()];
            stream.nth(stratum as u64).permute(&mut order);
            for i in order {
                fold[members[i as usize]] = next % k;
                next += 1;
            }
        }
        let mut folds = vec![Vec::new(); k];
        for (position, row) in rows.iter().enumerate() {
            folds[fold[self.groups.of_row(*row)]].push(position);
        }
        Ok(folds)
    }

    /// Holds out a share of all groups: `(kept, held)` rows.
    pub fn holdout(
        &self,
        fraction: f64,
        stream: Stream,
    ) -> Result<(Vec<usize>, Vec<usize>), SplitError> {
        let rows: Vec<usize> = (0..self.groups.rows()).collect();
        self.divide(&rows, fraction, stream)
    }

    /// The paper's split: [`TEST`] of the groups by one stream, which all replications share,
    /// then [`VALID`] of the others by the replication's own.
    ///
    /// # Reference
    /// F.4.6.
    pub fn split(&self, test: Stream, replication: Stream) -> Result<Split, SplitError> {
        let (rest, test) = self.holdout(TEST, test)?;
        let (train, valid) = self.divide(&rest, VALID, replication)?;
        Ok(Split { train, valid, test })
    }

    /// The paper's split with given test rows: of the groups without a test row, [`VALID`] are
    /// for validation and the others for training. Other rows of a test row's group are in no
    /// part.
    ///
    /// # Reference
    /// F.4.6: SARCOS retains its official test observations, with matching input groups
    /// removed from the training pool.
    pub fn split_given_test(
        &self,
        test: &[usize],
        replication: Stream,
    ) -> Result<Split, SplitError> {
        let rows = self.groups.rows();
        let mut tested = vec![false; self.groups.count()];
        for row in test {
            if *row >= rows {
                return Err(SplitError::NoTestRow { row: *row, rows });
            }
            tested[self.groups.of_row(*row)] = true;
        }
        let rest = (0..rows).filter(|row| !tested[self.groups.of_row(*row)]);
        let (train, valid) = self.divide(&rest.collect::<Vec<_>>(), VALID, replication)?;
        let mut test = test.to_vec();
        test.sort_unstable();
        test.dedup();
        Ok(Split { train, valid, test })
    }
}

#[cfg(test)]
mod tests;
