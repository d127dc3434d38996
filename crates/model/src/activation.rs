//! What a hidden unit does with its preactivation.

use loopfit_numerics::libm;
use loopfit_numerics::named::Named;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The function of a hidden unit. The paper's is the ReLU; the smooth ones cost the same numbers.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `max(u, 0)`.
    #[default]
    Relu,
    /// `tanh u`.
    Tanh,
    /// `u / (1 + e^-u)`.
    Silu,
    /// `sin u`.
    Sine,
}

impl Named for Activation {
    const ALL: &'static [Self] = &Self::ALL;

    fn name(self) -> &'static str {
        self.key()
    }
}

/// A name that no activation has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an activation: write relu, tanh, silu or sine")]
pub struct UnknownActivation(String);

impl Activation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Relu, Self::Tanh, Self::Silu, Self::Sine];

    /// The lower-case name that files, options and JSON output use.
    pub fn key(self) -> &'static str {
        match self {
            Self::Relu => "relu",
            Self::Tanh => "tanh",
            Self::Silu => "silu",
            Self::Sine => "sine",
        }
    }

    /// The value at a preactivation, in plain `f64`.
    pub fn value(self, u: f64) -> f64 {
        match self {
            Self::Relu => u.max(0.0),
            Self::Tanh => libm::tanh(u),
            Self::Silu => u / (1.0 + libm::exp(-u)),
            Self::Sine => libm::sin(u),
        }
    }

    /// The derivative at a preactivation; of the ReLU zero at zero.
    pub fn derivative(self, u: f64) -> f64 {
        match self {
            Self::Relu => f64::from(u > 0.0),
            Self::Tanh => 1.0 - libm::tanh(u) * libm::tanh(u),
            Self::Silu => {
                let s = 1.0 / (1.0 + libm::exp(-u));
                s * (1.0 + u * (1.0 - s))
            }
            Self::Sine => libm::cos(u),
        }
    }

    pub(crate) fn is_relu(&self) -> bool {
        *self == Self::Relu
    }
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Relu => "ReLU",
            Self::Tanh => "tanh",
            Self::Silu => "SiLU",
            Self::Sine => "sine",
        })
    }
}

impl FromStr for Activation {
    type Err = UnknownActivation;

    fn from_str(text: &str) -> Result<Self, UnknownActivation> {
        Self::ALL
            .into_iter()
            .find(|a| a.key() == text)
            .ok_or_else(|| UnknownActivation(text.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for a in Activation::ALL {
            assert_eq!(a.key().parse(), Ok(a));
            assert_eq!(serde_json::to_value(a).unwrap(), a.key());
        }
        assert!("gelu".parse::<Activation>().is_err());
    }

    #[test]
    fn derivatives_are_those_of_the_values() {
        for a in Activation::ALL {
            for u in [-3.0, -0.7, -0.1, 0.2, 1.0, 4.0] {
                let h = 1e-5;
                let difference = (a.value(u + h) - a.value(u - h)) / (2.0 * h);
                assert!((difference - a.derivative(u)).abs() < 1e-9, "{a} at {u}");
            }
        }
    }
}
