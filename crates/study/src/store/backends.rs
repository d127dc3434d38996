//! Who made the fits of a store: backends stand side by side only if they promise the same bits.

use super::record::FIT;
use super::{Store, StudyError};
use loopfit_engine::Backend;

/// A backend and its bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Maker {
    name: String,
    pub(super) bits: String,
}

impl std::fmt::Display for Maker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name, self.bits)
    }
}

impl Store {
    /// Who made the fits that are here.
    pub(super) fn makers(&self) -> Result<Vec<Maker>, StudyError> {
        let query = format!(
            "SELECT DISTINCT backend, bits FROM (SELECT {} FROM fit) ORDER BY backend, bits",
            FIT.list(self.version)
        );
        self.rows(&query, [], |r| {
            Ok(Maker {
                name: r.get(0)?,
                bits: r.get(1)?,
            })
        })
    }

    /// Refuses a backend that does not promise the bits of the fits that are here.
    pub(crate) fn check_backend(&self, backend: &dyn Backend) -> Result<(), StudyError> {
        let own = Maker {
            name: backend.name().to_string(),
            bits: backend.bits().to_string(),
        };
        match self.makers()?.iter().find(|maker| maker.bits != own.bits) {
            None => Ok(()),
            Some(other) => Err(StudyError::OtherBits {
                path: self.path().display().to_string(),
                found: other.to_string(),
                own: own.to_string(),
            }),
        }
    }
}
