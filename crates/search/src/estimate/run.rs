//! The selection of what is delivered, its test score, and the last fit to all rows.

use super::part::Part;
use super::{Absence, Ask, Beside, Entry, Estimate, Prepared, Rung, STANDARD};
use crate::SearchError;
use crate::judge::Judgement;
use loopfit_engine::{Control, Threads};
use loopfit_estimate::{Choice, Chosen, Folds, Problem, Request, Selection, Watch, finish};
use loopfit_fitted::{Assessment, FittedModel, Provenance};
use loopfit_likelihood::Floor;
use loopfit_model::Method;
use loopfit_numerics::stream::Stream;
use loopfit_numerics::sum::mean;
use rayon::prelude::*;

/// The smallest cap beside the one that is asked for.
const LEAST_RUNG: usize = 16;
/// The part of the work that selections are, and the part that the fits to all of their rows are; the rest is what is reached without a cap.
const PARTS: [f64; 2] = [0.8, 0.15];
/// Rows that pay for all of the default work, and those that fewer ones are paid for like.
const WORK_ROWS: [usize; 2] = [500, 100];

impl Prepared {
    /// Selects, scores and fits. `advance` is told which part of the work is done.
    pub fn run(
        &self,
        threads: &Threads,
        ask: &Ask,
        control: &Control,
        advance: &(dyn Fn(f64) + Sync),
    ) -> Result<Estimate, SearchError> {
        threads.install(|| self.run_here(ask, control, advance))
    }

    fn run_here(
        &self,
        ask: &Ask,
        control: &Control,
        advance: &(dyn Fn(f64) + Sync),
    ) -> Result<Estimate, SearchError> {
        let stop = || control.is_stopped();
        let stream = Stream::new(ask.seed).child("estimate");
        let again = self.whole.as_ref().filter(|part| !part.folds.is_empty());
        // The work is for both selections where there are two.
        let share = if again.is_some() { 0.5 } else { 1.0 };
        let caps = ladder(ask.budget);
        let select = |part: &Part, stream: Stream| {
            let watch = Watch {
                stop: &stop,
                advance: &|done| advance(PARTS[0] * share * done),
            };
            let mut found = self.select(part, ask, &caps, share, stream, watch)?;
            let rungs = self.rungs(part, &found, ask);
            let last = found.pop().ok_or(SearchError::Interrupted)?;
            Ok::<_, SearchError>((last, rungs))
        };
        let (selection, mut rungs) = select(&self.first, stream)?;
        let mut entries = self.entries(&selection, ask, stream, control)?;
        // On few rows the choice itself gains from all of them; the test scores then are those of the same selection without the
        // test rows. A second selection that was cut short is worth less than the first, which was not.
        let second = match again {
            Some(whole) if !stop() => Some((whole, select(whole, stream.child("again"))?)),
            _ => None,
        };
        let (part, selection) = match second {
            Some((whole, (selection, again))) if !stop() => {
                rungs = again;
                let all = named(&selection, &ask.methods).into_iter();
                let all = all.map(|(method, chosen)| {
                    let known = entries.iter().find(|e| e.method == method);
                    let test = known.map_or(Judgement::none(), |e| e.test.clone());
                    self.summary(whole, method, chosen, ask, test)
                });
                entries = all.collect();
                (whole, selection)
            }
            _ => (&self.first, selection),
        };
        let best = selection.best().ok_or_else(|| match stop() {
            true => SearchError::Interrupted,
            false => self.nothing_fits(ask.budget, ask),
        })?;
        let chosen: Vec<(Option<Method>, &Chosen)> = named(&selection, &ask.methods);
        let choice = &chosen[best].1.best;
        let (model, no_cap) = rayon::join(
            || self.delivered(part, choice, &entries[best], ask, stream, control),
            || self.no_cap(stream.child("no cap"), &stop),
        );
        let (model, no_cap) = (model?, no_cap?);
        advance(1.0 - PARTS[0]);
        let has = |method: &Method| entries.iter().any(|e| e.method == Some(*method));
        let absence = match stop() {
            true => Absence::NotReached,
            false => Absence::DoesNotFit,
        };
        let absent = ask.methods.iter().filter(|method| !has(method));
        let absent = absent.map(|method| (*method, absence)).collect();
        let (validation, test, constant_losses) = self.constant(part)?;
        let constant = (validation, test);
        Ok(Estimate {
            entries: best_first(entries, best),
            rungs,
            absent,
            model,
            constant,
            constant_losses,
            no_cap,
            selection_rows: part.samples.n(),
            test_rows: self.test_rows,
            selected_by: part.selected_by.clone(),
            notes: match std::ptr::eq(part, &self.first) {
                true => self.notes.clone(),
                false => self.again.clone(),
            },
            complete: !stop(),
        })
    }

    /// The choice of an entry fitted to all rows, with what is known of its error.
    fn delivered(
        &self,
        part: &Part,
        choice: &Choice,
        entry: &Entry,
        ask: &Ask,
        stream: Stream,
        control: &Control,
    ) -> Result<FittedModel, SearchError> {
        // What was chosen by the inputs of a part reads the same ones of all rows.
        let last = match &self.alike {
            Some(alike) if std::ptr::eq(part, &self.first) => alike,
            _ => self.whole.as_ref().unwrap_or(&self.first),
        };
        let mut model = self.fitted(last, choice, ask, stream, control)?;
        let test = entry.test.error;
        model.assessment = Some(Assessment {
            rows: last.samples.n(),
            selected_by: part.selected_by.clone(),
            selection_rows: part.samples.n(),
            metric: self.error_name().to_string(),
            error: entry.validation,
            test_error: test.is_finite().then_some(test),
            test_rows: self.test_rows,
            clip: part.clip_pays(self.task, choice),
            floor: Floor::after(self.likelihood, last.samples.n()).least(),
            residuals: Assessment::thinned(part.residuals(self.task, choice, last, &model)),
        });
        Ok(model)
    }

    /// What was best of each method under each cap.
    fn rungs(&self, part: &Part, selections: &[Selection], ask: &Ask) -> Vec<Rung> {
        let of_cap = |selection: &Selection| {
            let seconds = |method: Option<Method>| {
                let place = match method {
                    None => 0,
                    Some(own) => 1 + ask.methods.iter().take_while(|m| **m != own).count(),
                };
                selection.seconds.get(place).copied().unwrap_or(0.0)
            };
            let named = named(selection, &ask.methods).into_iter();
            let of_method = |(method, chosen)| {
                let entry = self.summary(part, method, chosen, ask, Judgement::none());
                Rung {
                    cap: selection.cap,
                    method,
                    count: entry.network.count(),
                    validation: entry.validation,
                    seconds: seconds(method),
                }
            };
            named.map(of_method).collect::<Vec<_>>()
        };
        selections.iter().flat_map(of_cap).collect()
    }

    /// The models that are selected under each of the caps (ascending), the best first, with the best one's choice; of the caps that
    /// were finished, where it is interrupted. The budget of `ask` plays no part.
    pub(crate) fn under_caps(
        &self,
        threads: &Threads,
        ask: &Ask,
        caps: &[usize],
        control: &Control,
        advance: &(dyn Fn(f64) + Sync),
    ) -> Result<Vec<(usize, Vec<Entry>, Choice)>, SearchError> {
        let stop = || control.is_stopped();
        let stream = Stream::new(ask.seed).child("estimate");
        let watch = Watch {
            stop: &stop,
            advance: &|done| advance((PARTS[0] + PARTS[1]) * done),
        };
        threads.install(|| {
            let mut found = Vec::new();
            for selection in self.select(&self.first, ask, caps, 1.0, stream, watch)? {
                let Some(best) = selection.best() else {
                    continue;
                };
                let entries = self.entries(&selection, ask, stream, control)?;
                let choice = named(&selection, &ask.methods)[best].1.best.clone();
                found.push((selection.cap, best_first(entries, best), choice));
            }
            Ok(found)
        })
    }

    /// What was selected under a cap, fitted to all rows.
    pub(crate) fn model(
        &self,
        threads: &Threads,
        ask: &Ask,
        choice: &Choice,
        entry: &Entry,
        control: &Control,
    ) -> Result<FittedModel, SearchError> {
        let stream = Stream::new(ask.seed).child("estimate");
        let part = &self.first;
        threads.install(|| self.delivered(part, choice, entry, ask, stream, control))
    }

    /// Errors of a constant and of what is reached without a cap, by cross-validation.
    pub fn beside(
        &self,
        threads: &Threads,
        ask: &Ask,
        control: &Control,
    ) -> Result<Beside, SearchError> {
        let stop = || control.is_stopped();
        let stream = Stream::new(ask.seed).child("estimate").child("no cap");
        threads.install(|| {
            let no_cap = self.no_cap(stream, &stop)?;
            let (constant, _, constant_losses) = self.constant(&self.first)?;
            Ok(Beside {
                constant,
                constant_losses,
                no_cap,
            })
        })
    }

    fn select(
        &self,
        part: &Part,
        ask: &Ask,
        caps: &[usize],
        share: f64,
        stream: Stream,
        watch: Watch<'_>,
    ) -> Result<Vec<Selection>, SearchError> {
        let folds = Folds {
            selecting: &part.folds,
            fresh: &part.fresh,
            further: &part.further,
        };
        let work = ask.work.min(work_of_rows(part.samples.n()));
        let bound = self.bounds.output;
        let problem = Problem::new(&part.samples, self.likelihood, bound, folds, watch);
        let problem = problem.ok_or(SearchError::NoTargets)?;
        Ok(problem.select(&Request {
            caps: caps.to_vec(),
            paper: ask.paper,
            methods: ask.methods.clone(),
            activations: ask.activations.clone(),
            iterations: ask.iterations.clone(),
            work: share * work,
            stream,
        }))
    }

    /// What was selected, each choice fitted to the rows that selected it, with its test score.
    fn entries(
        &self,
        selection: &Selection,
        ask: &Ask,
        stream: Stream,
        control: &Control,
    ) -> Result<Vec<Entry>, SearchError> {
        // One beside the other: a last fit from one start alone would leave threads without work.
        named(selection, &ask.methods)
            .into_par_iter()
            .map(|(method, chosen)| self.entry(method, chosen, ask, stream, control))
            .collect()
    }

    fn entry(
        &self,
        method: Option<Method>,
        chosen: &Chosen,
        ask: &Ask,
        stream: Stream,
        control: &Control,
    ) -> Result<Entry, SearchError> {
        let part = &self.first;
        let test = match &self.judge {
            Some(judge) => {
                let mut model = self.fitted(part, &chosen.best, ask, stream, control)?;
                let floor = Floor::after(self.likelihood, part.samples.n());
                model.hold(part.clip_pays(self.task, &chosen.best), floor);
                judge.judge(&model)?
            }
            None => Judgement::none(),
        };
        Ok(self.summary(part, method, chosen, ask, test))
    }

    fn summary(
        &self,
        part: &Part,
        method: Option<Method>,
        chosen: &Chosen,
        ask: &Ask,
        test: Judgement,
    ) -> Entry {
        let choice = &chosen.best;
        let scale = part.scale(self.likelihood);
        let weights = part.weights_of_losses(self.task, &choice.held);
        let total = mean(&weights);
        let centre = mean(&choice.losses) / total;
        let around = choice.losses.iter().zip(&weights);
        let squares: Vec<f64> = around
            .map(|(loss, weight)| loss - weight * centre)
            .map(|gap| gap * gap)
            .collect();
        Entry {
            method,
            network: match ask.paper {
                true => choice.network.to_paper(),
                false => choice.fitted(),
            },
            factor: choice.factor,
            starts: choice.starts,
            validation: scale * chosen.error / total,
            validation_se: scale * (mean(&squares) / squares.len() as f64).sqrt() / total,
            test,
            held: part.held_score(self.task, choice),
            losses: choice.losses.clone(),
        }
    }

    /// A choice fitted to all rows of a part.
    fn fitted(
        &self,
        part: &Part,
        choice: &Choice,
        ask: &Ask,
        stream: Stream,
        control: &Control,
    ) -> Result<FittedModel, SearchError> {
        let stream = stream.child("last");
        let (stop, give_up) = (|| control.is_stopped(), || control.is_abandoned());
        let fitted = finish(
            &part.samples,
            self.likelihood,
            choice,
            stream,
            &stop,
            &give_up,
        );
        let fitted = fitted.ok_or_else(|| match control.is_abandoned() {
            true => SearchError::Interrupted,
            false => SearchError::NoTargets,
        })?;
        let parameters = if ask.paper { fitted.to_paper() } else { fitted };
        Ok(FittedModel {
            parameters,
            bounds: self.bounds,
            likelihood: self.likelihood,
            preprocessing: part.preprocessing.clone(),
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").to_string(),
                source: self.name.clone(),
                training_samples: part.samples.hash(),
                budget: ask.budget,
                seed: ask.seed,
                validation: choice.cross_validation(),
                updates: 0,
            },
            assessment: None,
        })
    }
}

/// The most work that rows pay for: a fit costs in proportion to them, and in proportion to them is how many candidates they tell apart.
/// Below some it is so little that less would not be felt.
fn work_of_rows(rows: usize) -> f64 {
    STANDARD * part_of_rows(rows)
}

/// The part of the default work that rows pay for; more than one of many.
pub(crate) fn part_of_rows(rows: usize) -> f64 {
    let [all, few] = WORK_ROWS;
    let part = rows.max(few) as f64 / all as f64;
    part * part
}

/// A cap, its half, its quarter and so on, ascending.
fn ladder(budget: usize) -> Vec<usize> {
    let halves = std::iter::successors(Some(budget), |cap| Some(cap / 2));
    let mut caps: Vec<usize> = halves.take_while(|cap| *cap >= LEAST_RUNG).collect();
    if caps.is_empty() {
        caps.push(budget);
    }
    caps.reverse();
    caps
}

/// The best, then the others by their validation errors.
fn best_first(mut entries: Vec<Entry>, best: usize) -> Vec<Entry> {
    let best = entries.remove(best);
    entries.sort_by(|a, b| a.validation.total_cmp(&b.validation));
    entries.insert(0, best);
    entries
}

/// The linear choice and those of the methods, as [`Selection::all`] has them.
fn named<'a>(selection: &'a Selection, methods: &[Method]) -> Vec<(Option<Method>, &'a Chosen)> {
    let linear = selection.linear.iter().map(|c| (None, c));
    let networks = methods.iter().zip(&selection.methods);
    let networks = networks.filter_map(|(method, c)| Some((Some(*method), c.as_ref()?)));
    linear.chain(networks).collect()
}

#[cfg(test)]
mod tests {
    use super::super::QUICK;
    use super::*;

    #[test]
    fn few_rows_pay_for_little_work() {
        assert_eq!(work_of_rows(500), STANDARD);
        assert_eq!(work_of_rows(1000), 4.0 * STANDARD);
        assert!((work_of_rows(100) / STANDARD - 0.04).abs() < 1e-12);
        assert_eq!(work_of_rows(10), work_of_rows(100));
        let updates = [20, 100, 500].map(crate::fit::updates_of_rows);
        assert_eq!(updates, [3840, 3840, crate::fit::STANDARD]);
        // A quick effort is not cut where it is little already.
        assert!(work_of_rows(100) < QUICK && QUICK < work_of_rows(105));
    }
}
