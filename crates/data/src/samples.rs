//! What the engine fits: inputs and responses in model units.

use loopfit_numerics::text::hex;
use sha2::{Digest, Sha256};

/// `n` observations of `d` inputs, checked: lengths agree and every number is finite.
///
/// Inputs are row-major. The response is standardised for regression, 0 or 1 for
/// binary and the class index for multiclass tasks; a density has none.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    n: usize,
    d: usize,
    x: Vec<f32>,
    y: Vec<f32>,
    /// Empty where every observation counts once.
    weights: Vec<f32>,
}

/// Why numbers are not samples.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SamplesError {
    /// There is no input at all.
    #[error("samples need at least one input, not d = 0")]
    NoInputs,
    /// More rows than can be numbered.
    #[error(
        "{n} rows are too many: at most {} can be fitted; take a part of them",
        u32::MAX
    )]
    TooMany {
        /// Rows of inputs.
        n: usize,
    },
    /// The inputs are not whole rows.
    #[error("{len} inputs are not a whole number of rows of {d} inputs")]
    RaggedInputs {
        /// Length of the input vector.
        len: usize,
        /// Inputs in a row.
        d: usize,
    },
    /// There are responses, but not one for each row.
    #[error("{n} rows of inputs come with {responses} responses")]
    ResponseCount {
        /// Rows of inputs.
        n: usize,
        /// Length of the response vector.
        responses: usize,
    },
    /// An input is NaN or infinite.
    #[error("input {} of row {} is not finite", column + 1, row + 1)]
    InputNotFinite {
        /// Row, from zero.
        row: usize,
        /// Input, from zero.
        column: usize,
    },
    /// A response is NaN or infinite.
    #[error("the response of row {} is not finite", row + 1)]
    ResponseNotFinite {
        /// Row, from zero.
        row: usize,
    },
    /// A weight that is not a positive number.
    #[error("the weight of row {} is not a positive number", row + 1)]
    Weight {
        /// Row, from zero.
        row: usize,
    },
}

impl Samples {
    /// Checks and keeps `x` (row-major, `d` inputs a row) and `y` (one response a row, or
    /// empty for a density).
    pub fn new(d: usize, x: Vec<f32>, y: Vec<f32>) -> Result<Self, SamplesError> {
        if d == 0 {
            return Err(SamplesError::NoInputs);
        }
        if !x.len().is_multiple_of(d) {
            return Err(SamplesError::RaggedInputs { len: x.len(), d });
        }
        let n = x.len() / d;
        if u32::try_from(n).is_err() {
            return Err(SamplesError::TooMany { n });
        }
        if !y.is_empty() && y.len() != n {
            return Err(SamplesError::ResponseCount {
                n,
                responses: y.len(),
            });
        }
        if let Some(i) = x.iter().position(|v| !v.is_finite()) {
            return Err(SamplesError::InputNotFinite {
                row: i / d,
                column: i % d,
            });
        }
        if let Some(row) = y.iter().position(|v| !v.is_finite()) {
            return Err(SamplesError::ResponseNotFinite { row });
        }
        Ok(Self {
            n,
            d,
            x,
            y,
            weights: Vec::new(),
        })
    }

    /// The same observations, each counting this often; none is once each.
    pub fn weighted(self, weights: Vec<f32>) -> Result<Self, SamplesError> {
        if !weights.is_empty() && weights.len() != self.n {
            return Err(SamplesError::ResponseCount {
                n: self.n,
                responses: weights.len(),
            });
        }
        let wrong = |w: &f32| !(*w > 0.0 && w.is_finite());
        match weights.iter().position(wrong) {
            Some(row) => Err(SamplesError::Weight { row }),
            None => Ok(Self { weights, ..self }),
        }
    }

    /// How often each observation counts; empty where each counts once.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Number of observations.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of inputs.
    pub fn d(&self) -> usize {
        self.d
    }

    /// All inputs, row-major.
    pub fn x(&self) -> &[f32] {
        &self.x
    }

    /// All responses; empty for a density.
    pub fn y(&self) -> &[f32] {
        &self.y
    }

    /// The first `n` observations, or all if there are fewer.
    pub fn first(&self, n: usize) -> Self {
        let n = n.min(self.n);
        Self {
            n,
            d: self.d,
            x: self.x[..n * self.d].to_vec(),
            y: self.y[..n.min(self.y.len())].to_vec(),
            weights: self.weights[..n.min(self.weights.len())].to_vec(),
        }
    }

    /// These observations followed by those of `other`, which has as many inputs.
    pub fn followed_by(&self, other: &Self) -> Result<Self, SamplesError> {
        let joined = |a: &[f32], b: &[f32]| [a, b].concat();
        Self::new(self.d, joined(&self.x, &other.x), joined(&self.y, &other.y))?
            .weighted(joined(&self.weights, &other.weights))
    }

    /// SHA-256 of the contents as 64 hexadecimal digits: what a fit's specification records
    /// of its data.
    ///
    /// # Formula
    /// `SHA-256("loopfit samples 1" | n | d | length of y | x | y | weights)`, integers as 64-bit and
    /// numbers as 32-bit little-endian.
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(b"loopfit samples 1");
        for size in [self.n, self.d, self.y.len()] {
            hasher.update((size as u64).to_le_bytes());
        }
        for value in self.x.iter().chain(&self.y).chain(&self.weights) {
            hasher.update(value.to_le_bytes());
        }
        hex(hasher.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_what_fits_together() {
        let s = Samples::new(2, vec![1.0, 2.0, 3.0, 4.0], vec![0.0, 1.0]).unwrap();
        assert_eq!((s.n(), s.d()), (2, 2));
        assert!(Samples::new(2, vec![1.0, 2.0], vec![]).is_ok());
    }

    #[test]
    fn each_way_of_being_wrong_has_its_error() {
        use SamplesError::*;
        let cases = [
            (Samples::new(0, vec![], vec![]), NoInputs),
            (
                Samples::new(2, vec![1.0; 3], vec![]),
                RaggedInputs { len: 3, d: 2 },
            ),
            (
                Samples::new(2, vec![1.0; 4], vec![1.0]),
                ResponseCount { n: 2, responses: 1 },
            ),
            (
                Samples::new(2, vec![1.0, 1.0, 1.0, f32::NAN], vec![]),
                InputNotFinite { row: 1, column: 1 },
            ),
            (
                Samples::new(1, vec![1.0, 1.0], vec![0.0, f32::INFINITY]),
                ResponseNotFinite { row: 1 },
            ),
        ];
        for (got, expected) in cases {
            assert_eq!(got.unwrap_err(), expected);
        }
    }

    /// The digest comes from Python: `hashlib.sha256(b"loopfit samples 1" +
    /// struct.pack("<QQQ3f", 1, 2, 1, 1.0, 2.0, 0.5)).hexdigest()`.
    #[test]
    fn the_hash_is_sha256_of_the_contents() {
        let s = Samples::new(2, vec![1.0, 2.0], vec![0.5]).unwrap();
        assert_eq!(
            s.hash(),
            "ece70d860f6013a4993722811ba10cefb3c5aa7bf1f8f698b3a3483f97787426"
        );
        // The same numbers, shaped differently, are other data.
        let other = Samples::new(1, vec![1.0, 2.0], vec![]).unwrap();
        let column = Samples::new(2, vec![1.0, 2.0], vec![]).unwrap();
        assert_ne!(other.hash(), column.hash());
    }
}
