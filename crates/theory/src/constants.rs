//! The constants that the paper's statements leave open.
//!
//! The theorems say that constants exist; what they prove about rates does not depend on them. Each is one here
//! (`C_6`, which must be at least two, is two) unless the user knows better.

use crate::Error;

/// A constant that a statement leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constant {
    /// Of the whole risk bound.
    C,
    /// Of the approximation term.
    CApp,
    /// In the exponent of the initialisation term.
    CRate,
    /// Of the initialisation condition.
    CInit,
    /// Of the estimation term.
    CEst,
    /// Inside `G`.
    C6,
    /// Of the untied floor.
    CUntied,
    /// Of the minimax benchmark.
    CMin,
    /// Inside the entropy of the Wong-Shen condition.
    C1,
    /// On the right-hand side of the Wong-Shen condition.
    C2,
    /// Of the growing state dimension.
    CQ,
    /// Of the growing budget.
    CB,
}

impl Constant {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::C,
        Self::CApp,
        Self::CRate,
        Self::CInit,
        Self::CEst,
        Self::C6,
        Self::CUntied,
        Self::CMin,
        Self::C1,
        Self::C2,
        Self::CQ,
        Self::CB,
    ];

    /// Those of the risk bounds, the untied floor and the minimax benchmark.
    pub const OF_BOUNDS: [Self; 8] = [
        Self::C,
        Self::CApp,
        Self::CRate,
        Self::CInit,
        Self::CEst,
        Self::C6,
        Self::CUntied,
        Self::CMin,
    ];

    /// Those of the risk bounds, of a budget that grows or does not.
    pub fn of_bounds(growing: bool) -> Vec<Self> {
        let growing = growing.then_some([Self::CB, Self::CQ]);
        let all = Self::OF_BOUNDS.into_iter();
        all.chain(growing.into_iter().flatten()).collect()
    }

    /// Those of a schedule, which is not compared with the minimax benchmark.
    pub fn of_schedules(growing: bool) -> Vec<Self> {
        let mut used = Self::of_bounds(growing);
        used.retain(|constant| *constant != Self::CMin);
        used
    }

    /// Those of the entropy of a class, with critical radii and floors or without.
    pub fn of_entropy(radii: bool, floors: bool) -> Vec<Self> {
        let radii = radii.then_some([Self::C1, Self::C2]);
        let used = std::iter::once(Self::C6).chain(radii.into_iter().flatten());
        used.chain(floors.then_some(Self::CUntied)).collect()
    }

    /// The paper's symbol, or ours where the paper has a generic `C`.
    pub fn name(self) -> &'static str {
        self.describe().0
    }

    /// Where it stands.
    pub fn meaning(self) -> &'static str {
        self.describe().1
    }

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::C => ("C", "factor of the whole risk bound, (14) and (15)"),
            Self::CApp => ("C_app", "factor of the approximation term, (9)"),
            Self::CRate => ("c", "rate of the initialisation term e^(-c T^(1/h_0)), (9)"),
            Self::CInit => (
                "C_init",
                "factor of the initialisation condition T >= C log^h_0(erT), Theorem 3.3",
            ),
            Self::CEst => (
                "C_est",
                "factor of the estimation term e_n^2, (14) and (15)",
            ),
            Self::C6 => ("C_6", "inside G(q, r, T), (10); at least 2"),
            Self::CUntied => ("c_U", "factor of the untied floor, (17)"),
            Self::CMin => ("c_min", "factor of the minimax benchmark, (16)"),
            Self::C1 => (
                "C_1",
                "radius inside the entropy of the Wong-Shen condition, (2)",
            ),
            Self::C2 => ("C_2", "right-hand side of the Wong-Shen condition, (2)"),
            Self::CQ => (
                "c_q",
                "factor of the state dimension, q_n = max(q_0, c_q log(en)), Theorem 4.5",
            ),
            Self::CB => (
                "C_B",
                "factor of the growing budget, B_n = C_B B_0 n^gamma_B, Theorem 4.5",
            ),
        }
    }

    /// What it is unless given.
    pub fn default_value(self) -> f64 {
        if self == Self::C6 { 2.0 } else { 1.0 }
    }
}

/// Values of the open constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// In the order of [`Constant::ALL`].
    values: [f64; Constant::ALL.len()],
}

impl Default for Constants {
    fn default() -> Self {
        Self {
            values: Constant::ALL.map(Constant::default_value),
        }
    }
}

impl Constants {
    /// Gives one constant, by its name, a value.
    pub fn set(&mut self, name: &str, value: f64) -> Result<Constant, Error> {
        let Some(constant) = Constant::ALL.into_iter().find(|c| c.name() == name) else {
            return Err(Error::UnknownConstant {
                name: name.to_string(),
            });
        };
        let (allowed, range) = match constant {
            Constant::C6 => (value >= 2.0, "of at least 2"),
            _ => (value > 0.0, "above 0"),
        };
        if !allowed || !value.is_finite() {
            return Err(Error::ConstantRange {
                name: constant.name(),
                value,
                range,
            });
        }
        self.values[constant as usize] = value;
        Ok(constant)
    }

    /// The value of a constant.
    pub fn value(&self, constant: Constant) -> f64 {
        self.values[constant as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_checked() {
        let mut constants = Constants::default();
        assert!(matches!(
            constants.set("C_9", 1.0),
            Err(Error::UnknownConstant { .. })
        ));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(
                constants.set("c_U", bad),
                Err(Error::ConstantRange { .. })
            ));
        }
        assert!(constants.set("C_6", 1.5).is_err());
        assert_eq!(constants.set("C_6", 3.0), Ok(Constant::C6));
        assert_eq!(constants.value(Constant::C6), 3.0);
        for (i, constant) in Constant::ALL.into_iter().enumerate() {
            assert_eq!(constant as usize, i);
        }
    }
}
