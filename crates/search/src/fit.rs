//! All families on one replication.

use crate::SearchError;
use crate::cost::{self, Equal};
use crate::estimate::part_of_rows;
use crate::family::Family;
use crate::halving::{Found, Search, search};
use crate::iterations::Chosen;
use crate::judge::Judgement;
use crate::plan::{LEAST_UPDATES, Plan, Setting};
use crate::protocol::Protocol;
use crate::refit::{Refitted, refit};
use crate::replication::{Problem, Replication};
use loopfit_engine::{Backend, Control, Stop, Tolerance, tolerance};
use loopfit_fitted::{FittedModel, Provenance};
use loopfit_model::budget::BudgetError;
use loopfit_model::{Architecture, ArchitectureChoice, Budget, Method, Network, Tokens};
use loopfit_numerics::stream::Stream;
use loopfit_numerics::text::count;
use std::sync::Arc;

mod automatic;

/// Updates of each family's search at the efforts that have a name.
pub const QUICK: usize = 24_000;
/// The default.
pub const STANDARD: usize = 96_000;
/// For the last percent.
pub const STRONG: usize = 400_000;
/// Most updates that a time limit is turned into.
const MOST_UPDATES: f64 = 1e10;

/// The most updates of each family's search that the rows of a density pay for: an update costs the same however few they are, since it
/// goes through all nodes of the normaliser, and long searches find what few rows are validated by.
pub fn updates_of_rows(rows: usize) -> usize {
    (STANDARD as f64 * part_of_rows(rows)) as usize
}

/// What is searched: the cap, the families and how long.
#[derive(Clone, Debug)]
pub struct Request {
    /// The cap B.
    pub budget: usize,
    /// What competes, one architecture after the other.
    pub families: Vec<Family>,
    /// Updates of each family's search.
    pub updates: usize,
    /// Shapes, ranges and rules.
    pub protocol: Arc<Protocol>,
}

/// The best model of a family.
#[derive(Clone, Debug)]
pub struct MethodFit {
    /// The family.
    pub family: Family,
    /// The model.
    pub model: FittedModel,
    /// Metric of the selected fit on the validation samples; NaN if the family failed or was not reached.
    pub validation: f64,
    /// What the test samples say of the model; nothing if the family failed or was not reached.
    pub judged: Judgement,
    /// Updates of the family's search.
    pub updates: usize,
    /// Why the selected fit ended.
    pub stop: Stop,
    /// How much worse the second best local optimum is, see [`Found::gap`].
    pub gap: Option<f64>,
    /// How far the model is from a stationary point; measured for the kept model alone, and not
    /// when the search was stopped.
    pub tolerance: Option<Tolerance>,
    /// Whether the fit went on with the validation samples.
    pub refitted: bool,
    /// How its iteration count was chosen, where that was by penalised likelihood: then no sample was for validation.
    pub chosen: Option<Chosen>,
}

impl MethodFit {
    /// Whether the search was stopped before the family's first update.
    pub fn not_reached(&self) -> bool {
        self.updates == 0
    }

    /// Whether no fit of the family had a finite validation loss.
    pub fn failed(&self) -> bool {
        let judged = self.chosen.is_some() || self.model.provenance.validation.is_finite();
        !self.not_reached() && !judged
    }
}

impl Request {
    /// The search of each family on a replication; `updates` has one entry for each.
    pub fn searches(
        &self,
        problem: &Arc<Problem>,
        seed: u64,
        updates: &[usize],
    ) -> Result<Vec<Search>, SearchError> {
        self.families
            .iter()
            .zip(updates)
            .map(|(family, updates)| {
                let plan = Plan::new(&self.protocol, *updates)?;
                let shapes = self.shapes(family, problem)?;
                let stream = Stream::new(seed).child("search").child(&family.key());
                Ok(Search {
                    problem: problem.clone(),
                    protocol: self.protocol.clone(),
                    settings: Setting::draw(&self.protocol, &shapes, plan.starts(), stream),
                    plan,
                    whole: self.protocol.shapes.are_given(family.method),
                })
            })
            .collect()
    }

    /// The networks of a family under the cap.
    fn shapes(&self, family: &Family, problem: &Problem) -> Result<Vec<Network>, SearchError> {
        let (d, outputs) = (problem.train.d(), problem.likelihood.outputs());
        let budget = Budget::new(self.budget, family.architecture.at(d)?, d, outputs)?;
        self.protocol.shapes.networks(&budget, family.method)
    }

    /// Where several architectures compete, leaves out those without a shape under the cap on
    /// some of the problems and says why; also says where fewer tokens would help. If all are left
    /// out, the first one's error.
    pub fn leave_out_what_cannot_fit<'a>(
        &mut self,
        problems: impl IntoIterator<Item = &'a Problem>,
    ) -> Result<Vec<String>, SearchError> {
        let problems: Vec<&Problem> = problems.into_iter().collect();
        let mut fitting = Vec::new();
        let mut reasons: Vec<BudgetError> = Vec::new();
        for family in &self.families {
            let shapes = problems.iter().map(|problem| self.shapes(family, problem));
            match shapes.filter_map(Result::err).next() {
                None => fitting.push(family.clone()),
                Some(SearchError::Budget(e @ BudgetError::TooSmall { .. })) => {
                    if !reasons.contains(&e) {
                        reasons.push(e);
                    }
                }
                Some(e) => return Err(e),
            }
        }
        if fitting.is_empty()
            && let Some(first) = reasons.first()
        {
            return Err(first.clone().into());
        }
        self.families = fitting;
        let mut notes: Vec<String> = reasons
            .iter()
            .map(|reason| format!("left out: {reason}"))
            .collect();
        if let Some(problem) = problems.first() {
            notes.extend(self.advice(problem));
            notes.extend(self.like_single(problem)?);
        }
        Ok(notes)
    }

    /// Which families of separate blocks have only one under the cap.
    fn like_single(&self, problem: &Problem) -> Result<Vec<String>, SearchError> {
        let mut notes = Vec::new();
        for family in self.families.iter().filter(|f| f.method == Method::Untied) {
            let shapes = self.shapes(family, problem)?;
            if shapes.iter().all(|network| network.tying().blocks() == 1) {
                notes.push(format!(
                    "{family} has one block, like Single with another start: two of a useful size do not fit B = {}",
                    self.budget
                ));
            }
        }
        Ok(notes)
    }

    /// With how many tokens a Transformer's rows could have three numbers, where they cannot:
    /// of two, layer normalisation keeps a sign.
    fn advice(&self, problem: &Problem) -> Option<String> {
        let (d, outputs) = (problem.train.d(), problem.likelihood.outputs());
        let at = |family: &Family| family.architecture.at(d).ok();
        let mut architectures = self.families.iter().filter_map(at);
        let partition = architectures.find_map(|architecture| match architecture {
            Architecture::Ffn => None,
            Architecture::Transformer { partition } => Some(partition),
        })?;
        let has_room = |tokens: &Tokens| {
            let architecture = ArchitectureChoice::Transformer(tokens.clone()).at(d).ok();
            let budget = architecture.map(|a| Budget::new(self.budget, a, d, outputs));
            budget.is_some_and(|b| b.is_ok_and(|b| b.largest_r(3, 1).is_some()))
        };
        let m = partition.len();
        if has_room(&Tokens::Given(partition)) {
            return None;
        }
        let fewer = (1..m).rev().find(|k| has_room(&Tokens::Groups(*k)))?;
        Some(format!(
            "with {m} data tokens B = {} has room for rows of two numbers at most, of which layer normalisation keeps a sign: try {}",
            self.budget,
            count(fewer, "token")
        ))
    }

    /// The search of each family, all with the same number of updates.
    fn alike(&self, problem: &Arc<Problem>, seed: u64) -> Result<Vec<Search>, SearchError> {
        self.searches(problem, seed, &vec![self.updates; self.families.len()])
    }

    /// Updates of each family so that all have what Loop of the first architecture (or else the
    /// first family) has with [`Request::updates`].
    pub fn equal(
        &self,
        backend: &dyn Backend,
        replication: &Replication,
        equal: Equal,
    ) -> Result<Vec<usize>, SearchError> {
        let searches = self.alike(&replication.problem, 0)?;
        let costs: Vec<f64> = searches
            .iter()
            .map(|search| match equal {
                Equal::Updates => Ok(1.0),
                Equal::Time => cost::thread_seconds(backend, search),
                Equal::Flops => cost::flops(search),
            })
            .collect::<Result<_, _>>()?;
        let first = self.families.first().map(|family| &family.architecture);
        let is_reference = |f: &Family| f.method == Method::Loop && Some(&f.architecture) == first;
        let of = self.families.iter().position(is_reference).unwrap_or(0);
        let updates = |cost: &f64| (self.updates as f64 * costs[of] / cost).round() as usize;
        Ok(costs
            .iter()
            .map(|c| updates(c).max(LEAST_UPDATES))
            .collect())
    }

    /// The number of updates with which [`Prepared::run`] takes about so many seconds.
    pub fn updates_within(
        &self,
        backend: &dyn Backend,
        replication: &Replication,
        seconds: f64,
    ) -> Result<usize, SearchError> {
        let mut request = self.clone();
        request.updates = STANDARD;
        // Rungs are not quite proportional to the updates: the second look corrects the first.
        for _ in 0..2 {
            let searches = request.alike(&replication.problem, 0)?;
            let predicted = cost::seconds(backend, &searches)?;
            let updates = request.updates as f64 * seconds / predicted;
            request.updates = updates.clamp(LEAST_UPDATES as f64, MOST_UPDATES) as usize;
        }
        Ok(request.updates)
    }

    /// Turns what a search found into a model and judges it. `refitted` has the coefficients and
    /// the samples of a fit that went on after the selection.
    pub(crate) fn finish(
        &self,
        replication: &Replication,
        seed: u64,
        family: Family,
        found: Found,
        refitted: Option<Refitted>,
    ) -> Result<MethodFit, SearchError> {
        let problem = &replication.problem;
        let (gap, stop) = (found.gap(), found.outcome.stop);
        let mut model = FittedModel {
            bounds: problem.bounds,
            likelihood: problem.likelihood,
            preprocessing: replication.preprocessing.clone(),
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").to_string(),
                source: replication.source.clone(),
                training_samples: problem.train.hash(),
                budget: self.budget,
                seed,
                validation: found.outcome.validation,
                updates: found.outcome.updates,
            },
            assessment: None,
            parameters: found.outcome.parameters,
        };
        // A start that had no update says nothing about its family.
        let nothing = !model.provenance.validation.is_finite() || found.updates == 0;
        let validation = if nothing {
            f64::NAN
        } else {
            if let Some(nll) = model.reported_nll(problem.valid.x())? {
                model.provenance.validation = nll;
            }
            replication.validate(&model)?
        };
        let is_refitted = refitted.is_some();
        if let Some(refitted) = refitted {
            model.parameters = refitted.outcome.parameters;
            model.provenance.training_samples = refitted.train.hash();
            model.provenance.updates += refitted.outcome.updates;
        }
        let judged = match nothing {
            true => Judgement::none(),
            false => replication.judge(&model)?,
        };
        Ok(MethodFit {
            family,
            model,
            validation,
            judged,
            updates: found.updates,
            stop,
            gap,
            tolerance: None,
            refitted: is_refitted,
            chosen: None,
        })
    }
}

/// A search with every family that is ready to run.
#[derive(Debug)]
pub struct Prepared {
    request: Request,
    replication: Replication,
    seed: u64,
    searches: Vec<Search>,
    /// The iteration counts of the searches, where one is to be chosen by penalised likelihood.
    ladder: Option<Vec<usize>>,
}

impl Prepared {
    /// Prepares the search of each family on a replication, all with the same number of updates.
    pub fn new(request: Request, replication: Replication, seed: u64) -> Result<Self, SearchError> {
        let searches = request.alike(&replication.problem, seed)?;
        Ok(Self {
            request,
            replication,
            seed,
            searches,
            ladder: None,
        })
    }

    /// What is searched.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The samples.
    pub fn replication(&self) -> &Replication {
        &self.replication
    }

    /// Seconds that [`Prepared::run`] takes, predicted from this machine's measured speed.
    pub fn seconds(&self, backend: &dyn Backend) -> Result<f64, SearchError> {
        cost::seconds(backend, &self.searches)
    }

    /// Searches with every family; the fits come back in the order of their validation loss, so
    /// that the first is the one to keep. Test samples are read after that order is settled. When
    /// stopped, the best so far comes back, and families that were not reached come last.
    pub fn run(
        &self,
        backend: &dyn Backend,
        control: &Control,
    ) -> Result<Vec<MethodFit>, SearchError> {
        let (request, replication) = (&self.request, &self.replication);
        let found = search(backend, control, &self.searches)?;
        if control.is_abandoned() {
            return Err(SearchError::Interrupted);
        }
        if let Some(ts) = &self.ladder {
            return backend
                .threads()
                .install(|| Ok(vec![self.choose(control, ts, found)?]));
        }
        let refitted = refit(backend, control, &self.searches, &found)?;
        let mut found: Vec<(Family, Found, Option<Refitted>)> = request
            .families
            .iter()
            .zip(found)
            .zip(refitted)
            .map(|((family, found), refitted)| (family.clone(), found, refitted))
            .collect();
        if found.iter().all(|(_, found, _)| found.updates == 0) {
            return Err(SearchError::Interrupted);
        }
        // Those that were not reached come last, in their usual order.
        let loss = |found: &Found| match found.updates {
            0 => f64::INFINITY,
            _ => found.outcome.validation,
        };
        found.sort_by(|(_, a, _), (_, b, _)| {
            let by_turn = (a.updates == 0).cmp(&(b.updates == 0));
            by_turn.then(loss(a).total_cmp(&loss(b)))
        });
        let problem = &replication.problem;
        let first = found.first().and_then(|(_, _, refitted)| refitted.as_ref());
        let train = first.map_or(&problem.train, |r| &r.train).clone();
        backend.threads().install(|| {
            let mut fits: Vec<MethodFit> = found
                .into_iter()
                .map(|(family, found, refitted)| {
                    request.finish(replication, self.seed, family, found, refitted)
                })
                .collect::<Result<_, _>>()?;
            if let Some(best) = fits.first_mut()
                && !best.failed()
                && !control.is_stopped()
            {
                let parameters = &best.model.parameters;
                // Too large to measure, or not finite: then there is nothing to report.
                best.tolerance =
                    tolerance(parameters, problem.likelihood, problem.bounds, &train).ok();
            }
            Ok(fits)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replication::Source;
    use loopfit_data::Simulation;

    fn problem() -> Arc<Problem> {
        let source = Source::Simulation {
            simulation: Simulation::Bumps,
            train: 32,
            valid: 16,
        };
        source.replication(1, None).unwrap().problem
    }

    fn request(budget: usize, tokens: Tokens) -> Request {
        let both = [
            ArchitectureChoice::Ffn,
            ArchitectureChoice::Transformer(tokens),
        ];
        Request {
            budget,
            families: Family::each(&both, &Method::ALL),
            updates: 3200,
            protocol: Arc::default(),
        }
    }

    /// Studies whose results are published depend on these streams.
    #[test]
    fn each_family_has_its_own_stream() {
        let request = request(128, Tokens::All);
        let searches = request.searches(&problem(), 7, &[3200; 6]).unwrap();
        let keys = [
            "single",
            "loop",
            "untied",
            "single-transformer",
            "loop-transformer",
            "untied-transformer",
        ];
        for (search, key) in searches.iter().zip(keys) {
            let stream = Stream::new(7).child("search").child(key);
            for (i, setting) in search.settings.iter().enumerate() {
                assert_eq!(setting.stream, stream.nth(i as u64), "{key}");
                let transformer = Architecture::Transformer {
                    partition: vec![vec![0, 1]],
                };
                let is_transformer = *setting.network.architecture() == transformer;
                assert_eq!(is_transformer, key.ends_with("transformer"));
            }
        }
        assert_eq!(searches.len(), 6);
    }

    /// Table 1 by hand: for d = 2 the smallest FFN has 9 numbers, the smallest Transformer (N = 5)
    /// with rows of two numbers has 64.
    #[test]
    fn an_architecture_that_cannot_fit_is_left_out() {
        let problem = problem();
        let keys = |request: &Request| -> Vec<String> {
            request.families.iter().map(Family::key).collect()
        };
        let mut enough = request(64, Tokens::Each);
        let notes = enough.leave_out_what_cannot_fit([&*problem]).unwrap();
        let one_block = "Untied Transformer has one block, like Single with another start: two of a \
                         useful size do not fit B = 64";
        assert_eq!(notes, [one_block]);
        assert_eq!(keys(&enough).len(), 6);
        let mut less = request(63, Tokens::Each);
        let notes = less.leave_out_what_cannot_fit([&*problem]).unwrap();
        assert_eq!(keys(&less), ["single", "loop", "untied"]);
        assert_eq!(
            notes,
            [
                "left out: budget 63 cannot hold any post-LN Transformer for d = 2: the smallest \
              that depends on its inputs needs 64 (q = 2, r = 1); raise the budget"
            ]
        );
        // Nothing is left of either, or of the only one.
        let error = |mut request: Request| {
            let result = request.leave_out_what_cannot_fit([&*problem]);
            result.unwrap_err().to_string()
        };
        assert!(error(request(8, Tokens::Each)).contains("any residual FFN"));
        let mut alone = request(63, Tokens::Each);
        alone.families.drain(..3);
        assert!(error(alone).contains("any post-LN Transformer"));
        // Tokens that do not suit the inputs are the user's to mend.
        assert!(error(request(128, Tokens::Groups(3))).contains("3 data tokens"));
    }

    /// By hand: with q = 3 and r = 1 two data tokens take 107 numbers, one takes 101.
    #[test]
    fn fewer_tokens_are_advised_where_they_help() {
        let notes = |b: usize| {
            let mut request = request(b, Tokens::Each);
            request.leave_out_what_cannot_fit([&*problem()]).unwrap()
        };
        for (b, advised) in [(100, false), (101, true), (106, true), (107, false)] {
            let found = notes(b).iter().any(|n| n.ends_with("try 1 token"));
            assert_eq!(found, advised, "{b}");
        }
    }
}
