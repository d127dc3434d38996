//! Every golden case agrees, in everything that it says.

use loopfit_witness::golden::compare;
use std::path::Path;

fn check(folder: &Path) -> usize {
    let mut cases = 0;
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let comparison = compare(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!(comparison.difference, None, "{name}");
        // Only words are left: who wrote it, how the target is called, and notes.
        let number_like = |entry: &&String| {
            !(entry.as_str() == "architecture"
                || entry.as_str() == "target"
                || entry.ends_with("note"))
        };
        let left: Vec<_> = comparison.unknown.iter().filter(number_like).collect();
        assert!(left.is_empty(), "{name}: {left:?}");
        assert!(comparison.compared > 50, "{name}");
        cases += 1;
    }
    cases
}

#[test]
fn cases_of_this_crate() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    assert_eq!(check(&folder), 4);
}
