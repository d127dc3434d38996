//! The numbers that a dyadic resolution fixes: precisions, sizes and times of Section D.1.

use crate::Error;
use crate::rational::Rational;
use loopfit_holder::TaylorWords;
use loopfit_numerics::libm;

/// A target class `H_d^s(H)` and a dyadic resolution `K = 2^m`, with every constant that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The number of inputs `d`.
    pub d: usize,
    /// The smoothness `s`.
    pub s: Rational,
    /// The bound `H`.
    pub h: Rational,
    /// The exponent of `K = 2^m`.
    pub m: usize,
    /// The order of the Taylor polynomials, `k = ceil(s) - 1`.
    pub k: usize,
    /// The number of ordered Taylor terms `M_Tay`.
    pub terms: usize,
    /// The number of their factors together, `V`.
    pub letters: usize,
}

/// More phases than this and nobody will run the network.
const LARGEST_PHASE_COUNT: u128 = 1 << 16;

/// More cells than this and no code is written.
const LARGEST_CELL_COUNT: usize = 1 << 22;

impl Resolution {
    /// A checked resolution: `d, m >= 1`, `s, H > 0`, and a network that can be written down.
    pub fn new(d: usize, s: Rational, h: Rational, m: usize) -> Result<Self, Error> {
        if d == 0 {
            return Err(Error::Dimension);
        }
        for (name, value) in [("the smoothness s", &s), ("the bound H", &h)] {
            if !value.is_positive() {
                return Err(Error::NotPositive {
                    name,
                    value: value.to_string(),
                });
            }
        }
        let largest = LARGEST_CELL_COUNT.ilog2() as usize / d;
        if largest == 0 {
            return Err(Error::Inputs {
                d,
                largest: LARGEST_CELL_COUNT.ilog2() as usize,
            });
        }
        if m == 0 || m > largest {
            return Err(Error::Level { m, d, largest });
        }
        let too_many = || Error::Terms {
            d,
            s: s.to_string(),
        };
        let k = usize::try_from(s.ceil() - 1).map_err(|_| too_many())?;
        let words = TaylorWords::new(d, k).ok_or_else(too_many)?;
        if 7 * words.terms + 5 * words.letters > LARGEST_PHASE_COUNT {
            return Err(too_many());
        }
        Ok(Self {
            k,
            terms: words.terms as usize,
            letters: words.letters as usize,
            d,
            s,
            h,
            m,
        })
    }

    /// The cells along each axis.
    ///
    /// # Formula
    /// `K = 2^m`.
    pub fn cells_per_axis(&self) -> usize {
        1 << self.m
    }

    /// The number of cells.
    ///
    /// # Formula
    /// `K^d`.
    pub fn cells(&self) -> usize {
        1 << (self.d * self.m)
    }

    /// The side of a cell.
    ///
    /// # Formula
    /// `h = 1/K`.
    pub fn side(&self) -> Rational {
        Rational::power_of_two(-(self.m as i64))
    }

    /// The step to which Taylor coefficients are rounded down.
    ///
    /// # Formula
    /// `H 2^(1-b)`.
    ///
    /// # Reference
    /// Section D.1.1.
    pub fn quantum(&self) -> Rational {
        self.h.scaled(1 - self.b() as i64)
    }

    /// The bits of a quantised coefficient.
    ///
    /// # Formula
    /// `b = (k + 1) m` (Section D.1).
    pub fn b(&self) -> usize {
        (self.k + 1) * self.m
    }

    /// The updates of a multiplication.
    ///
    /// # Formula
    /// `J = (k + 1) m` (Section D.1).
    pub fn j(&self) -> usize {
        (self.k + 1) * self.m
    }

    /// The doublings of the cell gate.
    ///
    /// # Formula
    /// `G = (2(k + 1) + 1) m + 2` (Section D.1).
    pub fn g(&self) -> usize {
        (2 * (self.k + 1) + 1) * self.m + 2
    }

    /// The doublings of the selector's scale.
    ///
    /// # Formula
    /// `L_m = G + dm` (Lemma D.5).
    pub fn scale_exponent(&self) -> usize {
        self.g() + self.d * self.m
    }

    /// The bits of one record.
    ///
    /// # Formula
    /// `dm + M_Tay b + 1` (Section D.1.1).
    pub fn record_length(&self) -> usize {
        self.d * self.m + self.terms * self.b() + 1
    }

    /// The bound `B` of Lemma D.4 for the evaluator.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"B_{\rm eval} = 32(M_{\rm Tay} + 1) + 1")]
    ///
    /// # Reference
    /// Section D.1.
    pub fn b_eval(&self) -> usize {
        32 * (self.terms + 1) + 1
    }

    /// The data registers of the evaluator.
    ///
    /// # Formula
    /// `D_data = 2d + 15` (Section D.1.3).
    pub fn registers(&self) -> usize {
        2 * self.d + 15
    }

    /// The phases of the evaluator.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"P = 7d + 7M_{\rm Tay} + 5V + 14")]
    ///
    /// # Reference
    /// Section D.1.4, resource bookkeeping.
    pub fn phases(&self) -> usize {
        7 * self.d + 7 * self.terms + 5 * self.letters + 14
    }

    /// The state dimension of the evaluator.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"q_0 = 9d + 7M_{\rm Tay} + 5V + 29")]
    ///
    /// # Reference
    /// (S20).
    pub fn q_0(&self) -> usize {
        9 * self.d + 7 * self.terms + 5 * self.letters + 29
    }

    /// The hidden width of the evaluator.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"r_0 = (7d + 7M_{\rm Tay} + 5V + 14)(8d + 62)")]
    ///
    /// # Reference
    /// (S20).
    pub fn r_0(&self) -> usize {
        self.phases() * (8 * self.d + 62)
    }

    /// The iterations of the evaluator for each record.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"\tau_m = d(5 + 2m) + M_{\rm Tay}(5 + 2b) + V(3 + 2J) + 2G + 11")]
    ///
    /// # Reference
    /// (S21).
    pub fn tau(&self) -> usize {
        self.d * (5 + 2 * self.m)
            + self.terms * (5 + 2 * self.b())
            + self.letters * (3 + 2 * self.j())
            + 2 * self.g()
            + 11
    }

    /// Whether `x` lies on `S_G`, the open strips of half-width `2^-G` around the grid's
    /// hyperplanes, on which nothing but clipping bounds the error.
    ///
    /// # Reference
    /// Section D.1.5.
    pub fn is_on_strip(&self, x: &[Rational]) -> bool {
        let half_width = Rational::power_of_two(self.m as i64 - self.g() as i64);
        x.iter().any(|x| {
            let place = x.scaled(self.m as i64);
            let fraction = &place - Rational::from(place.floor());
            fraction < half_width || Rational::ONE - fraction < half_width
        })
    }

    /// The largest error of a constructed network at points that are off the strips.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"|Hu(x) - f_0(x)| \le H \left( d^k h^s + M_{\rm Tay} 2^{1-b} + V 4^{-J}/2 \right)")]
    ///
    /// # Reference
    /// (S23) and (S28), added up as in (S29).
    pub fn interior_error_bound(&self) -> f64 {
        let power = |base: f64, exponent: f64| libm::pow(base, exponent);
        let taylor =
            power(self.d as f64, self.k as f64) * power(2.0, -(self.m as f64) * self.s.to_f64());
        let words = self.terms as f64 * power(2.0, 1.0 - self.b() as f64);
        let products = self.letters as f64 * power(4.0, -(self.j() as f64)) / 2.0;
        self.h.to_f64() * (taylor + words + products)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loopfit_holder::Smoothness;
    use loopfit_model::Architecture;
    use loopfit_theory::thresholds::Thresholds;

    /// Sizes and coefficient bound are those of the calculator, which has formulas of its own.
    #[test]
    fn sizes_are_those_of_the_thresholds() {
        for d in 1..=3 {
            for s in ["1/2", "1", "3/2", "2", "3"] {
                let s: Rational = s.parse().unwrap();
                let smoothness = Smoothness::new(d, s.to_f64()).unwrap();
                let expected = Thresholds::new(smoothness, &Architecture::Ffn, 1.0, 1e-5).unwrap();
                let resolution = Resolution::new(d, s, Rational::ONE, 1).unwrap();
                assert_eq!((resolution.q_0() + d + 10) as u64, expected.q);
                assert_eq!((resolution.r_0() + 20 * d + 75) as u64, expected.r);
                let bound = 2 * (3 * resolution.b_eval() + 22);
                assert_eq!(bound as f64, expected.parameter_bound);
            }
        }
    }

    #[test]
    fn wrong_requests_are_refused() {
        let new = |d, s: &str, h: &str, m| {
            Resolution::new(d, s.parse().unwrap(), h.parse().unwrap(), m)
                .unwrap_err()
                .to_string()
        };
        assert!(new(0, "1", "1", 1).contains("d is 0"));
        assert!(new(1, "0", "1", 1).contains("s is 0"));
        assert!(new(1, "1", "-1/2", 1).contains("H is -1/2"));
        assert!(new(2, "1", "1", 0).contains("between 1 and 11"));
        assert!(new(2, "1", "1", 12).contains("between 1 and 11"));
        assert!(new(9, "20", "1", 1).contains("Taylor terms"));
        assert!(new(1, "1000000000000000000000000", "1", 1).contains("Taylor terms"));
    }
}
