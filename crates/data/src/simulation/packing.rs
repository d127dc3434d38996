//! Functions of a packing of a Hölder class, the hardest targets of the paper's lower bounds.

use super::{Function, Observed};
use loopfit_holder::{Differentiable, HolderClass, Member, Packing, Smoothness};
use loopfit_numerics::stream::Stream;
use std::fmt;
use std::str::FromStr;

/// A function `f_omega` of the packing of a class `H_d^s(H)` at a radius.
///
/// Its text is `dim=2,smoothness=1.5,bound=100,delta=0.001`, with `member=7` for a certain function
/// instead of one drawn by the seed, `noise=0.1` for another noise than 0.02, and `law=bernoulli` or `law=energy` for
/// classes with this logit or draws with this log density instead of responses.
///
/// # Reference
/// Lemma C.3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackingTarget {
    class: HolderClass,
    delta: f64,
    member: Option<u64>,
    noise_sd: f64,
    law: Law,
}

/// What is observed: responses with Gaussian noise, classes, or draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Law {
    Gaussian,
    Bernoulli,
    Energy,
}

impl Law {
    const ALL: [Self; 3] = [Self::Gaussian, Self::Bernoulli, Self::Energy];

    fn name(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Bernoulli => "bernoulli",
            Self::Energy => "energy",
        }
    }
}

/// Standard deviation of the response noise where none is given: that of the paper's bumps.
const NOISE_SD: f64 = 0.02;
/// What can be given, the required ones first.
const KEYS: [&str; 7] = [
    "dim",
    "smoothness",
    "bound",
    "delta",
    "member",
    "noise",
    "law",
];

/// Why a text names no function of a packing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PackingTargetError {
    /// A part without `=`.
    #[error("`{0}` in sim:packing is not of the form KEY=VALUE: write e.g. {EXAMPLE}")]
    Form(String),
    /// A key that does not exist.
    #[error("sim:packing has no `{key}`; its keys are {}", KEYS.join(", "))]
    UnknownKey {
        /// The key as given.
        key: String,
    },
    /// A key given twice.
    #[error("sim:packing has `{0}` twice: leave one out")]
    Twice(&'static str),
    /// A key that is required.
    #[error("sim:packing needs `{0}=`: write e.g. {EXAMPLE}")]
    Missing(&'static str),
    /// A value that is not what the key needs.
    #[error("sim:packing cannot use {key}={value}: it must be {needed}")]
    Value {
        /// The key.
        key: &'static str,
        /// The value as given.
        value: String,
        /// What it must be.
        needed: &'static str,
    },
    /// Numbers for which there is no packing or no such member.
    #[error("sim:packing cannot be built: {0}")]
    Packing(#[from] loopfit_holder::Error),
}

const EXAMPLE: &str = "sim:packing:dim=2,smoothness=1.5,bound=100,delta=0.001";

impl PackingTarget {
    /// The function of a number of the packing, or one drawn by each seed.
    pub fn of(packing: &Packing, member: Option<u64>) -> Result<Self, loopfit_holder::Error> {
        if let Some(index) = member {
            packing.member(index)?;
        }
        Ok(Self {
            class: packing.class(),
            delta: packing.delta(),
            member,
            noise_sd: NOISE_SD,
            law: Law::Gaussian,
        })
    }

    /// Number of inputs.
    pub(super) fn dim(self) -> usize {
        self.class.smoothness().d()
    }

    /// What is observed of the function.
    pub(super) fn observed(self) -> Observed {
        match self.law {
            Law::Gaussian => Observed::Response {
                noise_sd: self.noise_sd,
            },
            Law::Bernoulli => Observed::Classes,
            Law::Energy => {
                let packing =
                    Packing::new(self.class, self.delta).expect("checked when it was named");
                Observed::Draws {
                    bound: packing.highest(),
                }
            }
        }
    }

    /// The member that was named, or one drawn by the stream.
    pub(super) fn target(self, coefficients: Stream) -> Member {
        let packing = Packing::new(self.class, self.delta).expect("checked when it was named");
        match self.member {
            Some(index) => packing.member(index).expect("checked when it was named"),
            None => packing.draw(coefficients),
        }
    }
}

impl Function for Member {
    fn value(&self, x: &[f64]) -> f64 {
        self.value(x)
    }

    fn derivative(&self, nu: &[usize], x: &[f64]) -> f64 {
        Differentiable::derivative(self, nu, x)
    }
}

impl FromStr for PackingTarget {
    type Err = PackingTargetError;

    fn from_str(text: &str) -> Result<Self, PackingTargetError> {
        let mut values: [Option<&str>; KEYS.len()] = [None; KEYS.len()];
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| PackingTargetError::Form(part.to_string()))?;
            let at = KEYS
                .iter()
                .position(|known| *known == key.trim())
                .ok_or_else(|| PackingTargetError::UnknownKey {
                    key: key.trim().to_string(),
                })?;
            if values[at].replace(value.trim()).is_some() {
                return Err(PackingTargetError::Twice(KEYS[at]));
            }
        }
        let given = |at: usize| values[at].ok_or(PackingTargetError::Missing(KEYS[at]));
        let d = parsed(0, given(0)?, "a whole number")?;
        let [s, h, delta] = [given(1)?, given(2)?, given(3)?];
        let [s, h, delta] = [(1, s), (2, h), (3, delta)].map(|(at, v)| parsed(at, v, "a number"));
        let class = HolderClass::new(Smoothness::new(d, s?)?, h?)?;
        let member = values[4].map(|v| parsed(4, v, "a whole number from 0 to 2^64 - 1"));
        let mut target = Self::of(&Packing::new(class, delta?)?, member.transpose()?)?;
        if let Some(value) = values[5] {
            let needed = "a finite number that is not negative";
            target.noise_sd = parsed(5, value, needed)?;
            if !(target.noise_sd >= 0.0 && target.noise_sd.is_finite()) {
                return Err(wrong(5, value, needed));
            }
        }
        if let Some(value) = values[6] {
            let known = Law::ALL.into_iter().find(|law| law.name() == value);
            target.law = known.ok_or_else(|| wrong(6, value, "gaussian, bernoulli or energy"))?;
        }
        if target.law != Law::Gaussian && values[5].is_some() {
            return Err(wrong(
                5,
                values[5].unwrap_or_default(),
                "left out: only responses have noise",
            ));
        }
        Ok(target)
    }
}

fn parsed<T: FromStr>(
    at: usize,
    value: &str,
    needed: &'static str,
) -> Result<T, PackingTargetError> {
    value.parse().map_err(|_| wrong(at, value, needed))
}

fn wrong(at: usize, value: &str, needed: &'static str) -> PackingTargetError {
    PackingTargetError::Value {
        key: KEYS[at],
        value: value.to_string(),
        needed,
    }
}

/// A number that is read back as itself, with an exponent where it is small or large.
fn shortest(value: f64) -> String {
    if value == 0.0 || (1e-4..1e9).contains(&value) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

impl fmt::Display for PackingTarget {
    /// The text that is read back, the same for the same function.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let smoothness = self.class.smoothness();
        let [s, h, delta] = [smoothness.s(), self.class.bound(), self.delta].map(shortest);
        write!(
            f,
            "dim={},smoothness={s},bound={h},delta={delta}",
            smoothness.d()
        )?;
        if let Some(index) = self.member {
            write!(f, ",member={index}")?;
        }
        if self.noise_sd != NOISE_SD {
            write!(f, ",noise={}", shortest(self.noise_sd))?;
        }
        if self.law != Law::Gaussian {
            write!(f, ",law={}", self.law.name())?;
        }
        Ok(())
    }
}
