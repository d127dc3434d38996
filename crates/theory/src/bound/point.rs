//! Both forms of the bound at one sample size.

use super::{BoundForm, Iterations, Terms, best_is_restricted, crossing, with};
use crate::problem::{LoopClass, Problem};
use crate::{Check, Thresholds, schedule};
use loopfit_numerics::log_number::LogNumber;

/// The risk bound of a loop at one sample size, and what it stands against.
#[derive(Clone, Debug, PartialEq)]
pub struct RiskBound {
    /// The loop.
    pub shape: LoopClass,
    /// The budget that the shape was chosen for.
    pub b: u64,
    /// The sample size.
    pub n: f64,
    /// The general form (14), then the budget-iteration form (15).
    pub forms: [FormBound; 2],
    /// The exponent `G` at the iterations of (14); nothing where these are infinite.
    pub sensitivity_exponent: Option<f64>,
    /// The untied floor (17).
    pub floor: LogNumber,
    /// The minimax rate (16).
    pub minimax: LogNumber,
    /// The hypotheses of Theorem 4.1.
    pub checks: Vec<Check>,
}

/// One form of the bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormBound {
    /// Which.
    pub form: BoundForm,
    /// At the iterations that were asked for.
    pub taken: Terms,
    /// At the best ones, see [`super::best`].
    pub best: Terms,
    /// Whether the initialisation condition keeps the best ones from being fewer, see [`super::best_is_restricted`].
    pub best_is_restricted: bool,
    /// From which sample size on the bound at `T_n` lies below the untied floor, see [`super::crossing`].
    pub crossing: Option<LogNumber>,
}

/// Why the smallest value of a bound is one that nobody can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vacuous {
    /// No iteration count that could be the best satisfies the initialisation condition.
    NotInitialised,
    /// It falls for ever, since its estimation term is cut off at one.
    CutOff,
    /// It is at least two, and no squared Hellinger distance is larger.
    AboveTwo,
}

impl FormBound {
    /// Why its smallest value says nothing, if it does not.
    ///
    /// # Reference
    /// Theorem 4.1; Section 2.2 for the range of the Hellinger distance.
    pub fn vacuous(&self) -> Option<Vacuous> {
        match (self.best.t.is_infinite(), self.form) {
            (true, BoundForm::BudgetIteration) => Some(Vacuous::NotInitialised),
            (true, BoundForm::General) => Some(Vacuous::CutOff),
            _ => (self.best.total >= LogNumber::new(2.0)).then_some(Vacuous::AboveTwo),
        }
    }
}

impl RiskBound {
    /// The bound of a shape that was chosen for a budget, with a tolerance `epsilon_n` of the fit.
    ///
    /// # Reference
    /// Theorem 4.1, equations (14) and (15); Proposition 4.3, equation (17); Theorem 4.2, equation (16).
    pub fn new(
        problem: &Problem,
        thresholds: &Thresholds,
        (shape, b): (LoopClass, u64),
        n: f64,
        tolerance: f64,
        iterations: Iterations,
    ) -> Self {
        let budget = b as f64;
        let forms = [BoundForm::General, BoundForm::BudgetIteration].map(|form| {
            let at = |iterations| {
                let terms = with(problem, form, shape, budget, n, iterations);
                match form {
                    BoundForm::General => super::general(problem, shape, n, terms.t, tolerance),
                    BoundForm::BudgetIteration => terms,
                }
            };
            let best = at(Iterations::Best);
            FormBound {
                form,
                taken: at(iterations),
                best,
                best_is_restricted: best_is_restricted(problem, form, shape, best.t),
                crossing: crossing(problem, form, shape, budget),
            }
        });
        let (r, t) = (shape.r as f64, forms.map(|form| form.taken.t));
        let initialisation = |name, t| schedule::initialisation(name, problem, r, t);
        Self {
            shape,
            b,
            n,
            forms,
            sensitivity_exponent: t[0]
                .is_finite()
                .then(|| super::sensitivity_exponent(problem, shape, t[0])),
            floor: problem.rates().untied_floor(budget, problem.constants()),
            minimax: problem.rates().minimax(n, problem.constants()),
            checks: vec![
                schedule::size_check(n),
                schedule::admissible(problem, thresholds, shape),
                initialisation("initialisation condition, (14)", t[0]),
                initialisation("initialisation condition, (15)", t[1]),
                schedule::tolerance(tolerance, n),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Constants;
    use crate::bound::applies;
    use loopfit_holder::Smoothness;
    use loopfit_model::Architecture;

    fn at(n: f64, tolerance: f64) -> (Problem, RiskBound) {
        let smoothness = Smoothness::new(2, 1.0).unwrap();
        let problem = Problem::new(smoothness, Architecture::Ffn, Constants::default());
        let thresholds = Thresholds::new(smoothness, &Architecture::Ffn, 1.0, 1e-5).unwrap();
        let shape = problem.widest(4, 128).unwrap();
        let best = Iterations::Best;
        let bound = RiskBound::new(&problem, &thresholds, (shape, 128), n, tolerance, best);
        (problem, bound)
    }

    #[test]
    fn a_tolerance_is_a_term_of_the_general_form_alone() {
        let (problem, bound) = at(1e12, 0.25);
        assert_eq!(bound.forms[0].taken.optimisation, LogNumber::new(0.25));
        assert_eq!(bound.forms[1].taken.optimisation, LogNumber::ZERO);
        for form in bound.forms {
            assert_eq!(form.taken, form.best);
            assert!(applies(&problem, form.form, bound.shape, form.best.t));
        }
        let check = |name: &str| bound.checks.iter().find(|c| c.name == name).unwrap().holds;
        assert!(check("sample size") && !check("tolerance, (15)"));
    }

    #[test]
    fn small_samples_leave_the_bound_vacuous() {
        let (_, few) = at(100.0, 0.01);
        assert_eq!(few.forms[0].vacuous(), Some(Vacuous::CutOff));
        assert_eq!(few.sensitivity_exponent, None);
        assert_eq!(few.forms[1].vacuous(), Some(Vacuous::AboveTwo));
        let (_, many) = at(1e15, 1e-15);
        assert!(many.forms.iter().all(|form| form.vacuous().is_none()));
    }
}
