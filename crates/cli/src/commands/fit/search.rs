//! What `loopfit fit` shows of a stochastic search.

use super::{Done, beside, share};
use crate::effort::about;
use crate::json::object;
use crate::{json, output};
use loopfit::DensityFacts;
use loopfit_report::number::{self, Exponent};
use loopfit_report::{Align, Table};
use loopfit_search::Family;
use loopfit_search::fit::{MethodFit, Request};
use loopfit_search::iterations::{Chosen, Rung};
use loopfit_search::replication::Replication;
use serde_json::{Map, Value, json};

/// What is going to happen and how long it takes.
pub(super) fn note(request: &Request, predicted: f64, threads: usize) -> String {
    format!(
        "search: {} for each method ({}), {} on {}",
        number::count(request.updates, "update"),
        request
            .families
            .iter()
            .map(Family::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        about(predicted),
        number::count(threads, "thread")
    )
}

impl Done<'_> {
    pub(super) fn search_text(&self, fits: &[MethodFit]) -> String {
        let subject = self.plan.subject();
        let metric = subject.test_error;
        let shown = beside(&fits[0].judged.also);
        let share_name = shown.map(|(name, _)| match metric.split_once(" against ") {
            Some((_, target)) => format!("{name} against {target}"),
            None => format!("test {name}"),
        });
        let mut columns = vec![
            ("method", Align::Left),
            ("q", Align::Right),
            ("r", Align::Right),
            ("T", Align::Right),
            ("numbers", Align::Right),
            (subject.validation_error, Align::Right),
            (metric, Align::Right),
        ];
        columns.extend(share_name.as_deref().map(|name| (name, Align::Right)));
        let mut table = Table::new(columns);
        let validations = Exponent::of(fits.iter().map(|f| f.validation));
        let tests = Exponent::of(fits.iter().map(|f| f.judged.error));
        for (i, f) in fits.iter().enumerate() {
            let network = f.model.parameters.network();
            let mut cells = vec![f.family.to_string()];
            if f.not_reached() {
                cells.extend(vec![number::ABSENT.to_string(); 6]);
                cells[5] = "not reached".to_string();
            } else {
                cells.extend([
                    network.q().to_string(),
                    network.r().to_string(),
                    network.tying().iterations().to_string(),
                    network.count().to_string(),
                    number::value(f.validation, 4, validations),
                    number::value(f.judged.error, 4, tests),
                ]);
            }
            if shown.is_some() {
                let value = beside(&f.judged.also).map_or(f64::NAN, |(_, value)| value);
                cells.push(share(value));
            }
            if i == 0 {
                table.push_best(cells);
            } else {
                table.push(cells);
            }
        }
        let best = &fits[0];
        let by = match best.chosen {
            Some(_) => "T chosen by penalised likelihood",
            None => "selected by validation",
        };
        let mut text = format!(
            "Best {}under B = {}, {by}: {}\n{}",
            self.so_far(),
            self.a.budget,
            best.model.parameters.network(),
            table.to_terminal(output::color())
        );
        if let Some(chosen) = &best.chosen {
            text += &chosen_text(chosen);
        }
        if let Some((_, replication)) = self.plan.search() {
            if best.refitted {
                let problem = &replication.problem;
                text += &format!(
                    "After the selection the model was fitted again, to training and validation rows together ({}); its test error is of that fit.\n",
                    number::count(problem.train.n() + problem.valid.n(), "row")
                );
            }
            if self.a.verbose {
                text += &optimum_text(subject.error, replication, best);
            }
        }
        if let Some(facts) = self.fits.density() {
            text += &density_text(facts);
        }
        text
    }

    pub(super) fn search_json(&self, fits: &[MethodFit]) -> Map<String, Value> {
        let method = |f: &MethodFit| {
            let (method, arch) = (f.family.method.key(), f.family.architecture.key());
            if f.not_reached() {
                return json!({"method": method, "arch": arch, "state": "not reached", "updates": 0});
            }
            let network = f.model.parameters.network();
            json!({
                "method": method, "arch": arch, "state": "fitted", "shape": json::shape(network), "count": network.count(),
                "validation": json::finite(f.validation), "test": json::finite(f.judged.error), "also": json::metrics(&f.judged.also),
                "updates": f.updates, "stop": f.stop, "gap": f.gap, "tolerance": f.tolerance, "refitted": f.refitted,
                "chosen": f.chosen.as_ref().map(chosen_json),
            })
        };
        let mut result = self.common_json();
        let best = &fits[0].family;
        let rows = self.plan.search().map(|(request, replication)| {
            let problem = &replication.problem;
            object!({
                "train_rows": problem.train.n(), "valid_rows": problem.valid.n(), "test_rows": replication.test_rows,
                "search": {
                    "updates": request.updates, "predicted_seconds": self.predicted, "seconds": self.seconds,
                    "complete": self.fits.is_complete(), "protocol": *request.protocol,
                },
            })
        });
        result.extend(rows.into_iter().flatten());
        result.extend(object!({
            "selected": best.method.key(), "arch": best.architecture.key(),
            "methods": fits.iter().map(method).collect::<Vec<_>>(), "density": self.fits.density(),
        }));
        result
    }
}

/// The likelihoods and penalties that an iteration count was chosen by.
fn chosen_text(chosen: &Chosen) -> String {
    let mut table = Table::new([
        ("T", Align::Right),
        ("training loss", Align::Right),
        ("penalty", Align::Right),
        ("sum", Align::Right),
    ]);
    for rung in &chosen.rungs {
        let penalty = chosen.penalty(rung.t);
        let value = |v: f64| number::value(v, 5, Exponent::Own);
        let cells = [
            rung.t.to_string(),
            value(rung.loss),
            value(penalty),
            value(rung.loss + penalty),
        ];
        match rung.t == chosen.by.t {
            true => table.push_best(cells),
            false => table.push(cells),
        }
    }
    let (b, n) = chosen.of;
    format!(
        "{}The penalty is {} B (log(en) + T log(eB)) / n with B = {b} and n = {n}: twice the factor {} at which the choice jumps to many iterations.\n",
        table.to_terminal(output::color()),
        number::value(chosen.by.lambda, 3, Exponent::Own),
        number::value(chosen.by.jump, 3, Exponent::Own),
    )
}

fn chosen_json(chosen: &Chosen) -> Value {
    let rung = |rung: &Rung| json!({"t": rung.t, "loss": json::finite(rung.loss), "penalty": chosen.penalty(rung.t)});
    json!({
        "t": chosen.by.t, "lambda": chosen.by.lambda, "jump": chosen.by.jump, "rows": chosen.of.1,
        "rungs": chosen.rungs.iter().map(rung).collect::<Vec<_>>(),
    })
}

/// How good the kept optimum is, as far as can be told.
fn optimum_text(error: &str, replication: &Replication, best: &MethodFit) -> String {
    let value = |v: f64| number::value(v, 3, Exponent::Own);
    let lower = |from: f64, by: f64| {
        value(replication.error_of_loss(from) - replication.error_of_loss(from - by))
    };
    let mut text = String::new();
    if let Some(t) = best.tolerance {
        let achieved = match t.achieved_decrease > 0.0 {
            true => format!("lowers it by {}", lower(t.loss, t.achieved_decrease)),
            false => "does not lower it".to_string(),
        };
        text += &format!(
            "Optimum: training {error} {}, norm of the loss's gradient {}. One damped Fisher-scoring step should lower the {error} by {} and {achieved}.\n",
            value(replication.error_of_loss(t.loss)),
            value(t.gradient_norm),
            lower(t.loss, t.predicted_decrease)
        );
    }
    if let Some(gap) = best.gap {
        text += &format!(
            "The second best local optimum found has a validation {error} that is higher by {}.\n",
            lower(best.model.provenance.validation + gap, gap)
        );
    }
    text
}

/// How well the normaliser of the kept density is known.
fn density_text(facts: &DensityFacts) -> String {
    format!(
        "Normaliser: log Z = {:.4}, with an error of {:.1e}; the index is at its bound of ±{} on {} of {} training rows.\n",
        facts.log_z, facts.log_z_error, facts.bound, facts.clipped_rows, facts.rows
    )
}
