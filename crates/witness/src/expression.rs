//! Targets as people write them: `x1*(1-x2)/2`, `sin(3*x1) + x2^2`.

use crate::Error;
use crate::rational::Rational;
use crate::target::{Floating, Polynomial, Target};
use loopfit_holder::Differentiable;
use loopfit_numerics::jet::{Jet, Scalar};
use std::collections::BTreeMap;

/// A formula in the inputs `x1, x2, ...` with numbers, `+ - * / ^`, brackets and the functions `exp`, `log`, `sqrt`,
/// `sin`, `cos`, `sinh`, `cosh`, `tanh`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    d: usize,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(Rational),
    Input(usize),
    Negative(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    Power(Box<Node>, u32),
    Call(Function, Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Exp,
    Log,
    Sqrt,
    Sin,
    Cos,
    Sinh,
    Cosh,
    Tanh,
}

impl Function {
    const ALL: [(&'static str, Self); 8] = [
        ("exp", Self::Exp),
        ("log", Self::Log),
        ("sqrt", Self::Sqrt),
        ("sin", Self::Sin),
        ("cos", Self::Cos),
        ("sinh", Self::Sinh),
        ("cosh", Self::Cosh),
        ("tanh", Self::Tanh),
    ];
}

/// The largest exponent of a power, and the deepest nesting of brackets: beyond any formula that a person writes.
const LARGEST_POWER: u32 = 64;
const DEEPEST: usize = 200;

impl Expression {
    /// Reads a formula; `d` inputs, or as many as it names.
    pub fn parse(text: &str, d: Option<usize>) -> Result<Self, Error> {
        let mut parser = Parser {
            rest: text,
            text,
            inputs: 0,
            depth: 0,
        };
        let root = parser.sum()?;
        parser.skip_space();
        if !parser.rest.is_empty() {
            return Err(parser.wrong("an operator or the end"));
        }
        let needed = parser.inputs.max(1);
        match d {
            Some(d) if d < needed => Err(Error::ExpressionInputs { d, needed }),
            _ => Ok(Self {
                d: d.unwrap_or(needed),
                root,
            }),
        }
    }

    /// The same function as a polynomial with rational coefficients, if it is one.
    pub fn polynomial(&self) -> Option<Polynomial> {
        let terms = self.root.expand(self.d)?;
        Polynomial::new(self.d, terms.into_iter().collect()).ok()
    }

    /// A target with exact derivatives if the formula is a polynomial, otherwise with floats from automatic
    /// differentiation.
    pub fn into_target(self) -> Box<dyn Target + Send + Sync> {
        match self.polynomial() {
            Some(polynomial) => Box::new(polynomial),
            None => Box::new(Floating(self)),
        }
    }
}

impl Differentiable for Expression {
    fn d(&self) -> usize {
        self.d
    }

    fn derivative(&self, nu: &[usize], x: &[f64]) -> f64 {
        let order = nu.iter().sum();
        self.root.at(&Jet::variables(x, order)).derivative(nu)
    }
}

/// A polynomial by its monomials.
type Monomials = BTreeMap<Vec<usize>, Rational>;

impl Node {
    fn at<S: Scalar>(&self, x: &[S]) -> S {
        match self {
            Self::Number(value) => x[0].constant(value.to_f64()),
            Self::Input(i) => x[*i].clone(),
            Self::Negative(inner) => -inner.at(x),
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.at(x), right.at(x));
                match operator {
                    Operator::Add => left + right,
                    Operator::Subtract => left - right,
                    Operator::Multiply => left * right,
                    Operator::Divide => left / right,
                }
            }
            Self::Power(base, exponent) => {
                let base = base.at(x);
                let one = base.constant(1.0);
                (0..*exponent).fold(one, |product, _| product * base.clone())
            }
            Self::Call(function, argument) => {
                let argument = argument.at(x);
                match function {
                    Function::Exp => argument.exp(),
                    Function::Log => argument.ln(),
                    Function::Sqrt => argument.sqrt(),
                    Function::Sin => argument.sin(),
                    Function::Cos => argument.cos(),
                    Function::Sinh => argument.sinh(),
                    Function::Cosh => argument.cosh(),
                    Function::Tanh => argument.tanh(),
                }
            }
        }
    }

    /// The monomials, if there are only sums, products and quotients by numbers.
    fn expand(&self, d: usize) -> Option<Monomials> {
        let constant = |value: Rational| Monomials::from([(vec![0; d], value)]);
        let expanded = match self {
            Self::Number(value) => constant(value.clone()),
            Self::Input(i) => {
                let mut exponents = vec![0; d];
                exponents[*i] = 1;
                Monomials::from([(exponents, Rational::ONE)])
            }
            Self::Negative(inner) => scaled(inner.expand(d)?, &-Rational::ONE),
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.expand(d)?, right.expand(d)?);
                match operator {
                    Operator::Add => sum(left, right),
                    Operator::Subtract => sum(left, scaled(right, &-Rational::ONE)),
                    Operator::Multiply => product(&left, &right),
                    Operator::Divide => {
                        let number = right.iter().all(|(e, _)| e.iter().all(|&e| e == 0));
                        let divisor = right.into_values().next().filter(|_| number)?;
                        scaled(left, &divisor.reciprocal()?)
                    }
                }
            }
            Self::Power(base, exponent) => {
                let base = base.expand(d)?;
                (0..*exponent).fold(constant(Rational::ONE), |power, _| product(&power, &base))
            }
            Self::Call(..) => return None,
        };
        Some(expanded)
    }
}

fn scaled(terms: Monomials, factor: &Rational) -> Monomials {
    terms.into_iter().map(|(e, c)| (e, c * factor)).collect()
}

fn sum(mut left: Monomials, right: Monomials) -> Monomials {
    for (exponents, coefficient) in right {
        let before = left.remove(&exponents).unwrap_or(Rational::ZERO);
        left.insert(exponents, before + coefficient);
    }
    left
}

fn product(left: &Monomials, right: &Monomials) -> Monomials {
    left.iter()
        .flat_map(|a| right.iter().map(move |b| (a, b)))
        .map(|((e, a), (f, b))| {
            let exponents = e.iter().zip(f).map(|(e, f)| e + f).collect();
            Monomials::from([(exponents, a * b)])
        })
        .fold(Monomials::new(), sum)
}

/// Reads from left to right, one function for each level of binding.
struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    inputs: usize,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<Node, Error> {
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Operator::Add,
                Some('-') => Operator::Subtract,
                _ => return Ok(left),
            };
            self.advance();
            left = Node::Binary(operator, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Node, Error> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Operator::Multiply,
                Some('/') => Operator::Divide,
                _ => return Ok(left),
            };
            self.advance();
            left = Node::Binary(operator, Box::new(left), Box::new(self.signed()?));
        }
    }

    fn signed(&mut self) -> Result<Node, Error> {
        match self.peek() {
            Some('-') => {
                self.advance();
                self.nested(|parser| Ok(Node::Negative(Box::new(parser.signed()?))))
            }
            _ => self.power(),
        }
    }

    fn power(&mut self) -> Result<Node, Error> {
        let base = self.atom()?;
        if self.peek() != Some('^') {
            return Ok(base);
        }
        self.advance();
        self.skip_space();
        let digits = self.take(|c| c.is_ascii_digit());
        match digits.parse() {
            Ok(exponent) if exponent <= LARGEST_POWER => Ok(Node::Power(Box::new(base), exponent)),
            _ => Err(self.wrong("a whole exponent up to 64")),
        }
    }

    fn atom(&mut self) -> Result<Node, Error> {
        match self.peek() {
            Some('(') => {
                self.advance();
                let inner = self.nested(Self::sum)?;
                self.close()?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => {
                let length = number_length(self.rest);
                let (number, rest) = self.rest.split_at(length);
                self.rest = rest;
                let value = number
                    .parse()
                    .map_err(|_| self.wrong("a number before this"))?;
                Ok(Node::Number(value))
            }
            Some(c) if c.is_ascii_alphabetic() => {
                let name = self.take(|c| c.is_ascii_alphanumeric());
                if let Some(number) = name.strip_prefix('x').and_then(|n| n.parse().ok()) {
                    return match number {
                        1..=1000 => {
                            self.inputs = self.inputs.max(number);
                            Ok(Node::Input(number - 1))
                        }
                        _ => Err(self.wrong("an input from x1 to x1000 before this")),
                    };
                }
                let known = Function::ALL.iter().find(|(known, _)| *known == name);
                let Some((_, function)) = known else {
                    let names: Vec<&str> = Function::ALL.iter().map(|(name, _)| *name).collect();
                    return Err(Error::ExpressionName {
                        name: name.to_string(),
                        known: names.join(", "),
                    });
                };
                if self.peek() != Some('(') {
                    return Err(self.wrong("a bracket after the function"));
                }
                self.advance();
                let argument = self.nested(Self::sum)?;
                self.close()?;
                Ok(Node::Call(*function, Box::new(argument)))
            }
            _ => Err(self.wrong("a number, an input such as x1, or a bracket")),
        }
    }

    fn nested(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<Node, Error>,
    ) -> Result<Node, Error> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("fewer nested brackets"));
        }
        let node = inner(self);
        self.depth -= 1;
        node
    }

    fn close(&mut self) -> Result<(), Error> {
        if self.peek() != Some(')') {
            return Err(self.wrong("a closing bracket"));
        }
        self.advance();
        Ok(())
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest.chars().next()
    }

    /// Drops the character that was just seen, which is one byte long.
    fn advance(&mut self) {
        self.rest = &self.rest[1..];
    }

    fn take(&mut self, wanted: impl Fn(char) -> bool) -> &str {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn wrong(&self, expected: &'static str) -> Error {
        Error::Expression {
            text: self.text.to_string(),
            place: self.text.len() - self.rest.len() + 1,
            expected,
        }
    }
}

/// How long a number at the start of a text is: digits and points, then perhaps `e`, a sign and digits.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| {
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let mantissa = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let mantissa = mantissa.unwrap_or(text.len());
    let Some(power) = text[mantissa..].strip_prefix(['e', 'E']) else {
        return mantissa;
    };
    let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
    match digits(unsigned) {
        0 => mantissa,
        length => text.len() - unsigned.len() + length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn r(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn polynomials_are_exact() {
        // (x1 - 1/3)^2 (1 - x2) / 2 at (1/2, 1/4): 1/36 * 3/4 / 2.
        let f = Expression::parse("(x1 - 1/3)^2*(1 - x2)/2", None).unwrap();
        let exact = f.polynomial().unwrap();
        let x = [r("1/2"), r("1/4")];
        assert_eq!(exact.value(&x), Ok(r("1/96")));
        assert_eq!(exact.derivative(&[2, 1], &x), Ok(r("-1")));
        assert_eq!(exact.derivative(&[3, 0], &x), Ok(r("0")));
        let h = Expression::parse("1e-5*x1 + 2.5e1 - 3", None).unwrap();
        let at_one = h.polynomial().unwrap().value(&[r("1")]);
        assert_eq!(at_one, Ok(r("22.00001")));
        // -x1^2 is -(x1^2), and decimals are exact.
        let g = Expression::parse("-x1^2 + 0.1", Some(3))
            .unwrap()
            .polynomial()
            .unwrap();
        assert_eq!(g.value(&[r("1/2"), r("0"), r("0")]), Ok(r("-3/20")));
        for not_one in ["1/x1", "sin(x1)", "x1/(x1 - x1)"] {
            assert_eq!(Expression::parse(not_one, None).unwrap().polynomial(), None);
        }
    }

    #[test]
    fn wrong_formulas_are_explained() {
        for (text, words) in [
            ("", "a number, an input such as x1, or a bracket"),
            ("x1 +", "at character 5"),
            ("(x1", "a closing bracket"),
            ("x1 x2", "an operator or the end"),
            ("x0", "x1 to x1000"),
            ("foo(x1)", "no function `foo`"),
            ("sin x1", "a bracket after the function"),
            ("x1^1000", "a whole exponent up to 64"),
            ("1.2.3", "a number before this"),
            ("x1 + é", "at character 6"),
            (
                "x9999999999999999999999",
                "no function `x9999999999999999999999`",
            ),
        ] {
            let error = Expression::parse(text, None).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        let error = Expression::parse("x3", Some(2)).unwrap_err().to_string();
        assert!(error.contains("x3"), "{error}");
        let deep = "(".repeat(100_000);
        assert!(Expression::parse(&deep, None).is_err());
        assert!(Expression::parse(&"-".repeat(100_000), None).is_err());
    }

    proptest! {
        /// Exact and automatic derivatives of the same polynomial.
        #[test]
        fn both_kinds_of_derivatives_agree(i in 0usize..4, j in 0usize..3, a in 1i64..20, b in 1i64..20) {
            let f = Expression::parse("x1^3*(2 - x2)^2/5 - 0.25*x1*x2 + (x1 + x2)^4/7", None).unwrap();
            let x = [Rational::new(a, 20u8), Rational::new(b, 20u8)];
            let exact = f.polynomial().unwrap().derivative(&[i, j], &x).unwrap().to_f64();
            let automatic = f.derivative(&[i, j], &x.each_ref().map(Rational::to_f64));
            prop_assert!((exact - automatic).abs() < 1e-10 * (1.0 + exact.abs()));
        }

        /// Any text is read or refused.
        #[test]
        fn nothing_panics(text in "[x0-9+*/^(). a-z-]{0,40}", any: String) {
            for text in [text, any] {
                if let Ok(f) = Expression::parse(&text, None) && f.d() < 4 {
                    f.polynomial();
                    f.derivative(&vec![0; f.d()], &vec![0.5; f.d()]);
                }
            }
        }
    }
}
