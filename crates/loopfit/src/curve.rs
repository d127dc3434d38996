//! How many numbers the rows need.

use crate::error::{Error, Given};
use crate::progress::told;
use crate::{Curve, Fit, Model, Subject};
use loopfit_engine::{Control, Threads};
use loopfit_numerics::text::integer;
use loopfit_search::curve::Caps;
use loopfit_search::estimate::{Ask, Prepared};

/// A curve that is ready to be drawn.
#[derive(Debug)]
pub struct CurvePlan<'a> {
    fit: Fit<'a>,
    subject: Subject,
    threads: Threads,
    control: Control,
    notes: Vec<String>,
    ask: Ask,
    prepared: Prepared,
}

impl<'a> CurvePlan<'a> {
    pub(crate) fn new(mut fit: Fit<'a>) -> Result<Self, Error> {
        // It plays no part.
        fit.budget = Some(0);
        let source = fit.source(fit.seed)?;
        let threads = Threads::new(fit.threads)?;
        let control = fit.control();
        if let Some(given) = fit.of_delivery() {
            let of = "a model that is delivered";
            return Err(Error::Only { given, of });
        }
        if fit.automatic {
            return Err(Error::Only {
                given: Given::Automatic,
                of: "a fit under one cap",
            });
        }
        if !fit.is_estimated(&source)? {
            return Err(Error::NoCurve);
        }
        let ask = Ask {
            test_fraction: 0.0,
            refit: true,
            ..fit.ask(threads.count(), 1)?
        };
        let prepared = Prepared::new(&source, fit.noise, &ask)?;
        let inputs = prepared.inputs();
        let mut notes = source.notes();
        notes.extend(prepared.notes.iter().cloned());
        notes.push(format!(
            "rows: {} for {}; inputs: {}",
            integer(prepared.selection_rows() as u64),
            prepared.selected_by(),
            inputs.len()
        ));
        Ok(Self {
            subject: Subject::new(&source, fit.noise, inputs),
            fit,
            threads,
            control,
            notes,
            ask,
            prepared,
        })
    }

    /// What is learned from what.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// What a person should know before the work.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How the selection is made.
    pub fn selected_by(&self) -> &str {
        self.prepared.selected_by()
    }

    /// Rows that the selection sees.
    pub fn selection_rows(&self) -> usize {
        self.prepared.selection_rows()
    }

    /// Test samples, which a simulation has.
    pub fn test_rows(&self) -> usize {
        self.prepared.test_rows()
    }

    /// What each selection is asked for.
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// The curve over these caps, or over the usual ones if there are none.
    pub fn run(&self, caps: impl IntoIterator<Item = usize>) -> Result<Curve, Error> {
        let caps: Vec<usize> = caps.into_iter().collect();
        let caps = match caps.is_empty() {
            true => Caps::Usual,
            false => Caps::Given(caps),
        };
        let watch = self.fit.watch.as_deref();
        Ok(told(watch, &self.control, |advance| {
            let (threads, control) = (&self.threads, &self.control);
            Curve::new(&self.prepared, threads, &self.ask, &caps, control, advance)
        })?)
    }

    /// For each cap of a curve the model that was selected under it, fitted to all rows; of the smallest caps, where it is interrupted.
    /// Those of 16, its doubles and no other caps are what fits with these options and without test rows deliver.
    pub fn models(&self, curve: &Curve) -> Result<Vec<Model>, Error> {
        let (threads, ask, control) = (&self.threads, &self.ask, &self.control);
        let models = curve.models(&self.prepared, threads, ask, control)?;
        Ok(models.into_iter().map(Model::from).collect())
    }
}

impl Fit<'_> {
    /// What only a model that is delivered has.
    fn of_delivery(&self) -> Option<Given> {
        let given = [
            (self.test_fraction.is_some(), Given::TestFraction),
            (self.refit.is_some(), Given::NoRefit),
        ];
        given
            .into_iter()
            .find_map(|(given, what)| given.then_some(what))
    }
}
