//! The constants that the paper's statements leave open.
//!
//! The theorems say that constants exist; what they prove about rates does not depend on them. Each is one here
//! (`C_6`, which must be at least two, is two) unless the user knows better.

use crate::Error;

/// One open constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    /// The paper's symbol, or ours where the paper has a generic `C`.
    pub name: &'static str,
    /// Where it stands.
    pub meaning: &'static str,
    /// Its value.
    pub value: f64,
    least: Least,
}

/// The smallest value that a constant may have.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Least {
    /// Any positive number.
    Positive,
    /// Two, as in the definition of `G`.
    Two,
}

/// All open constants with their values.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    all: Vec<Constant>,
}

/// Every constant with where it stands; `C_6` is the only one that cannot be one.
const OPEN: [(&str, &str); 12] = [
    ("C", "factor of the whole risk bound, (14) and (15)"),
    ("C_app", "factor of the approximation term, (9)"),
    ("c", "rate of the initialisation term e^(-c T^(1/h_0)), (9)"),
    (
        "C_init",
        "factor of the initialisation condition T >= C log^h_0(erT), Theorem 3.3",
    ),
    (
        "C_est",
        "factor of the estimation term e_n^2, (14) and (15)",
    ),
    ("C_6", "inside G(q, r, T), (10); at least 2"),
    ("c_U", "factor of the untied floor, (17)"),
    ("c_min", "factor of the minimax benchmark, (16)"),
    (
        "C_1",
        "radius inside the entropy of the Wong-Shen condition, (2)",
    ),
    ("C_2", "right-hand side of the Wong-Shen condition, (2)"),
    (
        "c_q",
        "factor of the state dimension, q_n = max(q_0, c_q log(en)), Theorem 4.5",
    ),
    (
        "C_B",
        "factor of the growing budget, B_n = C_B B_0 n^gamma_B, Theorem 4.5",
    ),
];

impl Default for Constants {
    fn default() -> Self {
        let constant = |(name, meaning)| {
            let least = if name == "C_6" {
                Least::Two
            } else {
                Least::Positive
            };
            let value = if name == "C_6" { 2.0 } else { 1.0 };
            Constant {
                name,
                meaning,
                value,
                least,
            }
        };
        Self {
            all: OPEN.map(constant).into(),
        }
    }
}

impl Constants {
    /// The names of all constants.
    pub fn names() -> Vec<&'static str> {
        OPEN.iter().map(|(name, _)| *name).collect()
    }

    /// Gives one constant a value.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), Error> {
        let Some(constant) = self.all.iter_mut().find(|c| c.name == name) else {
            return Err(Error::UnknownConstant {
                name: name.to_string(),
            });
        };
        let (allowed, range) = match constant.least {
            Least::Positive => (value > 0.0, "above 0"),
            Least::Two => (value >= 2.0, "of at least 2"),
        };
        if !allowed || !value.is_finite() {
            return Err(Error::ConstantRange {
                name: constant.name,
                value,
                range,
            });
        }
        constant.value = value;
        Ok(())
    }

    /// The constants of these names, in this order.
    pub fn of(&self, names: &[&str]) -> Vec<Constant> {
        let named = |name: &&str| self.all.iter().find(|c| c.name == *name).copied();
        names.iter().filter_map(named).collect()
    }

    /// The value of a constant; one for a name that is none, which no caller in this crate has.
    pub(crate) fn value(&self, name: &str) -> f64 {
        let found = self.all.iter().find(|c| c.name == name);
        debug_assert!(found.is_some(), "{name}");
        found.map_or(1.0, |c| c.value)
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
        constants.set("C_6", 3.0).unwrap();
        assert_eq!(constants.value("C_6"), 3.0);
        assert_eq!(constants.of(&["c_U", "C_6"]).len(), 2);
    }
}
