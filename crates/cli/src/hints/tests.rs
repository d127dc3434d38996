use super::*;
use anyhow::Context;

fn text(text: &str) -> String {
    text.to_string()
}

/// Each way of being wrong that an option or a command mends, through the errors that wrap it, and the hint.
#[test]
fn errors_name_the_option_that_helps() {
    let among_numbers = || RolesError::TextAmongNumbers {
        name: text("x"),
        first_text: text("`a`, line 3"),
    };
    let ragged = |suspicion| TableError::Ragged {
        file: text("t.csv"),
        line: 2,
        found: 2,
        expected: 1,
        suspicion,
    };
    let missing = || CatalogError::Missing {
        set: "airfoil",
        file: "airfoil/airfoil_self_noise.dat",
        folder: text("d"),
    };
    let fetch = "`loopfit data fetch airfoil --data-dir d`";
    let in_case = || text("airfoil");
    let store = || text("runs");
    let cases: Vec<(anyhow::Error, &str)> = vec![
        (
            TableError::LongLine {
                file: text("t.csv"),
                line: 2,
                most: 9,
            }
            .into(),
            "(--max-line)",
        ),
        (
            TableError::TooManyColumns {
                file: text("t.csv"),
                columns: 10,
                most: 9,
            }
            .into(),
            "(--max-columns)",
        ),
        (
            TableError::TooLarge {
                file: text("t.csv"),
                most: 9,
            }
            .into(),
            "(--max-bytes)",
        ),
        (
            TableError::ParquetOff {
                file: text("t.parquet"),
            }
            .into(),
            "--features parquet",
        ),
        (
            ragged(Suspicion::CutNumber).into(),
            "(--delimiter semicolon --decimal comma)",
        ),
        (among_numbers().into(), "(--ignore)"),
        (
            SearchError::Task(TaskError::Roles(among_numbers())).into(),
            "(--ignore)",
        ),
        (
            SearchError::Task(TaskError::NoTarget).into(),
            "(--target NAME, or --task density)",
        ),
        (
            ApplyError::Preprocess(PreprocessError::TextColumn {
                column: text("x"),
                first_text: text("`0,5`, line 2"),
            })
            .into(),
            "(--decimal comma)",
        ),
        (
            SearchError::Preprocess(PreprocessError::TextInDensity {
                column: text("x"),
                first_text: text("`a`, line 2"),
            })
            .into(),
            "(--ignore)",
        ),
        (missing().into(), fetch),
        (
            FetchError::Status {
                url: text("https://localhost"),
                status: 404,
            }
            .into(),
            "(--from URL or DIR)",
        ),
        (
            SearchError::Spec(SpecError::Threads {
                threads: 8,
                why: text("no memory"),
            })
            .into(),
            "use fewer (--threads N)",
        ),
        (
            ModelError::NoSection {
                file: text("m.safetensors"),
                section: "likelihood",
            }
            .into(),
            "(`loopfit fit`)",
        ),
        (
            SearchError::Apply(ApplyError::Normaliser(9.0)).into(),
            "(--bound)",
        ),
        (
            ApplyError::NotADensity("regression").into(),
            "(--task density)",
        ),
        (
            ApplyError::NoResiduals.into(),
            "without --updates, --shape and --protocol)",
        ),
        (
            loopfit::Error::Apply(ApplyError::NotADensity("regression")).into(),
            "(--task density)",
        ),
        (loopfit::Error::NoBudget.into(), "(--budget B)"),
        (
            SearchError::LikelihoodForTask {
                likelihood: "laplace",
                task: "binary",
            }
            .into(),
            "(--likelihood)",
        ),
        (
            StudyError::NoFolder {
                case: in_case(),
                set: "airfoil",
            }
            .into(),
            "`loopfit data fetch airfoil --data-dir DIR`",
        ),
        (
            StudyError::DataSet {
                case: in_case(),
                why: missing(),
            }
            .into(),
            fetch,
        ),
        (
            StudyError::NoStore { path: store() }.into(),
            "(`loopfit study run NAME --out DIR`)",
        ),
        (
            StudyError::NoChecksums { path: store() }.into(),
            "`loopfit study merge runs --out NEW`",
        ),
        (
            StudyError::Damaged {
                path: store(),
                what: text("a fit"),
            }
            .into(),
            "`loopfit study verify runs`",
        ),
        (
            StudyError::Shards {
                path: store(),
                count: 2,
            }
            .into(),
            "(`loopfit study merge runs --out DIR`)",
        ),
        (StudyError::Busy { path: store() }.into(), "(--out DIR)"),
        (StudyError::Exists { path: store() }.into(), "(--out DIR)"),
    ];
    for (error, hint) in cases {
        let library = format!("{error:#}");
        assert!(!library.contains(hint), "{library}");
        let said = sentence(&error);
        assert!(said.starts_with(&library) && said.contains(hint), "{said}");
        // What happened around it does not hide it.
        let around = Err::<(), _>(error).context("cannot go on").unwrap_err();
        assert_eq!(sentence(&around), format!("cannot go on: {said}"));
    }
    let error = ragged(Suspicion::Comment);
    assert_eq!(beside(&error), error.to_string());
}

#[test]
fn a_hint_stands_before_the_full_stop() {
    assert_eq!(
        note("Regression on `y`: whose order counts; ask for multiclass to treat them as classes."),
        "Regression on `y`: whose order counts; ask for multiclass to treat them as classes (--task multiclass)."
    );
    assert_eq!(note("rows: 3"), "rows: 3");
}
