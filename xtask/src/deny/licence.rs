//! SPDX licence expressions: `MIT OR (Apache-2.0 WITH LLVM-exception AND ISC)`, and the older `MIT/Apache-2.0`.

use std::iter::Peekable;
use std::vec::IntoIter;

use anyhow::{Result, bail};

type Words = Peekable<IntoIter<String>>;

/// Whether licences that are allowed satisfy an expression. A licence with an exception is asked for as one:
/// `Apache-2.0 WITH LLVM-exception`.
pub(super) fn satisfied(expression: &str, allowed: impl Fn(&str) -> bool) -> Result<bool> {
    let spaced = ["(", ")", "/"]
        .iter()
        .fold(expression.to_string(), |text, sign| {
            text.replace(sign, &format!(" {sign} "))
        });
    let words: Vec<String> = spaced.split_whitespace().map(str::to_string).collect();
    let mut words = words.into_iter().peekable();
    let satisfied = either(&mut words, &allowed)?;
    match words.next() {
        None => Ok(satisfied),
        Some(word) => bail!("\"{expression}\" cannot be read from \"{word}\" on"),
    }
}

/// `A OR B ...`, also written `A/B`.
fn either(words: &mut Words, allowed: &impl Fn(&str) -> bool) -> Result<bool> {
    let mut satisfied = both(words, allowed)?;
    while words.next_if(|word| word == "OR" || word == "/").is_some() {
        satisfied |= both(words, allowed)?;
    }
    Ok(satisfied)
}

/// `A AND B ...`, which binds more tightly.
fn both(words: &mut Words, allowed: &impl Fn(&str) -> bool) -> Result<bool> {
    let mut satisfied = one(words, allowed)?;
    while words.next_if(|word| word == "AND").is_some() {
        satisfied &= one(words, allowed)?;
    }
    Ok(satisfied)
}

/// A licence, one with an exception, or an expression in parentheses.
fn one(words: &mut Words, allowed: &impl Fn(&str) -> bool) -> Result<bool> {
    let Some(word) = words.next() else {
        bail!("a licence is missing at the end");
    };
    match word.as_str() {
        "(" => {
            let satisfied = either(words, allowed)?;
            if words.next().as_deref() != Some(")") {
                bail!("a closing parenthesis is missing");
            }
            Ok(satisfied)
        }
        ")" | "/" | "OR" | "AND" | "WITH" => bail!("\"{word}\" where a licence should be"),
        _ if words.next_if(|word| word == "WITH").is_some() => match words.next() {
            Some(exception) => Ok(allowed(&format!("{word} WITH {exception}"))),
            None => bail!("an exception is missing after WITH"),
        },
        _ => Ok(allowed(&word)),
    }
}

#[cfg(test)]
mod tests {
    use super::satisfied;

    #[test]
    fn expressions_have_their_meaning() {
        let allowed = |licence: &str| ["MIT", "ISC"].contains(&licence);
        for (expression, expected) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("MIT AND GPL-3.0", false),
            ("GPL-3.0 OR MIT AND ISC", true),
            ("(GPL-3.0 OR MIT) AND Zlib", false),
            ("(GPL-3.0 OR MIT) AND ISC", true),
            ("GPL-3.0/MIT", true),
            ("GPL-3.0 / Zlib", false),
            ("MIT WITH LLVM-exception", false),
            ("GPL-3.0 WITH LLVM-exception OR ISC", true),
        ] {
            assert_eq!(
                satisfied(expression, allowed).unwrap(),
                expected,
                "{expression}"
            );
        }
        for expression in [
            "", "MIT OR", "(MIT", "MIT ISC", "MIT WITH", "AND MIT", "MIT)",
        ] {
            assert!(satisfied(expression, allowed).is_err(), "{expression}");
        }
    }
}
