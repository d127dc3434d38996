//! One form of the bound over sample sizes, budgets or iteration counts.

use super::{BoundForm, Iterations, Terms, applies, best, best_is_restricted, with};
use crate::problem::{LoopClass, Problem};
use crate::schedule::{self, FirstWidths, GrowingBudget};
use crate::{Error, Thresholds};
use loopfit_numerics::libm::{exp, log, round};
use loopfit_numerics::log_number::LogNumber;
use loopfit_numerics::named::Named;

/// What grows from row to row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The sample size.
    N,
    /// The budget.
    B,
    /// The iteration count.
    T,
}

impl Axis {
    /// The range that is looked at unless another is asked for.
    pub fn range(self) -> (u64, u64) {
        match self {
            Self::N => (100, 1_000_000_000_000),
            Self::B => (100, 100_000_000),
            Self::T => (1, 100_000_000),
        }
    }
}

impl Named for Axis {
    const ALL: &'static [Self] = &[Self::N, Self::B, Self::T];

    fn name(self) -> &'static str {
        match self {
            Self::N => "n",
            Self::B => "B",
            Self::T => "T",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::N => "The sample size",
            Self::B => "The budget",
            Self::T => "The iteration count",
        }
    }
}

/// Which loop stands in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shapes {
    /// The same in every row, chosen for this budget.
    Fixed(LoopClass, u64),
    /// The widest of each budget of the axis, with this state dimension or [`Problem::default_q`].
    Widest(Option<u64>),
    /// That of a budget which grows with the sample size.
    Growing {
        /// The growth exponent `gamma_B`.
        gamma: f64,
        /// How the widths begin.
        start: FirstWidths,
    },
}

/// What a sweep is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// What grows.
    pub axis: Axis,
    /// Its first and its last value.
    pub ends: (u64, u64),
    /// How many rows, at equal ratios; at least two.
    pub points: u16,
    /// Which form of the bound.
    pub form: BoundForm,
    /// The sample size where it is not the axis.
    pub n: f64,
    /// The iterations where they are not the axis.
    pub iterations: Iterations,
    /// The loops.
    pub shapes: Shapes,
}

/// The bound in every row.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// What grows.
    pub axis: Axis,
    /// The form of the bound.
    pub form: BoundForm,
    /// Iterations that are the same in every row: those asked for, or `T_n` in the middle of the axis.
    pub fixed_t: f64,
    /// The rows.
    pub rows: Vec<Row>,
    /// The smallest budget that holds the construction of the proofs, see [`schedule::smallest_budget`].
    pub smallest_budget: Option<u64>,
}

/// One value of the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The value.
    pub x: u64,
    /// The loop.
    pub shape: LoopClass,
    /// The budget.
    pub b: u64,
    /// Whether the construction of the proofs fits the shape.
    pub admissible: bool,
    /// The bound at the iterations that were asked for.
    pub terms: Terms,
    /// Whether the form says anything at these, see [`super::applies`].
    pub applies: bool,
    /// The bound at the best iterations.
    pub best: Terms,
    /// Whether the initialisation condition keeps these from being fewer.
    pub best_is_restricted: bool,
    /// The bound at `T_n`.
    pub schedule: Terms,
    /// The bound at [`Sweep::fixed_t`].
    pub fixed: Terms,
    /// The untied floor of the budget (17).
    pub floor: LogNumber,
    /// The minimax rate (16).
    pub minimax: LogNumber,
}

impl Sweep {
    /// The bound in every row, with a tolerance of `1/n`.
    ///
    /// # Reference
    /// Theorem 4.1, equations (14) and (15), at `T_n` of Theorem 4.4, of Theorem 4.5, or others.
    pub fn new(
        problem: &Problem,
        thresholds: &Thresholds,
        question: &Question,
    ) -> Result<Self, Error> {
        let Question {
            axis, form, ends, ..
        } = *question;
        let fixed_t = match question.iterations {
            Iterations::Fixed(t) => t,
            Iterations::Schedule | Iterations::Best => {
                let middle = (log(ends.0 as f64) + log(ends.1 as f64)) / 2.0;
                schedule::fixed_iterations(problem.smoothness().a(), exp(middle))
            }
        };
        let row = |x: u64| question.row(problem, thresholds, fixed_t, x);
        let rows = grid(ends, question.points).into_iter().map(row);
        Ok(Self {
            axis,
            form,
            fixed_t,
            rows: rows.collect::<Result<_, _>>()?,
            smallest_budget: schedule::smallest_budget(problem, thresholds),
        })
    }
}

impl Question {
    fn row(
        &self,
        problem: &Problem,
        thresholds: &Thresholds,
        fixed_t: f64,
        x: u64,
    ) -> Result<Row, Error> {
        let n = if self.axis == Axis::N {
            x as f64
        } else {
            self.n
        };
        let (shape, b, t_n) = match self.shapes {
            Shapes::Fixed(shape, b) => (shape, b, Iterations::Schedule),
            Shapes::Widest(q) => {
                let q = match q {
                    Some(q) => q,
                    None => problem.default_q(x, thresholds.q)?,
                };
                (problem.widest(q, x)?, x, Iterations::Schedule)
            }
            Shapes::Growing { gamma, start } => {
                let schedule = GrowingBudget::new(problem, thresholds, start, gamma, n);
                let schedule = schedule.map_err(|why| Error::NoSchedule {
                    n,
                    why: Box::new(why),
                })?;
                (schedule.shape, schedule.b, Iterations::Fixed(schedule.t))
            }
        };
        let asked = match (self.axis, self.iterations) {
            (Axis::T, _) => Iterations::Fixed(x as f64),
            (Axis::N | Axis::B, Iterations::Schedule) => t_n,
            (Axis::N | Axis::B, other) => other,
        };
        let (form, budget) = (self.form, b as f64);
        let at = |iterations| with(problem, form, shape, budget, n, iterations);
        let (terms, best) = (at(asked), best(problem, form, shape, budget, n));
        Ok(Row {
            x,
            shape,
            b,
            admissible: shape.q >= thresholds.q && shape.r >= thresholds.r,
            terms,
            applies: applies(problem, form, shape, terms.t),
            best,
            best_is_restricted: best_is_restricted(problem, form, shape, best.t),
            schedule: at(t_n),
            fixed: at(Iterations::Fixed(fixed_t)),
            floor: problem.rates().untied_floor(budget, problem.constants()),
            minimax: problem.rates().minimax(n, problem.constants()),
        })
    }
}

/// Whole numbers at equal ratios, both ends among them, without repetitions.
fn grid((from, to): (u64, u64), points: u16) -> Vec<u64> {
    let (low, high) = (log(from as f64), log(to as f64));
    let at = |i: u16| {
        let part = f64::from(i) / f64::from(points - 1);
        (round(exp(low + part * (high - low))) as u64).clamp(from, to)
    };
    let between = (1..points.saturating_sub(1)).map(at);
    let mut grid: Vec<u64> = std::iter::once(from).chain(between).chain([to]).collect();
    grid.dedup();
    grid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Constants;
    use loopfit_holder::Smoothness;
    use loopfit_model::Architecture;

    #[test]
    fn grids_have_equal_ratios_and_no_repetitions() {
        assert_eq!(grid((1, 1000), 4), [1, 10, 100, 1000]);
        assert_eq!(grid((1, 4), 9), [1, 2, 3, 4]);
        assert_eq!(
            grid((7, 1_000_000_000_000_000_000), 2),
            [7, 1_000_000_000_000_000_000]
        );
    }

    fn setting() -> (Problem, Thresholds) {
        let smoothness = Smoothness::new(2, 1.0).unwrap();
        let problem = Problem::new(smoothness, Architecture::Ffn, Constants::default());
        let thresholds = Thresholds::new(smoothness, &Architecture::Ffn, 1.0, 1e-5).unwrap();
        (problem, thresholds)
    }

    #[test]
    fn rows_are_the_bound_at_their_value() {
        let (problem, thresholds) = setting();
        let shape = problem.widest(4, 128).unwrap();
        for (axis, shapes) in [
            (Axis::N, Shapes::Fixed(shape, 128)),
            (Axis::T, Shapes::Fixed(shape, 128)),
            (Axis::B, Shapes::Widest(Some(4))),
        ] {
            let question = Question {
                axis,
                ends: (1000, 1_000_000),
                points: 3,
                form: BoundForm::General,
                n: 1e9,
                iterations: Iterations::Schedule,
                shapes,
            };
            let sweep = Sweep::new(&problem, &thresholds, &question).unwrap();
            assert_eq!(sweep.rows.len(), 3);
            for row in &sweep.rows {
                let (n, t) = match axis {
                    Axis::N => (row.x as f64, schedule::fixed_iterations(1.0, row.x as f64)),
                    Axis::T => (1e9, row.x as f64),
                    Axis::B => (1e9, schedule::fixed_iterations(1.0, 1e9)),
                };
                let expected = super::super::general(&problem, row.shape, n, t, 1.0 / n);
                assert_eq!(row.terms, expected);
                assert!(row.best.total <= row.terms.total && !row.admissible && row.applies);
                assert_eq!(row.b, if axis == Axis::B { row.x } else { 128 });
            }
        }
    }

    #[test]
    fn a_growing_budget_that_holds_no_loop_is_refused_where_it_begins() {
        let (problem, thresholds) = setting();
        let question = Question {
            axis: Axis::N,
            ends: (100, 1000),
            points: 2,
            form: BoundForm::General,
            n: 1.0,
            iterations: Iterations::Schedule,
            shapes: Shapes::Growing {
                gamma: 0.1,
                start: FirstWidths::BelowThresholds,
            },
        };
        let error = Sweep::new(&problem, &thresholds, &question).unwrap_err();
        assert!(
            matches!(error, Error::NoSchedule { n: 100.0, .. }),
            "{error}"
        );
        let Shapes::Growing { gamma, .. } = question.shapes else {
            unreachable!()
        };
        let start = FirstWidths::AtThresholds;
        let shapes = Shapes::Growing { gamma, start };
        let sweep = Sweep::new(&problem, &thresholds, &Question { shapes, ..question }).unwrap();
        assert!(sweep.rows.iter().all(|row| row.admissible));
    }
}
