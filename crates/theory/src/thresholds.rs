//! The smallest widths and bounds at which the constructions of Appendices D and E exist.

use crate::Error;
use loopfit_holder::{Smoothness, TaylorWords};
use loopfit_model::Architecture;
use loopfit_model::architecture::tokens;
use loopfit_numerics::libm::sqrt;

/// The smallest admissible shape and parameter bound of an architecture.
///
/// # Reference
/// Theorem D.1 with (S20), (S35), (S36); Theorem E.1 and its proof.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// The smallest state dimension `q_0^j`.
    pub q: u64,
    /// The smallest hidden width `r_0^j`.
    pub r: u64,
    /// The smallest parameter bound `M_0^j`.
    pub parameter_bound: f64,
}

/// Widths beyond this are no widths that anyone will build.
const LARGEST_WIDTH: u128 = 1 << 60;

impl Thresholds {
    /// The thresholds for targets in `H_d^s(H)`.
    ///
    /// # Formula
    /// With `M_Tay` ordered Taylor terms of total length `V`,
    #[doc = loopfit_tex::tex!(r"
        \begin{aligned}
        q_{\rm ev} &= 9d + 7M_{\rm Tay} + 5V + 29, &
        r_{\rm ev} &= (7d + 7M_{\rm Tay} + 5V + 14)(8d + 62), \\
        q_0^{\rm F} &= q_{\rm ev} + d + 10, &
        r_0^{\rm F} &= r_{\rm ev} + 20d + 75, \\
        q_0^{\rm Tr} &= 2(q_0^{\rm F} + 11d + 37), &
        r_0^{\rm Tr} &= r_{\rm ev} + 2q_0^{\rm F} + 57d + 207, \\
        B_{\rm eval} &= 32(M_{\rm Tay}+1) + 1, &
        M_0^{\rm F} &= \max\{1, H, 2(3B_{\rm eval}+22)\}, \\
        && M_0^{\rm Tr} &= \max\{3B_{\rm eval}, 64(q_0^{\rm Tr}+1)+2, N, \sqrt{1+\varepsilon_{\rm LN}}, 2H\}
        \end{aligned}
    ")]
    ///
    /// # Reference
    /// (S20), (S35), (S36); `q_hom` and `C_add` in Sections E.2 and E.3, `M_0` in Section E.4.
    pub fn new(
        smoothness: Smoothness,
        architecture: &Architecture,
        bound: f64,
        stabiliser: f64,
    ) -> Result<Self, Error> {
        let too_large = || Error::Thresholds {
            d: smoothness.d(),
            s: smoothness.s(),
        };
        let words = TaylorWords::new(smoothness.d(), smoothness.k()).ok_or_else(too_large)?;
        let TaylorWords { terms, letters } = words;
        let d = smoothness.d() as u128;
        let part = 7 * terms + 5 * letters;
        let evaluator_r = (7 * d + part + 14) * (8 * d + 62);
        let coefficient = (32 * (terms + 1) + 1) as f64;
        let ffn_q = 9 * d + part + 29 + d + 10;
        let (q, r, parameter_bound) = match architecture {
            Architecture::Ffn => (
                ffn_q,
                evaluator_r + 20 * d + 75,
                bound.max(2.0 * (3.0 * coefficient + 22.0)),
            ),
            Architecture::Transformer { partition } => {
                let q = 2 * (ffn_q + 11 * d + 37);
                let tokens = tokens(partition) as f64;
                let largest = [
                    3.0 * coefficient,
                    64.0 * (q as f64 + 1.0) + 2.0,
                    tokens,
                    sqrt(1.0 + stabiliser),
                    2.0 * bound,
                ];
                (
                    q,
                    evaluator_r + 2 * ffn_q + 57 * d + 207,
                    largest.into_iter().fold(0.0, f64::max),
                )
            }
        };
        if q > LARGEST_WIDTH || r > LARGEST_WIDTH {
            return Err(too_large());
        }
        Ok(Self {
            q: q as u64,
            r: r as u64,
            parameter_bound,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(d: usize, s: f64, architecture: Architecture) -> Result<Thresholds, Error> {
        Thresholds::new(Smoothness::new(d, s).unwrap(), &architecture, 1.0, 1e-5)
    }

    /// Expected: the displays of Appendices D and E worked out by hand for d = s = 1, where
    /// M_Tay = 1 and V = 0, and for d = 2, s = 2, where M_Tay = 3 and V = 2.
    #[test]
    fn smallest_cases_by_hand() {
        let ffn = of(1, 1.0, Architecture::Ffn).unwrap();
        assert_eq!((ffn.q, ffn.r, ffn.parameter_bound), (56, 2055, 434.0));
        let transformer = of(1, 1.0, Architecture::transformer(1)).unwrap();
        assert_eq!((transformer.q, transformer.r), (208, 2336));
        assert_eq!(transformer.parameter_bound, 64.0 * 209.0 + 2.0);
        let ffn = of(2, 2.0, Architecture::Ffn).unwrap();
        // q = 18 + 21 + 10 + 29 + 12, r = 59 * 78 + 115, M = 2 (3 * 129 + 22).
        assert_eq!((ffn.q, ffn.r, ffn.parameter_bound), (90, 4717, 818.0));
    }

    /// An integer s has k = s - 1: s = 2 and s = 1.5 need the same table.
    #[test]
    fn integers_are_the_end_of_their_interval() {
        let (whole, half) = (of(2, 2.0, Architecture::Ffn), of(2, 1.5, Architecture::Ffn));
        assert_eq!(whole, half);
        assert_ne!(whole, of(2, 2.01, Architecture::Ffn));
    }

    #[test]
    fn too_many_terms_are_refused() {
        assert!(matches!(
            of(100, 50.0, Architecture::Ffn),
            Err(Error::Thresholds { .. })
        ));
        assert!(of(1, 1000.0, Architecture::Ffn).is_ok());
        assert!(of(1, 1e300, Architecture::Ffn).is_err());
    }
}
