//! How a group of fits runs: which kernels, how many threads, how much memory.

use crate::device::{Device, Part, Variant, piece};
use crate::layout::{Fit, kind};
use crate::shape::{FEW_FITS, LANES, MANY_GROUPS, Shape, Way};
use loopfit_engine::{FitSpec, Optimiser, Packed};
use loopfit_likelihood::Likelihood;
use loopfit_model::{Architecture, Network};

/// Largest state dimension whose state stays in registers.
const MAX_STATE: usize = 16;
/// Most updates between two looks at whether to stop.
const MOST_UPDATES: usize = 500;
/// Bytes of batch order that a fit has at once, unless an epoch is longer.
const ORDER_BYTES: usize = 1 << 20;
/// Sums of weight gradients that a thread keeps in registers in the fused kernel.
const FUSED_SUMS: usize = 128;
/// Threads of a block that validates, of few fits and of many: a large block finds no room where many small ones run.
const VALIDATE_THREADS: (usize, usize) = (256, 64);
/// Threads of a block that permutes.
pub(crate) const PERMUTE_THREADS: usize = 32;
/// Fits for each processor from which on half a warp a fit is faster than a block a fit.
const FUSED_FITS: usize = 6;
/// The same with Fisher scoring.
const FUSED_SCORING_FITS: usize = 3;
/// Most threads of a block that refreshes an information.
const REFRESH_THREADS: usize = 512;

/// What fits must have in common to run in step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    network: Network,
    likelihood: &'static str,
    nodes: Option<String>,
    /// Batch, updates, updates between validations, and between refreshes of the information.
    stages: Vec<(usize, usize, usize, Option<usize>)>,
}

impl Key {
    /// The key of a fit that the kernels can run; none for one that is left to the processor.
    pub(crate) fn of(spec: &FitSpec, device: &dyn Device) -> Option<Self> {
        let network = &spec.network;
        if *network.architecture() != Architecture::Ffn || network.q() > MAX_STATE {
            return None;
        }
        let small = |n: usize| i32::try_from(n).is_ok_and(|n| n < 1 << 30);
        let stages = &spec.stages;
        if !small(spec.train.n())
            || !small(spec.valid.n())
            || stages.iter().any(|s| !small(s.updates))
        {
            return None;
        }
        let shape = Shape::of(spec);
        let coming = MANY_GROUPS * 8 * LANES * shape.wide();
        if 4 * (shape.shared_words(false) + shape.scoring_words() + coming) > device.shared_limit()
        {
            return None;
        }
        Some(Self {
            network: network.clone(),
            likelihood: spec.likelihood.name(),
            nodes: match spec.likelihood {
                Likelihood::Energy(energy) => Some(format!("{energy:?}")),
                _ => None,
            },
            stages: stages
                .iter()
                .map(|stage| {
                    (
                        stage.batch.min(spec.train.n()),
                        stage.updates,
                        stage.validate_every,
                        match &stage.optimiser {
                            Optimiser::Adam(_) => None,
                            Optimiser::Scoring(scoring) => Some(scoring.refresh),
                        },
                    )
                })
                .collect(),
        })
    }
}

/// Who asks for a certain way, in tests and benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// What is fastest for so many fits.
    #[default]
    Fastest,
    /// A block of threads a fit, as for few fits.
    Block,
    /// The same, as for many fits.
    Blocks,
    /// The same, as for light ones beside many others.
    Light,
    /// Half a warp a fit, where the network fits.
    HalfWarp,
}

/// How many fits run beside one another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    /// On the device.
    pub(crate) all: usize,
    /// Whether kernels for this network alone pay.
    pub(crate) pays: bool,
    /// Whether these take long however few others there are, so that they should end soon.
    pub(crate) urgent: bool,
}

/// What runs the stages of a group.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) shape: Shape,
    pub(crate) packed: Packed,
    pub(crate) permute: Variant,
    pub(crate) validate: Variant,
    pub(crate) validate_threads: usize,
    /// Whether its work comes before that of others.
    pub(crate) urgent: bool,
    adam: Way,
    scoring: Way,
    /// What refreshes the information, with how many threads.
    pub(crate) refresh: Variant,
    pub(crate) refresh_threads: usize,
}

impl Plan {
    pub(crate) fn new(spec: &FitSpec, fits: Beside, kernels: Kernels, device: &dyn Device) -> Self {
        let (shape, packed) = (Shape::of(spec), Packed::new(spec));
        let strips = shape.all_strips();
        let of_processor = |fits: usize| fits.div_ceil(device.processors().max(1));
        let per_processor = match kernels {
            Kernels::Block => 1,
            Kernels::Blocks | Kernels::Light => usize::MAX,
            Kernels::Fastest | Kernels::HalfWarp => of_processor(fits.all),
        };
        let urgent = match kernels {
            Kernels::Fastest => fits.urgent,
            Kernels::Light => true,
            Kernels::Block | Kernels::Blocks | Kernels::HalfWarp => false,
        };
        let block = |part| shape.block(part, per_processor, urgent, device.shared_limit());
        let sums = shape.r * (2 * shape.q + 1) + shape.q;
        let one_group = packed.strips_at_once(strips) >= strips;
        let can_fuse = |variant: Variant| {
            let words = Shape::fused_words(&shape.half(variant, shape.strips()));
            sums <= FUSED_SUMS
                && (shape.blocks == 1 || one_group)
                && words * 4 * 2 <= device.shared_limit()
        };
        let fuse = |variant: Variant, least: usize| {
            can_fuse(variant)
                && match kernels {
                    Kernels::Fastest => {
                        !urgent
                            && of_processor(fits.all) >= least
                            && (fits.pays || device.is_prepared(variant))
                    }
                    Kernels::Block | Kernels::Blocks | Kernels::Light => false,
                    Kernels::HalfWarp => true,
                }
        };
        let half_warp = |variant: Variant| Way {
            variant,
            threads: variant.threads,
            units: variant.units,
            near: variant.shared_states,
            words: 0,
        };
        let fused = shape.fused(Part::Fused);
        let adam = match fuse(fused, FUSED_FITS) {
            true => half_warp(fused),
            false => block(Part::Adam),
        };
        let fused = shape.fused(Part::FusedScoring);
        // The masses of an energy model are a block's work.
        let scoring = match shape.kind != kind::ENERGY && fuse(fused, FUSED_SCORING_FITS) {
            true => half_warp(fused),
            false => block(Part::Scoring),
        };
        let near = 4 * shape.refresh_words(true, shape.strips()) <= device.shared_limit()
            && shape.kind != kind::ENERGY;
        let refresh_words = shape.refresh_words(near, shape.strips());
        // Kernels that are the same for all networks.
        let lone = Variant {
            part: Part::Refresh,
            q: 1,
            activation: 0,
            threads: REFRESH_THREADS,
            units: 1,
            strips: 1,
            shared_states: false,
            shared_inputs: false,
            single: false,
        };
        Self {
            permute: Variant {
                part: Part::Permute,
                threads: PERMUTE_THREADS,
                ..lone
            },
            validate_threads: match per_processor <= FEW_FITS {
                true => VALIDATE_THREADS.0,
                false => VALIDATE_THREADS.1,
            },
            urgent: fits.urgent,
            validate: shape.variant(Part::Validate, VALIDATE_THREADS.0, 1),
            adam,
            scoring,
            refresh: Variant {
                shared_states: near,
                ..lone
            },
            refresh_threads: match per_processor <= 2 {
                true => REFRESH_THREADS,
                // As many blocks as have room, or larger ones.
                false => match device.shared_limit() / (4 * refresh_words) {
                    0 | 1 => REFRESH_THREADS,
                    2 => REFRESH_THREADS / 2,
                    _ => 160,
                },
            },
            shape,
            packed,
        }
    }

    /// How the updates of an optimiser run.
    pub(crate) fn way(&self, optimiser: &Optimiser) -> Way {
        match optimiser {
            Optimiser::Adam(_) => self.adam,
            Optimiser::Scoring(_) => self.scoring,
        }
    }

    /// The kernels that a fit's stages need.
    pub(crate) fn variants_of(&self, spec: &FitSpec) -> Vec<Variant> {
        let stages = spec
            .stages
            .iter()
            .map(|stage| self.way(&stage.optimiser).variant);
        let refresh = scores(spec).then_some(self.refresh);
        stages
            .chain([self.validate, self.permute])
            .chain(refresh)
            .collect()
    }

    /// All kernels that it names.
    pub(crate) fn variants(&self) -> [Variant; 5] {
        let (adam, scoring) = (self.adam.variant, self.scoring.variant);
        [self.permute, self.validate, adam, scoring, self.refresh]
    }

    /// Whether states and their gradients need memory outside of the processors.
    pub(crate) fn needs_scratch(&self, spec: &FitSpec) -> bool {
        let mut stages = spec.stages.iter();
        stages.any(|stage| !self.way(&stage.optimiser).near)
    }

    /// Most updates of a launch, so that the batch order has room.
    pub(crate) fn most_updates(&self, n: usize, batch: usize) -> usize {
        let in_epoch = n / batch;
        let epochs = (ORDER_BYTES / (4 * n)).max(2) - 1;
        MOST_UPDATES.min(epochs * in_epoch)
    }

    /// Entries of batch order that a launch of a stage needs.
    pub(crate) fn order_len(&self, spec: &FitSpec) -> usize {
        let n = spec.train.n();
        let stages = spec.stages.iter().map(|stage| {
            let batch = stage.batch.min(n);
            let updates = self.most_updates(n, batch).min(stage.updates);
            // From the middle of an epoch to the middle of another.
            (updates / (n / batch) + 2) * n
        });
        stages.max().unwrap_or(0)
    }

    /// Numbers of the terms of a validation loss, their sums and the outputs that they need.
    pub(crate) fn terms_len(&self, spec: &FitSpec) -> usize {
        let (n, nodes) = (spec.valid.n(), self.shape.valid_nodes());
        let validation =
            n + 2 * nodes + (n + nodes) / 8 + 64 + VALIDATE_THREADS.0 * self.shape.outputs;
        let masses = 2 * self.shape.nodes() + self.shape.nodes() / 8 + 64;
        validation.max(masses)
    }

    /// Floats of the lines of an information matrix.
    pub(crate) fn rows_len(&self) -> usize {
        let shape = &self.shape;
        let strips = if shape.nodes() > 0 {
            shape.nodes().div_ceil(LANES)
        } else {
            shape.strips()
        };
        strips * (shape.padded() + 1) * LANES + shape.packed
    }

    /// Entries of a factor.
    pub(crate) fn factor_len(&self) -> usize {
        let p = self.shape.packed;
        p * (p.div_ceil(8) | 1) * 8
    }

    /// Bytes on the device of one fit beside its samples and schedules.
    pub(crate) fn bytes(&self, spec: &FitSpec) -> usize {
        let p = self.shape.packed;
        let mut bytes = 4 * piece::<f32>(p) + piece::<u32>(self.order_len(spec)) + size_of::<Fit>();
        bytes += piece::<f64>(self.terms_len(spec));
        if self.needs_scratch(spec) {
            bytes += piece::<f32>(self.shape.scratch());
        }
        if scores(spec) {
            bytes += piece::<f64>(p * p) + piece::<f64>(self.factor_len());
            bytes += 2 * piece::<f64>(p) + piece::<f32>(self.rows_len());
            bytes += piece::<f32>(self.shape.padded());
        }
        bytes
    }
}

/// Whether some stage is one of Fisher scoring.
pub(crate) fn scores(spec: &FitSpec) -> bool {
    let mut stages = spec.stages.iter();
    stages.any(|stage| matches!(stage.optimiser, Optimiser::Scoring(_)))
}
