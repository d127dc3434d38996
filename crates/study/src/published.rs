//! The numbers that the paper prints, as data (`published/*.toml`).

use crate::StudyError;
use crate::results::Point;
use loopfit_model::{ArchitectureChoice, Method};
use serde::Deserialize;

const FILES: [(&str, &str); 4] = [
    ("simulations", include_str!("../published/simulations.toml")),
    ("iterations", include_str!("../published/iterations.toml")),
    ("ebm", include_str!("../published/ebm.toml")),
    ("real", include_str!("../published/real.toml")),
];

/// One file of published numbers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Where they are printed.
    pub source: String,
    /// Means with standard errors.
    #[serde(default)]
    pub means: Vec<Row>,
    /// Loop minus another method, with standard errors.
    #[serde(default)]
    pub differences: Vec<Row>,
    /// By how much a mean falls along an axis.
    #[serde(default)]
    pub falls: Vec<Fall>,
    /// Sizes and updates of paths.
    #[serde(default)]
    pub paths: Vec<Path>,
    /// Shapes and counts.
    #[serde(default)]
    pub configurations: Vec<Configuration>,
    /// Sizes of real data and their caps.
    #[serde(default)]
    pub dimensions: Vec<Dimensions>,
}

/// A row of a table: `[mean, standard error]` of each method.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The data as a protocol writes it.
    pub data: String,
    /// The cap.
    pub budget: usize,
    /// Training observations, where the table is about one size.
    pub train: Option<usize>,
    /// The metric.
    pub metric: String,
    /// Single.
    pub single: Option<[f64; 2]>,
    /// Loop.
    #[serde(rename = "loop")]
    pub looped: Option<[f64; 2]>,
    /// Untied.
    pub untied: Option<[f64; 2]>,
}

impl Row {
    /// Mean and standard error of a method.
    pub fn of(&self, method: Method) -> Option<(f64, f64)> {
        let pair = match method {
            Method::Single => self.single,
            Method::Loop => self.looped,
            Method::Untied => self.untied,
        };
        pair.map(|[mean, se]| (mean, se))
    }

    /// All published numbers are about residual FFNs.
    fn is_about(&self, point: &Point) -> bool {
        let case = &point.case;
        self.data == case.data
            && self.budget == point.budget
            && self.metric == point.metric
            && (self.train.is_none() || self.train == case.train)
            && case.architecture() == Ok(ArchitectureChoice::Ffn)
    }
}

/// A relative fall of Loop's mean between two places of an axis.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fall {
    /// The data.
    pub data: String,
    /// The place where it starts.
    pub from: f64,
    /// The place where it ends.
    pub to: f64,
    /// By how much, in percent.
    pub percent: f64,
}

impl Fall {
    /// Whether a point is one of its ends.
    pub fn is_about(&self, point: &Point, at: f64) -> bool {
        self.data == point.case.data
            && point.at == Some(at)
            && point.case.architecture() == Ok(ArchitectureChoice::Ffn)
    }
}

/// What a path goes through.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// The study.
    pub study: String,
    /// Caps.
    pub budgets: Vec<usize>,
    /// Training observations.
    pub train: Vec<usize>,
    /// Validation observations.
    pub valid: Vec<usize>,
    /// Iteration counts of Loop.
    pub iterations: Vec<usize>,
    /// Most updates along one selected path.
    pub updates: usize,
}

/// `[q, r, T, P]` of each method; T = 0 means any.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// The study.
    pub study: String,
    /// The data.
    pub data: String,
    /// Single.
    pub single: Option<[usize; 4]>,
    /// Loop.
    #[serde(rename = "loop")]
    pub looped: Option<[usize; 4]>,
    /// Untied.
    pub untied: Option<[usize; 4]>,
}

/// Size of a data set and its cap.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimensions {
    /// The data.
    pub data: String,
    /// Rows.
    pub observations: usize,
    /// Inputs.
    pub d: usize,
    /// Classes of a target that is one.
    pub classes: Option<usize>,
    /// The cap.
    pub budget: usize,
}

impl Published {
    /// The cap of a data set.
    pub fn budget_of(&self, data: &str) -> Option<usize> {
        let own = self.dimensions.iter().find(|d| d.data == data);
        own.map(|d| d.budget)
    }

    /// The file of a name.
    pub fn find(name: &str) -> Result<Self, StudyError> {
        let wrong = |why: String| StudyError::Published {
            name: name.to_string(),
            why,
        };
        let known = || FILES.map(|(name, _)| name).join(", ");
        let (_, text) = FILES
            .iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| wrong(format!("the known ones are {}", known())))?;
        toml::from_str(text).map_err(|e| wrong(e.message().to_string()))
    }

    /// Published means for a point of a study.
    pub fn means(&self, point: &Point) -> Option<&Row> {
        self.means.iter().find(|row| row.is_about(point))
    }

    /// Published paired differences for a point of a study.
    pub fn differences(&self, point: &Point) -> Option<&Row> {
        self.differences.iter().find(|row| row.is_about(point))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_reads_and_every_row_is_whole() {
        for (name, _) in FILES {
            let published = Published::find(name).unwrap();
            assert!(!published.source.is_empty(), "{name}");
            for row in &published.means {
                let complete = Method::ALL.iter().all(|m| row.of(*m).is_some());
                assert!(complete, "{name}: {}", row.data);
            }
            for row in &published.differences {
                assert!(
                    row.single.is_some() && row.untied.is_some(),
                    "{name}: {}",
                    row.data
                );
            }
        }
        assert!(
            Published::find("none")
                .unwrap_err()
                .to_string()
                .contains("simulations")
        );
    }

    #[test]
    fn a_transformer_has_no_published_numbers() {
        let study = crate::builtin::find("beyond-simulations")
            .unwrap()
            .remove(0);
        let mut point = Point {
            case: study.study.cases[0].clone(),
            at: None,
            budget: 128,
            metric: "MSE against f0".to_string(),
            entries: Vec::new(),
        };
        let published = Published::find("simulations").unwrap();
        assert!(published.means(&point).is_some());
        point.case.architecture = Some("transformer".to_string());
        assert!(published.means(&point).is_none());
    }

    /// The printed differences are those of the printed means, up to their digits.
    #[test]
    fn differences_agree_with_means() {
        for name in ["simulations", "real"] {
            let published = Published::find(name).unwrap();
            for row in &published.differences {
                let means = published.means.iter().find(|m| m.data == row.data).unwrap();
                let (looped, _) = means.of(Method::Loop).unwrap();
                for method in [Method::Single, Method::Untied] {
                    let (printed, _) = row.of(method).unwrap();
                    let (other, _) = means.of(method).unwrap();
                    // Three digits of the difference, five of the means.
                    let rounding = 6e-3 * printed.abs() + 2e-4 * looped.abs();
                    let off = (looped - other - printed).abs();
                    assert!(off <= rounding, "{} {method}: {off} > {rounding}", row.data);
                }
            }
        }
    }

    /// The printed counts are those of the counting function.
    #[test]
    fn counts_agree_with_ours() {
        use loopfit_model::{Network, Tying};
        for name in ["simulations", "iterations"] {
            for c in Published::find(name).unwrap().configurations {
                let simulation: loopfit_data::Simulation =
                    c.data.trim_start_matches("sim:").parse().unwrap();
                let d = simulation.dim();
                let count = |q, r, tying| Network::ffn(d, 1, q, r, tying).unwrap().count();
                if let Some([q, r, _, p]) = c.single {
                    assert_eq!(count(q, r, Tying::Single), p, "{c:?}");
                }
                if let Some([q, r, t, p]) = c.looped {
                    assert_eq!(count(q, r, Tying::Loop { t: t.max(1) }), p, "{c:?}");
                }
                if let Some([q, r, t, p]) = c.untied {
                    assert_eq!(count(q, r, Tying::Untied { t }), p, "{c:?}");
                }
            }
        }
    }

    /// Data sets of the catalogue have the printed sizes and caps.
    #[test]
    fn dimensions_agree_with_the_catalogue() {
        for row in Published::find("real").unwrap().dimensions {
            let name = row.data.trim_start_matches("data:");
            let set = loopfit_data::catalog::DataSet::find(name).unwrap();
            assert_eq!(
                (set.rows, set.features, set.classes, set.cap),
                (row.observations, row.d, row.classes, row.budget),
                "{name}"
            );
        }
    }
}
