//! Sizes of networks, and how the kernels of training lay them out.

use crate::device::{FUSED_BACK, Part, Variant};
use crate::layout::{Half, kind};
use loopfit_engine::FitSpec;
use loopfit_likelihood::{Energy, Likelihood};
use loopfit_model::{Activation, Network};

/// Samples of a strip.
pub(crate) const LANES: usize = 16;
/// With a block a fit: fits of a processor up to which a group has one strip at once, so that a fit ends soon. Of more fits it
/// has several, so that it reads a hidden unit once for all of them: what a thread reads from shared memory is what bounds it.
pub(crate) const FEW_FITS: usize = 3;
/// Strips for which that pays beside many others.
const FEW_STRIPS: usize = 32;
/// Most groups then, and fewest; most groups otherwise.
const FEW_GROUPS: (usize, usize) = (32, 16);
pub(crate) const MANY_GROUPS: usize = 8;
/// Fits of a processor up to which the products have at least so many groups.
const SOME_FITS: (usize, usize) = (8, 4);
/// Strips of a group at once, of states of at most eight numbers and of wider ones.
const MANY_STRIPS: (usize, usize) = (4, 2);
/// Sums of weight gradients that a thread keeps in registers: few fits, many of narrow states (of at most `NARROW` numbers), many of
/// wide ones.
const SUMS: (usize, usize, usize) = (48, 70, 100);
const NARROW: usize = 8;
/// The same of many with Adam and states of at most half as many numbers, with the ReLU or the sine and with what needs more
/// registers itself.
const SUMS_OF_ADAM: (usize, usize) = (108, 90);
/// Words of inputs and of states that a fit may have in shared memory, where it is half a warp.
const NEAR_INPUTS: usize = 1024;
const NEAR_STATES: usize = 512;
/// There, the widest states of which four strips go ahead at once, and not two: a hidden unit is read once for all of them.
const AHEAD: usize = 5;

/// How a kernel of training is launched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) variant: Variant,
    /// Threads of a block.
    pub(crate) threads: usize,
    /// Hidden units of a tile.
    pub(crate) units: usize,
    /// Whether states lie in shared memory.
    pub(crate) near: bool,
    /// Words of shared memory of a block a fit.
    pub(crate) words: usize,
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
        let twice = 2 * ((self.iterations + 1) * self.wide() + self.outputs);
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

    /// Numbers of a lane's state: the kernels' macro `WIDE`.
    pub(crate) fn wide(&self) -> usize {
        match self.q {
            1 => 1,
            3 | 7 => self.q + 1,
            q => q.next_multiple_of(2),
        }
    }

    /// Whether there is one output, and a sample's loss is its own.
    pub(crate) fn is_single(&self) -> bool {
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
    pub(crate) fn fused(&self, part: Part) -> Variant {
        let strips = self.all_strips();
        let shared_inputs = strips * LANES * self.d <= NEAR_INPUTS;
        Variant {
            strips: match self.q <= AHEAD && strips.is_multiple_of(4) {
                true => 4,
                false => 2,
            },
            shared_inputs,
            shared_states: shared_inputs && self.kept_states(strips, part) <= NEAR_STATES,
            single: self.is_single(),
            ..self.variant(part, 2 * LANES, self.r)
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
        let momentum = match variant.part {
            Part::FusedScoring => 2 * self.packed,
            _ => 0,
        };
        let kept = self.kept_states(all, variant.part);
        // Where states were come sample numbers and moments, or a direction.
        let coming = match variant.shared_states {
            true => kept,
            false => 2 * FUSED_BACK * line,
        };
        let coming = coming.max(strips * LANES + 2 * self.packed);
        // Parts of so many strips are halves of halves, none of them a lone strip.
        let odd = usize::from(all < FUSED_BACK || !all.is_power_of_two());
        let mut half = Half {
            grad: take(self.padded()),
            momentum: take(momentum),
            g: take((all + odd) * line),
            y: take(strips * LANES),
            out: take(outputs),
            g_out: take(outputs),
            coming: take(coming),
            x: match variant.shared_inputs {
                true => take(all * LANES * self.d),
                false => kept as i32,
            },
            odd: odd as i32,
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

    /// A block a fit, with threads and sums as fits of a processor ask for.
    pub(crate) fn block(
        &self,
        part: Part,
        per_processor: usize,
        urgent: bool,
        shared_limit: usize,
    ) -> Way {
        let strips = self.all_strips();
        let alone = per_processor <= FEW_FITS;
        let few = alone || urgent && strips <= FEW_STRIPS;
        let narrow = match part {
            Part::Scoring => self.q <= NARROW / 2,
            _ => self.q <= NARROW,
        };
        let of_narrow = match (part, self.activation) {
            (Part::Adam, 0 | 3) if self.q <= NARROW / 2 => SUMS_OF_ADAM.0,
            (Part::Adam, _) if self.q <= NARROW / 2 => SUMS_OF_ADAM.1,
            _ => SUMS.1,
        };
        let (together, sums, most) = match (few, narrow) {
            (true, _) => (1, SUMS.0, FEW_GROUPS.0),
            (false, true) => (MANY_STRIPS.0, of_narrow, MANY_GROUPS),
            (false, false) => (MANY_STRIPS.1, SUMS.2, MANY_GROUPS),
        };
        // As many groups as have the same work; two are a warp.
        let tasks = strips.div_ceil(together);
        let least = match per_processor {
            _ if alone => FEW_GROUPS.1,
            _ if few => MANY_GROUPS,
            n if n <= SOME_FITS.0 => SOME_FITS.1,
            _ => 2,
        };
        let groups = tasks.div_ceil(tasks.div_ceil(most));
        let groups = groups.max(least).next_multiple_of(2);
        let capacity = (sums / (2 * self.q + 1)).max(1);
        let extra = match part {
            Part::Scoring => self.scoring_words(),
            _ => 0,
        };
        // Two pairs of strips of each group, states and gradients, are on their way.
        let coming = match few {
            true => 0,
            false => groups * 8 * LANES * self.wide(),
        };
        let words = self.shared_words(true) + extra;
        let near = few && 4 * words * per_processor.clamp(1, 8) <= shared_limit;
        Way {
            variant: Variant {
                strips: together,
                ..self.variant(part, LANES * most, capacity)
            },
            threads: LANES * groups,
            units: units_at_once(self, groups, capacity),
            near,
            words: self.shared_words(near) + extra + coming,
        }
    }

    pub(crate) fn variant(&self, part: Part, threads: usize, units: usize) -> Variant {
        Variant {
            part,
            q: self.q,
            activation: self.activation,
            threads,
            units,
            strips: 1,
            shared_states: false,
            shared_inputs: false,
            single: false,
        }
    }
}

/// Hidden units of a tile: at most as many as the registers hold, spread evenly over the groups.
fn units_at_once(shape: &Shape, groups: usize, most: usize) -> usize {
    let all = shape.r * shape.blocks;
    let passes = all.div_ceil(groups * most).max(1);
    all.div_ceil(groups * passes).clamp(1, shape.r.max(1))
}
