//! Which architecture and which tokens, before the number of inputs is known.

use crate::architecture::{
    Architecture, ArchitectureKind, check_partition, default_partition, groups,
};
use crate::network::ShapeError;
use loopfit_numerics::named::Named;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A rule that divides the inputs among the data tokens of a Transformer, as people write it:
/// `each`, `all`, `3` (so many groups) or `0,1/2,3` (the inputs of each token, counted from 0).
///
/// # Reference
/// Section 3.2: the partition `I_1, ..., I_M` of `{1, ..., d}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Tokens {
    /// [`default_partition`]: a token for each of up to eight inputs, above that eight groups.
    #[default]
    Default,
    /// A token for each input.
    Each,
    /// One token for all inputs.
    All,
    /// So many groups of neighbouring inputs, whose sizes differ by at most one.
    Groups(usize),
    /// These sets, two inputs or more in all (of a single input [`Tokens::All`] is the partition).
    Given(Vec<Vec<usize>>),
}

/// A text that names no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` does not say which token reads which inputs: write each, all, a number of groups such as 3, \
     or the inputs of every token, counted from 0, such as 0,1/2,3"
)]
pub struct UnknownTokens(String);

impl Tokens {
    /// The sets of inputs that the data tokens read when there are `d` inputs.
    pub fn partition(&self, d: usize) -> Result<Vec<Vec<usize>>, ShapeError> {
        match self {
            Self::Default => Ok(default_partition(d)),
            Self::Each => Ok(groups(d, d)),
            Self::All => Ok(groups(d, 1)),
            Self::Groups(0) => Err(ShapeError::Zero {
                name: "the number of data tokens",
            }),
            Self::Groups(tokens) if *tokens > d => {
                Err(ShapeError::TooManyTokens { tokens: *tokens, d })
            }
            Self::Groups(tokens) => Ok(groups(d, *tokens)),
            Self::Given(partition) => {
                check_partition(partition, d)?;
                Ok(partition.clone())
            }
        }
    }
}

impl FromStr for Tokens {
    type Err = UnknownTokens;

    fn from_str(text: &str) -> Result<Self, UnknownTokens> {
        let unknown = || UnknownTokens(text.to_string());
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| unknown());
        match text.trim() {
            "default" => Ok(Self::Default),
            "each" => Ok(Self::Each),
            "all" => Ok(Self::All),
            sets if sets.contains([',', '/']) => {
                let inputs = |set: &str| set.split(',').map(number).collect();
                let sets = sets.split('/').map(inputs).collect::<Result<_, _>>()?;
                Ok(Self::Given(sets))
            }
            count => match number(count)? {
                0 => Err(unknown()),
                count => Ok(Self::Groups(count)),
            },
        }
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Each => f.write_str("each"),
            Self::All => f.write_str("all"),
            Self::Groups(tokens) => write!(f, "{tokens}"),
            Self::Given(partition) => {
                let set = |inputs: &Vec<usize>| {
                    let inputs: Vec<String> = inputs.iter().map(usize::to_string).collect();
                    inputs.join(",")
                };
                let sets: Vec<String> = partition.iter().map(set).collect();
                f.write_str(&sets.join("/"))
            }
        }
    }
}

impl TryFrom<String> for Tokens {
    type Error = UnknownTokens;

    fn try_from(text: String) -> Result<Self, UnknownTokens> {
        text.parse()
    }
}

impl From<Tokens> for String {
    fn from(tokens: Tokens) -> Self {
        tokens.to_string()
    }
}

/// Residual FFN or Transformer, before the number of inputs is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ArchitectureChoice {
    /// The residual FFN.
    #[default]
    Ffn,
    /// The post-LN Transformer with these tokens.
    Transformer(Tokens),
}

/// Names that choose no architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// No architecture has this name.
    #[error("`{0}` is not an architecture: write ffn or transformer")]
    Unknown(String),
    /// An FFN has no tokens.
    #[error("tokens are for the Transformer: choose it as the architecture or leave them out")]
    Tokens,
}

impl ArchitectureChoice {
    /// The architecture of this [`key`](Self::key), for a Transformer with these tokens or the
    /// default ones.
    pub fn new(key: &str, tokens: Option<Tokens>) -> Result<Self, ChoiceError> {
        match ArchitectureKind::named(key) {
            Some(kind) => Self::of(kind, tokens),
            None => Err(ChoiceError::Unknown(key.to_string())),
        }
    }

    /// An architecture, for a Transformer with these tokens or the default ones.
    pub fn of(kind: ArchitectureKind, tokens: Option<Tokens>) -> Result<Self, ChoiceError> {
        match (kind, tokens) {
            (ArchitectureKind::Ffn, None) => Ok(Self::Ffn),
            (ArchitectureKind::Ffn, Some(_)) => Err(ChoiceError::Tokens),
            (ArchitectureKind::Transformer, tokens) => {
                Ok(Self::Transformer(tokens.unwrap_or_default()))
            }
        }
    }

    /// The architecture over `d` inputs.
    pub fn at(&self, d: usize) -> Result<Architecture, ShapeError> {
        match self {
            Self::Ffn => Ok(Architecture::Ffn),
            Self::Transformer(tokens) => Ok(Architecture::Transformer {
                partition: tokens.partition(d)?,
            }),
        }
    }

    /// Which of the two it is.
    pub fn kind(&self) -> ArchitectureKind {
        match self {
            Self::Ffn => ArchitectureKind::Ffn,
            Self::Transformer(_) => ArchitectureKind::Transformer,
        }
    }

    /// The lower-case name that files, options and JSON output use.
    pub fn key(&self) -> &'static str {
        self.kind().name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn partition(text: &str, d: usize) -> Result<Vec<Vec<usize>>, ShapeError> {
        text.parse::<Tokens>().unwrap().partition(d)
    }

    #[test]
    fn partitions_by_hand() {
        assert_eq!(partition("each", 3), Ok(vec![vec![0], vec![1], vec![2]]));
        assert_eq!(partition("all", 3), Ok(vec![vec![0, 1, 2]]));
        assert_eq!(partition("2", 5), Ok(vec![vec![0, 1], vec![2, 3, 4]]));
        assert_eq!(partition(" 3, 1/0 ,2", 4), Ok(vec![vec![3, 1], vec![0, 2]]));
        assert_eq!(partition("default", 8), partition("each", 8));
        assert_eq!(partition("default", 20), partition("8", 20));
    }

    #[test]
    fn texts_that_name_no_rule() {
        for text in [
            "", "some", "0", "-1", "2.5", "1,,2", "0/", "/", "0,1//2", "0;1", "0,a",
        ] {
            let error = text.parse::<Tokens>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("`{text}` does not")), "{error}");
        }
    }

    #[test]
    fn rules_that_are_no_partition() {
        let sentence = |text: &str, d: usize| partition(text, d).unwrap_err().to_string();
        assert_eq!(
            sentence("4", 3),
            "4 data tokens are too many for d = 3: each must read an input, use at most 3"
        );
        assert!(sentence("0,1/1,2", 3).contains("input 1 twice"));
        assert!(sentence("0,1", 3).contains("leaves out input 2"));
        assert!(sentence("0,1/2,3", 3).contains("input 3, but there are 3: use 0 to 2"));
        assert!(Tokens::Groups(0).partition(3).is_err());
        assert!(Tokens::Given(vec![vec![0], vec![]]).partition(1).is_err());
    }

    #[test]
    fn choices_by_name() {
        let new = |key: &str, tokens: Option<&str>| {
            ArchitectureChoice::new(key, tokens.map(|text| text.parse().unwrap()))
        };
        assert_eq!(new("ffn", None), Ok(ArchitectureChoice::Ffn));
        assert_eq!(new("ffn", Some("all")), Err(ChoiceError::Tokens));
        assert!(matches!(new("cnn", None), Err(ChoiceError::Unknown(_))));
        let transformer = new("transformer", None).unwrap();
        assert_eq!(transformer.at(20), Ok(Architecture::transformer(20)));
        for choice in [ArchitectureChoice::Ffn, transformer] {
            assert_eq!(ArchitectureChoice::new(choice.key(), None), Ok(choice));
        }
    }

    /// Any partition of up to twelve inputs into non-empty sets, two inputs at least.
    fn given() -> impl Strategy<Value = Vec<Vec<usize>>> {
        let labels = prop::collection::vec(0usize..6, 2..13);
        let shuffled = labels.prop_flat_map(|labels| {
            let inputs: Vec<usize> = (0..labels.len()).collect();
            (Just(labels), Just(inputs).prop_shuffle())
        });
        shuffled.prop_map(|(labels, inputs)| {
            let of = |label: usize| {
                let own = inputs.iter().filter(|i| labels[**i] == label);
                own.copied().collect::<Vec<_>>()
            };
            (0..6).map(of).filter(|set| !set.is_empty()).collect()
        })
    }

    proptest! {
        #[test]
        fn given_sets_survive_text_and_json(sets in given()) {
            let d = sets.concat().len();
            let tokens = Tokens::Given(sets.clone());
            prop_assert_eq!(tokens.to_string().parse::<Tokens>().unwrap(), tokens.clone());
            let json = serde_json::to_string(&tokens).unwrap();
            prop_assert_eq!(serde_json::from_str::<Tokens>(&json).unwrap(), tokens.clone());
            prop_assert_eq!(tokens.partition(d).unwrap(), sets);
            // One input more or fewer, and it is not a partition.
            prop_assert!(tokens.partition(d + 1).is_err() && tokens.partition(d - 1).is_err());
        }

        #[test]
        fn rules_survive_text_and_give_neighbours(d in 1usize..60, k in 1usize..60) {
            for tokens in [Tokens::Default, Tokens::Each, Tokens::All, Tokens::Groups(k)] {
                prop_assert_eq!(tokens.to_string().parse::<Tokens>().unwrap(), tokens.clone());
                let Ok(sets) = tokens.partition(d) else {
                    prop_assert!(tokens == Tokens::Groups(k) && k > d);
                    continue;
                };
                prop_assert_eq!(sets.concat(), (0..d).collect::<Vec<_>>());
                let sizes = || sets.iter().map(Vec::len);
                let (least, most) = (sizes().min().unwrap(), sizes().max().unwrap());
                prop_assert!(least > 0 && most - least <= 1);
                let expected = match tokens {
                    Tokens::Default => d.min(8),
                    Tokens::Each => d,
                    Tokens::All => 1,
                    _ => k,
                };
                prop_assert_eq!(sets.len(), expected);
            }
        }

        #[test]
        fn no_text_panics(text in ".*", d in 0usize..9) {
            if let Ok(tokens) = text.parse::<Tokens>() {
                let _ = tokens.partition(d);
            }
        }
    }
}
