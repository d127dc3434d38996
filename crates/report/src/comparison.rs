//! Single, Loop and Untied of an architecture or two on the same seeds under one cap, and the statistics
//! that every writer shows.

use std::collections::BTreeSet;

use crate::Link;
use crate::statistics::{mean, median, standard_error};

#[cfg(test)]
mod tests;

/// The key, before its architecture, of the methods whose paired differences are reported.
const LOOP: &str = "loop";

/// What is said above links to models.
pub const PAGES: &str = "Models at work";

/// One method on one seed.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedResult {
    /// The fitted shape in the reader's words, e.g. `q=4 r=11 T=16`. Validation may
    /// select another one on another seed.
    pub shape: String,
    /// Distinct trainable scalars of that shape.
    pub count: usize,
    /// The metric, lower is better; NaN when the fit gave none.
    pub value: f64,
}

/// One method on every seed, in the order of the comparison's seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodResult {
    /// The name in JSON: `single`, `loop`, `untied`; an architecture beside the first has its
    /// name behind a hyphen, `loop-transformer`.
    pub key: String,
    /// The name that people read: `Single`, `Loop`, `Untied`, `Loop Transformer`.
    pub name: String,
    /// Optimiser updates spent per seed.
    pub updates: u64,
    /// One result per seed.
    pub results: Vec<SeedResult>,
}

impl MethodResult {
    /// The architecture in the key; empty for the one without a name.
    fn architecture(&self) -> &str {
        self.key.split_once('-').map_or("", |(_, name)| name)
    }

    fn is_loop(&self) -> bool {
        self.key.split('-').next() == Some(LOOP)
    }

    /// The metric on each seed.
    pub fn values(&self) -> Vec<f64> {
        self.results.iter().map(|r| r.value).collect()
    }

    /// Mean over seeds; NaN as soon as one seed has no value.
    pub fn mean(&self) -> f64 {
        mean(&self.values())
    }

    /// Standard error of the mean; none for one seed.
    pub fn se(&self) -> Option<f64> {
        standard_error(&self.values())
    }

    /// Median over seeds; a seed without a value counts as the worst.
    pub fn median(&self) -> f64 {
        median(&self.values())
    }

    /// The result whose shape occurs on most seeds; the earliest seed's among equals.
    pub fn typical(&self) -> Option<&SeedResult> {
        // `max_by_key` keeps the last maximum, hence the reversal.
        self.results
            .iter()
            .rev()
            .max_by_key(|r| self.seeds_with(&r.shape))
    }

    /// On how many seeds `shape` was fitted.
    pub fn seeds_with(&self, shape: &str) -> usize {
        self.results.iter().filter(|r| r.shape == shape).count()
    }
}

/// The difference of two methods, seed by seed; negative favours the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired<'a> {
    /// The method subtracted from.
    pub first: &'a MethodResult,
    /// The method subtracted.
    pub second: &'a MethodResult,
    /// `first - second` on each seed.
    pub differences: Vec<f64>,
}

impl Paired<'_> {
    /// Mean difference; NaN as soon as one seed has none.
    pub fn mean(&self) -> f64 {
        mean(&self.differences)
    }

    /// Standard error of the mean difference; none for one seed.
    pub fn se(&self) -> Option<f64> {
        standard_error(&self.differences)
    }

    /// On how many seeds the first method is the lower one.
    pub fn wins(&self) -> usize {
        self.differences.iter().filter(|d| **d < 0.0).count()
    }
}

/// Why some results do not make a comparison.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComparisonError {
    /// There is nothing to average.
    #[error("a comparison needs at least one seed, and none was given")]
    NoSeeds,
    /// Equal seeds are not independent.
    #[error("seed {seed} occurs twice, which would count one result as two: give distinct seeds")]
    RepeatedSeed {
        /// The seed.
        seed: u64,
    },
    /// There is nothing to compare.
    #[error("a comparison needs at least one method, and none was given")]
    NoMethods,
    /// Keys name the methods in JSON.
    #[error("two methods have the key {key:?}: give each method its own")]
    RepeatedKey {
        /// The key.
        key: String,
    },
    /// Pairing needs every method on every seed.
    #[error(
        "{method} has {found} results for {seeds} seeds: give one per seed, NaN where a fit failed"
    )]
    UnequalLengths {
        /// The method's name.
        method: String,
        /// How many results it has.
        found: usize,
        /// How many seeds there are.
        seeds: usize,
    },
    /// The cap is hard.
    #[error(
        "{method} uses {count} numbers on seed {seed}, over the budget of {budget}: fit a smaller shape"
    )]
    OverBudget {
        /// The method's name.
        method: String,
        /// The seed.
        seed: u64,
        /// How many numbers the shape has.
        count: usize,
        /// How many the cap allows.
        budget: usize,
    },
}

/// Methods compared on the same problem, the same seeds and under the same cap.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    title: String,
    problem: String,
    budget: usize,
    metric: String,
    seeds: Vec<u64>,
    methods: Vec<MethodResult>,
    notes: Vec<String>,
    pages: Vec<Link>,
}

impl Comparison {
    /// Checks that the methods can be compared: distinct seeds and keys, one
    /// result per method and seed, no shape over the budget.
    ///
    /// `problem` is where the data came from, e.g. `sim:bumps`; lower values of
    /// `metric`, e.g. `MSE against f0`, are better.
    pub fn new(
        title: impl Into<String>,
        problem: impl Into<String>,
        budget: usize,
        metric: impl Into<String>,
        seeds: Vec<u64>,
        mut methods: Vec<MethodResult>,
    ) -> Result<Self, ComparisonError> {
        if seeds.is_empty() {
            return Err(ComparisonError::NoSeeds);
        }
        if methods.is_empty() {
            return Err(ComparisonError::NoMethods);
        }
        let mut seen = BTreeSet::new();
        if let Some(&seed) = seeds.iter().find(|seed| !seen.insert(**seed)) {
            return Err(ComparisonError::RepeatedSeed { seed });
        }
        let mut keys = BTreeSet::new();
        if let Some(method) = methods.iter().find(|m| !keys.insert(m.key.as_str())) {
            return Err(ComparisonError::RepeatedKey {
                key: method.key.clone(),
            });
        }
        for method in &mut methods {
            if method.results.len() != seeds.len() {
                return Err(ComparisonError::UnequalLengths {
                    method: method.name.clone(),
                    found: method.results.len(),
                    seeds: seeds.len(),
                });
            }
            for (result, &seed) in method.results.iter_mut().zip(&seeds) {
                if result.count > budget {
                    return Err(ComparisonError::OverBudget {
                        method: method.name.clone(),
                        seed,
                        count: result.count,
                        budget,
                    });
                }
                // A NaN may carry a sign, and a negative one would sort below
                // every number: a failed fit would win.
                if result.value.is_nan() {
                    result.value = f64::NAN;
                }
            }
        }
        Ok(Self {
            title: title.into(),
            problem: problem.into(),
            budget,
            metric: metric.into(),
            seeds,
            methods,
            notes: Vec::new(),
            pages: Vec::new(),
        })
    }

    /// With remarks that belong beside the numbers, one sentence or so each.
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.notes.extend(notes.into_iter().map(Into::into));
        self
    }

    /// With pages beside the report that show models at work.
    pub fn with_pages(mut self, pages: impl IntoIterator<Item = Link>) -> Self {
        self.pages.extend(pages);
        self
    }

    /// What the report is called.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Where the data came from.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// The cap on distinct trainable scalars.
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// What the values measure; lower is better.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// The seeds, in the order of every method's results.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// The methods in the order given.
    pub fn methods(&self) -> &[MethodResult] {
        &self.methods
    }

    /// Remarks that belong beside the numbers.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Pages beside the report that show models at work.
    pub fn pages(&self) -> &[Link] {
        &self.pages
    }

    /// The Loop of each architecture minus every other method of it, and minus the Loops of the
    /// architectures after it, in the order of the methods; empty without a Loop.
    pub fn paired(&self) -> Vec<Paired<'_>> {
        let mut paired = Vec::new();
        for (at, first) in self.methods.iter().enumerate() {
            if !first.is_loop() {
                continue;
            }
            for (other, second) in self.methods.iter().enumerate() {
                let own = other != at && first.architecture() == second.architecture();
                if own || (other > at && second.is_loop()) {
                    let values = first.results.iter().zip(&second.results);
                    paired.push(Paired {
                        first,
                        second,
                        differences: values.map(|(a, b)| a.value - b.value).collect(),
                    });
                }
            }
        }
        paired
    }

    /// On how many seeds each method is strictly below all others; a seed on
    /// which a method has no value is lost to every method that has one, and a
    /// method without competitors wins nothing.
    pub fn wins(&self) -> Vec<usize> {
        let below = |a: f64, b: f64| a < b || (b.is_nan() && !a.is_nan());
        let wins_seed = |method: usize, seed: usize| {
            let value = |m: &MethodResult| m.results[seed].value;
            let own = value(&self.methods[method]);
            let mut others = self
                .methods
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != method);
            self.methods.len() > 1 && others.all(|(_, other)| below(own, value(other)))
        };
        (0..self.methods.len())
            .map(|method| {
                (0..self.seeds.len())
                    .filter(|&s| wins_seed(method, s))
                    .count()
            })
            .collect()
    }

    /// The position of the lowest mean; none when no mean is a number.
    pub fn best(&self) -> Option<usize> {
        let means = self.methods.iter().map(MethodResult::mean).enumerate();
        means
            .filter(|(_, m)| !m.is_nan())
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(i, _)| i)
    }
}
