//! The processor as an engine of another crate: it has another name, counts its fits, and has a limit.
#![allow(dead_code)] // each crate uses a part

use loopfit_engine::{Backend, Control, Engine, FitOutcome, FitSpec, SpecError, Threads};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What happens at the limit.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// There is none.
    None,
    /// A batch that goes beyond so many fits fails.
    Fail(usize),
    /// The run is interrupted after so many fits.
    Interrupt(usize),
}

/// The backend.
pub(crate) struct Other {
    engine: Engine,
    bits: String,
    limit: Limit,
    fits: AtomicUsize,
}

impl Other {
    /// With the processor's bits.
    pub(crate) fn new(limit: Limit) -> Self {
        let engine = Engine::new(2).unwrap();
        Self {
            bits: engine.bits().to_string(),
            engine,
            limit,
            fits: AtomicUsize::new(0),
        }
    }

    /// With bits of that name.
    pub(crate) fn with_bits(self, bits: &str) -> Self {
        let bits = bits.to_string();
        Self { bits, ..self }
    }

    /// Fits that were finished.
    pub(crate) fn fits(&self) -> usize {
        self.fits.load(Ordering::Relaxed)
    }
}

impl Backend for Other {
    fn name(&self) -> &str {
        "other"
    }

    fn bits(&self) -> &str {
        &self.bits
    }

    fn threads(&self) -> &Threads {
        self.engine.threads()
    }

    fn run(
        &self,
        specs: &[FitSpec],
        control: &Control,
        finished: &(dyn Fn(usize, &FitOutcome) + Sync),
    ) -> Result<Vec<FitOutcome>, SpecError> {
        if let Limit::Fail(most) = self.limit
            && self.fits() + specs.len() > most
        {
            return Err(SpecError::Backend {
                backend: self.name().to_string(),
                why: "it has had enough".to_string(),
            });
        }
        self.engine.run(specs, control, &|i, outcome| {
            finished(i, outcome);
            let fits = self.fits.fetch_add(1, Ordering::Relaxed) + 1;
            if let Limit::Interrupt(most) = self.limit
                && fits == most
            {
                control.interrupt();
            }
        })
    }
}
