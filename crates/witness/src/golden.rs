//! Comparing with exact values that another program wrote down.
//!
//! A golden file is a JSON object: the parameters and the target of a case, and what an
//! independent implementation found for it (conventions, codes, resources, outputs). The case is
//! built here as well, described in the same form, and compared field by field.

mod ffn;
mod transformer;

use crate::Error;
use crate::rational::Rational;
use crate::target::Polynomial;
use crate::transformer::ten;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

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

/// Entries for people, which are not compared.
const TEXTS: [&str; 3] = ["note", "architecture", "target"];

impl Comparison {
    /// Entries of the file that were not compared though they are not texts for people.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        let text = |place: &&str| TEXTS.iter().any(|end| place.ends_with(end));
        let unknown = self.unknown.iter().map(String::as_str);
        unknown.filter(move |place| !text(place))
    }
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
    params: Value,
    target: TargetCase,
    #[serde(default)]
    resources: Shape,
    #[serde(default)]
    points: Vec<Point>,
    #[serde(default)]
    strip_points: Vec<Point>,
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

/// The part of the resources that may be chosen.
#[derive(Deserialize, Default)]
struct Shape {
    q: Option<usize>,
}

#[derive(Deserialize)]
struct Point {
    x: Vec<String>,
    /// The outputs of a Transformer, by iteration.
    #[serde(default)]
    g_at: Map<String, Value>,
}

/// What describes a case in the form of its file.
type Description = fn(&Case) -> Result<Value, Error>;

/// What the architecture of a file begins with, and what describes its cases.
const ARCHITECTURES: [(&str, Description); 2] = [
    ("looped residual FFN", ffn::describe),
    ("looped post-LN Transformer", transformer::describe),
];

/// Builds the case of a golden file and compares everything in the file.
pub fn compare(text: &str) -> Result<Comparison, Error> {
    let expected: Value = serde_json::from_str(text).map_err(wrong)?;
    let case: Case = serde_json::from_value(expected.clone()).map_err(wrong)?;
    let known = ARCHITECTURES.iter();
    let Some((_, describe)) = known
        .into_iter()
        .find(|(a, _)| case.architecture.starts_with(a))
    else {
        let problem = format!(
            "its architecture is \"{}\", neither a {} nor a {}",
            case.architecture, ARCHITECTURES[0].0, ARCHITECTURES[1].0
        );
        return Err(Error::Golden(problem));
    };
    let found = describe(&case)?;
    let mut comparison = Comparison {
        compared: 0,
        difference: None,
        unknown: Vec::new(),
    };
    comparison.walk("", &expected, &found);
    Ok(comparison)
}

fn wrong(error: serde_json::Error) -> Error {
    Error::Golden(error.to_string())
}

impl Case {
    /// The parameters of the architecture.
    fn params<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_value(self.params.clone()).map_err(wrong)
    }

    fn target(&self, d: usize) -> Result<Polynomial, Error> {
        if self.target.kind != "polynomial" {
            let problem = format!("its target is a {}, not a polynomial", self.target.kind);
            return Err(Error::Golden(problem));
        }
        let monomials = self.target.terms.iter();
        let terms = monomials.map(|term| Ok((term.exponents.clone(), term.coef.parse()?)));
        Polynomial::new(d, terms.collect::<Result<_, Error>>()?)
    }
}

impl Point {
    fn x(&self) -> Result<Vec<Rational>, Error> {
        self.x.iter().map(|x| x.parse()).collect()
    }
}

/// Exact numbers as text.
fn texts(values: &[Rational]) -> Vec<String> {
    values.iter().map(Rational::to_string).collect()
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

/// Whether two leaves are the same: as rational numbers where both are, to thirty digits where
/// both are decimals with an exponent.
fn is_same(expected: &Value, found: &Value) -> bool {
    let decimal = |value: &Value| decimal(value.as_str()?);
    if let (Some(expected), Some(found)) = (decimal(expected), decimal(found)) {
        let size = expected.abs().max(found.abs());
        return (expected - found).abs() <= (size * ten(-30)).max(ten(-40));
    }
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

/// The number that a decimal with an exponent, such as `-1.5e-03`, is.
fn decimal(text: &str) -> Option<Rational> {
    let (digits, exponent) = text.split_once('e')?;
    let digits: Rational = digits.parse().ok()?;
    // No number of a network is near this; a longer exponent would only cost memory.
    let exponent = exponent.parse().ok().filter(|e: &i64| e.abs() < 100_000)?;
    Some(digits * ten(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = include_str!("../tests/golden/ffn_d1s1_m2_u1.json");
    const TRANSFORMER: &str = include_str!("../tests/golden/tr_d1s1_m2_h1.json");

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
    fn differences_of_transformers_are_named() {
        let falsified = [
            ("\"L_route\": 12", "\"L_route\": 13", "resources.L_route"),
            ("-286968957/", "-286968955/", "points[0].v"),
            ("1189328184186429", "1189328184186428", "points[0].g_at.423"),
            ("4437/32768", "4439/32768", "group_codes[1]"),
        ];
        for (from, to, place) in falsified {
            let text = TRANSFORMER.replacen(from, to, 1);
            assert_ne!(text, TRANSFORMER);
            let difference = compare(&text).unwrap().difference.unwrap();
            assert_eq!(difference.place, place);
        }
    }

    /// The 31st significant digit is not compared, the 29th is; zero is near zero.
    #[test]
    fn decimals_are_compared_to_thirty_digits() {
        let same = |a: &str, b: &str| is_same(&Value::from(a), &Value::from(b));
        let value = "-1.2345678901234567890123456789012e-01";
        assert!(same(value, "-1.2345678901234567890123456789011e-01"));
        assert!(!same(value, "-1.2345678901234567890123456788e-01"));
        assert!(same("0.0e+00", "1.0e-50"));
        assert!(!same("0.0e+00", "1.0e-20"));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(compare("{"), Err(Error::Golden(_))));
        assert!(matches!(compare("{}"), Err(Error::Golden(_))));
        let other = CASE.replace("looped residual FFN", "looped convolutional network");
        assert!(matches!(compare(&other), Err(Error::Golden(_))));
        let unreadable = CASE.replace("193/256", "193:256");
        assert!(matches!(compare(&unreadable), Err(Error::Number(_))));
    }
}
