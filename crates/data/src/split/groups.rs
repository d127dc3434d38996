//! Rows that must stay together.

use loopfit_numerics::stream::Stream;

use super::SplitError;
use crate::preprocess::identifies_rows;
use crate::roles::{Roles, RolesError};
use crate::table::{Column, Table};

/// Rows for each different row of inputs from which on they are not copies of each other, but what a few inputs are seen with.
const REPEATS: usize = 10;

/// A partition of the rows, numbered in the order of first rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    of_row: Vec<u32>,
    count: usize,
}

impl Groups {
    /// Rows stay together if all their inputs are equal (columns that identify rows are no
    /// inputs), if they share a value of the group
    /// column, if they lie in one block of consecutive rows, and by any chain of these.
    ///
    /// # Reference
    /// F.4.6: exact duplicate feature rows remain in one split group.
    pub fn new(table: &Table, roles: &Roles, block: Option<usize>) -> Result<Self, SplitError> {
        Self::of(table, roles, block, |_| true)
    }

    /// The same, but rows with equal inputs are apart where few inputs are seen often, as those of categories alone are: ten rows or more for
    /// each different row of inputs. A new row will have one of these, and so should the rows that are held out.
    pub fn apart_if_few(
        table: &Table,
        roles: &Roles,
        block: Option<usize>,
    ) -> Result<Self, SplitError> {
        let different = |equal: &mut Links| {
            let rows = 0..table.rows();
            rows.filter(|row| equal.root(*row) == *row).count()
        };
        Self::of(table, roles, block, |equal| {
            REPEATS * different(equal) > table.rows()
        })
    }

    /// Groups in which rows with equal inputs are together if `are_together` says so of them.
    fn of(
        table: &Table,
        roles: &Roles,
        block: Option<usize>,
        are_together: impl Fn(&mut Links) -> bool,
    ) -> Result<Self, SplitError> {
        let column = |name: &str| {
            let column = table.column(name);
            column.ok_or_else(|| SplitError::from(RolesError::no_column(table, name, &[])))
        };
        let mut links = Links::new(table.rows());
        let inputs = roles.inputs.iter().map(|name| column(name));
        let mut inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        inputs.retain(|input| !identifies_rows(input));
        links.join_equal(&inputs);
        if !are_together(&mut links) {
            links = Links::new(table.rows());
        }
        if let Some(name) = &roles.group {
            let group = column(name)?;
            if let Some(row) = (0..table.rows()).find(|row| group.is_missing(*row)) {
                return Err(SplitError::MissingGroup {
                    column: name.clone(),
                    row: row + 1,
                });
            }
            links.join_equal(&[group]);
        }
        match block {
            Some(0) => return Err(SplitError::EmptyBlocks),
            Some(block) => {
                for row in (0..table.rows()).filter(|row| row % block != 0) {
                    links.join(row - 1, row);
                }
            }
            None => {}
        }
        Ok(links.into_groups())
    }

    /// Number of groups.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.of_row.len()
    }

    /// The group of a row.
    pub fn of_row(&self, row: usize) -> usize {
        self.of_row[row] as usize
    }
}

/// A forest over the rows whose roots are the first rows of their trees (Tarjan's
/// union-find, with path halving).
struct Links {
    parent: Vec<u32>,
}

impl Links {
    fn new(rows: usize) -> Self {
        Self {
            parent: (0..rows as u32).collect(),
        }
    }

    fn root(&mut self, row: usize) -> usize {
        let mut row = row;
        while self.parent[row] as usize != row {
            let grandparent = self.parent[self.parent[row] as usize];
            self.parent[row] = grandparent;
            row = grandparent as usize;
        }
        row
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b) as u32;
    }

    /// Joins rows that agree in all columns.
    fn join_equal(&mut self, columns: &[&Column]) {
        // Sorting by hash brings equal rows together; equality itself is checked cell by cell.
        let mut hashes = vec![0; self.parent.len()];
        for column in columns {
            for (row, hash) in hashes.iter_mut().enumerate() {
                *hash = Stream::new(*hash).bits(cell(column, row));
            }
        }
        let mut order: Vec<(u64, u32)> = hashes.into_iter().zip(0..).collect();
        order.sort_unstable();
        for run in order.chunk_by(|a, b| a.0 == b.0) {
            for (i, (_, row)) in run.iter().enumerate().skip(1) {
                let row = *row as usize;
                let equal = run[..i]
                    .iter()
                    .map(|(_, other)| *other as usize)
                    .find(|other| {
                        let mut columns = columns.iter();
                        columns.all(|column| cell(column, row) == cell(column, *other))
                    });
                if let Some(other) = equal {
                    self.join(other, row);
                }
            }
        }
    }

    fn into_groups(mut self) -> Groups {
        let mut of_row = Vec::with_capacity(self.parent.len());
        let mut count = 0;
        for row in 0..self.parent.len() {
            let root = self.root(row);
            if root == row {
                of_row.push(count);
                count += 1;
            } else {
                of_row.push(of_row[root]);
            }
        }
        Groups {
            of_row,
            count: count as usize,
        }
    }
}

/// A cell as bits that are equal exactly for equal cells; missing cells are equal.
fn cell(column: &Column, row: usize) -> u64 {
    match column {
        Column::Numeric(values) if values[row].is_nan() => f64::NAN.to_bits(),
        Column::Numeric(values) => values[row].to_bits(),
        Column::Categorical(c) => u64::from(c.codes[row]),
    }
}
