//! The table as curves.

use crate::commands::theory::bound::{Arguments, iterations};
use loopfit_numerics::log_number::LogNumber;
use loopfit_report::axis::Scale;
use loopfit_report::figure::{Curve, Curves, LevelLine, Panel};
use loopfit_report::number;
use loopfit_theory::bound::sweep::Row;
use loopfit_theory::bound::{Axis, Sweep};
use loopfit_theory::{Constant, Problem};

pub(super) fn figure(a: &Arguments, problem: &Problem, sweep: &Sweep) -> Curves {
    type Value<'v> = &'v dyn Fn(&Row) -> Option<LogNumber>;
    let curve = |name: &str, color: usize, dashed: bool, value: Value<'_>| {
        let point = |row: &Row| Some((row.x as f64, value(row)?.value()));
        Curve::line(name, color, dashed, sweep.rows.iter().filter_map(point))
    };
    let best = curve("Loop, best T", 3, false, &|row| {
        row.best.t.is_finite().then_some(row.best.total)
    });
    let grows = a.sweep.gamma.is_some();
    let theorem = if grows { "4.5" } else { "4.4" };
    let name = format!("Loop, T_n of Theorem {theorem}");
    let schedule = curve(&name, 1, false, &|row| Some(row.schedule.total));
    let floor = || curve("untied floor", 2, false, &|row| Some(row.floor));
    let minimax = || curve("minimax rate", 4, true, &|row| Some(row.minimax));
    let fixed = format!("Loop, T = {}", iterations(sweep.fixed_t));
    let fixed = || curve(&fixed, 1, true, &|row| Some(row.fixed.total));
    let curves = match sweep.axis {
        Axis::N if grows => vec![minimax(), floor(), best, schedule],
        Axis::N => vec![minimax(), fixed(), best, schedule],
        Axis::B => vec![floor(), best, schedule],
        Axis::T => vec![
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
    let one_floor = sweep.axis != Axis::B && !grows;
    Curves {
        title: super::title(a, problem, sweep),
        panels: vec![Panel {
            title: format!("{}, {}", sweep.form.title(), constants_words(problem)),
            x_label: match sweep.axis {
                Axis::N => "sample size n",
                Axis::B => "budget B",
                Axis::T => "iterations T",
            }
            .into(),
            y_label: "bound on squared Hellinger risk".into(),
            x_scale: Scale::Log,
            y_scale: Scale::Log,
            curves,
            levels: sweep
                .rows
                .iter()
                .take(usize::from(one_floor))
                .map(level)
                .collect(),
        }],
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
