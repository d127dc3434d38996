//! How to boost: settings race over rounds, judged by the held-out rows of all folds at once.

use super::Fold;
use super::boost::{Binned, Boost, Setting};
use super::tree::Shape;
use loopfit_numerics::stream::Stream;
use rayon::prelude::*;

/// Rounds of boosting between looks at the held-out rows.
const LOOK: usize = 25;
/// Leaves of the trees that race first.
const LEAVES: [usize; 5] = [2, 4, 8, 16, 32];
/// Rounds at most in the first race and in the second.
const ROUNDS: [usize; 2] = [250, 1000];
/// Factor on each tree in the first race and in the second, with all these rounds; fewer have to
/// go further each.
const RATES: [f64; 2] = [0.1, 0.05];
/// Factor on each tree at most.
const MOST_RATE: f64 = 0.25;
/// Rounds without progress before a setting stops, in the first race and in the second.
const WAIT: [usize; 2] = [40, 60];
/// What counts as progress: the mean loss is less than this share of what it was.
const PROGRESS: f64 = 0.999;
/// Rows in a leaf at least: as few as can have a mean, or enough for a steady one.
const LEAST: [usize; 2] = [2, 8];
/// Additions of a race at most, about, and how many more for each row of a fold.
const WORK: f64 = 5e7;
/// See [`WORK`].
const WORK_PER_ROW: f64 = 2e5;
/// Additions of a race at most, however many rows.
const MOST_WORK: f64 = 1.2e9;
/// Time to look at a bin, in additions.
const BIN: f64 = 3.0;

/// How to boost and for how many rounds, with the mean loss over the held-out rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Winner {
    pub(super) setting: Setting,
    pub(super) rounds: usize,
    pub(super) loss: f64,
}

/// The winner of two races: fast ones of trees of all sizes, then slow ones of trees like the
/// best, with variations. None if stopped.
pub(super) fn choose(
    binned: &Binned<'_>,
    folds: &[Fold],
    stream: Stream,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Winner> {
    let mut fast = LEAVES.map(|leaves| Setting {
        shape: Shape {
            leaves,
            rows: LEAST[0],
            ridge: 1.0,
        },
        rate: RATES[0],
        rows: 0.75,
        inputs: 1.0,
    });
    let rate = |race: usize, settings: &[Setting]| {
        let rounds = affordable(binned, folds, settings).clamp(1, ROUNDS[race]);
        (RATES[race] * ROUNDS[race] as f64 / rounds as f64).min(MOST_RATE)
    };
    let first_rate = rate(0, &fast);
    fast.iter_mut()
        .for_each(|setting| setting.rate = first_rate);
    let first = race(binned, folds, &fast, [ROUNDS[0], WAIT[0]], stream, stop)?;
    let base = Setting {
        rate: rate(1, &[first.setting; 4]),
        ..first.setting
    };
    let shaped = |leaves, rows| Setting {
        shape: Shape {
            leaves,
            rows,
            ..base.shape
        },
        ..base
    };
    let leaves = base.shape.leaves;
    let mut slow = vec![base, shaped(leaves, LEAST[1]), shaped(leaves * 2, LEAST[0])];
    if binned.table.d > 1 {
        slow.push(Setting {
            inputs: 0.5,
            ..base
        });
    }
    let second = race(binned, folds, &slow, [ROUNDS[1], WAIT[1]], stream, stop)?;
    Some(if second.loss < first.loss {
        second
    } else {
        first
    })
}

/// The setting and the number of rounds with the lowest mean loss over the held-out rows of all
/// folds. Every fold makes the same number of rounds: none stops at its own luckiest one.
fn race(
    binned: &Binned<'_>,
    folds: &[Fold],
    settings: &[Setting],
    [rounds, wait]: [usize; 2],
    stream: Stream,
    stop: &(dyn Fn() -> bool + Sync),
) -> Option<Winner> {
    let mut boosts: Vec<Boost<'_>> = settings
        .iter()
        .flat_map(|setting| folds.iter().map(move |fold| (setting, fold)))
        .map(|(setting, fold)| Boost::new(binned, &fold.kept, &fold.held, *setting, stream))
        .collect();
    let held: usize = folds.iter().map(|fold| fold.held.len()).sum();
    let most = rounds.min(affordable(binned, folds, settings)).max(LOOK);
    let mut found = vec![(f64::INFINITY, 0); settings.len()];
    let mut progress = found.clone();
    let mut open = vec![true; settings.len()];
    while open.contains(&true) {
        boosts
            .par_iter_mut()
            .enumerate()
            .filter(|(i, _)| open[i / folds.len()])
            .for_each(|(_, boost)| boost.run(LOOK, stop));
        if stop() {
            return None;
        }
        for (s, boosts) in boosts.chunks(folds.len()).enumerate() {
            if !open[s] {
                continue;
            }
            let rounds = boosts[0].held_losses.len();
            for round in rounds - LOOK..rounds {
                let total: f64 = boosts.iter().map(|b| b.held_losses[round]).sum();
                let mean = total / held as f64;
                if mean < found[s].0 {
                    found[s] = (mean, round + 1);
                }
                if mean < PROGRESS * progress[s].0 {
                    progress[s] = (mean, round + 1);
                }
            }
            open[s] = rounds < most && rounds - progress[s].1 < wait;
        }
    }
    let mut winner: Option<Winner> = None;
    for (setting, (loss, rounds)) in settings.iter().zip(found) {
        if winner.is_none_or(|w| loss < w.loss) {
            winner = Some(Winner {
                setting: *setting,
                rounds,
                loss,
            });
        }
    }
    winner
}

/// Rounds that the work of a race allows: a tree adds every input of a row to a bin once for
/// about every halving of the rows, and looks at all bins at every leaf, which takes longer.
fn affordable(binned: &Binned<'_>, folds: &[Fold], settings: &[Setting]) -> usize {
    let table = binned.table;
    let rows: usize = folds.iter().map(|fold| fold.kept.len()).sum();
    let round: f64 = settings
        .iter()
        .map(|setting| {
            let leaves = setting.shape.leaves as f64;
            let cells = (rows * table.d) as f64 * setting.rows * setting.inputs;
            let halvings = (setting.shape.leaves.ilog2() + 1) as f64;
            let bins = (binned.bins.count() * folds.len()) as f64 * setting.inputs;
            cells * (1.0 + halvings) / 2.0 + BIN * leaves * bins
        })
        .sum();
    let work = WORK + WORK_PER_ROW * rows as f64 / folds.len() as f64;
    (work.min(MOST_WORK) / (round * table.loss.outputs() as f64)) as usize
}
