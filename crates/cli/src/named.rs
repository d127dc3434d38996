//! Choices of the libraries as values of options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use loopfit_numerics::named::Named;

/// Parses a choice by its name.
pub(crate) fn named<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    named_among(T::ALL)
}

/// Parses one of some choices by its name.
pub(crate) fn named_among<T: Named + Send + Sync>(
    choices: &'static [T],
) -> impl TypedValueParser<Value = T> {
    let value = |choice: &T| {
        let value = PossibleValue::new(choice.name());
        match choice.meaning() {
            "" => value,
            meaning => value.help(meaning),
        }
    };
    PossibleValuesParser::new(choices.iter().map(value)).try_map(|text| {
        // An option may leave it to its user which letters are capitals.
        let mut all = choices.iter().copied();
        all.find(|choice| choice.name().eq_ignore_ascii_case(&text))
            .ok_or("no such choice")
    })
}

/// One choice or all of them.
#[derive(Clone, Debug)]
pub(crate) struct OneOrAll<T>(pub(crate) Vec<T>);

/// Parses a choice by its name, or a word that means all.
pub(crate) fn named_or_all<T: Named + Send + Sync>(
    word: &'static str,
) -> impl TypedValueParser<Value = OneOrAll<T>> {
    let names = T::ALL.iter().map(|choice| choice.name());
    PossibleValuesParser::new(names.chain([word])).map(|text| match T::named(&text) {
        Some(choice) => OneOrAll(vec![choice]),
        None => OneOrAll(T::ALL.to_vec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, Command};
    use loopfit::{Activation, Decimal, Delimiter, Effort, Equal, Method};
    use loopfit_model::{ArchitectureKind, FormKind};
    use loopfit_theory::bound::{Axis, BoundForm};
    use loopfit_theory::{CubatureKind, LikelihoodKind};
    use loopfit_witness::Reader;
    use loopfit_witness::construction::trace::Each;
    use loopfit_witness::precision::study::Grouping;

    fn parsed<P: TypedValueParser>(parser: P, text: &str) -> Option<P::Value> {
        let command = Command::new("t").arg(Arg::new("x").ignore_case(true).value_parser(parser));
        let matches = command.try_get_matches_from(["t", text]).ok()?;
        matches.get_one::<P::Value>("x").cloned()
    }

    /// Every choice is found by its name and by no other's.
    fn each<T: Named + Send + Sync + std::fmt::Debug>() {
        for choice in T::ALL {
            assert_eq!(T::named(choice.name()), Some(*choice));
            assert_eq!(parsed(named::<T>(), choice.name()), Some(*choice));
            let of_all = parsed(named_or_all::<T>("every"), choice.name());
            assert_eq!(of_all.map(|some| some.0), Some(vec![*choice]));
        }
        assert_eq!(parsed(named::<T>(), "nothing"), None);
        let all = parsed(named_or_all::<T>("every"), "every");
        assert_eq!(all.map(|some| some.0), Some(T::ALL.to_vec()));
    }

    #[test]
    fn choices_are_found_by_their_names() {
        each::<Activation>();
        each::<ArchitectureKind>();
        each::<Axis>();
        each::<Decimal>();
        each::<Delimiter>();
        each::<Each>();
        each::<Effort>();
        each::<Equal>();
        each::<BoundForm>();
        each::<FormKind>();
        each::<loopfit_export::Format>();
        each::<loopfit_export::Width>();
        each::<Grouping>();
        each::<LikelihoodKind>();
        each::<Method>();
        each::<CubatureKind>();
        each::<Reader>();
        each::<loopfit_data::TaskKind>();
        assert_eq!(parsed(named::<Axis>(), "b"), Some(Axis::B));
    }
}
