//! Every program of the folder `examples` runs and says something.

use std::path::PathBuf;
use std::process::Command;

/// Where cargo puts examples when it builds tests.
fn folder() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples")
}

#[test]
fn every_example_runs() {
    let sources = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples")).unwrap();
    let mut names: Vec<String> = sources
        .map(|file| {
            file.unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_string()
        })
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["arrays", "comparison", "density", "own_source", "table"]
    );
    for name in names {
        let program = folder()
            .join(&name)
            .with_extension(std::env::consts::EXE_EXTENSION);
        let done = Command::new(program).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(
            done.status.success() && !done.stdout.is_empty(),
            "{name}: {said}"
        );
    }
}
