//! The parameter box and the output clipping.

use serde::{Deserialize, Serialize};

/// The fixed bounds of a fitted function.
///
/// # Reference
/// Section 3.2: every parameter lies in `[-M_par, M_par]` and the output passes
/// through `Pi_H`; Section F.4.3 takes `M_par = 128` and `H = 8` on the
/// standardised scale, which is the [`Default`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Bounds {
    /// `M_par`, the largest absolute value of a parameter.
    #[serde(rename = "coefficient")]
    pub parameter: f32,
    /// `H`, the largest absolute value of an output, on the model's own scale.
    pub output: f32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    #[serde(rename = "coefficient")]
    parameter: f32,
    output: f32,
}

/// What is wrong with a pair of bounds.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BoundsError {
    /// The bound on parameters is zero, negative, infinite or NaN.
    #[error("the bound {0} on coefficients must be positive and finite")]
    Parameter(f32),
    /// The bound on outputs is zero, negative, infinite or NaN.
    #[error("the bound {0} on outputs must be positive and finite")]
    Output(f32),
}

impl Bounds {
    /// Bounds, checked to be positive and finite.
    pub fn new(parameter: f32, output: f32) -> Result<Self, BoundsError> {
        let good = |bound: f32| bound > 0.0 && bound.is_finite();
        if !good(parameter) {
            return Err(BoundsError::Parameter(parameter));
        }
        if !good(output) {
            return Err(BoundsError::Output(output));
        }
        Ok(Self { parameter, output })
    }

    /// The output clipping; NaN stays NaN.
    ///
    /// # Formula
    /// `Pi_H(u) = min{H, max{-H, u}}`
    ///
    /// # Reference
    /// Section 3.2.
    #[inline]
    pub fn clip(self, u: f32) -> f32 {
        confine(u, self.output)
    }

    /// The nearest point of the parameter box; NaN stays NaN.
    ///
    /// # Reference
    /// Section 3.2, and the clamp after each update in Section F.4.3.
    #[inline]
    pub fn clamp(self, parameter: f32) -> f32 {
        confine(parameter, self.parameter)
    }
}

/// Unlike `f32::clamp` this cannot panic, whatever someone wrote into the bounds.
#[inline]
fn confine(v: f32, bound: f32) -> f32 {
    if v > bound {
        bound
    } else if v < -bound {
        -bound
    } else {
        v
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            parameter: 128.0,
            output: 8.0,
        }
    }
}

impl TryFrom<Unchecked> for Bounds {
    type Error = BoundsError;

    fn try_from(u: Unchecked) -> Result<Self, BoundsError> {
        Self::new(u.parameter, u.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positive_finite_bounds_are_bounds() {
        for bad in [0.0, -1.0, f32::INFINITY, f32::NAN] {
            assert!(matches!(
                Bounds::new(bad, 8.0),
                Err(BoundsError::Parameter(_))
            ));
            assert!(matches!(
                Bounds::new(128.0, bad),
                Err(BoundsError::Output(_))
            ));
        }
        let json = serde_json::to_string(&Bounds::default()).unwrap();
        assert_eq!(json, r#"{"coefficient":128.0,"output":8.0}"#);
        assert_eq!(
            serde_json::from_str::<Bounds>(&json).unwrap(),
            Bounds::default()
        );
        assert!(serde_json::from_str::<Bounds>(r#"{"coefficient":0,"output":8}"#).is_err());
    }

    #[test]
    fn clipping_and_clamping() {
        let bounds = Bounds::new(2.0, 8.0).unwrap();
        assert_eq!(
            [-9.0, -8.0, 0.5, 8.5].map(|u| bounds.clip(u)),
            [-8.0, -8.0, 0.5, 8.0]
        );
        assert_eq!([-9.0, 0.5, 3.0].map(|u| bounds.clamp(u)), [-2.0, 0.5, 2.0]);
        assert!(bounds.clip(f32::NAN).is_nan());
    }
}
