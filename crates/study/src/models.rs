//! The best models of a study, built again from their records.
//!
//! A store keeps the parameters of every fit, but not what turns columns into model inputs: that is learned again from the training
//! rows, which a simulation draws again by its seed and a table must still have. A table that is not the one of the run, or
//! samples with another hash than the fit's, give no model.

use crate::StudyError;
use crate::protocol::{Case, Named, Way};
use crate::results::{Point, Results, Value, read};
use crate::store::Store;
use crate::trial::{Sources, Trial};
use loopfit_fitted::FittedModel;
use loopfit_model::Method;
use loopfit_report::Link;
use loopfit_report::number::{Exponent, value};
use std::path::PathBuf;

/// The best models of a study.
#[derive(Debug, Default)]
pub struct Models {
    /// Of each case and method the one with the lowest test error, in the order of the protocol.
    pub best: Vec<Best>,
    /// Cases whose models could not be built again, and why.
    pub missing: Vec<(String, StudyError)>,
}

/// The best model of a method in a case.
#[derive(Debug)]
pub struct Best {
    /// Where a report looks for its page, without ending: `models/cap-path/bumps-loop`.
    pub page: String,
    /// Case and method.
    pub title: String,
    /// What it is and how it was found.
    pub text: String,
    /// Its test error, as the store has it.
    pub error: f64,
    /// The model.
    pub model: FittedModel,
}

impl Models {
    /// Builds the best models of a study again. Files of `data:NAME` are looked for in `data_dir`.
    pub fn read(
        store: &Store,
        named: &Named,
        data_dir: Option<PathBuf>,
    ) -> Result<Self, StudyError> {
        let results = read(store, named)?;
        let sources = Sources::unchecked(named, data_dir);
        let mut models = Self::default();
        // A schedule has a case for every size, and its models are of interest as points of a curve alone.
        let shown = !matches!(named.study.way, Way::Schedule(_));
        for case in named.study.cases.iter().filter(|_| shown) {
            match of_case(store, named, &results, &sources, case) {
                Ok(best) => models.best.extend(best),
                Err(error) => models.missing.push((case.title().to_string(), error)),
            }
        }
        Ok(models)
    }

    /// What a report says of them.
    pub(crate) fn links(&self) -> Vec<Link> {
        let link = |best: &Best| Link {
            page: best.page.clone(),
            title: best.title.clone(),
            text: best.text.clone(),
        };
        self.best.iter().map(link).collect()
    }
}

/// The best models of a case that has results.
fn of_case(
    store: &Store,
    named: &Named,
    results: &Results,
    sources: &Sources,
    case: &Case,
) -> Result<Vec<Best>, StudyError> {
    let own = results.points.iter().filter(|p| p.case.name == case.name);
    let own: Vec<&Point> = own.collect();
    if own.is_empty() {
        return Ok(Vec::new());
    }
    let (study, name) = (&named.study, &named.name);
    sources.check_file(case)?;
    if let Some(content) = sources.describe(study, case)? {
        store.check_data(name, &case.name, &content)?;
    }
    let metric = sources.metric(study, case)?;
    let mut found = Vec::new();
    for method in Method::ALL {
        let judged = own.iter().filter(|p| p.metric == metric);
        let values = judged.flat_map(|point| {
            let values = point.entry(method).map_or(&[][..], |e| &e.values);
            values.iter().map(move |value| (*point, value))
        });
        let finite = values.filter(|(_, value)| value.value.is_finite());
        let Some((point, best)) = finite.min_by(|a, b| a.1.value.total_cmp(&b.1.value)) else {
            continue;
        };
        let Some((task, fit)) = &best.fit else {
            continue;
        };
        let Some(stored) = store.fit(name, task, fit)? else {
            continue;
        };
        let trial = Trial::new(sources, study, case, best.split, best.seed);
        let other = || StudyError::OtherData {
            path: store.path().display().to_string(),
            case: case.name.clone(),
        };
        let model = trial.model(point.at, stored, point.budget)?;
        let model = model.ok_or_else(other)?;
        if let Some(why) = model.contradiction() {
            return Err(StudyError::Broken {
                path: store.path().display().to_string(),
                what: format!("fit {fit} of task {task}"),
                why,
            });
        }
        found.push(Best {
            page: format!("models/{name}/{}-{}", case.name, method.key()),
            title: format!("{}, {method}", case.title()),
            text: said(point, best, &model),
            error: best.value,
            model,
        });
    }
    Ok(found)
}

/// `Loop (q = 4, r = 11, T = 16), 120 numbers, under B = 128, seed 88003: MSE against f0 1.2e-3, the lowest of this method`.
fn said(point: &Point, best: &Value, model: &FittedModel) -> String {
    let split = best.split.map_or(String::new(), |s| format!("split {s}, "));
    format!(
        "{}, under B = {}, {split}seed {}: {} {}, the lowest of this method",
        model.parameters.network(),
        point.budget,
        best.seed,
        point.metric,
        value(best.value, 3, Exponent::Own)
    )
}
