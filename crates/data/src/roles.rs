//! Which column plays which part.

use crate::table::{Column, Suspicion, Table, is_like_a_number};

/// The parts that columns play: checked against a table, so that later steps can rely on
/// every name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// What is predicted; none for a density.
    pub target: Option<String>,
    /// What it is predicted from.
    pub inputs: Vec<String>,
    /// Rows of one value here never part in a split.
    pub group: Option<String>,
    /// How much a row counts; of a count, its exposure.
    pub weight: Option<String>,
}

/// Why columns cannot play their parts.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RolesError {
    /// A name that no column has.
    #[error("`{file}` has no column `{name}`{hint}; its columns are {columns}")]
    NoColumn {
        /// Where the table came from.
        file: String,
        /// The name.
        name: String,
        /// The nearest name, as part of the sentence.
        hint: String,
        /// The names there are.
        columns: String,
    },
    /// One column twice.
    #[error("column `{name}` cannot be target, group, weight and left out at once: name it once")]
    Twice {
        /// The column.
        name: String,
    },
    /// A column of numbers with a text in it.
    #[error(
        "column `{name}` holds numbers but for {first_text}: correct the cell, leave it empty if it is missing, or leave the column out"
    )]
    TextAmongNumbers {
        /// The column.
        name: String,
        /// The first text and its line.
        first_text: String,
    },
    /// A target of numbers that are written otherwise.
    #[error(
        "target `{name}` must hold numbers or classes, but holds measurements as texts, such as {first_text}{}",
        Suspicion::of_cell(first_text)
    )]
    LikeNumbers {
        /// The column.
        name: String,
        /// The first text and its line.
        first_text: String,
    },
    /// A row without a target.
    #[error("target `{target}` has no value in row {row} below the header; remove such rows")]
    MissingTarget {
        /// The target.
        target: String,
        /// Row, from one.
        row: usize,
    },
    /// No row with a target.
    #[error(
        "target `{target}` has no values: its cells are empty in all rows; name another column, or fill it"
    )]
    EmptyTarget {
        /// The target.
        target: String,
    },
    /// A weight or exposure that is not one.
    #[error(
        "weights and exposures are positive numbers, but column `{name}` does not hold one in row {row} below the header"
    )]
    Weight {
        /// The column.
        name: String,
        /// Row, from one.
        row: usize,
    },
    /// A column of weights or exposures with texts.
    #[error("weights and exposures are positive numbers, but column `{name}` holds {first_text}")]
    WeightText {
        /// The column.
        name: String,
        /// The first text and its line.
        first_text: String,
    },
    /// Nothing left to predict from.
    #[error("`{file}` has no column left as an input")]
    NoInputs {
        /// Where the table came from.
        file: String,
    },
}

impl Roles {
    /// Every column is an input, except the target, the group and those left out.
    pub fn new(
        table: &Table,
        target: Option<&str>,
        group: Option<&str>,
        left_out: &[String],
    ) -> Result<Self, RolesError> {
        let named = target.into_iter().chain(group);
        let named: Vec<&str> = named.chain(left_out.iter().map(String::as_str)).collect();
        for (i, name) in named.iter().enumerate() {
            if !table.names().iter().any(|n| n == name) {
                let others: Vec<&str> = named.iter().copied().filter(|n| n != name).collect();
                return Err(RolesError::no_column(table, name, &others));
            }
            if named[..i].contains(name) {
                return Err(RolesError::Twice {
                    name: name.to_string(),
                });
            }
        }
        let inputs: Vec<String> = table
            .names()
            .iter()
            .filter(|name| !named.contains(&name.as_str()))
            .cloned()
            .collect();
        if inputs.is_empty() {
            return Err(RolesError::NoInputs {
                file: table.source().to_string(),
            });
        }
        for name in target.into_iter().chain(inputs.iter().map(String::as_str)) {
            let is_number = |text: &str| text.parse::<f64>().is_ok();
            let first = |column| measurements(column, is_number);
            if let Some(first_text) = table.column(name).and_then(first) {
                return Err(RolesError::TextAmongNumbers {
                    name: name.to_string(),
                    first_text,
                });
            }
        }
        if let Some(name) = target
            && let Some(column) = table.column(name)
            && let Some(first_text) = measurements(column, is_like_a_number)
        {
            return Err(RolesError::LikeNumbers {
                name: name.to_string(),
                first_text,
            });
        }
        Ok(Self {
            target: target.map(str::to_string),
            inputs,
            group: group.map(str::to_string),
            weight: None,
        })
    }

    /// The columns that have another role or none.
    fn not_inputs<'t>(&self, table: &'t Table) -> Vec<&'t str> {
        let names = table.names().iter().filter(|n| !self.inputs.contains(n));
        names.map(String::as_str).collect()
    }

    /// The same with a column that says how much a row counts, which is not an input: positive numbers in all rows.
    pub fn weighted_by(self, table: &Table, name: &str) -> Result<Self, RolesError> {
        let twice = [&self.target, &self.group].map(Option::as_deref);
        if twice.contains(&Some(name)) {
            return Err(RolesError::Twice {
                name: name.to_string(),
            });
        }
        let column = table
            .column(name)
            .ok_or_else(|| RolesError::no_column(table, name, &self.not_inputs(table)))?;
        let wrong = |row: usize| RolesError::Weight {
            name: name.to_string(),
            row: row + 1,
        };
        match column {
            Column::Numeric(values) => {
                let bad = |v: &f64| !(*v > 0.0 && v.is_finite());
                if let Some(row) = values.iter().position(bad) {
                    return Err(wrong(row));
                }
            }
            Column::Categorical(texts) => {
                return Err(RolesError::WeightText {
                    name: name.to_string(),
                    first_text: texts.first_text.clone(),
                });
            }
        }
        let inputs: Vec<String> = self
            .inputs
            .into_iter()
            .filter(|input| input != name)
            .collect();
        if inputs.is_empty() {
            return Err(RolesError::NoInputs {
                file: table.source().to_string(),
            });
        }
        Ok(Self {
            inputs,
            weight: Some(name.to_string()),
            ..self
        })
    }
}

/// Categories such as `1`, `2`, `3+` are fine; beyond so many different numbers a column
/// holds measurements.
const MOST_NUMERIC_CATEGORIES: usize = 20;

/// The first text of a column that otherwise holds measurements.
fn measurements(column: &Column, is_number: impl Fn(&str) -> bool) -> Option<String> {
    let Column::Categorical(c) = column else {
        return None;
    };
    let numbers = c.categories.iter().filter(|text| is_number(text));
    let numbers = numbers.count();
    let measured = numbers > MOST_NUMERIC_CATEGORIES && 2 * numbers > c.categories.len();
    measured.then(|| c.first_text.clone())
}

impl RolesError {
    /// A row of the target's column has no value.
    pub(crate) fn missing_target(target: &str, column: &Column, row: usize) -> Self {
        let target = target.to_string();
        match (0..column.len()).all(|row| column.is_missing(row)) {
            true => Self::EmptyTarget { target },
            false => Self::MissingTarget {
                target,
                row: row + 1,
            },
        }
    }

    /// A name that no column has, which cannot stand for one of those that are `used` already.
    pub fn no_column(table: &Table, name: &str, used: &[&str]) -> Self {
        let free = table.names().iter().filter(|n| !used.contains(&n.as_str()));
        let hint =
            nearest(name, free).map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
        Self::NoColumn {
            file: table.source().to_string(),
            name: name.to_string(),
            hint,
            columns: list(table.names()),
        }
    }
}

/// The names as part of a sentence, at most twelve of them.
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

/// The name that fewest changes of letters lead to, if those are few.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let changes = |other: &str| edit_distance(&lower, &other.to_lowercase());
    let near = names.min_by_key(|other| changes(other))?;
    let (letters, changed) = (name.chars().count(), changes(near));
    // Something must be left of the name.
    (changed <= letters.div_ceil(3) && changed < letters).then_some(near)
}

/// Levenshtein's distance, one row of the table at a time.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ReadOptions;

    fn table() -> Table {
        let text = "id,age,dose,risk\n1,2,3,4\n";
        Table::from_reader("t.csv", text.as_bytes(), &ReadOptions::default()).unwrap()
    }

    #[test]
    fn inputs_are_what_no_other_part_takes() {
        let roles = Roles::new(&table(), Some("risk"), None, &["id".to_string()]).unwrap();
        assert_eq!(roles.inputs, ["age", "dose"]);
        let density = Roles::new(&table(), None, Some("id"), &[]).unwrap();
        assert_eq!(density.inputs, ["age", "dose", "risk"]);
    }

    #[test]
    fn errors_help() {
        let error = |target, group, out: &[&str]| {
            let out: Vec<String> = out.iter().map(|s| s.to_string()).collect();
            Roles::new(&table(), target, group, &out)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error(Some("Rsik"), None, &[]),
            "`t.csv` has no column `Rsik` (did you mean `risk`?); its columns are id, age, dose, risk"
        );
        assert_eq!(
            error(Some("risk"), None, &["rsik"]),
            "`t.csv` has no column `rsik`; its columns are id, age, dose, risk"
        );
        assert_eq!(
            error(Some("Age"), None, &["y", "z"]),
            "`t.csv` has no column `Age` (did you mean `age`?); its columns are id, age, dose, risk"
        );
        let one = Table::from_reader("t.csv", &b"x,y\n1,2\n"[..], &ReadOptions::default());
        let error_of_one = Roles::new(&one.unwrap(), Some("z"), None, &[]);
        assert_eq!(
            error_of_one.unwrap_err().to_string(),
            "`t.csv` has no column `z`; its columns are x, y"
        );
        assert_eq!(
            error(Some("y"), None, &[]),
            "`t.csv` has no column `y`; its columns are id, age, dose, risk"
        );
        assert_eq!(
            error(Some("risk"), Some("risk"), &[]),
            "column `risk` cannot be target, group, weight and left out at once: name it once"
        );
        assert_eq!(
            error(Some("risk"), None, &["id", "age", "dose"]),
            "`t.csv` has no column left as an input"
        );
    }

    /// Numbers that are written otherwise are no classes.
    #[test]
    fn a_target_that_looks_like_numbers_is_refused() {
        let new = |cell: &dyn Fn(usize) -> String| {
            let rows: String = (0..40).map(|i| format!("{i};{}\n", cell(i))).collect();
            let text = format!("x;y\n{rows}");
            let table = Table::from_reader("t.csv", text.as_bytes(), &ReadOptions::default());
            Roles::new(&table.unwrap(), Some("y"), None, &[])
        };
        for cell in ["$N.5", "N.2%", "N,694"] {
            let error = new(&|i| cell.replace('N', &(i + 1).to_string())).unwrap_err();
            assert!(matches!(error, RolesError::LikeNumbers { .. }), "{error}");
        }
        assert!(new(&|i| format!("{}%", i % 4)).is_ok());
        assert!(new(&|i| format!("c{i}")).is_ok());
    }

    /// Distances from the textbook: kitten to sitting is three changes.
    #[test]
    fn edit_distances() {
        for (a, b, d) in [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "abc", 0)] {
            assert_eq!(edit_distance(a, b), d);
            assert_eq!(edit_distance(b, a), d);
        }
    }
}
