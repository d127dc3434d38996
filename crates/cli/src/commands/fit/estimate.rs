//! What `loopfit fit` shows of a selection by cross-validation.

use super::{Done, beside, share};
use crate::json::object;
use crate::{json, output};
use loopfit::Absence;
use loopfit_model::Form;
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use loopfit_search::estimate::{Entry, Estimate};
use serde_json::{Map, Value, json};

/// What a method without a model has instead.
fn why(absence: Absence) -> &'static str {
    match absence {
        Absence::NotReached => "not reached",
        Absence::DoesNotFit => "does not fit",
        Absence::Failed => "failed",
    }
}

fn name(entry: &Entry) -> String {
    match entry.method {
        Some(method) => method.to_string(),
        None => "linear".to_string(),
    }
}

impl Done<'_> {
    pub(super) fn estimate_text(&self, estimate: &Estimate) -> String {
        let shown = |e: &Entry| match estimate.test_rows {
            0 => beside(&[e.held]),
            _ => beside(&e.test.also),
        };
        let subject = self.plan.subject();
        let metric = subject.test_error;
        let share_name = shown(&estimate.entries[0]).map(|(name, _)| {
            match (estimate.test_rows, metric.split_once(" against ")) {
                (0, _) => format!("validation {name}"),
                (_, Some((_, target))) => format!("{name} against {target}"),
                _ => format!("test {name}"),
            }
        });
        let mut columns = vec![
            ("model", Align::Left),
            ("q", Align::Right),
            ("r", Align::Right),
            ("T", Align::Right),
            ("units", Align::Left),
            ("numbers", Align::Right),
            (subject.validation_error, Align::Right),
            ("(SE)", Align::Right),
            (metric, Align::Right),
        ];
        columns.extend(share_name.as_deref().map(|name| (name, Align::Right)));
        let width = columns.len();
        let mut table = Table::new(columns);
        let errors = estimate
            .entries
            .iter()
            .flat_map(|e| [e.validation, e.test.error]);
        let exponent = Exponent::of(errors.chain([estimate.constant.0]).collect::<Vec<_>>());
        let value = |v: f64| {
            if v.is_nan() {
                "-".to_string()
            } else {
                number::value(v, 4, exponent)
            }
        };
        let row = |name: String, filled: &[(usize, String)]| {
            let mut cells = vec!["-".to_string(); width];
            cells[0] = name;
            filled.iter().for_each(|(i, cell)| cells[*i] = cell.clone());
            cells
        };
        for (i, e) in estimate.entries.iter().enumerate() {
            let network = &e.network;
            let mut filled = vec![
                (5, network.count().to_string()),
                (6, value(e.validation)),
                (7, value(e.validation_se)),
                (8, value(e.test.error)),
            ];
            if network.form() != Form::Affine {
                filled.push((1, network.q().to_string()));
                filled.push((2, network.r().to_string()));
                filled.push((3, network.tying().iterations().to_string()));
                filled.push((4, network.activation().to_string()));
            }
            filled.extend(shown(e).map(|(_, v)| (9, share(v))));
            let cells = row(name(e), &filled);
            if i == 0 {
                table.push_best(cells);
            } else {
                table.push(cells);
            }
        }
        for (method, absence) in &estimate.absent {
            table.push(row(method.to_string(), &[(6, why(*absence).to_string())]));
        }
        // The paper's form has more numbers for it than a small cap allows.
        if estimate.entries.iter().all(|e| e.method.is_some()) && estimate.complete {
            let absence = why(Absence::DoesNotFit).to_string();
            table.push(row("linear".to_string(), &[(6, absence)]));
        }
        let constant = ("constant".to_string(), estimate.constant);
        let no_cap = estimate
            .no_cap
            .map(|it| (format!("no cap: {}", it.by), (it.validation, it.test)));
        for (name, (validation, test)) in [constant].into_iter().chain(no_cap) {
            table.push(row(name, &[(6, value(validation)), (8, value(test))]));
        }
        let best = &estimate.entries[0];
        let mut text = format!(
            "Best {}under B = {}, selected by {}: {}\n{}",
            self.so_far(),
            self.a.budget,
            estimate.selected_by,
            best.network,
            table.to_terminal(output::color())
        );
        for sentence in self.fits.conclusions() {
            text += &sentence;
            text.push('\n');
        }
        if self.fits.uses_its_cap() {
            text += "`loopfit curve` shows the error against the cap.\n";
        }
        if self.a.verbose {
            text += &format!(
                "Penalties: {} times what the evidence gives; {} of each fit.\n",
                best.factor,
                number::count(best.starts, "start")
            );
        }
        text
    }

    pub(super) fn estimate_json(&self, estimate: &Estimate) -> Map<String, Value> {
        let fitted = estimate.entries.iter().map(json::entry);
        let absent = estimate.absent.iter().map(
            |(method, absence)| json!({"method": method.key(), "arch": "ffn", "state": why(*absence)}),
        );
        let best = &estimate.entries[0];
        let work = self.plan.estimate().map(|ask| ask.work);
        let mut result = self.common_json();
        result.extend(object!({
            "selection": {"by": estimate.selected_by, "rows": estimate.selection_rows}, "test_rows": estimate.test_rows,
            "selected": json::method(best.method), "arch": "ffn",
            "methods": fitted.chain(absent).collect::<Vec<_>>(),
            "constant": {"validation": estimate.constant.0, "test": json::finite(estimate.constant.1)},
            "no_cap": estimate.no_cap.map(|it| json!({"by": it.by, "validation": json::finite(it.validation), "test": json::finite(it.test)})),
            "validation": best.validation, "test": json::finite(best.test.error),
            "conclusions": self.fits.conclusions(),
            "assessment": estimate.model.assessment,
            "search": {"seconds": self.seconds, "complete": estimate.complete, "work": work},
        }));
        result
    }
}
