//! Methods side by side, paired by seed.

use crate::{Error, Method};
use loopfit_numerics::sum::{mean, standard_error};
use std::fmt::{Display, Formatter};

/// Test errors of every method on the same seeds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// What the errors are.
    pub metric: &'static str,
    /// The seeds that were finished.
    pub seeds: Vec<u64>,
    /// The methods, the lowest mean first.
    pub methods: Vec<Compared>,
}

/// The errors of one method.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Compared {
    /// The method, or `linear`.
    pub name: String,
    /// One error for each seed.
    pub errors: Vec<f64>,
}

impl Comparison {
    pub(crate) fn new(
        metric: &'static str,
        seeds: &[u64],
        mut methods: Vec<Compared>,
    ) -> Result<Self, Error> {
        if seeds.is_empty() {
            return Err(Error::Cancelled);
        }
        methods.sort_by(|a, b| a.mean().total_cmp(&b.mean()));
        Ok(Self {
            metric,
            seeds: seeds.to_vec(),
            methods,
        })
    }

    /// On how many seeds each method has the lowest error, in the order of the methods.
    pub fn lowest_on(&self) -> Vec<usize> {
        let error = |method: usize, seed: usize| self.methods[method].errors[seed];
        let lowest = |seed: usize| {
            (0..self.methods.len()).min_by(|a, b| error(*a, seed).total_cmp(&error(*b, seed)))
        };
        let mut wins = vec![0; self.methods.len()];
        for winner in (0..self.seeds.len()).filter_map(lowest) {
            wins[winner] += 1;
        }
        wins
    }
}

impl Compared {
    /// What a method is called; none is the linear model.
    pub(crate) fn called(method: Option<Method>) -> String {
        method.map_or("linear".to_string(), |method| method.to_string())
    }

    /// The mean over seeds.
    pub fn mean(&self) -> f64 {
        mean(&self.errors)
    }

    /// Its standard error: the standard deviation over seeds divided by the root of their number.
    pub fn standard_error(&self) -> f64 {
        standard_error(&self.errors)
    }
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (method, wins) in self.methods.iter().zip(self.lowest_on()) {
            writeln!(
                f,
                "{}: {} {:.4e} ({:.1e}), lowest on {wins} of {}",
                method.name,
                self.metric,
                method.mean(),
                method.standard_error(),
                self.seeds.len()
            )?;
        }
        Ok(())
    }
}
