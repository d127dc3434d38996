//! What columns become, in sentences.

use loopfit_numerics::text::plain;

use super::{Input, PreprocessError, Preprocessing, Target};
use crate::roles::{RolesError, list};
use crate::table::{Column, Table};

impl Preprocessing {
    /// The column of an input or of the target. What it is confused with, if it is not there, is none of the others.
    pub(super) fn find<'t>(
        &self,
        table: &'t Table,
        name: &str,
    ) -> Result<&'t Column, PreprocessError> {
        table.column(name).ok_or_else(|| {
            let inputs = self.inputs.iter().map(Input::name);
            let all = inputs.chain(self.target.as_ref().map(Target::name));
            let others: Vec<&str> = all.filter(|other| *other != name).collect();
            RolesError::no_column(table, name, &others).into()
        })
    }

    /// Which columns hold categories, and what missing cells of these rows count as; nothing where there are none.
    pub fn describe(&self, table: &Table, rows: &[usize]) -> Result<Vec<String>, PreprocessError> {
        let (mut categories, mut missing) = (Vec::new(), Vec::new());
        for input in &self.inputs {
            let name = input.name();
            if let Input::Categorical {
                categories: levels, ..
            }
            | Input::Binary {
                categories: levels, ..
            } = input
            {
                categories.push(format!("`{name}` ({})", list(levels.names())));
            }
            let column = self.find(table, name)?;
            let count = rows.iter().filter(|row| column.is_missing(**row)).count();
            if count > 0 {
                let verb = if count == 1 { "counts" } else { "count" };
                missing.push(format!(
                    "{count} of `{name}` {verb} as {}",
                    counted_as(input)
                ));
            }
        }
        let sentence = |what: &str, parts: Vec<String>| {
            (!parts.is_empty()).then(|| format!("{what}: {}", parts.join("; ")))
        };
        let sentences = [
            sentence("categories", categories),
            sentence("missing cells", missing),
        ];
        Ok(sentences.into_iter().flatten().collect())
    }
}

/// What a missing cell counts as.
fn counted_as(input: &Input) -> String {
    let counted = match input {
        Input::Numeric { median, .. } | Input::Unit { median, .. } => {
            format!("its median {}", plain(rounded(*median)))
        }
        Input::Categorical { .. } => "no category".to_string(),
        Input::Binary { .. } => "the mean of its two categories".to_string(),
    };
    match input.says_missing() {
        true => format!("{counted}, and an input says where they are missing"),
        false => counted,
    }
}

/// To four digits, as a sentence needs.
fn rounded(x: f64) -> f64 {
    format!("{x:.3e}").parse().unwrap_or(x)
}
