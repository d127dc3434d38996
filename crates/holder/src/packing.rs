//! The packing of a Hölder class: many functions of one size, far from each other.

use crate::code::{MAX_LENGTH, weight};
use crate::{Bump, Code, Differentiable, Error, HolderClass};
use loopfit_numerics::libm::{log, pow, sqrt};
use loopfit_numerics::log_number::LogNumber;
use loopfit_numerics::stream::Stream;
use std::f64::consts::LN_2;

/// Functions `f_1, ..., f_M` of a class `H_d^s(H)`, all of integral zero.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    \min_{j \ne k} \|f_j - f_k\|_2 \ge 8\delta, \qquad \max_j \|f_j\|_2 \le C\delta, \qquad
    \log M \ge c\,\delta^{-d/s},
")]
#[doc = loopfit_tex::tex!(r"f_\omega(x) = c_* m^{-s} \sum_{j \in \{0,\ldots,m-1\}^d} \omega_j \psi(mx - j),")]
/// where `omega` runs through the words of a binary code of length `m^d`.
///
/// # Reference
/// Lemma C.3.
#[derive(Clone, Debug)]
pub struct Packing {
    class: HolderClass,
    delta: f64,
    bump: Bump,
    norm: f64,
    scale: f64,
    m: usize,
    code: Code,
}

impl Packing {
    /// The packing of one cell, for the largest radius `delta_0`.
    pub fn coarsest(class: HolderClass) -> Result<Self, Error> {
        let bump = Bump::new(class.smoothness().d())?;
        let scale = bump.scale(class)?;
        let mut packing = Self {
            class,
            delta: 0.0,
            norm: bump.norm(),
            bump,
            scale,
            m: 1,
            code: Code::new(1)?,
        };
        packing.delta = packing.delta_0();
        // m^-s is at least 10^-60, and squares must be numbers.
        if !(1e-90..=1e90).contains(&packing.delta) {
            return Err(Error::Range {
                delta_0: packing.delta,
            });
        }
        Ok(packing)
    }

    /// The packing for a radius `0 < delta <= delta_0`.
    pub fn new(class: HolderClass, delta: f64) -> Result<Self, Error> {
        if !(delta > 0.0 && delta.is_finite()) {
            return Err(Error::Delta(delta));
        }
        let (d, s) = (class.smoothness().d(), class.smoothness().s());
        let mut packing = Self::coarsest(class)?;
        let (c_sep, delta_0) = (packing.c_sep(), packing.delta_0());
        if delta > delta_0 {
            return Err(Error::DeltaTooLarge { delta, delta_0 });
        }
        packing.delta = delta;
        // The floor of the formula without its rounding: the last m whose separation suffices.
        let separated = |m: usize| c_sep * pow(m as f64, -s) >= 8.0 * delta;
        let most = cells_per_axis(d);
        if separated(most + 1) {
            let least = c_sep / (8.0 * pow((most + 1) as f64, s));
            return Err(Error::DeltaTooSmall { delta, least });
        }
        let (mut m, mut beyond) = (1, most + 1);
        while beyond - m > 1 {
            let middle = m + (beyond - m) / 2;
            if separated(middle) {
                m = middle;
            } else {
                beyond = middle;
            }
        }
        packing.m = m;
        packing.code = Code::new(packing.cells())?;
        Ok(packing)
    }

    /// The class.
    pub fn class(&self) -> HolderClass {
        self.class
    }

    /// The radius `delta`.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The bump `psi`.
    pub fn bump(&self) -> &Bump {
        &self.bump
    }

    /// `||psi||_2`.
    pub fn psi_norm(&self) -> f64 {
        self.norm
    }

    /// The scale `c_*`, see [`Bump::scale`].
    pub fn c_star(&self) -> f64 {
        self.scale
    }

    /// The code whose words choose the bumps.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// What separates functions of a grid with one cell, at least.
    ///
    /// # Formula
    /// Words differ in at least an eighth of the `m^d` places, so
    #[doc = loopfit_tex::tex!(r"
        \|f_\omega - f_{\omega'}\|_2 \ge c_{\mathrm{sep}} m^{-s}, \qquad
        c_{\mathrm{sep}} = c_* \|\psi\|_2 / \sqrt 8
    ")]
    ///
    /// # Reference
    /// Proof of Lemma C.3.
    pub fn c_sep(&self) -> f64 {
        self.scale * self.norm / sqrt(8.0)
    }

    /// The largest radius, at which one cell is left.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\delta_0 = c_{\mathrm{sep}} / 8")]
    ///
    /// # Reference
    /// Lemma C.3.
    pub fn delta_0(&self) -> f64 {
        self.c_sep() / 8.0
    }

    /// Cells along each axis.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"m = \lfloor (c_{\mathrm{sep}} / (8\delta))^{1/s} \rfloor")]
    ///
    /// # Reference
    /// Proof of Lemma C.3.
    pub fn m(&self) -> usize {
        self.m
    }

    /// The number of cells.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"n = m^d")]
    ///
    /// # Reference
    /// Proof of Lemma C.3.
    pub fn cells(&self) -> usize {
        let grown = |cells: usize| cells.saturating_mul(self.m);
        // A single cell has no power to take, whatever the dimension.
        match self.m {
            1 => 1,
            _ => (0..self.bump.d()).fold(1, |cells, _| grown(cells)),
        }
    }

    /// The logarithm of the number of functions.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\log M = K_{\rm bits} \log 2")]
    /// for a code of so many message bits.
    ///
    /// # Reference
    /// Lemma C.3.
    pub fn log_m(&self) -> f64 {
        self.code.bits() as f64 * LN_2
    }

    /// The constant of the count.
    ///
    /// # Formula
    /// `log M >= (log 2 / 8) m^d`, and `m >= (c_sep / (8 delta))^{1/s} / 2` since a number that is at
    /// least one is less than twice its floor. So
    #[doc = loopfit_tex::tex!(r"c = \frac{\log 2}{8}\, 2^{-d} \Bigl(\frac{c_{\mathrm{sep}}}8\Bigr)^{d/s}")]
    ///
    /// # Reference
    /// Lemma C.3.
    pub fn c(&self) -> LogNumber {
        let (d, s) = (self.bump.d() as f64, self.class.smoothness().s());
        LogNumber::from_ln(log(LN_2 / 8.0) - d * LN_2 + d / s * log(self.delta_0()))
    }

    /// What the lemma asserts of `log M`.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"c\,\delta^{-d/s}")]
    ///
    /// # Reference
    /// Lemma C.3.
    pub fn log_m_bound(&self) -> f64 {
        let (d, s) = (self.bump.d() as f64, self.class.smoothness().s());
        (self.c() * LogNumber::new(self.delta).pow(-d / s)).value()
    }

    /// The constant of the norms.
    ///
    /// # Formula
    /// All bumps together have the norm `c_* m^{-s} ||psi|| = sqrt(8) c_sep m^{-s}`, and `m^{-s}` is at
    /// most `2^s (8 delta) / c_sep`. So
    #[doc = loopfit_tex::tex!(r"C = 8 \sqrt 8\, 2^s")]
    ///
    /// # Reference
    /// Lemma C.3.
    pub fn norm_constant(&self) -> f64 {
        8.0 * sqrt(8.0) * pow(2.0, self.class.smoothness().s())
    }

    /// The norm of a function that is so many bumps, which is the distance of two functions that
    /// differ in so many.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        \|f_\omega - f_{\omega'}\|_2^2 = c_*^2 m^{-2s-d} \|\psi\|_2^2 \sum_j |\omega_j - \omega'_j|
    ")]
    ///
    /// # Reference
    /// Proof of Lemma C.3.
    pub fn norm_of(&self, bumps: usize) -> f64 {
        let share = bumps as f64 / self.cells() as f64;
        self.amplitude() * self.norm * sqrt(share)
    }

    /// The least distance of two functions, by the code's.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"c_* m^{-s} \|\psi\|_2 \{d_{\rm code} / m^d\}^{1/2} \ge 8\delta")]
    ///
    /// # Reference
    /// Lemma C.3.
    pub fn separation(&self) -> f64 {
        self.norm_of(self.code.distance())
    }

    /// The norm of all bumps together, which no function exceeds.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"c_* m^{-s} \|\psi\|_2 \le C\delta")]
    ///
    /// # Reference
    /// Lemma C.3.
    pub fn largest_norm(&self) -> f64 {
        self.norm_of(self.cells())
    }

    /// `c_* m^{-s}`, what a bump is multiplied by.
    pub fn amplitude(&self) -> f64 {
        self.scale * pow(self.m as f64, -self.class.smoothness().s())
    }

    /// What no value of a function exceeds.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"c_* m^{-s} \sup\psi")]
    pub fn highest(&self) -> f64 {
        self.amplitude() * self.bump.largest(0).0
    }

    /// The packing with so many cells along each axis, at the largest radius that has them.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\delta = c_{\mathrm{sep}} m^{-s} / 8")]
    pub fn with_cells(class: HolderClass, m: usize) -> Result<Self, Error> {
        let coarsest = Self::coarsest(class)?;
        let delta = coarsest.c_sep() * pow(m as f64, -class.smoothness().s()) / 8.0;
        Self::new(class, delta)
    }

    /// The function of a number below `M`; that of 0 is zero.
    pub fn member(&self, index: u64) -> Result<Member, Error> {
        Ok(self.of_word(self.code.word(index)?))
    }

    /// A function drawn uniformly.
    pub fn draw(&self, stream: Stream) -> Member {
        self.of_word(self.code.draw(stream))
    }

    pub(crate) fn of_word(&self, word: Vec<bool>) -> Member {
        Member {
            bump: self.bump,
            m: self.m,
            amplitude: self.amplitude(),
            word,
        }
    }
}

/// The most cells along each of `d` axes for which there is a code.
fn cells_per_axis(d: usize) -> usize {
    let fits = |m: usize| {
        let cells = (0..d).try_fold(1usize, |cells, _| {
            cells.checked_mul(m).filter(|cells| *cells <= MAX_LENGTH)
        });
        cells.is_some()
    };
    let mut m = 1;
    while fits(m + 1) {
        m += 1;
    }
    m
}

/// One function `f_omega` of a packing.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    bump: Bump,
    m: usize,
    amplitude: f64,
    /// One place for each cell, the first coordinate slowest.
    word: Vec<bool>,
}

impl Member {
    /// How many bumps the function has.
    pub fn bumps(&self) -> usize {
        weight(&self.word)
    }

    /// In how many cells two functions of a packing differ.
    pub fn differences(&self, other: &Self) -> usize {
        let pairs = self.word.iter().zip(&other.word);
        pairs.filter(|(a, b)| a != b).count()
    }

    /// The value at a point of the cube.
    pub fn value(&self, x: &[f64]) -> f64 {
        self.scaled(x, self.amplitude, |_| 0)
    }

    /// `factor` times a derivative of the bump of the point's cell, zero where it has none.
    fn scaled(&self, x: &[f64], factor: f64, nu: impl Fn(usize) -> usize) -> f64 {
        let (m, last) = (self.m as f64, self.m - 1);
        let cell = |x: &f64| ((m * x) as usize).min(last);
        let place = x.iter().fold(0, |place, x| place * self.m + cell(x));
        if !self.word[place] {
            return 0.0;
        }
        let t = x.iter().map(|x| m * x - cell(x) as f64);
        factor * self.bump.derivative((0..x.len()).map(nu), t)
    }
}

impl Differentiable for Member {
    fn d(&self) -> usize {
        self.bump.d()
    }

    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        \partial^\nu f_\omega(x) = c_* m^{|\nu|-s} \sum_j \omega_j\, \partial^\nu \psi(mx - j)
    ")]
    fn derivative(&self, nu: &[usize], x: &[f64]) -> f64 {
        let order: usize = nu.iter().sum();
        let factor = self.amplitude * pow(self.m as f64, order as f64);
        self.scaled(x, factor, |i| nu[i])
    }

    /// # Formula
    /// Rounding of `mx - j` times the largest slope, and rounding of the bump itself:
    /// `64 eps c_* m^{v-s} (m L + sup)`.
    fn error(&self, order: usize) -> f64 {
        let (supremum, lipschitz) = self.bump.largest(order);
        let m = self.m as f64;
        64.0 * f64::EPSILON * self.amplitude * pow(m, order as f64) * (m * lipschitz + supremum)
    }
}

#[cfg(test)]
mod tests;
