//! Hölder classes.

use crate::Error;

/// The dimension `d` and the smoothness `s`, which decide every rate of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothness {
    d: usize,
    s: f64,
}

impl Smoothness {
    /// A checked pair: `d >= 1` and `s > 0`.
    pub fn new(d: usize, s: f64) -> Result<Self, Error> {
        if d == 0 {
            return Err(Error::Dimension);
        }
        if !(s > 0.0 && s.is_finite()) {
            return Err(Error::Smoothness(s));
        }
        Ok(Self { d, s })
    }

    /// The number of inputs `d`.
    pub fn d(self) -> usize {
        self.d
    }

    /// The smoothness `s`.
    pub fn s(self) -> f64 {
        self.s
    }

    /// The order of the derivatives that must be Hölder continuous.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"k = \lceil s \rceil - 1")]
    ///
    /// # Reference
    /// Definition 3.1.
    pub fn k(self) -> usize {
        self.s.ceil() as usize - 1
    }

    /// The exponent of that continuity.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\alpha = s - k \in (0, 1]")]
    ///
    /// # Reference
    /// Definition 3.1.
    pub fn alpha(self) -> f64 {
        self.s - self.k() as f64
    }

    /// The exponent of approximation in squared distance.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"a = 2s/d")]
    ///
    /// # Reference
    /// Section 3.1, below Definition 3.1.
    pub fn a(self) -> f64 {
        2.0 * self.s / self.d as f64
    }
}

/// The class `H_d^s(H)` of functions on `[0,1]^d` with values in `[-H, H]`.
///
/// # Formula
/// All partial derivatives through order `k` exist on the open cube and are bounded by `H`, and
#[doc = loopfit_tex::tex!(r"|\partial^\nu f(x) - \partial^\nu f(y)| \le H \|x - y\|_\infty^\alpha, \qquad |\nu| = k")]
///
/// # Reference
/// Definition 3.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HolderClass {
    smoothness: Smoothness,
    bound: f64,
}

impl HolderClass {
    /// A checked class: `H > 0`.
    pub fn new(smoothness: Smoothness, bound: f64) -> Result<Self, Error> {
        if bound > 0.0 && bound.is_finite() {
            Ok(Self { smoothness, bound })
        } else {
            Err(Error::Bound(bound))
        }
    }

    /// Dimension and smoothness.
    pub fn smoothness(self) -> Smoothness {
        self.smoothness
    }

    /// The bound `H`.
    pub fn bound(self) -> f64 {
        self.bound
    }
}
