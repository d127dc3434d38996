//! What every bound is about: a smoothness, an architecture, and the constants left open.

use crate::{Constant, Constants, Error, Rates, Thresholds};
use loopfit_holder::Smoothness;
use loopfit_model::Architecture;

/// The largest sample size, budget or iteration count of the calculators. Parameter counts up to it are exact; sample sizes and
/// iteration counts are floats, exact up to `2^53`.
pub const LARGEST: f64 = 1e18;

/// The target's smoothness, the architecture of the loop, and the open constants.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    smoothness: Smoothness,
    architecture: Architecture,
    constants: Constants,
}

/// A loop class up to its iteration count, with its exact parameter count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopClass {
    /// The state dimension.
    pub q: u64,
    /// The hidden width.
    pub r: u64,
    /// The parameter count `B_L^j(q, r)`.
    pub count: u64,
}

/// What is asked of a loop's shape: widths, a budget, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Widths {
    /// The budget `B`, under which the loop is as wide as it can be.
    pub budget: Option<u64>,
    /// The state dimension `q`.
    pub q: Option<u64>,
    /// The hidden width `r`, where there is no budget.
    pub r: Option<u64>,
}

impl Problem {
    /// A problem; a Transformer's partition must be one of the `d` inputs.
    pub fn new(smoothness: Smoothness, architecture: Architecture, constants: Constants) -> Self {
        Self {
            smoothness,
            architecture,
            constants,
        }
    }

    /// Dimension and smoothness.
    pub fn smoothness(&self) -> Smoothness {
        self.smoothness
    }

    /// The architecture.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The open constants.
    pub fn constants(&self) -> &Constants {
        &self.constants
    }

    /// The exponents.
    pub fn rates(&self) -> Rates {
        Rates::new(self.smoothness)
    }

    pub(crate) fn constant(&self, constant: Constant) -> f64 {
        self.constants.value(constant)
    }

    /// The power of the logarithm that initialisation costs.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"h_0^{\rm F} = 1, \qquad h_0^{\rm Tr} = 2")]
    ///
    /// # Reference
    /// Theorem 3.3.
    pub fn h_0(&self) -> u32 {
        match self.architecture {
            Architecture::Ffn => 1,
            Architecture::Transformer { .. } => 2,
        }
    }

    /// The loop shape of these widths.
    ///
    /// # Formula
    /// `B_L^j(q, r)` of Table 1 (Section 3.2).
    pub fn shape(&self, q: u64, r: u64) -> Result<LoopClass, Error> {
        if q == 0 || r == 0 {
            return Err(Error::NoWidth);
        }
        let count = self.count(q, r);
        if count > LARGEST as u128 {
            return Err(Error::ShapeTooLarge { q, r });
        }
        Ok(LoopClass {
            q,
            r,
            count: count as u64,
        })
    }

    /// The widest loop of a state dimension under a budget.
    ///
    /// # Formula
    #[doc = loopfit_tex::tex!(r"r_B = \max\{r \in \mathbb N : B_L^j(q, r) \le B\}")]
    ///
    /// # Reference
    /// Theorem 4.1, and Theorem 4.5 for `r_n`.
    pub fn widest(&self, q: u64, budget: u64) -> Result<LoopClass, Error> {
        if q == 0 {
            return Err(Error::NoWidth);
        }
        let least = self.count(q, 1);
        let Some(room) = u128::from(budget).checked_sub(least) else {
            return Err(Error::BudgetTooSmall { budget, q, least });
        };
        let slope = self.count(q, 2) - least;
        self.shape(q, 1 + (room / slope) as u64)
    }

    /// The loop that is asked for, and the budget it is under.
    ///
    /// With a budget it is the widest of `q`, by default of [`Problem::default_q`], or of [`Problem::square_q`] where there are no
    /// thresholds. Without one it has the widths asked for, by default those of the thresholds, or one, and its own count is the budget.
    pub fn choose(
        &self,
        widths: Widths,
        thresholds: Option<&Thresholds>,
    ) -> Result<(LoopClass, u64), Error> {
        let Some(budget) = widths.budget else {
            let (q, r) = thresholds.map_or((1, 1), |least| (least.q, least.r));
            let shape = self.shape(widths.q.unwrap_or(q), widths.r.unwrap_or(r))?;
            return Ok((shape, shape.count));
        };
        let q = match (widths.q, thresholds) {
            (Some(q), _) => q,
            (None, Some(least)) => self.default_q(budget, least.q)?,
            (None, None) => self.square_q(budget)?,
        };
        Ok((self.widest(q, budget)?, budget))
    }

    /// The state dimension for a budget when none is asked for: the threshold of the construction where
    /// the budget holds a square block of it, otherwise [`Problem::square_q`].
    pub fn default_q(&self, budget: u64, threshold: u64) -> Result<u64, Error> {
        Ok(self.square_q(budget)?.min(threshold))
    }

    /// The largest state dimension whose widest block under a budget is at least as wide, or one.
    pub fn square_q(&self, budget: u64) -> Result<u64, Error> {
        self.widest(1, budget)?;
        let square = |q: u64| self.widest(q, budget).is_ok_and(|shape| shape.r >= q);
        // A larger q always leaves a smaller r, and q is at most the budget.
        let (mut low, mut high) = (1, budget);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if square(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    fn count(&self, q: u64, r: u64) -> u128 {
        let d = self.smoothness.d();
        self.architecture.count(d, 1, q as usize, r as usize, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(d: usize, transformer: bool) -> Problem {
        let architecture = if transformer {
            Architecture::transformer(d)
        } else {
            Architecture::Ffn
        };
        Problem::new(
            Smoothness::new(d, 1.0).unwrap(),
            architecture,
            Constants::default(),
        )
    }

    proptest! {
        /// Against Table 1 written out, and maximal: one more unit does not fit.
        #[test]
        fn widest_shapes_are_widest(d in 1usize..9, q in 1u64..40, budget in 1u64..1_000_000, transformer: bool) {
            let problem = problem(d, transformer);
            let (d, n) = (d as u64, d as u64 + 3);
            let table = |r: u64| if transformer {
                4 * q * q + q * (d + 2 * n + 9) + 1 + (2 * q + 1) * r
            } else {
                q * (d + 3) + 1 + (2 * q + 1) * r
            };
            match problem.widest(q, budget) {
                Ok(shape) => {
                    prop_assert_eq!(shape.count, table(shape.r));
                    prop_assert!(shape.count <= budget && budget < table(shape.r + 1));
                }
                Err(error) => {
                    prop_assert!(budget < table(1));
                    prop_assert_eq!(error, Error::BudgetTooSmall { budget, q, least: table(1).into() });
                }
            }
        }

        #[test]
        fn default_dimensions_are_the_largest_square_ones(d in 1usize..6, budget in 60u64..100_000, transformer: bool) {
            let problem = problem(d, transformer);
            let square = |q| problem.widest(q, budget).is_ok_and(|s| s.r >= q);
            match problem.default_q(budget, 50) {
                Ok(q) => {
                    let largest = (1..=50).filter(|q| square(*q)).max().unwrap_or(1);
                    prop_assert_eq!(q, largest);
                }
                Err(_) => prop_assert!(problem.widest(1, budget).is_err()),
            }
        }
    }

    #[test]
    fn shapes_are_as_asked() {
        let problem = problem(2, false);
        let least = Thresholds {
            q: 3,
            r: 50,
            parameter_bound: 1.0,
        };
        let choose = |budget, q, r| problem.choose(Widths { budget, q, r }, Some(&least));
        let shape = |q, r| problem.shape(q, r).unwrap();
        assert_eq!(
            choose(None, None, None),
            Ok((shape(3, 50), shape(3, 50).count))
        );
        assert_eq!(choose(None, Some(7), None).unwrap().0, shape(7, 50));
        assert_eq!(choose(None, Some(7), Some(8)).unwrap().0, shape(7, 8));
        let widest = problem.widest(3, 1000).unwrap();
        assert_eq!(choose(Some(1000), None, None), Ok((widest, 1000)));
        let free = Widths {
            budget: Some(1000),
            ..Widths::default()
        };
        let square = problem
            .widest(problem.square_q(1000).unwrap(), 1000)
            .unwrap();
        assert_eq!(problem.choose(free, None), Ok((square, 1000)));
    }

    #[test]
    fn huge_shapes_are_counted_or_refused() {
        let problem = problem(3, true);
        assert!(problem.widest(1, 1_000_000_000_000_000_000).is_ok());
        assert!(matches!(
            problem.shape(1 << 60, 1 << 60),
            Err(Error::ShapeTooLarge { .. })
        ));
        assert_eq!(problem.shape(0, 5), Err(Error::NoWidth));
    }
}
