//! Comparing with exact values that another program wrote down.
//!
//! A golden file is a JSON object: the parameters and the target of a case, and what an
//! independent implementation found for it (conventions, codes, resources, outputs). The case is
//! built here as well, described in the same form, and compared field by field.

use crate::Error;
use crate::arithmetic::Exact;
use crate::ffn::Witness;
use crate::rational::Rational;
use crate::records::taylor_words;
use crate::resolution::Resolution;
use crate::routines::Reader;
use crate::target::{Polynomial, Target};
use serde::Deserialize;
use serde_json::{Value, json};

/// What a comparison found.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// How many numbers were compared.
    pub compared: usize,
    /// The first one that differs.
    pub difference: Option<Difference>,
    /// Entries of the file that nothing here answers to, such as notes.
    pub unknown: Vec<String>,
}

/// A number that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Where in the file, such as `resources.tau_m`.
    pub place: String,
    /// What the file says.
    pub expected: String,
    /// What was found.
    pub found: String,
}

/// The part of a file that says which case it is.
#[derive(Deserialize)]
struct Case {
    architecture: String,
    params: Params,
    target: TargetCase,
    #[serde(default)]
    points: Vec<Point>,
    #[serde(default)]
    strip_points: Vec<Point>,
}

#[derive(Deserialize)]
struct Params {
    d: usize,
    s: String,
    #[serde(rename = "H")]
    h: String,
    m: usize,
    u_grp: usize,
}

#[derive(Deserialize)]
struct TargetCase {
    kind: String,
    terms: Vec<Monomial>,
}

#[derive(Deserialize)]
struct Monomial {
    exponents: Vec<usize>,
    coef: String,
}

#[derive(Deserialize)]
struct Point {
    x: Vec<String>,
}

/// What the architecture of a file of this construction begins with.
const ARCHITECTURE: &str = "looped residual FFN";

/// Builds the case of a golden file of the FFN construction and compares everything in the file.
pub fn compare(text: &str) -> Result<Comparison, Error> {
    let wrong = |error: serde_json::Error| Error::Golden(error.to_string());
    let expected: Value = serde_json::from_str(text).map_err(wrong)?;
    let case: Case = serde_json::from_value(expected.clone()).map_err(wrong)?;
    if !case.architecture.starts_with(ARCHITECTURE) {
        let problem = format!(
            "its architecture is \"{}\", not a {ARCHITECTURE}",
            case.architecture
        );
        return Err(Error::Golden(problem));
    }
    if case.target.kind != "polynomial" {
        let problem = format!("its target is a {}, not a polynomial", case.target.kind);
        return Err(Error::Golden(problem));
    }
    let found = describe(&case)?;
    let mut comparison = Comparison {
        compared: 0,
        difference: None,
        unknown: Vec::new(),
    };
    comparison.walk("", &expected, &found);
    Ok(comparison)
}

/// What the file should say, in its own form.
fn describe(case: &Case) -> Result<Value, Error> {
    let Params { d, s, h, m, u_grp } = &case.params;
    let resolution = Resolution::new(*d, s.parse()?, h.parse()?, *m)?;
    let monomials = case.target.terms.iter();
    let terms = monomials.map(|term| Ok((term.exponents.clone(), term.coef.parse()?)));
    let target = Polynomial::new(*d, terms.collect::<Result<_, Error>>()?)?;
    let witness = Witness::new(resolution, *u_grp, Reader::Paper, &target)?;
    let runner = witness.runner(Exact);
    let point = |point: &Point| {
        let x = point.x.iter().map(|x| x.parse());
        let x: Vec<Rational> = x.collect::<Result<_, _>>()?;
        let output = runner.evaluate(&x)?;
        Ok(json!({
            "x": point.x,
            "u": output.u.to_string(),
            "Hu": output.value.to_string(),
            "f0": target.value(&x)?.to_string(),
        }))
    };
    let points = |points: &[Point]| points.iter().map(point).collect::<Result<Vec<_>, Error>>();
    let resolution = witness.resolution();
    let codes: Vec<_> = witness.codes().iter().map(Rational::to_string).collect();
    let resources = witness.resources();
    Ok(json!({
        "params": {
            "d": d, "s": s, "H": h, "m": m, "u_grp": u_grp,
            "k": resolution.k,
            "M_Tay": resolution.terms,
            "V": resolution.letters,
            "b": resolution.b(),
            "J": resolution.j(),
            "G": resolution.g(),
            "K": resolution.cells_per_axis(),
            "B_eval": resolution.b_eval(),
            "L_m": resolution.scale_exponent(),
        },
        "conventions": {
            "W_k": taylor_words(*d, resolution.k),
            "cells_in_group": witness.groups().cells(),
            "group_codes": codes,
        },
        "resources": {
            "P": resources.phases,
            "q0": resources.evaluator.0,
            "r0": resources.evaluator.1,
            "q_star": resources.q,
            "r_of_u": resources.r,
            "r_eval_units_used": resources.units[0],
            "r_front_units_used": resources.units[1],
            "tau_m": resources.tau,
            "t_lookup": resources.selection_time,
            "S": resources.finishing_time,
            "max_abs_coef": resources.largest_coefficient.to_string(),
            "nnz_W1": resources.entries.w1,
            "nnz_b1": resources.entries.b1,
            "nnz_W2": resources.entries.w2,
            "B_L_dense": resources.count as u64,
            "code_digits_L": resources.code_length,
        },
        "points": points(&case.points)?,
        "strip_points": points(&case.strip_points)?,
    }))
}

impl Comparison {
    /// Compares a part of the file with a part of its description.
    fn walk(&mut self, place: &str, expected: &Value, found: &Value) {
        if self.difference.is_some() {
            return;
        }
        let inside = |key: &str| match place {
            "" => key.to_owned(),
            _ => format!("{place}.{key}"),
        };
        match (expected, found) {
            (Value::Object(expected), Value::Object(found)) => {
                for (key, value) in expected {
                    match found.get(key) {
                        Some(found) => self.walk(&inside(key), value, found),
                        None => self.unknown.push(inside(key)),
                    }
                }
            }
            (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
                for (i, (expected, found)) in expected.iter().zip(found).enumerate() {
                    self.walk(&format!("{place}[{i}]"), expected, found);
                }
            }
            _ if is_same(expected, found) => self.compared += 1,
            _ => {
                self.difference = Some(Difference {
                    place: place.to_owned(),
                    expected: expected.to_string(),
                    found: found.to_string(),
                });
            }
        }
    }
}

/// Whether two leaves are the same: as rational numbers where both are.
fn is_same(expected: &Value, found: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::String(text) => text.parse::<Rational>().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    match (number(expected), number(found)) {
        (Some(expected), Some(found)) => expected == found,
        _ => expected == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = include_str!("../tests/golden/ffn_d1s1_m2_u1.json");

    #[test]
    fn differences_are_named() {
        let falsified = [
            ("\"tau_m\": 45", "\"tau_m\": 46", "resources.tau_m"),
            ("4437/32768", "4439/32768", "conventions.group_codes[1]"),
            ("\"u\": \"-1/2\"", "\"u\": \"-1/4\"", "points[0].u"),
            ("\"G\": 8", "\"G\": \"8/3\"", "params.G"),
        ];
        for (from, to, place) in falsified {
            let text = CASE.replacen(from, to, 1);
            assert_ne!(text, CASE);
            let difference = compare(&text).unwrap().difference.unwrap();
            assert_eq!(difference.place, place);
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(compare("{"), Err(Error::Golden(_))));
        assert!(matches!(compare("{}"), Err(Error::Golden(_))));
        let other = CASE.replace("looped residual FFN", "looped post-LN Transformer");
        assert!(matches!(compare(&other), Err(Error::Golden(_))));
        let unreadable = CASE.replace("193/256", "193:256");
        assert!(matches!(compare(&unreadable), Err(Error::Number(_))));
    }
}
