//! What a comparison gives: statistics for people and the networks behind them.

use crate::json;
use crate::json::object;
use anyhow::Result;
use loopfit::{Activation, Content, ExportOptions, Format, Method, Network};
use loopfit_model::{ArchitectureChoice, Form};
use loopfit_report::{Comparison, Link, MethodResult, SeedResult};
use loopfit_search::Family;
use serde_json::{Map, Value, json};

/// A comparison with the network of each method on each seed.
pub(crate) struct Compared {
    pub(super) comparison: Comparison,
    /// Method and architecture of each, by their keys.
    families: Vec<(&'static str, &'static str)>,
    /// By method, then by seed.
    networks: Vec<Vec<Network>>,
    /// Pages of the best models: the name of each without ending, and the page.
    pub(super) pages: Vec<(String, Content)>,
    /// Seeds that were asked for.
    asked: usize,
}

impl Compared {
    /// A comparison for reports; `asked` seeds were asked for.
    pub(super) fn new(found: &loopfit::Comparison, asked: usize) -> Result<Self> {
        let (methods, data) = (&found.methods, &found.subject.data);
        let results = methods.iter().map(|m| MethodResult {
            key: m.family.as_ref().map_or("linear".to_string(), Family::key),
            name: m.name(),
            updates: m.updates,
            results: m
                .networks
                .iter()
                .zip(&m.errors)
                .map(|(network, error)| SeedResult {
                    shape: shape(network),
                    count: network.count(),
                    value: *error,
                })
                .collect(),
        });
        let comparison = Comparison::new(
            format!(
                "{} on {data} under B = {}",
                what_competes(methods),
                found.budget
            ),
            data.clone(),
            found.budget,
            found.subject.test_error,
            found.seeds.clone(),
            results.collect(),
        )?;
        let mut pages = Vec::new();
        let mut links = Vec::new();
        for method in methods {
            let Some(model) = &method.best else { continue };
            let page = model.export(Format::Html, &ExportOptions::default())?;
            let name = method
                .family
                .as_ref()
                .map_or("linear".to_string(), Family::key);
            links.push(Link {
                page: name.clone(),
                title: method.name(),
                text: format!("{model}, the best of its seeds"),
            });
            pages.push((name, page.body));
        }
        let family = |m: &loopfit::Compared| match &m.family {
            Some(family) => (family.method.key(), family.architecture.key()),
            None => ("linear", "ffn"),
        };
        let compared = Self {
            comparison: comparison
                .with_notes(found.notes.iter().cloned())
                .with_pages(links),
            families: methods.iter().map(family).collect(),
            networks: methods.iter().map(|m| m.networks.clone()).collect(),
            pages,
            asked,
        };
        Ok(compared.with_note())
    }

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
    fn with_note(self) -> Self {
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

/// What the title calls the families.
fn what_competes(methods: &[loopfit::Compared]) -> String {
    let families: Vec<&Family> = methods.iter().filter_map(|m| m.family.as_ref()).collect();
    let is_ffn = |family: &&Family| family.architecture == ArchitectureChoice::Ffn;
    let taking_part = |method: &Method| families.iter().any(|f| f.method == *method);
    let names = Method::ALL.into_iter().filter(taking_part);
    let names: Vec<String> = names.map(|m| m.to_string()).collect();
    let names = match &names[..] {
        [] => return "The linear model".to_string(),
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => names.concat(),
    };
    match (families.iter().any(is_ffn), families.iter().all(is_ffn)) {
        (_, true) => names,
        (true, false) => format!("{names} FFNs and Transformers"),
        (false, false) => format!("{names} Transformers"),
    }
}

/// `q = 4, r = 11, T = 16`, and the units where they are not the paper's.
fn shape(network: &Network) -> String {
    if network.form() == Form::Affine {
        return match network.q() == network.inputs_read() {
            true => format!("{} inputs", network.inputs_read()),
            false => format!("rank {}", network.q()),
        };
    }
    let (q, r, t) = (network.q(), network.r(), network.tying().iterations());
    match (network.form(), network.activation()) {
        (Form::Paper, Activation::Relu) => format!("q = {q}, r = {r}, T = {t}"),
        (_, units) => format!("q = {q}, r = {r}, T = {t}, {units}"),
    }
}
