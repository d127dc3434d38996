//! Everything about the size of one loop class, and of the untied networks under the same budget.

use super::{CriticalRadius, LARGEST_UNION, ParameterClass, UntiedUnion, resolution_constant};
use crate::bound::sensitivity_exponent;
use crate::fano::{Fano, fano};
use crate::floor::{Floor, explicit_floor};
use crate::{Calibration, Error, LikelihoodKind, LikelihoodModel, LoopClass, Problem, Sensitivity};
use loopfit_holder::HolderClass;
use loopfit_model::Budget;
use loopfit_model::budget::UntiedShape;
use loopfit_numerics::log_number::LogNumber;

/// What the sizes are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The loop.
    pub shape: LoopClass,
    /// Its iterations `T`.
    pub iterations: f64,
    /// The budget of the untied networks beside it, if any.
    pub budget: Option<u64>,
    /// Bound `M_par` on every parameter.
    pub parameter_bound: f64,
    /// Stabiliser of layer normalisation.
    pub stabiliser: f64,
    /// Radius of covers and width of brackets, below one.
    pub epsilon: f64,
    /// Standard deviation of Gaussian noise.
    pub sigma: f64,
    /// Scale of Laplace noise.
    pub tau: f64,
    /// Bound `H` of the target and of the output.
    pub bound: f64,
    /// The sample size of critical radii, if any.
    pub n: Option<f64>,
    /// Whether to compute the floors, for which the problem's smoothness counts.
    pub floors: bool,
}

/// How large the classes are.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// The exponent `G` of sensitivity (10).
    pub exponent: f64,
    /// The sensitivity with its constants.
    pub sensitivity: Sensitivity,
    /// The sensitivity `Gamma` (S11).
    pub gamma: LogNumber,
    /// The logarithm of the covering number at the radius (S12).
    pub covering: f64,
    /// The untied networks, unless there is no budget or, without floors, one beyond [`LARGEST_UNION`].
    pub untied: Option<Untied>,
    /// What each likelihood of the paper makes of the classes.
    pub laws: Vec<Laws>,
}

/// The untied networks of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Untied {
    /// The number of admissible triples.
    pub triples: u64,
    /// The one with the largest cover.
    pub largest: UntiedShape,
}

/// What one likelihood makes of the classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Laws {
    /// Which.
    pub kind: LikelihoodKind,
    /// The bracketing entropy of the loop's laws.
    pub bracketing: f64,
    /// The critical radius, where there is a sample size.
    pub radius: Option<CriticalRadius>,
    /// `K` of Lemma C.5, where there is a critical radius.
    pub k: Option<f64>,
    /// The logarithm of the covering number of the untied networks' laws.
    pub untied_covering: Option<f64>,
    /// The untied floor, where floors are asked for.
    pub floor: Option<Floor>,
    /// The minimax floor, where they are and there is a sample size.
    pub fano: Option<Fano>,
}

impl Sizes {
    /// The sizes that are asked for.
    ///
    /// # Reference
    /// Lemma C.4, equations (S11) and (S12), Proposition 3.4, Lemmas C.5 and C.6, Theorems 2.6 and 4.2.
    pub fn new(problem: &Problem, question: &Question) -> Result<Self, Error> {
        let Question {
            shape,
            iterations,
            parameter_bound,
            stabiliser,
            ..
        } = *question;
        let (architecture, d) = (problem.architecture(), problem.smoothness().d());
        let (q, r) = (shape.q, shape.r);
        let sensitivity = Sensitivity::new(architecture, d, q, r, parameter_bound, stabiliser);
        let gamma = sensitivity.gamma(iterations);
        let class = ParameterClass::new(shape.count, parameter_bound, gamma);
        let union = match question.budget {
            // The loop's own entropy needs no enumeration.
            Some(b) if b > LARGEST_UNION as u64 && !question.floors => None,
            None => None,
            Some(b) => {
                let budget = Budget::new(b as usize, architecture.clone(), d, 1)?;
                Some(UntiedUnion::new(&budget, parameter_bound, stabiliser)?)
            }
        };
        let exponent = sensitivity_exponent(problem, shape, iterations);
        let laws = LikelihoodModel::of_paper(question.sigma, question.tau)?
            .map(|model| question.laws(problem, &class, union.as_ref(), exponent, model));
        let epsilon = LogNumber::new(question.epsilon);
        Ok(Self {
            exponent,
            sensitivity,
            gamma,
            covering: class.covering(epsilon),
            untied: union.map(|union| Untied {
                triples: union.triples,
                largest: union.covering(epsilon).1,
            }),
            laws: laws.into_iter().collect::<Result<_, _>>()?,
        })
    }
}

impl Question {
    fn laws(
        &self,
        problem: &Problem,
        class: &ParameterClass,
        union: Option<&UntiedUnion>,
        exponent: f64,
        model: LikelihoodModel,
    ) -> Result<Laws, Error> {
        let calibration = Calibration::new(model, self.bound)?;
        let target = HolderClass::new(problem.smoothness(), self.bound)?;
        let floor = match union.filter(|_| self.floors) {
            Some(union) => Some(explicit_floor(union, calibration, target)?),
            None => None,
        };
        let fano = match self.n.filter(|_| self.floors) {
            Some(n) => Some(fano(calibration, target, n)?),
            None => None,
        };
        let radius = |n: f64| class.critical_radius(calibration, n, problem.constants());
        let radius = self.n.map(radius);
        let cover_radius = LogNumber::new(calibration.cover_radius(self.epsilon));
        Ok(Laws {
            kind: model.kind(),
            bracketing: class.bracketing(calibration, self.epsilon),
            radius,
            k: match (radius, self.n) {
                (Some(CriticalRadius::Radius(e)), Some(n)) => {
                    Some(resolution_constant(e, self.shape.count, exponent, n))
                }
                _ => None,
            },
            untied_covering: union.map(|union| union.covering(cover_radius).0),
            floor,
            fano,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Constants;
    use loopfit_holder::Smoothness;
    use loopfit_model::Architecture;
    use loopfit_model::reference::LAYER_NORM_STABILISER;
    use loopfit_numerics::named::Named;

    fn question(budget: u64, n: Option<f64>, floors: bool) -> (Problem, Question) {
        let smoothness = Smoothness::new(1, 1.0).unwrap();
        let problem = Problem::new(smoothness, Architecture::Ffn, Constants::default());
        let question = Question {
            shape: problem.widest(2, budget).unwrap(),
            iterations: 8.0,
            budget: Some(budget),
            parameter_bound: 128.0,
            stabiliser: LAYER_NORM_STABILISER,
            epsilon: 0.01,
            sigma: 1.0,
            tau: 1.0,
            bound: 1.0,
            n,
            floors,
        };
        (problem, question)
    }

    /// What is not asked for is not computed, and what is asked for stands for each likelihood of the paper.
    #[test]
    fn sizes_are_those_asked_for() {
        let (problem, plain) = question(64, None, false);
        let sizes = Sizes::new(&problem, &plain).unwrap();
        let names: Vec<&str> = sizes.laws.iter().map(|laws| laws.kind.name()).collect();
        assert_eq!(names, ["gaussian", "laplace", "bernoulli", "energy"]);
        assert!(
            sizes
                .laws
                .iter()
                .all(|l| l.untied_covering.is_some() && l.radius.is_none())
        );
        assert!(
            sizes
                .laws
                .iter()
                .all(|l| l.floor.is_none() && l.fano.is_none())
        );
        let (problem, all) = question(64, Some(1e9), true);
        let sizes = Sizes::new(&problem, &all).unwrap();
        for laws in &sizes.laws {
            let Some(CriticalRadius::Radius(e)) = laws.radius else {
                panic!("{laws:?}");
            };
            // K is what makes e_n^2 the estimation term of (14).
            let entropy = 1.0 + 1e9f64.ln() + sizes.exponent;
            let square = laws.k.unwrap() * all.shape.count as f64 * entropy / 1e9;
            assert!((e * e / square - 1.0).abs() < 1e-12);
            assert!(laws.floor.is_some() && laws.fano.is_some());
        }
    }

    /// Above the largest union the loop is still measured, and floors are refused.
    #[test]
    fn huge_budgets_have_no_union() {
        let (problem, loose) = question(100_000_000, None, false);
        assert_eq!(Sizes::new(&problem, &loose).unwrap().untied, None);
        let (problem, strict) = question(3_000_000, None, true);
        let error = Sizes::new(&problem, &strict).unwrap_err();
        assert!(matches!(error, Error::UnionTooLarge { .. }), "{error}");
    }
}
