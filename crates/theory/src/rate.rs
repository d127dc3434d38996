//! Exponents: how fast each risk falls with the sample size, and how budgets must grow.

use crate::{Constant, Constants};
use loopfit_holder::Smoothness;
use loopfit_numerics::log_number::LogNumber;

/// All exponents of one dimension and smoothness. Rates are in squared Hellinger distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Dimension and smoothness.
    pub smoothness: Smoothness,
}

impl Rates {
    /// The rates of a dimension and a smoothness.
    pub fn new(smoothness: Smoothness) -> Self {
        Self { smoothness }
    }

    /// The exponent `a = 2s/d`.
    pub fn a(self) -> f64 {
        self.smoothness.a()
    }

    /// The exponent of the unrestricted minimax risk.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        \frac{a}{a+1} = \frac{2s}{2s+d}, \qquad
        \inf_{\widehat P}\sup_{f_0} \mathbb E\, h^2 \ge c_{\min}\, n^{-a/(a+1)}
    ")]
    ///
    /// # Reference
    /// Theorem 4.2, equation (16).
    pub fn minimax_exponent(self) -> f64 {
        let (s, d) = (self.smoothness.s(), self.smoothness.d() as f64);
        2.0 * s / (2.0 * s + d)
    }

    /// The power of `log(en)` in the loop's risk at a fixed budget.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"R_L \le C_7\, n^{-a/(a+1)} \{\log(en)\}^{a/(a+1)}")]
    ///
    /// # Reference
    /// Theorem 4.4, equation (19).
    pub fn fixed_budget_log_power(self) -> f64 {
        self.minimax_exponent()
    }

    /// The power of `log(en)` in the loop's risk under a growing budget.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"R_L \le C_8\, n^{-a/(a+1)} \{\log(en)\}^{3a/(a+1)}")]
    ///
    /// # Reference
    /// Theorem 4.5, equation (22).
    pub fn growing_budget_log_power(self) -> f64 {
        3.0 * self.minimax_exponent()
    }

    /// The end of the window of growth exponents of the budget.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"0 < \gamma_B < \frac{1}{2(a+1)} = \frac{d}{4s+2d}")]
    ///
    /// # Reference
    /// Theorem 4.5, equation (21).
    pub fn window_end(self) -> f64 {
        let (s, d) = (self.smoothness.s(), self.smoothness.d() as f64);
        d / (4.0 * s + 2.0 * d)
    }

    /// The growth of an untied budget without which no untied network attains the minimax rate.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"
        \{B_n^2 \log(eB_n)\}^{-a} \lesssim n^{-a/(a+1)}
        \iff B_n^2 \log(eB_n) \gtrsim n^{1/(a+1)}
        \implies B_n \gtrsim n^{d/(4s+2d)} \{\log(en)\}^{-1/2}
    ")]
    ///
    /// # Reference
    /// Section 1, "the untied lower bound gives a contrasting parameter requirement", from Proposition 4.3.
    pub fn untied_growth_exponent(self) -> f64 {
        self.window_end()
    }

    /// The floor below which no estimator with values in untied networks under the cap `b` comes,
    /// whatever the sample size.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"R_U(B) \ge c_{\mathrm U} \{B^2 \log(eB)\}^{-a}")]
    ///
    /// # Reference
    /// Proposition 4.3, equation (17).
    pub fn untied_floor(self, b: f64, constants: &Constants) -> LogNumber {
        let b = LogNumber::new(b);
        let order = b * b * LogNumber::new(1.0 + b.ln());
        LogNumber::new(constants.value(Constant::CUntied)) * order.pow(-self.a())
    }

    /// The minimax benchmark at a sample size.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"c_{\min}\, n^{-a/(a+1)}")]
    ///
    /// # Reference
    /// Theorem 4.2, equation (16).
    pub fn minimax(self, n: f64, constants: &Constants) -> LogNumber {
        LogNumber::new(constants.value(Constant::CMin))
            * LogNumber::new(n).pow(-self.minimax_exponent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classical_exponents() {
        // Stone, 1982: n^(-2s/(2s+d)); s = 2, d = 1 gives 4/5.
        let rates = Rates::new(Smoothness::new(1, 2.0).unwrap());
        assert_eq!(rates.a(), 4.0);
        assert_eq!(rates.minimax_exponent(), 0.8);
        assert_eq!(rates.window_end(), 0.1);
        assert!((rates.growing_budget_log_power() - 2.4).abs() < 1e-15);
    }

    proptest! {
        /// The two ways in which the paper writes each exponent agree.
        #[test]
        fn both_forms_agree(d in 1usize..200, s in 1e-3f64..50.0) {
            let rates = Rates::new(Smoothness::new(d, s).unwrap());
            let a = rates.a();
            prop_assert!((rates.minimax_exponent() - a / (a + 1.0)).abs() < 1e-12);
            prop_assert!((rates.window_end() - 1.0 / (2.0 * (a + 1.0))).abs() < 1e-12);
        }

        /// The floor in plain arithmetic, where that can hold it.
        #[test]
        fn floor_is_the_formula(d in 1usize..8, s in 0.1f64..3.0, b in 1.0f64..1e6) {
            let rates = Rates::new(Smoothness::new(d, s).unwrap());
            let plain = (b * b * (1.0 + b.ln())).powf(-rates.a());
            let got = rates.untied_floor(b, &Constants::default()).value();
            prop_assert!((got / plain - 1.0).abs() < 1e-9);
        }
    }
}
