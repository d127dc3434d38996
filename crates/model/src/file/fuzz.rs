//! No bytes, however wrong, make the reader panic.

use super::ModelFile;
use super::tests::example;
use proptest::prelude::*;

proptest! {
    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(ModelFile::from_bytes(&bytes).is_err());
    }

    #[test]
    fn random_headers_are_refused(text in "[\\[{\"0-9a-z:,}\\]]{0,60}") {
        let bytes = [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        prop_assert!(ModelFile::from_bytes(&bytes).is_err());
    }

    #[test]
    fn truncations_are_refused(keep in any::<prop::sample::Index>()) {
        let bytes = example().to_bytes().unwrap();
        let kept = &bytes[..keep.index(bytes.len())];
        prop_assert!(ModelFile::from_bytes(kept).is_err());
    }

    /// An altered file is refused, or is a model that is right in itself.
    #[test]
    fn corruptions_never_break_a_promise(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = example().to_bytes().unwrap();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        if let Ok(model) = ModelFile::from_bytes(&bytes) {
            let again = model.to_bytes().unwrap();
            prop_assert_eq!(ModelFile::from_bytes(&again).unwrap(), model);
        }
    }
}
