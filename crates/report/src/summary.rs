//! The sentence and the three tables that the terminal, Markdown and HTML share.

use crate::number::{Exponent, integer, mean_se, value};
use crate::{Align, Comparison, MethodResult, Table, statistics};

impl MethodResult {
    /// The typical shape, and on how many seeds where others occur too.
    pub(crate) fn shape_summary(&self) -> String {
        let Some(typical) = self.typical() else {
            return String::new();
        };
        match (self.seeds_with(&typical.shape), self.results.len()) {
            (seeds, all) if seeds == all => typical.shape.clone(),
            (seeds, all) => format!("{} ({seeds}/{all})", typical.shape),
        }
    }

    /// The count of distinct trainable scalars, or its range over the seeds.
    pub(crate) fn count_summary(&self) -> String {
        let counts = || self.results.iter().map(|r| r.count as u64);
        match (counts().min(), counts().max()) {
            (Some(low), Some(high)) if low < high => format!("{}–{}", integer(low), integer(high)),
            (Some(count), _) => integer(count),
            _ => String::new(),
        }
    }
}

impl Comparison {
    /// What was compared: problem, cap, seeds and metric.
    pub(crate) fn setting(&self) -> String {
        let seeds = match self.seeds() {
            [seed] => format!("seed {seed}"),
            seeds => format!("{} seeds", seeds.len()),
        };
        format!(
            "{}, at most {} numbers, {seeds}; {}, lower is better",
            self.problem(),
            integer(self.budget() as u64),
            self.metric()
        )
    }

    /// One row per method; the lowest mean is the best row.
    pub(crate) fn methods_table(&self) -> Table {
        let methods = self.methods().iter();
        let exponent = Exponent::column(methods.flat_map(|m| [m.mean(), m.median()]));
        // The answer first: a narrow screen cuts a table off at the right.
        let mut headings = vec![
            ("method", Align::Left),
            (self.mean_heading(), Align::Right),
            ("median", Align::Right),
            ("wins", Align::Right),
            ("shape", Align::Left),
            ("numbers", Align::Right),
        ];
        // An estimate makes no updates.
        let updates = self.methods().iter().any(|m| m.updates > 0);
        if updates {
            headings.push(("updates", Align::Right));
        }
        let mut table = Table::new(headings);
        let wins = self.wins();
        for (at, method) in self.methods().iter().enumerate() {
            let mut cells = vec![
                method.name.clone(),
                mean_se(method.mean(), method.se(), exponent),
                value(method.median(), 3, exponent),
                match self.methods().len() {
                    1 => String::new(),
                    _ => format!("{}/{}", wins[at], self.seeds().len()),
                },
                method.shape_summary(),
                method.count_summary(),
            ];
            if updates {
                cells.push(integer(method.updates));
            }
            if self.best() == Some(at) && self.methods().len() > 1 {
                table.push_best(cells);
            } else {
                table.push(cells);
            }
        }
        table.without_empty_columns()
    }

    /// What the standard errors are, and the fractions after shapes, where there are some.
    pub(crate) fn definition(&self) -> Option<String> {
        let all = self.seeds().len();
        let mut text = (all > 1).then(|| format!("{}.", statistics::SE))?;
        let rare = |m: &&MethodResult| m.shape_summary().ends_with(')');
        if self.methods().iter().any(|m| rare(&m)) {
            text += &format!(
                " A fraction after a shape says on how many of the {all} seeds it was selected."
            );
        }
        Some(text)
    }

    /// One row per paired difference; no rows without a Loop.
    pub(crate) fn paired_table(&self) -> Table {
        let paired = self.paired();
        let exponent = Exponent::column(paired.iter().map(|p| p.mean()));
        let mut table = Table::new([
            ("paired difference", Align::Left),
            (self.mean_heading(), Align::Right),
            ("Loop lower", Align::Right),
        ]);
        for pair in &paired {
            table.push([
                format!("{} − {}", pair.first.name, pair.second.name),
                mean_se(pair.mean(), pair.se(), exponent),
                format!("{}/{}", pair.wins(), self.seeds().len()),
            ]);
        }
        table
    }

    /// One row per seed, one column per method.
    pub(crate) fn seeds_table(&self) -> Table {
        let exponent = Exponent::column(self.methods().iter().flat_map(MethodResult::values));
        let methods = self
            .methods()
            .iter()
            .map(|m| (m.name.as_str(), Align::Right));
        let mut table = Table::new([("seed", Align::Right)].into_iter().chain(methods));
        for (at, seed) in self.seeds().iter().enumerate() {
            let values = self
                .methods()
                .iter()
                .map(|m| value(m.results[at].value, 4, exponent));
            table.push([seed.to_string()].into_iter().chain(values));
        }
        table
    }

    fn mean_heading(&self) -> &'static str {
        if self.seeds().len() > 1 {
            "mean (SE)"
        } else {
            "value"
        }
    }
}
