//! What a comparison gives: statistics for people and the networks behind them.

use crate::json;
use crate::json::object;
use loopfit_model::Network;
use loopfit_report::Comparison;
use serde_json::{Map, Value, json};

/// A comparison with the network of each method on each seed.
pub(crate) struct Compared {
    pub(super) comparison: Comparison,
    /// Method and architecture of each, by their keys.
    pub(super) families: Vec<(&'static str, &'static str)>,
    /// By method, then by seed.
    pub(super) networks: Vec<Vec<Network>>,
    /// Seeds that were asked for.
    pub(super) asked: usize,
}

impl Compared {
    /// Whether all seeds are there.
    pub(super) fn is_complete(&self) -> bool {
        self.comparison.seeds().len() == self.asked
    }

    /// `3 of 8 seeds are complete, and the others are left out`.
    pub(super) fn so_far(&self) -> String {
        let (seeds, asked) = (self.comparison.seeds().len(), self.asked);
        let are = if seeds == 1 { "is" } else { "are" };
        format!("{seeds} of {asked} seeds {are} complete, and the others are left out")
    }

    /// With a remark where seeds are missing.
    pub(super) fn with_note(self) -> Self {
        if self.is_complete() {
            return self;
        }
        let note = format!("Interrupted: {}.", self.so_far());
        Self {
            comparison: self.comparison.with_notes([note]),
            ..self
        }
    }

    /// The object that `--json` prints.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        let c = &self.comparison;
        let all = c.methods().iter().zip(c.wins());
        let all = all.zip(&self.families).zip(&self.networks);
        let methods = all.map(|(((m, wins), (method, arch)), networks)| {
            let typical = m.typical();
            let at = typical.and_then(|t| m.results.iter().position(|r| r.shape == t.shape));
            json!({
                "key": m.key, "method": method, "arch": arch, "name": m.name,
                "shape": at.map(|at| json::shape(&networks[at])), "count": typical.map(|t| t.count),
                "mean": json::finite(m.mean()), "se": m.se(), "median": json::finite(m.median()), "wins": wins,
                "values": m.values(), "shapes": networks.iter().map(json::shape).collect::<Vec<_>>(),
                "counts": m.results.iter().map(|r| r.count).collect::<Vec<_>>(), "updates": m.updates,
            })
        });
        let paired = c.paired();
        let paired = paired.iter().map(|p| {
            json!({
                "first": p.first.key, "second": p.second.key, "mean": json::finite(p.mean()), "se": p.se(),
                "wins": p.wins(), "differences": p.differences,
            })
        });
        object!({
            "title": c.title(), "data": c.problem(), "budget": c.budget(), "metric": c.metric(),
            "seeds": c.seeds(), "seeds_asked": self.asked, "complete": self.is_complete(),
            "methods": methods.collect::<Vec<_>>(), "paired": paired.collect::<Vec<_>>(), "notes": c.notes(),
        })
    }
}
