//! The risk bound of the loop, term by term, and what it says against untied networks.
//!
//! - [`point`]: both forms at one sample size;
//! - [`sweep`]: one form over sample sizes, budgets or iteration counts.

pub mod point;
pub mod sweep;

pub use point::{FormBound, RiskBound, Vacuous};
pub use sweep::{Axis, Shapes, Sweep};

use crate::Constant;
use crate::problem::{LARGEST, LoopClass, Problem};
use crate::schedule::{fixed_iterations, initialisation_holds};
use loopfit_numerics::libm::{exp, floor, log, pow};
use loopfit_numerics::log_number::LogNumber;
use loopfit_numerics::named::Named;

/// The terms of one bound on the worst-case squared Hellinger risk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The iteration count; infinite for the limit in which it grows.
    pub t: f64,
    /// What the class cannot represent.
    pub approximation: LogNumber,
    /// What too few iterations cost the construction; zero where its condition holds.
    pub initialisation: LogNumber,
    /// What fitting over the whole class costs.
    pub estimation: LogNumber,
    /// What an inexact maximiser costs.
    pub optimisation: LogNumber,
    /// The constant times the sum.
    pub total: LogNumber,
}

impl Terms {
    fn new(
        t: f64,
        factor: f64,
        approximation: LogNumber,
        initialisation: LogNumber,
        estimation: LogNumber,
        optimisation: LogNumber,
    ) -> Self {
        let sum = approximation + initialisation + estimation + optimisation;
        Self {
            t,
            approximation,
            initialisation,
            estimation,
            optimisation,
            total: LogNumber::new(factor) * sum,
        }
    }
}

/// Which of the two forms of Theorem 4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundForm {
    /// In widths and iterations, equation (14).
    General,
    /// In budget and iterations, equation (15), at the widest shape of the budget.
    BudgetIteration,
}

impl BoundForm {
    /// Its name with its equation: `general (14)`.
    pub fn title(self) -> &'static str {
        match self {
            Self::General => "general (14)",
            Self::BudgetIteration => "budget-iteration (15)",
        }
    }
}

impl Named for BoundForm {
    const ALL: &'static [Self] = &[Self::General, Self::BudgetIteration];

    fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::BudgetIteration => "budget-iteration",
        }
    }
}

/// The exponent of the sensitivity to coefficients.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"G(q,r,T) = \log(T+1) + (T+1)\log(C_6(q+1)(r+1))")]
///
/// # Reference
/// Section 3.4, equation (10).
pub fn sensitivity_exponent(problem: &Problem, shape: LoopClass, t: f64) -> f64 {
    let width =
        log(problem.constant(Constant::C6)) + log(shape.q as f64 + 1.0) + log(shape.r as f64 + 1.0);
    log(t + 1.0) + (t + 1.0) * width
}

/// The bound in widths and iterations.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    R_L \le C\left\{ C_{\rm app}\left[\frac{\log(erT)}{rT}\right]^a + C_{\rm app}\, e^{-cT^{1/h_0}}
    + 1 \wedge \frac{C_{\rm est} B_L(q,r)\{\log(en)+G(q,r,T)\}}{n} + \varepsilon_n \right\}
")]
/// The exponential term is left out where the initialisation condition holds.
///
/// # Reference
/// Theorem 4.1, equation (14), with Theorem 3.3, equation (9).
pub fn general(problem: &Problem, shape: LoopClass, n: f64, t: f64, tolerance: f64) -> Terms {
    let a = problem.smoothness().a();
    let app = LogNumber::new(problem.constant(Constant::CApp));
    let work = log(shape.r as f64) + log(t);
    let approximation = app * per_work(work, a);
    let initialisation = if initialisation_holds(problem, shape.r as f64, t) {
        LogNumber::ZERO
    } else {
        let root = pow(t, 1.0 / f64::from(problem.h_0()));
        app * LogNumber::from_ln(-problem.constant(Constant::CRate) * root)
    };
    let entropy = 1.0 + log(n) + sensitivity_exponent(problem, shape, t);
    let radius = problem.constant(Constant::CEst) * shape.count as f64 * entropy / n;
    Terms::new(
        t,
        problem.constant(Constant::C),
        approximation,
        initialisation,
        LogNumber::new(radius.min(1.0)),
        LogNumber::new(tolerance),
    )
}

/// `[log(ew)/w]^a` from `log w`; zero in the limit.
fn per_work(work: f64, a: f64) -> LogNumber {
    match work.is_finite() {
        true => LogNumber::from_ln(a * (log(1.0 + work) - work)),
        false => LogNumber::ZERO,
    }
}

/// The bound in budget and iterations.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    R_L \le C'\left\{ C_{\rm app}\left[\frac{\log(eBT)}{BT}\right]^a
    + \frac{C_{\rm est} B\{\log(en)+T\log(eB)\}}{n} \right\}
")]
/// It asks for the initialisation condition and for a tolerance of at most `1/n`, so it has no terms for them. A
/// squared Hellinger distance is at most two, so the estimation term says nothing beyond that; it is not cut off here.
///
/// # Reference
/// Theorem 4.1, equation (15).
pub fn budget_iteration(problem: &Problem, b: f64, n: f64, t: f64) -> Terms {
    let a = problem.smoothness().a();
    let work = log(b) + log(t);
    let approximation = LogNumber::new(problem.constant(Constant::CApp)) * per_work(work, a);
    let entropy = 1.0 + log(n) + t * (1.0 + log(b));
    let estimation = LogNumber::new(problem.constant(Constant::CEst) * entropy) * LogNumber::new(b)
        / LogNumber::new(n);
    Terms::new(
        t,
        problem.constant(Constant::C),
        approximation,
        LogNumber::ZERO,
        estimation,
        LogNumber::ZERO,
    )
}

/// One of the two forms at a shape, `B` being the budget that the shape was chosen for, and a tolerance of `1/n`.
///
/// # Reference
/// Theorem 4.1: [`general`] (14) or [`budget_iteration`] (15).
pub fn at(problem: &Problem, form: BoundForm, shape: LoopClass, b: f64, n: f64, t: f64) -> Terms {
    match form {
        BoundForm::General => general(problem, shape, n, t, 1.0 / n),
        BoundForm::BudgetIteration => budget_iteration(problem, b, n, t),
    }
}

/// The bound at the iteration count at which it is smallest, among those at which the form may be used ([`applies`]).
///
/// The estimation term of (14) is cut off at one, so that behind the cut the bound falls for ever towards `C (1 + epsilon_n)`.
/// Where nothing before it is as small, no iteration count is the best: the answer is that limit, with an infinite count. So it
/// is, with an infinite bound, where (15) may be used at no count at all.
///
/// Before the cut both forms fall and then rise in `T`, but for a first stretch near `T = 1` and the initialisation term, which
/// ends where its condition begins to hold: a fine geometric grid is searched, and then the integers beside its best point.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"\operatorname{arg\,min}_{T \ge 1} \{\text{approximation}(T) + \text{initialisation}(T) + \text{estimation}(T)\}")]
///
/// # Reference
/// Section 4.1, below Theorem 4.1: the balance of `(BT)^-a` and `BT/n`.
pub fn best(problem: &Problem, form: BoundForm, shape: LoopClass, b: f64, n: f64) -> Terms {
    let at = |t: f64| at(problem, form, shape, b, n, t);
    // The tolerance is the same at every T and might hide the other terms.
    let sum = |terms: &Terms| (terms.approximation + terms.initialisation + terms.estimation).ln();
    let value = |t: f64| match applies(problem, form, shape, t) {
        true => sum(&at(t)),
        false => f64::INFINITY,
    };
    let (mut grid, mut smallest) = (Vec::new(), f64::INFINITY);
    let mut t = 1.0;
    while t <= LARGEST {
        let estimation = at(t).estimation;
        let cut = form == BoundForm::General && estimation >= LogNumber::ONE;
        // Estimation grows with T: where it alone is above the best sum, nothing better follows.
        if cut || estimation.ln() > smallest {
            break;
        }
        grid.push((t, value(t)));
        smallest = smallest.min(value(t));
        t = floor(t * 1.02).max(t + 1.0);
    }
    let limit = at(f64::INFINITY);
    let order = |i: &usize, j: &usize| grid[*i].1.total_cmp(&grid[*j].1);
    let Some(best) = (0..grid.len()).min_by(order) else {
        return limit;
    };
    let low = grid[best.saturating_sub(1)].0;
    // The last of the grid may be followed by more before the cut.
    let high = grid.get(best + 1).map_or(t - 1.0, |next| next.0);
    let first = first_initialised(problem, shape, low, high);
    let start = grid[best].0;
    let before = smallest_between(low, (first - 1.0).max(low), start, value);
    let best = at(smallest_between(first, high, before, value));
    let smallest = value(best.t);
    if smallest.is_finite() && smallest <= sum(&limit) {
        best
    } else {
        limit
    }
}

/// The first count from `low` to `high` at which the initialisation condition holds if it does not hold at `low`; otherwise `low`.
fn first_initialised(problem: &Problem, shape: LoopClass, low: f64, high: f64) -> f64 {
    let holds = |t: f64| initialisation_holds(problem, shape.r as f64, t);
    if holds(low) || !holds(high) {
        return low;
    }
    let (mut fails, mut first) = (low, high);
    while first - fails > 1.0 {
        let middle = floor((fails + first) / 2.0);
        if middle <= fails || middle >= first {
            break;
        }
        if holds(middle) {
            first = middle;
        } else {
            fails = middle;
        }
    }
    first
}

/// Whether a form says anything at an iteration count: (15) asks for the initialisation condition, which (14) has a term
/// for.
///
/// # Reference
/// Theorem 4.1.
pub fn applies(problem: &Problem, form: BoundForm, shape: LoopClass, t: f64) -> bool {
    form == BoundForm::General || initialisation_holds(problem, shape.r as f64, t)
}

/// Whether the best iteration count of a form ([`best`]) is the smallest at which the form [`applies`], so that a smaller one
/// might have a smaller value.
///
/// # Reference
/// Theorem 4.1.
pub fn best_is_restricted(problem: &Problem, form: BoundForm, shape: LoopClass, t: f64) -> bool {
    t.is_finite() && t > 1.0 && !applies(problem, form, shape, t - 1.0)
}

/// The integer from `low` to `high` with the smallest value, which falls and then rises there.
fn smallest_between(mut low: f64, mut high: f64, start: f64, value: impl Fn(f64) -> f64) -> f64 {
    while high - low > 64.0 {
        let third = floor((high - low) / 3.0);
        let (left, right) = (low + third, high - third);
        if value(left) <= value(right) {
            high = right;
        } else {
            low = left;
        }
    }
    let candidates = (0..=(high - low).max(0.0) as u64).map(|step| low + step as f64);
    std::iter::once(start)
        .chain(candidates)
        .min_by(|s, t| value(*s).total_cmp(&value(*t)))
        .unwrap_or(start)
}

/// How the iteration count follows the sample size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Iterations {
    /// The schedule of Theorem 4.4.
    Schedule,
    /// A fixed number.
    Fixed(f64),
    /// Those that minimise the bound, see [`best`].
    Best,
}

/// The general bound of a schedule beside what untied networks of the same budget can reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The bound (14), with the tolerance `1/n`.
    pub bound: Terms,
    /// The untied floor (17).
    pub floor: LogNumber,
}

impl Standing {
    /// At a shape under a budget, a sample size and an iteration count.
    ///
    /// # Reference
    /// Theorem 4.1, equation (14); Proposition 4.3, equation (17).
    pub fn new(problem: &Problem, shape: LoopClass, b: u64, n: f64, t: f64) -> Self {
        Self {
            bound: general(problem, shape, n, t, 1.0 / n),
            floor: problem.rates().untied_floor(b as f64, problem.constants()),
        }
    }

    /// The bound over the floor.
    ///
    /// # Reference
    /// Equations (20) and (23): it tends to zero.
    pub fn ratio(&self) -> LogNumber {
        self.bound.total / self.floor
    }

    /// Whether the loop's bound lies below what untied networks can reach.
    pub fn is_below(&self) -> bool {
        self.bound.total <= self.floor
    }
}

/// The bound of a shape at a sample size, with the iterations that were taken.
///
/// # Reference
/// Theorem 4.1, at `T_n` of Theorem 4.4, equation (18), or others.
pub fn with(
    problem: &Problem,
    form: BoundForm,
    shape: LoopClass,
    b: f64,
    n: f64,
    iterations: Iterations,
) -> Terms {
    let at = |t: f64| at(problem, form, shape, b, n, t);
    match iterations {
        Iterations::Schedule => at(fixed_iterations(problem.smoothness().a(), n)),
        Iterations::Fixed(t) => at(t),
        Iterations::Best => best(problem, form, shape, b, n),
    }
}

/// The smallest sample size at which the bound of the loop at `T_n` lies below the untied floor of the same budget; nothing if
/// that is beyond `10^299`.
///
/// # Formula
#[doc = loopfit_tex::tex!(r"
    n_* = \inf\{n : R_L\text{-bound}(n', T_{n'}) \le c_{\rm U}\{B^2\log(eB)\}^{-a} \text{ for all } n' \ge n\}
")]
///
/// The tolerance is `1/n` at every `n`.
///
/// # Reference
/// Theorem 4.4, equation (20): the ratio tends to zero, so there is such a size.
pub fn crossing(problem: &Problem, form: BoundForm, shape: LoopClass, b: f64) -> Option<LogNumber> {
    const END: f64 = 688.0;
    const STEP: f64 = 0.5;
    let floor = problem.rates().untied_floor(b, problem.constants()).ln();
    let iterations = |ln: f64| fixed_iterations(problem.smoothness().a(), exp(ln));
    let below = |ln: f64| {
        let t = iterations(ln);
        applies(problem, form, shape, t)
            && at(problem, form, shape, b, exp(ln), t).total.ln() <= floor
    };
    // Among the sizes that share T_n the bound falls with n, and it jumps up where T_n does: the first of them has the largest.
    let first = |ln: f64| first_from(0.0, ln, |other| iterations(other) == iterations(ln));
    if !below(first(END)) {
        return None;
    }
    let mut high = END;
    while high > 0.0 && below(first(high - STEP)) {
        high -= STEP;
    }
    if high <= 0.0 {
        return Some(LogNumber::ONE);
    }
    high = first_from(high - STEP, high, |ln| below(first(ln)));
    // All sizes from here on are below, and the last of those with one iteration less may be.
    let less = first(high.next_down());
    Some(LogNumber::from_ln(first_from(less, high, below)))
}

/// The smallest number from `low` to `high` of which `holds` is true; it holds at `high` and from the answer on.
fn first_from(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(low) {
        return low;
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return high;
        }
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
}

#[cfg(test)]
mod tests;
