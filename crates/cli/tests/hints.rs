//! The command line names its options and commands, the libraries never do.

mod common;

use common::Place;
use std::path::{Path, PathBuf};

fn said(place: &Place, arguments: &str) -> String {
    String::from_utf8(place.run(arguments).stderr).unwrap()
}

/// What a library notes is words that the table of hints knows.
#[test]
fn notes_name_the_option_that_helps() {
    let place = Place::new();
    let rows = |row: fn(usize) -> String| (0..80).map(row).collect::<String>();
    place
        .write(
            "rows.csv",
            format!(
                "x,z,y\n{}",
                rows(|i| format!("{i},{},{}\n", i % 7, i * i % 31))
            ),
        )
        .write(
            "codes.csv",
            format!("x,y\n{}", rows(|i| format!("{}.5,{}\n", i * 7 % 80, i % 3))),
        )
        .write(
            "comma.csv",
            format!("x;y\n{}", rows(|i| format!("{},5;{},25\n", i * 7 % 80, i))),
        )
        .write(
            "mixed.csv",
            format!(
                "x;z;y\n{}",
                rows(|i| format!("0,{};{}.5;{i}\n", 1 + i % 3, i * 7 % 80))
            ),
        );
    let quick = "--target y --budget 40 --method single --updates 320";
    for (file, hint) in [
        (
            "rows.csv",
            "leave it out if it means nothing else (--ignore)",
        ),
        ("codes.csv", "treat them as classes (--task multiclass)."),
        ("comma.csv", "they are texts (--decimal point)"),
        ("mixed.csv", "with decimal commas (--decimal comma)"),
    ] {
        let said = said(&place, &format!("fit {file} {quick}"));
        assert!(said.contains(hint), "{file}: {said}");
    }
    let tokens =
        "fit sim:bumps --train 64 --valid 32 --budget 101 --arch transformer --updates 320";
    let said = said(&place, tokens);
    assert!(said.contains("token (--tokens)"), "{said}");
}

#[test]
fn a_curve_that_still_falls_names_the_next_caps() {
    let place = Place::new();
    let row = |i: i32| {
        let (u, v) = (f64::from(i % 20) / 19.0, f64::from(i / 20) / 9.0);
        format!("{u},{v},{}\n", (9.0 * u * v).sin())
    };
    place.write(
        "t.csv",
        format!("u,v,y\n{}", (0..200).map(row).collect::<String>()),
    );
    let text = place.ok("curve t.csv --target y --caps 3,12 --effort quick");
    assert!(text.contains("such as 24 (--caps 12,24)."), "{text}");
}

/// Options, commands and variables of the environment that are in no message of a library.
const WORDS: [&str; 2] = ["`loopfit ", "LOOPFIT_"];

fn names_an_option(literal: &str) -> bool {
    let after = literal
        .match_indices("--")
        .map(|(at, _)| &literal[at + 2..]);
    let mut after = after.filter_map(|rest| rest.chars().next());
    after.any(|c| c.is_ascii_lowercase()) || WORDS.iter().any(|word| literal.contains(word))
}

#[test]
fn libraries_name_no_option() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut waiting: Vec<PathBuf> = std::fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("cli"))
        .map(|path| path.join("src"))
        .collect();
    let mut literals = 0;
    let mut wrong = Vec::new();
    while let Some(path) = waiting.pop() {
        if path.ends_with("tests") || path.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            waiting.extend(entries.map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let source = std::fs::read_to_string(&path).unwrap();
            let source = source.split("#[cfg(test)]\nmod ").next().unwrap();
            let found = string_literals(source);
            literals += found.len();
            // What the compiler of kernels is told are its own options.
            let of_compiler = path.ends_with("cuda/src/driver.rs");
            let found = found.into_iter().filter(|literal| {
                names_an_option(literal) && !(of_compiler && literal.starts_with("--"))
            });
            wrong.extend(found.map(|literal| format!("{}: {literal}", path.display())));
        }
    }
    assert!(literals > 2000, "only {literals} texts were found");
    assert!(
        wrong.is_empty(),
        "say it in the library's words, and name the option in crates/cli/src/hints.rs:\n{}",
        wrong.join("\n")
    );
}

/// The texts in quotation marks of a source, without comments.
fn string_literals(source: &str) -> Vec<&str> {
    let bytes = source.as_bytes();
    let find = |from: usize, what: &str| source[from..].find(what).map(|at| from + at);
    let end = source.len();
    let mut found = Vec::new();
    let mut at = 0;
    while at < end {
        let rest = &bytes[at..];
        at = match rest {
            [b'/', b'/', ..] => find(at, "\n").unwrap_or(end),
            [b'/', b'*', ..] => find(at, "*/").map_or(end, |close| close + 2),
            // A character, of which only these could be taken for something else.
            [b'\'', b'"', b'\'', ..] => at + 3,
            [b'\'', b'\\', _, b'\'', ..] => at + 4,
            [b'r', b'"' | b'#', ..] => {
                let hashes = rest[1..].iter().take_while(|b| **b == b'#').count();
                match rest.get(1 + hashes) {
                    Some(b'"') => {
                        let (open, mark) = (at + 2 + hashes, format!("\"{}", "#".repeat(hashes)));
                        let close = find(open, &mark).unwrap_or(end);
                        found.push(&source[open..close]);
                        close + mark.len()
                    }
                    _ => at + 1,
                }
            }
            [b'"', ..] => {
                let mut close = at + 1;
                while close < end && bytes[close] != b'"' {
                    close += if bytes[close] == b'\\' { 2 } else { 1 };
                }
                found.push(&source[at + 1..close.min(end)]);
                close + 1
            }
            _ => at + 1,
        };
    }
    found
}

#[test]
fn texts_are_told_from_comments() {
    let source = r###"
        // "--a" and `loopfit b`
        /// "--c"
        fn f<'a>() { g('"', '\'', "x --d \" y", r"--e", br#"a"--f"#) /* "--g" */ }
    "###;
    let found = string_literals(source);
    assert_eq!(found, [r#"x --d \" y"#, "--e", r#"a"--f"#]);
    assert!(found.into_iter().all(names_an_option));
    assert!(names_an_option("run `loopfit fit`") && names_an_option("set LOOPFIT_DATA"));
    assert!(!names_an_option("a -- b --- <!-- c -->"));
}
