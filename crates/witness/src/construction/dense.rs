//! The ordinary model that a network of the proofs is, and what 32 bits do not hold of it.

use super::Network;
use crate::ffn::dense::{Model, Rounded};
use crate::{Error, Rational, ffn, transformer};
use loopfit_model::Parameters;

/// A model of 32 bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Its parameters, rounded to the nearest.
    pub parameters: Parameters,
    /// What they should be, where they are not: of an FFN the parameters that were rounded, of a Transformer the codes.
    pub exact: Vec<Entry>,
    /// The names of what an entry has before its exact value.
    pub header: &'static str,
}

/// Something that a float of 32 bits does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it is: its fields, separated by commas.
    pub place: String,
    /// The exact value.
    pub exact: Rational,
}

impl Dense {
    /// The exact values as a csv file.
    pub fn exact_csv(&self) -> String {
        let mut csv = format!("{},exact\n", self.header);
        for Entry { place, exact } in &self.exact {
            csv += &format!("{place},{exact}\n");
        }
        csv
    }
}

impl Network {
    /// The model with this many iterations, by default until it has finished; an FFN padded to the state dimension and the hidden width
    /// that are given.
    pub fn dense(
        &self,
        padding: (Option<usize>, Option<usize>),
        iterations: Option<usize>,
    ) -> Result<Dense, Error> {
        let t = iterations.unwrap_or(self.finishing_time());
        match self {
            Self::Ffn(witness) => of_ffn(witness, padding, t),
            Self::Transformer(witness) => of_transformer(witness, t),
        }
    }
}

fn of_ffn(
    witness: &ffn::Witness,
    padding: (Option<usize>, Option<usize>),
    t: usize,
) -> Result<Dense, Error> {
    let least = witness.resources();
    let (q, r) = (padding.0.unwrap_or(least.q), padding.1.unwrap_or(least.r));
    let Model {
        parameters,
        rounded,
    } = witness.model(q, r, t)?;
    let entry = |rounded: Rounded| Entry {
        place: format!("{},{},{}", rounded.tensor, rounded.row, rounded.column),
        exact: rounded.exact,
    };
    Ok(Dense {
        parameters,
        exact: rounded.into_iter().map(entry).collect(),
        header: "tensor,row,column",
    })
}

fn of_transformer(witness: &transformer::Witness, t: usize) -> Result<Dense, Error> {
    let readout = ("readout".to_string(), &witness.correction().code);
    let groups = witness.codes().iter().enumerate();
    let groups = groups.map(|(j, code)| (format!("group {j}"), code));
    let entry = |(place, code): (String, &Rational)| Entry {
        place,
        exact: code.clone(),
    };
    Ok(Dense {
        parameters: witness.parameters(t)?,
        exact: std::iter::once(readout).chain(groups).map(entry).collect(),
        header: "code",
    })
}
