//! What a store says: values by point and method, and what they cost.

use crate::StudyError;
use crate::contender::Contender;
use crate::efforts::{self, Effort};
use crate::protocol::{Case, Named, Study};
use crate::shortlist::Screened;
use crate::store::Store;
use crate::task::Phase;
use loopfit_data::Preprocessing;
use loopfit_fitted::error_of_loss;
use loopfit_model::{Method, Network};
use loopfit_numerics::sum;
use loopfit_report::statistics::{median, standard_error};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One model's test result.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Test split of a table.
    pub split: Option<u64>,
    /// Seed of the replication.
    pub seed: u64,
    /// The metric; NaN if the model gave none.
    pub value: f64,
    /// The selected shape; none for a baseline.
    pub network: Option<Network>,
    /// The task and fit in the store.
    pub fit: Option<(String, String)>,
}

/// One method at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Who it is.
    pub of: Contender,
    /// What reports call it.
    pub label: String,
    /// In the order of splits and seeds.
    pub values: Vec<Value>,
}

impl Entry {
    /// The values alone.
    pub fn numbers(&self) -> Vec<f64> {
        self.values.iter().map(|v| v.value).collect()
    }

    /// The test splits, in order; one for a simulation.
    pub fn splits(&self) -> Vec<Option<u64>> {
        let mut splits: Vec<Option<u64>> = self.values.iter().map(|v| v.split).collect();
        splits.sort_unstable();
        splits.dedup();
        splits
    }

    /// The values on one split.
    pub fn on(&self, split: Option<u64>) -> Vec<f64> {
        let own = self.values.iter().filter(|v| v.split == split);
        own.map(|v| v.value).collect()
    }

    /// Mean over all values.
    pub fn mean(&self) -> f64 {
        sum::mean(&self.numbers())
    }

    /// Standard error of the mean over seeds, for the test splits as they are.
    ///
    /// # Formula
    /// `sqrt(sum_s se_s^2) / S` over the S splits.
    pub fn se(&self) -> Option<f64> {
        let splits = self.splits();
        let squares: Option<f64> = splits
            .iter()
            .map(|split| standard_error(&self.on(*split)).map(|se| se * se))
            .sum();
        squares.map(|squares| squares.sqrt() / splits.len() as f64)
    }

    /// Standard deviation between the means of test splits.
    pub fn split_sd(&self) -> Option<f64> {
        let means: Vec<f64> = self
            .splits()
            .iter()
            .map(|split| sum::mean(&self.on(*split)))
            .collect();
        (means.len() > 1).then(|| sum::sample_sd(&means))
    }

    /// Median over all values.
    pub fn median(&self) -> f64 {
        median(&self.numbers())
    }

    /// The values minus those of another entry on the same splits and seeds.
    pub fn minus(&self, other: &Self) -> Self {
        let values = self.values.iter().filter_map(|value| {
            let same = |v: &&Value| v.split == value.split && v.seed == value.seed;
            let against = other.values.iter().find(same)?;
            Some(Value {
                value: value.value - against.value,
                ..value.clone()
            })
        });
        Self {
            of: self.of,
            label: format!("{} \u{2212} {}", self.label, other.label),
            values: values.collect(),
        }
    }
}

/// All methods at one case and place, by one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The case.
    pub case: Case,
    /// Place on the axis.
    pub at: Option<f64>,
    /// The cap there.
    pub budget: usize,
    /// What is measured; lower is better.
    pub metric: String,
    /// The methods, fans and baselines.
    pub entries: Vec<Entry>,
}

impl Point {
    /// The entry of a method or baseline.
    pub fn entry(&self, of: impl Into<Contender>) -> Option<&Entry> {
        let of = of.into();
        self.entries.iter().find(|e| e.of == of)
    }

    /// The three methods, as far as they are there.
    pub fn methods(&self) -> impl Iterator<Item = (Method, &Entry)> {
        let of = |method: Method| self.entry(method).map(|entry| (method, entry));
        Method::ALL.into_iter().filter_map(of)
    }

    /// The method with the lowest mean; none where there are no others to be lower than.
    pub fn best(&self) -> Option<Method> {
        if self.methods().count() < 2 {
            return None;
        }
        let finite = self.methods().filter(|(_, e)| e.mean().is_finite());
        finite
            .min_by(|a, b| a.1.mean().total_cmp(&b.1.mean()))
            .map(|(method, _)| method)
    }

    /// On how many splits and seeds a method is strictly below all others; none where it is
    /// alone.
    pub fn wins(&self, method: Method) -> Option<usize> {
        let own = self.entry(method)?;
        if self.methods().count() < 2 {
            return None;
        }
        let lower = |value: &&Value| {
            self.methods()
                .filter(|(other, _)| *other != method)
                .all(|(_, other)| {
                    let same = |v: &&Value| v.split == value.split && v.seed == value.seed;
                    let against = other.values.iter().find(same).map_or(f64::NAN, |v| v.value);
                    value.value < against || (against.is_nan() && !value.value.is_nan())
                })
        };
        Some(own.values.iter().filter(lower).count())
    }
}

/// What the fits of a method cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// Development or confirmation.
    pub phase: String,
    /// The method.
    pub method: String,
    /// Number of fits.
    pub fits: u64,
    /// Their updates.
    pub updates: u64,
    /// Their processor time.
    pub seconds: f64,
}

/// The validation error of a method's best model in a replication: of development, where there is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The case.
    pub case: String,
    /// The method.
    pub method: Method,
    /// Test split, seed and place on the axis.
    pub of: (Option<i64>, i64, Option<u64>),
    /// The error, of a response in units of its standard deviation.
    pub error: f64,
}

/// All that a store says about a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Its name.
    pub name: String,
    /// Its protocol.
    pub study: Study,
    /// By case, place and metric, in the order of the protocol.
    pub points: Vec<Point>,
    /// By phase and method.
    pub costs: Vec<Cost>,
    /// What the screen found.
    pub screened: Vec<Screened>,
    /// The case that the screen selected.
    pub selected: Option<String>,
    /// Where the study has a rule, the validation errors that it chooses by.
    pub validations: Vec<Validation>,
    /// Of a sieve, the fits of each class and route.
    pub(crate) efforts: Vec<Effort>,
    /// What a person should know about the data, case by case.
    pub notes: Vec<String>,
    /// Confirmation tasks with scores, and all that are known.
    pub tasks: (usize, usize),
}

/// A row of scores with what it is about.
struct Row {
    case: String,
    split: Option<i64>,
    seed: i64,
    task: String,
    of: Contender,
    at: Option<f64>,
    fit: Option<String>,
    metric: String,
    value: Option<f64>,
    spec: Option<String>,
}

const SCORES: &str = "SELECT task.\"case\", task.split, task.seed, task.task, choice.name, \
    choice.at, choice.fit, score.metric, score.value, fit.spec \
    FROM task JOIN choice USING (study, task) JOIN score USING (study, task, name) \
    LEFT JOIN fit ON fit.study = task.study AND fit.task = task.task AND fit.fit = choice.fit \
    WHERE task.study = ? AND task.phase = 'confirmation' \
    ORDER BY task.split, task.seed, choice.name, score.metric";

/// Reads the results of a study.
pub fn read(store: &Store, named: &Named) -> Result<Results, StudyError> {
    let (name, study) = (&named.name, &named.study);
    let rows = store.rows(SCORES, [name], |r| {
        let (choice, at): (String, Option<f64>) = (r.get(4)?, r.get(5)?);
        let Some(of) = Contender::of_choice(&choice, at) else {
            return Ok(Err(choice));
        };
        Ok(Ok(Row {
            case: r.get(0)?,
            split: r.get(1)?,
            seed: r.get(2)?,
            task: r.get(3)?,
            of,
            at,
            fit: r.get(6)?,
            metric: r.get(7)?,
            value: r.get(8)?,
            spec: r.get(9)?,
        }))
    })?;
    let nobody = |choice: String| StudyError::Broken {
        path: store.path().display().to_string(),
        what: format!("choice {choice:?}"),
        why: "it names neither a method nor a baseline".to_string(),
    };
    let rows: Result<Vec<Row>, String> = rows.into_iter().collect();
    let rows = rows.map_err(nobody)?;
    let screen = read_screen(store, name)?;
    let scored: Vec<i64> = store.rows(
        "SELECT count(DISTINCT task) FROM score JOIN task USING (study, task) \
         WHERE study = ? AND phase = 'confirmation'",
        [name],
        |r| r.get(0),
    )?;
    let scored = scored.first().copied().unwrap_or_default();
    let confirmed: Vec<&Case> = match &screen {
        Some(screen) => {
            let cases = study.cases.iter();
            cases
                .filter(|c| screen.confirmed.contains(&c.name))
                .collect()
        }
        None => study.cases.iter().collect(),
    };
    let expected = crate::run::confirmation(study, &confirmed).len();
    let screen = screen.unwrap_or_default();
    Ok(Results {
        points: points(study, &rows),
        costs: costs(store, name)?,
        validations: validations(store, study, name)?,
        efforts: efforts::read(store, named)?,
        notes: notes(store, study, name)?,
        selected: screen.selected,
        screened: screen.cases,
        tasks: (scored as usize, expected),
        name: name.clone(),
        study: study.clone(),
    })
}

/// The validation errors that a rule chooses by.
fn validations(store: &Store, study: &Study, name: &str) -> Result<Vec<Validation>, StudyError> {
    if study.rule.is_none() {
        return Ok(Vec::new());
    }
    let phase = match study.way.shortlist() {
        Some(_) => Phase::Development,
        None => Phase::Confirmation,
    };
    let query = "SELECT task.\"case\", task.split, task.seed, choice.at, choice.method, fit.validation, fit.spec \
         FROM task JOIN choice USING (study, task) \
         JOIN fit ON fit.study = task.study AND fit.task = task.task AND fit.fit = choice.fit \
         WHERE task.study = ? AND task.phase = ? ORDER BY task.task, choice.name";
    let rows = store.rows(query, [name, phase.name()], |r| {
        let at: Option<f64> = r.get(3)?;
        let of = (r.get(1)?, r.get(2)?, at.map(f64::to_bits));
        let (method, spec): (String, String) = (r.get(4)?, r.get(6)?);
        let loss: Option<f64> = r.get(5)?;
        let spec: serde_json::Value = serde_json::from_str(&spec).unwrap_or_default();
        let likelihood = serde_json::from_value(spec["likelihood"].clone()).ok();
        let method = Method::ALL.into_iter().find(|m| m.key() == method);
        Ok(method
            .zip(likelihood)
            .zip(loss)
            .map(|((method, likelihood), loss)| Validation {
                case: r.get(0).unwrap_or_default(),
                method,
                of,
                error: error_of_loss(likelihood, &Preprocessing::unchanged(1), loss),
            }))
    })?;
    // Of the shapes of a replication the best counts.
    let mut best: Vec<Validation> = Vec::new();
    for row in rows.into_iter().flatten() {
        let same =
            |v: &&mut Validation| (&v.case, v.method, v.of) == (&row.case, row.method, row.of);
        match best.iter_mut().find(same) {
            Some(found) => found.error = found.error.min(row.error),
            None => best.push(row),
        }
    }
    Ok(best)
}

/// What the loaders said about the tables.
fn notes(store: &Store, study: &Study, name: &str) -> Result<Vec<String>, StudyError> {
    let mut notes = Vec::new();
    for (decision, content) in store.decisions(name)? {
        let Some(case) = decision.strip_prefix("data/") else {
            continue;
        };
        let title = study
            .cases
            .iter()
            .find(|c| c.name == case)
            .map_or(case, Case::title);
        let content: serde_json::Value = serde_json::from_str(&content).unwrap_or_default();
        let own = content["notes"].as_array().into_iter().flatten();
        notes.extend(own.filter_map(|n| Some(format!("{title}: {}", n.as_str()?))));
    }
    Ok(notes)
}

/// The decision of a screen, as the run wrote it.
#[derive(Default, Deserialize)]
struct Screen {
    cases: Vec<Screened>,
    selected: Option<String>,
    confirmed: Vec<String>,
}

fn read_screen(store: &Store, study: &str) -> Result<Option<Screen>, StudyError> {
    let decisions = store.decisions(study)?;
    let screen = decisions.iter().find(|(name, _)| name == "screen");
    let broken = |e: serde_json::Error| StudyError::Broken {
        path: store.path().display().to_string(),
        what: "decision screen".to_string(),
        why: e.to_string(),
    };
    let read = |(_, content): &(String, String)| serde_json::from_str(content).map_err(broken);
    screen.map(read).transpose()
}

fn costs(store: &Store, study: &str) -> Result<Vec<Cost>, StudyError> {
    store.rows(
        "SELECT phase, method, count(*), sum(updates), sum(seconds) FROM fit \
         JOIN task USING (study, task) WHERE study = ? GROUP BY phase, method \
         ORDER BY phase DESC, CASE method WHEN 'single' THEN 0 WHEN 'loop' THEN 1 ELSE 2 END",
        [study],
        |r| {
            Ok(Cost {
                phase: r.get(0)?,
                method: r.get(1)?,
                fits: r.get::<_, i64>(2)? as u64,
                updates: r.get::<_, i64>(3)? as u64,
                seconds: r.get(4)?,
            })
        },
    )
}

fn points(study: &Study, rows: &[Row]) -> Vec<Point> {
    let mut points = Vec::new();
    for case in &study.cases {
        let own: Vec<&Row> = rows.iter().filter(|row| row.case == case.name).collect();
        let mut places: Vec<Option<f64>> = own.iter().map(|row| row.at).collect();
        places.sort_by(|a, b| a.unwrap_or(0.0).total_cmp(&b.unwrap_or(0.0)));
        places.dedup();
        let mut metrics: Vec<&str> = own.iter().map(|row| row.metric.as_str()).collect();
        metrics.sort_unstable();
        metrics.dedup();
        for at in places {
            for metric in &metrics {
                let here = own.iter().filter(|r| r.at == at && r.metric == *metric);
                let entries = entries(here.copied());
                if !entries.is_empty() {
                    points.push(Point {
                        case: case.clone(),
                        at,
                        budget: budget_at(study, case, at),
                        metric: metric.to_string(),
                        entries,
                    });
                }
            }
        }
    }
    points
}

/// The cap of a case, or of the stage at a place of its path.
fn budget_at(study: &Study, case: &Case, at: Option<f64>) -> usize {
    let stage = study.way.stages().iter().find(|stage| stage.at == at);
    stage.map_or(case.cap(), |stage| stage.budget)
}

fn entries<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Entry> {
    let mut by_contender: BTreeMap<Contender, Vec<Value>> = BTreeMap::new();
    for row in rows {
        let spec: Option<serde_json::Value> = row
            .spec
            .as_deref()
            .and_then(|s| serde_json::from_str(s).ok());
        let network = spec.and_then(|s| serde_json::from_value(s["network"].clone()).ok());
        by_contender.entry(row.of).or_default().push(Value {
            split: row.split.map(|s| s as u64),
            seed: row.seed as u64,
            value: row.value.unwrap_or(f64::NAN),
            network,
            fit: row.fit.clone().map(|fit| (row.task.clone(), fit)),
        });
    }
    let entries = by_contender.into_iter().map(|(of, values)| Entry {
        of,
        label: of.to_string(),
        values,
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(method: Method, values: &[(u64, u64, f64)]) -> Entry {
        let values = values.iter().map(|(split, seed, value)| Value {
            split: Some(*split),
            seed: *seed,
            value: *value,
            network: None,
            fit: None,
        });
        Entry {
            of: method.into(),
            label: method.to_string(),
            values: values.collect(),
        }
    }

    /// Two splits with means 2 and 6 and standard errors 1 and 1.
    #[test]
    fn statistics_over_splits_and_seeds() {
        let e = entry(
            Method::Loop,
            &[(1, 1, 1.0), (1, 2, 3.0), (2, 1, 5.0), (2, 2, 7.0)],
        );
        assert_eq!((e.mean(), e.median()), (4.0, 4.0));
        assert!((e.se().unwrap() - 2f64.sqrt() / 2.0).abs() < 1e-12);
        assert!((e.split_sd().unwrap() - 8f64.sqrt()).abs() < 1e-12);
        assert_eq!(
            entry(Method::Loop, &[(1, 1, 1.0), (1, 2, 3.0)]).split_sd(),
            None
        );
        assert_eq!(entry(Method::Loop, &[(1, 1, 1.0)]).se(), None);
    }

    #[test]
    fn differences_are_paired_by_split_and_seed() {
        let a = entry(Method::Loop, &[(1, 1, 1.0), (1, 2, 3.0), (2, 1, 5.0)]);
        let b = entry(Method::Single, &[(2, 1, 1.0), (1, 1, 4.0)]);
        let paired = a.minus(&b);
        assert_eq!(paired.numbers(), [-3.0, 4.0]);
        assert_eq!(paired.label, "Loop \u{2212} Single");
    }

    /// Whoever is alone wins nothing.
    #[test]
    fn a_method_without_others_is_not_the_lowest() {
        let study = crate::builtin::find("iteration-path").unwrap().remove(0);
        let mut point = Point {
            case: study.study.cases[0].clone(),
            at: None,
            budget: 128,
            metric: "MSE".to_string(),
            entries: vec![entry(Method::Loop, &[(1, 1, 1.0), (1, 2, 3.0)])],
        };
        assert_eq!((point.best(), point.wins(Method::Loop)), (None, None));
        point
            .entries
            .push(entry(Method::Single, &[(1, 1, 2.0), (1, 2, 2.0)]));
        assert_eq!(point.wins(Method::Loop), Some(1));
        assert_eq!(point.wins(Method::Untied), None);
        assert!(point.best().is_some());
    }
}
