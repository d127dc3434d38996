//! Who a choice or a result is of, and how the store names it.

use crate::protocol::Origin;
use crate::store::Choice;
use loopfit_model::Method;
use std::fmt::{Display, Formatter};

/// Who is compared. In the order of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contender {
    /// A method.
    Method(Method),
    /// The best of Loop at one of the iteration counts that it grew through.
    Cut {
        /// The iteration count.
        t: usize,
    },
    /// The network of the proofs as it was built.
    Built,
    /// The most likely Loop of a route.
    Route(Origin),
    /// Loop at the iteration count of a rule.
    Chosen(Rule),
    /// Local polynomials with the best bandwidth.
    Smoother,
    /// The best affine function.
    Linear,
    /// The best constant.
    Constant,
}

/// How a schedule's study chooses an iteration count beside the theorem's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The theorem's at the smallest sample size.
    Fixed,
    /// The likelihood of all rows, less a penalty.
    Penalised,
    /// The likelihood of one sample that is held out.
    Validation,
    /// The mean of such likelihoods over folds.
    CrossValidation,
    /// Distances between the fits.
    Lepski,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 5] = [
        Self::Fixed,
        Self::Penalised,
        Self::Validation,
        Self::CrossValidation,
        Self::Lepski,
    ];

    /// The name in the store, and the one in reports.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Fixed => ("fixed", "T fixed"),
            Self::Penalised => ("penalised", "T penalised"),
            Self::Validation => ("validation", "T by validation"),
            Self::CrossValidation => ("cross-validation", "T by cross-validation"),
            Self::Lepski => ("lepski", "T by Lepski"),
        }
    }
}

impl From<Rule> for Contender {
    fn from(rule: Rule) -> Self {
        Self::Chosen(rule)
    }
}

impl From<Method> for Contender {
    fn from(method: Method) -> Self {
        Self::Method(method)
    }
}

/// `Loop`, `Loop, T = 16`, `linear model`.
impl Display for Contender {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Method(method) => method.fmt(f),
            Self::Cut { t } => write!(f, "{}, T = {t}", Method::Loop),
            Self::Built => write!(f, "witness as built"),
            Self::Route(origin) => origin.fmt(f),
            Self::Chosen(rule) => write!(f, "{}, {}", Method::Loop, rule.names().1),
            Self::Smoother => write!(f, "smoother"),
            Self::Linear => write!(f, "linear model"),
            Self::Constant => write!(f, "constant"),
        }
    }
}

impl Contender {
    /// What needs no fit.
    pub(crate) const BASELINES: [Self; 2] = [Self::Linear, Self::Constant];

    /// `single`, `loop`, `untied`, `loop-T016`, `loop-built`, `loop-from-random`, `loop-penalised`, `smoother`, `linear` or `constant`.
    pub fn key(self) -> String {
        match self {
            Self::Cut { t } => format!("{}-T{t:03}", self.method()),
            Self::Built => format!("{}-built", self.method()),
            Self::Route(origin) => format!("{}-from-{}", self.method(), origin.key()),
            Self::Chosen(rule) => format!("{}-{}", self.method(), rule.names().0),
            _ => self.method().to_string(),
        }
    }

    /// `single`, `loop`, `untied`, `smoother`, `linear` or `constant`.
    fn method(self) -> &'static str {
        match self {
            Self::Method(method) => method.key(),
            Self::Cut { .. } | Self::Built | Self::Route(_) | Self::Chosen(_) => Method::Loop.key(),
            Self::Smoother => "smoother",
            Self::Linear => "linear",
            Self::Constant => "constant",
        }
    }

    /// Its only choice of a task.
    pub(crate) fn choice(self, at: Option<f64>, fit: Option<String>) -> Choice {
        Choice {
            name: self.key(),
            method: self.method().to_string(),
            at,
            fit,
        }
    }

    /// Its choice at one of several places of a path: `loop@128`.
    pub(crate) fn choice_on_path(self, at: f64, fit: String) -> Choice {
        Choice {
            name: format!("{}@{at}", self.key()),
            ..self.choice(Some(at), Some(fit))
        }
    }

    /// Whose choice has a name, at a place of the axis.
    pub(crate) fn of_choice(name: &str, at: Option<f64>) -> Option<Self> {
        let on_path = at.and_then(|at| name.strip_suffix(&format!("@{at}")));
        let key = on_path.unwrap_or(name);
        let named = Method::ALL.map(Self::Method).into_iter();
        let routes = Origin::ALL.map(Self::Route).into_iter();
        let rules = Rule::ALL.map(Self::Chosen).into_iter();
        let others = routes.chain(rules).chain([Self::Built, Self::Smoother]);
        let mut all = named.chain(others).chain(Self::BASELINES);
        let known = all.find(|own| own.key() == key);
        known.or_else(|| {
            let t = key.strip_prefix(Method::Loop.key())?.strip_prefix("-T")?;
            Some(Self::Cut { t: t.parse().ok()? })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As stores have them.
    #[test]
    fn names_lead_back_to_whom_they_name() {
        let fit = || "f".to_string();
        let all = [
            (Contender::Method(Method::Untied), "untied", "Untied"),
            (Contender::Cut { t: 16 }, "loop-T016", "Loop, T = 16"),
            (Contender::Cut { t: 1024 }, "loop-T1024", "Loop, T = 1024"),
            (Contender::Built, "loop-built", "witness as built"),
            (
                Contender::Route(Origin::Growing),
                "loop-from-growing",
                "Loop, growing T",
            ),
            (
                Rule::Penalised.into(),
                "loop-penalised",
                "Loop, T penalised",
            ),
            (Contender::Smoother, "smoother", "smoother"),
            (Contender::Linear, "linear", "linear model"),
            (Contender::Constant, "constant", "constant"),
        ];
        for (own, name, label) in all {
            for at in [None, Some(0.5)] {
                let choice = own.choice(at, Some(fit()));
                assert_eq!((choice.name.as_str(), &*own.to_string()), (name, label));
                assert_eq!(Contender::of_choice(&choice.name, at), Some(own));
            }
        }
        let looped = Contender::Method(Method::Loop);
        for (at, name) in [(128.0, "loop@128"), (0.5, "loop@0.5")] {
            let choice = looped.choice_on_path(at, fit());
            assert_eq!((choice.name.as_str(), &*choice.method), (name, "loop"));
            assert_eq!(Contender::of_choice(name, Some(at)), Some(looped));
            assert_eq!(Contender::of_choice(name, Some(at + 1.0)), None);
        }
        for other in [
            "",
            "loop/q4-T8",
            "single-T004",
            "loop-T",
            "loop-T-1",
            "linear@",
        ] {
            assert_eq!(Contender::of_choice(other, None), None, "{other}");
        }
        assert!(Contender::Method(Method::Untied) < Contender::Cut { t: 2 });
        assert!(Contender::Cut { t: 999 } < Contender::Cut { t: 1000 });
    }
}
