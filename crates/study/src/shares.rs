//! Who runs what: tasks go to shares by what they are predicted to cost, the dearest first, each to the share that has least.
//!
//! The prediction is a function of the protocol and the sizes of the data, never of a clock: every machine that shares a study
//! finds the same owners.

use crate::StudyError;
use crate::cost::task_cost;
use crate::protocol::{Case, Study};
use crate::run::{self, Prepared};
use crate::store::Store;
use crate::task::{Phase, Shard};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// The tasks of a study that a share has, by their places in the lists of [`run::development`] and [`run::confirmation`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Own {
    development: BTreeSet<usize>,
    confirmation: BTreeSet<usize>,
}

impl Own {
    fn of(&mut self, phase: Phase) -> &mut BTreeSet<usize> {
        match phase {
            Phase::Development => &mut self.development,
            Phase::Confirmation => &mut self.confirmation,
        }
    }

    pub(crate) fn has(&self, phase: Phase, place: usize) -> bool {
        let own = match phase {
            Phase::Development => &self.development,
            Phase::Confirmation => &self.confirmation,
        };
        own.contains(&place)
    }
}

/// A task before anything has run, and what it is predicted to cost. Which cases are confirmed after a screen is not known
/// then; where the task of a case stands in the list is.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Which of the studies that are shared out together.
    pub study: usize,
    /// Development comes before confirmation.
    pub phase: Phase,
    /// Its place among the tasks of that phase.
    pub(crate) place: usize,
    /// The case that it stands for; none for one that a screen is yet to choose.
    pub case: Option<String>,
    /// Its test split.
    pub split: Option<u64>,
    /// Whether it waits for development: that of its case and split, or after a screen for all of it.
    pub waits: bool,
    /// Predicted processor seconds on the machine that the prediction was fitted to.
    pub cost: f64,
}

/// The tasks of some studies and what each is predicted to cost, study by study, development first.
pub fn pieces(prepared: &[Prepared<'_>]) -> Result<Vec<Piece>, StudyError> {
    let mut pieces = Vec::new();
    for (number, one) in prepared.iter().enumerate() {
        let study = &one.named.study;
        let mut costs = Vec::new();
        for case in &study.cases {
            costs.push((
                case.name.as_str(),
                task_cost(one, case, Phase::Development)?,
                task_cost(one, case, Phase::Confirmation)?,
            ));
        }
        let of = |name: &str| costs.iter().find(|(case, _, _)| *case == name);
        for (place, task) in run::development(study).iter().enumerate() {
            pieces.push(Piece {
                study: number,
                phase: Phase::Development,
                place,
                case: Some(task.case.clone()),
                split: task.split,
                waits: false,
                cost: of(&task.case).map_or(0.0, |(_, cost, _)| *cost),
            });
        }
        // What a screen will choose costs as much as cases do on average.
        let mean = costs.iter().map(|(_, _, cost)| cost).sum::<f64>() / costs.len().max(1) as f64;
        let screened = study.way.screen().is_some();
        let waits = study.way.shortlist().is_some();
        let foreseen = run::confirmation(study, &run::foreseen(study));
        for (place, task) in foreseen.iter().enumerate() {
            pieces.push(Piece {
                study: number,
                phase: Phase::Confirmation,
                place,
                case: (!screened).then(|| task.case.clone()),
                split: task.split,
                waits,
                cost: match screened {
                    true => mean,
                    false => of(&task.case).map_or(0.0, |(_, _, cost)| *cost),
                },
            });
        }
    }
    Ok(pieces)
}

/// Pieces of several studies over some shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// The pieces.
    pub pieces: Vec<Piece>,
    /// The share of each, counted from zero.
    pub owners: Vec<usize>,
    /// The predicted cost of each share.
    pub loads: Vec<f64>,
}

impl Shares {
    /// Shares development out first, so that all shares end it at about the same time, then confirmation on top of it.
    pub fn new(pieces: Vec<Piece>, count: usize) -> Self {
        let mut loads = vec![0.0; count.max(1)];
        let mut owners = vec![0; pieces.len()];
        for phase in [Phase::Development, Phase::Confirmation] {
            let places: Vec<usize> = (0..pieces.len())
                .filter(|i| pieces[*i].phase == phase)
                .collect();
            let costs: Vec<f64> = places.iter().map(|i| pieces[*i].cost).collect();
            for (place, owner) in places.iter().zip(longest_first(&costs, &mut loads)) {
                owners[*place] = owner;
            }
        }
        Self {
            pieces,
            owners,
            loads,
        }
    }

    /// What a share has of one of the studies.
    pub(crate) fn own(&self, shard: Shard, study: usize) -> Own {
        let mut own = Own::default();
        let all = self.pieces.iter().zip(&self.owners);
        for (piece, _) in
            all.filter(|(piece, owner)| piece.study == study && **owner + 1 == shard.index)
        {
            own.of(piece.phase).insert(piece.place);
        }
        own
    }

    /// When each share ends if all begin at once on one thread each and every piece takes what it is said to cost: development
    /// first, then what waits for nothing, then what waits, which is ready when all development that it needs is.
    pub fn ends(&self, costs: &[f64]) -> Vec<f64> {
        let mut ends = vec![0.0; self.loads.len()];
        let mut done = vec![0.0f64; self.pieces.len()];
        let all = || self.pieces.iter().zip(&self.owners).zip(costs).enumerate();
        for (at, ((piece, owner), cost)) in all() {
            if piece.phase == Phase::Development {
                ends[*owner] += cost;
                done[at] = ends[*owner];
            }
        }
        let mut waiting = Vec::new();
        for (_, ((piece, owner), cost)) in all().filter(|(_, ((p, _), _))| !p.waits) {
            if piece.phase == Phase::Confirmation {
                ends[*owner] += cost;
            }
        }
        for (_, ((piece, owner), cost)) in all().filter(|(_, ((p, _), _))| p.waits) {
            let needed = self.pieces.iter().zip(&done);
            let needed = needed.filter(|(other, _)| other.is_needed_by(piece));
            let ready = needed.map(|(_, done)| *done).fold(0.0, f64::max);
            waiting.push((piece.study, ready, *owner, *cost));
        }
        waiting.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for (_, ready, owner, cost) in waiting {
            ends[owner] = ready.max(ends[owner]) + cost;
        }
        ends
    }

    /// Processor seconds of each share if every piece takes what it is said to cost.
    pub fn sums(&self, costs: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.loads.len()];
        for (owner, cost) in self.owners.iter().zip(costs) {
            sums[*owner] += cost;
        }
        sums
    }
}

impl Piece {
    fn is_needed_by(&self, other: &Self) -> bool {
        let same = other.case.is_none() || (self.case == other.case && self.split == other.split);
        self.phase == Phase::Development && self.study == other.study && same
    }
}

/// The shares, counted from one, that have something left to do beyond what a store holds.
pub fn left(
    prepared: &[Prepared<'_>],
    shares: &Shares,
    store: &Store,
) -> Result<BTreeSet<usize>, StudyError> {
    let mut lists = Vec::new();
    for one in prepared {
        let (name, study) = (&one.named.name, &one.named.study);
        let confirmed = confirmed(store, name, study)?;
        // Before a screen has chosen, nothing is confirmed.
        let known = study.way.screen().is_none() || !confirmed.is_empty();
        lists.push((
            name,
            study,
            run::development(study),
            known.then(|| run::confirmation(study, &confirmed)),
        ));
    }
    let mut left = BTreeSet::new();
    for (piece, owner) in shares.pieces.iter().zip(&shares.owners) {
        let (name, study, development, confirmation) = &lists[piece.study];
        let list = match piece.phase {
            Phase::Development => Some(development),
            Phase::Confirmation => confirmation.as_ref(),
        };
        let judged = piece.phase == Phase::Confirmation || study.way.screen().is_some();
        let done = match list.map(|tasks| tasks.get(piece.place)) {
            None => false,
            Some(None) => true,
            Some(Some(task)) => store.is_done(name, &task.name, judged)?,
        };
        if !done {
            left.insert(owner + 1);
        }
    }
    Ok(left)
}

/// Processor seconds that the fits of each piece took in a store that holds all of the studies.
pub fn measured(
    prepared: &[Prepared<'_>],
    pieces: &[Piece],
    store: &Store,
) -> Result<Vec<f64>, StudyError> {
    let query = "SELECT study, task, sum(seconds) FROM fit GROUP BY study, task";
    let rows: Vec<((String, String), f64)> =
        store.rows(query, [], |r| Ok(((r.get(0)?, r.get(1)?), r.get(2)?)))?;
    let seconds: BTreeMap<(String, String), f64> = rows.into_iter().collect();
    let mut tasks = Vec::new();
    for one in prepared {
        let (name, study) = (&one.named.name, &one.named.study);
        // Of another protocol the tasks may have the same names.
        store.has(one.named)?;
        let confirmed = confirmed(store, name, study)?;
        tasks.push((
            name,
            run::development(study),
            run::confirmation(study, &confirmed),
        ));
    }
    let of = |piece: &Piece| {
        let (name, development, confirmation) = &tasks[piece.study];
        let list = match piece.phase {
            Phase::Development => development,
            Phase::Confirmation => confirmation,
        };
        // A screen may choose one case twice.
        let Some(task) = list.get(piece.place) else {
            return Ok(0.0);
        };
        let key = ((*name).clone(), task.name.clone());
        seconds.get(&key).copied().ok_or_else(|| {
            let what = format!("task {} of {name}", task.name);
            StudyError::Broken {
                path: store.path().display().to_string(),
                what,
                why: "it was not run there".to_string(),
            }
        })
    };
    pieces.iter().map(of).collect()
}

/// The cases that were confirmed: all, or those that a screen chose.
fn confirmed<'s>(store: &Store, name: &str, study: &'s Study) -> Result<Vec<&'s Case>, StudyError> {
    if study.way.screen().is_none() {
        return Ok(study.cases.iter().collect());
    }
    let decisions = store.decisions(name)?;
    let screen = decisions.iter().find(|(what, _)| what == "screen");
    let content: serde_json::Value = screen
        .and_then(|(_, content)| serde_json::from_str(content).ok())
        .unwrap_or_default();
    let names = content["confirmed"].as_array().cloned().unwrap_or_default();
    let chosen = |case: &&Case| names.iter().any(|n| n.as_str() == Some(case.name.as_str()));
    Ok(study.cases.iter().filter(chosen).collect())
}

/// The owner of each cost: the largest goes first, each to the one with the smallest load, the first among equals.
fn longest_first(costs: &[f64], loads: &mut [f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by(|a, b| costs[*b].total_cmp(&costs[*a]).then(a.cmp(b)));
    let mut least: BinaryHeap<Reverse<(Load, usize)>> = (0..loads.len())
        .map(|share| Reverse((Load(loads[share]), share)))
        .collect();
    let mut owners = vec![0; costs.len()];
    for at in order {
        let Some(Reverse((Load(load), share))) = least.pop() else {
            break;
        };
        owners[at] = share;
        loads[share] = load + costs[at];
        least.push(Reverse((Load(loads[share]), share)));
    }
    owners
}

/// A load in the order of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Load(f64);

impl Eq for Load {}

impl PartialOrd for Load {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Load {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The tasks of some list that are a share's own.
pub(crate) fn own_of<T: Clone>(own: Option<&Own>, phase: Phase, tasks: &[T]) -> Vec<T> {
    let tasks = tasks.iter().enumerate();
    let mine = |place: usize| own.is_none_or(|own| own.has(phase, place));
    tasks
        .filter(|(place, _)| mine(*place))
        .map(|(_, task)| task.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(phase: Phase, place: usize, cost: f64) -> Piece {
        Piece {
            study: 0,
            phase,
            place,
            case: None,
            split: None,
            waits: false,
            cost,
        }
    }

    /// By hand.
    #[test]
    fn the_dearest_goes_first_to_who_has_least() {
        let mut loads = vec![0.0; 3];
        let owners = longest_first(&[4.0, 7.0, 1.0, 6.0, 5.0], &mut loads);
        // 7 -> 0, 6 -> 1, 5 -> 2, 4 -> 2 (5 is least), 1 -> 1 (6 is least).
        assert_eq!(owners, [2, 0, 1, 1, 2]);
        assert_eq!(loads, [7.0, 7.0, 9.0]);
    }

    /// One share has the development that the other waits for.
    #[test]
    fn who_needs_development_waits_for_it() {
        let waits = |place| Piece {
            waits: true,
            ..piece(Phase::Confirmation, place, 3.0)
        };
        let pieces = vec![piece(Phase::Development, 0, 5.0), waits(0), waits(1)];
        let shares = Shares::new(pieces, 2);
        assert_eq!(shares.owners, [0, 1, 1]);
        assert_eq!(shares.ends(&[5.0, 3.0, 3.0]), [5.0, 11.0]);
    }

    #[test]
    fn every_task_has_one_owner_and_development_is_balanced_alone() {
        let costs = [3.0, 3.0, 2.0, 2.0, 2.0, 9.0, 1.0, 1.0];
        let development = costs.iter().enumerate();
        let mut pieces: Vec<Piece> = development
            .map(|(i, c)| piece(Phase::Development, i, *c))
            .collect();
        pieces.extend((0..5).map(|i| piece(Phase::Confirmation, i, 4.0)));
        let shares = Shares::new(pieces.clone(), 3);
        let shard = |index| Shard { index, count: 3 };
        for piece in &pieces {
            let owners = (1..=3).filter(|i| shares.own(shard(*i), 0).has(piece.phase, piece.place));
            assert_eq!(owners.count(), 1);
        }
        // Graham's bound: at most 4/3 of the best, and no share is shorter than the longest by more than the last piece.
        let total: f64 = pieces.iter().map(|p| p.cost).sum();
        assert!((shares.loads.iter().sum::<f64>() - total).abs() < 1e-9);
        let longest = shares.loads.iter().copied().fold(0.0, f64::max);
        assert!(longest <= 4.0 / 3.0 * (total / 3.0).max(9.0));
        let costs: Vec<f64> = pieces.iter().map(|p| p.cost).collect();
        assert_eq!(shares.sums(&costs), shares.loads);
        // Nothing waits here.
        assert_eq!(shares.ends(&costs), shares.loads);
        // Everything is of the only share.
        let whole = Shares::new(pieces.clone(), 1).own(Shard::WHOLE, 0);
        assert!(pieces.iter().all(|p| whole.has(p.phase, p.place)));
    }
}
