//! How a group of fits runs: which kernels, how many threads, how much memory.

use crate::device::{Device, FUSED_BACK, Part, Variant, piece};
use crate::layout::{Fit, Half, kind};
use loopfit_engine::{FitSpec, Optimiser, Packed};
use loopfit_likelihood::{Energy, Likelihood};
use loopfit_model::{Activation, Architecture, Network};

/// Samples of a strip.
pub(crate) const LANES: usize = 16;
/// Largest state dimension whose state stays in registers.
const MAX_STATE: usize = 16;
/// Most updates between two looks at whether to stop.
const MOST_UPDATES: usize = 500;
/// Bytes of batch order that a fit has at once, unless an epoch is longer.
const ORDER_BYTES: usize = 1 << 20;
/// Sums of weight gradients that a thread keeps in registers.
const SUMS: usize = 100;
/// The same of many fits of narrow states, so that more of them run at once, and the largest state that is narrow.
const FEW_SUMS: usize = 70;
const NARROW: usize = 4;
/// The same in the fused kernel, which has more registers for them.
const FUSED_SUMS: usize = 128;
/// Words of inputs and of states that a fit may have in shared memory, where it is half a warp.
const NEAR_INPUTS: usize = 1024;
const NEAR_STATES: usize = 512;
/// Threads of a block that validates.
pub(crate) const VALIDATE_THREADS: usize = 256;
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
    network: String,
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
        if 4 * (shape.shared_words(false) + shape.scoring_words()) > device.shared_limit() {
            return None;
        }
        Some(Self {
            network: format!("{network:?}"),
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

/// Sizes that all fits of a group share.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) d: usize,
    pub(crate) q: usize,
    pub(crate) r: usize,
    pub(crate) outputs: usize,
    pub(crate) iterations: usize,
    pub(crate) blocks: usize,
    pub(crate) kind: i32,
    pub(crate) activation: u8,
    pub(crate) energy: Option<(Energy, Energy)>,
    /// Free coefficients.
    pub(crate) packed: usize,
    /// The largest batch of a stage.
    pub(crate) batch: usize,
}

impl Shape {
    pub(crate) fn of(spec: &FitSpec) -> Self {
        let network: &Network = &spec.network;
        let n = spec.train.n();
        Self {
            d: network.d(),
            q: network.q(),
            r: network.r(),
            outputs: network.outputs(),
            iterations: network.tying().iterations(),
            blocks: network.tying().blocks(),
            kind: match spec.likelihood {
                Likelihood::Gaussian(_) => kind::GAUSSIAN,
                Likelihood::Laplace(_) => kind::LAPLACE,
                Likelihood::Poisson(_) => kind::POISSON,
                Likelihood::Bernoulli(_) => kind::BERNOULLI,
                Likelihood::Multiclass(_) => kind::MULTICLASS,
                Likelihood::Energy(_) => kind::ENERGY,
            },
            activation: match network.activation() {
                Activation::Relu => 0,
                Activation::Tanh => 1,
                Activation::Silu => 2,
                Activation::Sine => 3,
            },
            energy: match spec.likelihood {
                Likelihood::Energy(energy) => {
                    Some((energy, Energy::evaluation(energy.d()).unwrap_or(energy)))
                }
                _ => None,
            },
            packed: network.count(),
            batch: spec
                .stages
                .iter()
                .map(|s| s.batch.min(n))
                .max()
                .unwrap_or(1),
        }
    }

    /// Words of a hidden unit.
    pub(crate) fn unit(&self) -> usize {
        (2 * self.q + 1).next_multiple_of(4)
    }

    /// Words of the input function.
    pub(crate) fn input_len(&self) -> usize {
        (self.q * (self.d + 1)).next_multiple_of(4)
    }

    /// Words of a block.
    pub(crate) fn block_len(&self) -> usize {
        self.r * self.unit() + self.q.next_multiple_of(4)
    }

    /// Words of all coefficients.
    pub(crate) fn padded(&self) -> usize {
        let output = self.outputs * (self.q + 1);
        (self.input_len() + self.blocks * self.block_len() + output).next_multiple_of(4)
    }

    /// Where the kernels' coefficient lies among the padded ones.
    pub(crate) fn padded_place(&self, place: usize) -> usize {
        let input = self.q * (self.d + 1);
        if place < input {
            return place;
        }
        let unit = 2 * self.q + 1;
        let block_len = self.r * unit + self.q;
        let (block, within) = ((place - input) / block_len, (place - input) % block_len);
        if block >= self.blocks {
            let output = place - input - self.blocks * block_len;
            return self.input_len() + self.blocks * self.block_len() + output;
        }
        let start = self.input_len() + block * self.block_len();
        match within < self.r * unit {
            true => start + within / unit * self.unit() + within % unit,
            false => start + self.r * self.unit() + within - self.r * unit,
        }
    }

    /// Strips of a batch.
    pub(crate) fn strips(&self) -> usize {
        self.batch.div_ceil(LANES)
    }

    /// Nodes of the normaliser in training.
    pub(crate) fn nodes(&self) -> usize {
        self.energy.map_or(0, |(training, _)| training.node_count())
    }

    /// Nodes of the normaliser in validation.
    pub(crate) fn valid_nodes(&self) -> usize {
        self.energy.map_or(0, |(_, finer)| finer.node_count())
    }

    /// Strips of a batch and of the nodes.
    pub(crate) fn all_strips(&self) -> usize {
        self.strips() + self.nodes().div_ceil(LANES)
    }

    /// Floats of states, their gradients, outputs, theirs, and inputs.
    pub(crate) fn scratch(&self) -> usize {
        let strips = self.all_strips();
        let twice = 2 * ((self.iterations + 1) * self.q + self.outputs);
        LANES * strips * (twice + self.d)
    }

    /// Words of shared memory of a block a fit, with or without the states.
    pub(crate) fn shared_words(&self, with_states: bool) -> usize {
        2 * self.padded() + 4 + if with_states { self.scratch() } else { 0 }
    }

    /// Words that scoring needs beside them: those of its structure `Shared`, and a direction.
    pub(crate) fn scoring_words(&self) -> usize {
        2 * (8 * 8 + 1) + 2 * self.packed
    }

    /// Words of shared memory of a block that refreshes an information: those of its structure `Shared`, and where there is room
    /// the lines of so many strips and then the factor, panel by panel.
    pub(crate) fn refresh_words(&self, near: bool, strips: usize) -> usize {
        let panels = self.packed.div_ceil(8);
        let factor = 2 * 8 * 8 * panels * (panels + 1) / 2;
        let lines = strips * 8 * panels * LANES;
        2 * (8 * 8 + 8 + 2) + if near { factor.max(lines) } else { 0 }
    }

    /// Numbers of a lane's state in the fused kernel: its macro `WIDE`.
    fn wide(&self) -> usize {
        match self.q {
            1 => 1,
            3 | 7 => self.q + 1,
            q => q.next_multiple_of(2),
        }
    }

    /// Whether there is one output, and a sample's loss is its own.
    fn is_single(&self) -> bool {
        self.outputs == 1 && self.kind != kind::ENERGY && self.kind != kind::MULTICLASS
    }

    /// Whether the fused kernel keeps outputs and last states: the information needs them.
    fn keeps_outputs(&self, part: Part) -> bool {
        !self.is_single() || part == Part::FusedScoring
    }

    /// States that the fused kernel keeps of so many strips, in words.
    fn kept_states(&self, strips: usize, part: Part) -> usize {
        let states = self.iterations + usize::from(self.keeps_outputs(part));
        states * strips * LANES * self.wide()
    }

    /// The kernel with half a warp a fit.
    fn fused(&self, part: Part) -> Variant {
        let strips = self.all_strips();
        let shared_inputs = strips * LANES * self.d <= NEAR_INPUTS;
        Variant {
            shared_inputs,
            shared_states: shared_inputs && self.kept_states(strips, part) <= NEAR_STATES,
            single: self.is_single(),
            ..self.variant(part, 2 * LANES, self.r, false)
        }
    }

    /// Where the fused kernel has its numbers for batches of so many strips.
    pub(crate) fn half(&self, variant: Variant, strips: usize) -> Half {
        let all = strips + self.all_strips() - self.strips();
        let line = LANES * self.wide();
        let mut end = 0;
        let mut take = |words: usize| -> i32 {
            let at = end;
            end += words.next_multiple_of(4);
            at as i32
        };
        take(self.padded());
        let outputs = match self.keeps_outputs(variant.part) {
            true => all * self.outputs * LANES,
            false => 0,
        };
        let state = match variant.part {
            Part::FusedScoring => 2 * self.packed,
            _ => self.packed,
        };
        let kept = self.kept_states(all, variant.part);
        let mut half = Half {
            grad: take(self.padded()),
            m: take(state),
            v: take(state),
            g: take((all + 1) * line),
            y: take(strips * LANES),
            rows: take(strips * LANES),
            out: take(outputs),
            g_out: take(outputs),
            coming: match variant.shared_states {
                true => take(kept),
                false => take(2 * FUSED_BACK * line),
            },
            x: match variant.shared_inputs {
                true => take(all * LANES * self.d),
                false => kept as i32,
            },
            ..Half::default()
        };
        // Places of coefficients and whether they are outgoing come first, for both fits.
        half.at = (2 * self.packed).next_multiple_of(4) as i32;
        half.words = end as i32;
        half
    }

    /// Words of shared memory of the fused kernel, for two fits.
    pub(crate) fn fused_words(half: &Half) -> usize {
        (half.at + 2 * half.words) as usize
    }

    fn variant(&self, part: Part, threads: usize, units: usize, shared_states: bool) -> Variant {
        Variant {
            part,
            q: self.q,
            activation: self.activation,
            threads,
            units,
            shared_states,
            shared_inputs: false,
            single: false,
        }
    }
}

/// Who asks for a certain way, in tests and benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernels {
    /// What is fastest for so many fits.
    #[default]
    Fastest,
    /// A block of threads a fit.
    Block,
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
}

/// What runs the stages of a group.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) shape: Shape,
    pub(crate) packed: Packed,
    pub(crate) common: Variant,
    adam: Variant,
    scoring: Variant,
    /// What refreshes the information, with how many threads.
    pub(crate) refresh: Variant,
    pub(crate) refresh_threads: usize,
}

impl Plan {
    pub(crate) fn new(spec: &FitSpec, fits: Beside, kernels: Kernels, device: &dyn Device) -> Self {
        let (shape, packed) = (Shape::of(spec), Packed::new(spec));
        let strips = shape.all_strips();
        let room = device.shared_limit() / 4;
        let of_processor = |fits: usize| fits.div_ceil(device.processors().max(1));
        let per_processor = of_processor(fits.all);
        // A few fits have threads enough for strips and units at once; many share the processors.
        let groups = match per_processor <= 2 {
            true => strips.next_multiple_of(2).clamp(16, 32),
            // Two strips of a group at once read a narrow unit half as often.
            false if shape.q <= NARROW => 4,
            false => strips
                .next_multiple_of(2)
                .clamp(8, if shape.q > 8 { 32 } else { 8 }),
        };
        let sums = if groups == 4 { FEW_SUMS } else { SUMS };
        let units = units_at_once(&shape, groups, sums);
        let block = |part, extra: usize| {
            let words = shape.shared_words(true) + extra;
            let shared_states = words * per_processor <= room;
            shape.variant(part, groups * LANES, units, shared_states)
        };
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
                        of_processor(fits.all) >= least
                            && (fits.pays || device.is_prepared(variant))
                    }
                    Kernels::Block => false,
                    Kernels::HalfWarp => true,
                }
        };
        let fused = shape.fused(Part::Fused);
        let adam = match fuse(fused, FUSED_FITS) {
            true => fused,
            false => block(Part::Adam, 0),
        };
        let fused = shape.fused(Part::FusedScoring);
        // The masses of an energy model are a block's work.
        let scoring = match shape.kind != kind::ENERGY && fuse(fused, FUSED_SCORING_FITS) {
            true => fused,
            false => block(Part::Scoring, shape.scoring_words()),
        };
        let near = 4 * shape.refresh_words(true, shape.strips()) <= device.shared_limit()
            && shape.kind != kind::ENERGY;
        let refresh_words = shape.refresh_words(near, shape.strips());
        Self {
            common: shape.variant(Part::Common, VALIDATE_THREADS, 1, false),
            adam,
            scoring,
            refresh: Variant {
                part: Part::Refresh,
                q: 1,
                activation: 0,
                threads: REFRESH_THREADS,
                units: 1,
                shared_states: near,
                shared_inputs: false,
                single: false,
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
    pub(crate) fn variant(&self, optimiser: &Optimiser) -> Variant {
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
            .map(|stage| self.variant(&stage.optimiser));
        let refresh = scores(spec).then_some(self.refresh);
        stages.chain([self.common]).chain(refresh).collect()
    }

    /// All kernels that it names.
    pub(crate) fn variants(&self) -> [Variant; 4] {
        [self.common, self.adam, self.scoring, self.refresh]
    }

    /// Whether states and their gradients need memory outside of the processors.
    pub(crate) fn needs_scratch(&self, spec: &FitSpec) -> bool {
        let mut stages = spec.stages.iter();
        stages.any(|stage| !self.variant(&stage.optimiser).shared_states)
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
            n + 2 * nodes + (n + nodes) / 8 + 64 + VALIDATE_THREADS * self.shape.outputs;
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

/// Hidden units whose sums a thread keeps at once: as many as the registers hold, spread evenly over the groups.
fn units_at_once(shape: &Shape, groups: usize, sums: usize) -> usize {
    let most = (sums / (2 * shape.q + 1)).max(1);
    let all = shape.r * shape.blocks;
    let passes = all.div_ceil(groups * most).max(1);
    all.div_ceil(groups * passes).clamp(1, shape.r.max(1))
}
