//! Larger networks that begin as the same function.
//!
//! | step | function | architectures |
//! |---|---|---|
//! | [`widen`] | preserved | both |
//! | [`deepen`] | preserved | FFN |
//! | [`deepen`] | preserved up to the stabiliser of layer normalisation | Transformer |
//! | [`iterate`] | preserved where the increment does not depend on the state, else continued approximately | FFN |
//! | [`iterate`] | continued approximately | Transformer |
//! | [`rescale`] | unclipped predictions on the original scale preserved | both |
//!
//! Networks in other forms than the paper's stay in theirs.
//!
//! "Preserved" is exact for coefficients that are copied and up to 32-bit rounding
//! for those that are computed. None of these steps enforces the parameter box; the
//! first update of the next fit does.
//!
//! # Reference
//! Section F.4.4 (continuation paths).

use crate::architecture::Architecture;
use crate::form::Form;
use crate::init;
use crate::layout::Role;
use crate::network::{Network, ShapeError};
use crate::parameters::{Parameters, ParametersError};
use crate::tying::{Method, Tying};
use loopfit_numerics::stream::Stream;

/// Why a network cannot grow as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GrowthError {
    /// The grown network is not a network.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A computed coefficient overflowed.
    #[error(transparent)]
    Parameters(#[from] ParametersError),
    /// The new width is smaller.
    #[error("cannot widen from r = {from} to r = {to}: the new width must not be smaller")]
    Narrower {
        /// The old width.
        from: usize,
        /// The new width.
        to: usize,
    },
    /// There are fewer blocks than before.
    #[error("cannot deepen from {from} to {to} blocks: blocks are only added")]
    Shallower {
        /// The old number of blocks.
        from: usize,
        /// The new number of blocks.
        to: usize,
    },
    /// A loop has one block, which another iteration count would not make deeper.
    #[error("cannot add separate blocks to Loop: change its iteration count instead")]
    DeepenLoop,
    /// Separate blocks are not iterated.
    #[error("cannot change the iteration count of Untied: add separate blocks instead")]
    IterateUntied,
    /// A normalisation has a mean that is not finite or a scale that is not positive.
    #[error(
        "the target normalisation (mean {mean}, sd {sd}) needs a finite mean and a positive sd"
    )]
    Normalisation {
        /// The mean.
        mean: f64,
        /// The standard deviation.
        sd: f64,
    },
}

/// How a target was standardised: `(y - mean) / sd`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalisation {
    /// The mean that was subtracted.
    pub mean: f64,
    /// The standard deviation that was divided by.
    pub sd: f64,
}

/// The same function with hidden width `r`.
///
/// # Formula
/// New rows of `W1` and entries of `b1` as in [`init::fresh`] from `stream`, new columns
/// of `W2` zero, in every block.
///
/// # Reference
/// Section F.4.4: "pads the old weights and sets new outgoing coefficients to zero".
pub fn widen(parameters: &Parameters, r: usize, stream: Stream) -> Result<Parameters, GrowthError> {
    let old = parameters.network();
    if r < old.r() {
        return Err(GrowthError::Narrower {
            from: old.r(),
            to: r,
        });
    }
    embed(parameters, old.resized(r, old.tying())?, stream)
}

/// The same function as Untied with `t` blocks: the old blocks, then identities.
///
/// Takes Single and Untied. No post-LN block is the identity on all states, because its layer
/// norms forget the mean and the scale of a row. But one is on *normalised* rows (mean 0, variance
/// 1), up to the stabiliser: so the gain and bias with which the old last block ends move to the
/// end of the new last block, and everything in between passes normalised rows on.
///
/// # Formula
/// New blocks have what [`init::fresh`] draws from `stream`, but `W2 = 0` and `b2 = 0`, and for
/// the Transformer also an output projection of zero, so that with gains 1 and biases 0 a block is
/// `LN(LN(S))`. A row of variance `v` leaves a layer norm of gain 1 with variance
/// `v / (v + eps_LN)`: from the normalised rows of the old last block on, each new block changes
/// a row by a factor of at most `1 + eps_LN / min(v, 1)`, `v` the variance before the old norm.
///
/// # Reference
/// Section F.4.4: "additional untied blocks are initialized as identities".
pub fn deepen(
    parameters: &Parameters,
    t: usize,
    stream: Stream,
) -> Result<Parameters, GrowthError> {
    let old = parameters.network();
    let blocks = old.tying().blocks();
    if old.tying().method() == Method::Loop {
        return Err(GrowthError::DeepenLoop);
    }
    if t < blocks {
        return Err(GrowthError::Shallower {
            from: blocks,
            to: t,
        });
    }
    let network = old.resized(old.r(), Tying::Untied { t })?;
    let deeper = embed(parameters, network.clone(), stream)?;
    if *old.architecture() == Architecture::Ffn {
        return Ok(deeper);
    }
    let layout = network.layout();
    let mut values = deeper.into_values();
    for part in ["gain", "bias"] {
        let range = |block: usize| {
            let view = layout.get(&format!("block.{block}.ln2.{part}"));
            view.expect("a block of a Transformer has it").range()
        };
        // With no new block the two are the same and nothing moves.
        for (last, end) in range(blocks - 1).zip(range(t - 1)) {
            values.swap(last, end);
        }
    }
    Ok(Parameters::new(network, values)?)
}

/// The loop with iteration count `t` that continues a Loop or a Single.
///
/// A loop of small updates follows a flow for a fixed time: `t` updates of size
/// `1/t` each. The function of an FFN is preserved where an update adds the same vector to every
/// state it meets, and otherwise changes by the error of the two step sizes. That of a
/// Transformer follows a flow on normalised rows.
///
/// # Formula
/// Every coefficient whose value decides how far an update is from the identity goes
/// `T_old / T_new` of the way: `W2`, `b2`, the output projection of attention and the biases of
/// layer norms are multiplied by it, gains are `1 + (gain - 1) T_old / T_new`. Coefficients that
/// only a Loop of the form has are zero.
///
/// # Reference
/// Section F.4.4: "For nonlinear blocks this provides an approximate continuation".
pub fn iterate(parameters: &Parameters, t: usize) -> Result<Parameters, GrowthError> {
    let old = parameters.network();
    if old.tying().method() == Method::Untied {
        return Err(GrowthError::IterateUntied);
    }
    let network = old.resized(old.r(), Tying::Loop { t })?;
    let (t_old, t_new) = (old.tying().iterations() as f64, t as f64);
    let mut values = vec![0.0; network.count()];
    copy_leading(parameters, &network, &mut values);
    for view in &network.layout() {
        let Some(identity) = view.role.at_identity().map(f64::from) else {
            continue;
        };
        for value in &mut values[view.range()] {
            *value = (identity + (f64::from(*value) - identity) * t_old / t_new) as f32;
        }
    }
    Ok(Parameters::new(network, values)?)
}

/// The network whose predictions `mean + sd f(x)` stay the same when the target's
/// normalisation changes.
///
/// # Formula
/// With `mean + sd (W z + b)` to be preserved: `W' = W sd / sd'` and
/// `b' = (mean + sd b - mean') / sd'`. Channels that are outputs themselves (of the carried form) are
/// multiplied by `sd / sd'`: what is written into them, and what reads them divided by it.
///
/// # Reference
/// Section F.4.4: "the output function is remapped to preserve the unclipped predictions
/// on the original response scale".
pub fn rescale(
    parameters: &Parameters,
    from: Normalisation,
    to: Normalisation,
) -> Result<Parameters, GrowthError> {
    for Normalisation { mean, sd } in [from, to] {
        if !(mean.is_finite() && sd.is_finite() && sd > 0.0) {
            return Err(GrowthError::Normalisation { mean, sd });
        }
    }
    let network = parameters.network().clone();
    let mut values = parameters.values().to_vec();
    let carried = match network.form() {
        Form::Carried { extra } => Some(network.q() - extra),
        _ => None,
    };
    for view in &network.layout() {
        for (i, value) in values[view.range()].iter_mut().enumerate() {
            let old = f64::from(*value);
            let scaled = old * from.sd / to.sd;
            let new = match (view.name.as_str(), view.role, carried) {
                ("output.bias", ..) => (from.mean + old * from.sd - to.mean) / to.sd,
                ("output.weight", ..) => scaled,
                (_, Role::OutgoingWeight | Role::OutgoingBias, Some(_)) => scaled,
                (name, Role::Weight, Some(carried))
                    if name.ends_with("w1") && i % view.cols >= carried =>
                {
                    old * to.sd / from.sd
                }
                _ => continue,
            };
            *value = new as f32;
        }
    }
    Ok(Parameters::new(network, values)?)
}

/// A fresh start with zero outgoing weights, whose leading blocks, rows and columns
/// are then the old coefficients.
fn embed(
    parameters: &Parameters,
    network: Network,
    stream: Stream,
) -> Result<Parameters, GrowthError> {
    let mut values = init::fresh(&network, 0.0, stream).into_values();
    for view in &network.layout() {
        if view.role == Role::OutgoingWeight {
            // A draw times zero may be a negative zero.
            values[view.range()].fill(0.0);
        }
    }
    copy_leading(parameters, &network, &mut values);
    Ok(Parameters::new(network, values)?)
}

/// Makes the leading rows and columns of each tensor of `network` those of the same tensor of
/// `parameters`.
fn copy_leading(parameters: &Parameters, network: &Network, values: &mut [f32]) {
    let old_layout = parameters.network().layout();
    for view in &network.layout() {
        let Some(old) = old_layout.get(&view.name) else {
            continue;
        };
        let rows = parameters.values()[old.range()].chunks_exact(old.cols);
        for (row, old_row) in values[view.range()].chunks_exact_mut(view.cols).zip(rows) {
            row[..old.cols].copy_from_slice(old_row);
        }
    }
}

#[cfg(test)]
mod tests;
