//! Choices of the libraries as values of options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use loopfit_numerics::named::Named;

/// Parses a choice by its name.
pub(crate) fn named<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let value = |choice: &T| {
        let value = PossibleValue::new(choice.name());
        match choice.meaning() {
            "" => value,
            meaning => value.help(meaning),
        }
    };
    PossibleValuesParser::new(T::ALL.iter().map(value)).try_map(|text| {
        // An option may leave it to its user which letters are capitals.
        let mut all = T::ALL.iter().copied();
        all.find(|choice| choice.name().eq_ignore_ascii_case(&text))
            .ok_or("no such choice")
    })
}

/// One choice or all of them.
#[derive(Clone, Debug)]
pub(crate) struct OneOrAll<T>(pub(crate) Vec<T>);

/// Parses a choice by its name, or `both` of two.
pub(crate) fn named_or_both<T: Named + Send + Sync>() -> impl TypedValueParser<Value = OneOrAll<T>>
{
    let names = T::ALL.iter().map(|choice| choice.name());
    PossibleValuesParser::new(names.chain(["both"])).map(|text| match T::named(&text) {
        Some(choice) => OneOrAll(vec![choice]),
        None => OneOrAll(T::ALL.to_vec()),
    })
}
