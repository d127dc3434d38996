//! Files that are read and written: limits, links, permissions, full disks, what is not a file.
#![cfg(unix)]

mod common;
use common::{Place, regression_csv};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output, Stdio};

fn fitted() -> Place {
    let place = Place::new();
    place.write("data.csv", regression_csv(60));
    place.ok("fit data.csv --target y --budget 40 --updates 160 -o m.safetensors");
    place
}

/// Runs a line of a shell, where `loopfit` is the binary.
fn shell(place: &Place, line: &str) -> Output {
    let binary = assert_cmd::cargo::cargo_bin("loopfit");
    Command::new("bash")
        .args(["-c", line])
        .current_dir(place.path(""))
        .env("PATH", {
            let folder = binary.parent().unwrap().display().to_string();
            format!("{folder}:{}", std::env::var("PATH").unwrap())
        })
        .env_remove("LOOPFIT_DATA")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A limit on the size of files is an error of writing and leaves nothing behind.
#[test]
fn a_file_that_outgrows_its_limit_is_an_error() {
    let place = fitted();
    place.write("large.csv", regression_csv(20_000));
    let before = place.files();
    for line in [
        "ulimit -f 8; loopfit predict m.safetensors large.csv -o out.csv",
        "ulimit -f 8; loopfit predict m.safetensors large.csv > big.csv; code=$?; rm big.csv; exit $code",
    ] {
        let output = shell(&place, line);
        assert_eq!(output.status.code(), Some(3), "{line}: {output:?}");
        let said = said(&output);
        assert!(said.contains("File too large"), "{said}");
        assert_eq!(place.files(), before, "{line}");
    }
}

/// A written file is where its name leads, and as private as it was.
#[test]
fn links_and_permissions_stay() {
    let place = fitted();
    let mode = |name: &str| {
        let file = std::fs::metadata(place.path(name)).unwrap();
        file.permissions().mode() & 0o777
    };
    let private = std::fs::Permissions::from_mode(0o600);
    place.write("own.safetensors", "");
    std::fs::set_permissions(place.path("own.safetensors"), private).unwrap();
    symlink("own.safetensors", place.path("link.safetensors")).unwrap();
    symlink("later.safetensors", place.path("dangling.safetensors")).unwrap();
    symlink("none/later", place.path("nowhere.safetensors")).unwrap();
    for name in ["own", "link", "dangling"] {
        place.ok(&format!(
            "convert m.safetensors --form paper -o {name}.safetensors"
        ));
        place.ok(&format!("show {name}.safetensors"));
    }
    assert_eq!(mode("own.safetensors"), 0o600);
    assert!(place.path("link.safetensors").is_symlink());
    assert!(place.path("dangling.safetensors").is_symlink());
    assert!(place.path("later.safetensors").is_file());
    place.all_refused(&[(
        "convert m.safetensors --form paper -o nowhere.safetensors",
        3,
        &["none is not a directory"],
    )]);
    // What is read is not written over, through a link either.
    symlink("m.safetensors", place.path("m-link.safetensors")).unwrap();
    place.all_refused(&[(
        "convert m.safetensors --form paper -o m-link.safetensors",
        3,
        &["is read by this command"],
    )]);
}

/// Tables come through pipes, whatever the command; what may have no end is refused or bounded.
#[test]
fn pipes_are_read_and_devices_refused() {
    let place = fitted();
    let expected = place.ok("predict m.safetensors data.csv");
    for line in [
        "loopfit predict m.safetensors <(cat data.csv)",
        "loopfit predict m.safetensors - < data.csv",
        "cat data.csv | loopfit predict m.safetensors /dev/stdin",
        "gzip -c data.csv | loopfit predict m.safetensors -",
        "mkfifo pipe; cat data.csv > pipe & loopfit predict m.safetensors pipe",
    ] {
        let output = shell(&place, line);
        assert!(output.status.success(), "{line}: {}", said(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{line}");
    }
    // Predictions come before the end of what has none.
    let endless = "(cat data.csv; while tail -n +2 data.csv; do :; done) | loopfit predict m.safetensors - | head -n 61";
    let output = shell(&place, endless);
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    for (line, words) in [
        (
            "loopfit predict m.safetensors /dev/zero",
            "is a device and not a file",
        ),
        ("loopfit predict m.safetensors - < /dev/zero", "--max-line"),
        (
            "yes 1,2 | loopfit score m.safetensors - --max-bytes 1M",
            "more than 1048576 bytes",
        ),
        (
            "yes a, | tr -d '\\n' | loopfit score m.safetensors - --max-line 4M",
            "--max-line",
        ),
        (
            "head -c 300000 /dev/zero | tr '\\0' , | loopfit predict m.safetensors -",
            "raise the limit (--max-columns)",
        ),
        (
            "head -c 20M /dev/zero | gzip | loopfit fit - --target y --budget 9",
            "--max-line",
        ),
    ] {
        let output = shell(&place, line);
        assert_eq!(output.status.code(), Some(3), "{line}");
        let said = said(&output);
        assert!(said.contains(words), "{line}: {said}");
    }
    place.refused("predict m.safetensors data.csv --max-line many", "64M");
    place.refused("predict m.safetensors sim:bumps --max-line 9", "--max-line");
}

/// A model with more iterations than fits have says so before it takes long.
#[test]
fn many_iterations_are_said() {
    let place = Place::new();
    place.write("data.csv", regression_csv(60));
    place.ok("fit data.csv --target y --budget 40 --updates 32 --shape loop=1,1,1001 --method loop -o m.safetensors");
    for command in ["predict", "score"] {
        let output = place.run(&format!("{command} m.safetensors data.csv"));
        assert!(
            said(&output).contains("T = 1,001 iterations"),
            "{}",
            said(&output)
        );
        let few = place.run(&format!("{command} m.safetensors data.csv --iterations 4"));
        assert!(!said(&few).contains("iterations"), "{}", said(&few));
    }
}

/// A reader that has enough is no error, however much is left to write.
#[test]
fn a_closed_pipe_is_no_error() {
    let place = fitted();
    let table = std::fs::read_to_string(place.path("data.csv")).unwrap();
    let (header, rows) = table.split_once('\n').unwrap();
    place.write("long.csv", format!("{header}\n{}", rows.repeat(2000)));
    let line = "{ loopfit predict m.safetensors long.csv; echo $? > rc; } | head -n 2";
    let output = shell(&place, line);
    assert_eq!(
        said(&output)
            .lines()
            .filter(|l| l.contains("error"))
            .count(),
        0
    );
    assert_eq!(
        std::fs::read_to_string(place.path("rc")).unwrap().trim(),
        "0"
    );
}
