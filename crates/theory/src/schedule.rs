//! Which iteration count and which widths the theorems take at a sample size.

use crate::problem::{LARGEST, LoopClass, Problem};
use crate::{Check, Constant, Error, Thresholds};
use loopfit_numerics::libm::{ceil, exp, log};
use loopfit_numerics::text::plain;

/// The choices of Theorem 4.4 at one sample size: a fixed shape, and the iterations that grow.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedBudget {
    /// The sample size.
    pub n: f64,
    /// The fixed shape.
    pub shape: LoopClass,
    /// The iteration count `T_n`.
    pub t: f64,
    /// The hypotheses of the theorem.
    pub checks: Vec<Check>,
}

/// The choices of Theorem 4.5 at one sample size.
#[derive(Clone, Debug, PartialEq)]
pub struct GrowingBudget {
    /// The sample size.
    pub n: f64,
    /// The growth exponent `gamma_B`.
    pub gamma: f64,
    /// The budget `B_n`.
    pub b: u64,
    /// The widths `q_n`, `r_n` and their count.
    pub shape: LoopClass,
    /// `l_n = log(C_6 (q_n + 1)(r_n + 1))`.
    pub ell: f64,
    /// `W_n`, the order of `r_n T_n`.
    pub w: f64,
    /// The iteration count `T_n`.
    pub t: f64,
    /// The hypotheses of the theorem.
    pub checks: Vec<Check>,
}

/// How the widths of a growing budget begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstWidths {
    /// At the thresholds of the construction, so that every shape is admissible.
    AtThresholds,
    /// At one, for sizes that are used in practice and that the construction does not reach.
    BelowThresholds,
}

/// A checked sample size.
pub fn sample_size(n: f64) -> Result<f64, Error> {
    if (1.0..=LARGEST).contains(&n) && ceil(n) == n {
        Ok(n)
    } else {
        Err(Error::Range {
            name: "the sample size n",
            value: n,
            range: "a whole number from 1 to 10^18",
        })
    }
}

/// The iteration count of a fixed budget.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"T_n = \left\lceil n^{1/(a+1)} \{\log(en)\}^{a/(a+1)} \right\rceil")]
///
/// # Reference
/// Theorem 4.4, equation (18).
pub fn fixed_iterations(a: f64, n: f64) -> f64 {
    ceil(fixed_order(a, n)).max(1.0)
}

/// The order of the iteration count of a fixed budget, of which a schedule takes a multiple.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"n^{1/(a+1)} \{\log(en)\}^{a/(a+1)}")]
///
/// # Reference
/// Theorem 4.4, equation (18).
pub fn fixed_order(a: f64, n: f64) -> f64 {
    // n / {n / log(en)}^(a/(a+1)): the power is small where n itself is the answer.
    let excess = log(n / (1.0 + log(n)));
    n * exp(-excess * (a / (a + 1.0)))
}

impl FixedBudget {
    /// The schedule of Theorem 4.4 for a shape that stays.
    pub fn new(
        problem: &Problem,
        thresholds: &Thresholds,
        shape: LoopClass,
        n: f64,
    ) -> Result<Self, Error> {
        let n = sample_size(n)?;
        let t = fixed_iterations(problem.smoothness().a(), n);
        let initialised = |n: f64| {
            let t = fixed_iterations(problem.smoothness().a(), n);
            Some(initialisation_holds(problem, shape.r as f64, t))
        };
        let checks = vec![
            size_check(n),
            admissible(problem, thresholds, shape),
            initialisation_from(problem, shape.r as f64, t, || later(initialised)),
        ];
        Ok(Self {
            n,
            shape,
            t,
            checks,
        })
    }
}

impl GrowingBudget {
    /// The schedule of Theorem 4.5 for a budget that grows like `n^gamma`.
    ///
    /// # Formula
    /// With `q_0`, `r_0` the thresholds, `B_0 = B_L(q_0, r_0)` (all one, `B_0 = 1`, below the thresholds),
    #[doc = loopfit_tex::tex!(r"
        \begin{aligned}
        B_n &= \lceil C_B B_0 n^{\gamma_B} \rceil, \quad q_n = \max\{q_0, \lceil c_q \log(en) \rceil\}, \quad
        r_n = \max\{r : B_L(q_n, r) \le B_n\}, \\
        \ell_n &= \log(C_6 (q_n+1)(r_n+1)), \quad
        W_n = \left\{\frac{n \{\log(en)\}^a}{q_n \ell_n}\right\}^{1/(a+1)}, \quad
        T_n = \lceil W_n / r_n \rceil
        \end{aligned}
    ")]
    ///
    /// # Reference
    /// Theorem 4.5, equations (21) and (22). The theorem asks for `q_n` and `B_n` of the orders `log(en)` and
    /// `n^gamma_B`; the constants above are ours.
    pub fn new(
        problem: &Problem,
        thresholds: &Thresholds,
        start: FirstWidths,
        gamma: f64,
        n: f64,
    ) -> Result<Self, Error> {
        let n = sample_size(n)?;
        if !(gamma > 0.0 && gamma.is_finite()) {
            return Err(Error::Range {
                name: "the growth exponent gamma_B",
                value: gamma,
                range: "a positive number",
            });
        }
        let widths = Widths::new(problem, thresholds, start, gamma, n)?;
        let Widths { b, shape, ell, w } = widths;
        let t = widths.iterations();
        let at = |n: f64| Widths::new(problem, thresholds, start, gamma, n).ok();
        let enough = |widths: Widths| widths.w >= widths.shape.r as f64;
        let initialised =
            |at: Widths| initialisation_holds(problem, at.shape.r as f64, at.iterations());
        let end = problem.rates().window_end();
        let window = if gamma < end {
            format!("0 < gamma_B = {} < 1/(2(a+1)) = {end:.6}", plain(gamma))
        } else {
            format!(
                "gamma_B = {} is not below 1/(2(a+1)) = {end:.6}: the untied floor may fall as fast as the loop's bound; take a smaller gamma_B",
                plain(gamma)
            )
        };
        let many = w >= shape.r as f64;
        let compared = if many { "is at least" } else { "is below" };
        let checks = vec![
            size_check(n),
            Check::new("window (21)", gamma < end, window),
            Check::new(
                "budget",
                shape.count <= b,
                format!(
                    "B_L(q_n, r_n) = {} <= B_n = {b}, and r_n + 1 does not fit",
                    shape.count
                ),
            ),
            admissible(problem, thresholds, shape),
            Check::new(
                "rounding",
                many,
                format!(
                    "W_n = {w:.4} {compared} r_n = {}, so that T_n {} W_n / r_n up to a factor 2{}",
                    shape.r,
                    if many { "is" } else { "is not" },
                    if many {
                        String::new()
                    } else {
                        later(|n| at(n).map(enough))
                    }
                ),
            ),
            initialisation_from(problem, shape.r as f64, t, || {
                later(|n| at(n).map(initialised))
            }),
        ];
        Ok(Self {
            n,
            gamma,
            b,
            shape,
            ell,
            w,
            t,
            checks,
        })
    }
}

/// What a growing budget decides before the iterations.
struct Widths {
    b: u64,
    shape: LoopClass,
    ell: f64,
    w: f64,
}

impl Widths {
    fn new(
        problem: &Problem,
        thresholds: &Thresholds,
        start: FirstWidths,
        gamma: f64,
        n: f64,
    ) -> Result<Self, Error> {
        let a = problem.smoothness().a();
        let (least_q, least_b) = match start {
            FirstWidths::AtThresholds => {
                let shape = problem.shape(thresholds.q, thresholds.r)?;
                (thresholds.q, shape.count as f64)
            }
            FirstWidths::BelowThresholds => (1, 1.0),
        };
        let log_en = 1.0 + log(n);
        let budget = ceil(problem.constant(Constant::CB) * least_b * exp(gamma * log(n)));
        if budget > LARGEST {
            return Err(Error::Range {
                name: "the budget B_n",
                value: budget,
                range: "at most 10^18: take a smaller n, gamma_B or C_B",
            });
        }
        let b = budget as u64;
        let q = least_q.max(ceil(problem.constant(Constant::CQ) * log_en) as u64);
        let shape = problem.widest(q, b)?;
        let ell = log(problem.constant(Constant::C6))
            + log(shape.q as f64 + 1.0)
            + log(shape.r as f64 + 1.0);
        let w = exp((log(n) + a * log(log_en) - log(shape.q as f64 * ell)) / (a + 1.0));
        Ok(Self { b, shape, ell, w })
    }

    fn iterations(&self) -> f64 {
        ceil(self.w / self.shape.r as f64).max(1.0)
    }
}

/// Whether the risk bounds are about this sample size.
///
/// # Reference
/// Theorem 4.1, `n >= 2`.
pub fn size_check(n: f64) -> Check {
    let words = if n >= 2.0 {
        format!("n = {n} >= 2")
    } else {
        "Theorem 4.1 begins at n = 2".to_string()
    };
    Check::new("sample size", n >= 2.0, words)
}

/// Whether a shape is one that the constructions need.
///
/// # Reference
/// Theorem 3.3: `q >= q_0`, `r >= r_0`; see [`Thresholds`].
pub fn admissible(problem: &Problem, thresholds: &Thresholds, shape: LoopClass) -> Check {
    let Thresholds { q, r, .. } = *thresholds;
    let holds = shape.q >= q && shape.r >= r;
    let words = if holds {
        format!(
            "q = {} >= q_0 = {q} and r = {} >= r_0 = {r}",
            shape.q, shape.r
        )
    } else {
        let smallest = match smallest_budget(problem, thresholds) {
            Some(least) => format!("the smallest admissible budget is {least}"),
            None => "the smallest admissible budget is beyond 10^18".to_string(),
        };
        format!(
            "the construction needs q >= q_0 = {q} and r >= r_0 = {r}, and the shape is q = {}, r = {}; {smallest}, and below it the formulas extrapolate",
            shape.q, shape.r
        )
    };
    Check::new("admissible widths", holds, words)
}

/// The smallest budget under which the construction fits, if it is at most `10^18`.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"B_L^j(q_0^j, r_0^j)")]
///
/// # Reference
/// Theorem 3.3 and Table 1.
pub fn smallest_budget(problem: &Problem, thresholds: &Thresholds) -> Option<u64> {
    let least = problem.shape(thresholds.q, thresholds.r).ok()?;
    Some(least.count)
}

/// Whether the initialisation term may be left out.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"T \ge C \log^{h_0}(erT)")]
///
/// # Reference
/// Theorem 3.3.
pub fn initialisation_holds(problem: &Problem, r: f64, t: f64) -> bool {
    t >= initialisation_need(problem, r, t)
}

fn initialisation_need(problem: &Problem, r: f64, t: f64) -> f64 {
    let log_ert = 1.0 + log(r) + log(t);
    problem.constant(Constant::CInit) * log_ert.powi(problem.h_0() as i32)
}

/// [`initialisation_holds`] in words, under a name.
///
/// # Reference
/// Theorem 3.3.
pub fn initialisation(name: &'static str, problem: &Problem, r: f64, t: f64) -> Check {
    Check {
        name,
        ..initialisation_from(problem, r, t, String::new)
    }
}

/// Whether the fit is as exact as the budget-iteration bound asks for.
///
/// # Reference
/// Theorem 4.1: equation (15) asks for `epsilon_n <= 1/n`, (14) has a term for it.
pub fn tolerance(tolerance: f64, n: f64) -> Check {
    let holds = tolerance * n <= 1.0 + 1e-12;
    let sign = if holds { "<=" } else { ">" };
    Check::new(
        "tolerance, (15)",
        holds,
        format!(
            "epsilon_n = {} {sign} 1/n = {}",
            plain(tolerance),
            plain(1.0 / n)
        ),
    )
}

fn initialisation_from(problem: &Problem, r: f64, t: f64, more: impl FnOnce() -> String) -> Check {
    if t.is_infinite() {
        let words = "it holds as T grows".to_string();
        return Check::new("initialisation condition", true, words);
    }
    let need = initialisation_need(problem, r, t);
    let holds = t >= need;
    let power = match problem.h_0() {
        1 => "log(erT)".to_string(),
        power => format!("log^{power}(erT)"),
    };
    let sign = if holds { ">=" } else { "<" };
    Check::new(
        "initialisation condition",
        holds,
        format!(
            "T = {t} {sign} C_init {power} = {need:.4}{}",
            if holds { String::new() } else { more() }
        ),
    )
}

/// At which larger sample sizes something holds, in words; `holds` is nothing where there is no schedule.
fn later(holds: impl Fn(f64) -> Option<bool>) -> String {
    let powers = (0..=59).rev().map(|power| (1u64 << power) as f64);
    let mut known = std::iter::once(LARGEST)
        .chain(powers)
        .filter_map(|n| Some((n, holds(n)?)));
    match known.next() {
        Some((largest, true)) => {
            let last = known.take_while(|(_, holds)| *holds).last();
            let first = last.map_or(largest, |(n, _)| n);
            format!(
                "; it holds at the powers of two from n = {first} to {}",
                plain(largest)
            )
        }
        Some((largest, false)) => format!("; it does not hold at n = {} either", plain(largest)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Constants;
    use loopfit_holder::Smoothness;
    use loopfit_model::Architecture;
    use proptest::prelude::*;

    fn problem(d: usize, s: f64, transformer: bool) -> (Problem, Thresholds) {
        let architecture = if transformer {
            Architecture::transformer(d)
        } else {
            Architecture::Ffn
        };
        let smoothness = Smoothness::new(d, s).unwrap();
        let thresholds = Thresholds::new(smoothness, &architecture, 1.0, 1e-5).unwrap();
        (
            Problem::new(smoothness, architecture, Constants::default()),
            thresholds,
        )
    }

    /// Expected: the formula in exact or high-precision arithmetic (a = 1: T = ceil(sqrt(n log(en)))).
    #[test]
    fn iterations_by_hand() {
        assert_eq!(fixed_iterations(1.0, 1.0), 1.0);
        // sqrt(10 * 3.302585...) = 5.7468...
        assert_eq!(fixed_iterations(1.0, 10.0), 6.0);
        // sqrt(1e6 * 14.815510...) = 3849.09...
        assert_eq!(fixed_iterations(1.0, 1e6), 3850.0);
        assert_eq!(fixed_iterations(1e-12, 1e6), 1e6);
    }

    #[test]
    fn sizes_are_checked() {
        for bad in [0.0, -1.0, 1.5, 1e19, f64::NAN, f64::INFINITY] {
            assert!(sample_size(bad).is_err(), "{bad}");
        }
        let (problem, thresholds) = problem(2, 1.0, false);
        for bad in [0.0, -0.1, f64::NAN] {
            let start = FirstWidths::AtThresholds;
            assert!(GrowingBudget::new(&problem, &thresholds, start, bad, 100.0).is_err());
        }
        let shape = problem.shape(4, 11).unwrap();
        let one = FixedBudget::new(&problem, &thresholds, shape, 1.0).unwrap();
        assert_eq!(one.t, 1.0);
        assert!(one.checks.iter().all(|c| !c.holds));
    }

    proptest! {
        /// T_n is the smallest integer above the formula, and it balances the two terms of the bound: their sum
        /// is at most a constant times the rate (19), here six for a <= 4.
        #[test]
        fn fixed_schedules_balance(ln_n in 10f64.ln()..1e12f64.ln(), d in 1usize..6, s in 0.25f64..2.0) {
            let n = ln_n.exp().round();
            let a = Smoothness::new(d, s).unwrap().a();
            let t = fixed_iterations(a, n);
            let real = n.powf(1.0 / (a + 1.0)) * (1.0 + n.ln()).powf(a / (a + 1.0));
            prop_assert!(t >= real * (1.0 - 1e-12) && t - 1.0 < real * (1.0 + 1e-12));
            let rate = (n.powf(-1.0) * (1.0 + n.ln())).powf(a / (a + 1.0));
            let balance = ((1.0 + t.ln()) / t).powf(a) + t / n;
            prop_assert!(balance <= 6.0 * rate, "{} {}", balance, rate);
        }

        /// The hypotheses of the growing schedule: the window as asked for, exact counts under the budget and
        /// maximal, admissible widths, and T_n the smallest integer with r_n T_n >= W_n. Those that the theorem
        /// claims for large n alone are reported as what they are.
        #[test]
        fn growing_schedules_satisfy_their_hypotheses(
            ln_n in 10f64.ln()..1e12f64.ln(), d in 1usize..4, s in 0.25f64..3.0,
            part in 0.05f64..0.99, transformer: bool,
        ) {
            let (problem, thresholds) = problem(d, s, transformer);
            let n = ln_n.exp().round();
            let gamma = part * problem.rates().window_end();
            let schedule =
                GrowingBudget::new(&problem, &thresholds, FirstWidths::AtThresholds, gamma, n).unwrap();
            let LoopClass { q, r, count } = schedule.shape;
            prop_assert!(count <= schedule.b);
            prop_assert!(problem.shape(q, r + 1).unwrap().count > schedule.b);
            prop_assert!(q >= thresholds.q && r >= thresholds.r);
            prop_assert!(q as f64 >= 1.0 + n.ln());
            let (w, t) = (schedule.w, schedule.t);
            let product = r as f64 * t;
            prop_assert!(product >= w * (1.0 - 1e-12) && (t == 1.0 || (t - 1.0) * (r as f64) < w));
            let a = problem.smoothness().a();
            let ell = (2.0 * (q as f64 + 1.0) * (r as f64 + 1.0)).ln();
            prop_assert!((schedule.ell / ell - 1.0).abs() < 1e-12);
            let direct = (n * (1.0 + n.ln()).powf(a) / (q as f64 * ell)).powf(1.0 / (a + 1.0));
            prop_assert!((w / direct - 1.0).abs() < 1e-9);
            let verdict = |name: &str| schedule.checks.iter().find(|c| c.name == name).unwrap().holds;
            prop_assert!(verdict("window (21)") && verdict("budget") && verdict("admissible widths"));
            prop_assert_eq!(verdict("rounding"), w >= r as f64);
            let log_ert = 1.0 + (r as f64 * t).ln();
            let need = if transformer { log_ert * log_ert } else { log_ert };
            prop_assert_eq!(verdict("initialisation condition"), t >= need);
        }

        /// "It holds at the powers of two from n" is true where it is said.
        #[test]
        fn the_named_n_is_enough(d in 1usize..4, s in 0.25f64..2.0, transformer: bool) {
            let (problem, thresholds) = problem(d, s, transformer);
            let shape = problem.shape(thresholds.q, thresholds.r).unwrap();
            let first = FixedBudget::new(&problem, &thresholds, shape, 2.0).unwrap();
            let words = &first.checks[2].sentence;
            if let Some((_, from)) = words.split_once("from n = ") {
                let (from, _) = from.split_once(" to ").unwrap();
                let from: f64 = from.parse().unwrap();
                for factor in [1.0, 2.0, 4.0, 1024.0] {
                    let later = FixedBudget::new(&problem, &thresholds, shape, from * factor).unwrap();
                    prop_assert!(later.checks[2].holds, "{} {:?}", from, later);
                }
            }
        }
    }
}
