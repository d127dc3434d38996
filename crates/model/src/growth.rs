//! Larger networks that begin as the same function.
//!
//! | step | function | architectures |
//! |---|---|---|
//! | [`widen`] | preserved | both |
//! | [`deepen`] | preserved | FFN |
//! | [`iterate`] | preserved where the increment does not depend on the state, else continued approximately | FFN |
//! | [`rescale`] | unclipped predictions on the original scale preserved | both |
//!
//! "Preserved" is exact for coefficients that are copied and up to 32-bit rounding
//! for those that are computed. None of these steps enforces the parameter box; the
//! first update of the next fit does.
//!
//! # Reference
//! Section F.4.4 (continuation paths).

use crate::init;
use crate::layout::Role;
use crate::network::{Architecture, Network, ShapeError};
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
    /// No post-LN block is the identity.
    #[error(
        "cannot add blocks to a Transformer and keep its function: \
         a post-LN block normalises its input, so none is the identity; start afresh"
    )]
    DeepenTransformer,
    /// The outgoing weights of a post-LN block do not scale its step.
    #[error(
        "cannot change the iteration count of a Transformer and keep its function: \
         layer normalisation undoes the scaling of an update; start afresh"
    )]
    IterateTransformer,
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
    embed(parameters, reshaped(old, r, old.tying())?, stream)
}

/// The same function as Untied with `t` blocks: the old blocks, then identities.
///
/// Takes Single and Untied. A Transformer is refused, because no choice of gains and
/// biases makes a post-LN block the identity on all states.
///
/// # Formula
/// New blocks have `W1` and `b1` as in [`init::fresh`] from `stream`, `W2 = 0`, `b2 = 0`.
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
    if *old.architecture() != Architecture::Ffn {
        return Err(GrowthError::DeepenTransformer);
    }
    if t < blocks {
        return Err(GrowthError::Shallower {
            from: blocks,
            to: t,
        });
    }
    embed(
        parameters,
        reshaped(old, old.r(), Tying::Untied { t })?,
        stream,
    )
}

/// The loop with iteration count `t` that continues a Loop or a Single.
///
/// A loop of small updates follows a flow for a fixed time: `t` updates of size
/// `1/t` each. The function is preserved where an update adds the same vector to every
/// state it meets, and otherwise changes by the error of the two step sizes.
///
/// # Formula
/// `W2` and `b2` times `T_old / T_new`.
///
/// # Reference
/// Section F.4.4: "For nonlinear blocks this provides an approximate continuation".
pub fn iterate(parameters: &Parameters, t: usize) -> Result<Parameters, GrowthError> {
    let old = parameters.network();
    if old.tying().method() == Method::Untied {
        return Err(GrowthError::IterateUntied);
    }
    if *old.architecture() != Architecture::Ffn {
        return Err(GrowthError::IterateTransformer);
    }
    let network = reshaped(old, old.r(), Tying::Loop { t })?;
    let (t_old, t_new) = (old.tying().iterations() as f64, t as f64);
    let mut values = parameters.values().to_vec();
    for view in &network.layout() {
        if matches!(view.role, Role::OutgoingWeight | Role::OutgoingBias) {
            for value in &mut values[view.range()] {
                *value = (f64::from(*value) * t_old / t_new) as f32;
            }
        }
    }
    Ok(Parameters::new(network, values)?)
}

/// The network whose predictions `mean + sd f(x)` stay the same when the target's
/// normalisation changes.
///
/// # Formula
/// With `mean + sd (W z + b)` to be preserved: `W' = W sd / sd'` and
/// `b' = (mean + sd b - mean') / sd'`.
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
    let layout = network.layout();
    for view in layout.iter().filter(|v| v.name.starts_with("output.")) {
        for value in &mut values[view.range()] {
            let old = f64::from(*value) * from.sd;
            *value = match view.role {
                Role::Bias => (from.mean + old - to.mean) / to.sd,
                _ => old / to.sd,
            } as f32;
        }
    }
    Ok(Parameters::new(network, values)?)
}

fn reshaped(old: &Network, r: usize, tying: Tying) -> Result<Network, ShapeError> {
    let architecture = old.architecture().clone();
    Network::new(architecture, old.d(), old.outputs(), old.q(), r, tying)
}

/// A fresh start with zero outgoing weights, whose leading blocks, rows and columns
/// are then the old coefficients.
fn embed(
    parameters: &Parameters,
    network: Network,
    stream: Stream,
) -> Result<Parameters, GrowthError> {
    let (old_layout, layout) = (parameters.network().layout(), network.layout());
    let mut values = init::fresh(&network, 0.0, stream).into_values();
    for view in &layout {
        let target = &mut values[view.range()];
        if view.role == Role::OutgoingWeight {
            // A draw times zero may be a negative zero.
            target.fill(0.0);
        }
        let Some(old) = old_layout.get(&view.name) else {
            continue;
        };
        let rows = parameters.values()[old.range()].chunks_exact(old.cols);
        for (row, old_row) in target.chunks_exact_mut(view.cols).zip(rows) {
            row[..old.cols].copy_from_slice(old_row);
        }
    }
    Ok(Parameters::new(network, values)?)
}

#[cfg(test)]
mod tests;
