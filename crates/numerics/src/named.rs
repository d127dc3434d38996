//! Choices that people make by name.

/// One of a few choices, each with the name that options, files and answers use.
pub trait Named: Copy + PartialEq + 'static {
    /// Every choice, in the order in which people read them.
    const ALL: &'static [Self];

    /// The name of a choice.
    fn name(self) -> &'static str;

    /// What it is, where that is worth a word.
    fn meaning(self) -> &'static str {
        ""
    }

    /// The choice of a name, if there is one.
    fn named(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|choice| choice.name() == name)
    }
}
