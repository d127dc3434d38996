//! How many numbers a table needs: the error of what is selected under one cap after the other.

use crate::SearchError;
use crate::estimate::{Ask, Beside, CLEARLY, Entry, NoCap, Prepared};
use loopfit_engine::{Control, Threads};
use loopfit_estimate::Choice;
use loopfit_fitted::FittedModel;
use loopfit_numerics::text::count as counted;

/// Caps of a curve unless others are asked for, as far as there are as many rows.
pub const CAPS: [usize; 7] = [8, 16, 32, 64, 128, 256, 512];

/// What was selected under one cap.
#[derive(Clone, Debug)]
pub struct CurvePoint {
    /// The cap.
    pub cap: usize,
    /// The models that were selected under it, the one that a fit delivers first, then by cross-validation.
    pub entries: Vec<Entry>,
    /// The first one's choice.
    choice: Choice,
}

impl CurvePoint {
    /// The best model under the cap, the one that is delivered.
    pub fn best(&self) -> &Entry {
        &self.entries[0]
    }

    /// The linear model under the cap, if one fits.
    pub fn linear(&self) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.method.is_none())
    }
}

/// The error against the cap.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Caps in ascending order.
    pub points: Vec<CurvePoint>,
    /// Error of the best constant.
    pub constant: f64,
    /// Its loss of each held-out row.
    constant_losses: Vec<f64>,
    /// What is reached without a cap, where that is known.
    pub no_cap: Option<NoCap>,
    /// Whether all caps that were asked for are there; those after an interruption are not.
    pub complete: bool,
}

/// The caps of a curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caps {
    /// These; each must hold a function.
    Given(Vec<usize>),
    /// Those of [`CAPS`] that hold a function and are no more than there are rows, one of them in any case.
    Usual,
}

impl Curve {
    /// Selects under each cap, from the smallest to the largest. `advance` is told which part of the work is done. The
    /// budget of `ask` plays no part. Interrupted, the caps that were finished are given.
    pub fn new(
        prepared: &Prepared,
        threads: &Threads,
        ask: &Ask,
        caps: &Caps,
        control: &Control,
        advance: &(dyn Fn(f64) + Sync),
    ) -> Result<Self, SearchError> {
        let list = caps.list(prepared.selection_rows(), prepared.smallest(ask));
        // What cannot be is said before the work.
        let too_small = |cap: &&usize| **cap < prepared.smallest(ask);
        if let (Caps::Given(_), Some(cap)) = (caps, list.iter().find(too_small)) {
            return Err(prepared.nothing_fits(*cap, ask));
        }
        let points = prepared.under_caps(threads, ask, &list, control, advance)?;
        let missing = |cap: &&usize| points.iter().all(|(found, ..)| found != *cap);
        if let Some(cap) = list.iter().find(missing).filter(|_| !control.is_stopped())
            && (*caps != Caps::Usual || points.is_empty())
        {
            return Err(prepared.nothing_fits(*cap, ask));
        }
        if points.is_empty() {
            return Err(SearchError::Interrupted);
        }
        let Beside {
            constant,
            constant_losses,
            no_cap,
        } = prepared.beside(threads, ask, control)?;
        let point = |(cap, entries, choice)| CurvePoint {
            cap,
            entries,
            choice,
        };
        Ok(Self {
            points: points.into_iter().map(point).collect(),
            constant,
            constant_losses,
            no_cap: no_cap.filter(|it| it.validation.is_finite()),
            complete: !control.is_stopped(),
        })
    }

    /// For each cap the model that was selected under it, fitted to all rows; of the smallest caps, where it is interrupted.
    pub fn models(
        &self,
        prepared: &Prepared,
        threads: &Threads,
        ask: &Ask,
        control: &Control,
    ) -> Result<Vec<FittedModel>, SearchError> {
        let mut models: Vec<FittedModel> = Vec::new();
        for (i, point) in self.points.iter().enumerate() {
            let ask = Ask {
                budget: point.cap,
                ..ask.clone()
            };
            let (choice, best) = (&point.choice, &point.entries[0]);
            // Often a larger cap keeps what a smaller one has.
            let kept = i.checked_sub(1);
            let kept = kept.filter(|before| self.points[*before].choice.is(choice));
            let model = match kept {
                Some(before) => {
                    let mut model = models[before].clone();
                    model.provenance.budget = point.cap;
                    model
                }
                None => prepared.model(threads, &ask, choice, best, control)?,
            };
            // One that was cut short is worse than it says.
            if control.is_stopped() {
                break;
            }
            models.push(model);
        }
        Ok(models)
    }

    /// The best model of all; none if there is no point.
    fn best_of_all(&self) -> Option<&Entry> {
        self.points.last().map(CurvePoint::best)
    }

    /// Whether the best model's error is clearly below that of a constant, paired over rows.
    pub fn beats_constant(&self) -> bool {
        let best = self.best_of_all();
        best.is_some_and(|best| best.beats(&self.constant_losses))
    }

    /// Whether what is reached without a cap is better than a constant and than the best model.
    pub fn more_without_cap(&self) -> bool {
        let best = self.best_of_all();
        self.no_cap
            .zip(best)
            .is_some_and(|(it, best)| it.is_better_than(best))
    }

    /// The model with the fewest numbers that the best one is not clearly better than, paired over rows; none where no model beats a
    /// constant.
    pub fn enough(&self) -> Option<&Entry> {
        let best = self.best_of_all().filter(|_| self.beats_constant())?;
        let all = self.points.iter().flat_map(|point| &point.entries);
        all.filter(|entry| best.better_than(entry) < CLEARLY)
            .min_by(|a, b| {
                let by_error = a.validation.total_cmp(&b.validation);
                a.network.count().cmp(&b.network.count()).then(by_error)
            })
    }

    /// Whether the largest cap has a model that is clearly better, paired over rows, than the best under the cap before it.
    pub fn still_falls(&self) -> bool {
        match &self.points[..] {
            [.., before, last] if self.beats_constant() => {
                last.best().better_than(before.best()) > CLEARLY
            }
            _ => false,
        }
    }

    /// What the curve says, in sentences.
    pub fn conclusions(&self) -> Vec<String> {
        let (Some(best), Some(last)) = (self.best_of_all(), self.points.last()) else {
            return Vec::new();
        };
        let Some(enough) = self.enough() else {
            let nothing =
                "No model under these caps is clearly better than a constant.".to_string();
            let more = "Without a cap the error is clearly smaller: try larger caps.".to_string();
            let more = self.more_without_cap().then_some(more);
            return [nothing].into_iter().chain(more).collect();
        };
        let (count, most) = (enough.network.count(), best.network.count());
        // One cap alone says nothing of larger ones.
        let more = self.still_falls() || self.points.len() == 1;
        let so_far = match more {
            true => format!("Up to a cap of {}, ", last.cap),
            false => String::new(),
        };
        let why = match count < most {
            true => format!(
                "row by row the error is within two standard errors of the best, which has {most}"
            ),
            false => "row by row no smaller model comes within two standard errors".to_string(),
        };
        let mut sentences = vec![format!(
            "{so_far}{} would do: {why}.",
            counted(count, "number")
        )];
        if enough.method.is_none() {
            sentences.push("They are those of a linear model.".to_string());
        }
        if self.still_falls() {
            sentences.push(format!(
                "The error still falls at {}: try a larger cap, such as {}.",
                last.cap,
                2 * last.cap
            ));
        }
        sentences
    }
}

impl Caps {
    /// The caps in ascending order, each once.
    fn list(&self, rows: usize, smallest: usize) -> Vec<usize> {
        match self {
            Self::Given(caps) => {
                let mut caps = caps.clone();
                caps.sort_unstable();
                caps.dedup();
                caps
            }
            Self::Usual => {
                let fits = |cap: &usize| *cap <= rows.max(CAPS[0]) || *cap < 2 * smallest;
                CAPS.into_iter().filter(fits).collect()
            }
        }
    }
}
