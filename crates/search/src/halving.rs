//! Successive halving by validation loss, many searches at once.

use crate::SearchError;
use crate::plan::{Plan, Rung, Setting};
use crate::protocol::Protocol;
use crate::replication::Problem;
use loopfit_engine::{Backend, Control, FitOutcome, FitSpec, Start};
use loopfit_model::growth;
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

impl Search {
    /// The fit of a setting at rung number `number`, from a fresh start or from where the last rung ended.
    pub(crate) fn spec(
        &self,
        setting: &Setting,
        number: usize,
        rung: Rung,
        start: Option<&FitOutcome>,
    ) -> Result<FitSpec, SearchError> {
        let (protocol, problem) = (&self.protocol, &self.problem);
        let network = setting.network_at(rung)?;
        let loss = start.map(|outcome| outcome.validation);
        let start = match start.map(|outcome| &outcome.parameters) {
            None => protocol.fresh(&network),
            Some(p) if *p.network() == network => Start::Given(p.clone()),
            Some(p) => Start::Given(growth::iterate(p, network.tying().iterations())?),
        };
        Ok(FitSpec {
            likelihood: problem.likelihood,
            bounds: problem.bounds,
            train: problem.train.clone(),
            valid: problem.valid.clone(),
            start,
            stages: vec![protocol.stage(&network, problem, setting.draw, rung.updates, loss)],
            network,
            stream: setting.stream.child("rung").nth(number as u64),
        })
    }
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

/// Searches that are run together, round by round: which fits are next, and what they gave. Who runs the fits, and whether it
/// remembers what it ran before, is not its business.
pub struct Rounds<'a> {
    searches: &'a [Search],
    races: Vec<Race>,
    /// The next round, counted from zero.
    next: usize,
    /// Search and place in its race of the fits that are being run.
    running: Vec<(usize, usize)>,
}

impl<'a> Rounds<'a> {
    /// Before the first round.
    pub fn new(searches: &'a [Search]) -> Self {
        let races = searches.iter().map(|s| Race::new(s.settings.len()));
        Self {
            searches,
            races: races.collect(),
            next: 0,
            running: Vec::new(),
        }
    }

    /// The fits of the next round; none after the last. The searches take turns: whenever the fits are stopped, all have come about
    /// as far.
    pub fn next_round(&mut self) -> Result<Option<Vec<Entry>>, SearchError> {
        let mut turns: Vec<((usize, usize), Entry)> = Vec::new();
        let mut over = true;
        for (s, search) in self.searches.iter().enumerate() {
            let Some(rung) = search.plan.rungs.get(self.next) else {
                continue;
            };
            over = false;
            self.races[s].narrow(*rung);
            for (place, runner) in self.races[s].running.iter().enumerate() {
                let setting = &search.settings[runner.setting];
                let spec = search.spec(setting, self.next, *rung, runner.current.as_ref())?;
                let entry = Entry {
                    search: s,
                    rung: self.next,
                    setting: runner.setting,
                    spec,
                };
                turns.push(((s, place), entry));
            }
        }
        turns.sort_by_key(|((s, place), _)| (*place, *s));
        let (running, entries): (Vec<_>, Vec<Entry>) = turns.into_iter().unzip();
        self.running = running;
        Ok((!over).then_some(entries))
    }

    /// Takes what the fits of the round gave, in their order.
    pub fn take(&mut self, outcomes: Vec<FitOutcome>) {
        for ((s, place), outcome) in self.running.drain(..).zip(outcomes) {
            let (search, race) = (&self.searches[s], &mut self.races[s]);
            race.updates += outcome.updates;
            let rungs = &search.plan.rungs;
            let longer = self.next > 0 && rungs[self.next].shorten < rungs[self.next - 1].shorten;
            race.running[place].advance(self.next, outcome, search.whole && longer);
        }
        self.races.iter_mut().for_each(Race::sort);
        self.next += 1;
    }

    /// What each search found in the rounds so far.
    pub fn finish(self) -> Result<Vec<Found>, SearchError> {
        let finished = self.races.into_iter().zip(self.searches);
        finished
            .map(|(race, s)| race.finish(&s.plan, s.whole))
            .collect()
    }
}

/// Runs all searches together, so that every thread has work until the end. Deterministic
/// for given settings, whatever the threads. A search that is stopped gives the best so far.
pub fn search(
    backend: &dyn Backend,
    control: &Control,
    searches: &[Search],
) -> Result<Vec<Found>, SearchError> {
    let mut rounds = Rounds::new(searches);
    while let Some(entries) = rounds.next_round()? {
        rounds.take(outcomes(backend, control, entries)?);
        if control.is_stopped() {
            break;
        }
    }
    rounds.finish()
}

/// The outcomes of some fits.
pub(crate) fn outcomes(
    backend: &dyn Backend,
    control: &Control,
    entries: Vec<Entry>,
) -> Result<Vec<FitOutcome>, SearchError> {
    let specs: Vec<FitSpec> = entries.into_iter().map(|entry| entry.spec).collect();
    let finished = |_, outcome: &FitOutcome| control.saw(outcome.validation);
    Ok(backend.run(&specs, control, &finished)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Family;
    use crate::fit::Request;
    use crate::replication::Source;
    use loopfit_data::Simulation;
    use loopfit_engine::Engine;
    use loopfit_model::{ArchitectureChoice, Method};

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
        let (engine, control) = (Engine::new(1).unwrap(), Control::default());
        let mut rounds = Rounds::new(&searches);
        let mut turns: Vec<Vec<usize>> = Vec::new();
        while let Some(entries) = rounds.next_round().unwrap() {
            turns.push(entries.iter().map(|entry| entry.search).collect());
            rounds.take(outcomes(&engine, &control, entries).unwrap());
        }
        assert_eq!(turns[0], [0, 1, 2].repeat(4));
        assert_eq!(turns[1..], [[0, 1, 2]; 3]);
    }
}
