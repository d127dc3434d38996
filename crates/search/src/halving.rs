//! Successive halving by validation loss, many searches at once.

use crate::SearchError;
use crate::plan::{Plan, Rung, Setting};
use crate::protocol::Protocol;
use crate::replication::Problem;
use loopfit_engine::{Control, Engine, FitOutcome, FitSpec};
use std::sync::Arc;

/// What one search tries.
#[derive(Clone, Debug)]
pub struct Search {
    /// The samples and their likelihood.
    pub problem: Arc<Problem>,
    /// Ranges and rules of the fits.
    pub protocol: Arc<Protocol>,
    /// One entry for each start of the first rung.
    pub settings: Vec<Setting>,
    /// How updates are spread.
    pub plan: Plan,
    /// Whether only a network with all its iterations may be kept, as long as there is one.
    pub whole: bool,
}

/// What one search found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The fit with the lowest validation loss of all rungs, its updates counted from its
    /// fresh start.
    pub outcome: FitOutcome,
    /// The setting that it came from.
    pub setting: usize,
    /// The rung that it came from.
    pub rung: usize,
    /// Updates of all fits of the search.
    pub updates: usize,
    /// The best validation loss of each setting that reached the last rung with more than one fit,
    /// in ascending order: local optima that the search could have kept.
    pub optima: Vec<f64>,
}

impl Found {
    /// How much worse the second best local optimum is than the best, on the validation
    /// samples; none if there is no other.
    pub fn gap(&self) -> Option<f64> {
        match self.optima[..] {
            [best, second, ..] if second.is_finite() => Some(second - best),
            _ => None,
        }
    }
}

/// A setting in the race.
struct Runner {
    setting: usize,
    /// Where the next rung starts.
    current: Option<FitOutcome>,
    /// The best outcome of all rungs and its rung. A rung that begins with more iterations is
    /// another function, so that the last is not always the best.
    best: Option<(FitOutcome, usize)>,
}

impl Runner {
    fn loss(&self) -> f64 {
        let current = self.current.as_ref();
        current.map_or(f64::INFINITY, |o| o.validation)
    }

    fn best_loss(&self) -> f64 {
        let best = self.best.as_ref();
        best.map_or(f64::INFINITY, |(o, _)| o.validation)
    }

    /// Takes the outcome of the next rung; `replace` if nothing earlier may be kept.
    fn advance(&mut self, rung: usize, mut outcome: FitOutcome, replace: bool) {
        outcome.updates += self.current.as_ref().map_or(0, |o| o.updates);
        if self.best.is_none() || replace || outcome.validation < self.best_loss() {
            self.best = Some((outcome.clone(), rung));
        }
        self.current = Some(outcome);
    }
}

/// The race of one search: those still running and those left behind, best first.
struct Race {
    running: Vec<Runner>,
    left: Vec<Runner>,
    updates: usize,
}

impl Race {
    fn new(settings: usize) -> Self {
        let runner = |setting| Runner {
            setting,
            current: None,
            best: None,
        };
        Self {
            running: (0..settings).map(runner).collect(),
            left: Vec::new(),
            updates: 0,
        }
    }

    /// Leaves all but the first `fits` runners behind.
    fn narrow(&mut self, rung: Rung) {
        let keep = self.running.len().min(rung.fits);
        self.left.splice(0..0, self.running.drain(keep..));
    }

    fn sort(&mut self) {
        // Stable: equal losses keep the order of the settings.
        self.running.sort_by(|a, b| a.loss().total_cmp(&b.loss()));
    }

    fn finish(mut self, plan: &Plan, whole: bool) -> Result<Found, SearchError> {
        // Those that reached the last but one rung.
        let finalists = plan
            .rungs
            .iter()
            .rev()
            .nth(1)
            .map_or(usize::MAX, |r| r.fits);
        self.running.extend(self.left);
        let mut optima: Vec<f64> = self
            .running
            .iter()
            .take(finalists)
            .map(Runner::best_loss)
            .collect();
        optima.sort_by(f64::total_cmp);
        if whole {
            // Only those of the last rung that was run have the most iterations.
            let latest = |r: &Runner| {
                r.best
                    .as_ref()
                    .map_or(0, |(_, rung)| plan.rungs[*rung].shorten)
            };
            let least = self.running.iter().map(latest).min().unwrap_or(1);
            self.running.retain(|r| latest(r) == least);
        }
        let best = self
            .running
            .into_iter()
            .min_by(|a, b| a.best_loss().total_cmp(&b.best_loss()));
        let (setting, (outcome, rung)) = best
            .and_then(|runner| Some((runner.setting, runner.best?)))
            .ok_or(SearchError::NothingToTry)?;
        Ok(Found {
            outcome,
            setting,
            rung,
            updates: self.updates,
            optima,
        })
    }
}

/// A fit of a search and where it stands in it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The search, counted from zero.
    pub search: usize,
    /// The rung, counted from zero.
    pub rung: usize,
    /// The setting, counted from zero.
    pub setting: usize,
    /// What is fitted.
    pub spec: FitSpec,
}

/// Who runs the fits of a search: an engine, or one that remembers what it ran before.
pub trait Fits {
    /// The outcomes, in the order of the entries.
    fn run(&self, entries: Vec<Entry>) -> Result<Vec<FitOutcome>, SearchError>;

    /// Whether to stop before the next rung.
    fn is_stopped(&self) -> bool;
}

impl Fits for (&Engine, &Control) {
    fn run(&self, entries: Vec<Entry>) -> Result<Vec<FitOutcome>, SearchError> {
        let specs: Vec<FitSpec> = entries.into_iter().map(|entry| entry.spec).collect();
        let control = self.1;
        Ok(self.0.run(&specs, control, |_, outcome| {
            control.saw(outcome.validation);
        })?)
    }

    fn is_stopped(&self) -> bool {
        self.1.is_stopped()
    }
}

/// Runs all searches together, so that every thread has work until the end. Deterministic
/// for given settings, whatever the threads. A search that is stopped gives the best so far.
pub fn search(fits: &impl Fits, searches: &[Search]) -> Result<Vec<Found>, SearchError> {
    let mut races: Vec<Race> = searches
        .iter()
        .map(|s| Race::new(s.settings.len()))
        .collect();
    let rungs = searches
        .iter()
        .map(|s| s.plan.rungs.len())
        .max()
        .unwrap_or(0);
    for number in 0..rungs {
        if number > 0 && fits.is_stopped() {
            break;
        }
        let mut entries: Vec<Entry> = Vec::new();
        let mut of: Vec<(usize, usize)> = Vec::new();
        for (s, search) in searches.iter().enumerate() {
            let Some(rung) = search.plan.rungs.get(number) else {
                continue;
            };
            races[s].narrow(*rung);
            for (place, runner) in races[s].running.iter().enumerate() {
                let start = runner.current.as_ref();
                let setting = &search.settings[runner.setting];
                let (protocol, problem) = (&search.protocol, &search.problem);
                entries.push(Entry {
                    search: s,
                    rung: number,
                    setting: runner.setting,
                    spec: setting.spec(protocol, problem, number, *rung, start)?,
                });
                of.push((s, place));
            }
        }
        // The searches take turns: whenever it is stopped, all have come about as far.
        let mut turns: Vec<((usize, usize), Entry)> = of.into_iter().zip(entries).collect();
        turns.sort_by_key(|((s, place), _)| (*place, *s));
        let (of, entries): (Vec<(usize, usize)>, Vec<Entry>) = turns.into_iter().unzip();
        let outcomes = fits.run(entries)?;
        for ((s, place), outcome) in of.into_iter().zip(outcomes) {
            races[s].updates += outcome.updates;
            let rungs = &searches[s].plan.rungs;
            let longer = number > 0 && rungs[number].shorten < rungs[number - 1].shorten;
            let replace = searches[s].whole && longer;
            races[s].running[place].advance(number, outcome, replace);
        }
        races.iter_mut().for_each(Race::sort);
    }
    let finished = races.into_iter().zip(searches);
    finished
        .map(|(race, s)| race.finish(&s.plan, s.whole))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;
    use crate::fit::Request;
    use crate::replication::Source;
    use loopfit_data::Simulation;
    use loopfit_model::{ArchitectureChoice, Method};
    use std::sync::Mutex;

    /// Runs fits and writes down whose turn it was.
    struct Recorder {
        engine: Engine,
        turns: Mutex<Vec<Vec<usize>>>,
    }

    impl Fits for Recorder {
        fn run(&self, entries: Vec<Entry>) -> Result<Vec<FitOutcome>, SearchError> {
            let turns = entries.iter().map(|entry| entry.search).collect();
            self.turns.lock().unwrap().push(turns);
            (&self.engine, &Control::default()).run(entries)
        }

        fn is_stopped(&self) -> bool {
            false
        }
    }

    /// 3200 updates are four starts: whoever stops the first rung stops all searches about as early.
    #[test]
    fn searches_take_turns() {
        let source = Source::Simulation {
            simulation: Simulation::Bumps,
            train: 32,
            valid: 16,
        };
        let request = Request {
            budget: 64,
            families: Family::each(&[ArchitectureChoice::Ffn], &Method::ALL),
            updates: 3200,
            protocol: Arc::default(),
        };
        let problem = source.replication(1, None).unwrap().problem;
        let searches = request.searches(&problem, 1, &[3200; 3]).unwrap();
        let recorder = Recorder {
            engine: Engine::new(1).unwrap(),
            turns: Mutex::default(),
        };
        search(&recorder, &searches).unwrap();
        let turns = recorder.turns.into_inner().unwrap();
        assert_eq!(turns[0], [0, 1, 2].repeat(4));
        assert_eq!(turns[1..], [[0, 1, 2]; 3]);
    }
}
