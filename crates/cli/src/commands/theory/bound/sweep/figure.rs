//! The table as curves.

use super::{Over, Row, Sweep};
use crate::commands::theory::bound::{Arguments, iterations};
use loopfit_numerics::log_number::LogNumber;
use loopfit_report::axis::Scale;
use loopfit_report::figure::{Curve, Curves, LevelLine, Panel, Point};
use loopfit_report::number;
use loopfit_theory::{Constant, Problem};

impl Sweep<'_> {
    pub(super) fn figure(&self, a: &Arguments) -> Curves {
        type Value<'v> = &'v dyn Fn(&Row) -> Option<LogNumber>;
        let curve = |name: &str, color: usize, dashed: bool, value: Value<'_>| Curve {
            name: name.to_string(),
            color,
            dashed,
            points: self
                .rows
                .iter()
                .filter_map(|row| {
                    let centre = value(row)?.value();
                    Some(Point {
                        x: row.x as f64,
                        centre,
                        low: centre,
                        high: centre,
                        values: Vec::new(),
                    })
                })
                .collect(),
        };
        let best = curve("Loop, best T", 3, false, &|row| {
            row.best.t.is_finite().then_some(row.best.total)
        });
        let grows = a.sweep.gamma.is_some();
        let theorem = if grows { "4.5" } else { "4.4" };
        let name = format!("Loop, T_n of Theorem {theorem}");
        let schedule = curve(&name, 1, false, &|row| Some(row.schedule.total));
        let floor = || curve("untied floor", 2, false, &|row| Some(row.floor));
        let fixed = format!("Loop, T = {}", iterations(self.fixed));
        let fixed = curve(&fixed, 1, true, &|row| Some(row.fixed.total));
        let curves = match self.over {
            Over::N if grows => vec![
                curve("minimax rate", 4, true, &|row| Some(row.minimax)),
                floor(),
                best,
                schedule,
            ],
            Over::N => vec![
                curve("minimax rate", 4, true, &|row| Some(row.minimax)),
                fixed,
                best,
                schedule,
            ],
            Over::B => vec![floor(), best, schedule],
            Over::T => vec![
                curve("approximation", 4, true, &|row| {
                    Some(row.terms.approximation)
                }),
                curve("estimation", 5, true, &|row| Some(row.terms.estimation)),
                curve("total", 1, false, &|row| Some(row.terms.total)),
            ],
        };
        let level = |row: &Row| LevelLine {
            name: "untied floor".into(),
            y: row.floor.value(),
        };
        let levels = match self.over {
            Over::B => Vec::new(),
            Over::N if grows => Vec::new(),
            Over::N | Over::T => self.rows.first().map(level).into_iter().collect(),
        };
        Curves {
            title: self.title(a),
            panels: vec![Panel {
                title: format!("{}, {}", self.form_name(), constants_words(self.problem)),
                x_label: match self.over {
                    Over::N => "sample size n",
                    Over::B => "budget B",
                    Over::T => "iterations T",
                }
                .into(),
                y_label: "bound on squared Hellinger risk".into(),
                x_scale: Scale::Log,
                y_scale: Scale::Log,
                curves,
                levels,
            }],
        }
    }
}

/// Which open constants are not what they are by default.
fn constants_words(problem: &Problem) -> String {
    let changed = Constant::OF_BOUNDS.into_iter().filter_map(|constant| {
        let value = problem.constants().value(constant);
        let given = value != constant.default_value();
        given.then(|| format!("{} = {}", constant.name(), number::shortest(value)))
    });
    let changed: Vec<String> = changed.collect();
    match changed.is_empty() {
        true => "open constants at their defaults".to_string(),
        false => changed.join(", "),
    }
}
