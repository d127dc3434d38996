//! The unit of work: one replication of one case, and how tasks are shared out.

/// The store file of a run that is not shared out.
pub(crate) const WHOLE_FILE: &str = "study.sqlite";

/// A share of a study: part `index` of `count`, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part.
    pub index: usize,
    /// Of how many.
    pub count: usize,
}

impl Shard {
    /// Everything.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// The store file of the share.
    pub(crate) fn file(self) -> String {
        match self.count {
            1 => WHOLE_FILE.to_string(),
            _ => format!("shard-{}-of-{}.sqlite", self.index, self.count),
        }
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is not a share: write I/N such as 2/3, with I from 1 to N");
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse().map_err(|_| wrong());
        let (index, count) = (number(index)?, number(count)?);
        if index == 0 || index > count || count > 10_000 {
            return Err(wrong());
        }
        Ok(Self { index, count })
    }
}

/// Which replication a task is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Task {
    /// Its place in the store: `confirmation/airfoil/split-1/8200`.
    pub name: String,
    /// Development or confirmation.
    pub phase: Phase,
    /// Name of the case.
    pub case: String,
    /// Test split of a table.
    pub split: Option<u64>,
    /// Seed of the replication.
    pub seed: u64,
}

/// Before the freeze, or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// What shortlists and screens look at.
    Development,
    /// What is reported.
    Confirmation,
}

impl Phase {
    /// The name in the store.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Development => "development",
            Self::Confirmation => "confirmation",
        }
    }
}

impl Task {
    pub(crate) fn new(phase: Phase, case: &str, split: Option<u64>, seed: u64) -> Self {
        let split_name = split.map(|s| format!("split-{s}/")).unwrap_or_default();
        Self {
            name: format!("{}/{case}/{split_name}{seed}", phase.name()),
            phase,
            case: case.to_string(),
            split,
            seed,
        }
    }
}
