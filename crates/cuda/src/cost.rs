//! What fits cost on the device and on the processor: a model with measured constants, corrected by what fits took.

use crate::shape::Shape;
use loopfit_engine::{FitOutcome, FitSpec, Optimiser, Stop, flops_per_update};

/// Seconds of an update of a lone fit on an H200 beside its operations, and for each operation, with Adam and with scoring.
const LATENCY_OF_ADAM: (f64, f64) = (6e-6, 2e-11);
const LATENCY_OF_SCORING: (f64, f64) = (6e-5, 4e-11);
/// Strips of samples for which that holds; of more, as many groups of threads share the work.
const STRIPS: (f64, f64) = (8.0, 24.0);
/// The same of each of many fits.
const FIXED: f64 = 5e-9;
const SHARE_OF_ADAM: f64 = 6e-14;
const SHARE_OF_SCORING: f64 = 1.2e-13;
/// Seconds of an update on one core beside its operations, and for each operation (docs/benchmarks.md).
const FIXED_OF_CORE: f64 = 1.4e-6;
const OPERATION_OF_CORE: f64 = 1.3e-11;
/// How many times as long an update of scoring takes there.
const SCORING_ON_CORE: f64 = 2.0;
/// Seconds to compile the kernels of a shape.
const COMPILATION: f64 = 2.0;
/// How many times as long as the whole device takes for them fits take that are light.
const LIGHT: f64 = 8.0;
/// Weight of the newest observation.
const NEWEST: f64 = 0.2;

/// What a fit costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    updates: f64,
    /// Operations of an update.
    operations: f64,
    scoring: bool,
    /// Strips of a batch and of an energy model's nodes.
    strips: usize,
}

impl Cost {
    pub(crate) fn of(spec: &FitSpec) -> Self {
        let mut stages = spec.stages.iter();
        Self {
            updates: spec.stages.iter().map(|stage| stage.updates as f64).sum(),
            operations: flops_per_update(spec),
            scoring: stages.any(|stage| matches!(stage.optimiser, Optimiser::Scoring(_))),
            strips: Shape::of(spec).all_strips(),
        }
    }

    /// Seconds of a lone fit.
    fn alone(&self) -> f64 {
        let (fixed, each) = match self.scoring {
            true => LATENCY_OF_SCORING,
            false => LATENCY_OF_ADAM,
        };
        let shared = (self.strips as f64 / STRIPS.0).clamp(1.0, STRIPS.1 / STRIPS.0);
        self.updates * (fixed + self.operations * each / shared)
    }

    fn on_device(&self, fits: usize) -> f64 {
        self.alone().max(self.work(fits))
    }

    /// Whether so many fits need a small part of the device: they wait more than they work.
    pub(crate) fn is_light(&self, fits: usize) -> bool {
        self.alone() > LIGHT * self.work(fits)
    }

    /// Seconds of the whole device that so many fits take beside others.
    fn work(&self, fits: usize) -> f64 {
        let share = match self.scoring {
            true => SHARE_OF_SCORING,
            false => SHARE_OF_ADAM,
        };
        self.updates * fits as f64 * (FIXED + self.operations * share)
    }

    /// Whether kernels for one network, with half a warp a fit, pay for so many fits: a block a fit takes three times as long on a
    /// device that is busy, and the kernels are compiled on one of so many cores.
    pub(crate) fn pays_own_kernels(&self, fits: usize, cores: usize) -> bool {
        2.0 * self.work(fits) * cores.max(1) as f64 > COMPILATION
    }

    fn on_core(&self) -> f64 {
        let times = if self.scoring { SCORING_ON_CORE } else { 1.0 };
        self.updates * times * (FIXED_OF_CORE + self.operations * OPERATION_OF_CORE)
    }
}

/// How much slower this machine is than the constants say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speeds {
    device: f64,
    core: f64,
}

impl Default for Speeds {
    fn default() -> Self {
        Self {
            device: 1.0,
            core: 1.0,
        }
    }
}

fn blend(old: &mut f64, new: f64) {
    if new.is_finite() && new > 0.0 {
        *old += NEWEST * (new - *old);
    }
}

impl Speeds {
    /// Seconds until so many fits have run in step on the device.
    pub(crate) fn on_device(&self, cost: &Cost, fits: usize, compiled: bool) -> f64 {
        self.device * cost.on_device(fits) + if compiled { 0.0 } else { COMPILATION }
    }

    /// Seconds until so many fits have run on so many cores.
    pub(crate) fn on_processor(&self, cost: &Cost, fits: usize, cores: usize) -> f64 {
        self.core * cost.on_core() * fits.div_ceil(cores.max(1)) as f64
    }

    /// Learns from fits that ran alone on the device.
    pub(crate) fn saw_device(&mut self, cost: &Cost, fits: usize, seconds: f64) {
        blend(&mut self.device, seconds / cost.on_device(fits));
    }

    /// Learns from a fit on the processor.
    pub(crate) fn saw_processor(&mut self, cost: &Cost, outcome: &FitOutcome) {
        if outcome.stop == Stop::Completed {
            blend(&mut self.core, outcome.seconds / cost.on_core());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adam(operations: f64) -> Cost {
        Cost {
            updates: 1000.0,
            operations,
            scoring: false,
            strips: 8,
        }
    }

    /// Of a shape of a million operations an update, a few fits are the processor's and many the device's.
    #[test]
    fn few_fits_are_the_processors_and_many_the_devices() {
        let (speeds, cost) = (Speeds::default(), adam(1.1e6));
        let sooner =
            |fits| speeds.on_processor(&cost, fits, 16) < speeds.on_device(&cost, fits, true);
        assert!(sooner(1));
        assert!(!sooner(4096));
        // Kernels that are not compiled yet cost more than a short fit.
        assert!(speeds.on_processor(&cost, 64, 16) < speeds.on_device(&cost, 64, false));
    }

    #[test]
    fn speeds_follow_what_is_seen() {
        let (mut speeds, cost) = (Speeds::default(), adam(1e6));
        let before = speeds.on_device(&cost, 1, true);
        for _ in 0..50 {
            speeds.saw_device(&cost, 1, 3.0 * before);
        }
        let after = speeds.on_device(&cost, 1, true);
        assert!((after / before - 3.0).abs() < 0.01, "{after} {before}");
        speeds.saw_device(&cost, 1, f64::NAN);
        assert_eq!(speeds.on_device(&cost, 1, true), after);
    }
}
