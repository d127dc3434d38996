//! Iteration counts, widths and caps that follow the sample size, as a protocol has them.

use super::{Case, Study, Way};
use loopfit_data::Simulation;
use loopfit_holder::{HolderClass, Packing, Smoothness};
use loopfit_model::{Architecture, Budget};
use loopfit_numerics::libm::{ceil, pow};
use loopfit_search::iterations::LADDER;
use loopfit_search::protocol::Protocol;
use loopfit_theory::{Constants, FirstWidths, GrowingBudget, Problem, Thresholds, fixed_order};
use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;

/// Loops at the iteration count of a theorem, beside the same loops at every other, Single and Untied, all fitted to all
/// samples by their likelihood alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Sample sizes, ascending: each case stands for one case of every size.
    pub sizes: Vec<usize>,
    /// Iteration counts that are fitted beside those of the theorem.
    #[serde(default = "ladder")]
    pub ladder: Vec<usize>,
    /// Updates of every search: of each iteration count, of Single and of Untied.
    pub updates: usize,
    /// Folds of the cross-validation that chooses an iteration count; the first is the validation sample of the choice by one. With
    /// none, neither choice is made.
    pub folds: usize,
    /// The constant of Lepski's method.
    pub lepski: f64,
    /// Rounds, ranges and rules of Loop's searches.
    #[serde(default)]
    pub protocol: Protocol,
    /// Those of Single and Untied, which have more shapes to try, where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Protocol>,
}

impl Schedule {
    /// Updates of every search of a case.
    pub(crate) fn updates_of(&self, case: &Case) -> usize {
        case.updates.unwrap_or(self.updates)
    }

    /// The rules of Single and Untied.
    pub(crate) fn of_others(&self) -> &Protocol {
        self.others.as_ref().unwrap_or(&self.protocol)
    }
}

fn ladder() -> Vec<usize> {
    LADDER.to_vec()
}

/// What the loop of a case follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    /// The smoothness s of the target's class.
    pub smoothness: f64,
    /// The factor c of the iteration count.
    pub constant: f64,
    /// The state dimension of a fixed cap (Theorem 4.4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<usize>,
    /// How the cap grows (Theorem 4.5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// Cells along each axis of the packing at the smallest size; at others `n^(1/(2s+d))` as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<f64>,
    /// Which function of the packing, as a part of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vertex: Option<f64>,
    /// `[q, r, T]` that follows from all that, written out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<[usize; 3]>,
    /// T at the smallest size, written out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<usize>,
}

/// A cap that grows with the sample size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Growth {
    /// The exponent `gamma_B`.
    pub gamma: f64,
    /// The factor `C_B` of the cap.
    pub cap: f64,
    /// The factor `c_q` of the state dimension.
    pub state: f64,
}

impl Follow {
    /// `[q, r, T]` of the theorem, which [`Study::parse`] writes out.
    pub(crate) fn shape(&self) -> [usize; 3] {
        self.shape.unwrap_or([1, 1, 1])
    }

    /// The iteration count at the smallest size.
    pub(crate) fn first(&self) -> usize {
        self.first.unwrap_or(1)
    }

    /// The exponent `a/(a+1)` of the theorems' rate for `d` inputs.
    pub(crate) fn exponent(&self, d: usize) -> f64 {
        2.0 * self.smoothness / (2.0 * self.smoothness + d as f64)
    }
}

impl Study {
    /// With the cases of every size written out.
    pub(super) fn scheduled(mut self) -> Result<Self, String> {
        let Way::Schedule(schedule) = &self.way else {
            return Ok(self);
        };
        let done = |case: &Case| case.follow.as_ref().is_some_and(|f| f.shape.is_some());
        if self.cases.iter().all(done) {
            return Ok(self);
        }
        let sizes = schedule.sizes.clone();
        let Some(first) = sizes.first() else {
            return Err("schedule.sizes must be ascending positive numbers".to_string());
        };
        let mut cases = Vec::new();
        for case in std::mem::take(&mut self.cases) {
            let of = |why: String| format!("case `{}`: {why}", case.name.escape_debug());
            if case.train.is_some() || case.at.is_some() {
                return Err(of("train and at come from schedule.sizes".to_string()));
            }
            let at = |n: usize| written_out(&case, n, *first).map_err(of);
            let least = at(*first)?.follow.map(|follow| follow.shape()[2]);
            for n in &sizes {
                let mut case = at(*n)?;
                if let Some(follow) = &mut case.follow {
                    follow.first = least;
                }
                cases.push(case);
            }
        }
        self.cases = cases;
        Ok(self)
    }
}

/// A case at a sample size.
fn written_out(case: &Case, n: usize, first: usize) -> Result<Case, String> {
    let Some(follow) = &case.follow else {
        return Err("it needs follow = { smoothness = ..., constant = ..., q = ... }".to_string());
    };
    let data = target(case, follow, n as f64 / first as f64)?;
    let simulation: Simulation = match data.strip_prefix("sim:") {
        Some(name) => name.parse().map_err(|e| format!("{e}"))?,
        None => return Err("a schedule needs a simulation (sim:NAME)".to_string()),
    };
    let d = simulation.dim();
    let smoothness = Smoothness::new(d, follow.smoothness).map_err(|e| e.to_string())?;
    if !(follow.constant > 0.0 && follow.constant.is_finite()) {
        return Err("follow.constant must be a positive number".to_string());
    }
    let (budget, q, r, t) = match (follow.q, follow.growth, case.budget) {
        (Some(q), None, Some(b)) => {
            let budget = Budget::ffn(b, d, 1).map_err(|e| e.to_string())?;
            let r = budget.largest_r(q, 1);
            let r = r.ok_or_else(|| format!("no loop with q = {q} fits B = {b}"))?;
            (b, q, r, fixed_order(smoothness.a(), n as f64))
        }
        (None, Some(growth), None) => {
            let mut constants = Constants::default();
            for (name, value) in [("C_B", growth.cap), ("c_q", growth.state)] {
                constants.set(name, value).map_err(|e| e.to_string())?;
            }
            let thresholds = Thresholds::new(smoothness, &Architecture::Ffn, 1.0, 1e-5);
            let thresholds = thresholds.map_err(|e| e.to_string())?;
            let problem = Problem::new(smoothness, Architecture::Ffn, constants);
            let start = FirstWidths::BelowThresholds;
            let grown = GrowingBudget::new(&problem, &thresholds, start, growth.gamma, n as f64);
            let grown = grown.map_err(|e| e.to_string())?;
            let (q, r) = (grown.shape.q as usize, grown.shape.r as usize);
            (grown.b as usize, q, r, grown.w / r as f64)
        }
        _ => {
            return Err(
                "it needs either budget = ... with follow.q, or follow.growth and no budget"
                    .to_string(),
            );
        }
    };
    let t = ceil(follow.constant * t).max(1.0);
    if t > 4096.0 {
        return Err(format!(
            "T = {t} at n = {n} is too many iterations: take a smaller follow.constant"
        ));
    }
    Ok(Case {
        name: format!("{}-n{n}", case.name),
        title: Some(format!("{}, n = {n}", case.title())),
        data,
        budget: Some(budget),
        train: Some(n),
        at: Some(n as f64),
        curve: Some(case.curve.clone().unwrap_or(case.title().to_string())),
        follow: Some(Follow {
            shape: Some([q, r, t as usize]),
            ..follow.clone()
        }),
        ..case.clone()
    })
}

/// The data of a case where there are so many times the observations of the smallest size: of a packing, the function of
/// its resolution there.
fn target(case: &Case, follow: &Follow, times: f64) -> Result<String, String> {
    let (Some(cells), Some(vertex)) = (follow.cells, follow.vertex) else {
        return match (follow.cells, follow.vertex) {
            (None, None) => Ok(case.data.clone()),
            _ => Err("follow.cells and follow.vertex belong together".to_string()),
        };
    };
    let given = |key: &str| {
        let text = case.data.strip_prefix("sim:packing:")?;
        let mut parts = text.split(',').filter_map(|part| part.split_once('='));
        let (_, value) = parts.find(|(name, _)| name.trim() == key)?;
        value.trim().parse::<f64>().ok()
    };
    let (Some(d), Some(bound)) = (given("dim"), given("bound")) else {
        return Err(
            "follow.cells is for data = \"sim:packing:dim=...,smoothness=...,bound=...\" without delta and member"
                .to_string(),
        );
    };
    if given("smoothness") != Some(follow.smoothness) {
        return Err("follow.smoothness is not the packing's".to_string());
    }
    let wrong = |e: loopfit_holder::Error| e.to_string();
    let smoothness = Smoothness::new(d as usize, follow.smoothness).map_err(wrong)?;
    let power = 1.0 / (2.0 * smoothness.s() + d);
    let m = (cells * pow(times, power)).round();
    if !((1.0..=4096.0).contains(&m) && (0.0..=1.0).contains(&vertex)) {
        return Err(
            "follow.cells must be a positive number and follow.vertex a part of one".to_string(),
        );
    }
    let class = HolderClass::new(smoothness, bound).map_err(wrong)?;
    let packing = Packing::with_cells(class, m as usize).map_err(wrong)?;
    // Of 2^k functions the zero one is left out.
    let last = pow(2.0, (packing.log_m() / LN_2).round().min(53.0)) - 1.0;
    let member = (vertex * (last + 1.0)).floor().clamp(1.0, last);
    Ok(format!(
        "{},delta={:e},member={member}",
        case.data,
        packing.delta()
    ))
}
